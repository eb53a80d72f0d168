//! Gemini CLI.

use super::{Agent, Deed, Door, Kind, Mode, served, without};
use crate::Story;
use crate::model::{Call, Model};
use anyhow::Result;
use countersign_tests::home::Home;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Gemini;

impl Kind for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn is_script(&self) -> bool {
        true
    }

    fn hooks_file(&self, home: &Home) -> PathBuf {
        home.path().join(SETTINGS)
    }

    fn limit(&self, limit: Duration) -> u64 {
        limit.as_millis().try_into().unwrap_or(u64::MAX)
    }

    fn call(&self, deed: &Deed) -> Result<Call> {
        Ok(match deed {
            Deed::Run(command) => {
                Call::new("run_shell_command", json!({ "command": command, "description": "As told" }))
            }
            Deed::Background(_) | Deed::Watch(_) => {
                return Err(without("its shell is the only tool of its own that runs a command"));
            }
            Deed::Write { path, text } => {
                Call::new("write_file", json!({ "file_path": path, "content": text }))
            }
            Deed::Edit { path, old, new } => {
                let change = json!({
                    "file_path": path, "instruction": "As told", "old_string": old, "new_string": new,
                });
                Call::new("replace", change)
            }
            Deed::Read(path) => Call::new("read_file", json!({ "file_path": path })),
            Deed::Fetch(url) => Call::new("web_fetch", json!({ "prompt": format!("What is {url} about?") })),
            Deed::Delegate(prompt) => {
                Call::new("invoke_agent", json!({ "agent_name": "generalist", "prompt": prompt }))
            }
            Deed::Ours { tool, arguments } => {
                Call::new(&format!("mcp_countersign_{tool}"), arguments.clone())
            }
        })
    }

    fn end_below(&self) -> Option<Call> {
        Some(Call::new("complete_task", json!({ "result": "Done." })))
    }

    fn settle(&self, home: &Home, _model: &Model) -> Story {
        let settings = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
        fs::create_dir_all(home.path().join(".gemini"))?;
        Ok(fs::write(self.hooks_file(home), format!("{settings:#}\n"))?)
    }

    fn prompt(&self, program: &mut Command, model: &Model, prompt: &str, _mode: Mode) {
        surround(program, model);
        // Without `-y` it hides from its model whatever it would have to ask a person about.
        program.args(["-p", prompt, "--output-format", "stream-json", "-y", "--skip-trust"]);
        program.args(["-m", "gemini-2.5-flash"]);
    }

    fn ends_hooks_with_turn(&self) -> bool {
        false
    }

    fn converse(&self, program: &mut Command, _home: &Home, model: &Model, prompt: &str) -> Story {
        surround(program, model);
        program.args(["-i", prompt, "-y", "--skip-trust", "-m", "gemini-2.5-flash"]);
        Ok(())
    }

    fn fetches_an_address(&self) -> bool {
        false
    }

    fn add_tools(&self, _agent: &Agent, home: &Home, door: &Door) -> Story {
        let path = self.hooks_file(home);
        let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
        settings["mcpServers"] = json!({ "countersign": served(door, &["mcp", "--provider", "google"]) });
        Ok(fs::write(path, format!("{settings:#}\n"))?)
    }
}

/// Has it talk to the scripted model.
fn surround(program: &mut Command, model: &Model) {
    // Else the program that is started only waits for another one, which a signal does not reach.
    program.env("GEMINI_CLI_NO_RELAUNCH", "true");
    program.env("GOOGLE_GEMINI_BASE_URL", model.url()).env("GEMINI_API_KEY", "scripted");
}

const SETTINGS: &str = ".gemini/settings.json";
