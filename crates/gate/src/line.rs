//! What the gate asks the relay, whose processes, sockets and loopback only the relay sees: a length and JSON
//! each way, one question after the other. Where a socket is asked for, it follows the answer.
//!
//! Whatever is in the box may have a hand in the answers. They are shown to a person, and prove nothing.

use crate::handed::{self, give, receive};
use crate::listening::{MOST, listening};
use crate::said::{Client, framed, read};
use crate::who::{Who, is_left_by_all};
use crate::wire::{Wire as _, send};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// A connection of the box: its client's end and the gate's.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Ends {
    pub(crate) client: SocketAddr,
    pub(crate) gate: SocketAddr,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Question {
    /// Which program has the client's end. The answer is a [`Client`].
    Who(Ends),
    /// Whether nobody has it any more. The answer is `true` or `false`.
    IsLeft(Ends),
    /// Where programs listen. The answer is a list of addresses.
    Servers,
    /// To listen at an address of loopback. The answer is whether that can be, and then the socket.
    Listen(SocketAddr),
    /// To connect to one. The answer is whether somebody listens there, and then the socket.
    Connect(SocketAddr),
}

impl Question {
    /// Whether a socket follows an answer that says `true`.
    fn wants_a_socket(self) -> bool {
        matches!(self, Self::Listen(_) | Self::Connect(_))
    }
}

/// What came back.
struct Answer {
    said: Vec<u8>,
    socket: Option<OwnedFd>,
}

impl Answer {
    fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.said).ok()
    }
}

/// How long an answer may take. The box can be so busy that its first program hardly runs, and a name is not
/// worth waiting for.
const ANSWERED: Duration = Duration::from_secs(2);

/// Questions that wait. Those beyond wait to be asked.
const WAITING: usize = 64;

/// Asks the relay. There is no answer any more once one was late or could not be read.
#[derive(Clone)]
pub(crate) struct Line(mpsc::Sender<Asked>);

type Asked = (Question, oneshot::Sender<Answer>);

impl Line {
    /// A line through `relay`, and what has to run for it.
    pub(crate) fn through(relay: UnixStream) -> (Self, impl Future<Output = ()> + Send) {
        let (line, asked) = mpsc::channel(WAITING);
        (Self(line), carry(relay, asked))
    }

    /// The program behind a connection, if it was seen.
    pub(crate) async fn who(&self, ends: Ends) -> Option<Client> {
        let client = Client::parse(&self.ask(Question::Who(ends)).await?.said).ok()?;
        (!client.chain.is_empty()).then_some(client)
    }

    /// Whether nobody has the client's end any more. A program that only has said all still has it.
    pub(crate) async fn is_left(&self, ends: Ends) -> bool {
        let answer = self.ask(Question::IsLeft(ends)).await;
        answer.is_some_and(|answer| answer.parse().unwrap_or(false))
    }

    /// Addresses at which programs of the box listen, and the gate, if the answer can be read.
    pub(crate) async fn servers(&self) -> Option<BTreeSet<SocketAddr>> {
        let found: Vec<SocketAddr> = self.ask(Question::Servers).await?.parse()?;
        Some(found.into_iter().filter(|at| at.ip().is_loopback() && at.port() != 0).take(MOST).collect())
    }

    /// What listens in the box at an address of loopback from now on, if nothing else does.
    pub(crate) async fn listen(&self, at: SocketAddr) -> Option<tokio::net::TcpListener> {
        handed::port(self.ask(Question::Listen(at)).await?.socket?).ok()
    }

    /// A connection to what listens in the box at an address of loopback. Nothing where it is not made
    /// within two seconds.
    pub(crate) async fn connect(&self, at: SocketAddr) -> Option<TcpStream> {
        let stream = handed::connection(self.ask(Question::Connect(at)).await?.socket?).ok()?;
        timeout(ANSWERED, stream.writable()).await.ok()?.ok()?;
        stream.take_error().ok()?.is_none().then_some(stream)
    }

    async fn ask(&self, question: Question) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        self.0.send((question, answer)).await.ok()?;
        answered.await.ok()
    }
}

/// The program that wants something. It is looked for when somebody wants to know, while it still waits: that
/// takes longer than all else about a connection.
#[derive(Clone, Default)]
pub struct Caller(Option<(Line, Ends)>);

