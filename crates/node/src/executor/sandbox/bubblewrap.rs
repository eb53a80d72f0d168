//! Bubblewrap's argument list, and the run of a command in it.
//!
//! What was pinned is handed over as open files, never by path: the folder and every pinned program and
//! script are bound from the descriptors that were compared, so nobody can put anything else in their place
//! between the look and the run.

mod stage;
mod status;
mod waiting;
mod walls;

use super::super::terminal::Terminal;
use super::super::{
    Controls, FIRST_BUSY_PAUSE, LAST_BUSY_PAUSE, NotStarted, Run, RunOutput, Started, Stop, not_started,
    start_in, verify,
};
use super::workspace::{Limits, Plan, Workspace};
use super::{Grounds, Network, Unavailable, entrance};
use crate::facts;
use command_fds::{CommandFdExt, FdMapping};
use countersign_policy::{ApprovedCommand, display};
use stage::Held;
pub(super) use stage::Stage;
pub(super) use stage::found as stage;
pub(in super::super) use status::Status;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
pub(super) use waiting::{Waiting, stand};
pub(super) use walls::FIRST_HANDED;
use walls::{Named, Walls};

/// A bubblewrap that works here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Bubblewrap {
    program: PathBuf,
    named: Named,
}

/// The bubblewrap of this machine.
pub(super) async fn found() -> Result<&'static Bubblewrap, Unavailable> {
    FOUND.get_or_try_init(|| find(PLACES)).await
}

/// Whether it was found already. Nothing is started to find out.
pub(super) fn is_found() -> bool {
    FOUND.initialized()
}

/// Only success is remembered: whoever mends the machine need not start anything again.
static FOUND: OnceCell<Bubblewrap> = OnceCell::const_new();

/// The first of `places` that is there, tried out.
pub(super) async fn find(places: &[&str]) -> Result<Bubblewrap, Unavailable> {
    let program = places.iter().map(Path::new).find(|place| place.is_file());
    let Some(program) = program else {
        return Err(Unavailable::NoBubblewrap { places: places.join(", ") });
    };
    let forbidden = |said: &str| Unavailable::Forbidden {
        said: display::escape(super::first_line(said)),
        remedy: remedy(),
    };
    let failed = |error: io::Error| forbidden(&error.to_string());
    let help = answer(program, vec!["--help".into()], Vec::new()).await.map_err(failed)?;
    for option in NEEDED {
        if !help.text.contains(option) {
            return Err(Unavailable::TooOld(option));
        }
    }
    let named = if help.text.contains("--argv0 ") { Named::AsTyped } else { Named::ByPath };
    let mut walls =
        Walls::sealed(Network::None, Path::new("/nonexistent"), &BTreeMap::new()).map_err(failed)?;
    walls.close();
    let (mut arguments, handed, _) = walls.into_parts();
    arguments.extend(["--", "/bin/sh", "-c", ":"].map(OsString::from));
    let tried = answer(program, arguments, handed).await.map_err(failed)?;
    if !tried.good {
        return Err(forbidden(&tried.text));
    }
    Ok(Bubblewrap { program: program.to_owned(), named })
}

/// Runs `command` behind the walls of a sealed sandbox.
pub(super) async fn run(
    command: ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    network: Network,
    grounds: &Grounds,
    controls: Controls,
) -> Result<RunOutput, NotStarted> {
    let sealed = Profile::Sealed { network, home: &grounds.home };
    run_behind(sealed, &command, base_env, controls).await
}

/// Runs `command` in a box.
pub(super) async fn run_in_box(
    command: &ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    site: Site<'_>,
    controls: Controls,
) -> Result<RunOutput, NotStarted> {
    run_behind(Profile::Box(site), command, base_env, controls).await
}

/// What a box is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) plan: &'a Plan,
    pub(super) stage: Option<&'a Stage>,
    /// Cancelled when the command may begin.
    pub(super) ready: &'a CancellationToken,
}

/// What there is of the machine.
#[derive(Clone, Copy, Debug)]
enum Profile<'a> {
    /// Little.
    Sealed { network: Network, home: &'a Path },
    /// All but what is hidden.
    Box(Site<'a>),
}

impl Profile<'_> {
    /// The walls, without the run's programs.
    fn walls(&self, base_env: &BTreeMap<String, String>, cwd: &Path, folder: OwnedFd) -> io::Result<Walls> {
        match self {
            Self::Sealed { network, home } => {
                let mut walls = Walls::sealed(*network, home, base_env)?;
                walls.folder(cwd, folder)?;
                Ok(walls)
            }
            Self::Box(site) => Walls::boxed(site.workspace, site.plan, site.stage.is_some()),
        }
    }

    /// Whether a path is there without being handed over.
    fn shows(&self, path: &Path, cwd: &Path) -> bool {
        match self {
            Self::Sealed { .. } => walls::is_shown(path, cwd),
            Self::Box(site) => site.plan.shows(path, &site.workspace.folder),
        }
    }

    /// Where the command may write, if something is started in it before the command that sees to that.
    fn entered(&self) -> Option<Vec<&Path>> {
        match self {
            Self::Box(site) if site.workspace.is_entered() => Some(site.plan.writable(site.workspace)),
            Self::Box(_) | Self::Sealed { .. } => None,
        }
    }

    /// Waits until the command may begin.
    async fn ready(&self) {
        if let Self::Box(site) = self {
            site.ready.cancelled().await;
        }
    }

    /// What the run may use up.
    fn limits(&self) -> Option<&Limits> {
        match self {
            Self::Sealed { .. } => None,
            Self::Box(site) => Some(&site.workspace.limits),
        }
    }
}

