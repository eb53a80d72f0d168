//! The person's SSH agent, lent to a box one use at a time. The keys are not in the box, and what it may ask
//! for is which there are and one signature, each time after a person agreed: a signature lets whoever gets
//! it in wherever the key does.
//!
//! Messages are those of draft-ietf-sshm-ssh-agent. One that changes what the agent holds is answered with a
//! failure, unasked and unforwarded.

use super::super::Host;
use super::super::calls::ByRule;
use super::{KEYS_SOCKET, Run, bind};
use countersign_gate::Ruling;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Where boxes ask for keys, and the agent that has them.
pub(super) struct Keys {
    listener: UnixListener,
    agent: PathBuf,
}

impl Keys {
    /// Listens in `folder`, where the environment names an agent.
    pub(super) fn open(folder: &Path, env: &BTreeMap<String, String>) -> io::Result<Option<Self>> {
        let Some(agent) = env.get(AGENT).filter(|agent| agent.starts_with('/')) else { return Ok(None) };
        Ok(Some(Self { listener: bind(folder, KEYS_SOCKET)?, agent: PathBuf::from(agent) }))
    }

    /// The next program that wants one, and the agent. Cancelling loses none.
    pub(super) async fn wanted(&self) -> (UnixStream, &Path) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return (stream, &self.agent),
                Err(error) => {
                    tracing::warn!(%error, "a program of a box cannot ask for a key");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

impl Host {
    /// Serves one program of a box until it hangs up or the run ends. What goes wrong is a failure to the
    /// program, as agents say it. Whether it was refused.
    pub(super) async fn lend_keys(
        &self,
        run: &Run,
        stream: UnixStream,
        agent: &Path,
        ends: &CancellationToken,
    ) -> bool {
        let lent = Lent { stream, upstream: None, signs: SIGNATURES };
        let served = tokio::select! {
            served = self.serve_keys(run, lent, agent, ends) => served,
            () = ends.cancelled() => Ok(false),
        };
        served.unwrap_or_else(|error| {
            tracing::debug!(%error, "a program of a box broke off its talk with the agent of keys");
            false
        })
    }

    async fn serve_keys(
        &self,
        run: &Run,
        mut lent: Lent,
        agent: &Path,
        ends: &CancellationToken,
    ) -> io::Result<bool> {
        while let Some(message) = lent.next().await? {
            if lent.upstream.is_none() {
                if let Ruling::Refuse { .. } = self.judge_keys(run, &lent.stream, ends).await {
                    lent.fail().await?;
                    return Ok(true);
                }
                lent.upstream = Some(UnixStream::connect(agent).await?);
            }
            lent.answer(&message).await?;
        }
        Ok(false)
    }

    /// Asks a person, until the program hangs up.
    async fn judge_keys(&self, run: &Run, stream: &UnixStream, ends: &CancellationToken) -> Ruling {
        let chain = stream.peer_cred().ok().and_then(|peer| peer.pid()).map(chain).unwrap_or_default();
        let gone = ends.child_token();
        let question = run.question_about_keys(chain);
        let mut ruled = std::pin::pin!(self.ruled_by(question, run, ByRule::Asks, &gone));
        tokio::select! {
            ruling = &mut ruled => ruling,
            () = hung_up(stream) => {
                gone.cancel();
                ruled.await
            }
        }
    }
}

/// One program's connection.
struct Lent {
    stream: UnixStream,
    /// The agent itself, once a person agreed.
    upstream: Option<UnixStream>,
    /// Signatures that it may still get.
    signs: u32,
}

impl Lent {
    /// The next message that the agent may get; others are answered. `None` when the program hung up, or said
    /// nothing for long.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let Some(message) = timeout(IDLE, read(&mut self.stream)).await.unwrap_or(Ok(None))? else {
                return Ok(None);
            };
            match message.first() {
                Some(&(IDENTITIES | EXTENSION)) => return Ok(Some(message)),
                Some(&SIGN) if self.signs > 0 => {
                    self.signs -= 1;
                    return Ok(Some(message));
                }
                _ => self.fail().await?,
            }
        }
    }

    /// Has the agent answer.
    async fn answer(&mut self, message: &[u8]) -> io::Result<()> {
        let Some(upstream) = &mut self.upstream else { return self.fail().await };
        let answer = timeout(ANSWER, ask(upstream, message)).await.map_err(|_| ErrorKind::TimedOut)??;
        write(&mut self.stream, &answer).await
    }

    async fn fail(&mut self) -> io::Result<()> {
        write(&mut self.stream, &[FAILURE]).await
    }
}

async fn ask(upstream: &mut UnixStream, message: &[u8]) -> io::Result<Vec<u8>> {
    write(upstream, message).await?;
    read(upstream).await?.ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

/// The next message, without its length; `None` at the end.
async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let length = match from.read_u32().await {
        Ok(length) => length,
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    if length == 0 || length > LONGEST {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("expected a message of 1 to {LONGEST} bytes, got {length}"),
        ));
    }
    let mut message = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    from.read_exact(&mut message).await?;
    Ok(Some(message))
}

