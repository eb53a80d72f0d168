//! What the gate asks the relay about connections in the box, whose processes and sockets only the relay sees: a length and JSON each
//! way, one question after the other.
//!
//! Whatever is in the box may have a hand in the answers. They are shown to a person, and prove nothing.

use crate::said::{Client, framed, read};
use crate::who::{Who, is_left_by_all};
use crate::wire::send;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UnixStream;
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
}

/// How long an answer may take. The box can be so busy that its first program hardly runs, and a name is not worth waiting for.
const ANSWERED: Duration = Duration::from_secs(2);

/// Questions that wait. Those beyond wait to be asked.
const WAITING: usize = 64;

/// Asks the relay. There is no answer any more once one was late or could not be read.
#[derive(Clone)]
pub(crate) struct Line(mpsc::Sender<Asked>);

type Asked = (Question, oneshot::Sender<Vec<u8>>);

impl Line {
    /// A line through `relay`, and what has to run for it.
    pub(crate) fn through(relay: UnixStream) -> (Self, impl Future<Output = ()> + Send) {
        let (line, asked) = mpsc::channel(WAITING);
        (Self(line), carry(relay, asked))
    }

    /// The program behind a connection, if it was seen.
    pub(crate) async fn who(&self, ends: Ends) -> Option<Client> {
        let client = Client::parse(&self.ask(Question::Who(ends)).await?).ok()?;
        (!client.chain.is_empty()).then_some(client)
    }

    /// Whether nobody has the client's end any more. A program that only has said all still has it.
    pub(crate) async fn is_left(&self, ends: Ends) -> bool {
        let answer = self.ask(Question::IsLeft(ends)).await;
        answer.is_some_and(|answer| serde_json::from_slice(&answer).unwrap_or(false))
    }

    async fn ask(&self, question: Question) -> Option<Vec<u8>> {
        let (answer, answered) = oneshot::channel();
        self.0.send((question, answer)).await.ok()?;
        answered.await.ok()
    }
}

/// The program that wants something. It is looked for when somebody wants to know, while it still waits: that takes longer than all
/// else about a connection.
#[derive(Clone, Default)]
pub struct Caller(Option<(Line, Ends)>);

impl Caller {
    /// Whoever has the client's end of a connection.
    pub(crate) fn behind(line: Option<&Line>, ends: Ends) -> Self {
        Self(line.map(|line| (line.clone(), ends)))
    }

    /// Which program it is, as the box says it, so it proves nothing. Nothing where the box does not say it within two seconds, or said
    /// something else before. Dropping the future leaves nothing behind.
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
            read(&mut relay).await
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
        let answer = match question {
            Question::Who(ends) => {
                framed(&Client::new(who.opened(ends.client, ends.gate).unwrap_or_default()))
            }
            Question::IsLeft(ends) => framed(&is_left_by_all(ends.client, ends.gate)),
        };
        send(&gate, &answer?).await?;
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
