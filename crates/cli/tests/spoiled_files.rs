//! Whatever lies in place of a file of ours: the app starts or says why not, `doctor` names it, nothing is
//! allowed because of it, nothing of it is lost, and nobody waits for it or reads more than such
//! a file may hold.
//!
//! A program of its own, so that its memory is measured by itself.

use anyhow::{Context as _, Result, ensure};
use countersign_companion::{Companion, StartError};
use countersign_core::paths::Paths;
use countersign_protocol::settings::{ForwardedGrants, Settings};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

/// What lies in place of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Spoiling {
    Device,
    Empty,
    Folder,
    Foreign,
    Garbage,
    Huge,
    Link,
    Open,
    Pipe,
    Unreadable,
}

impl Spoiling {
    const ALL: [Self; 10] = [
        Self::Device,
        Self::Empty,
        Self::Folder,
        Self::Foreign,
        Self::Garbage,
        Self::Huge,
        Self::Link,
        Self::Open,
        Self::Pipe,
        Self::Unreadable,
    ];

    /// Whether this user can make it, and is kept from the file by it.
    fn is_possible(self) -> bool {
        let is_root = rustix::process::geteuid().is_root();
        match self {
            Self::Foreign => is_root,
            Self::Unreadable => !is_root,
            _ => true,
        }
    }

    fn put(self, path: &Path) -> Result<()> {
        let text = fs::read(path)?;
        match self {
            Self::Device | Self::Folder | Self::Link | Self::Pipe => fs::remove_file(path)?,
            Self::Empty | Self::Foreign | Self::Garbage | Self::Huge | Self::Open | Self::Unreadable => {}
        }
        match self {
            Self::Device => std::os::unix::fs::symlink("/dev/zero", path)?,
            Self::Empty => File::create(path).map(drop)?,
            Self::Folder => fs::create_dir(path)?,
            Self::Foreign => {
                rustix::fs::chown(path, Some(rustix::fs::Uid::from_raw(NOBODY)), None)?;
            }
            Self::Garbage => fs::write(path, b"\xff\x00{[not ours")?,
            Self::Huge => File::options().write(true).open(path)?.set_len(HUGE)?,
            Self::Link => {
                let beside = path.with_extension("elsewhere");
                write(&beside, &text)?;
                std::os::unix::fs::symlink(beside, path)?;
            }
            Self::Open => fs::set_permissions(path, PermissionsExt::from_mode(0o666))?,
            Self::Pipe => {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)?;
            }
            Self::Unreadable => fs::set_permissions(path, PermissionsExt::from_mode(0o000))?,
        }
        Ok(())
    }
}

/// A home with one good file of each kind.
struct Home {
    _folder: TempDir,
    root: PathBuf,
    paths: Paths,
    env: BTreeMap<String, String>,
}

