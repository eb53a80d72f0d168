//! The person's SSH keys, out of a box: a real agent with a real key, asked by the programs that people use.

use super::containing::Place;
use super::*;
use countersign_protocol::rules::Attendance;
use pretty_assertions::assert_eq;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// An agent with one key.
struct Agent {
    folder: TempDir,
    process: Child,
}

impl Agent {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("agent");
        let process =
            program("ssh-agent").args(["-D", "-a"]).arg(&socket).stdout(Stdio::null()).spawn().unwrap();
        let agent = Self { folder, process };
        let began = std::time::Instant::now();
        while !socket.exists() {
            assert!(began.elapsed() < PATIENCE, "no agent came up");
            std::thread::sleep(Duration::from_millis(2));
        }
        agent.run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", "ann", "-f", "id"]);
        agent.run("ssh-add", &["-q", "id"]);
        agent
    }

    fn socket(&self) -> String {
        self.folder.path().join("agent").to_str().unwrap().to_owned()
    }

    /// Outside of any box; what it prints.
    fn run(&self, name: &str, arguments: &[&str]) -> String {
        let ran = program(name)
            .args(arguments)
            .current_dir(self.folder.path())
            .env("SSH_AUTH_SOCK", self.socket())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{name} {arguments:?}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    }

    /// A place whose app knows this agent, with the key's public half in the folder.
    async fn place(&self) -> Place {
        let place = Place::with_variables("allowlist", "on-miss", &[("SSH_AUTH_SOCK", &self.socket())]).await;
        place.open("coder", Attendance::Attended).await;
        std::fs::copy(self.folder.path().join("id.pub"), place.folder.join("id.pub")).unwrap();
        std::fs::write(place.folder.join("note"), "signed\n").unwrap();
        place
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has an agent of its own")]
fn program(name: &str) -> Command {
    Command::new(name)
}

/// What is in a file is not looked at before it runs.
fn script(place: &Place, text: &str) -> ExecRequest {
    std::fs::write(place.folder.join("run.sh"), text).unwrap();
    ExecRequest { command: ["bash", "run.sh"].map(str::to_owned).into(), ..place.request() }
}

const SIGN: &str =
    "ssh-keygen -q -Y sign -f id.pub -n file note 2> said || true; ls note.sig 2> /dev/null; exit 0";

#[tokio::test(flavor = "multi_thread")]
async fn a_box_gets_a_signature_by_the_persons_key_after_an_answer_and_never_the_key() {
    let agent = Agent::start();
    let place = agent.place().await;
    let (came, asked) = place.rig.send(script(&place, SIGN), YES).await;
    let said = std::fs::read_to_string(place.folder.join("said")).unwrap();
    assert_eq!(came, Came::Ran("note.sig\n".to_owned()), "{said}");
    let question = &asked.unwrap().question;
    assert_eq!(question.subject.line(), "ssh-agent");
    let countersign_approvals::question::Subject::Crossing(wanted) = &question.subject else {
        panic!("{:?}", question.subject)
    };
    assert_eq!(wanted.chain.last().map(String::as_str), Some("ssh-keygen"), "{:?}", wanted.chain);
    assert_eq!(place.outcomes(), [Outcome::AllowedOnce, Outcome::Contained]);
    std::fs::copy(place.folder.join("note.sig"), agent.folder.path().join("note.sig")).unwrap();
    std::fs::copy(place.folder.join("note"), agent.folder.path().join("note")).unwrap();
    let checked = agent.run("sh", &["-c", "ssh-keygen -Y check-novalidate -n file -s note.sig < note"]);
    assert!(checked.contains("Good \"file\" signature"), "{checked}");
    // Each use is asked about, whatever was answered before.
    std::fs::remove_file(place.folder.join("note.sig")).unwrap();
    let (came, asked) = place.rig.send(script(&place, SIGN), NO).await;
    assert_eq!((came, asked.is_some()), (Came::Ran(String::new()), true));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_denied_is_not_asked_about_again_in_the_run_and_its_agent_hears_of_it() {
    let agent = Agent::start();
    let place = agent.place().await;
    let text = format!("for n in 1 2 3; do ( {SIGN} ); done");
    let (came, asked) = place.rig.send(script(&place, &text), NO).await;
    assert_eq!((came, asked.is_some()), (Came::Ran(String::new()), true));
    assert_eq!(place.outcomes(), [Outcome::Denied, Outcome::Contained]);
    let answers = place.rig.approvals.clone();
    let mut events = answers.events();
    let presenter = answers.presenter();
    tokio::spawn(async move {
        while let Ok(event) = events.recv().await {
            if let Event::Added(record) = event {
                answers.resolve(&record.id, Decision::Deny, "window").await.unwrap();
            }
        }
    });
    let ran =
        place.rig.host.exec(script(&place, SIGN), &Peer::default(), CancellationToken::new()).await.unwrap();
    assert!(ran.stderr.contains("the box refused to use your SSH keys"), "{ran:?}");
    drop(presenter);
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_what_an_agent_of_keys_holds_is_neither_changed_nor_told_without_an_answer() {
    let agent = Agent::start();
    let place = agent.place().await;
    let keys = agent.run("ssh-add", &["-l"]);
    let change = "ssh-add -D; ssh-add -d id.pub; ssh-add -x < /dev/null; ssh-keygen -q -t ed25519 -N '' -f mine && ssh-add mine; exit 0";
    let (came, asked) = place.rig.send(script(&place, change), YES).await;
    assert!(matches!(came, Came::Ran(_)), "{came:?}");
    // Removing one begins with a question for which there are, which is asked about.
    assert!(asked.is_none_or(|record| record.question.subject.line() == "ssh-agent"));
    assert_eq!(agent.run("ssh-add", &["-l"]), keys);
    let (came, _) = place.rig.send(script(&place, "ssh-add -l; exit 0"), NO).await;
    assert_eq!(came, Came::Ran(String::new()));
    let (came, _) = place.rig.send(script(&place, "ssh-add -l"), YES).await;
    assert_eq!(came, Came::Ran(keys));
    // The agent's own socket is not there.
    let text = format!("test -e {} && echo there; exit 0", agent.socket());
    assert_eq!(place.rig.send(script(&place, &text), NO).await.0, Came::Ran(String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_agent_nothing_is_offered_and_with_one_that_is_gone_it_fails() {
    let place = Place::new("allowlist", "on-miss").await;
    place.open("coder", Attendance::Attended).await;
    let (came, asked) = place.rig.send(script(&place, "echo \"[$SSH_AUTH_SOCK]\""), NO).await;
    assert_eq!((came, asked.is_some()), (Came::Ran("[]\n".to_owned()), false));
    let agent = Agent::start();
    let place = agent.place().await;
    drop(agent);
    let (came, _) = place.rig.send(script(&place, "ssh-add -l 2>&1; exit 0"), YES).await;
    assert!(matches!(&came, Came::Ran(said) if said.contains("error fetching identities")), "{came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn git_in_a_box_gets_to_its_server_over_ssh_after_an_answer() {
    let place = Place::new("allowlist", "on-miss").await;
    place.open("coder", Attendance::Attended).await;
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = server.local_addr().unwrap();
    let greeted = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        stream.write_all(b"SSH-2.0-here\r\n").unwrap();
        let mut greeting = String::new();
        BufReader::new(stream).read_line(&mut greeting).unwrap();
        greeting
    });
    let text = format!("git ls-remote ssh://ann@{at}/engine.git 2>&1; exit 0");
    let (came, asked) = place.rig.send(script(&place, &text), YES).await;
    assert_eq!(
        asked.map(|record| record.question.subject.line().into_owned()),
        Some(at.to_string()),
        "{came:?}"
    );
    // The server hangs up then, as one that has gone.
    assert!(greeted.join().unwrap().starts_with("SSH-2.0-OpenSSH"), "{came:?}");
    assert!(matches!(&came, Came::Ran(said) if said.contains("Could not read from remote")), "{came:?}");
}
