//! The app has no descriptor left: callers of both its sockets are told that it is busy, what waits is not
//! withdrawn, and everything answers when there are some again.
//!
//! A program of its own, whose descriptors can be used up.

use anyhow::{Result, ensure};
use countersign_companion::Companion;
use countersign_companion::control;
use countersign_core::paths::Paths;
use countersign_node::socket::client;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::ids::RequestId;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::AskRequest;
use countersign_protocol::vocabulary::Decision;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Every descriptor that the app does not hold.
struct Hoard(Vec<File>);

impl Hoard {
    fn grow(&mut self) {
        self.0.extend(std::iter::from_fn(|| File::open("/dev/null").ok()));
    }

    /// A socket to call with, and nothing else.
    fn socket(&mut self) -> OwnedFd {
        loop {
            self.0.pop();
            // Somebody in the app may be faster.
            let made =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
            self.grow();
            if let Ok(socket) = made {
                return socket;
            }
        }
    }

    /// What the socket at `path` says to `line`, up to its end.
    fn call(&mut self, path: &Path, line: &str) -> Result<String> {
        let socket = self.socket();
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        let mut stream = UnixStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE))?;
        // Whoever is refused may be so before it has said anything.
        let _ = stream.write_all(format!("{line}\n").as_bytes());
        let mut said = Vec::new();
        // What came before a reset has come.
        let read = stream.read_to_end(&mut said);
        let said = String::from_utf8(said)?;
        let is_open = read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        ensure!(!is_open, "{} did not close: {said:?}", path.display());
        Ok(said)
    }
}

fn private_home() -> Result<(TempDir, Paths)> {
    let folder = tempfile::tempdir()?;
    let places = [
        ("HOME", folder.path().to_owned()),
        ("COUNTERSIGN_STATE_DIR", folder.path().join("own")),
        ("OPENCLAW_STATE_DIR", folder.path().join("openclaw")),
        ("COUNTERSIGN_GATEWAY_PORT", "0".into()),
    ];
    let env: BTreeMap<_, _> =
        places.into_iter().map(|(name, path)| (name.to_owned(), path.display().to_string())).collect();
    let paths = Paths::from_env(&env)?;
    fs::create_dir(&paths.openclaw_state)?;
    fs::set_permissions(&paths.openclaw_state, PermissionsExt::from_mode(0o700))?;
    let document = json!({
        "version": 1, "agents": {}, "socket": { "path": socket_of(&paths), "token": TOKEN },
        "defaults": { "security": "allowlist", "ask": "always", "askFallback": "deny" },
    });
    fs::write(paths.document(), document.to_string())?;
    fs::set_permissions(paths.document(), PermissionsExt::from_mode(0o600))?;
    Ok((folder, paths))
}

fn socket_of(paths: &Paths) -> PathBuf {
    paths.openclaw_state.join("exec-approvals.sock")
}

#[test]
fn without_descriptors_callers_of_both_sockets_are_told_and_nothing_is_withdrawn() {
    let (_folder, paths) = private_home().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let _inside = runtime.enter();
    let (companion, _presenter) = Companion::start(&paths).unwrap();
    let ask = || {
        let (socket, token) = (socket_of(&paths), SocketToken::parse(TOKEN).unwrap());
        let request = AskRequest { command: "id".to_owned(), ..AskRequest::default() };
        runtime.spawn(async move { client::ask(&socket, &token, &request, PATIENCE).await })
    };
    let desk = companion.desk().clone();
    let waiting_id = || {
        let begun = Instant::now();
        loop {
            if let Some(card) = runtime.block_on(desk.snapshot()).cards.first() {
                return card.id.clone();
            }
            assert!(begun.elapsed() < PATIENCE, "nothing waits");
            std::thread::yield_now();
        }
    };
    let wait_for = Instant::now() + PATIENCE;
    while !socket_of(&paths).exists() {
        assert!(Instant::now() < wait_for, "no socket");
        std::thread::yield_now();
    }
    let waiting = ask();
    let id = waiting_id();

    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum }).unwrap();
    let mut hoard = Hoard(Vec::new());
    hoard.grow();
    let pending = serde_json::to_string(&ControlRequest::Pending).unwrap();
    let (begun, mut told) = (Instant::now(), [0, 0]);
    // Some may come just when the app gave a descriptor back, and are served.
    while told.iter().any(|told| *told < CALLS) || begun.elapsed() < GIVEN_UP {
        let runner = hoard.call(&socket_of(&paths), "{}").unwrap();
        let terminal = hoard.call(&paths.control_socket(), &pending).unwrap();
        assert!(!terminal.is_empty());
        told[0] += usize::from(runner.contains(r#""reason":"busy""#));
        told[1] += usize::from(terminal.contains("can open no more files"));
    }
    drop(hoard);

    assert_eq!(waiting_id(), id);
    assert!(runtime.block_on(desk.deny(&RequestId::from(id.as_str()), "command-line")));
    assert_eq!(runtime.block_on(waiting).unwrap().unwrap(), Decision::Deny);
    let answer = runtime.block_on(control::call(&paths.control_socket(), &ControlRequest::Pending, PATIENCE));
    assert!(matches!(answer, Ok(ControlResponse::Pending { .. })), "{answer:?}");
    let next = ask();
    assert!(runtime.block_on(desk.deny(&RequestId::from(waiting_id().as_str()), "command-line")));
    assert_eq!(runtime.block_on(next).unwrap().unwrap(), Decision::Deny);
    runtime.block_on(companion.stop());
}

const TOKEN: &str = "tttttttttttttttttttttttttttttttt";

/// Calls of each socket at least: more than are kept for.
const CALLS: usize = 20;

/// More than the app has open when it starts.
const DESCRIPTORS: u64 = 256;

/// Longer than the app needs to give an endpoint up that its document no longer names: a poll
/// and two seconds.
const GIVEN_UP: Duration = Duration::from_secs(4);

/// Longest wait for what has to happen. It says that a test fails, and never how fast the machine is: where
/// all is well, nothing takes nearly as long, however slow and busy that is.
const PATIENCE: Duration = Duration::from_secs(120);
