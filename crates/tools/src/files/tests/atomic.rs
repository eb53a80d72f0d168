//! All of a change or none of it: failures, aborts and meddling between its files.

use super::apply::carry_out;
use super::commit::{
    Failure, Names, create_by_link, put_back, replace_by_link, restore, temporary, uncreate,
};
use super::pinned::Purpose;
use super::planned::{Planner, Step};
use super::*;
use pretty_assertions::assert_eq;
use rustix::fs::Mode;
use std::cell::Cell;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;

const FILES: &[(&str, &str)] = &[("a.txt", "a\n"), ("b.txt", "b\n"), ("sub/c.txt", "c\n"), ("d.txt", "d\n")];

/// Replaces, makes (in new folders), moves and removes.
fn steps(workspace: &Workspace) -> Vec<Step> {
    let mut planner = Planner::new(workspace);
    let found = planner.find("a.txt", Purpose::Replace).unwrap();
    planner.write(found, ChangeKind::Overwrite, "A\n".to_owned()).unwrap();
    let found = planner.find("new/deep/e.txt", Purpose::Replace).unwrap();
    planner.write(found, ChangeKind::Create, "e\n".to_owned()).unwrap();
    let found = planner.find("new/f.txt", Purpose::Replace).unwrap();
    planner.write(found, ChangeKind::Create, "f\n".to_owned()).unwrap();
    let (from, to) =
        (planner.find("sub/c.txt", Purpose::Replace).unwrap(), planner.find_free("c.txt").unwrap());
    planner.relocate(from, to, Some("C\n".to_owned())).unwrap();
    let found = planner.find("b.txt", Purpose::Remove).unwrap();
    planner.remove(found).unwrap();
    planner.finish().1
}

/// What the steps come to.
fn expect_done(world: &World) {
    let read = |name| world.read(name);
    assert_eq!(
        ["a.txt", "new/deep/e.txt", "new/f.txt", "c.txt", "d.txt"].map(read),
        ["A\n", "e\n", "f\n", "C\n", "d\n"].map(|text| Some(text.to_owned()))
    );
    assert_eq!(["b.txt", "sub/c.txt"].map(read), [None, None]);
    let leftovers =
        snapshot(&world.ws("")).into_keys().filter(|path| path.to_string_lossy().contains("/.countersign-"));
    assert_eq!(leftovers.count(), 0);
}

/// How often the work may be called off: the moments in which `meddle` can happen.
fn moments() -> usize {
    let world = World::with(FILES);
    let workspace = Workspace::open(&world.ws("")).unwrap();
    let count = Cell::new(0);
    let counting = || {
        count.set(count.get() + 1);
        false
    };
    carry_out(&workspace, &steps(&workspace), &counting).unwrap();
    expect_done(&world);
    count.get()
}

#[test]
fn an_abort_between_files_leaves_everything_as_it_was() {
    let moments = moments();
    assert!(moments > 12, "{moments}");
    for moment in 0..moments {
        let world = World::with(FILES);
        let before = snapshot(&world.real());
        let workspace = Workspace::open(&world.ws("")).unwrap();
        let count = Cell::new(0);
        let aborted = || count.replace(count.get() + 1) == moment;
        let ended = carry_out(&workspace, &steps(&workspace), &aborted);
        assert!(matches!(ended, Err(FileError::Aborted)), "{moment}: {ended:?}");
        assert_eq!(snapshot(&world.real()), before, "{moment}");
    }
}

/// Lets somebody write a file at each moment until its own turn, which is that many moments before the end.
fn check_meddling(name: &str, turn: usize) {
    let expected = World::with(FILES);
    fs::write(expected.ws(name), "mine\n").unwrap();
    let relative = |world: &World| {
        let strip =
            |(path, found): (PathBuf, _)| (path.strip_prefix(world.real()).unwrap().to_owned(), found);
        snapshot(&world.real()).into_iter().map(strip).collect::<BTreeMap<_, _>>()
    };
    for moment in 0..=moments() - turn {
        let world = World::with(FILES);
        let workspace = Workspace::open(&world.ws("")).unwrap();
        let steps = steps(&workspace);
        let count = Cell::new(0);
        let meddling = || {
            if count.replace(count.get() + 1) == moment {
                fs::write(world.ws(name), "mine\n").unwrap();
            }
            false
        };
        let ended = carry_out(&workspace, &steps, &meddling);
        assert!(matches!(ended, Err(FileError::Changed { .. })), "{name}, {moment}: {ended:?}");
        assert_eq!(relative(&world), relative(&expected), "{name}, {moment}");
    }
}

