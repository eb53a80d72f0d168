//! Real sandboxes: what runs in them as it would outside, and what does not get out.
//!
//! A test that root runs is run a second time as nobody.

mod boxed;
mod containers;
mod escapes;
mod runs;

use super::super::tests::{Bench, base_env, owned};
use super::*;
use crate::facts::Drift;
use countersign_approvals::question::Typing;
use countersign_protocol::socket::ExecPayload;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// A folder with commands that are approved there and run in a sandbox.
struct Rig {
    bench: Bench,
    sandbox: Sandbox,
    grounds: Grounds,
    env: BTreeMap<String, String>,
}

impl Rig {
    fn new() -> Self {
        Self::with(Bench::new())
    }

    fn with(bench: Bench) -> Self {
        let home = bench.folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let state = bench.folder.path().join("state");
        fs::create_dir(&state).unwrap();
        let mut env = base_env();
        env.insert("HOME".into(), home.display().to_string());
        env.insert("LANG".into(), "C".into());
        Self {
            bench,
            sandbox: Sandbox { backend: Backend::Bubblewrap, network: false },
            grounds: Grounds {
                home,
                openclaw: state.join("openclaw"),
                private: vec![state],
                ..Grounds::default()
            },
            env,
        }
    }

    fn networked() -> Self {
        let rig = Self::new();
        Self { sandbox: Sandbox { network: true, ..rig.sandbox.clone() }, ..rig }
    }

    async fn start(&self, command: ApprovedCommand) -> Result<ExecPayload, NotStarted> {
        let cancel = self.bench.cancel.clone();
        run(command, &self.env, &self.sandbox, &self.grounds, cancel).await.map(|output| output.payload)
    }

    /// Runs the text of a shell in the sandbox, in a terminal of its own.
    async fn in_terminal(&self, text: &str) -> ExecPayload {
        let controls = Controls { terminal: Some(Typing::Nobody), ..Controls::default() };
        let command = self.bench.approve(&owned(&["sh", "-c", text]));
        run(command, &self.env, &self.sandbox, &self.grounds, controls).await.unwrap().payload
    }

    /// Runs the list in the sandbox.
    async fn run(&self, argv: &[&str]) -> ExecPayload {
        self.start(self.bench.approve(&owned(argv))).await.unwrap()
    }

    /// Runs the text of a shell in the sandbox.
    async fn shell(&self, text: &str) -> ExecPayload {
        self.run(&["sh", "-c", text]).await
    }

    /// Runs the same text outside of it.
    async fn outside(&self, text: &str) -> ExecPayload {
        let command = self.bench.approve(&owned(&["sh", "-c", text]));
        super::super::run(command, &self.env, self.bench.cancel.clone()).await.unwrap().payload
    }

    async fn drift(&self, argv: &[&str], change: impl FnOnce()) -> Drift {
        let command = self.bench.approve(&owned(argv));
        change();
        match self.start(command).await {
            Err(NotStarted::Drift(drift)) => drift,
            other => panic!("expected a drift, got {other:?}"),
        }
    }

    /// The text fails in the sandbox, and works outside: so it is the sandbox that it fails by.
    async fn fails(&self, text: &str) {
        let inside = self.shell(text).await;
        assert!(!inside.success, "not kept in: {text}: {inside:?}");
        assert!(inside.exit_code.is_some(), "did not even start: {inside:?}");
        let outside = self.outside(text).await;
        assert!(outside.success, "cannot fail: {text}: {outside:?}");
    }
}

/// A folder that is not below `/tmp`, which a box has for itself: where the tests themselves are not there.
fn beside_the_tests() -> tempfile::TempDir {
    let tests = std::env::current_exe().unwrap();
    tempfile::tempdir_in(tests.parent().unwrap()).or_else(|_| tempfile::tempdir()).unwrap()
}

/// Whether this process is root's.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the test of this name once more, as nobody.
#[expect(clippy::disallowed_methods, reason = "a test starts itself as another user")]
fn again_as_nobody(test: &str) {
    if !is_root() {
        return;
    }
    // Root's folders are closed to others, and the program is often in one.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let own = folder.path().join("tests");
    let tests = std::env::current_exe().unwrap();
    let small = tests.ancestors().nth(2).unwrap().join("countersign-box");
    // By another process: what this one has open for writing could be inherited by what another test
    // starts just now.
    for (from, to) in [(&tests, &own), (&small, &folder.path().join("countersign-box"))] {
        let copied =
            std::process::Command::new("install").args(["-m", "755", "--"]).args([from, to]).status();
        assert!(copied.unwrap().success());
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let ran = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&own)
        .args([&format!("{module}::{test}"), "--exact", "--nocapture"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "as nobody: {said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "no such test: {said}");
}

#[tokio::test]
async fn a_command_in_it_gets_a_terminal_of_its_own_too() {
    let rig = Rig::new();
    let payload = rig.in_terminal("test -t 0 && test -t 1 && echo yes; stty size; cat; exit 3").await;
    assert_eq!((payload.exit_code, payload.stdout.as_str()), (Some(3), "yes\r\n30 120\r\n"));
}
