//! Whatever was there and whatever was done: putting back brings the first exactly, and undoing
//! that the second.

use crate::bench::{Bench, name, told};
use countersign_keep::What;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// Something that is done to a workspace. Paths are of a few names, so that they meet.
#[derive(Clone, Debug)]
enum Act {
    Write(PathBuf, Vec<u8>),
    Link(PathBuf, PathBuf),
    Folder(PathBuf),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    Mode(PathBuf, u32),
}

fn act() -> impl Strategy<Value = Act> {
    let content = || prop::collection::vec(any::<u8>(), 0..4).prop_map(|some| some.repeat(3));
    prop_oneof![
        4 => (path(), content()).prop_map(|(path, content)| Act::Write(path, content)),
        1 => (path(), path()).prop_map(|(path, to)| Act::Link(path, to)),
        1 => path().prop_map(Act::Folder),
        3 => path().prop_map(Act::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => (path(), prop::sample::select(vec![0o644, 0o755, 0o600, 0o500, 0o700])).prop_map(|(path, mode)| Act::Mode(path, mode)),
    ]
}

fn path() -> impl Strategy<Value = PathBuf> {
    let part = prop::sample::select(vec![b"a".as_slice(), b"b", b"a-b", b"\xe9", b"c\n"]);
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.into_iter().map(name).collect())
}

/// Does it as far as it can be done.
fn carry_out(bench: &Bench, acts: &[Act]) {
    for act in acts {
        let _ = match act {
            Act::Write(path, content) => bench
                .at(path)
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::remove_file(bench.at(path)).or(Ok(())))
                .and_then(|()| fs::write(bench.at(path), content)),
            Act::Link(path, to) => symlink(to, bench.at(path)),
            Act::Folder(path) => fs::create_dir_all(bench.at(path)),
            Act::Remove(path) => {
                fs::remove_file(bench.at(path)).or_else(|_| fs::remove_dir_all(bench.at(path)))
            }
            Act::Rename(from, to) => fs::rename(bench.at(from), bench.at(to)),
            Act::Mode(path, _) if bench.at(path).is_symlink() || !bench.at(path).exists() => Ok(()),
            Act::Mode(path, mode) => {
                bench.mode(path, *mode);
                Ok(())
            }
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn putting_back_brings_what_was_and_undoing_it_what_became(
        first in prop::collection::vec(act(), 0..12),
        second in prop::collection::vec(act(), 0..12),
    ) {
        let bench = Bench::new();
        carry_out(&bench, &first);
        let (was, before) = (bench.things(), bench.keep());
        carry_out(&bench, &second);
        let (became, after) = (bench.things(), bench.keep());
        let changes = bench.changes(before, after).unwrap();
        prop_assert_eq!(changes.is_empty(), was == became);
        let restored = bench.put_back(&bench.span(before, after), &What::All);
        prop_assert_eq!(told(&restored.conflicts), Vec::<String>::new());
        prop_assert_eq!(&bench.things(), &was);
        let restored = bench.put_back(&restored.undo, &What::All);
        prop_assert_eq!(told(&restored.conflicts), Vec::<String>::new());
        prop_assert_eq!(&bench.things(), &became);
    }
}