impl Home {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().to_owned();
        let env: BTreeMap<String, String> = [
            ("HOME", root.clone()),
            ("COUNTERSIGN_STATE_DIR", root.join("own")),
            ("OPENCLAW_STATE_DIR", root.join("openclaw")),
            ("COUNTERSIGN_GATEWAY_PORT", "0".into()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.display().to_string()))
        .collect();
        let paths = Paths::from_env(&env)?;
        let home = Self { _folder: folder, root, paths, env };
        for (path, text) in home.good_files() {
            write(&path, text.as_bytes())?;
        }
        Ok(home)
    }

    /// Every file of ours but those of the history.
    fn good_files(&self) -> Vec<(PathBuf, String)> {
        let Paths { state, config, .. } = &self.paths;
        let settings = json!({ "forwardedGrants": "never", "gateway": { "enabled": true, "port": 18_790 } });
        let target = json!({
            "id": ID, "name": "there", "enabled": true, "hasSecret": true,
            "place": { "kind": "webhook", "url": "http://127.0.0.1:9/", "auth": "bearer" },
        });
        let forward = json!({
            "version": 1, "enabled": false, "mode": "targets", "agentFilter": [], "sessionFilter": [], "targets": [target],
        });
        let gateway = json!({
            "id": ID, "name": "there", "url": "ws://127.0.0.1:9", "pin": null, "enabled": true, "seesAgents": false,
            "sessionFilter": null, "secretKind": "token", "secret": "file",
        });
        let server = json!({
            "id": ID, "name": "there", "url": "ws://127.0.0.1:9", "sessionId": "cat", "enabled": true, "secret": "file",
        });
        let document = json!({
            "version": 1, "agents": {},
            "socket": { "path": self.paths.openclaw_state.join("exec-approvals.sock"), "token": "t".repeat(32) },
            "defaults": { "security": "allowlist", "ask": "always", "askFallback": "deny" },
        });
        let text = |value: Value| value.to_string();
        let secret = |folder: PathBuf| folder.join(format!("{ID}.secret"));
        vec![
            (self.paths.document(), text(document)),
            (config.join("rules.json"), text(json!({ "version": 1, "rules": [] }))),
            (state.join("rule-uses.json"), text(json!({ "version": 1, "uses": {} }))),
            (self.paths.settings(), text(settings)),
            (self.paths.tools(), text(json!({ "tools": { "exec": { "security": "deny" } } }))),
            (self.paths.forward(), text(forward)),
            (self.paths.gateways(), text(json!({ "version": 1, "gateways": [gateway] }))),
            (self.paths.pet_servers(), text(json!({ "version": 1, "servers": [server] }))),
            (self.paths.gateway().join("token"), "t".repeat(32)),
            (self.paths.gateway().join("devices.json"), text(json!({ "version": 1, "devices": [] }))),
            (self.paths.gateway_secrets().join("device.key"), "07".repeat(32)),
            (secret(self.paths.gateway_secrets()), "s".repeat(32)),
            (secret(self.paths.forward_secrets()), "s".repeat(32)),
            (secret(self.paths.pet_secrets()), "s".repeat(32)),
            (self.paths.node().join("device.key"), "07".repeat(32)),
            (self.paths.node().join("gateway.token"), text(json!({ "token": "t", "givenBy": "a" }))),
            (self.paths.node().join("runner.lock"), String::new()),
        ]
    }

    /// The `countersign` command with little memory: reading a huge file whole would end it.
    fn command(&self, arguments: &[&str]) -> Result<(i32, String)> {
        #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "ulimit -v \"$0\" && exec \"$@\"",
            MOST_MEMORY_KB,
            env!("CARGO_BIN_EXE_countersign"),
        ]);
        command
            .args(arguments)
            .env_clear()
            .envs(&self.env)
            .env("PATH", "/usr/bin:/bin")
            .env("MALLOC_ARENA_MAX", "1");
        command.current_dir(&self.root);
        let ended = in_time(move || command.output()).context("the command waits")??;
        let said = [ended.stdout, ended.stderr].concat();
        Ok((ended.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned()))
    }
}

/// What lies at a path, and what it says.
#[derive(Debug, Eq, PartialEq)]
struct Seen {
    inode: u64,
    mode: u32,
    size: u64,
    owner: u32,
    text: Option<Vec<u8>>,
}

fn seen(path: &Path) -> Result<Seen> {
    let found = path.symlink_metadata()?;
    let text = (found.is_file() && found.len() < 4_096).then(|| fs::read(path)).transpose()?;
    Ok(Seen { inode: found.ino(), mode: found.mode(), size: found.len(), owner: found.uid(), text })
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().context("no folder")?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::write(path, bytes)?;
    Ok(fs::set_permissions(path, PermissionsExt::from_mode(0o600))?)
}

/// What `work` brings, or an error when it waits for something.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    Ok(receiver.recv_timeout(PATIENCE)?)
}

