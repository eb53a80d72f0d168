//! No descriptor is left: every caller is told so, what waits goes on waiting, and everything goes on when
//! there are some again.

use super::*;
use pretty_assertions::assert_eq;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::process::{Command, Stdio};

/// The name under which a process of its own finds [`child`].
const CHILD: &str = "socket::tests::full::child";

/// Says that a process was started for [`child`].
const STARTED: &str = "COUNTERSIGN_TEST_FULL";

/// Callers that come while there is no descriptor: more than are kept.
const CALLERS: usize = 20;

/// Enough for the test before it uses them up.
const DESCRIPTORS: u64 = 96;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs a process whose descriptors it can use up")]
fn without_descriptors_every_caller_is_told_and_what_waits_goes_on_waiting() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", CHILD, "--ignored", "--nocapture", "--test-threads=1"]);
    let status = command.env(STARTED, "1").stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{status}");
}

#[tokio::test]
#[ignore = "other tests start it as a process of its own"]
async fn child() {
    assert!(std::env::var_os(STARTED).is_some(), "started by hand");
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum }).unwrap();
    let mut rig = Rig::start();
    let address = SocketAddrUnix::new(rig.path()).unwrap();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = || rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    let sockets: Vec<_> = (0..CALLERS).map(|_| socket()).collect();
    let waiting = rig.send(format!("{}\n", question("right"))).await;
    let asked = rig.asked().await;

    let mut hoard: Vec<File> = Vec::new();
    for socket in sockets {
        // Also what the caller before gave back.
        hoard.extend(std::iter::from_fn(|| File::open("/dev/null").ok()));
        rustix::net::connect(&socket, &address).unwrap();
        let answer = read_all(UnixStream::from_std(socket.into()).unwrap()).await;
        let is_busy = answer.contains(r#""code":"UNAVAILABLE""#) && answer.contains(r#""reason":"busy""#);
        assert!(is_busy, "{answer}");
    }
    assert!(!asked.call.gone.is_cancelled());
    drop(hoard);
    asked.reply.send(Some(Decision::AllowOnce)).unwrap();
    assert_eq!(read_all(waiting).await, decision("q1", "allow-once"));
    let stream = rig.send(format!("{}\n", question("right"))).await;
    rig.asked().await.reply.send(Some(Decision::Deny)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "deny"));
    rig.finish().await;
}
