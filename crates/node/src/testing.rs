//! What the tests of this crate share: how they wait, and how a run's time is over without one that says how
//! long that takes.

use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for what has to happen. It says that a test fails, and never how fast the machine is: where
/// all is well, nothing takes nearly as long, however slow and busy that is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The limit of runs that are to reach it: [`limit_after`] says when.
pub(crate) const LIMIT: Duration = Duration::from_secs(3_600);

/// Has [`LIMIT`] be over as soon as `begun` is, so that a run reaches it neither before it has
/// begun nor long after.
pub(crate) async fn limit_after(begun: impl Future<Output = ()>) {
    limit_between(begun, async {}).await;
}

/// The same, and the clock stands until `told` is over: whoever is told to end has all the time that
/// the machine takes.
pub(crate) async fn limit_between(begun: impl Future<Output = ()>, told: impl Future<Output = ()>) {
    begun.await;
    tokio::time::pause();
    tokio::time::advance(LIMIT).await;
    told.await;
    tokio::time::resume();
}

/// Waits on the file system, yielding to the runtime.
pub(crate) async fn wait_for_file(path: &Path) {
    wait_until(&format!("{} is there", path.display()), || path.exists()).await;
}

/// Waits until a process has ended; one that only waits to be reaped has.
pub(crate) async fn wait_until_gone(pid: i32) {
    wait_until(&format!("process {pid} has ended"), || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), None | Some('Z' | 'X'))
    })
    .await;
}

/// Waits until it is so, yielding to the runtime. The machine's clock says when that is given up, because a
/// test may stop the runtime's.
pub(crate) async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "in vain: {what}");
        tokio::task::yield_now().await;
        // The runtime may not rest meanwhile, or a clock of its own would go on; the processor may.
        std::thread::sleep(LOOK_EVERY);
    }
}