async fn run_behind(
    profile: Profile<'_>,
    command: &ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    Controls { cancel, tap, name, output, terminal }: Controls,
) -> Result<RunOutput, NotStarted> {
    let bubblewrap = found().await?;
    let most = profile.limits().and_then(|limits| limits.time);
    let limit = command.timeout().into_iter().chain(most).min();
    let mut pause = FIRST_BUSY_PAUSE;
    loop {
        let folder = verify(command).await?;
        let pinned = open_pinned(command, profile)?;
        if cancel.is_cancelled() {
            return Err(NotStarted::Cancelled);
        }
        let mut started = Instant::now();
        let terminal = terminal.map(Terminal::open).transpose();
        let spawned = terminal.and_then(|terminal| {
            let called = name.as_deref();
            spawn(bubblewrap, command, base_env, folder, &pinned, profile, terminal, called)
        });
        let spawned = match spawned {
            Ok(Spawned { started: process, mut status, held: Some(mut held) }) => {
                let is_ready = tokio::select! {
                    () = profile.ready() => true,
                    () = cancel.cancelled() => false,
                };
                if !is_ready {
                    drop(process);
                    return Err(NotStarted::Cancelled);
                }
                // What it had to wait for is not its own time.
                started = Instant::now();
                match held.release(&mut status, profile.limits()).await {
                    Ok(()) => Ok((process, status)),
                    Err(error) => {
                        // Killed first: who waits starts the command when nobody is there to say no any more.
                        drop(process);
                        drop(held);
                        Err(error)
                    }
                }
            }
            Ok(Spawned { started, status, held: None }) => Ok((started, status)),
            Err(error) => Err(error),
        };
        let ran = match spawned {
            Ok(((started_as, terminal), status)) => {
                let run = Run::of(started_as, output, tap.clone()).through(terminal);
                let run = run.stopped_by(Stop::Namespace(status));
                run.finish(limit, started, &cancel).await
            }
            Err(error) => not_started(&error.to_string()),
        };
        let busy = ran.error.as_deref().is_some_and(|error| error.ends_with(BUSY)) && ran.exit_code.is_none();
        if !busy || pause > LAST_BUSY_PAUSE {
            return Ok(RunOutput { payload: ran, duration: started.elapsed() });
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}

/// Every pinned file by the path at which it must be found, open.
fn open_pinned(
    command: &ApprovedCommand,
    profile: Profile<'_>,
) -> Result<Vec<(PathBuf, OwnedFd)>, NotStarted> {
    let pins = command.pins();
    let is_shown = |path: &Path| profile.shows(path, &pins.cwd.real_path);
    let mut files: Vec<(PathBuf, OwnedFd)> = Vec::new();
    for (path, identity) in &pins.programs {
        files.push((path.clone(), facts::open_pinned("program", path, identity)?));
    }
    for (link, real) in pins.links.iter().filter(|(link, _)| !is_shown(link)) {
        let identity = pins.programs.iter().find(|(path, _)| path == real).map(|(_, identity)| identity);
        if let Some(identity) = identity {
            files.push((link.clone(), facts::open_pinned("program", real, identity)?));
        }
    }
    for script in &pins.scripts {
        let open = || facts::open_pinned("script", &script.real_path, &script.identity);
        files.push((script.real_path.clone(), open()?));
        // An interpreter opens it by the name that it was given, which may lead there through a link.
        let named = walls::plain_path(&script.named);
        if named != script.real_path && !is_shown(&named) {
            files.push((named, open()?));
        }
    }
    files.dedup_by(|one, other| one.0 == other.0);
    Ok(files)
}

/// A bubblewrap that was started.
struct Spawned {
    started: Started,
    status: Status,
    /// It waits until its limits are set.
    held: Option<Held>,
}

/// Starts bubblewrap in its own process group.
#[expect(clippy::too_many_arguments, reason = "one call site; a struct would only rename them")]
fn spawn(
    bubblewrap: &Bubblewrap,
    command: &ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    folder: OwnedFd,
    pinned: &[(PathBuf, OwnedFd)],
    profile: Profile<'_>,
    terminal: Option<Terminal>,
    called: Option<&str>,
) -> io::Result<Spawned> {
    let (typed, arguments) = command.argv().split_first().ok_or(ErrorKind::InvalidInput)?;
    let cwd = &command.pins().cwd.real_path;
    let mut walls = profile.walls(base_env, cwd, folder)?;
    for (path, file) in pinned {
        walls.file(path, file.try_clone()?)?;
    }
    let (_, first) = pinned.first().ok_or(ErrorKind::InvalidInput)?;
    let line = if let Some(writable) = profile.entered() {
        entrance::line(typed, command.program(), arguments, &writable)
    } else {
        let program = walls.program(command.program(), typed, bubblewrap.named, first)?;
        std::iter::once(program.into()).chain(arguments.iter().map(OsString::from)).collect()
    };
    walls.close();
    walls.start_in(cwd);
    let (status, writer) = Status::new()?;
    walls.report_to(writer);
    let held = profile.limits().map(|_| Held::new(&mut walls)).transpose()?;
    let (mut list, handed, laid) = walls.into_parts();
    list.push("--".into());
    list.extend(line);
    let (mut process, input) = match (profile, laid) {
        (Profile::Box(Site { stage: Some(stage), .. }), Some(laid)) => {
            let (process, input) = stage.process(&laid, &bubblewrap.program, list, handed, None)?;
            (process, Some(input))
        }
        _ => (numbered(&bubblewrap.program, list, handed)?, None),
    };
    process.env_clear().envs(command.environment(base_env)).env("OPENCLAW_CLI", "1").env("PWD", cwd);
    Ok(Spawned { started: start_in(process, terminal, input, called)?, status, held })
}

/// What bubblewrap said when it was asked something.
struct Reply {
    good: bool,
    text: String,
}

async fn answer(program: &Path, list: Vec<OsString>, handed: Vec<OwnedFd>) -> io::Result<Reply> {
    heard(numbered(program, list, handed)?).await
}

async fn heard(mut process: Command) -> io::Result<Reply> {
    let asked = process.env_clear().process_group(0).output();
    let output = timeout(ANSWER_WAIT, asked).await.map_err(|_| io::Error::other("it does not answer"))??;
    let text = [output.stdout, output.stderr].concat();
    Ok(Reply { good: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() })
}

/// Bubblewrap with these arguments and, from [`FIRST_HANDED`] on, these descriptors.
fn numbered(program: &Path, list: Vec<OsString>, handed: Vec<OwnedFd>) -> io::Result<Command> {
    let mapped = (FIRST_HANDED..).zip(handed);
    let mapped = mapped.map(|(child_fd, parent_fd)| FdMapping { parent_fd, child_fd }).collect();
    let mut process = bare(program);
    process.args(list).fd_mappings(mapped).map_err(io::Error::other)?;
    Ok(process)
}

/// A program that finds nothing open but its standard streams.
#[expect(
    clippy::disallowed_methods,
    reason = "the program behind it is an approved one, or asks about bubblewrap itself"
)]
fn bare(program: &Path) -> Command {
    // Whatever else is open here, perhaps left by who started this process, would be open in the sandbox too.
    close_fds::set_fds_cloexec_threadsafe(walls::AFTER_STANDARD, &[]);
    let mut process = Command::new(program);
    process
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    process
}

