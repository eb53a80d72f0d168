//! A real node host as a process: the part of a release that runs commands on another machine than the gateway's.

use super::gateway::Gateway;
use super::home::{Home, Log};
use super::operator::Operator;
use super::release::Store;
use crate::process::{Background, wait_for};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// A node host that is connected to a gateway and may run commands. It is ended when dropped, and its home removed.
#[derive(Debug)]
pub struct NodeHost {
    _process: Background,
    log: Log,
    id: String,
    home: Home,
}

impl NodeHost {
    /// Starts one in a home of its own and waits until the gateway takes commands for it. `owner` lets it in; it needs
    /// `operator.admin`.
    pub fn start(gateway: &Gateway, owner: &Operator) -> Result<Self> {
        let home = Home::create()?;
        let log = home.log(&format!("node-{}-{}.log", gateway.release(), gateway.port()))?;
        home.configure(&json!({
            "gateway": { "mode": "local" },
            "plugins": { "enabled": false },
            "browser": { "enabled": false },
            "nodeHost": { "browserProxy": { "enabled": false } },
        }))?;
        if gateway.release().store() == Store::Document {
            // The gateway's policy decides; this one would only be asked second.
            let document = json!({
                "version": 1, "agents": {},
                "defaults": { "security": "allowlist", "ask": "on-miss", "askFallback": "deny" },
            });
            fs::write(home.state().join("exec-approvals.json"), document.to_string())?;
        }
        let mut program = home.program(gateway.release())?;
        program.args(["node", "run", "--host", "127.0.0.1", "--display-name", NAME, "--port"]);
        program.arg(gateway.port().to_string()).env("OPENCLAW_GATEWAY_TOKEN", gateway.token());
        program.stdin(Stdio::null()).stdout(log.file.try_clone()?).stderr(log.file.try_clone()?);
        let mut process = Background::start(&mut program)?;
        let id = wait_for("the node host may run commands", START_LIMIT, || {
            if let Some(code) = process.ended()? {
                bail!("the node host ended early with {code}");
            }
            let_in(owner)?;
            running_node(owner)
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

/// Newer releases keep a node's commands from being used until its owner has let them in.
fn let_in(owner: &Operator) -> Result<()> {
    let requests = owner.call("node.pair.list", json!({}))?;
    for request in requests["pending"].as_array().into_iter().flatten() {
        owner.call("node.pair.approve", json!({ "requestId": request["requestId"] }))?;
    }
    Ok(())
}

fn running_node(owner: &Operator) -> Result<Option<String>> {
    let nodes = owner.call("node.list", json!({}))?;
    let runs = |node: &&Value| {
        let commands = node["commands"].as_array();
        node["connected"] == true
            && commands.is_some_and(|commands| commands.iter().any(|command| command == "system.run"))
    };
    let node = nodes["nodes"].as_array().into_iter().flatten().find(runs);
    Ok(node.and_then(|node| node["nodeId"].as_str()).map(str::to_owned))
}

/// How the node calls itself.
const NAME: &str = "story node";

/// Longest start, with the time until the gateway knows what it can do.
const START_LIMIT: Duration = Duration::from_secs(300);
