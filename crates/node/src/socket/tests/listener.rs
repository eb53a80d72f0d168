//! Where a socket is bound, and where it is not.

use super::*;
use crate::socket::listener::BindError;
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream as BlockingStream};
use std::path::Path;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Binds and tells how that failed, as a word and the rest.
#[track_caller]
fn failure(path: &Path) -> (&'static str, String) {
    let error = Listener::bind(path).unwrap_err();
    let kind = match &error {
        BindError::BadPath { .. } => "bad path",
        BindError::UnsafeParent { .. } => "unsafe parent",
        BindError::Occupied { .. } => "occupied",
        BindError::UnsafeLock(_) => "unsafe lock",
        BindError::Held(_) => "held",
        BindError::Foreign { .. } => "foreign",
        BindError::Io { .. } => "io",
    };
    (kind, error.to_string())
}

#[tokio::test]
async fn l397_missing_folders_are_created_private_and_the_socket_is_private() {
    let folder = private_folder();
    let path = folder.path().join("a/b/s");
    let listener = Listener::bind(&path).unwrap();
    assert_eq!([mode(&folder.path().join("a")), mode(&folder.path().join("a/b"))], [0o700, 0o700]);
    assert_eq!((mode(&path), mode(&folder.path().join("a/b/s.lifecycle.lock"))), (0o600, 0o600));
    let (_ours, theirs) = tokio::join!(listener.accept(b""), UnixStream::connect(&path));
    theirs.unwrap();
}

#[tokio::test]
async fn paths_that_cannot_be_walked_safely_are_refused() {
    let folder = private_folder();
    let long = folder.path().join("x".repeat(108));
    for path in [Path::new("relative"), Path::new("/"), &folder.path().join("a/../s"), &long] {
        assert_eq!(failure(path).0, "bad path", "{}", path.display());
    }
    let exact = folder.path().join("x".repeat(107 - folder.path().as_os_str().len() - 1));
    assert_eq!(exact.as_os_str().len(), 107);
    Listener::bind(&exact).unwrap();
}

#[tokio::test]
async fn l395_what_is_no_socket_is_left_alone() {
    let folder = private_folder();
    let path = folder.path().join("s");
    fs::write(&path, "precious").unwrap();
    assert_eq!(failure(&path).0, "occupied");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(
        failure(&path),
        ("occupied", format!("socket path invalid (directory) at {}", path.display()))
    );

    fs::remove_dir(&path).unwrap();
    let target = folder.path().join("t");
    drop(UnixListener::bind(&target).unwrap());
    symlink(&target, &path).unwrap();
    assert_eq!(failure(&path).0, "occupied");
    assert!(target.exists() && fs::read_link(&path).is_ok());
}

#[tokio::test]
async fn l396_a_stale_socket_is_replaced() {
    let folder = private_folder();
    let path = folder.path().join("s");
    drop(UnixListener::bind(&path).unwrap());
    let _listener = Listener::bind(&path).unwrap();
    BlockingStream::connect(&path).unwrap();
}

#[tokio::test]
async fn a_socket_that_answers_is_somebody_elses() {
    let folder = private_folder();
    let path = folder.path().join("s");
    let _other = UnixListener::bind(&path).unwrap();
    assert_eq!(failure(&path).0, "foreign");
    BlockingStream::connect(&path).unwrap();
}

#[tokio::test]
async fn l398_a_parent_that_others_can_write_is_refused_and_not_changed() {
    let folder = private_folder();
    for bits in [0o770, 0o707, 0o1777] {
        chmod(folder.path(), bits);
        assert_eq!(failure(&folder.path().join("s")).0, "unsafe parent", "{bits:o}");
        assert_eq!(mode(folder.path()), bits);
    }
}

