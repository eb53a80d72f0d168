//! The store: who may use it, what is dropped, and what is left when something breaks.

use crate::bench::{Bench, EARLY, late, told};
use countersign_keep::{Failed, Keeper, Limits, StateId, What};
use pretty_assertions::assert_eq;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Every file and folder below one, with its mode.
fn below(folder: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let (mut found, mut ahead) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = ahead.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let there = fs::symlink_metadata(&path).unwrap();
            if there.is_dir() {
                ahead.push(path.clone());
            }
            found.push((path, there));
        }
    }
    found
}

#[test]
fn nobody_else_may_read_what_is_kept() {
    let bench = Bench::new();
    fs::set_permissions(&bench.store, Permissions::from_mode(0o755)).unwrap();
    let keeper = Keeper::new(bench.store.clone(), Limits::default()).unwrap();
    bench.write("a", "secret");
    let _ = keeper.keep(&bench.workspace, EARLY, &|| false).unwrap();
    assert_eq!(fs::metadata(&bench.store).unwrap().mode() & 0o777, 0o700);
    for (path, there) in below(&bench.store) {
        assert_eq!(there.mode() & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn a_store_that_is_a_link_is_refused() {
    let bench = Bench::new();
    let link = bench.beside("link");
    std::os::unix::fs::symlink(&bench.store, &link).unwrap();
    assert!(Keeper::new(link, Limits::default()).is_err());
}

#[test]
fn a_store_in_the_workspace_does_not_keep_itself() {
    let bench = Bench::new();
    let keeper = Keeper::new(bench.at("kept"), Limits::default()).unwrap();
    for _ in 0..2 {
        let state = keeper.keep(&bench.workspace, EARLY, &|| false).unwrap();
        assert_eq!((state.files, state.left_out_count), (0, 1));
    }
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let bench = Bench::new();
    bench.write("a", "same");
    let keep = |now| bench.keeper.keep(&bench.workspace, now, &|| false).unwrap().id;
    // How often its content was read: reading a file sets its time of access, where it was set before
    // the last change.
    let first = keep(late());
    assert_eq!(keep(late()), first, "the same state at the same time has the same name");
    // A change within the grain of the clock, with size and times as they were: only a look at
    // the content tells.
    let fresh = keep(EARLY);
    let modified = fs::metadata(bench.at("a")).unwrap().modified().unwrap();
    bench.write("a", "SAME");
    fs::File::options().write(true).open(bench.at("a")).unwrap().set_modified(modified).unwrap();
    let changes = bench.changes(fresh, keep(late())).unwrap();
    assert_eq!(changes.len(), 1);
}

#[test]
fn a_state_that_was_changed_on_disk_is_damaged_and_an_unknown_one_unknown() {
    let bench = Bench::new();
    bench.write("a", "one");
    let (first, unknown) = (bench.keep(), "0".repeat(64).parse::<StateId>().unwrap());
    let path = bench.store.join("states").join(first.to_string());
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let changes = |id: &StateId| bench.changes(*id, *id);
    assert!(matches!(changes(&first), Err(Failed::Damaged(id)) if id == first));
    assert!(matches!(changes(&unknown), Err(Failed::Unknown(id)) if id == unknown));
    let pruned = bench.keeper.prune(EARLY, &|| false).unwrap();
    assert_eq!((pruned.damaged, pruned.objects, pruned.left), (1, 2, 0));
}

#[test]
fn what_is_too_old_goes_with_what_only_it_names() {
    let bench = Bench::new();
    bench.write("stays", "one");
    bench.write("goes", "two");
    let day = Duration::from_secs(24 * 3_600);
    let keep = |now| bench.keeper.keep(&bench.workspace, now, &|| false).unwrap().id;
    let old = keep(late());
    fs::remove_file(bench.at("goes")).unwrap();
    let young = keep(late() + 2 * day);
    assert_eq!(bench.keeper.prune(late() + 7 * day, &|| false).unwrap().states, 0);
    let pruned = bench.keeper.prune(late() + 8 * day, &|| false).unwrap();
    // The content of one file, and the piece that named it.
    assert_eq!((pruned.states, pruned.objects), (1, 2));
    assert!(matches!(bench.changes(old, young), Err(Failed::Unknown(_))));
    let again = keep(late() + 8 * day);
    assert_eq!(bench.changes(young, again).unwrap(), []);
    let pruned = bench.keeper.prune(late() + 30 * day, &|| false).unwrap();
    assert_eq!((pruned.states, pruned.left), (2, 0));
    assert!(below(&bench.store).iter().all(|(path, there)| there.is_dir() || path.ends_with("lock")));
}

#[test]
fn the_oldest_goes_when_there_is_no_room() {
    let bench = Bench::with(Limits { store: 25_000, ..Limits::default() });
    let noise = |seed: u32| -> Vec<u8> {
        let step = |state: &mut u32| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some((*state >> 24) as u8)
        };
        std::iter::successors(Some(seed), |_| None)
            .flat_map(|mut state| (0..10_000).filter_map(move |_| step(&mut state)))
            .collect()
    };
    let mut ids = Vec::new();
    for number in 0..4 {
        bench.write("a", noise(number));
        let now = late() + Duration::from_secs(number.into());
        ids.push(bench.keeper.keep(&bench.workspace, now, &|| false).unwrap().id);
    }
    let pruned = bench.keeper.prune(late(), &|| false).unwrap();
    assert_eq!(pruned.states, 2);
    assert!(pruned.left <= 25_000);
    let restored = bench.put_back(&bench.span(ids[2], ids[3]), &What::All);
    assert_eq!(told(&restored.conflicts), Vec::<String>::new());
    assert_eq!(fs::read(bench.at("a")).unwrap(), noise(2));
}

#[test]
fn an_interrupted_prune_or_keep_leaves_states_that_can_be_put_back() {
    let bench = Bench::new();
    for number in 0..20 {
        bench.write(format!("f{number}"), format!("content {number}"));
    }
    let (was, before) = (bench.things(), bench.keep());
    for number in 0..20 {
        bench.write(format!("f{number}"), format!("other {number}"));
    }
    // Called off at every point at which it looks.
    for most in 0.. {
        let asked = AtomicUsize::new(0);
        let cancel = || asked.fetch_add(1, Ordering::Relaxed) >= most;
        let kept = bench.keeper.keep(&bench.workspace, EARLY, &cancel);
        let asked = AtomicUsize::new(0);
        let cancel = || asked.fetch_add(1, Ordering::Relaxed) >= most;
        let pruned = bench.keeper.prune(EARLY, &cancel);
        if let (Ok(_), Ok(_)) = (kept, pruned) {
            break;
        }
    }
    // What a killed process leaves: something half written, and states gone whose objects are there.
    let after = bench.keep();
    fs::write(bench.store.join("fresh/0"), "half").unwrap();
    bench.write("f0", "a third");
    fs::remove_file(bench.store.join("states").join(bench.keep().to_string())).unwrap();
    let pruned = bench.keeper.prune(EARLY, &|| false).unwrap();
    assert_eq!(pruned.objects, 2);
    assert_eq!(fs::read_dir(bench.store.join("fresh")).unwrap().count(), 0);
    bench.write("f0", "other 0");
    let restored = bench.put_back(&bench.span(before, after), &What::All);
    assert_eq!(told(&restored.conflicts), Vec::<String>::new());
    assert_eq!(bench.things(), was);
}

#[test]
fn several_keepers_use_one_store_one_after_the_other() {
    let bench = Bench::new();
    for number in 0..50 {
        bench.write(format!("f{number}"), format!("content {number}"));
    }
    let before = bench.keep();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let keeper = Keeper::new(bench.store.clone(), Limits::default()).unwrap();
                for _ in 0..5 {
                    let id = keeper.keep(&bench.workspace, EARLY, &|| false).unwrap().id;
                    assert_eq!(keeper.changes(&bench.span(before, id).into(), &|| false).unwrap(), []);
                    let _ = keeper.prune(EARLY, &|| false).unwrap();
                }
            });
        }
    });
}

