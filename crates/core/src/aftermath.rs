//! What becomes of runs whose process is gone: their warden ends them, and the record hears of it, from the
//! warden or, when that was killed as well, at the next start.

use crate::paths::Paths;
use anyhow::Context as _;
use countersign_approvals::history::{History, HistoryError};
use countersign_approvals::ports::Ports;
use countersign_node::executor::sandbox;
use countersign_node::executor::warden::{self, End, Left, LeftRun};
use countersign_protocol::history::{HistoryEvent, RunView};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Has everything that this process runs end with it, by whatever signal. For programs whose `main` begins
/// with [`beside_main`].
pub fn guard_runs(paths: &Paths) {
    if let Err(error) = warden::start(&paths.runs(), Vec::new()) {
        tracing::error!(%error, "commands may outlive this process when it is killed");
    }
}

/// The whole life of this process, when it was started as a warden, or as the first program of a box. To be
/// called first of all.
pub fn beside_main() -> Option<ExitCode> {
    if let Some(ended) = sandbox::entered(std::env::args_os()) {
        return Some(ended);
    }
    let file = PathBuf::from(std::env::var_os(warden::VARIABLE)?);
    Some(match watch(&file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    })
}

fn watch(file: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let left = {
        let _inside = runtime.enter();
        warden::serve(file).with_context(|| file.display().to_string())?
    };
    let Some(left) = left else { return Ok(()) };
    let paths = Paths::of_process()?;
    runtime.block_on(async {
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let history = History::open(paths.history_places(), Ports::system(), &tracker, stop.clone())?;
        let recorded = record(&history, left).await;
        stop.cancel();
        tracker.close();
        tracker.wait().await;
        Ok(recorded?)
    })
}

/// Records what processes that are gone left behind, and ends what still runs of it.
pub async fn record_what_was_left(paths: &Paths, history: &History) {
    let folder = paths.runs();
    let Ok(left) = tokio::task::spawn_blocking(move || warden::left_behind(&folder)).await else { return };
    for left in left {
        if let Err(error) = record(history, left).await {
            // It stays written down for the next start.
            tracing::error!(%error, "how runs ended could not be recorded");
        }
    }
}

async fn record(history: &History, left: Left) -> Result<(), HistoryError> {
    for LeftRun { name, begun_ms, end } in &left.runs {
        let (text, ended_ms) = match end {
            End::ByWarden(at_ms) => (BY_WARDEN, *at_ms),
            End::AtNextStart => (AT_NEXT_START, *begun_ms),
            End::Unknown => (UNKNOWN, *begun_ms),
        };
        let run = RunView {
            exit_code: None,
            timed_out: false,
            duration_ms: u64::try_from(ended_ms - begun_ms).unwrap_or(0),
            error: Some(text.to_owned()),
            output_tail: String::new(),
            within: None,
            reached: Vec::new(),
            unwritten: None,
        };
        history.append(Some(name.clone().into()), HistoryEvent::Run { run }).await?;
    }
    if let Err(error) = left.settled() {
        tracing::warn!(%error, "a list of runs could not be removed");
    }
    Ok(())
}

const BY_WARDEN: &str = "Countersign ended while this ran, and its guardian ended it";
const AT_NEXT_START: &str =
    "Countersign and its guardian ended while this ran; it was ended when Countersign started again";
const UNKNOWN: &str = "Countersign and its guardian ended while this ran; how it ended is not known";