async fn write(to: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    to.write_all(&[&length.to_be_bytes(), message].concat()).await
}

/// Waits until the other end is closed. What it sends meanwhile stays there.
async fn hung_up(stream: &UnixStream) {
    loop {
        match stream.ready(tokio::io::Interest::READABLE).await {
            Ok(ready) if ready.is_read_closed() => return,
            Ok(_) => tokio::time::sleep(PAUSE).await,
            Err(_) => return,
        }
    }
}

/// The programs that want it, as the system names them: the one that asks last. Whoever started it
/// may have named it.
fn chain(pid: i32) -> Vec<String> {
    let mut chain = Vec::new();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|pid| *pid > 1 && chain.len() < LONGEST_CHAIN) {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { break };
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let Some(name) = field("Name:").filter(|name| !OURS.contains(name)) else { break };
        chain.push(name.to_owned());
        next = field("PPid:").and_then(|parent| parent.parse().ok());
    }
    chain.reverse();
    chain
}

/// The variable that names the agent, here and in a box.
pub(in super::super) const AGENT: &str = "SSH_AUTH_SOCK";

const FAILURE: u8 = 5;
const IDENTITIES: u8 = 11;
const SIGN: u8 = 13;
/// Among others it says which session a signature is for.
const EXTENSION: u8 = 27;

/// Signatures that one answer is good for: a connection of `ssh` needs one.
const SIGNATURES: u32 = 1;

/// Longest message in bytes, as OpenSSH has it.
const LONGEST: u32 = 256 * 1024;

/// Programs told of at most.
const LONGEST_CHAIN: usize = 8;

/// What is around the command, not in it.
const OURS: &[&str] = &["bwrap", "countersign-box", "box", "countersign", "countersign-de"];

/// How long a program may be silent.
const IDLE: Duration = Duration::from_secs(120);

/// How long the agent may take: it may ask the person itself, or want a token touched.
const ANSWER: Duration = Duration::from_secs(120);

const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::PATIENCE;
    use pretty_assertions::assert_eq;

    /// A program, and its connection with an agent behind it that answers everything with this byte.
    fn lent(answer: u8) -> (UnixStream, Lent) {
        let (program, stream) = UnixStream::pair().unwrap();
        let (upstream, mut agent) = UnixStream::pair().unwrap();
        tokio::spawn(async move {
            while let Ok(Some(_)) = read(&mut agent).await {
                write(&mut agent, &[answer]).await.unwrap();
            }
        });
        (program, Lent { stream, upstream: Some(upstream), signs: SIGNATURES })
    }

    async fn served(mut lent: Lent) -> io::Result<()> {
        while let Some(message) = lent.next().await? {
            lent.answer(&message).await?;
        }
        Ok(())
    }

    #[tokio::test]
    async fn t22_one_answer_is_good_for_one_signature_and_for_no_change() {
        let (mut program, lent) = lent(14);
        let serves = tokio::spawn(served(lent));
        for (sent, expected) in [
            (EXTENSION, 14),
            (IDENTITIES, 14),
            (SIGN, 14),
            (SIGN, FAILURE),
            (IDENTITIES, 14),
            (SIGN, FAILURE),
            // Add, remove, remove all, lock, unlock, add a token's, and what there is not.
            (17, FAILURE),
            (18, FAILURE),
            (19, FAILURE),
            (22, FAILURE),
            (23, FAILURE),
            (26, FAILURE),
            (255, FAILURE),
            (0, FAILURE),
        ] {
            write(&mut program, &[sent, 1, 2]).await.unwrap();
            assert_eq!(read(&mut program).await.unwrap(), Some(vec![expected]), "{sent}");
        }
        drop(program);
        serves.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_message_that_is_none_ends_the_talk() {
        for (sent, fails) in [
            (&[0, 0, 0, 0][..], true),
            (&[0, 4, 0, 1, SIGN], true),
            (&[0xff; 8], true),
            (&[0, 0, 0, 9, SIGN], true),
            (&[], false),
        ] {
            let (mut program, lent) = lent(14);
            program.write_all(sent).await.unwrap();
            drop(program);
            assert_eq!(served(lent).await.is_err(), fails, "{sent:?}");
        }
    }

    #[tokio::test]
    async fn whoever_hangs_up_is_noticed_also_with_something_unread() {
        let (mut program, stream) = UnixStream::pair().unwrap();
        program.write_all(&[0, 0]).await.unwrap();
        assert!(timeout(PAUSE, hung_up(&stream)).await.is_err());
        drop(program);
        timeout(PATIENCE, hung_up(&stream)).await.unwrap();
    }

    #[test]
    fn programs_are_named_from_the_first_to_the_last() {
        let chain = chain(i32::try_from(std::process::id()).unwrap());
        assert!(!chain.is_empty() && chain.len() <= LONGEST_CHAIN, "{chain:?}");
    }
}
