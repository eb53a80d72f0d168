//! The parts that decide, run and record, started in order and stopped in the reverse order.

use crate::paths::{Paths, process_environment};
use crate::settings::SettingsFile;
use crate::trust::TrustFile;
use countersign_approvals::Approvals;
use countersign_approvals::history::{History, HistoryError};
use countersign_approvals::ports::Ports;
use countersign_approvals::rules::RuleStore;
use countersign_approvals::store::Store;
use countersign_node::descriptors;
use countersign_node::host::{self, Host};
use countersign_protocol::question::Via;
use countersign_protocol::settings::Settings;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The parts that both the app and the command line without an app need.
pub struct Core {
    /// Asks people.
    pub approvals: Approvals,
    /// The document.
    pub store: Store,
    /// Our own rules.
    pub rules: RuleStore,
    /// What happened.
    pub history: History,
    /// Time and ids.
    pub ports: Ports,
    /// The person's settings.
    pub settings: Arc<SettingsFile>,
    /// What runs without an entry.
    pub trust: TrustFile,
    /// This machine as exec host.
    pub host: Arc<Host>,
    /// Where tasks of its kind are started.
    pub phases: Phases,
}

/// Two groups of tasks: what decides and runs, and what it is written down by. The second is stopped when the
/// first has ended, so that the end of every request is still recorded.
#[derive(Default)]
pub struct Phases {
    /// What decides and runs.
    pub acting: Phase,
    /// What that is written down by.
    pub recording: Phase,
}

/// Tasks that end together.
#[derive(Default)]
pub struct Phase {
    /// Those that run.
    pub tracker: TaskTracker,
    /// Tells them to end.
    pub stop: CancellationToken,
}

impl Core {
    /// Starts the parts. Must be called inside a tokio runtime.
    pub fn start(paths: &Paths, via: Via) -> Result<Self, HistoryError> {
        // Here and not where the program starts: what its guardian starts is this program again.
        descriptors::raise_limit();
        let phases = Phases::default();
        let Phases { acting, recording } = &phases;
        let ports = Ports::system();
        let settings = Arc::new(SettingsFile::open(paths.settings()));
        acting.tracker.spawn(Arc::clone(&settings).until_readable(acting.stop.clone()));
        let waiting = settings.watch().borrow().limits.waiting as usize;
        let approvals = Approvals::start(ports.clone(), waiting, &acting.tracker, acting.stop.clone());
        let store = Store::open(
            paths.openclaw_state.clone(),
            ports.clone(),
            &recording.tracker,
            recording.stop.clone(),
        );
        let rules = RuleStore::open(paths.rules(), ports.clone(), &recording.tracker, recording.stop.clone());
        let history =
            History::open(paths.history_places(), ports.clone(), &recording.tracker, recording.stop.clone())?;
        acting.tracker.spawn(follow_limits(
            settings.watch(),
            approvals.clone(),
            history.clone(),
            acting.stop.clone(),
        ));
        let trust = TrustFile::new(paths.tools());
        let host = Arc::new(Host::new(host::Parts {
            approvals: approvals.clone(),
            store: store.clone(),
            rules: rules.clone(),
            history: history.clone(),
            ports: ports.clone(),
            settings: settings.watch(),
            trusts: Box::new(trust.clone()),
            environment: process_environment(),
            home: paths.home.clone(),
            private: vec![paths.state.clone(), paths.config.clone()],
            boxes: paths.boxes(),
            via,
        }));
        Ok(Self { approvals, store, rules, history, ports, settings, trust, host, phases })
    }

    /// Stops everything. Bounded.
    pub async fn stop(self) {
        self.phases.stop(&self.host).await;
    }
}

/// Tells those who keep to the person's limits of each change until `stop`. What runs takes its own
/// from the settings.
async fn follow_limits(
    mut settings: watch::Receiver<Settings>,
    approvals: Approvals,
    history: History,
    stop: CancellationToken,
) {
    loop {
        let limits = settings.borrow_and_update().limits;
        approvals.limit(limits.waiting as usize).await;
        history.keep(limits.history_mb).await;
        tokio::select! {
            () = stop.cancelled() => return,
            changed = settings.changed() => if changed.is_err() { return },
        }
    }
}

impl Phases {
    /// Stops the one, waits until `host` has written down what its runs did, and stops the other. Bounded.
    pub async fn stop(self, host: &Host) {
        self.acting.stop("what decides and runs").await;
        if tokio::time::timeout(STOP_WAIT, host.afterwards()).await.is_err() {
            tracing::warn!("what some runs changed is not recorded");
        }
        self.recording.stop("what records").await;
    }
}

impl Phase {
    async fn stop(self, what: &str) {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(STOP_WAIT, self.tracker.wait()).await.is_err() {
            tracing::warn!(what, "some tasks did not stop in time");
        }
    }
}

/// How long each phase of stopping may take: a command gets TERM, then KILL, and its end is
/// recorded within it.
const STOP_WAIT: Duration = Duration::from_secs(5);
