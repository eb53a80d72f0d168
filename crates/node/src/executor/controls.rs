//! What somebody outside can do with a run, and what they hear of it.

use countersign_approvals::question::Typing;
use countersign_protocol::limits::OUTPUT_BYTES;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;
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

/// A listener, or none. It is called on the way of the output, so it must be quick.
#[derive(Clone, Default)]
pub struct Tap(Option<Arc<Listener>>);

type Listener = dyn Fn(Heard<'_>) + Send + Sync;

impl Tap {
    /// A listener.
    pub fn new(listener: impl Fn(Heard<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(super) fn is_there(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn hear(&self, heard: Heard<'_>) {
        if let Some(listener) = &self.0 {
            listener(heard);
        }
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tap").field(&self.is_there()).finish()
    }
}
