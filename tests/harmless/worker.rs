//! The part inside the name spaces: a host with the ready-made rules, which nobody can ask, runs one form
//! after the other.

use crate::forms::Form;
use crate::machine::SYSTEM;
use anyhow::{Context, Result};
use countersign_approvals::Approvals;
use countersign_approvals::history::{History, Places};
use countersign_approvals::ports::Ports;
use countersign_approvals::rules::{Folders, RuleStore};
use countersign_approvals::store::Store;
use countersign_node::host::{Host, Parts};
use countersign_node::socket::server::Peer;
use countersign_policy::evaluate::Trust;
use countersign_protocol::question::Via;
use countersign_protocol::settings::Settings;
use countersign_protocol::socket::ExecRequest;
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What came of a form.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Outcome {
    pub(crate) ran: bool,
    /// How it ended, or why it did not begin.
    pub(crate) said: String,
    /// The programs that its words name, at which it may be started.
    pub(crate) command: Vec<String>,
}

/// Runs all forms.
pub(crate) fn run(work: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run_all(work))
}

/// What came of them.
pub(crate) fn outcomes(work: &Path) -> Result<Vec<Outcome>> {
    let text = fs::read_to_string(work.join(OUTCOMES)).context("nothing came of the forms")?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

async fn run_all(work: &Path) -> Result<()> {
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let host = host(work, &tracker, &stop)?;
    let mut outcomes = File::create(work.join(OUTCOMES))?;
    let forms = fs::read_to_string(work.join(FORMS))?;
    for (at, line) in forms.lines().enumerate() {
        let form: Form = serde_json::from_str(line)?;
        // A line in the trace: what comes after it belongs to this form.
        let _ = access(format!("{MARK}{at}"), Access::EXISTS);
        let request = ExecRequest {
            command: form.command.clone(),
            cwd: Some(form.folder.clone()),
            env: form.variable.map(|(name, value)| BTreeMap::from([(name, value)])),
            timeout_ms: Some(LONGEST_MS),
            ..ExecRequest::default()
        };
        let outcome = match host.exec(request, &Peer::default(), CancellationToken::new()).await {
            Ok(payload) => {
                let said = payload.error.unwrap_or_else(|| "exit 0".to_owned());
                Outcome { ran: true, said, command: form.command }
            }
            Err(refusal) => Outcome { ran: false, said: refusal.error.message, command: form.command },
        };
        writeln!(outcomes, "{}", serde_json::to_string(&outcome)?)?;
    }
    let _ = access(format!("{MARK}{}", forms.lines().count()), Access::EXISTS);
    stop.cancel();
    tracker.close();
    tracker.wait().await;
    Ok(())
}

fn host(work: &Path, tracker: &TaskTracker, stop: &CancellationToken) -> Result<Host> {
    let ports = Ports::system();
    let [openclaw, own] = ["openclaw", "own"].map(|name| work.join(name));
    for folder in [&openclaw, &own] {
        DirBuilder::new().mode(0o700).create(folder)?;
    }
    let private = |path: &Path, text: &str| -> Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        Ok(file.write_all(text.as_bytes())?)
    };
    let document = json!({
        "version": 1,
        "defaults": { "security": "allowlist", "ask": "on-miss", "askFallback": "allowlist" },
        "agents": {},
    });
    private(&openclaw.join("exec-approvals.json"), &document.to_string())?;
    let rules = json!({ "version": 1, "presets": ["everyday"], "rules": [] });
    private(&own.join("rules.json"), &rules.to_string())?;
    let folders = Folders { config: own.clone(), state: own };
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    Ok(Host::new(Parts {
        approvals: Approvals::start(ports.clone(), 8, tracker, stop.clone()),
        store: Store::open(openclaw, ports.clone(), tracker, stop.clone()),
        rules: RuleStore::open(folders, ports.clone(), tracker, stop.clone()),
        history: History::open(
            Places { lines: work.join("history"), head: work.join("history.head") },
            ports.clone(),
            tracker,
            stop.clone(),
        )?,
        ports,
        settings: watch::Sender::new(Settings::default()).subscribe(),
        trusts: Box::new(Arc::new(Trust::default())),
        environment: environment(&home.to_string_lossy()),
        home: home.into(),
        private: Vec::new(),
        boxes: work.join("boxes"),
        via: Via::CommandLine,
    }))
}

/// What the person's environment could have in it, by which programs start others or write.
fn environment(home: &str) -> BTreeMap<String, String> {
    let hostile = HOSTILE.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let usual = [("HOME", home), ("PATH", SYSTEM), ("LANG", "C.UTF-8"), ("TERM", "xterm")];
    hostile.chain(usual.map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
}

/// The person's own settings that only write where the person wants that, such as `GIT_TRACE`,
/// are not among them.
pub(crate) const HOSTILE: &[(&str, &str)] = &[
    ("BASH_ENV", "./evil"),
    ("ENV", "./evil"),
    ("GIT_ASKPASS", "./evil"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "./evil"),
    ("GIT_EDITOR", "./evil"),
    ("GIT_EXTERNAL_DIFF", "./evil"),
    ("GIT_PAGER", "./evil"),
    ("GREP_OPTIONS", "-r"),
    ("LESSOPEN", "|./evil %s"),
    ("LS_OPTIONS", "-R"),
    ("MANPAGER", "./evil"),
    ("PAGER", "./evil"),
    ("PROMPT_COMMAND", "touch OUT"),
    ("PS4", "$(touch OUT)"),
    ("PYTHONSTARTUP", "./evil"),
    ("RIPGREP_CONFIG_PATH", "./conf"),
    ("SHELLOPTS", "xtrace"),
    ("TMPDIR", "."),
];

/// The forms, a line each.
pub(crate) const FORMS: &str = "forms.jsonl";

/// What came of them, a line each.
const OUTCOMES: &str = "outcomes.jsonl";

/// A path that is asked for before each form, with its number: nothing is there.
pub(crate) const MARK: &str = "/countersign-harmless/";

/// Longest run of a form: nothing here needs more than a moment.
const LONGEST_MS: i64 = 5_000;
