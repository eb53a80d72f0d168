//! A real node host as a process: the part of a release that runs commands on another machine
//! than the gateway's.

use super::gateway::Gateway;
use super::home::{Home, Log};
use super::operator::Operator;
use super::release::{Release, Store};
use crate::home::{Home as AppHome, TOKEN};
use crate::process::{Background, wait_for};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// A node host that is connected to a gateway and may run commands. It is ended when dropped, and
/// its home removed.
#[derive(Debug)]
pub struct NodeHost {
    _process: Background,
    log: Log,
    id: String,
    home: Home,
}

impl NodeHost {
    /// Starts one in a home of its own and waits until the gateway takes commands for it. `owner` lets it in;
    /// it needs `operator.admin`.
    pub fn start(gateway: &Gateway, owner: &Operator) -> Result<Self> {
        let others = connected(owner)?;
        Self::run(gateway.release(), gateway.port(), gateway.token(), None, || {
            let_in(owner)?;
            running_node(owner, &others)
        })
    }

    /// The same at a gateway that is none of the release, and lets in whoever knows its token. `reader` needs
    /// `operator.read`.
    pub fn start_at(release: &Release, port: u16, token: &str, reader: &Operator) -> Result<Self> {
        let others = connected(reader)?;
        Self::run(release, port, token, None, || running_node(reader, &others))
    }

    /// One that has its commands run by the app of `app`'s home. It is of the same user as the app, and
    /// judges nothing itself.
    ///
    /// A release does this on macOS only; a preloaded module lifts that one condition in memory, so that its
    /// own client speaks to our socket here.
    pub fn start_for_app(gateway: &Gateway, owner: &Operator, app: &AppHome) -> Result<Self> {
        let others = connected(owner)?;
        let node = Self::run(gateway.release(), gateway.port(), gateway.token(), Some(app), || {
            let_in(owner)?;
            running_node(owner, &others)
        })?;
        if gateway.release().store() == Store::Database {
            let stored = owner.call("exec.approvals.node.get", json!({ "nodeId": node.id }))?;
            let set = json!({ "nodeId": node.id, "file": document(Some(app)), "baseHash": stored["hash"] });
            owner.call("exec.approvals.node.set", set)?;
        }
        Ok(node)
    }

    fn run(
        release: &Release,
        port: u16,
        token: &str,
        app: Option<&AppHome>,
        mut running: impl FnMut() -> Result<Option<String>>,
    ) -> Result<Self> {
        let home = Home::create()?;
        let log = home.log(&format!("node-{release}-{port}.log"))?;
        let mut settings = json!({
            "gateway": { "mode": "local" },
            "plugins": { "enabled": false },
            "browser": { "enabled": false },
            "nodeHost": { "browserProxy": { "enabled": false } },
        });
        if app.is_some() {
            // The stricter of configuration and document counts in some releases.
            settings["tools"] = json!({ "exec": { "security": "full", "ask": "off" } });
        }
        home.configure(&settings)?;
        if release.store() == Store::Document {
            fs::write(home.state().join("exec-approvals.json"), document(app).to_string())?;
        }
        let mut program = match app {
            None => home.program(release)?,
            Some(_) => {
                let module = home.path().join("app-host.mjs");
                fs::write(&module, APP_HOST)?;
                let mut program = release.program(home.path());
                program.env("OPENCLAW_NODE_EXEC_HOST", "app");
                program.env("NODE_OPTIONS", format!("--import={}", module.display()));
                program
            }
        };
        program.args(["node", "run", "--host", "127.0.0.1", "--display-name", NAME, "--port"]);
        program.arg(port.to_string()).env("OPENCLAW_GATEWAY_TOKEN", token);
        program.stdin(Stdio::null()).stdout(log.file.try_clone()?).stderr(log.file.try_clone()?);
        let mut process = Background::start(&mut program)?;
        let id = wait_for("the node host may run commands", START_LIMIT, || {
            if let Some(code) = process.ended()? {
                bail!("the node host ended early with {code}");
            }
            running()
        });
        let id = id.with_context(|| log.tail())?;
        Ok(Self { _process: process, log, id, home })
    }

    /// Its id at the gateway.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// An empty folder in which its commands may leave something.
    pub fn work(&self) -> PathBuf {
        self.home.work()
    }

    /// The end of its log.
    pub fn log(&self) -> String {
        self.log.tail()
    }
}

/// What the node host itself lets run. The gateway's policy decides, and this one would only be asked
/// second; or the app's.
fn document(app: Option<&AppHome>) -> Value {
    let (security, ask) = if app.is_some() { ("full", "off") } else { ("allowlist", "on-miss") };
    let defaults = json!({ "security": security, "ask": ask, "askFallback": "deny" });
    let mut document = json!({ "version": 1, "agents": {}, "defaults": defaults });
    if let Some(app) = app {
        document["socket"] = json!({ "path": app.socket(), "token": TOKEN });
    }
    document
}

/// Newer releases keep a node's commands from being used until its owner has let them in.
pub fn let_in(owner: &Operator) -> Result<()> {
    let requests = owner.call("node.pair.list", json!({}))?;
    for request in requests["pending"].as_array().into_iter().flatten() {
        owner.call("node.pair.approve", json!({ "requestId": request["requestId"] }))?;
    }
    Ok(())
}

/// Ids of nodes that are there.
fn connected(reader: &Operator) -> Result<Vec<Value>> {
    let nodes = reader.call("node.list", json!({}))?;
    let nodes = nodes["nodes"].as_array().cloned().unwrap_or_default();
    Ok(nodes
        .into_iter()
        .filter(|node| node["connected"] == true)
        .map(|mut node| node["nodeId"].take())
        .collect())
}

/// A node that runs commands and is none of `others`.
fn running_node(owner: &Operator, others: &[Value]) -> Result<Option<String>> {
    let nodes = owner.call("node.list", json!({}))?;
    let runs = |node: &&Value| {
        let commands = node["commands"].as_array();
        node["connected"] == true
            && !others.contains(&node["nodeId"])
            && commands.is_some_and(|commands| commands.iter().any(|command| command == "system.run"))
    };
    let node = nodes["nodes"].as_array().into_iter().flatten().find(runs);
    Ok(node.and_then(|node| node["nodeId"].as_str()).map(str::to_owned))
}

/// Lets a release use an app's socket on every system: in the text of its own modules, as they are loaded,
/// the condition that names macOS becomes true.
const APP_HOST: &str = r#"
import { registerHooks } from "node:module";

// The first release asks for macOS alone, right where it hands a run over.
const enforced = String.raw`\s*&&\s*execHostEnforced`;
const handed = String.raw`\)\s*\{\s*const approvalDecision\b[^;]*;\s*const response = await runViaMacAppExecHost`;
const onlyThere = new RegExp(String.raw`process\.platform\s*===\s*"darwin"(?=${enforced}|${handed})`, "g");

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.includes("/openclaw/dist/") || !loaded.source) return loaded;
    const text = Buffer.from(loaded.source).toString("utf8");
    return onlyThere.test(text) ? { ...loaded, source: text.replaceAll(onlyThere, "true") } : loaded;
  },
});
"#;

/// How the node calls itself.
const NAME: &str = "story node";

/// Longest start, with the time until the gateway knows what it can do.
const START_LIMIT: Duration = Duration::from_secs(300);
