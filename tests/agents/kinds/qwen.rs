//! Qwen Code.

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
pub(super) struct Qwen;

impl Kind for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn is_script(&self) -> bool {
        true
    }

    fn hooks_file(&self, home: &Home) -> PathBuf {
        home.path().join(".qwen/settings.json")
    }

    fn waits_at_most(&self) -> Option<Duration> {
        Some(Duration::from_secs(60))
    }

    fn call(&self, deed: &Deed) -> Result<Call> {
        Ok(match deed {
            Deed::Run(command) => {
                let run = json!({ "command": command, "description": "As told", "is_background": false });
                Call::new("run_shell_command", run)
            }
            Deed::Background(_) | Deed::Watch(_) => {
                return Err(without("its shell is the only tool of its own that runs a command"));
            }
            Deed::Write { path, text } => {
                Call::new("write_file", json!({ "file_path": path, "content": text }))
            }
            Deed::Edit { path, old, new } => {
                Call::new("edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
            }
            Deed::Read(path) => Call::new("read_file", json!({ "file_path": path })),
            Deed::Fetch(url) => Call::new("web_fetch", json!({ "url": url, "prompt": "What is it about?" })),
            Deed::Delegate(prompt) => {
                let task = json!({
                    "description": "A task below", "prompt": prompt, "subagent_type": "general-purpose",
                });
                Call::new("agent", task)
            }
            Deed::Ours { tool, arguments } => {
                Call::new(&format!("mcp__countersign__{tool}"), arguments.clone())
            }
        })
    }

    fn settle(&self, home: &Home, _model: &Model) -> Story {
        // Else the model is told of tools from elsewhere only when it looks for them.
        let tools = json!({ "toolSearch": { "enabled": false } });
        let settings = json!({ "security": { "auth": { "selectedType": "openai" } }, "tools": tools });
        fs::create_dir_all(home.path().join(".qwen"))?;
        Ok(fs::write(self.hooks_file(home), format!("{settings:#}\n"))?)
    }

    fn prompt(&self, program: &mut Command, model: &Model, prompt: &str, _mode: Mode) {
        surround(program, model);
        program.args(["-p", prompt, "--output-format", "stream-json", "-y"]);
    }

    fn ends_hooks_with_turn(&self) -> bool {
        false
    }

    fn converse(&self, program: &mut Command, _home: &Home, model: &Model, prompt: &str) -> Story {
        surround(program, model);
        program.args(["-i", prompt, "-y"]);
        Ok(())
    }

    fn add_tools(&self, _agent: &Agent, home: &Home, door: &Door) -> Story {
        let path = self.hooks_file(home);
        let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
        settings["mcpServers"] = json!({ "countersign": served(door, &["mcp"]) });
        Ok(fs::write(path, format!("{settings:#}\n"))?)
    }
}

/// Has it talk to the scripted model.
fn surround(program: &mut Command, model: &Model) {
    program.env("OPENAI_BASE_URL", format!("{}/v1", model.url())).env("OPENAI_API_KEY", "scripted");
    // Else the program that is started only waits for another one, which a signal does not reach.
    program.env("QWEN_CODE_NO_RELAUNCH", "true");
    program.env("OPENAI_MODEL", "scripted").env("QWEN_SANDBOX", "false");
}
