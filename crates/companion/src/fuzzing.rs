//! What has to hold of what others wrote for this crate, whatever it is. Only there for `tests/fuzz`.

use crate::{control, tools};
use countersign_core::private;
use countersign_core::settings::SettingsFile;
use countersign_peers::{connections, forward, gateway, pets, secrets};
use countersign_protocol::settings::ForwardedGrants;
use std::path::{Path, PathBuf};
use tokio::io::BufReader;
use tokio::runtime::{Builder, Runtime};

/// OpenClaw's own configuration.
pub fn openclaw_configuration(text: &str) {
    secrets::openclaw_configuration(text);
}

/// A line of the control channel: never longer than its limit, and never more than the line.
pub fn control_line(bytes: &[u8]) -> Option<Vec<u8>> {
    let line = run(control::read_line(&mut BufReader::new(bytes))).ok()?;
    assert!(bytes.starts_with(&line) && !line[..line.len() - 1].contains(&b'\n'));
    Some(line)
}

/// A file of ours, of the kind that `kind` picks: it is understood, or a complaint says so; what is
/// understood is written as it is read; what is not is nowhere the less strict.
pub fn kept_file(kind: u8, bytes: &[u8]) {
    let path = file();
    private::write(&path, bytes).unwrap();
    let (check, rewrite): (fn(&Path) -> bool, fn(&Path)) = match kind % 6 {
        0 => (|path| forward::check_file(path).is_ok(), forward::rewrite),
        1 => (|path| connections::check_file(path).is_ok(), connections::rewrite),
        2 => (|path| pets::check_file(path).is_ok(), pets::rewrite),
        3 => (|path| gateway::check_devices(path).is_ok(), gateway::rewrite),
        4 => (|path| tools::check_file(path).is_ok(), |_| {}),
        _ => (settings, |_| {}),
    };
    if check(&path) {
        rewrite(&path);
        let written = std::fs::read(&path).unwrap();
        assert!(check(&path));
        rewrite(&path);
        assert_eq!(std::fs::read(&path).unwrap(), written);
    }
}

fn settings(path: &Path) -> bool {
    let open = SettingsFile::open(path.to_owned());
    let (settings, gateway) = (open.watch().borrow().clone(), open.watch_gateway().borrow().clone());
    let understood = SettingsFile::check(path).is_ok();
    if understood {
        open.set(settings.clone()).unwrap();
        assert_eq!(*SettingsFile::open(path.to_owned()).watch().borrow(), settings);
    } else {
        assert_eq!(settings.forwarded_grants, ForwardedGrants::Never);
        assert!(!gateway.enabled && !open.watch_pet().borrow().enabled);
    }
    understood
}

/// It is written for every input. Only the list of devices has to have its name. libFuzzer ends the process
/// without dropping anything, so whoever starts it removes the temporary folder.
fn file() -> PathBuf {
    std::env::temp_dir().join(gateway::DEVICES_FILE)
}

/// Waits for a future on this thread.
pub fn run<F: Future>(future: F) -> F::Output {
    thread_local!(static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().unwrap());
    RUNTIME.with(|runtime| runtime.block_on(future))
}
