//! Contents of files on their way into the store, read by a few threads.

use crate::digest::Digest;
use crate::failed::{Cancel, Failed};
use crate::limits::WORKERS;
use crate::place::{Place, Stamp};
use crate::store::Locked;
use crate::tree::LeftOutWhy;
use crate::walk::Candidate;
use rustix::fs::{FileType, fstat};
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// What came of one file: its content, with what the system said of it while it was read.
pub(crate) type Outcome = Result<(Stamp, Digest), LeftOutWhy>;

/// Files to be read.
pub(crate) struct Reading<'a> {
    pub(crate) place: &'a Place,
    pub(crate) store: &'a Locked<'a>,
    /// Bytes of the largest file that is kept.
    pub(crate) most: u64,
    pub(crate) until: Instant,
    pub(crate) cancel: Cancel<'a>,
}

impl Reading<'_> {
    /// Stores the contents of these files. What came of each is in the order of the files.
    pub(crate) fn all(&self, files: &[&Candidate]) -> Result<Vec<Outcome>, Failed> {
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || -> Result<Vec<(usize, Outcome)>, Failed> {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(at) else { return Ok(done) };
                if is_over.load(Ordering::Relaxed) {
                    return Ok(done);
                }
                let outcome = Failed::check(self.cancel).and_then(|()| match Instant::now() < self.until {
                    true => self.one(&file.path).map_err(Failed::Store),
                    false => Ok(Err(LeftOutWhy::OutOfTime)),
                });
                match outcome {
                    Ok(outcome) => done.push((at, outcome)),
                    Err(failed) => {
                        is_over.store(true, Ordering::Relaxed);
                        return Err(failed);
                    }
                }
            }
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(WORKERS);
        let parts: Vec<_> = match files.len() < FEW || threads == 1 {
            true => vec![work()],
            false => thread::scope(|scope| {
                let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
                let mut parts = vec![work()];
                parts.extend(
                    others
                        .into_iter()
                        .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
                );
                parts
            }),
        };
        let mut outcomes: Vec<Outcome> = files.iter().map(|_| Err(LeftOutWhy::Unreadable)).collect();
        for part in parts {
            for (at, outcome) in part? {
                outcomes[at] = outcome;
            }
        }
        Ok(outcomes)
    }

    /// Stores the content of one file, as it was at one moment. Errors are the store's.
    fn one(&self, path: &[u8]) -> io::Result<Outcome> {
        for _ in 0..TRIES {
            let Ok(mut file) = self.place.file(path) else { return Ok(Err(LeftOutWhy::Unreadable)) };
            match content(&mut file, self.most) {
                Ok(Some((stamp, bytes))) => return Ok(Ok((stamp, self.store.put(&bytes)?))),
                Ok(None) => {}
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Err(LeftOutWhy::Changing))
    }
}

/// The content of an open file, if it did not change while it was read.
pub(crate) fn content(file: &mut File, most: u64) -> Result<Option<(Stamp, Vec<u8>)>, LeftOutWhy> {
    let stat = fstat(&*file).map_err(|_| LeftOutWhy::Unreadable)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(LeftOutWhy::Special);
    }
    let stamp = Stamp::of(&stat);
    if stamp.size > most {
        return Err(LeftOutWhy::TooLarge);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default());
    let read = (&mut *file).take(stamp.size.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|_| LeftOutWhy::Unreadable)?;
    let after = Stamp::of(&fstat(&*file).map_err(|_| LeftOutWhy::Unreadable)?);
    let is_whole = after == stamp && bytes.len() as u64 == stamp.size;
    Ok(is_whole.then_some((stamp, bytes)))
}

/// Times that a file is read before it is said to go on changing.
const TRIES: usize = 3;

/// Fewer files than these are read sooner than threads are started.
const FEW: usize = 32;
