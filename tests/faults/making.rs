//! How each fault is made and ended.

use crate::disk::Disk;
use crate::place::{OTHER, Place};
use crate::processes;
use crate::random::Random;
use crate::requests::{Door, Load};
use crate::rig::Rig;
use crate::table::{Make, Spoiled, Way, Who};
use anyhow::{Context, Result, bail};
use countersign_companion::desk::KEPT_FILES;
use countersign_tests::process::{PATIENCE, wait_for};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a fault is ended.
pub(crate) enum Undo {
    /// It is over as soon as it is made.
    Nothing,
    /// It is over with this process, and lasts as long as that.
    With(u32),
    Thaw(u32),
    Limit(u32, Resource, Rlimit),
    Disk,
    Clock,
    Bus,
    Session,
    Gateway,
    Wire,
    File(Replaced),
}

/// A file that is something else for a while.
pub(crate) struct Replaced {
    path: PathBuf,
    /// Where the right one is; `None` where there was none.
    aside: Option<PathBuf>,
}

/// Variables that the clock's fault needs, and the file that says how far the clock is off.
pub(crate) fn clock(place: &Place) -> Result<Vec<(String, String)>> {
    let library = LIBRARIES.iter().find(|path| Path::new(path).is_file());
    let library = library
        .context("libfaketime is not installed, and nothing else moves the clock of some processes only")?;
    set_clock(place, 0)?;
    let file = clock_file(place).display().to_string();
    Ok([
        ("LD_PRELOAD", *library),
        ("FAKETIME_TIMESTAMP_FILE", &file),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into())
}

fn clock_file(place: &Place) -> PathBuf {
    place.backing().join("clock")
}

fn set_clock(place: &Place, seconds: i64) -> Result<()> {
    let fresh = clock_file(place).with_extension("fresh");
    fs::write(&fresh, format!("{seconds:+}\n"))?;
    Ok(fs::rename(fresh, clock_file(place))?)
}

/// Makes a fault.
pub(crate) fn make(
    make: Make,
    rig: &mut Rig,
    load: &mut Load,
    place: &Place,
    disk: &Disk,
    random: &mut Random,
) -> Result<Undo> {
    Ok(match make {
        Make::Kill(who) => {
            let pid = match who {
                Who::App => rig.app_pid()?,
                Who::Page => {
                    let app = rig.app_pid()?;
                    wait_for("the app has a page", PATIENCE, || Ok(processes::page(app).ok()))?
                }
                Who::Runner => rig.runner()?.pid(),
                Who::Worker => rig.runner()?.worker()?,
                Who::Mcp => load.mcp.pid(),
                Who::Hook => *random.of(&load.clients(Door::Hook)).context("no hook is on its way")?,
                Who::Exec => *random.of(&load.clients(Door::Exec)).context("no command is on its way")?,
            };
            processes::signal(pid, Signal::KILL);
            Undo::Nothing
        }
        Make::Freeze => {
            let pid = rig.app_pid()?;
            processes::signal(pid, Signal::STOP);
            Undo::Thaw(pid)
        }
        Make::Files => {
            let pid = rig.app_pid()?;
            limit(pid, Resource::Nofile, processes::open_files(pid) as u64 + KEPT_FILES)?
        }
        Make::KeptFiles => {
            let pid = rig.app_pid()?;
            limit(pid, Resource::Nofile, processes::open_files(pid) as u64)?
        }
        Make::Processes => limit(rig.app_pid()?, Resource::Nproc, 1)?,
        Make::PageMemory => {
            let app = rig.app_pid()?;
            let page = wait_for("the app has a page", PATIENCE, || Ok(processes::page(app).ok()))?;
            limit(page, Resource::As, 1)?;
            Undo::With(page)
        }
        Make::Disk(trouble) => {
            disk.trouble(trouble)?;
            Undo::Disk
        }
        Make::Clock(seconds) => {
            set_clock(place, seconds)?;
            load.ahead_ms = seconds * 1_000;
            Undo::Clock
        }
        Make::Bus => {
            rig.kill_bus();
            Undo::Bus
        }
        Make::Display => {
            processes::signal(rig.session_process("Xvfb")?, Signal::KILL);
            Undo::Session
        }
        Make::Gateway => {
            rig.end_gateway();
            Undo::Gateway
        }
        Make::HalfOpen => {
            rig.wire.set_dead(true);
            Undo::Wire
        }
        Make::Spoil(file, way, _) => Undo::File(spoil(file, way, rig)?),
    })
}

/// Ends it.
pub(crate) fn end(undo: Undo, rig: &mut Rig, load: &mut Load, place: &Place, disk: &Disk) -> Result<()> {
    match undo {
        Undo::Nothing | Undo::With(_) => {}
        Undo::Thaw(pid) => processes::signal(pid, Signal::CONT),
        Undo::Limit(pid, resource, before) => {
            // One that ended needs it no more.
            prlimit(pid_of(pid), resource, before).ok();
        }
        Undo::Disk => disk.mend()?,
        Undo::Clock => {
            set_clock(place, 0)?;
            load.ahead_ms = 0;
        }
        Undo::Bus => rig.start_bus()?,
        Undo::Session => rig.start_session()?,
        Undo::Gateway => rig.start_gateway()?,
        Undo::Wire => rig.wire.set_dead(false),
        Undo::File(file) => {
            remove(&file.path)?;
            if let Some(aside) = file.aside {
                fs::rename(aside, &file.path)?;
            }
        }
    }
    Ok(())
}

fn limit(pid: u32, resource: Resource, most: u64) -> Result<Undo> {
    // The hard limit stays, or nobody could end it.
    let limit = Rlimit { current: Some(most), maximum: getrlimit(resource).maximum };
    let before = prlimit(pid_of(pid), resource, limit).context("limits of the app cannot be set")?;
    Ok(Undo::Limit(pid, resource, before))
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// A socket is bound again as soon as it is missed: whoever wants its place has to be quicker.
fn spoil(file: Spoiled, way: Way, rig: &Rig) -> Result<Replaced> {
    for _ in 0..TRIES {
        match spoil_once(file, way, rig) {
            Err(error)
                if error.downcast_ref().map(std::io::Error::kind)
                    == Some(std::io::ErrorKind::AlreadyExists) => {}
            spoiled => return spoiled,
        }
    }
    bail!("the app was quicker {TRIES} times")
}

fn spoil_once(file: Spoiled, way: Way, rig: &Rig) -> Result<Replaced> {
    let path = file.path(&rig.home);
    let content = fs::read(&path).unwrap_or_default();
    // Beside, so that it is the same file when it comes back, with all who have it open.
    let aside = rig.home.path().join("aside");
    let aside = match fs::rename(&path, &aside) {
        Ok(()) => Some(aside),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let private = |bytes: &[u8]| -> Result<()> { rig.home.write_private(&path, bytes) };
    match way {
        Way::Truncated => private(&content[..content.len() / 2])?,
        Way::Garbage => private(b"\x00\xff{not: json\n")?,
        Way::OtherVersion => private(b"{\"version\":99}\n")?,
        Way::Huge => {
            private(b"")?;
            File::options().write(true).open(&path)?.set_len(HUGE_BYTES)?;
        }
        Way::Folder => fs::create_dir(&path)?,
        Way::Fifo => {
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, &path, FileType::Fifo, mode, 0).map_err(std::io::Error::from)?;
        }
        Way::Unreadable => {
            private(&content)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o000))?;
        }
        Way::Link => {
            let target = rig.home.path().join("target");
            rig.home.write_private(&target, &content)?;
            symlink(target, &path)?;
        }
        Way::Foreign => {
            private(&content)?;
            chown(&path, Some(OTHER), Some(OTHER)).context("files cannot be given to another user here")?;
        }
        Way::Removed => {}
    }
    Ok(Replaced { path, aside })
}

fn remove(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(fs::remove_dir_all(path)?),
        Ok(_) => Ok(fs::remove_file(path)?),
        Err(_) => Ok(()),
    }
}

/// How long a stopped app rests: in the short form long enough for its askers to wonder, else as a laptop
/// that was closed.
pub(crate) const fn frozen(is_short: bool) -> Duration {
    Duration::from_secs(if is_short { 6 } else { 30 })
}

/// How often a place is tried for that the app takes again.
const TRIES: usize = 1_000;

/// Far above what any of our files has.
const HUGE_BYTES: u64 = 200 * 1024 * 1024;

const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];