/// Starts everything behind the windows, has each setting changed as a window would, and stops it again.
fn start_change_and_stop(paths: Paths) -> Result<std::result::Result<ForwardedGrants, StartError>> {
    in_time(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.block_on(async {
            let (companion, presenter) = match Companion::start(&paths) {
                Ok(started) => started,
                Err(error) => return Ok(Err(error)),
            };
            let grants = companion.desk().settings().forwarded_grants;
            // Refused where what is there cannot be read: then it is not written over.
            let _ =
                companion.desk().set_settings(Settings { forwarded_grants: grants, ..Settings::default() });
            let _ = companion.desk().set_pet_server(false).await;
            drop(presenter);
            companion.stop().await;
            Ok(Ok(grants))
        })
    })
    .context("the app waits")?
}

#[test]
fn whatever_lies_in_place_of_a_file_of_ours_is_told_and_neither_waited_for_nor_written_over() {
    for spoiling in Spoiling::ALL.into_iter().filter(|spoiling| spoiling.is_possible()) {
        let files = Home::new().unwrap().good_files().len();
        for at in 0..files {
            check_alone(spoiling, at).unwrap_or_else(|error| panic!("{spoiling:?}, file {at}: {error:#}"));
        }
        check_together(spoiling).unwrap_or_else(|error| panic!("{spoiling:?}: {error:#}"));
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < MOST_RESIDENT_KB, "{kilobytes} kB");
}

/// One spoiled file: the app starts or says why, and leaves the file alone.
fn check_alone(spoiling: Spoiling, at: usize) -> Result<()> {
    let home = Home::new()?;
    let (path, _) = home.good_files().swap_remove(at);
    spoiling.put(&path).with_context(|| path.display().to_string())?;
    let before = seen(&path)?;
    match start_change_and_stop(home.paths).with_context(|| path.display().to_string())? {
        Ok(grants) => {
            ensure!(grants == ForwardedGrants::Never, "{}: forwarded grants {grants:?}", path.display());
        }
        Err(error) => ensure!(error.to_string().contains(&path.display().to_string()), "{error}"),
    }
    // What is understood may be brought up to date; everything else stays.
    let mends = spoiling == Spoiling::Empty || spoiling == Spoiling::Open;
    ensure!(mends || seen(&path)? == before, "{} was changed", path.display());
    Ok(())
}

/// All files spoiled: nothing runs, and `doctor` names each.
fn check_together(spoiling: Spoiling) -> Result<()> {
    let home = Home::new()?;
    for (path, _) in home.good_files() {
        spoiling.put(&path)?;
    }
    let made = home.root.join("made");
    let (code, said) = home.command(&["exec", "--", "touch", &made.display().to_string()])?;
    ensure!(code != 0 && !made.exists(), "the command ran: {said}");
    let (code, said) = home.command(&["doctor"])?;
    ensure!(code == 1, "doctor ended with {code}: {said}");
    for (path, _) in home.good_files() {
        let name = path.display().to_string();
        let is_list = path.extension().is_some_and(|end| end == "json") && !path.ends_with("rule-uses.json");
        // An empty secret is none, and an empty lock is as good as any.
        let unnamed = spoiling == Spoiling::Empty && !is_list || path.ends_with("rule-uses.json");
        ensure!(unnamed || said.contains(&name), "doctor does not name {name}: {said}");
    }
    Ok(())
}

/// An id of ours.
const ID: &str = "6c0f3c1e-5b1c-4a53-9d0e-6a1f0f6f2a11";

/// Number of a user that is not this one.
const NOBODY: u32 = 65_534;

/// Bytes of a huge file, which take no place on the disk.
const HUGE: u64 = 8 * 1_024 * 1_024 * 1_024;

/// Address space of a command, in kilobytes.
const MOST_MEMORY_KB: &str = "2000000";

/// What this program may have had in memory at once: itself and everything that it started a hundred times.
const MOST_RESIDENT_KB: u64 = 300_000;

/// Longest wait for what has to happen. It says that a test fails, and never how fast the machine is: where
/// all is well, nothing takes nearly as long, however slow and busy that is.
const PATIENCE: Duration = Duration::from_secs(120);