impl Caller {
    /// Whoever has the client's end of a connection.
    pub(crate) fn behind(line: Option<&Line>, ends: Ends) -> Self {
        Self(line.map(|line| (line.clone(), ends)))
    }

    /// Which program it is, as the box says it, so it proves nothing. Nothing where the box does not say it
    /// within two seconds, or said something else before. Dropping the future leaves nothing behind.
    pub async fn named(&self) -> Option<Client> {
        let (line, ends) = self.0.as_ref()?;
        line.who(*ends).await
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Caller").field(&self.0.as_ref().map(|(_, ends)| ends.client)).finish()
    }
}

async fn carry(mut relay: UnixStream, mut asked: mpsc::Receiver<Asked>) {
    while let Some((question, answer)) = asked.recv().await {
        let asking = async {
            send(&relay, &framed(&question)?).await?;
            let mut answer = Answer { said: read(&mut relay).await?, socket: None };
            if question.wants_a_socket() && answer.parse() == Some(true) {
                answer.socket = Some(relay.when(Interest::READABLE, || receive(&relay)).await?);
            }
            Ok::<_, io::Error>(answer)
        };
        match timeout(ANSWERED, asking).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            // Whoever asked may wait no more.
            Ok(said) => drop(answer.send(said)),
            Err(error) => {
                tracing::debug!(%error, "nothing in a box has a name any more");
                return;
            }
        }
    }
}

