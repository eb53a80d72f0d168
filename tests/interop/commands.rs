//! The release's own command line on our gateway: what it prints, and what becomes of our document
//! and of what waits.

use crate::{NoSuchThing, Story};
use anyhow::{Context, Result, bail, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::App;
use countersign_tests::bus::Shell;
use countersign_tests::cli::Finished;
use countersign_tests::gateway::{Alone, Client, let_in};
use countersign_tests::home::{Home, TOKEN};
use countersign_tests::peer::{Access, CommandLine, Operator, Release};
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::{Value, json};

/// `countersign gateway` without an app, and the command line of somebody who knows its token.
pub(crate) struct Desk {
    release: Release,
    gateway: Alone,
    line: CommandLine,
}

impl Desk {
    pub(crate) fn start(release: &Release) -> Result<Self> {
        let gateway = Alone::start(Home::asking()?)?;
        let line = CommandLine::new(release, gateway.url(), Alone::TOKEN)?;
        Ok(Self { release: release.clone(), gateway, line })
    }

    /// Somebody on a device of their own.
    fn operator(&self, name: &str) -> Result<Operator> {
        Operator::connect(self.gateway.url(), Access::operator(name, Alone::TOKEN, &["operator.approvals"])?)
    }

    /// Fails unless this is the stored document as everybody may see it.
    fn expect_stored(&self, shown: &Value) -> Story {
        let mut stored = self.gateway.home.document()?;
        ensure!(stored["socket"]["token"] == TOKEN, "the socket's token went away: {stored}");
        stored["socket"].as_object_mut().context("no socket")?.remove("token");
        ensure!(*shown == stored, "expected {stored}, it shows {shown}");
        Ok(())
    }
}

pub(crate) fn the_document_is_shown_and_replaced(desk: &mut Desk) -> Story {
    let shown = desk.line.json(&["approvals", "get", "--gateway"])?;
    ensure!(shown["exists"] == true && shown["path"] == path(&desk.gateway.home).as_str(), "{shown}");
    desk.expect_stored(&shown["file"])?;
    let table = desk.line.run(&["approvals", "get", "--gateway"])?.expect_code(0)?.stdout;
    ensure!(table.contains("security=allowlist, ask=on-miss, askFallback=deny"), "{table}");
    ensure!(!table.contains(TOKEN), "the socket's token is shown: {table}");
    let wanted = json!({
        "version": 1,
        "defaults": { "security": "allowlist", "ask": "always", "askFallback": "deny" },
        "agents": { "helper": { "security": "deny" } },
    });
    let file = desk.line.file("policy.json", &wanted)?;
    let file = file.to_string_lossy();
    let replaced = desk.line.json(&["approvals", "set", "--gateway", "--file", &file])?;
    desk.expect_stored(&replaced["file"])?;
    let stored = desk.gateway.home.document()?;
    for member in ["defaults", "agents"] {
        ensure!(stored[member] == wanted[member], "expected {}, got {}", wanted[member], stored[member]);
    }
    Ok(())
}

pub(crate) fn an_entry_is_added_and_removed(desk: &mut Desk) -> Story {
    let words = |what, named| ["approvals", "allowlist", what, "--gateway", named, PATTERN];
    // Newer releases ask for OpenClaw's configuration before they take the name of an agent.
    let asks = desk.line.run(&words("add", "--agent=main"))?.code != 0;
    if !asks {
        desk.line.run(&words("remove", "--agent=main"))?.expect_code(0)?;
    }
    let [agent, named]: [_; 2] = if asks { ["*", "--agent=*"] } else { ["main", "--agent=main"] };
    let words = |what| words(what, named);
    let added = desk.line.json(&words("add"))?;
    desk.expect_stored(&added["file"])?;
    let entries = desk.gateway.home.entries(agent)?;
    ensure!(entries.len() == 1 && entries[0]["pattern"] == PATTERN, "expected the entry, got {entries:?}");
    let again = desk.line.run(&words("add"))?.expect_code(0)?;
    ensure!(desk.gateway.home.entries(agent)?.len() == 1, "it is there twice: {again:?}");
    let removed = desk.line.json(&words("remove"))?;
    desk.expect_stored(&removed["file"])?;
    let entries = desk.gateway.home.entries(agent)?;
    ensure!(entries.is_empty(), "expected no entry, got {entries:?}");
    Ok(())
}

pub(crate) fn devices_and_health_are_told(desk: &mut Desk) -> Story {
    let _somebody = desk.operator("somebody")?;
    let devices = desk.line.json(&["devices", "list"])?;
    let paired = devices["paired"].as_array().context("no list of devices")?;
    let is_listed = paired.iter().any(|device| device["displayName"] == "somebody");
    ensure!(is_listed, "expected somebody's device, got {devices}");
    let table = desk.line.run(&["devices", "list"])?.expect_code(0)?.stdout;
    ensure!(table.contains("somebody"), "{table}");
    let health = desk.line.json(&["gateway", "health"])?;
    ensure!(health["ok"] == true, "{health}");
    let health = desk.line.run_as_configured(&["health", "--json"])?.expect_code(0)?.json()?;
    ensure!(health["ok"] == true, "{health}");
    Ok(())
}

pub(crate) fn any_method_can_be_called(desk: &mut Desk) -> Story {
    let status = desk.line.json(&["gateway", "call", "status"])?;
    ensure!(status["ok"] == true && status["pendingApprovals"] == 0, "{status}");
    let asker = desk.operator("asker")?;
    let asked = ask(&asker, "called")?;
    let params = json!({ "id": "called", "decision": "deny" }).to_string();
    let answered = desk.line.json(&["gateway", "call", "exec.approval.resolve", "--params", &params])?;
    ensure!(answered["ok"] == true, "{answered}");
    expect_decision(&asker, &asked, "deny")?;
    let unknown = desk.line.run(&["gateway", "call", "no.such.method"])?.expect_code(1)?;
    ensure!(unknown.stderr.contains("unknown method: no.such.method"), "{unknown:?}");
    Ok(())
}

pub(crate) fn what_waits_is_listed_and_answered(desk: &mut Desk) -> Story {
    let help = desk.line.run_as_configured(&["approvals", "--help"])?.expect_code(0)?.stdout;
    if !help.lines().any(|line| line.trim_start().starts_with("pending")) {
        desk.line.run(&["approvals", "pending"])?.expect_code(1)?;
        let why = "`approvals --help` lists no `pending`, and `approvals pending` ends with 1";
        bail!(NoSuchThing(why.to_owned()));
    }
    let asker = desk.operator("asker")?;
    for (id, decision) in [("story-allowed", "allow-once"), ("story-denied", "deny")] {
        let asked = ask(&asker, id)?;
        let listed = desk.line.json(&["approvals", "pending"])?;
        let listed = listed["approvals"].as_array().context("no list of approvals")?;
        ensure!(listed.len() == 1 && listed[0]["id"] == id, "expected {id}, got {listed:?}");
        let answered = desk.line.json(&["approvals", "resolve", id, decision])?;
        ensure!(answered["applied"] == true && answered["approval"]["id"] == id, "{answered}");
        expect_decision(&asker, &asked, decision)?;
        // The first answer is the one that counts.
        let second = desk.line.run(&["approvals", "resolve", id, "allow-always"])?.expect_code(1)?;
        let said = [second.stdout, second.stderr].join("\n");
        ensure!(
            said.contains(&format!("already resolved with {decision}")),
            "a second answer was taken: {said}"
        );
    }
    let listed = desk.line.json(&["approvals", "pending"])?;
    ensure!(listed["approvals"] == json!([]), "{listed}");
    Ok(())
}

pub(crate) fn where_a_person_lets_devices_in_it_may_do_nothing_unasked(desk: &mut Desk) -> Story {
    let home = Home::asking()?;
    let_in(&home, &[(1, &["operator.approvals"])])?;
    let app = App::start(home, Shell::Full)?;
    let url = app.home.gateway_url()?;
    let token = app.home.gateway_token()?;
    let line = CommandLine::new(&desk.release, &url, &token)?;
    let before = app.home.document()?;
    let mut agent = Client::connect(&app.home, 1, &["operator.approvals"])?.welcome()?;
    let asked = agent.send("exec.approval.request", &question("from-an-agent"))?;
    app.wait_for_card("waiting")?;
    // A command line that proves a device of its own has to be let in; one that proves none gets no scopes.
    let refused = ["pairing required", "missing scope: operator."];
    let document = line.file("policy.json", &json!({ "version": 1, "defaults": { "security": "full" } }))?;
    let document = document.to_string_lossy();
    let answer = json!({ "id": "from-an-agent", "decision": "allow-once" }).to_string();
    for arguments in [
        &["approvals", "get", "--gateway"][..],
        &["approvals", "set", "--gateway", "--file", &document],
        &["approvals", "allowlist", "add", "--gateway", PATTERN],
        &["devices", "list"],
        &["gateway", "call", "exec.approval.resolve", "--params", &answer],
        &["gateway", "call", "exec.approval.list"],
    ] {
        let Finished { code, stdout, stderr } = line.run(arguments)?;
        let said = [stdout, stderr].join("\n");
        ensure!(
            code != 0 && refused.iter().any(|refused| said.contains(refused)),
            "{arguments:?}: expected one of {refused:?}, got {code}: {said}"
        );
    }
    ensure!(app.home.document()? == before, "the document was changed");
    ensure!(app.pending_ids()? == ["from-an-agent"], "somebody answered");
    app.deny()?;
    let decided = agent.answer(&asked)?.map_err(anyhow::Error::msg)?;
    ensure!(decided["decision"] == "deny", "{decided}");
    wait_for(
        "the history says so",
        PATIENCE,
        || Ok((app.home.outcomes()? == [Outcome::Denied]).then_some(())),
    )
}

fn path(home: &Home) -> String {
    home.document_path().to_string_lossy().into_owned()
}

fn question(id: &str) -> Value {
    json!({ "id": id, "command": "echo waiting", "cwd": "/tmp", "host": "gateway", "timeoutMs": 300_000 })
}

/// Asks for a command and waits until that is accepted.
fn ask(asker: &Operator, id: &str) -> Result<String> {
    let mut question = question(id);
    question["twoPhase"] = true.into();
    // Nobody else is there who could answer.
    question["requireDeliveryRoute"] = false.into();
    let asked = asker.send("exec.approval.request", question)?;
    wait_for("the request is accepted", PATIENCE, || {
        Ok(asker.answers(&asked).iter().any(|answer| answer["payload"]["status"] == "accepted").then_some(()))
    })?;
    Ok(asked)
}

fn expect_decision(asker: &Operator, asked: &str, expected: &str) -> Story {
    let decided = asker.finish(asked, PATIENCE)?;
    ensure!(decided["decision"] == expected, "expected {expected}, got {decided}");
    Ok(())
}

/// A program for an allowlist.
const PATTERN: &str = "/usr/bin/uname";
