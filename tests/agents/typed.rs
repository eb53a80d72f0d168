//! What the documents say to type for an agent, typed word for word.

use crate::kinds::{Agent, Deed};
use crate::rig::{Machine, Tie, expect_word};
use crate::{NoSuchThing, Story};
use anyhow::{Context as _, Result, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::documents::blocks;
use countersign_tests::process::{Background, countersign};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

pub(crate) fn what_the_documents_say_to_type_ties_it_to_the_app(agent: &Agent) -> Story {
    if agent.kind.name() != "claude-code" {
        return Err(NoSuchThing("the documents have settings for it, and nothing to type".to_owned()).into());
    }
    let lines = lines_for("claude")?;
    let [started, prompt, called] = &lines[..] else {
        anyhow::bail!("expected a server to start, a prompt and a server to call, got {lines:?}");
    };
    for line in [started, called] {
        asks_by_our_tool(agent, line).with_context(|| line.clone())?;
    }
    asks_by_prompt(agent, started, prompt).with_context(|| prompt.clone())
}

/// All lines that start a program, in the order of the document.
fn lines_for(program: &str) -> Result<Vec<String>> {
    let blocks = blocks()?.into_iter().filter(|block| block.language == "sh");
    let lines = blocks.flat_map(|block| block.lines());
    Ok(lines.filter(|line| line.split(' ').next() == Some(program)).collect())
}

/// A line that adds the server of tools, after which a call of one is asked about.
fn asks_by_our_tool(agent: &Agent, line: &str) -> Story {
    let machine = Machine::prepare(agent, Tie::None)?;
    let _server = if line.contains("http") { Some(serve(&machine)?) } else { None };
    machine.type_in(line)?;
    let rig = machine.start_app()?;
    let talk = rig.tell(&[Deed::Ours { tool: "exec", arguments: json!({ "command": "touch made" }) }])?;
    rig.shown()?;
    rig.app.deny()?;
    expect_word(&rig.heard(talk)?, &["denied"])?;
    ensure!(!rig.has("made"), "what was denied ran");
    rig.expect_outcomes(&[Outcome::Denied])
}

/// A line that starts the agent so that it asks by our tool before it uses its own.
fn asks_by_prompt(agent: &Agent, started: &str, line: &str) -> Story {
    let machine = Machine::prepare(agent, Tie::None)?;
    machine.type_in(started)?;
    let rig = machine.start_app()?;
    for (name, allows) in [("made", true), ("not-made", false)] {
        let talk = rig.tell_by(line, &[Deed::Run(format!("touch {name}"))])?;
        rig.shown()?;
        if allows {
            rig.app.allow_once()?;
        } else {
            rig.app.deny()?;
        }
        let heard = rig.heard(talk)?;
        ensure!(rig.has(name) == allows, "{name} was answered by {allows}; heard {heard:?}");
    }
    rig.expect_outcomes(&[Outcome::AllowedOnce, Outcome::Denied])
}

/// Starts the server as the document says, where its token is in the folder that the document names.
fn serve(machine: &Machine<'_>) -> Result<Background> {
    let usual = machine.home.path().join(".local/state");
    fs::create_dir_all(&usual)?;
    symlink(machine.home.state(), usual.join("countersign"))?;
    let mut server = machine.home.command(countersign()?);
    server.args(["mcp", "--http", "--json"]).stderr(Stdio::null());
    Ok(Background::start_and_read_line(&mut server)?.0)
}