/// Answers until the gate asks no more.
pub(crate) async fn answer(mut gate: UnixStream) -> io::Result<()> {
    let who = Who::default();
    loop {
        let question = match read(&mut gate).await {
            Ok(question) => serde_json::from_slice(&question)?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        let (answer, socket) = match question {
            Question::Who(ends) => {
                (framed(&Client::new(who.opened(ends.client, ends.gate).unwrap_or_default())), None)
            }
            Question::IsLeft(ends) => (framed(&is_left_by_all(ends.client, ends.gate)), None),
            Question::Servers => (framed(&listening()), None),
            Question::Listen(at) => with(TcpListener::bind(at).map(OwnedFd::from)),
            Question::Connect(at) => with(connected(at)),
        };
        send(&gate, &answer?).await?;
        if let Some(socket) = socket {
            gate.when(Interest::WRITABLE, || give(&socket, &gate)).await?;
        }
    }
}

/// Whether there is a socket, and that.
fn with(socket: io::Result<OwnedFd>) -> (io::Result<Vec<u8>>, Option<OwnedFd>) {
    (framed(&socket.is_ok()), socket.ok())
}

/// A connection that is made, or will be: whoever gets it waits.
fn connected(to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use tokio::io::AsyncWriteExt as _;

    fn ends() -> Ends {
        let end = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Ends { client: end(1), gate: end(2) }
    }

    /// What the gate hears of a relay that says `said` to every question.
    async fn check(said: &[u8]) -> [Option<Vec<String>>; 2] {
        let (gate, mut relay) = UnixStream::pair().unwrap();
        let (line, carrying) = Line::through(gate);
        let carrying = tokio::spawn(carrying);
        let said = said.to_vec();
        let answering = tokio::spawn(async move {
            while read(&mut relay).await.is_ok() && relay.write_all(&said).await.is_ok() {}
        });
        let heard = [line.who(ends()).await, line.who(ends()).await];
        assert!(!line.is_left(ends()).await);
        drop(line);
        carrying.await.unwrap();
        answering.await.unwrap();
        heard.map(|client| client.map(|client| client.chain))
    }

    #[tokio::test]
    async fn t22_an_answer_that_cannot_be_read_is_no_name_and_no_end_of_names() {
        for said in [&b"\0\x02[]"[..], b"\0\x02\xff\xff", b"\0\0", b"\0\x0c{\"chain\":[]}"] {
            assert_eq!(check(said).await, [None, None], "{said:?}");
        }
        assert_eq!(
            check(b"\0\x0f{\"chain\":[\"a\"]}").await,
            [Some(vec!["a".to_owned()]), Some(vec!["a".to_owned()])]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn t22_a_relay_that_is_silent_or_says_too_much_names_nothing_and_holds_nothing_up() {
        assert_eq!(check(b"").await, [None, None]);
        assert_eq!(check(b"\xff\xff{}").await, [None, None]);
    }

    /// A relay that answers, on the loopback of this machine.
    fn relay() -> Line {
        let (gate, relay) = UnixStream::pair().unwrap();
        let (line, carrying) = Line::through(gate);
        tokio::spawn(carrying);
        tokio::spawn(answer(relay));
        line
    }

    #[tokio::test]
    async fn what_listens_in_the_box_is_seen_and_connected_to() {
        let line = relay();
        let server = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let at = server.local_addr().unwrap();
        // Other tests may listen at many.
        let seen = line.servers().await.unwrap();
        assert!(seen.contains(&at) || seen.len() == MOST);
        let stream = line.connect(at).await.unwrap();
        let (accepted, client) = server.accept().await.unwrap();
        assert_eq!(stream.local_addr().unwrap(), client);
        drop((server, accepted));
        assert!(line.connect(at).await.is_none());
        // It answers on.
        assert!(line.servers().await.is_some());
    }

    #[tokio::test]
    async fn it_is_listened_in_the_box_where_nothing_else_does() {
        let line = relay();
        let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let at = free.local_addr().unwrap();
        assert!(line.listen(at).await.is_none());
        drop(free);
        let port = line.listen(at).await.unwrap();
        let client = tokio::net::TcpStream::connect(at).await.unwrap();
        assert_eq!(port.accept().await.unwrap().1, client.local_addr().unwrap());
        drop((port, client));
        // The relay kept nothing.
        tokio::net::TcpStream::connect(at).await.unwrap_err();
    }

    #[tokio::test]
    async fn t22_a_socket_that_is_none_of_those_asked_for_is_none() {
        let at = SocketAddr::from(([127, 0, 0, 1], 9));
        for is_listening in [false, true] {
            let (gate, mut relay) = UnixStream::pair().unwrap();
            let (line, carrying) = Line::through(gate);
            tokio::spawn(carrying);
            tokio::spawn(async move {
                let port = TcpListener::bind(("127.0.0.1", 0)).unwrap();
                let client = std::net::TcpStream::connect(port.local_addr().unwrap()).unwrap();
                while read(&mut relay).await.is_ok() {
                    send(&relay, &framed(&true).unwrap()).await.unwrap();
                    // What was not asked for.
                    let given = if is_listening { give(&port, &relay) } else { give(&client, &relay) };
                    given.unwrap();
                }
            });
            match is_listening {
                true => assert!(line.connect(at).await.is_none()),
                false => assert!(line.listen(at).await.is_none()),
            }
        }
    }

    #[tokio::test]
    async fn t22_only_addresses_of_loopback_are_servers() {
        let (gate, mut relay) = UnixStream::pair().unwrap();
        let (line, carrying) = Line::through(gate);
        tokio::spawn(carrying);
        let said = r#"["127.0.0.1:80","[::1]:80","10.0.0.1:80","127.0.0.1:0","0.0.0.0:80"]"#;
        tokio::spawn(async move {
            read(&mut relay).await.unwrap();
            let length = u16::try_from(said.len()).unwrap().to_be_bytes();
            relay.write_all(&[&length[..], said.as_bytes()].concat()).await.unwrap();
        });
        let seen: Vec<String> = line.servers().await.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(seen, ["127.0.0.1:80", "[::1]:80"]);
    }

    #[tokio::test]
    async fn a_question_that_nobody_waits_for_leaves_the_next_answer_where_it_belongs() {
        let (gate, mut relay) = UnixStream::pair().unwrap();
        let (line, carrying) = Line::through(gate);
        tokio::spawn(carrying);
        let mut asked = Box::pin(line.who(ends()));
        assert!(futures_util::future::poll_immediate(&mut asked).await.is_none());
        assert_eq!(
            serde_json::from_slice::<Question>(&read(&mut relay).await.unwrap()).unwrap(),
            Question::Who(ends())
        );
        drop(asked);
        relay.write_all(&framed(&Client::new(vec!["first".into()])).unwrap()).await.unwrap();
        let answering = async {
            read(&mut relay).await.unwrap();
            relay.write_all(&framed(&Client::new(vec!["second".into()])).unwrap()).await.unwrap();
        };
        let (client, ()) = tokio::join!(line.who(ends()), answering);
        assert_eq!(client.unwrap().chain, ["second"]);
    }
}
