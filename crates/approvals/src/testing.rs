//! Chosen time and ids for tests, and how long they wait.

use crate::ports::{Clock, IdSource, Ports};
use crate::question::{Command as Wanted, Door, Offer, Place, Question, Runner, Subject, peer_asks};
use countersign_commands::analysis::analyze_text;
use countersign_policy::display;
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::Via;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::Decision;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Longest wait for what has to happen, in real time. It says that a test fails, and never how fast the
/// machine is: where all is well, nothing takes nearly as long, however slow and busy that is. Locks are
/// waited for as long: a process that another test starts holds what is open here until it runs
/// its own program.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// For tests that wait for a lock in vain.
pub(crate) const IMPATIENCE: Duration = Duration::from_millis(30);

/// A clock that stands where it was set.
#[derive(Debug)]
pub(crate) struct FakeClock(AtomicI64);

impl FakeClock {
    pub(crate) fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        self.now_ms()
    }
}

#[derive(Debug, Default)]
struct CountingIds(AtomicU64);

impl IdSource for CountingIds {
    fn uuid(&self) -> String {
        format!("00000000-0000-4000-8000-{:012x}", self.0.fetch_add(1, Ordering::SeqCst))
    }

    fn token(&self) -> SocketToken {
        SocketToken::parse(&format!("{:032}", self.0.fetch_add(1, Ordering::SeqCst))).unwrap()
    }
}

/// Ports with a clock at a million milliseconds and ids that count up.
pub(crate) fn ports() -> (Ports, Arc<FakeClock>) {
    let clock = Arc::new(FakeClock(AtomicI64::new(1_000_000)));
    let shared: Arc<dyn Clock> = clock.clone();
    (Ports { clock: shared, ids: Arc::new(CountingIds::default()) }, clock)
}

/// A question about a command text, with every answer offered.
pub(crate) fn question(command: &str) -> Question {
    let view = display::text_view(command, &analyze_text(command));
    Question {
        subject: Subject::Command(Box::new(Wanted::of_text(Runner::App, command.to_owned(), view))),
        door: Door { via: Via::Socket, gateway: None, program: None, generation: 0 },
        agent: AgentId::of(None),
        session: None,
        place: Place::ThisMachine,
        why: peer_asks(PolicyLayer::Defaults),
        facts: Vec::new(),
        offer: Offer { decisions: Decision::ALL.to_vec(), ..Offer::default() },
        blocked: None,
    }
}

/// Starts this test binary again with one ignored test, which plays `role` on `dir` in a process of its own.
/// `limit` is the largest file that it may write, in 512-byte blocks.
#[expect(clippy::disallowed_methods, reason = "a test needs a process that it can kill")]
pub(crate) fn start_child(test: &str, role: &str, dir: &Path, limit: Option<u32>) -> Child {
    let program = std::env::current_exe().unwrap();
    start(
        test,
        role,
        dir,
        match limit {
            None => Command::new(program),
            Some(blocks) => {
                let mut shell = Command::new("/bin/sh");
                // Ignored signals stay ignored in the program: a write over the limit is then an error.
                shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
                shell.arg(program);
                shell
            }
        },
    )
}

/// The same with a disk of its own at `dir`, of so many KiB. Nobody else sees what is on it.
#[expect(clippy::disallowed_methods, reason = "a test needs a process with a disk that is full")]
pub(crate) fn start_child_on_disk(test: &str, role: &str, dir: &Path, kib: u32) -> Child {
    let mount = format!("mount -t tmpfs -o size={kib}k none \"${DIR}\" && exec \"$0\" \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "/bin/sh", "-c", &mount]);
    command.arg(std::env::current_exe().unwrap());
    start(test, role, dir, command)
}

fn start(test: &str, role: &str, dir: &Path, mut command: Command) -> Child {
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(DIR, dir).stdout(Stdio::null()).stderr(Stdio::inherit());
    command.spawn().unwrap()
}

/// What this process was started for, and where: `None` in a process that nobody started with
/// [`start_child`].
pub(crate) fn child_role() -> Option<(String, PathBuf)> {
    Some((std::env::var(ROLE).ok()?, std::env::var_os(DIR)?.into()))
}

const ROLE: &str = "COUNTERSIGN_TEST_ROLE";
const DIR: &str = "COUNTERSIGN_TEST_DIR";
