//! Copilot CLI.

use super::{Agent, Deed, Door, Kind, Mode, Place, Switched, without};
use crate::Story;
use crate::model::{Call, Model};
use anyhow::Result;
use countersign_tests::home::Home;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[derive(Debug)]
pub(super) struct Copilot;

impl Kind for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn hooks_file(&self, home: &Home) -> PathBuf {
        home.path().join(".copilot/settings.json")
    }

    fn call(&self, deed: &Deed) -> Result<Call> {
        Ok(match deed {
            Deed::Run(command) => {
                Call::new("bash", json!({ "command": command, "description": "Do as told", "mode": "sync" }))
            }
            Deed::Background(_) | Deed::Watch(_) => {
                return Err(without("its shell is the only tool of its own that runs a command"));
            }
            Deed::Write { path, text } => Call::new("create", json!({ "path": path, "file_text": text })),
            Deed::Edit { path, old, new } => {
                Call::new("edit", json!({ "path": path, "old_str": old, "new_str": new }))
            }
            Deed::Read(path) => Call::new("view", json!({ "path": path })),
            Deed::Fetch(_) => {
                return Err(without("without a network it offers its model no tool that fetches a page"));
            }
            Deed::Delegate(prompt) => {
                let task = json!({
                    "agent_type": "general-purpose", "name": "below", "description": "A task below",
                    "prompt": prompt, "mode": "sync",
                });
                Call::new("task", task)
            }
            Deed::Ours { tool, arguments } => Call::new(&format!("countersign-{tool}"), arguments.clone()),
        })
    }

    fn settle(&self, home: &Home, _model: &Model) -> Story {
        Ok(fs::create_dir_all(home.path().join(".copilot"))?)
    }

    fn prompt(&self, program: &mut Command, model: &Model, prompt: &str, _mode: Mode) {
        surround(program, model);
        program.args(["-p", prompt, "--allow-all-tools", "--no-auto-update"]);
    }

    fn says_to_press_again(&self) -> Option<&'static str> {
        Some("again to interrupt")
    }

    fn ends_hooks_with_turn(&self) -> bool {
        false
    }

    fn converse(&self, program: &mut Command, home: &Home, model: &Model, prompt: &str) -> Story {
        let settings = json!({ "trusted_folders": [home.work()] });
        fs::write(home.path().join(".copilot/config.json"), settings.to_string())?;
        surround(program, model);
        program.args(["-i", prompt, "--allow-all-tools", "--no-auto-update"]);
        Ok(())
    }

    /// What a repository says counts in folders that the person trusts.
    fn trust_hook(&self, home: &Home) -> Story {
        let settings = json!({ "trusted_folders": [home.work()] });
        Ok(fs::write(home.path().join(".copilot/config.json"), settings.to_string())?)
    }

    fn switched_by(&self) -> &'static [Switched] {
        const OFF: &str = r#"{"disableAllHooks": true}"#;
        const {
            &[
                Switched::on(Place::Work(".github/copilot/settings.json"), r#"{"disableAllHooks": false}"#),
                Switched::off(Place::Home(".copilot/settings.json"), OFF),
                Switched::off(Place::Work(".github/copilot/settings.json"), OFF),
                Switched::off(Place::Work(".github/copilot/settings.local.json"), OFF),
                Switched::off(Place::Work(".claude/settings.json"), OFF),
                Switched::off(Place::Work(".claude/settings.local.json"), OFF),
            ]
        }
    }

    fn tools_file(&self, home: &Home) -> PathBuf {
        home.path().join(".copilot/mcp-config.json")
    }

    fn add_tools(&self, _agent: &Agent, home: &Home, door: &Door) -> Story {
        let mut server = match door {
            Door::Started(ours) => json!({ "type": "local", "command": ours, "args": ["mcp"] }),
            Door::Called { url, token } => {
                json!({ "type": "http", "url": url, "headers": { "Authorization": format!("Bearer {token}") } })
            }
        };
        server["tools"] = json!(["*"]);
        server["timeout"] = 600_000.into();
        let settings = json!({ "mcpServers": { "countersign": server } });
        Ok(fs::write(self.tools_file(home), format!("{settings:#}\n"))?)
    }
}

/// Has it talk to the scripted model.
fn surround(program: &mut Command, model: &Model) {
    program.env("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", model.url()));
    program.env("COPILOT_MODEL", "scripted").env("COPILOT_OFFLINE", "true");
}
