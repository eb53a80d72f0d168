//! Wakes whoever reads files when something may have changed in its directories. Only wakes: what changed
//! is read from disk.

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How often to look when the system reports nothing: no such directory, no watches left, a
/// network file system.
pub const POLL: Duration = Duration::from_secs(2);

/// How often to look although the system reports changes: some file systems lose reports.
pub const SAFETY_POLL: Duration = Duration::from_secs(30);

/// Follows directories that may come and go; without the first of them it polls.
#[derive(Debug)]
pub struct Watcher {
    dirs: Vec<PathBuf>,
    wake: Arc<Notify>,
    watching: Option<Watching>,
}

#[derive(Debug)]
struct Watching {
    _watcher: RecommendedWatcher,
    /// The directories, by device and inode: a directory that was replaced reports nothing any more.
    identities: Vec<Option<(u64, u64)>>,
}

impl Watcher {
    /// Watches nothing yet.
    pub fn new(dirs: Vec<PathBuf>, wake: Arc<Notify>) -> Self {
        Self { dirs, wake, watching: None }
    }

    /// Follows the directories that are there now; returns how long to wait before looking
    /// without being woken.
    pub fn follow(&mut self) -> Duration {
        let identities: Vec<_> = self.dirs.iter().map(|dir| identity(dir)).collect();
        if self.watching.as_ref().is_some_and(|watching| watching.identities == identities) {
            return SAFETY_POLL;
        }
        self.watching = match self.start(&identities) {
            Ok(watcher) => watcher.map(|watcher| Watching { _watcher: watcher, identities }),
            Err(error) => {
                tracing::debug!(%error, dirs = ?self.dirs, "no watch on the directories; polling");
                None
            }
        };
        if self.watching.is_none() {
            return POLL;
        }
        // Something may have happened before the watch was there.
        self.wake.notify_one();
        SAFETY_POLL
    }

    fn start(&self, identities: &[Option<(u64, u64)>]) -> notify::Result<Option<RecommendedWatcher>> {
        if identities.first().copied().flatten().is_none() {
            return Ok(None);
        }
        let wake = Arc::clone(&self.wake);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Our own reads are no change. An error means that reports were lost: look.
            if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                wake.notify_one();
            }
        })?;
        for (dir, _) in self.dirs.iter().zip(identities).filter(|(_, identity)| identity.is_some()) {
            watcher.watch(dir, RecursiveMode::NonRecursive)?;
        }
        Ok(Some(watcher))
    }
}

fn identity(dir: &Path) -> Option<(u64, u64)> {
    let metadata = dir.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::PATIENCE;
    use std::fs;

    async fn woken(wake: &Notify) {
        tokio::time::timeout(PATIENCE, wake.notified()).await.expect("a change is reported");
    }

    /// A watcher that follows `dir` and whose first wake-up is taken.
    async fn following(dir: &Path) -> (Watcher, Arc<Notify>) {
        let wake = Arc::new(Notify::new());
        let mut watcher = Watcher::new(vec![dir.to_owned(), dir.join("state")], Arc::clone(&wake));
        assert_eq!(watcher.follow(), SAFETY_POLL);
        woken(&wake).await;
        (watcher, wake)
    }

    #[tokio::test]
    async fn a_change_in_the_directory_wakes() {
        let dir = tempfile::tempdir().unwrap();
        let (_watcher, wake) = following(dir.path()).await;
        fs::write(dir.path().join("x"), "").unwrap();
        woken(&wake).await;
    }

    #[tokio::test]
    async fn a_database_that_appears_wakes() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("state")).unwrap();
        let (_watcher, wake) = following(dir.path()).await;
        fs::write(dir.path().join("state/openclaw.sqlite"), "").unwrap();
        woken(&wake).await;
    }

    #[tokio::test]
    async fn a_directory_that_was_replaced_is_followed_again() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("dir");
        fs::create_dir(&dir).unwrap();
        let (mut watcher, wake) = following(&dir).await;
        fs::rename(&dir, parent.path().join("old")).unwrap();
        assert_eq!(watcher.follow(), POLL);
        fs::create_dir(&dir).unwrap();
        assert_eq!(watcher.follow(), SAFETY_POLL);
        woken(&wake).await;
        fs::write(dir.join("x"), "").unwrap();
        woken(&wake).await;
    }

    #[tokio::test]
    async fn a_directory_that_is_not_there_is_polled_for() {
        let parent = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new(vec![parent.path().join("none")], Arc::new(Notify::new()));
        assert_eq!(watcher.follow(), POLL);
    }
}
