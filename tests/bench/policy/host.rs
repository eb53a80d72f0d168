//! The host's whole decision: the document looked at on disk, policy and entries made ready, programs
//! looked up, judged.

use super::machine::Machine;
use crate::figures::Figure;
use anyhow::{Result, ensure};
use countersign_approvals::Approvals;
use countersign_approvals::history::{History, Places};
use countersign_approvals::ports::Ports;
use countersign_approvals::rules::{Folders, RuleStore};
use countersign_approvals::store::Store;
use countersign_node::host::{Host, Parts};
use countersign_policy::evaluate::Trust;
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::Via;
use countersign_protocol::settings::Settings;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) fn measure() -> Result<Vec<Figure>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let few = runtime.block_on(decisions(40))?;
    let many = runtime.block_on(decisions(10_000))?;
    Ok(vec![
        Figure::new("host's whole decision, 40 entries on disk", "µs", few, ""),
        Figure::new("host's whole decision, 10 000 entries on disk", "µs", many, ""),
    ])
}

/// Microseconds of each.
async fn decisions(entries: usize) -> Result<Vec<f64>> {
    let machine = Machine::new()?;
    let folder = tempfile::Builder::new().prefix("countersign-bench-").tempdir()?;
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let host = host(&machine, folder.path(), entries, machine.search_path(), &tracker, &stop)?;
    let argv = ["git", "status", "--short"].map(str::to_owned);
    let cwd = machine.cwd().to_string_lossy().into_owned();
    let mut samples = Vec::with_capacity(SAMPLES);
    for turn in 0..WARM_UP + SAMPLES {
        let started = Instant::now();
        let allowed = host.fallback_allows(&AgentId::of(None), &argv, Some(&cwd)).await;
        let taken = started.elapsed().as_secs_f64() * 1e6;
        ensure!(allowed, "the host does not allow {argv:?}");
        if turn >= WARM_UP {
            samples.push(taken);
        }
    }
    stop.cancel();
    tracker.close();
    tracker.wait().await;
    Ok(samples)
}

/// A host with so many entries; rules of our own are in the folder `own`, as far as somebody put some there.
pub(super) fn host(
    machine: &Machine,
    folder: &Path,
    entries: usize,
    path: &OsStr,
    tracker: &TaskTracker,
    stop: &CancellationToken,
) -> Result<Host> {
    let ports = Ports::system();
    let [openclaw, own] = ["openclaw", "own"].map(|name| folder.join(name));
    for folder in [&openclaw, &own] {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    write_document(&openclaw.join("exec-approvals.json"), machine, entries)?;
    let folders = Folders { config: own.clone(), state: own };
    Ok(Host::new(Parts {
        approvals: Approvals::start(ports.clone(), 8, tracker, stop.clone()),
        store: Store::open(openclaw, ports.clone(), tracker, stop.clone()),
        rules: RuleStore::open(folders, ports.clone(), tracker, stop.clone()),
        history: History::open(
            Places { lines: folder.join("history"), head: folder.join("history.head") },
            ports.clone(),
            tracker,
            stop.clone(),
        )?,
        ports,
        settings: watch::Sender::new(Settings::default()).subscribe(),
        trusts: Box::new(Arc::new(Trust::default())),
        environment: BTreeMap::from([("PATH".to_owned(), path.to_string_lossy().into_owned())]),
        home: machine.home().to_owned(),
        private: Vec::new(),
        boxes: folder.join("boxes"),
        via: Via::CommandLine,
    }))
}

fn write_document(path: &PathBuf, machine: &Machine, entries: usize) -> Result<()> {
    let entries: Vec<_> = machine
        .entries(entries)
        .iter()
        .map(|rule| json!({ "id": rule.id, "pattern": rule.pattern }))
        .collect();
    let document = json!({
        "version": 1,
        "defaults": { "security": "allowlist", "ask": "on-miss", "askFallback": "deny" },
        "agents": { "main": { "allowlist": entries } },
    });
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    Ok(file.write_all(document.to_string().as_bytes())?)
}

const WARM_UP: usize = 200;
const SAMPLES: usize = 3_000;
