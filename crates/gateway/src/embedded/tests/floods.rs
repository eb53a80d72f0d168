//! Connections of programs that have no token and want none: over real sockets, also as another user.

use super::scripted::{IN_TIME, Rig, TOKEN, bearer, listing, post};
use crate::embedded::*;
use crate::identity::{Identity, Proof};
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

/// As many as were too much for the whole app.
const FLOOD: usize = 1_100;

/// A user who is not the one that runs this.
const NOBODY: u32 = 65_534;

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Waits for something that nobody tells of.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !holds() {
        assert!(began.elapsed() < IN_TIME, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What another user does, as long as it is kept; where this does not run as root, there is none.
struct Other(Child);

impl Other {
    /// Runs a script of bash, which ends at the latest when it reads the end of its input.
    #[expect(clippy::disallowed_methods, reason = "a test starts another user's program")]
    fn run(script: &str) -> Option<Self> {
        (own() == 0).then(|| {
            let mut command = std::process::Command::new("bash");
            command.args(["-c", script]).current_dir("/").env_clear().env("PATH", "/usr/bin:/bin");
            command.stdin(Stdio::piped()).uid(NOBODY).gid(NOBODY);
            Self(command.spawn().unwrap())
        })
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn idle_connections_of_another_user_leave_the_person_their_place() {
    // This very program is another user to this gateway.
    let rig = Rig::of_person(own() + 1, Ok(listing())).await;
    let mut idle = Vec::new();
    for _ in 0..64 {
        idle.push(TcpStream::connect(rig.address).await.unwrap());
    }
    for stream in &mut idle[32..] {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
    let away = rig.gateway.turned_away();
    assert_eq!((away[0].peer, away[0].cause, away[0].times), (Peer::User(own()), Cause::Connections, 32));
    // A flood of somebody else, who has the real numbers.
    let rig = Rig::new().await;
    let port = rig.address.port();
    let script = format!(
        "for i in $(seq {FLOOD}); do exec {{fd}}<>/dev/tcp/127.0.0.1/{port} || break; done 2>/dev/null; read"
    );
    if let Some(_flood) = Other::run(&format!("ulimit -n 4096; {script}")) {
        let turned_away = || rig.gateway.turned_away().first().map_or(0, |one| one.times);
        until("the flood", || turned_away() >= FLOOD as u64 - 32).await;
        assert_eq!(rig.gateway.turned_away()[0].peer, Peer::User(NOBODY));
        let mut client = rig.client("operator", &["operator.read"]).await.expect("a place for the person");
        assert_eq!(client.call("health", json!({})).await.unwrap()["ok"], true);
    }
}

#[tokio::test]
async fn half_handshakes_of_one_user_keep_no_other_out() {
    let rig = Rig::new().await;
    let port = rig.address.port();
    let upgrade = "GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\
        Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n";
    let script = format!(
        "for i in $(seq 40); do exec {{fd}}<>/dev/tcp/127.0.0.1/{port}; printf '{upgrade}' >&$fd; done 2>/dev/null; read"
    );
    if let Some(_half) = Other::run(&script) {
        until("the handshakes", || rig.gateway.turned_away().iter().any(|one| one.times == 8)).await;
    }
    let mut held = Vec::new();
    for _ in 0..40 {
        held.push(connect_async(format!("ws://{}", rig.address)).await.unwrap());
    }
    rig.client("operator", &["operator.read"]).await.expect("a place beside them");
}

#[tokio::test]
async fn t03_wrong_tokens_of_another_user_lock_nobody_else_out() {
    let mut rig = Rig::new().await;
    let port = rig.address.port();
    let request = "GET /tools HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer guess\\r\\n\\r\\n";
    let script = format!(
        "for i in $(seq 12); do exec {{fd}}<>/dev/tcp/127.0.0.1/{port}; printf '{request}' >&$fd; cat <&$fd >/dev/null; done; read"
    );
    if let Some(_guesses) = Other::run(&script) {
        let locked_out = || rig.gateway.turned_away().iter().any(|one| one.cause == Cause::LockedOut);
        until("the lock", locked_out).await;
        let away = rig.gateway.turned_away();
        let wrong = away.iter().find(|one| one.cause == Cause::Token).unwrap();
        assert_eq!((wrong.peer, wrong.times), (Peer::User(NOBODY), 10));
    }
    let exchange = rig.post(&json!({ "tool": "exec" })).await;
    rig.call().await.bring("fine");
    assert_eq!(exchange.answer().await.status, 200);
}

/// Connects as a device with its key; what is wrong, if anything.
async fn come(rig: &Rig, token: &str, identity: &Identity) -> Result<(), Value> {
    let (mut socket, _) = connect_async(format!("ws://{}", rig.address)).await.unwrap();
    let next = async |socket: &mut tokio_tungstenite::WebSocketStream<_>| -> Value {
        loop {
            if let Message::Text(text) = socket.next().await.expect("a frame").unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    };
    let challenge = next(&mut socket).await;
    let nonce = challenge["payload"]["nonce"].as_str().unwrap().to_owned();
    let signed_at = challenge["payload"]["ts"].as_i64().unwrap();
    let device_id = identity.device_id();
    let proof = Proof {
        device_id: &device_id,
        client_id: "cli",
        client_mode: "cli",
        role: "operator",
        scopes: &[],
        signed_at_ms: signed_at,
        token,
        nonce: &nonce,
        platform: "linux",
        device_family: "",
    };
    let params = json!({
        "minProtocol": 3, "maxProtocol": 4, "role": "operator", "scopes": [], "auth": { "token": token },
        "client": { "id": "cli", "displayName": "a client", "version": "1", "platform": "linux", "mode": "cli" },
        "device": {
            "id": device_id, "publicKey": identity.public_key(), "signature": identity.sign(&proof.text()),
            "signedAt": signed_at, "nonce": nonce,
        },
    });
    let request = json!({ "type": "req", "id": "1", "method": "connect", "params": params });
    socket.send(Message::text(request.to_string())).await.unwrap();
    let answer = next(&mut socket).await;
    if answer["ok"] == true { Ok(()) } else { Err(answer["error"].clone()) }
}

#[tokio::test]
async fn t03_a_device_that_was_let_in_is_not_locked_out_by_guesses_of_others() {
    let rig = Rig::new().await;
    let (known, stranger) = (Identity::from_seed(&[1; 32]), Identity::from_seed(&[2; 32]));
    come(&rig, TOKEN, &known).await.unwrap();
    for _ in 0..10 {
        let error = come(&rig, "a guess", &stranger).await.unwrap_err();
        assert_eq!(error["details"]["code"], "AUTH_TOKEN_MISMATCH", "{error}");
    }
    let locked = come(&rig, TOKEN, &stranger).await.unwrap_err();
    assert_eq!(locked["details"]["code"], "AUTH_RATE_LIMITED", "{locked}");
    come(&rig, TOKEN, &known).await.unwrap();
    // Its key is no token.
    let error = come(&rig, "a guess", &known).await.unwrap_err();
    assert_eq!(error["details"]["code"], "AUTH_TOKEN_MISMATCH", "{error}");
}

#[tokio::test]
async fn a_first_frame_that_is_too_long_is_not_read_to_its_end() {
    let rig = Rig::new().await;
    for announced in [25_u64 << 20, 100 << 10] {
        let (socket, _) = connect_async(format!("ws://{}", rig.address)).await.unwrap();
        let mut stream = match socket.into_inner() {
            tokio_tungstenite::MaybeTlsStream::Plain(stream) => stream,
            other => panic!("expected no TLS, got {other:?}"),
        };
        let mut frame = vec![0x81, 0xff];
        frame.extend(announced.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend([b' '; 80 << 10]);
        stream.write_all(&frame).await.unwrap();
        // The rest never comes, and nobody waits for it.
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(IN_TIME, read).await.expect("an end in time");
        let says = |text: &[u8]| answer.windows(text.len()).any(|part| part == text);
        assert!(says(b"preauth payload too large"), "{announced}: {:?}", String::from_utf8_lossy(&answer));
        assert!(says(&1_009_u16.to_be_bytes()));
    }
    assert_eq!(rig.gateway.turned_away()[0].cause, Cause::TooLong);
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_kept() {
    let rig = Rig::new().await;
    let exchange = rig.send(&format!("POST /tools/invoke HTTP/1.1\r\nX-Long: {}", "x".repeat(200_000))).await;
    // Whatever of an answer there is, the connection ends.
    exchange.over().await;
    assert_eq!(rig.gateway.turned_away()[0].cause, Cause::TooLong);
}

#[tokio::test]
async fn a_connection_is_for_one_request() {
    let rig = Rig::new().await;
    let list = format!("GET /tools HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n", bearer(TOKEN));
    for text in [post("wrong", &[], "{}"), list, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()] {
        let answer = rig.send(&text).await.text().await;
        assert!(answer.to_ascii_lowercase().contains("connection: close\r\n"), "{answer}");
    }
}

/// Set where this program was started to have few files.
const FEW_FILES: &str = "COUNTERSIGN_TEST_FEW_FILES";

#[test]
#[expect(clippy::disallowed_methods, reason = "a test starts itself, to have few files of its own")]
fn without_files_the_port_waits_and_serves_again() {
    if std::env::var_os(FEW_FILES).is_some() {
        tokio::runtime::Runtime::new().unwrap().block_on(with_few_files());
        return;
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::without_files_the_port_waits_and_serves_again");
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args([&test, "--exact", "--nocapture"])
        .env(FEW_FILES, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "no such test: {said}");
}

/// Time that this program has used, in hundredths of a second.
fn ticks() -> u64 {
    let mut text = [0; 1_024];
    let mut stat = STAT.get_or_init(|| std::fs::File::open("/proc/self/stat").unwrap());
    stat.rewind().unwrap();
    let length = stat.read(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text[..length]);
    let (_, after_name) = text.rsplit_once(") ").unwrap();
    after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// Opened while there is a file for it.
static STAT: std::sync::OnceLock<std::fs::File> = std::sync::OnceLock::new();

async fn with_few_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut rig = Rig::new().await;
    drop(rig.client("operator", &["operator.read"]).await.unwrap());
    ticks();
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(60);
    setrlimit(Resource::Nofile, limit).unwrap();
    // Each takes a file here, and one at the gateway if there is any.
    let mut held = Vec::new();
    while let Ok(stream) = TcpStream::connect(rig.address).await {
        held.push(stream);
    }
    assert!(held.len() > 10, "{}", held.len());
    // It neither ends nor tries again and again.
    let mut spent = Vec::new();
    // In the first of these moments it may still be taking what came; who tries again does so in each.
    while spent.last().is_none_or(|spent| *spent >= 25) {
        assert!(spent.len() < 20, "it spins: {spent:?} of 50 ticks");
        let before = ticks();
        assert!(tokio::time::timeout(Duration::from_millis(500), &mut rig.serving).await.is_err());
        spent.push(ticks() - before);
    }
    held.truncate(2);
    let mut client = rig.client("operator", &["operator.read"]).await.unwrap();
    assert_eq!(client.call("health", json!({})).await.unwrap()["ok"], true);
}
