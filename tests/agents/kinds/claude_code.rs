//! Claude Code.

use super::{Agent, Deed, Door, Kind, Mode, Place, Switched};
use crate::Story;
use crate::model::{Call, Model};
use anyhow::{Result, ensure};
use countersign_tests::cli::Running;
use countersign_tests::home::Home;
use countersign_tests::process::countersign;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[derive(Debug)]
pub(super) struct ClaudeCode;

impl Kind for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn hooks_file(&self, home: &Home) -> PathBuf {
        home.path().join(SETTINGS)
    }

    /// What is installed says that a failure stops the call.
    fn goes_on_after_limit(&self) -> bool {
        false
    }

    fn call(&self, deed: &Deed) -> Result<Call> {
        Ok(match deed {
            Deed::Run(command) => {
                Call::new("Bash", json!({ "command": command, "description": "Do as the story says" }))
            }
            Deed::Background(command) => {
                let run = json!({
                    "command": command, "description": "Do as the story says", "run_in_background": true,
                });
                Call::new("Bash", run)
            }
            Deed::Watch(command) => {
                let watch = json!({
                    "command": command, "description": "Watch it", "timeout_ms": 10_000, "persistent": false,
                });
                Call::new("Monitor", watch)
            }
            Deed::Write { path, text } => Call::new("Write", json!({ "file_path": path, "content": text })),
            Deed::Edit { path, old, new } => {
                Call::new("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
            }
            Deed::Read(path) => Call::new("Read", json!({ "file_path": path })),
            Deed::Fetch(url) => Call::new("WebFetch", json!({ "url": url, "prompt": "What is it about?" })),
            Deed::Delegate(prompt) => {
                let task = json!({
                    "description": "A task below", "prompt": prompt, "subagent_type": "general-purpose",
                    "run_in_background": false,
                });
                Call::new("Agent", task)
            }
            Deed::Ours { tool, arguments } => {
                Call::new(&format!("mcp__countersign__{tool}"), arguments.clone())
            }
        })
    }

    fn settle(&self, home: &Home, _model: &Model) -> Story {
        // Without it `-p` denies what MCP servers offer, and asks nobody.
        let settings = json!({ "permissions": { "allow": ["mcp__countersign"] } });
        fs::create_dir_all(home.path().join(".claude"))?;
        Ok(fs::write(self.hooks_file(home), format!("{settings:#}\n"))?)
    }

    fn prompt(&self, program: &mut Command, model: &Model, prompt: &str, mode: Mode) {
        surround(program, model);
        program.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]);
        if mode == Mode::Unchecked {
            // It refuses that to root outside of what calls itself a sandbox.
            program.arg("--dangerously-skip-permissions").env("IS_SANDBOX", "1");
        }
    }

    fn converse(&self, program: &mut Command, home: &Home, model: &Model, prompt: &str) -> Story {
        let work = home.work().display().to_string();
        let welcomed = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
            "projects": { work: { "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true } },
        });
        fs::write(self.tools_file(home), welcomed.to_string())?;
        surround(program, model);
        program.arg(prompt);
        Ok(())
    }

    fn switched_by(&self) -> &'static [Switched] {
        const OFF: &str = r#"{"disableAllHooks": true}"#;
        const MANAGED: Place = Place::Machine("/etc/claude-code/managed-settings.json");
        const {
            &[
                Switched::on(Place::Work(SETTINGS), r#"{"disableAllHooks": false}"#),
                Switched::on(Place::Work(SETTINGS), r#"{"env": {"CLAUDE_CODE_SIMPLE": "1"}}"#),
                Switched::off(Place::Home(SETTINGS), OFF),
                Switched::off(Place::Work(SETTINGS), OFF),
                Switched::off(Place::Work(".claude/settings.local.json"), OFF),
                Switched::off(MANAGED, OFF),
                Switched::off(Place::Machine("/etc/claude-code/managed-settings.d/10-hooks.json"), OFF),
                Switched::off(MANAGED, r#"{"allowManagedHooksOnly": true}"#),
            ]
        }
    }

    fn tools_file(&self, home: &Home) -> PathBuf {
        home.path().join(".claude.json")
    }

    fn add_tools(&self, agent: &Agent, home: &Home, door: &Door) -> Story {
        let mut program = agent.program(home, &countersign()?)?;
        program.args(["mcp", "add", "--scope", "user"]);
        match door {
            Door::Started(ours) => {
                program.args(["countersign", "--"]).arg(ours).args(["mcp", "--provider", "anthropic"]);
            }
            Door::Called { url, token } => {
                let header = format!("Authorization: Bearer {token}");
                program.args(["--transport", "http", "countersign", url, "--header", &header]);
            }
        }
        let added = Running::start(&mut program)?.finish()?;
        ensure!(added.code == 0, "`claude mcp add` should add the server, and ended so: {added:?}");
        Ok(())
    }
}

/// Has it talk to the scripted model, and to nobody else.
fn surround(program: &mut Command, model: &Model) {
    program.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", KEY);
    for quiet in [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
    ] {
        program.env(quiet, "1");
    }
    // Else the model is told of most tools only when it looks for them.
    program.env("ENABLE_TOOL_SEARCH", "false").env("MCP_TOOL_TIMEOUT", "600000");
}

const KEY: &str = "scripted";
const SETTINGS: &str = ".claude/settings.json";
