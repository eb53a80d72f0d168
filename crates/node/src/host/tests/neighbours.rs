//! What is reached on the loopback of a box: servers of other boxes, and services of this machine.

use super::containing::Place;
use super::*;
use countersign_protocol::history::{RunningView, ServedPort};
use countersign_protocol::ids::RequestId;
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{Attendance, CallRuleDraft, CallSubject, NetPlace, RuleEffect, RuleLimits};
use pretty_assertions::assert_eq;
use std::io::Write as _;
use std::net::TcpListener;
use tokio_util::sync::DropGuard;

/// A folder that is open for two agents.
async fn place() -> Arc<Place> {
    let place = Place::new("allowlist", "on-miss").await;
    for agent in ["coder", "other"] {
        place.open(agent, Attendance::Attended).await;
    }
    Arc::new(place)
}

/// What is in a file is not looked at before it runs: as a command it would be asked about.
fn request(place: &Place, agent: &str, text: &str) -> ExecRequest {
    let mut file = tempfile::Builder::new().suffix(".sh").tempfile_in(&place.folder).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let (_, path) = file.keep().unwrap();
    ExecRequest {
        command: vec!["bash".to_owned(), path.to_str().unwrap().to_owned()],
        agent_id: Some(agent.to_owned()),
        ..place.request()
    }
}

/// Something that runs until this is dropped.
struct Background(DropGuard, tokio::task::JoinHandle<()>);

impl Background {
    /// Waits until it has ended.
    async fn end(self) {
        drop(self.0);
        self.1.await.unwrap();
    }
}

/// Has a command of `agent` say to whoever connects at `address` in its box, after it has made the file `up`.
async fn serve(place: &Arc<Place>, agent: &str, address: &str, word: &str) -> Background {
    let up = place.folder.join("up");
    let _ = std::fs::remove_file(&up);
    let text = format!(
        "exec perl -MIO::Socket::IP -e '\
         my $server = IO::Socket::IP->new(LocalHost => q({address}), LocalPort => 3000, Listen => 5, \
         ReuseAddr => 1) or die $@; open my $up, q(>), q(up); close $up; \
         while (my $one = $server->accept) {{ print $one q({word}); close $one }}'"
    );
    let request = request(place, agent, &text);
    let stop = CancellationToken::new();
    let (host, gone) = (place.clone(), stop.clone());
    let runs = tokio::spawn(async move {
        let ran = host.rig.host.exec(request, &Peer::default(), gone.clone()).await;
        assert!(gone.is_cancelled(), "the server ended by itself: {ran:?}");
    });
    let is_up = async {
        while !up.exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, is_up).await.expect("a server");
    // Other boxes know of it as soon as it is seen here.
    let running = place.rig.host.running();
    let mut changes = running.changes();
    let is_seen = async {
        while !running.views().iter().any(|run| run.servers.iter().any(|server| server.port == 3000)) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, is_seen).await.expect("a server that is seen");
    Background(stop.drop_guard(), runs)
}

/// What a command of `agent` gets in its box from port 3000.
async fn fetch(place: &Place, agent: &str, host: &str, port: u16) -> Came {
    let text = format!("{{ exec 3<>/dev/tcp/{host}/{port}; }} 2>/dev/null && cat <&3 || echo nobody");
    place.rig.send(request(place, agent, &text), NO).await.0
}

