//! Every door that has commands run here keeps them in the box of an open folder: nobody is asked, the agent
//! hears what the box refused, and what reaches further than a box is asked about all the same.

use crate::node::{payload, with_node};
use crate::{Story, story};
use anyhow::{Context, Result, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{Outcome, Via};
use countersign_tests::app::App;
use countersign_tests::bus::Shell;
use countersign_tests::cli::Running;
use countersign_tests::gateway::{Alone, Client};
use countersign_tests::home::Home;
use countersign_tests::mcp::{HttpClient, PlainClient};
use countersign_tests::process::{Background, countersign};
use countersign_tests::runner::Runner;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::path::PathBuf;

/// A way in for commands.
trait Door {
    /// Has a command start in the project.
    fn start(&mut self, app: &App, text: &str) -> Result<()>;

    /// What its caller is told at its end.
    fn told(&mut self) -> Result<String>;
}

/// Goes through a door three times: with what a box holds, with what reaches further, and once the folder is
/// closed. `denied` is what the history says of each of the latter two: through which doors it was denied.
fn check(app: &App, mut door: impl Door, contained: Via, denied: &[Via]) -> Story {
    let (work, made) = (app.home.work(), project(&app.home).join("made"));
    // No rule can know what this does.
    let text = "for x in made; do echo $x > $x; done; echo out > ../beside";
    door.start(app, text)?;
    let told = door.told()?;
    ensure!(told.contains("the box refused to write"), "the agent should hear of the box: {told}");
    ensure!(told.contains("Read-only file system"), "the shell should fail to write: {told}");
    ensure!(made.exists() && !work.join("beside").exists(), "it should run in the box: {told}");
    fs::remove_file(&made)?;

    door.start(app, "git push")?;
    app.wait_for_card("push")?;
    app.deny()?;
    door.told()?;

    app.home.countersign(&["box", "close", &project(&app.home).to_string_lossy()])?.expect_code(0)?;
    door.start(app, text)?;
    app.wait_for_card("made")?;
    app.deny()?;
    door.told()?;
    ensure!(!made.exists(), "what was denied ran");

    let denied = denied.iter().map(|via| (Outcome::Denied, *via));
    let expected: Vec<_> =
        [(Outcome::Contained, contained)].into_iter().chain(denied.clone()).chain(denied).collect();
    let found: Vec<_> = app
        .home
        .history()?
        .into_iter()
        .filter_map(|entry| match entry.event {
            HistoryEvent::Request { outcome, via, .. } => Some((outcome, via)),
            _ => None,
        })
        .collect();
    ensure!(found == expected, "the history has {found:?}");
    Ok(())
}

fn project(home: &Home) -> PathBuf {
    home.work().join("project")
}

/// A home in which a project is open for every agent, and in which commands of tools run on this machine.
fn opened() -> Result<Home> {
    let home = Home::asking()?;
    fs::create_dir(project(&home))?;
    home.open_folder("*", &project(&home))?;
    let here =
        json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
    home.write_private(&home.state().join("tools.json"), here.to_string().as_bytes())?;
    Ok(home)
}

/// `countersign exec` with words of its own in front of the command.
struct Line(&'static [&'static str], Option<Running>);

impl Door for Line {
    fn start(&mut self, app: &App, text: &str) -> Result<()> {
        let folder = project(&app.home).to_string_lossy().into_owned();
        let line = [&["exec", "--cwd", &folder][..], self.0, &["--", "sh", "-c", text]].concat();
        self.1 = Some(app.home.start(&line)?);
        Ok(())
    }

    fn told(&mut self) -> Result<String> {
        let finished = self.1.take().context("nothing was started")?.finish()?;
        Ok(finished.stdout + &finished.stderr)
    }
}

#[test]
fn a_box_holds_what_the_command_line_has_run() -> Story {
    story(opened(), Shell::Bare, |app| check(app, Line(&[], None), Via::Socket, &[Via::Socket]))
}

#[test]
fn a_box_holds_what_the_command_line_routes_to_this_machine() -> Story {
    let door = Line(&["--host", "gateway"], None);
    story(opened(), Shell::Bare, |app| check(app, door, Via::CommandLine, &[Via::CommandLine]))
}

/// The tool `exec` of `countersign mcp`, by standard input and output.
struct Mcp(PlainClient, u64);

impl Door for Mcp {
    fn start(&mut self, _: &App, text: &str) -> Result<()> {
        self.1 = self.0.call("exec", json!({ "command": text }))?;
        Ok(())
    }

    fn told(&mut self) -> Result<String> {
        Ok(self.0.answer(self.1)?.to_string())
    }
}

