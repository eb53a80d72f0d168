//! Whether the app runs. A fallback holds only where it certainly does not: an app that is slow, stopped, out
//! of files or hard to reach is still the one that asks.

use crate::paths::Paths;
use countersign_node::socket::client::{self, ClientError};
use countersign_node::socket::lock::Holder;
use std::path::Path;
use std::time::Duration;

/// What the locks of the app's sockets say. They go with its process, however that ends, and
/// with nothing else.
#[derive(Debug)]
pub enum Presence {
    /// Nobody holds them.
    Absent,
    /// Somebody does.
    Running {
        /// Its process, where the kernel tells.
        pid: Option<i32>,
    },
    /// It could not be told.
    Unknown {
        /// Why not.
        problem: String,
    },
}

/// Why nothing came of asking an app that is not proven absent.
#[derive(Debug, thiserror::Error)]
pub enum Unreached {
    /// It runs.
    #[error("the Countersign app runs{} and did not answer: {why}", process(*.pid))]
    Silent {
        /// Its process, where the kernel tells.
        pid: Option<i32>,
        /// What came instead.
        why: String,
    },
    /// It may run.
    #[error("it cannot be told whether the Countersign app runs ({problem}), and it did not answer: {why}")]
    Unknown {
        /// Why it cannot be told.
        problem: String,
        /// What came instead.
        why: String,
    },
}

fn process(pid: Option<i32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl Presence {
    /// Of the app in whose state directory this process works. Its control socket makes it single there;
    /// whoever serves the approval socket that the document names is asked for approvals just as well.
    pub fn of(paths: &Paths, approval_socket: Option<&Path>) -> Self {
        let control = paths.control_socket();
        match approval_socket {
            Some(socket) => Self::at(&[&control, socket]),
            None => Self::at(&[&control]),
        }
    }

    /// Of whoever serves any of these sockets. Blocking, a few calls.
    pub fn at(sockets: &[&Path]) -> Self {
        let mut found = Self::Absent;
        for socket in sockets {
            match Holder::of(socket) {
                Holder::Nobody => {}
                Holder::Somebody { pid } => return Self::Running { pid },
                Holder::Unknown(error) => {
                    found = Self::Unknown { problem: format!("the lock of {}: {error}", socket.display()) };
                }
            }
        }
        found
    }

    /// `Err` where a fallback must not hold; `why` is what kept the app from answering.
    pub fn proves_absence(self, why: impl Into<String>) -> Result<(), Unreached> {
        match self {
            Self::Absent => Ok(()),
            there => Err(Unreached::new(there, why.into())),
        }
    }
}

impl Unreached {
    /// What `presence` says of an app that could not be reached, and `why`.
    pub fn new(presence: Presence, why: String) -> Self {
        match presence {
            Presence::Running { pid } => Self::Silent { pid, why },
            Presence::Absent => Self::Silent { pid: None, why },
            Presence::Unknown { problem } => Self::Unknown { problem, why },
        }
    }
}

/// What comes of `asked`, unless the app behind `socket` stops taking callers. It is left alone for
/// `patience`; after that it has to show now and then that it lives, for nobody can tell a stopped one from
/// one that has a long command run.
pub async fn unless_silent<T>(
    socket: &Path,
    patience: Duration,
    asked: impl Future<Output = T>,
) -> Result<T, Unreached> {
    let silent = async {
        tokio::time::sleep(patience).await;
        while !matches!(client::knock(socket, KNOCK).await, Err(ClientError::TimedOut(_))) {
            tokio::time::sleep(BETWEEN).await;
        }
    };
    tokio::select! {
        biased;
        answer = asked => Ok(answer),
        () = silent => {
            let within = (patience + KNOCK).as_secs();
            Err(Unreached::new(Presence::at(&[socket]), format!("nothing came within {within} s")))
        }
    }
}

/// How long a living app takes at most to look at a caller.
const KNOCK: Duration = Duration::from_secs(5);

/// Between two looks whether it lives.
const BETWEEN: Duration = Duration::from_secs(5);