/// What stands in the way, as far as the kernel tells.
fn remedy() -> &'static str {
    let says = |name: &str, value: &str| {
        let path = Path::new("/proc/sys").join(name);
        std::fs::read_to_string(path).is_ok_and(|found| found.trim() == value)
    };
    if says("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor restricts user namespaces; install the profile bwrap-userns-restrict of the package \
                apparmor-profiles, or configure Docker or Podman";
    }
    if says("kernel/unprivileged_userns_clone", "0") {
        return "user namespaces are off; run `sysctl kernel.unprivileged_userns_clone=1` as root, or configure Docker \
                or Podman";
    }
    if says("user/max_user_namespaces", "0") {
        return "user namespaces are off; raise the sysctl user.max_user_namespaces as root, or configure Docker or Podman";
    }
    "user namespaces must be allowed, which a container around this program may forbid; or configure Docker or Podman"
}

/// Where systems keep it. Not the search path, which may name folders that agents write to.
const PLACES: &[&str] =
    &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Options without which there is no sandbox, or not a whole one.
const NEEDED: &[&str] = &[
    "--bind-fd",
    "--cap-drop",
    "--disable-userns",
    "--json-status-fd",
    "--ro-bind-fd",
    "--seccomp",
    "--size",
];

/// Longest answer to a question; making an empty sandbox takes a few milliseconds.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// End of what bubblewrap says when somebody has the program open for writing.
const BUSY: &str = "Text file busy";

/// What `ls` prints behind walls around a folder that is open, at a path.
#[cfg(test)]
pub(super) async fn list_of(path: &Path, folder: OwnedFd) -> String {
    let mut walls = Walls::sealed(Network::None, Path::new("/nonexistent"), &BTreeMap::new()).unwrap();
    walls.folder(path, folder).unwrap();
    walls.close();
    walls.start_in(path);
    let (mut list, handed, _) = walls.into_parts();
    list.extend(["--", "/bin/ls"].map(OsString::from));
    let said = answer(&found().await.unwrap().program, list, handed).await.unwrap();
    said.text
}
