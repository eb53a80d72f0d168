//! Codex.

use super::{Agent, Deed, Door, Kind, Mode, Place, Switched, without};
use crate::Story;
use crate::model::{Call, LAST_AGENT, Model};
use anyhow::Result;
use countersign_tests::home::Home;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

#[derive(Debug)]
pub(super) struct Codex;

impl Kind for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn hooks_file(&self, home: &Home) -> PathBuf {
        home.path().join(".codex/hooks.json")
    }

    fn reads_first(&self) -> bool {
        false
    }

    fn call(&self, deed: &Deed) -> Result<Call> {
        let shell = |command: String| Call::new("exec_command", json!({ "cmd": command }));
        Ok(match deed {
            Deed::Run(command) => shell(command.clone()),
            Deed::Background(_) | Deed::Watch(_) => {
                return Err(without("its shell is the only tool of its own that runs a command"));
            }
            Deed::Write { path, text } => {
                let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
                shell(patch(&format!("*** Add File: {path}\n{lines}")))
            }
            Deed::Edit { path, old, new } => {
                shell(patch(&format!("*** Update File: {path}\n@@\n-{old}\n+{new}\n")))
            }
            Deed::Read(path) => shell(format!("cat {path}")),
            Deed::Fetch(_) => return Err(without("its model is offered no tool that fetches a page")),
            Deed::Delegate(prompt) => Call {
                namespace: Some("multi_agent_v1"),
                ..Call::new("spawn_agent", json!({ "message": prompt }))
            },
            Deed::Ours { tool, arguments } => {
                Call { namespace: Some("mcp__countersign"), ..Call::new(tool, arguments.clone()) }
            }
        })
    }

    fn await_below(&self) -> Option<Call> {
        let wait = json!({ "targets": [LAST_AGENT], "timeout_ms": 60_000 });
        Some(Call { namespace: Some("multi_agent_v1"), ..Call::new("wait_agent", wait) })
    }

    fn settle(&self, home: &Home, model: &Model) -> Story {
        let folder = home.path().join(".codex");
        fs::create_dir_all(&folder)?;
        let settings = format!(
            "model = \"scripted\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n",
            model.url()
        );
        Ok(fs::write(folder.join("config.toml"), settings)?)
    }

    fn prompt(&self, program: &mut Command, _model: &Model, prompt: &str, mode: Mode) {
        program.env("SCRIPTED_KEY", "scripted");
        program.args(["exec", "--json", "--skip-git-repo-check"]);
        match mode {
            // Its own sandbox needs name spaces that a container may not give it.
            Mode::Usual => {
                program.args(["--sandbox", "danger-full-access", "--dangerously-bypass-hook-trust"])
            }
            Mode::Unchecked => program
                .args(["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]),
        };
        program.arg(prompt);
    }

    fn converse(&self, program: &mut Command, home: &Home, _model: &Model, prompt: &str) -> Story {
        let mut settings = OpenOptions::new().append(true).open(self.tools_file(home))?;
        writeln!(settings, "\n[projects.{}]\ntrust_level = \"trusted\"", json!(home.work()))?;
        program.env("SCRIPTED_KEY", "scripted");
        program.args(["--sandbox", "danger-full-access", "--dangerously-bypass-hook-trust", prompt]);
        Ok(())
    }

    fn trust_hook(&self, home: &Home) -> Story {
        let mut settings = OpenOptions::new().append(true).open(self.tools_file(home))?;
        let key = format!("{}:pre_tool_use:0:0", self.hooks_file(home).display());
        // What is trusted is started with a flag that trusts any, so that nobody compares it.
        Ok(writeln!(settings, "\n[hooks.state.{}]\ntrusted_hash = \"sha256:00\"", json!(key))?)
    }

    fn switched_by(&self) -> &'static [Switched] {
        const OFF: &str = "[features]\nhooks = false";
        const REQUIREMENTS: Place = Place::Machine("/etc/codex/requirements.toml");
        const {
            &[
                Switched::on(REQUIREMENTS, "allowed_approval_policies = [\"never\", \"on-request\"]"),
                Switched::off(Place::Home(".codex/config.toml"), OFF),
                Switched::off(Place::Machine("/etc/codex/managed_config.toml"), OFF),
                Switched::off(Place::Machine("/etc/codex/config.toml"), OFF),
                Switched::off(REQUIREMENTS, "allow_managed_hooks_only = true"),
            ]
        }
    }

    fn tools_file(&self, home: &Home) -> PathBuf {
        home.path().join(".codex/config.toml")
    }

    fn limit_calls(&self, home: &Home, seconds: u64) -> Story {
        let path = self.tools_file(home);
        let settings = fs::read_to_string(&path)?;
        let limit = format!("tool_timeout_sec = {seconds}");
        Ok(fs::write(path, settings.replace("tool_timeout_sec = 600", &limit))?)
    }

    fn add_tools(&self, _agent: &Agent, home: &Home, door: &Door) -> Story {
        let mut settings = OpenOptions::new().append(true).open(self.tools_file(home))?;
        writeln!(settings, "\n[mcp_servers.countersign]\ntool_timeout_sec = 600")?;
        writeln!(settings, "default_tools_approval_mode = \"approve\"")?;
        match door {
            Door::Started(ours) => {
                writeln!(settings, "command = {}", json!(ours))?;
                writeln!(settings, "args = [\"mcp\", \"--provider\", \"openai\"]")?;
                writeln!(settings, "env_vars = [\"COUNTERSIGN_STATE_DIR\", \"OPENCLAW_STATE_DIR\"]")?;
            }
            Door::Called { url, token } => {
                writeln!(settings, "url = {}", json!(url))?;
                writeln!(
                    settings,
                    "http_headers = {{ Authorization = {} }}",
                    json!(format!("Bearer {token}"))
                )?;
            }
        }
        Ok(())
    }
}

/// A patch in a shell text, which is how its model changes files when it is offered no tool for that.
fn patch(change: &str) -> String {
    format!("apply_patch <<'EOF'\n*** Begin Patch\n{change}*** End Patch\nEOF")
}
