//! Whether anybody still waits for the answer of this hook. An agent that is killed cannot end its hooks: its
//! question would stay before the person, and an answer to it would be one to nobody.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, getppid, pidfd_open};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// Ends when nobody waits any more: the other end of standard output was closed, or whoever started this
/// process has ended. Where neither can be watched it never ends.
pub(crate) async fn gone() {
    // Whoever takes the place of a parent that ends is nobody to wait for.
    let parent = parent();
    sleep(AT_ONCE).await;
    let (tell, told) = oneshot::channel();
    // A thread that nobody joins: it blocks for as long as the process lives.
    let watching =
        thread::Builder::new().name("listener".to_owned()).spawn(move || match watch(io::stdout(), parent) {
            Ok(()) => {
                let _ = tell.send(());
            }
            Err(error) => tracing::debug!(%error, "nobody sees whether the agent is still there"),
        });
    if watching.is_err() || told.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Who started this process, if they are there to be watched.
enum Parent {
    There(OwnedFd),
    /// Ended before it could be looked at.
    Gone,
    /// The kernel does not let it be watched.
    Unseen,
}

fn parent() -> Parent {
    let Some(parent) = getppid() else { return Parent::Unseen };
    match pidfd_open(parent, PidfdFlags::empty()) {
        // The number may have been another process's by then.
        Ok(handle) if getppid() == Some(parent) => Parent::There(handle),
        Ok(_) => Parent::Gone,
        Err(error) if error == rustix::io::Errno::SRCH => Parent::Gone,
        Err(_) => Parent::Unseen,
    }
}

/// Blocks until one of them is gone.
fn watch(output: impl AsFd, parent: Parent) -> io::Result<()> {
    let parent = match parent {
        Parent::Gone => return Ok(()),
        Parent::There(handle) => Some(handle),
        Parent::Unseen => None,
    };
    // Without a wish, only what cannot be left out is told: an error, the end of the other side.
    let mut ends = vec![PollFd::new(&output, PollFlags::empty())];
    ends.extend(parent.iter().map(|handle| PollFd::new(handle, PollFlags::IN)));
    loop {
        match poll(&mut ends, None) {
            Ok(_) if ends.iter().any(|end| !end.revents().is_empty()) => return Ok(()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What needs no person is answered before that, and a thread is not needed for it.
const AT_ONCE: Duration = Duration::from_millis(50);