#[test]
fn a_box_holds_what_an_mcp_client_has_run() -> Story {
    story(opened(), Shell::Bare, |app| {
        let folder = project(&app.home).to_string_lossy().into_owned();
        let client = PlainClient::start(&app.home, &["--workspace", &folder])?;
        check(app, Mcp(client, 0), Via::Tool, &[Via::Tool])
    })
}

/// The same over HTTP.
struct Called(HttpClient, Option<TcpStream>);

impl Door for Called {
    fn start(&mut self, _: &App, text: &str) -> Result<()> {
        self.1 = Some(self.0.call("exec", json!({ "command": text }))?);
        Ok(())
    }

    fn told(&mut self) -> Result<String> {
        read(self.1.take())
    }
}

#[test]
fn a_box_holds_what_an_mcp_client_has_run_over_http() -> Story {
    story(opened(), Shell::Bare, |app| {
        let folder = project(&app.home).to_string_lossy().into_owned();
        let mut server = app.home.command(countersign()?);
        server.args(["mcp", "--json", "--workspace", &folder, "--http", "0"]);
        let (_server, ready) = Background::start_and_read_line(&mut server)?;
        let ready: Value = serde_json::from_str(&ready)?;
        let token = fs::read_to_string(ready["tokenFile"].as_str().context("a file with the token")?)?;
        let client = HttpClient::connect(ready["url"].as_str().context("a url")?, token.trim())?;
        check(app, Called(client, None), Via::Tool, &[Via::Tool])
    })
}

/// `POST /tools/invoke` of the app's own gateway.
struct Invoked(Option<TcpStream>);

impl Door for Invoked {
    fn start(&mut self, app: &App, text: &str) -> Result<()> {
        let args = json!({ "command": text });
        let call = json!({ "tool": "exec", "args": args, "workspace": project(&app.home) });
        self.0 = Some(crate::agents::posted(app, &call)?);
        Ok(())
    }

    fn told(&mut self) -> Result<String> {
        read(self.0.take())
    }
}

#[test]
fn a_box_holds_what_is_invoked_over_the_apps_own_gateway() -> Story {
    story(opened(), Shell::Bare, |app| check(app, Invoked(None), Via::Tool, &[Via::Tool]))
}

fn read(stream: Option<TcpStream>) -> Result<String> {
    let mut answer = String::new();
    stream.context("nothing was called")?.read_to_string(&mut answer)?;
    Ok(answer)
}

/// `system.run` on this machine as the node of a gateway.
struct Node {
    client: Client,
    node: String,
    call: String,
    _runner: Runner,
}

impl Door for Node {
    fn start(&mut self, app: &App, text: &str) -> Result<()> {
        let command = ["sh", "-c", text];
        let params =
            json!({ "command": command, "cwd": project(&app.home), "agentId": "main", "sessionKey": "s" });
        self.call = self.client.invoke(&self.node, "system.run", &params)?;
        Ok(())
    }

    fn told(&mut self) -> Result<String> {
        let answer = self.client.answer(&self.call)?;
        Ok(payload(answer).map_or_else(|error| format!("{error:#}"), |payload| payload.to_string()))
    }
}

/// A runner of this machine, with more arguments, at a gateway that is another program.
fn as_node_of_another_gateway(more: &[&str], denied: &[Via]) -> Story {
    let gateway = Alone::start(Home::empty()?)?;
    story(opened(), Shell::Bare, |app| {
        let mut runner = Runner::start_with(&app.home, gateway.url(), Alone::TOKEN, more)?;
        runner.wait_until_connected()?;
        let client = gateway.client(1, &["operator.read", "operator.write"])?;
        let door = Node { client, node: runner.id()?, call: String::new(), _runner: runner };
        check(app, door, Via::Node, denied)
    })
}

#[test]
fn a_box_holds_what_another_gateway_has_this_machine_run_as_its_node() -> Story {
    as_node_of_another_gateway(&[], &[Via::Node])
}

#[test]
fn a_box_holds_what_a_node_runs_without_the_app() -> Story {
    // The app only asks there, which is a line of its own.
    as_node_of_another_gateway(&["--here"], &[Via::Socket, Via::Node])
}

#[test]
fn a_box_holds_what_the_app_routes_to_its_own_machine_as_a_node() -> Story {
    with_node(opened(), |app, _, runner| {
        let tools = json!({ "tools": { "exec": { "host": "node", "security": "allowlist", "ask": "on-miss",
            "node": runner.id()? } } });
        app.home.write_private(&app.home.state().join("tools.json"), tools.to_string().as_bytes())?;
        // What is asked about is asked before the node hears of it.
        check(app, Line(&["--host", "node"], None), Via::Node, &[Via::Socket])
    })
}