fn said(word: &str) -> Came {
    Came::Ran(word.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_one_command_started_is_there_for_the_next() {
    let place = place().await;
    assert_eq!(fetch(&place, "coder", "127.0.0.1", 3000).await, said("nobody\n"));
    let server = serve(&place, "coder", "127.0.0.1", "hello").await;
    assert_eq!(fetch(&place, "coder", "127.0.0.1", 3000).await, said("hello"));
    assert_eq!(fetch(&place, "coder", "localhost", 3000).await, said("hello"));
    assert_eq!(fetch(&place, "coder", "127.0.0.1", 3001).await, said("nobody\n"));
    // Another agent's boxes are none of its neighbours, whatever folder they are around.
    assert_eq!(fetch(&place, "other", "127.0.0.1", 3000).await, said("nobody\n"));
    server.end().await;
    assert_eq!(fetch(&place, "coder", "127.0.0.1", 3000).await, said("nobody\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_there_under_the_address_that_it_has() {
    let place = place().await;
    let server = serve(&place, "coder", "::1", "six").await;
    assert_eq!(fetch(&place, "coder", "::1", 3000).await, said("six"));
    assert_eq!(fetch(&place, "coder", "127.0.0.1", 3000).await, said("nobody\n"));
    server.end().await;
    let server = serve(&place, "coder", "::", "all").await;
    assert_eq!(fetch(&place, "coder", "::1", 3000).await, said("all"));
    assert_eq!(fetch(&place, "coder", "127.0.0.1", 3000).await, said("all"));
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_there_for_a_command_that_stood_ready_and_for_one_that_waits() {
    let place = place().await;
    let host = place.clone();
    let stands = tokio::spawn(async move { host.rig.host.stand_boxes().await });
    assert_eq!(fetch(&place, "coder", "127.0.0.1", 3000).await, said("nobody\n"));
    let stood = async {
        while place.rig.host.ready.count() != 1 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, stood).await.unwrap();
    // It takes the box that stands there.
    let server = serve(&place, "coder", "127.0.0.1", "hello").await;
    let text = "until { exec 3<>/dev/tcp/127.0.0.1/3000; } 2>/dev/null; do sleep 0.05; done; cat <&3";
    assert_eq!(place.rig.send(request(&place, "coder", text), NO).await.0, said("hello"));
    server.end().await;
    let waiting = request(&place, "coder", text);
    let host = place.clone();
    let waits = tokio::spawn(async move { host.rig.send(waiting, NO).await.0 });
    let server = serve(&place, "coder", "127.0.0.1", "later").await;
    assert_eq!(waits.await.unwrap(), said("later"));
    server.end().await;
    stands.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_a_neighbour_has_is_taken_as_it_would_be_outside() {
    let place = place().await;
    let server = serve(&place, "coder", "127.0.0.1", "first").await;
    let text = "perl -MIO::Socket::IP -e 'IO::Socket::IP->new(LocalHost => q(127.0.0.1), LocalPort => shift, \
                Listen => 1, ReuseAddr => 1) and print q(free) or print $!{EADDRINUSE} ? q(taken) : $@'";
    for (port, expected) in [("3000", "taken"), ("3001", "free")] {
        let came = place.rig.send(request(&place, "coder", &format!("{text} {port}")), NO).await.0;
        assert_eq!(came, said(expected), "{port}");
    }
    server.end().await;
}

/// Says the same to whoever connects to a port of this machine, until the test ends.
fn service(listener: TcpListener) -> u16 {
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|mut stream| stream.write_all(b"outside"));
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_this_machine_is_reached_by_what_knows_no_proxy_where_a_rule_says_so() {
    let place = place().await;
    let port = service(TcpListener::bind(("127.0.0.1", 0)).unwrap());
    assert_eq!(fetch(&place, "coder", "127.0.0.1", port).await, said("nobody\n"));
    let rule = CallRuleDraft {
        agent: "coder".to_owned(),
        effect: RuleEffect::Allow,
        about: CallSubject::Crossing {
            host: "127.0.0.1".to_owned(),
            port,
            place: NetPlace::ThisMachine,
            within: None,
        },
        limits: RuleLimits::default(),
        note: None,
    };
    place.edit(RuleEdit::AddCallRule { rule }).await;
    assert_eq!(fetch(&place, "coder", "127.0.0.1", port).await, said("outside"));
    assert_eq!(fetch(&place, "coder", "localhost", port).await, said("outside"));
    // For somebody else it is asked about, and refused.
    assert_eq!(fetch(&place, "other", "127.0.0.1", port).await, said("nobody\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_a_connection_that_is_refused_while_it_is_open_carries_nothing_more() {
    let place = place().await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    // Says back what it hears, as long as it hears anything.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = std::io::copy(&mut stream.try_clone().unwrap(), &mut { stream });
        }
    });
    let about = || CallSubject::Crossing {
        host: "127.0.0.1".to_owned(),
        port,
        place: NetPlace::ThisMachine,
        within: None,
    };
    let rule = |effect| RuleEdit::AddCallRule {
        rule: CallRuleDraft {
            agent: "coder".to_owned(),
            effect,
            about: about(),
            limits: RuleLimits::default(),
            note: None,
        },
    };
    place.edit(rule(RuleEffect::Allow)).await;
    let text = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; trap '' PIPE; \
         while echo x >&3 2>/dev/null && read -r -u 3 line; do [ -e up ] || echo up > up; done; echo ended"
    );
    let runs = {
        let (host, request) = (place.clone(), request(&place, "coder", &text));
        tokio::spawn(
            async move { host.rig.host.exec(request, &Peer::default(), CancellationToken::new()).await },
        )
    };
    let up = place.folder.join("up");
    let is_up = async {
        while !up.exists() {
            assert!(!runs.is_finished(), "the connection ended before it was refused");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, is_up).await.expect("a connection that carries something");
    place.edit(rule(RuleEffect::Deny)).await;
    let ran = tokio::time::timeout(PATIENCE, runs).await.expect("the connection goes on").unwrap().unwrap();
    assert!(ran.stdout.ends_with("ended\n"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_service_of_this_machine_is_asked_about() {
    let place = place().await;
    let free = [26_257, 27_017, 11_434, 9_042, 8_123, 7_687, 5_984];
    let bound = free.iter().find_map(|port| TcpListener::bind(("127.0.0.1", *port)).ok());
    let port = service(bound.expect("a port of a service that is not there"));
    let text = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3; true");
    for (decision, expected) in [(NO, ""), (Person::Answers(Decision::AllowOnce), "outside")] {
        let (came, asked) = place.rig.send(request(&place, "coder", &text), decision).await;
        assert_eq!(came, said(expected), "{decision:?}");
        let asked = asked.expect("a question");
        assert_eq!(asked.question.subject.view().copy, format!("localhost:{port}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_shown_on_this_machine_when_a_person_wants_it_and_only_then() {
    let place = place().await;
    let server = serve(&place, "coder", "127.0.0.1", "hello").await;
    let running = place.rig.host.running();
    let mut changes = running.changes();
    let view = async |shown: Option<u16>| {
        let is_so = |run: &RunningView| run.servers == [ServedPort { port: 3000, shown }];
        let seen = async {
            loop {
                changes.mark_unchanged();
                match running.views().into_iter().find(is_so) {
                    Some(view) => return view,
                    None => changes.changed().await.unwrap(),
                }
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.expect("a view")
    };
    let mut view = view;
    let id = RequestId::from(view(None).await.request_id);
    assert_eq!(running.show(&id, 3001).unwrap().unwrap_err().kind(), std::io::ErrorKind::NotFound);
    assert!(running.show(&RequestId::from("other"), 3000).is_none());
    let port = running.show(&id, 3000).unwrap().unwrap();
    assert_eq!(running.show(&id, 3000).unwrap().unwrap(), port);
    view(Some(port)).await;
    let fetched = async || {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
        let mut said = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut said).await.map(|_| said)
    };
    assert_eq!(fetched().await.unwrap(), "hello");
    assert!(running.hide(&id, 3000));
    view(None).await;
    fetched().await.unwrap_err();
    let port = running.show(&id, 3000).unwrap().unwrap();
    server.end().await;
    assert!(running.views().is_empty() && !running.hide(&id, 3000));
    tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_nothing_in_a_box_looks_into_its_first_program() {
    let place = place().await;
    let text = "p=$PPID; [ $p -gt 1 ] || exit 1; for f in mem environ fd/0 maps; do \
                { exec 3<>/proc/$p/$f || exec 3</proc/$p/$f; } 2>/dev/null && echo $f; done; \
                readlink /proc/$p/fd/[0-9]*; grep -c . /proc/$p/comm";
    let came = place.rig.send(request(&place, "coder", text), NO).await.0;
    assert_eq!(came, said("1\n"));
}