#[test]
fn who_waits_for_a_store_that_is_in_use_can_be_called_off() {
    let bench = Bench::new();
    let lock = fs::File::create(bench.store.join("lock")).unwrap();
    lock.lock().unwrap();
    let asked = AtomicUsize::new(0);
    let cancel = || asked.fetch_add(1, Ordering::Relaxed) > 3;
    assert!(matches!(bench.keeper.keep(&bench.workspace, EARLY, &cancel), Err(Failed::Cancelled)));
}

#[test]
fn a_file_that_is_being_written_is_kept_as_it_was_at_one_moment_or_said_to_be_changing() {
    let bench = Bench::new();
    let is_over = AtomicBool::new(false);
    bench.write("a", vec![0; 200_000]);
    thread::scope(|scope| {
        scope.spawn(|| {
            for byte in (0..=255_u8).cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                // Longer and shorter, so that a mixture has another length than any version.
                bench.write("a", vec![byte; 100_000 + 400 * usize::from(byte)]);
            }
        });
        for _ in 0..20 {
            let state = bench.state();
            assert_eq!(state.files + state.left_out_count, 1);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_full_disk_is_an_error_and_keeps_no_half_state() {
    let bench = Bench::new();
    let disk = bench.beside("disk");
    fs::create_dir(&disk).unwrap();
    let mounted =
        rustix::mount::mount("tmpfs", &disk, "tmpfs", rustix::mount::MountFlags::empty(), Some(c"size=256k"));
    if let Err(error) = mounted {
        eprintln!("passed over: a small disk cannot be mounted here: {error}");
        return;
    }
    let keeper = Keeper::new(disk.join("kept"), Limits::default()).unwrap();
    bench.write("small", "x");
    let before = keeper.keep(&bench.workspace, EARLY, &|| false).unwrap().id;
    let mut noise = 1_u64;
    let mut next = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (noise >> 56) as u8
    };
    bench.write("large", (0..400_000).map(|_| next()).collect::<Vec<u8>>());
    let full = keeper.keep(&bench.workspace, EARLY, &|| false);
    let pruned = keeper.prune(EARLY, &|| false);
    fs::remove_file(bench.at("large")).unwrap();
    let after = keeper.keep(&bench.workspace, EARLY, &|| false);
    let changes =
        after.as_ref().ok().map(|after| keeper.changes(&bench.span(before, after.id).into(), &|| false));
    rustix::mount::unmount(&disk, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert!(matches!(full, Err(Failed::Store(_))), "{full:?}");
    assert_eq!(pruned.unwrap().damaged, 0);
    assert_eq!(changes.unwrap().unwrap(), []);
}
