//! Answers that are more than one click: put aside, kept for later calls, cut short by the app or by the
//! agent's own limit.

use crate::kinds::{Agent, Deed};
use crate::rig::{Machine, Rig, Tie, expect_word};
use crate::{NoSuchThing, Story};
use anyhow::ensure;
use countersign_protocol::question::{Outcome, QuestionKind};
use countersign_tests::app::Window;
use countersign_tests::driver::Key;
use countersign_tests::process::{Background, PATIENCE, countersign_desktop, kill, wait_for};
use serde_json::json;

pub(crate) fn a_command_that_is_put_aside_waits_until_it_is_allowed_from_the_inbox(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let talk = rig.tell(&[touch("made")])?;
    let prompt = rig.shown()?;
    rig.app.press(&[Key::Escape])?;
    rig.app.wait_for_blank()?;
    ensure!(rig.app.pending_ids()?.len() == 1 && !rig.has("made"), "putting it aside answered it");
    rig.app.start_again(&[])?;
    rig.app.click(Window::Main, "inbox-open")?;
    let again = rig.app.wait_for_card("made")?;
    ensure!(again.card == prompt.card, "the same request should come back, and {:?} did", again.card);
    rig.app.allow_once()?;
    let heard = rig.heard(talk)?;
    ensure!(rig.has("made"), "what was allowed should run, and did not; heard {heard:?}");
    rig.expect_outcomes(&[Outcome::AllowedOnce])
}

pub(crate) fn an_app_that_is_started_again_while_it_asks_asks_about_the_next_call(agent: &Agent) -> Story {
    let machine = Machine::prepare(agent, HOOK)?;
    machine.model.hold_after(1);
    let rig = machine.start_app()?;
    let talk = rig.tell(&[touch("first"), touch("second")])?;
    rig.shown()?;
    kill(rig.app.pid());
    rig.model.wait_until_heard(&talk.marker, 1)?;
    // The window of this one is not the driver's: the command line answers.
    let mut again = rig.app.command(countersign_desktop()?);
    let _again = Background::start(again.arg("--hidden"))?;
    wait_for("the app answers again", PATIENCE, || rig.app.home.status())?;
    ensure!(rig.app.pending_ids()?.is_empty(), "nobody waits for what was asked before");
    rig.model.go_on();
    rig.app.wait_for_pending(1)?;
    rig.app.home.countersign(&["deny", "--all"])?.expect_code(0)?;
    let heard = rig.heard(talk)?;
    ensure!(!rig.has("first") && !rig.has("second"), "nobody allowed it, and it ran");
    expect_word(&heard, &["denied"])
}

pub(crate) fn changes_in_a_folder_are_allowed_once_for_the_session(agent: &Agent) -> Story {
    let rig = Rig::start(agent, HOOK)?;
    let write = |name: &str| Deed::Write { path: rig.app.home.file(name), text: "one\n".to_owned() };
    let talk = rig.tell(&[write("a.txt"), write("b.md"), write("Makefile")])?;
    rig.shown()?;
    let kinds: Vec<QuestionKind> = rig.app.home.pending()?.0.into_iter().map(|card| card.kind).collect();
    if kinds != [QuestionKind::Tool] {
        let why = "it changes files by a patch in a command, and rules about commands judge that";
        return Err(NoSuchThing(why.to_owned()).into());
    }
    rig.app.open_sheet("folder")?;
    rig.app.click_armed(Window::Prompt, "allow-always-confirm")?;
    rig.app.wait_for_card("Makefile")?;
    ensure!(rig.has("a.txt") && rig.has("b.md"), "what was allowed should be written");
    rig.app.deny()?;
    expect_word(&rig.heard(talk)?, &["denied"])?;
    ensure!(!rig.has("Makefile"), "what was denied was written");
    rig.expect_outcomes(&[Outcome::AllowedAlways, Outcome::AllowedByRule, Outcome::Denied])
}

pub(crate) fn a_host_that_a_rule_names_is_fetched_from_unasked(agent: &Agent) -> Story {
    let fetch = Deed::Fetch("https://docs.example.com/".to_owned());
    agent.kind.call(&fetch)?;
    let rig = Rig::start(agent, HOOK)?;
    let document = json!({ "version": 1, "rules": [], "calls": [{
        "id": "c-1", "agent": "*", "effect": "allow", "about": { "host": { "host": "docs.example.com" } },
        "createdAtMs": 0, "from": "typed",
    }] });
    rig.app.home.write_rules(&document.to_string())?;
    let mut talk = rig.tell(&[fetch])?;
    // Gemini CLI's tool names no address but a text that has some in it.
    rig.answer_all(&mut talk, |_| false)?;
    rig.heard(talk)?;
    let outcomes = rig.app.home.outcomes()?;
    let expected = if agent.kind.fetches_an_address() { Outcome::AllowedByRule } else { Outcome::Denied };
    ensure!(
        outcomes == [expected],
        "one fetch, by the rule where its address is known, and there was {outcomes:?}"
    );
    Ok(())
}

pub(crate) fn a_call_of_our_tool_ends_with_the_clients_own_limit(agent: &Agent) -> Story {
    limited(agent, Tie::Started)
}

pub(crate) fn a_call_over_http_ends_with_the_clients_own_limit(agent: &Agent) -> Story {
    limited(agent, Tie::Called)
}

fn limited(agent: &Agent, tie: Tie) -> Story {
    let machine = Machine::prepare(agent, tie)?;
    agent.kind.limit_calls(&machine.home, LIMIT_SECONDS)?;
    let rig = machine.start_app()?;
    let talk = rig.tell(&[Deed::Ours { tool: "exec", arguments: json!({ "command": "touch made" }) }])?;
    rig.shown()?;
    rig.wait_until_withdrawn(LIMIT_SECONDS)?;
    rig.heard(talk)?;
    ensure!(!rig.has("made"), "nobody allowed it, and it ran");
    Ok(())
}

fn touch(name: &str) -> Deed {
    Deed::Run(format!("touch {name}"))
}

const HOOK: Tie = Tie::Hook(&[]);

/// A limit that an agent gives a call of a tool, shorter than anybody answers.
const LIMIT_SECONDS: u64 = 6;
