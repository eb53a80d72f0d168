use super::*;
use crate::testing::PATIENCE;
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::mpsc;

const MOST: u64 = 1_024;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// What is said of a file, by a reader that must not wait for anything.
fn said(path: &Path, others: Others) -> String {
    let (sender, receiver) = mpsc::channel();
    let of = path.to_owned();
    std::thread::spawn(move || sender.send(read(&of, MOST, others).map(|text| text.map(|text| text.len()))));
    match receiver.recv_timeout(PATIENCE).expect("the reader waits") {
        Ok(length) => format!("{length:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn whatever_lies_in_place_of_a_file_is_named_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let check = |name: &str, expected: &str| assert_eq!(said(&at(name), Others::MayNothing), expected);
    let kind = |what: &str| format!("expected a regular file, found {what}");
    check("nothing", "None");
    std::fs::write(at("good"), "{}").unwrap();
    set_mode(&at("good"), 0o600);
    check("good", "Some(2)");
    std::os::unix::fs::symlink(at("good"), at("link")).unwrap();
    check("link", &kind("a symbolic link"));
    std::os::unix::fs::symlink("/dev/zero", at("device-link")).unwrap();
    check("device-link", &kind("a symbolic link"));
    std::fs::create_dir(at("folder")).unwrap();
    check("folder", &kind("a folder"));
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    check("pipe", &kind("a pipe"));
    let _listener = UnixListener::bind(at("socket")).unwrap();
    check("socket", &kind("a socket or a device"));
    assert_eq!(said(Path::new("/dev/zero"), Others::MayRead), kind("a device"));
    std::fs::write(at("bytes"), [0xff, 0xfe]).unwrap();
    set_mode(&at("bytes"), 0o600);
    check("bytes", "expected text in UTF-8, found other bytes");
    let huge = File::create(at("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    set_mode(&at("huge"), 0o600);
    check("huge", "expected at most 1024 bytes, found more");
}

#[test]
fn what_others_may_do_with_a_file_decides_whether_it_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "{}").unwrap();
    let taken = |mode, others| {
        set_mode(&path, mode);
        read(&path, MOST, others).is_ok()
    };
    let all = [Others::MayNothing, Others::MayRead];
    assert_eq!(all.map(|others| taken(0o600, others)), [true, true]);
    assert_eq!(all.map(|others| taken(0o644, others)), [false, true]);
    assert_eq!(all.map(|others| taken(0o620, others)), [false, false]);
    assert_eq!(all.map(|others| taken(0o602, others)), [false, false]);
}

#[test]
fn a_file_of_another_user_counts_for_nothing() {
    // Only root can make one, and only others can be asked about root's.
    let theirs = Path::new("/etc/hostname");
    let own = rustix::process::geteuid();
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("file");
    let (path, owner) = if own.is_root() {
        std::fs::write(&made, "{}").unwrap();
        rustix::fs::chown(&made, Some(rustix::fs::Uid::from_raw(65_534)), None).unwrap();
        (made.as_path(), 65_534)
    } else {
        (theirs, 0)
    };
    let expected = format!("expected a file of this user, found one of the user with the number {owner}");
    assert_eq!(said(path, Others::MayRead), expected);
}