#[test]
fn t14_a_file_that_changes_while_others_are_changed_undoes_them() {
    // In the order of the steps: replaced, made, moved away from, removed.
    check_meddling("a.txt", 6);
    check_meddling("c.txt", 3);
    check_meddling("sub/c.txt", 2);
    check_meddling("b.txt", 1);
}

#[test]
fn t16_a_folder_that_moves_away_while_it_is_written_into_undoes_it() {
    let moments = moments();
    let world = World::with(FILES);
    let workspace = Workspace::open(&world.ws("")).unwrap();
    let steps = steps(&workspace);
    let count = Cell::new(0);
    let meddling = || {
        if count.replace(count.get() + 1) == moments - 1 {
            fs::rename(world.ws("sub"), world.outside("sub")).unwrap();
        }
        false
    };
    let ended = carry_out(&workspace, &steps, &meddling);
    assert!(matches!(ended, Err(FileError::Changed { .. })), "{ended:?}");
    assert_eq!(fs::read_to_string(world.outside("sub/c.txt")).unwrap(), "c\n");
    assert_eq!(["a.txt", "b.txt"].map(|name| world.read(name).unwrap()), ["a\n", "b\n"]);
    assert_eq!(["c.txt", "new"].map(|name| world.ws(name).exists()), [false, false]);
}

#[test]
fn what_cannot_be_undone_is_named_and_its_bytes_are_kept() {
    let moments = moments();
    let world = World::with(FILES);
    let workspace = Workspace::open(&world.ws("")).unwrap();
    let steps = steps(&workspace);
    let count = Cell::new(0);
    // Somebody replaces a file that was replaced already; then it is called off.
    let meddling = || {
        let is_last = count.replace(count.get() + 1) == moments - 1;
        if is_last {
            fs::write(world.ws("theirs"), "theirs\n").unwrap();
            fs::rename(world.ws("theirs"), world.ws("a.txt")).unwrap();
        }
        is_last
    };
    let Err(FileError::Stuck { cause, left }) = carry_out(&workspace, &steps, &meddling) else {
        panic!("stuck")
    };
    assert!(matches!(*cause, FileError::Aborted));
    let [left] = left.as_slice() else { panic!("{left:?}") };
    let (about, kept) = left.split_once("; what was there is in ").unwrap();
    assert!(about.starts_with(world.ws("a.txt").to_str().unwrap()), "{about}");
    assert_eq!(fs::read_to_string(kept).unwrap(), "a\n");
    assert_eq!(world.read("a.txt").as_deref(), Some("theirs\n"));
    assert_eq!(world.read("b.txt").as_deref(), Some("b\n"));
}

#[test]
fn what_somebody_removed_meanwhile_is_put_back_as_it_was_before() {
    let moments = moments();
    let world = World::with(FILES);
    let before = snapshot(&world.real());
    let workspace = Workspace::open(&world.ws("")).unwrap();
    let steps = steps(&workspace);
    let count = Cell::new(0);
    let meddling = || {
        let is_last = count.replace(count.get() + 1) == moments - 1;
        if is_last {
            fs::remove_file(world.ws("a.txt")).unwrap();
            fs::remove_file(world.ws("new/f.txt")).unwrap();
        }
        is_last
    };
    let ended = carry_out(&workspace, &steps, &meddling);
    assert!(matches!(ended, Err(FileError::Aborted)), "{ended:?}");
    assert_eq!(snapshot(&world.real()), before);
}

#[tokio::test]
async fn a_call_that_was_called_off_before_it_began_does_nothing() {
    for (tool, params) in all_changes("a.txt", "a\n") {
        let world = World::with(FILES);
        let before = snapshot(&world.real());
        let plan = world.plan(&tool, params).await.unwrap();
        let abort = CancellationToken::new();
        abort.cancel();
        let (progress, _reports) = tokio::sync::mpsc::channel(1);
        assert!(matches!(plan.act.run(progress, abort).await, Err(ToolError::Aborted)));
        assert_eq!(snapshot(&world.real()), before);
    }
}