#[tokio::test]
async fn an_ancestor_that_others_can_write_is_refused_unless_sticky() {
    let folder = private_folder();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    chmod(&inner, 0o700);
    chmod(folder.path(), 0o777);
    assert_eq!(failure(&inner.join("s")).0, "unsafe parent");
    chmod(folder.path(), 0o1777);
    Listener::bind(&inner.join("s")).unwrap();
}

#[tokio::test]
async fn links_of_this_user_are_followed_and_endless_ones_refused() {
    let folder = private_folder();
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    chmod(&real, 0o700);
    symlink("real", folder.path().join("relative")).unwrap();
    symlink(&real, folder.path().join("absolute")).unwrap();
    symlink("absolute/../relative", folder.path().join("both")).unwrap();
    for link in ["relative", "absolute", "both"] {
        let listener = Listener::bind(&folder.path().join(link).join("s")).unwrap();
        assert_eq!(listener.path(), fs::canonicalize(&real).unwrap().join("s"), "{link}");
    }
    symlink("loop", folder.path().join("loop")).unwrap();
    assert!(failure(&folder.path().join("loop/s")).1.contains("too many links"));
    fs::write(folder.path().join("file"), "").unwrap();
    assert_eq!(failure(&folder.path().join("file/s")).0, "unsafe parent");
}

#[tokio::test]
async fn folders_and_links_of_another_user_are_refused() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give files away, and only then is there anything to refuse.
        return;
    }
    let folder = private_folder();
    let given = folder.path().join("given");
    fs::create_dir(&given).unwrap();
    chmod(&given, 0o755);
    std::os::unix::fs::chown(&given, Some(12_345), None).unwrap();
    assert_eq!(failure(&given.join("s")).0, "unsafe parent");
    symlink(folder.path(), folder.path().join("link")).unwrap();
    std::os::unix::fs::lchown(folder.path().join("link"), Some(12_345), None).unwrap();
    assert!(failure(&folder.path().join("link/s")).1.contains("owned by another user"));
}

#[tokio::test]
async fn l399_a_second_instance_does_not_bind() {
    let folder = private_folder();
    let path = folder.path().join("s");
    let first = Listener::bind(&path).unwrap();
    assert_eq!(failure(&path).0, "held");
    let inode = fs::metadata(&path).unwrap().ino();
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    let lock = first.retire();
    assert!(!path.exists());
    assert_eq!(failure(&path).0, "held", "the lock outlives the socket while connections end");
    drop(lock);
    Listener::bind(&path).unwrap();
    assert!(folder.path().join("s.lifecycle.lock").exists());
}

#[tokio::test]
async fn a_lock_file_that_is_not_ours_alone_is_refused() {
    let folder = private_folder();
    let (path, lock) = (folder.path().join("s"), folder.path().join("s.lifecycle.lock"));
    symlink(folder.path().join("elsewhere"), &lock).unwrap();
    assert_eq!(failure(&path).0, "unsafe lock");
    assert!(!folder.path().join("elsewhere").exists());
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert_eq!(failure(&path).0, "unsafe lock");
    fs::remove_dir(&lock).unwrap();
    fs::write(&lock, "").unwrap();
    chmod(&lock, 0o666);
    assert_eq!(failure(&path).0, "unsafe lock");
    chmod(&lock, 0o600);
    fs::hard_link(&lock, folder.path().join("second")).unwrap();
    assert_eq!(failure(&path).0, "unsafe lock");
    fs::remove_file(folder.path().join("second")).unwrap();
    Listener::bind(&path).unwrap();
}

#[tokio::test]
async fn l400_a_socket_that_replaced_ours_is_left_alone() {
    let folder = private_folder();
    let path = folder.path().join("s");
    let listener = Listener::bind(&path).unwrap();
    fs::rename(&path, folder.path().join("old")).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    drop(listener);
    BlockingStream::connect(&path).unwrap();
}

#[tokio::test]
async fn dropping_a_listener_removes_its_socket() {
    let folder = private_folder();
    let path = folder.path().join("s");
    drop(Listener::bind(&path).unwrap());
    assert!(!path.exists());
}
