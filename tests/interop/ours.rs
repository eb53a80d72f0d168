//! Our own node behind the gateway of the release: its agents run commands on this machine, and the
//! person's app decides.

use crate::companion::Companion;
use crate::rig::{HEARING_LIMIT, Rig, TOLD_LIMIT, Task, request_of};
use crate::{NoSuchThing, Story};
use anyhow::{Context, Result, bail, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::{App, Window};
use countersign_tests::home::Home;
use countersign_tests::peer::{Gateway, Operator, let_in};
use countersign_tests::process::{PATIENCE, is_alive, wait_for};
use countersign_tests::runner::Runner;
use serde_json::{Value, json};
use std::path::Path;

/// A runner of ours that a gateway takes commands for.
pub(crate) struct OurNode {
    pub(crate) runner: Runner,
    pub(crate) id: String,
}

impl OurNode {
    /// Starts one in a home and has `owner` let it in.
    pub(crate) fn start(home: &Home, url: &str, gateway: &Gateway, owner: &Operator) -> Result<Self> {
        let mut runner = Runner::start(home, url, gateway.token())?;
        let id = runner.id()?;
        let is_ours = |node: &&Value| {
            let commands = node["commands"].as_array();
            node["nodeId"] == id.as_str()
                && node["connected"] == true
                && commands.is_some_and(|commands| commands.iter().any(|command| command == "system.run"))
        };
        let taken = wait_for("the gateway takes commands for our node", HEARING_LIMIT, || {
            let_in(owner)?;
            let nodes = owner.call("node.list", json!({}))?;
            Ok(nodes["nodes"].as_array().into_iter().flatten().find(is_ours).map(|_| ()))
        });
        taken.with_context(|| runner.log())?;
        Ok(Self { runner, id })
    }
}

/// Has the person answer by `click` whenever a task is asked about, until it is `done`; how often that was. A
/// question at the gateway that does not say on which node the command is to run is worth nothing on ours, so
/// there the person is asked again.
fn answered(
    companion: &Companion,
    task: &Task,
    click: impl Fn(&App) -> Result<()>,
    done: impl Fn() -> bool,
) -> Result<usize> {
    let mut ids: Vec<String> = Vec::new();
    loop {
        let next = wait_for("the run is done, or asked about", HEARING_LIMIT, || {
            if done() {
                return Ok(Some(None));
            }
            let fresh = companion.request(task)?.filter(|card| !ids.contains(&card.id));
            Ok(fresh.map(|card| Some(card.id)))
        });
        let next = next.with_context(|| {
            format!("waiting: {:?}\n{}", companion.app.home.pending(), companion.app.log())
        })?;
        let Some(id) = next else { return Ok(ids.len()) };
        ensure!(ids.len() < 2, "it was asked about a third time");
        companion.wait_for_prompt(&id)?;
        ensure!(!done(), "it ran before the click");
        click(&companion.app)?;
        ids.push(id);
    }
}

/// Waits until the agent hears what a run on our node came to, where it hears of one on the
/// release's own node host.
fn told(rig: &Rig, companion: &Companion, task: &Task, text: &str, same: Value) -> Story {
    let Err(unheard) = rig.agent_hears_within(task, text, TOLD_LIMIT) else { return Ok(()) };
    let alone = rig.task_on_with(rig.node()?, same)?;
    let id = companion.wait_for_request(&alone)?;
    companion.wait_for_prompt(&id)?;
    companion.app.allow_once()?;
    if rig.agent_hears_within(&alone, text, TOLD_LIMIT).is_ok() {
        // It asks a node to be quiet (suppressNotifyOnExit), as ours is and its own is not, and tells
        // the agent itself.
        if rig.gateway.log().contains("Channel is required") {
            let why = "its gateway tells the end of a run that was asked about over a channel alone, and none is configured";
            bail!(NoSuchThing(format!(
                "{why}; its own node host tells it although it is asked not to; it ran"
            )));
        }
        let heard = rig.model.heard_after(alone.word());
        let heard = heard.iter().find(|heard| heard.contains(text));
        return Err(unheard.context(format!("of a run on the release's own node host it hears {heard:?}")));
    }
    let why = "its agents hear nothing of a run on a node that was asked about, not of one on its own node host either";
    bail!(NoSuchThing(format!("{why}, within {} s; it ran", TOLD_LIMIT.as_secs())));
}

pub(crate) fn a_command_of_an_agent_is_asked_about_in_the_window_and_runs_on_our_node_once(
    rig: &mut Rig,
) -> Story {
    let companion = rig.companion()?;
    let node = rig.our_node()?;
    let person = rig.person()?;
    let task = rig.task_on_ours(&node.id, json!({}))?;
    let asked = request_of(&person, &task).with_context(|| node.runner.log())?;
    let times = answered(&companion, &task, App::allow_once, || task.ran());
    let times = times.with_context(|| node.runner.log())?;
    companion.expect_outcome(&Outcome::AllowedOnce)?;
    companion.expect_nothing_waits()?;
    if times == 2 && asked["request"]["nodeId"].is_null() {
        let why = "its question names no node, so the answer counts for none, and the person is asked again on ours";
        bail!(NoSuchThing(format!("{why}; it ran after the second answer")));
    }
    // One question for one run: what the person answered counts for it.
    ensure!(times == 1, "it was asked about twice");
    let again = rig.repeat_on_ours(&node.id, &task)?;
    let id = companion.wait_for_request(&again)?;
    companion.wait_for_prompt(&id)?;
    ensure!(!again.ran(), "it ran unasked");
    companion.app.deny()?;
    companion.expect_outcome(&Outcome::Denied)
}

pub(crate) fn what_a_run_on_our_node_came_to_reaches_the_agents_session(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let node = rig.our_node()?;
    let folder = companion.app.home.file(&format!("folder-{}", node.id));
    let task = rig.task_on_ours(&node.id, json!({ "command": format!("mkdir -v {folder}") }))?;
    answered(&companion, &task, App::allow_once, || Path::new(&folder).exists())?;
    let same = json!({ "command": "echo created directory" });
    told(rig, &companion, &task, "created directory", same)
}

pub(crate) fn a_denied_command_does_not_run_on_our_node_and_the_agent_hears_it(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let node = rig.our_node()?;
    let task = rig.task_on_ours(&node.id, json!({}))?;
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    companion.app.deny()?;
    companion.expect_outcome(&Outcome::Denied)?;
    let heard = rig.agent_hears_within(&task, "denied", TOLD_LIMIT);
    ensure!(!task.ran(), "a denied command ran");
    let Err(unheard) = heard else { return Ok(()) };
    // What the gateway makes of a denial it makes of its own node host's too.
    let theirs = rig.node()?;
    let task = rig.task_on(theirs)?;
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    companion.app.deny()?;
    if rig.agent_hears_within(&task, "denied", TOLD_LIMIT).is_ok() {
        return Err(unheard.context("the agent hears of a denial on the release's own node host"));
    }
    let why = "the agent hears of no denial on a node, neither on ours nor on the release's own node host";
    bail!(NoSuchThing(format!("{why}, within {} s; it did not run", TOLD_LIMIT.as_secs())));
}

pub(crate) fn what_is_always_allowed_on_our_node_is_stored_there_and_runs_unasked(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let node = rig.our_node()?;
    let person = rig.person()?;
    let task = rig.task_on_ours(&node.id, json!({}))?;
    let always = |app: &App| {
        app.click(Window::Prompt, "allow-more")?;
        app.click_armed(Window::Prompt, "allow-always-confirm").map(|_| ())
    };
    let times = answered(&companion, &task, always, || task.ran())?;
    if times == 2 && request_of(&person, &task)?["request"]["nodeId"].is_null() {
        let rules = std::fs::read_to_string(companion.app.home.state().join("rules.json"))?;
        ensure!(rules.contains("touch"), "no rule was made of the answer on our node: {rules}");
        let why =
            "its question names no node, so \"always\" counts there; the same on our node is a rule of ours";
        bail!(NoSuchThing(format!("{why}, and the next question of its gateway is another")));
    }
    let stored = wait_for("the entry is stored", PATIENCE, || {
        Ok(companion.app.home.entries("main")?.first().cloned())
    });
    let stored = stored.with_context(|| {
        format!("{:?} {:?}", companion.app.home.document(), companion.app.home.outcomes())
    })?;
    ensure!(stored["source"] == "allow-always", "expected a generated entry, got {stored}");
    let again = rig.repeat_on_ours(&node.id, &task)?;
    let unasked = wait_for("the command runs unasked", HEARING_LIMIT, || {
        ensure!(companion.request(&again)?.is_none(), "it was asked about again");
        Ok(again.ran().then_some(()))
    });
    unasked.with_context(|| {
        let read = rig.owner.call("exec.approvals.node.get", json!({ "nodeId": node.id }));
        format!("{:#?}\nthe gateway reads {read:?}", rig.model.heard_after(again.word()))
    })?;
    companion.app.home.edit_document(|document| document["agents"] = json!({}))
}

pub(crate) fn a_command_on_our_node_is_ended_by_its_time_limit(rig: &mut Rig) -> Story {
    let companion = rig.companion()?;
    let node = rig.our_node()?;
    // Newer releases name the unit; the model gives what it is offered.
    let seconds = format!("600.{}", std::process::id());
    let limited = json!({ "command": format!("sleep {seconds}"), "timeout": 2, "timeoutSeconds": 2 });
    let task = rig.task_on_ours(&node.id, limited.clone())?;
    answered(&companion, &task, App::allow_once, || runs(&["sleep", &seconds]))?;
    companion.expect_outcome(&Outcome::AllowedOnce)?;
    told(rig, &companion, &task, "timeout", limited)
}

/// Whether a process of exactly these words runs.
fn runs(argv: &[&str]) -> bool {
    let wanted: Vec<u8> = argv.iter().flat_map(|word| [word.as_bytes(), &[0]].concat()).collect();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .map(|process| process.path().join("cmdline"))
        .any(|path| std::fs::read(path).is_ok_and(|argv| argv == wanted))
}

pub(crate) fn a_run_that_the_gateway_gave_up_ends_on_our_node(rig: &mut Rig) -> Story {
    let home = Home::with_defaults("full", "off", "deny")?;
    let node = OurNode::start(&home, &rig.gateway.url(), &rig.gateway, &rig.owner)?;
    let file = home.file("pid");
    let params = json!({
        "nodeId": node.id, "command": "system.run", "timeoutMs": 3_000, "idempotencyKey": node.id,
        "params": { "command": ["sh", "-c", format!("echo $$ > {file}; exec sleep 600")], "sessionKey": "s" },
    });
    let error = rig.owner.call("node.invoke", params).err().context("a run without end has an answer")?;
    let text = std::fs::read_to_string(&file).with_context(|| format!("it never ran: {error:#}"))?;
    let pid: u32 = text.trim().parse()?;
    wait_for("the command ends", PATIENCE, || Ok((!is_alive(pid)).then_some(())))?;
    node.runner.end(PATIENCE)
}

pub(crate) fn without_the_app_the_fallback_of_our_nodes_document_decides(rig: &mut Rig) -> Story {
    for (security, ask, fallback, entry, runs) in [
        ("allowlist", "on-miss", "deny", None, false),
        ("allowlist", "on-miss", "allowlist", None, false),
        ("allowlist", "on-miss", "allowlist", Some("/usr/bin/touch"), true),
        ("full", "always", "deny", None, false),
        ("full", "always", "full", None, true),
    ] {
        let home = Home::with_defaults(security, ask, fallback)?;
        if let Some(pattern) = entry {
            home.edit_document(|document| {
                document["agents"] = json!({ "main": { "allowlist": [{ "pattern": pattern }] } });
            })?;
        }
        let node = OurNode::start(&home, &rig.gateway.url(), &rig.gateway, &rig.owner)?;
        let file = home.file("made");
        let params = json!({
            "nodeId": node.id, "command": "system.run", "timeoutMs": 20_000, "idempotencyKey": node.id,
            "params": { "command": ["/usr/bin/touch", file], "agentId": "main", "sessionKey": "agent:main:fallback" },
        });
        let answer = rig.owner.call("node.invoke", params);
        let ran = std::path::Path::new(&file).exists();
        ensure!(ran == runs, "fallback {fallback}, entry {entry:?}: ran is {ran}\n{}", node.runner.log());
        match answer {
            Ok(answer) => ensure!(runs && answer["payload"]["exitCode"] == 0, "unexpected answer {answer}"),
            Err(error) => {
                ensure!(
                    !runs && format!("{error:#}").contains("approval required"),
                    "unexpected error {error:#}"
                );
            }
        }
        node.runner.end(PATIENCE)?;
    }
    Ok(())
}
