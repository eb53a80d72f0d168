//! What somebody outside can do with a run, and what they hear of it.

use countersign_approvals::question::Typing;
use countersign_protocol::limits::OUTPUT_BYTES;
use countersign_protocol::socket::Printed;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How a run is ended from outside, and who listens. A token alone is enough: `run(…, token)`.
#[derive(Clone, Debug)]
pub struct Controls {
    /// Ends it: TERM, then KILL.
    pub cancel: CancellationToken,
    /// Hears it.
    pub tap: Tap,
    /// What the record calls it, if it is there.
    pub name: Option<String>,
    /// Bytes of stdout and stderr together that are kept, marker included.
    pub output: usize,
    /// Who types in its terminal, where it gets one of its own.
    pub terminal: Option<Typing>,
}

impl Default for Controls {
    fn default() -> Self {
        Self {
            cancel: CancellationToken::new(),
            tap: Tap::default(),
            name: None,
            output: OUTPUT_BYTES,
            terminal: None,
        }
    }
}

impl From<CancellationToken> for Controls {
    fn from(cancel: CancellationToken) -> Self {
        Self { cancel, ..Self::default() }
    }
}

/// What happens in a run, as it happens.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// Its process was started.
    Started,
    /// It has a terminal, and this types in it. What is sent while its end waits is not typed any more.
    Terminal(&'a mpsc::Sender<Vec<u8>>),
    /// It printed this, on either stream, decoded lossily.
    Printed(&'a str),
}

/// A listener, or none. It is called on the way of the output, so it must be quick. An [`Outlet`] gets what
/// is printed besides.
#[derive(Clone, Default)]
pub struct Tap {
    listener: Option<Arc<Listener>>,
    outlet: Option<Outlet>,
}

type Listener = dyn Fn(Heard<'_>) + Send + Sync;

impl Tap {
    /// A listener.
    pub fn new(listener: impl Fn(Heard<'_>) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Arc::new(listener)), outlet: None }
    }

    /// The same with whoever takes what is printed, if somebody does.
    pub fn with(self, outlet: Option<Outlet>) -> Self {
        Self { outlet, ..self }
    }

    pub(crate) fn outlet(&self) -> Option<Outlet> {
        self.outlet.clone()
    }

    pub(super) fn is_there(&self) -> bool {
        self.listener.is_some() || self.outlet.is_some()
    }

    pub(crate) fn hear(&self, heard: Heard<'_>) {
        if let Some(listener) = &self.listener {
            listener(heard);
        }
    }

    /// Waits until more can be printed. Cancellation safe.
    pub(super) async fn room(&self) {
        if let Some(Outlet(outlet)) = &self.outlet {
            // Whoever takes nothing any more has room for all.
            let _ = outlet.reserve().await;
        }
    }

    /// It printed this; there is [`Tap::room`].
    pub(super) fn printed(&self, on: Printed, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Outlet(outlet)) = &self.outlet {
            let _ = outlet.try_send((on, text.to_owned()));
        }
    }

    /// What more is in its output when a run has ended. A reader that takes nothing is waited for as long as
    /// that is worth it.
    pub(crate) async fn adds(&self, on: Printed, text: &str) {
        if let (Some(Outlet(outlet)), false) = (&self.outlet, text.is_empty()) {
            let _ = timeout(UNREAD, outlet.send((on, text.to_owned()))).await;
        }
    }
}

/// Takes what is kept of what a run prints, in pieces of at most 64 KiB of what it printed. While it is full,
/// the run waits to be read, as it would for whoever reads a pipe slowly.
#[derive(Clone, Debug)]
pub struct Outlet(mpsc::Sender<(Printed, String)>);

impl Outlet {
    /// It, and where it leads. Dropping that lets the run print on unread.
    pub fn new() -> (Self, mpsc::Receiver<(Printed, String)>) {
        let (outlet, pieces) = mpsc::channel(PIECES);
        (Self(outlet), pieces)
    }
}

/// Longest wait at a run's end for a reader that takes nothing.
pub(super) const UNREAD: Duration = Duration::from_secs(15);

/// Pieces that wait to be taken.
const PIECES: usize = 8;

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tap").field(&self.is_there()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::run;
    use super::super::tests::Bench;
    use super::*;
    use std::collections::BTreeMap;

    /// What an outlet gets of a command, on both streams, from a reader that is slow or stops after some
    /// pieces; and what is kept.
    async fn read(text: &str, output: usize, most: usize) -> ([String; 2], [String; 2]) {
        let bench = Bench::new();
        let argv = ["sh", "-c", text].map(str::to_owned);
        let base = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let (outlet, mut pieces) = Outlet::new();
        let controls = Controls { tap: Tap::default().with(Some(outlet)), output, ..Controls::default() };
        let reading = async move {
            let mut read = [String::new(), String::new()];
            for _ in 0..most {
                let Some((on, text)) = pieces.recv().await else { break };
                read[usize::from(on == Printed::Stderr)].push_str(&text);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            read
        };
        let running = async {
            let payload = run(bench.approve(&argv), &base, controls).await.unwrap().payload;
            [payload.stdout, payload.stderr]
        };
        tokio::join!(reading, running)
    }

    #[tokio::test]
    async fn a_slow_reader_gets_what_is_kept() {
        for output in [10, 1_000, 70_000, 588_910, 588_920, 10_000_000] {
            // The last byte is the beginning of a character.
            let (read, kept) = read("seq 100000; echo end >&2; printf '\\303'", output, usize::MAX).await;
            assert!(read == kept, "{output}: {} of {} bytes", read[0].len(), kept[0].len());
        }
    }

    #[tokio::test]
    async fn a_reader_that_left_is_not_waited_for() {
        let ([out, _], [kept, _]) = read("seq 1000000; echo end", 10_000_000, 3).await;
        assert!(out.starts_with("1\n2\n") && kept.ends_with("end\n"));
    }
}
