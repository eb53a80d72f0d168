//! Names that come and go in folders, heard by one listener of the kernel's (inotify(7)) for all boxes of
//! this process: a person has 128 of these in all, and the kernel takes its time to end one.

use rustix::fs::inotify;
use rustix::io::Errno;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::Notify;

/// Hears of some names in some folders. Dropping it ends that.
#[derive(Debug)]
pub(super) struct Hearing {
    ears: Arc<Ears>,
    number: u64,
    heard: Arc<Notify>,
}

impl Hearing {
    /// Begins to hear of `names`, in whatever case, in `folders`. What comes from now on is heard.
    pub(super) fn of<'a>(folders: impl Iterator<Item = &'a Path>, names: Vec<OsString>) -> io::Result<Self> {
        let ears = Ears::of_this_process()?;
        let heard = Arc::new(Notify::new());
        let number = {
            let mut listeners = ears.listeners();
            listeners.last += 1;
            let listener = Listener { folders: BTreeSet::new(), names, heard: heard.clone() };
            let number = listeners.last;
            listeners.all.insert(number, listener);
            number
        };
        let hearing = Self { ears, number, heard };
        for folder in folders {
            hearing.add(folder)?;
        }
        Ok(hearing)
    }

    /// The lock is held meanwhile: what comes at once is told after it is known whom it is for.
    fn add(&self, folder: &Path) -> io::Result<()> {
        let mut listeners = self.ears.listeners();
        // The same folder has the same number, whoever adds it.
        let added = inotify::add_watch(&self.ears.events, folder, EVENTS | inotify::WatchFlags::ONLYDIR)?;
        if let Some(listener) = listeners.all.get_mut(&self.number) {
            listener.folders.insert(added);
        }
        Ok(())
    }

    /// Waits until something may have happened to a name since the last call. Dropping the
    /// future loses nothing.
    pub(super) async fn heard(&self) {
        self.heard.notified().await;
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let mut listeners = self.ears.listeners();
        let Some(listener) = listeners.all.remove(&self.number) else { return };
        for folder in listener.folders {
            if !listeners.all.values().any(|other| other.folders.contains(&folder)) {
                // It is gone already where the folder is.
                let _ = inotify::remove_watch(&self.ears.events, folder);
            }
        }
    }
}

/// What hears. There is one, with a thread that waits.
#[derive(Debug)]
struct Ears {
    events: OwnedFd,
    listeners: Mutex<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    last: u64,
    all: HashMap<u64, Listener>,
}

#[derive(Debug)]
struct Listener {
    /// By the numbers that the kernel gave them.
    folders: BTreeSet<i32>,
    names: Vec<OsString>,
    heard: Arc<Notify>,
}

static EARS: Mutex<Option<Arc<Ears>>> = Mutex::new(None);

impl Ears {
    fn of_this_process() -> io::Result<Arc<Self>> {
        let mut ears = EARS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ears) = &*ears {
            return Ok(ears.clone());
        }
        let events = inotify::init(inotify::CreateFlags::CLOEXEC)?;
        let new = Arc::new(Self { events, listeners: Mutex::default() });
        let hearing = new.clone();
        thread::Builder::new().name("box-watch".into()).spawn(move || hearing.hear())?;
        *ears = Some(new.clone());
        Ok(new)
    }

    /// Tells everybody until nothing can be heard any more. Then the next box has others made.
    fn hear(&self) {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let errno = loop {
            match reader.next() {
                Ok(event) => {
                    let is_lost = event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW);
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    self.listeners().tell(event.wd(), name, is_lost);
                }
                Err(Errno::INTR) => {}
                Err(errno) => break errno,
            }
        };
        tracing::error!(%errno, "nothing is heard any more of protected names");
        EARS.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.listeners().tell(NOWHERE, None, true);
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listeners {
    /// `is_lost`: nobody knows what else happened.
    fn tell(&self, folder: i32, name: Option<&OsStr>, is_lost: bool) {
        for listener in self.all.values() {
            let is_of_it = |name: &OsStr| {
                listener.folders.contains(&folder)
                    && listener.names.iter().any(|watched| watched.eq_ignore_ascii_case(name))
            };
            if is_lost || name.is_some_and(is_of_it) {
                listener.heard.notify_one();
            }
        }
    }
}

/// Whatever gives or takes a name.
const EVENTS: inotify::WatchFlags = inotify::WatchFlags::CREATE
    .union(inotify::WatchFlags::DELETE)
    .union(inotify::WatchFlags::MOVED_FROM)
    .union(inotify::WatchFlags::MOVED_TO);

/// Events that are read at once, in bytes.
const BUFFER_BYTES: usize = 4_096;

/// The folder of what happened in none.
const NOWHERE: i32 = -1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::PATIENCE;
    use futures_util::future::poll_immediate;
    use std::fs;
    use tokio::time::timeout;

    fn of(folder: &Path, name: &str) -> Hearing {
        Hearing::of([folder].into_iter(), vec![name.into()]).unwrap()
    }

    async fn hears(hearing: &Hearing) {
        timeout(PATIENCE, hearing.heard()).await.unwrap();
    }

    #[tokio::test]
    async fn two_hear_of_one_folder_each_of_its_names_and_one_goes_on_when_the_other_ends() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (of(folder.path(), "a"), of(folder.path(), "b"));
        fs::write(folder.path().join("A"), "").unwrap();
        hears(&one).await;
        fs::write(folder.path().join("b"), "").unwrap();
        hears(&other).await;
        // Events come in their order, so what was for the first is told by now.
        assert!(poll_immediate(one.heard()).await.is_none());
        drop(one);
        fs::remove_file(folder.path().join("b")).unwrap();
        hears(&other).await;
    }

    #[tokio::test]
    async fn what_happened_before_somebody_waits_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let (first, last) = (of(folder.path(), "a"), of(folder.path(), "last"));
        fs::write(folder.path().join("a"), "").unwrap();
        fs::write(folder.path().join("last"), "").unwrap();
        hears(&last).await;
        assert!(poll_immediate(first.heard()).await.is_some());
    }

    #[tokio::test]
    async fn a_folder_that_is_removed_and_made_again_is_another() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let old = of(&folder, "a");
        fs::remove_dir(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        let new = of(&folder, "a");
        drop(old);
        fs::write(folder.join("a"), "").unwrap();
        hears(&new).await;
    }

    #[test]
    fn more_hear_than_a_person_has_listeners_of_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<Hearing> = (0..300).map(|_| of(folder.path(), "a")).collect();
        assert_eq!(all.len(), 300);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_and_leaves_no_listener() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let name = OsString::from("only-in-this-test");
        assert!(Hearing::of([folder.path(), &missing].into_iter(), vec![name.clone()]).is_err());
        let ears = Ears::of_this_process().unwrap();
        assert!(!ears.listeners().all.values().any(|listener| listener.names.contains(&name)));
    }
}
