//! Where the harness runs: name spaces of its own for mounts and the network, as an ordinary user. Whoever
//! shares the network name space was started here, which tells what is left over; and files that belong to
//! others, or that nobody may read, are that for an ordinary user only. The harness keeps the powers that
//! faults need, and what it starts has none.

use crate::processes;
use anyhow::{Context, Result, ensure};
use countersign_tests::process::{command, countersign, countersign_desktop};
use rustix::process::{Pid, Signal};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Folders of one call of the harness.
#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
}

impl Place {
    /// Where homes lie. Faults of the disk mount theirs here.
    pub(crate) fn disk(&self) -> PathBuf {
        self.root.join("disk")
    }

    /// Where commands leave their markers, and everything that a broken disk must not reach.
    pub(crate) fn markers(&self) -> PathBuf {
        self.root.join("markers")
    }

    /// What FUSE hands on to.
    pub(crate) fn backing(&self) -> PathBuf {
        self.root.join("backing")
    }

    /// The inner part's view of the folder that the outer one made.
    pub(crate) fn enter(root: &Path) -> Result<Self> {
        let mut ip = command("ip");
        let up = ip.args(["link", "set", "lo", "up"]).status().context("ip is needed")?;
        ensure!(up.success(), "the loopback interface of the name space cannot be used");
        // What is started from here on is as ordinary as its user.
        rustix::thread::clear_ambient_capability_set()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        end_with(rustix::process::getppid());
        Ok(Self { root: root.to_owned() })
    }

    /// Whether files can be given to another user.
    pub(crate) fn has_others(&self) -> bool {
        let file = self.root.join("other");
        let given = fs::write(&file, "").and_then(|()| chown(&file, Some(OTHER), None));
        fs::remove_file(&file).ok();
        given.is_ok()
    }
}

/// Ends everything here when the outer part is ended: nobody else knows of it.
fn end_with(outer: Option<Pid>) {
    thread::spawn(move || {
        while rustix::process::getppid() == outer {
            thread::sleep(LOOK_FOR_OUTER);
        }
        for process in processes::all().unwrap_or_default() {
            processes::signal(process.pid, Signal::KILL);
        }
        std::process::exit(1);
    });
}

/// Starts this program again inside, with the same arguments.
pub(crate) fn isolate() -> Result<ExitCode> {
    let root = TempDir::with_prefix("countersign-faults-")?;
    let is_root = rustix::process::geteuid().is_root();
    let programs = root.path().join("program");
    fs::create_dir(&programs)?;
    let mut isolated = command("unshare");
    isolated.args(["--mount", "--net"]);
    if is_root {
        isolated.args(["setpriv", "--reuid", NOBODY_TEXT, "--regid", NOBODY_TEXT, "--clear-groups"]);
        isolated.args([
            "--securebits",
            "+no_setuid_fixup",
            "--inh-caps",
            POWERS,
            "--ambient-caps",
            POWERS,
            "--",
        ]);
    } else {
        isolated.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    // The ordinary user may not get to where they were built.
    for (variable, from) in [
        ("COUNTERSIGN_BIN", countersign()?),
        ("COUNTERSIGN_DESKTOP_BIN", countersign_desktop()?),
        ("", std::env::current_exe()?),
    ] {
        let to = programs.join(from.file_name().context("a program has a name")?);
        fs::copy(&from, &to).with_context(|| from.display().to_string())?;
        match variable {
            "" => isolated.arg(to),
            variable => isolated.env(variable, to),
        };
    }
    for folder in ["disk", "markers", "backing"] {
        let folder = root.path().join(folder);
        fs::create_dir(&folder)?;
        if is_root {
            chown(&folder, Some(NOBODY), Some(NOBODY))?;
        }
    }
    if is_root {
        chown(root.path(), Some(NOBODY), Some(NOBODY))?;
    }
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755))?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    isolated.args(arguments).arg("--inside").arg(root.path());
    let ended = isolated.status().context("unshare is needed")?;
    ensure!(ended.code().is_some(), "the harness was ended: {ended}");
    // A container that forbids name spaces says so on standard error, and nothing was tried.
    Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How often the inner part looks whether the outer one is still there.
const LOOK_FOR_OUTER: Duration = Duration::from_secs(1);

/// The user who owns nothing.
const NOBODY: u32 = 65_534;
const NOBODY_TEXT: &str = "65534";

/// A user who is somebody else.
pub(crate) const OTHER: u32 = 54_321;

/// What faults need: mounts, files of others, the loopback interface.
const POWERS: &str = "+sys_admin,+chown,+dac_override,+fowner,+net_admin,+sys_ptrace,+kill";
