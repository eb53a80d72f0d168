//! The attempts. Each text ends with 0 where it got out; whatever it changes outside counts as well.
//!
//! What they are told: `HOME`; `OUT`, a folder in it that is shown; `OTHER`, another workspace; `TOP`, what
//! holds home and workspace; `CACHES`, the folder of ours; `PORT` and `UDP`, ports with a listener, `SOCK`
//! and `ABSTRACT`, sockets with one; `PID`, a process; `SHM`, a file in shared memory; `NS_…`,
//! name spaces outside.

mod files;
mod machine;
mod settings;

use crate::executor::sandbox::workspace::Wall;

/// One way out.
pub(super) struct Attempt {
    pub(super) name: &'static str,
    pub(super) held: Held,
    pub(super) text: &'static str,
}

/// What it fails by.
pub(super) enum Held {
    /// It succeeds as soon as these walls are left out.
    By(&'static [Wall]),
    /// So it does for root; others have no right to it anyway.
    ByRoots(&'static [Wall]),
    /// More than one wall, or the kernel itself: nothing that can be left out here is enough.
    Deeply,
}

/// All of them.
pub(super) fn attempts() -> impl Iterator<Item = &'static Attempt> {
    [files::READ, files::WRITE, files::CACHE, settings::PROTECTED, settings::GIT, machine::TALK]
        .into_iter()
        .chain([machine::PROCESS, machine::KERNEL, machine::SHARE])
        .flatten()
}

const fn by(name: &'static str, walls: &'static [Wall], text: &'static str) -> Attempt {
    Attempt { name, held: Held::By(walls), text }
}

const fn by_roots(name: &'static str, walls: &'static [Wall], text: &'static str) -> Attempt {
    Attempt { name, held: Held::ByRoots(walls), text }
}

const fn deeply(name: &'static str, text: &'static str) -> Attempt {
    Attempt { name, held: Held::Deeply, text }
}