#[tokio::test]
async fn a_plan_has_no_effect() {
    let world = World::with(&[("a.txt", "a\n"), ("source.txt", "source\n")]);
    let before = snapshot(&world.real());
    for (tool, params) in all_changes("a.txt", "a\n").into_iter().chain(all_creations("x/y.txt")) {
        world.changes(&tool, params).await;
        assert_eq!(snapshot(&world.real()), before);
    }
}

#[tokio::test]
async fn a_file_that_is_replaced_keeps_its_permissions_and_attributes() {
    let world = World::with(&[("run.sh", "#!/bin/sh\n")]);
    fs::set_permissions(world.ws("run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    // Not every file system knows them; then there is nothing to keep.
    let set = rustix::fs::setxattr(world.ws("run.sh"), "user.origin", b"x", rustix::fs::XattrFlags::empty());
    for (tool, params) in all_changes("run.sh", "#!/bin/sh\n") {
        let (changes, plan) = world.changes(&tool, params).await;
        let to = match &changes[0].kind {
            ChangeKind::Delete => continue,
            ChangeKind::Move { to } => to.clone(),
            _ => changes[0].path.clone(),
        };
        run(plan).await.unwrap();
        assert_eq!(fs::metadata(&to).unwrap().mode() & 0o7777, 0o751, "{:?}", changes[0].kind);
        let mut value = [0_u8; 8];
        let found = rustix::fs::getxattr(&to, "user.origin", &mut value[..]).ok();
        assert_eq!(found, set.ok().map(|()| 1), "{:?}", changes[0].kind);
        fs::rename(&to, world.ws("run.sh")).unwrap();
        fs::write(world.ws("run.sh"), "#!/bin/sh\n").unwrap();
    }
}

/// An access list that gives `nobody` some permissions, as the kernel stores it.
fn access_list(permissions: u16) -> Vec<u8> {
    let everyone = u32::MAX;
    let entries = [
        (1, 6, everyone),
        (2, permissions, 65_534),
        (4, 4, everyone),
        (16, permissions | 4, everyone),
        (32, 0, everyone),
    ];
    let entry = |(tag, permissions, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2_u32.to_le_bytes().to_vec(), entries.map(entry).concat()].concat()
}

#[tokio::test]
async fn a_file_that_is_replaced_is_open_to_nobody_else() {
    let world = World::with(&[("open/a.txt", "a\n"), ("open/b.txt", "b\n"), ("c.txt", "c\n")]);
    let give = |name: &str, attribute: &str, list: Vec<u8>| {
        rustix::fs::setxattr(world.ws(name), attribute, &list, rustix::fs::XattrFlags::empty()).is_ok()
    };
    // What comes into the folder is open to somebody; what was there before is not.
    let is_known = give("open", "system.posix_acl_default", access_list(6));
    assert_eq!(give("open/a.txt", "system.posix_acl_access", access_list(4)), is_known);
    let list = |name: &str| {
        let mut value = [0_u8; 256];
        let length = rustix::fs::getxattr(world.ws(name), "system.posix_acl_access", &mut value[..]).ok();
        length.map(|length| value[..length].to_vec())
    };
    assert_eq!(list("open/a.txt"), is_known.then(|| access_list(4)));
    for name in ["open/a.txt", "open/b.txt"] {
        let before = (list(name), fs::metadata(world.ws(name)).unwrap().mode());
        world.call(&write_file(), json!({ "path": name, "content": "x\n" })).await.unwrap();
        assert_eq!((list(name), fs::metadata(world.ws(name)).unwrap().mode()), before, "{name}");
    }
    let moved = "*** Begin Patch\n*** Update File: c.txt\n*** Move to: open/c.txt\n*** End Patch";
    world.call(&apply_patch(), json!({ "input": moved })).await.unwrap();
    assert_eq!(list("open/c.txt"), None);
    // What is made there gets what the folder gives, as from any program.
    world.call(&write_file(), json!({ "path": "open/d.txt", "content": "d\n" })).await.unwrap();
    assert_eq!(list("open/d.txt").is_some(), is_known);
}

#[tokio::test]
async fn files_that_are_not_to_be_changed_are_not() {
    let world = World::with(&[("a.txt", "a\n")]);
    let mode = |mode| fs::set_permissions(world.ws("a.txt"), fs::Permissions::from_mode(mode)).unwrap();
    let write = async || world.call(&write_file(), json!({ "path": "a.txt", "content": "x" })).await;
    mode(0o4755);
    assert!(write().await.unwrap_err().to_string().contains("set-user-ID"));
    mode(0o444);
    // Permissions never stop root.
    let is_refused = !rustix::process::geteuid().is_root();
    assert_eq!(write().await.is_err_and(|error| error.to_string().contains("read-only")), is_refused);
}

fn folder(world: &World) -> OwnedFd {
    fs::File::open(world.ws("")).unwrap().into()
}

/// A new file beside `name`, and what is there.
fn prepared(
    workspace: &Workspace,
    folder: &OwnedFd,
    name: &str,
    text: &str,
) -> (pinned::Pinned, String, (u64, u64)) {
    let place = workspace.place(name).unwrap();
    let (before, _) = pinned::look(folder, &place, Purpose::Replace).unwrap().unwrap();
    let (temp, mut file) = temporary(folder, Mode::RUSR | Mode::WUSR, &place.real_path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let about = file.metadata().unwrap();
    (before, temp, (about.dev(), about.ino()))
}

#[test]
fn a_file_system_that_cannot_exchange_names_keeps_the_old_file_by_a_link() {
    let world = World::with(&[("a.txt", "a\n")]);
    let (workspace, folder) = (Workspace::open(&world.ws("")).unwrap(), folder(&world));
    let path = world.ws("a.txt");
    let (before, temp, id) = prepared(&workspace, &folder, "a.txt", "A\n");
    let names = Names { folder: &folder, name: "a.txt".as_ref(), temp: &temp, path: &path };
    let kept = replace_by_link(names, &before).unwrap();
    assert_eq!([world.read("a.txt"), world.read(&kept)], ["A\n", "a\n"].map(|text| Some(text.to_owned())));
    put_back(Names { temp: &kept, ..names }, id).unwrap();
    assert_eq!(world.read("a.txt").as_deref(), Some("a\n"));

    let (before, temp, _) = prepared(&workspace, &folder, "a.txt", "A\n");
    fs::write(&path, "b\n").unwrap();
    let names = Names { temp: &temp, ..names };
    assert!(matches!(replace_by_link(names, &before), Err(Failure::Clean(FileError::Changed { .. }))));
    assert_eq!([world.read("a.txt"), world.read(&temp)], ["b\n", "A\n"].map(|text| Some(text.to_owned())));
    assert_eq!(fs::read_dir(world.ws("")).unwrap().count(), 3);
}

#[test]
fn a_file_system_whose_renames_always_replace_makes_files_by_a_link() {
    let world = World::with(&[("a.txt", "a\n")]);
    let (workspace, folder) = (Workspace::open(&world.ws("")).unwrap(), folder(&world));
    let (_, temp, id) = prepared(&workspace, &folder, "a.txt", "new\n");
    let (taken, free) = (world.ws("a.txt"), world.ws("b.txt"));
    let names = Names { folder: &folder, name: "a.txt".as_ref(), temp: &temp, path: &taken };
    assert!(matches!(create_by_link(names), Err(Failure::Clean(FileError::Changed { .. }))));
    let names = Names { name: "b.txt".as_ref(), path: &free, ..names };
    create_by_link(names).unwrap();
    assert_eq!(
        [world.read("a.txt"), world.read("b.txt")],
        ["a\n", "new\n"].map(|text| Some(text.to_owned()))
    );
    assert_eq!(restore(names).unwrap_err(), rustix::io::Errno::NOENT);
    assert_eq!(uncreate(names, (id.0, id.1 + 1)).unwrap_err(), rustix::io::Errno::BUSY);
    uncreate(names, id).unwrap();
    assert_eq!(fs::read_dir(world.ws("")).unwrap().count(), 1);
}
