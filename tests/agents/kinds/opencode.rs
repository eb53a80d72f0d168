//! opencode.

use super::{Agent, Deed, Door, Kind, Mode, without};
use crate::Story;
use crate::model::{Call, Model};
use anyhow::Result;
use countersign_tests::home::Home;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[derive(Debug)]
pub(super) struct Opencode;

impl Kind for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn hooks_file(&self, home: &Home) -> PathBuf {
        home.path().join(".config/opencode/opencode.json")
    }

    fn call(&self, deed: &Deed) -> Result<Call> {
        Ok(match deed {
            Deed::Run(command) => {
                Call::new("bash", json!({ "command": command, "description": "Do as told" }))
            }
            Deed::Background(_) | Deed::Watch(_) => {
                return Err(without("its shell is the only tool of its own that runs a command"));
            }
            Deed::Write { path, text } => Call::new("write", json!({ "filePath": path, "content": text })),
            Deed::Edit { path, old, new } => {
                Call::new("edit", json!({ "filePath": path, "oldString": old, "newString": new }))
            }
            Deed::Read(path) => Call::new("read", json!({ "filePath": path })),
            Deed::Fetch(url) => Call::new("webfetch", json!({ "url": url, "format": "text" })),
            Deed::Delegate(prompt) => {
                let task =
                    json!({ "description": "A task below", "prompt": prompt, "subagent_type": "general" });
                Call::new("task", task)
            }
            Deed::Ours { tool, arguments } => Call::new(&format!("countersign_{tool}"), arguments.clone()),
        })
    }

    fn settle(&self, home: &Home, model: &Model) -> Story {
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "name": "scripted",
            "options": { "baseURL": format!("{}/v1", model.url()), "apiKey": "scripted" },
            "models": { "scripted": { "name": "scripted" } },
        });
        let settings = json!({ "provider": { "scripted": provider }, "model": "scripted/scripted" });
        fs::create_dir_all(home.path().join(".config/opencode"))?;
        Ok(fs::write(self.hooks_file(home), format!("{settings:#}\n"))?)
    }

    fn prompt(&self, program: &mut Command, _model: &Model, prompt: &str, _mode: Mode) {
        for quiet in
            ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD", "OPENCODE_DISABLE_MODELS_FETCH"]
        {
            program.env(quiet, "1");
        }
        program.args(["run", "--format", "json", "--model", "scripted/scripted", prompt]);
    }

    fn add_tools(&self, _agent: &Agent, home: &Home, door: &Door) -> Story {
        let path = self.hooks_file(home);
        let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
        let server = match door {
            Door::Started(ours) => {
                json!({ "type": "local", "command": [ours, "mcp"], "enabled": true, "timeout": 600_000 })
            }
            Door::Called { url, token } => json!({
                "type": "remote", "url": url, "headers": { "Authorization": format!("Bearer {token}") },
                "oauth": false, "enabled": true, "timeout": 600_000,
            }),
        };
        settings["mcp"] = json!({ "countersign": server });
        Ok(fs::write(path, format!("{settings:#}\n"))?)
    }
}
