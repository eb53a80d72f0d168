//! Programs of ours in and around a box: one lays out its file system, and one is the first in it, where it
//! has a way out. Both are a small one beside the app, or this very program once more. The first in it puts
//! up the second wall, hands what listens on loopback of the box to the gate, starts the command, and tells
//! the gate who connects until the command has ended.
//!
//! The command is its child and nothing else is: a shell that waits for all its children, or asks who its
//! parent is, sees nothing unusual. It has the command's rights and walls, so a command that ends it only
//! loses, and one that speaks to the gate itself gets no further than by the port. Looking into it is all
//! that a command cannot do: sockets that are handed to the gate while the command runs pass through it.

use super::super::warden::{COMMAND, beside};
use super::super::{FIRST_BUSY_PAUSE, LAST_BUSY_PAUSE};
use super::order::{self, Order};
use super::workspace::{GATE, KNOWN_HOSTS, Mount};
use super::{landlock, layout};
use countersign_gate::{
    Destination, Host, NotConnected, WayOut as Proxy, connect, environment, relay, settled,
};
use rustix::fs::{Mode, OFlags};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Has this process be what `arguments` say, if they say that it is in a box: its first argument tells. To be
/// called first of all.
pub fn entered(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    IS_FIRST.store(true, Ordering::Relaxed);
    let word = arguments.nth(1)?;
    let run: fn(Vec<OsString>) -> io::Result<ExitCode> = match word.to_str()? {
        ENTER => enter,
        CONNECT => tunnel,
        LAY_OUT => |arguments| Err(layout::lay_out(&arguments)),
        _ => return None,
    };
    let ended = run(arguments.collect());
    Some(ended.unwrap_or_else(|error| {
        said(&error);
        ExitCode::from(NOT_STARTED)
    }))
}

/// Whether there is a program that can be the first of a box.
pub fn has_an_entrance() -> bool {
    program().is_ok()
}

/// Whether this program begins with [`entered`].
static IS_FIRST: AtomicBool = AtomicBool::new(false);

/// The program that lays out a box and enters it, open. It is the smallest one that is there: each run starts
/// it twice. It stays the one that was there when this process first looked: that of another release could
/// read its arguments in another way.
pub(super) fn program() -> io::Result<OwnedFd> {
    static FIRST: OnceLock<OwnedFd> = OnceLock::new();
    let program = match FIRST.get() {
        Some(program) => program,
        None => {
            let program = looked_for()?;
            FIRST.get_or_init(|| program)
        }
    };
    program.try_clone()
}

/// How it comes to [`PLACE`] in a box: by its path, and where another file has that by now, as
/// a copy. Blocking.
pub(super) fn mount() -> io::Result<Mount> {
    let (file, at) = (program()?, PLACE.into());
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    let is_there = std::fs::metadata(std::fs::read_link(&open)?).and_then(|found| {
        let same = rustix::fs::fstat(&file)?;
        Ok((found.dev(), found.ino()) == (same.st_dev, same.st_ino))
    });
    Ok(match is_there {
        Ok(true) => Mount::Opened { file, at, writable: false },
        _ => Mount::Copy { content: std::fs::read(open)?, at, mode: EXECUTABLE },
    })
}

fn looked_for() -> io::Result<OwnedFd> {
    let open = |path: &Path| Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
    let own = std::env::current_exe()?;
    // Tests lie in a folder beside the programs.
    #[cfg(test)]
    let own = match own.with_file_name(SMALL).exists() {
        false => own.parent().map_or_else(|| own.clone(), Path::to_owned),
        true => own,
    };
    if let Some(small) = beside(&own, SMALL)
        && let Ok(small) = open(&small)
    {
        return Ok(small);
    }
    if !IS_FIRST.load(Ordering::Relaxed) {
        return Err(ErrorKind::NotFound.into());
    }
    match beside(&own, COMMAND) {
        Some(command) => open(&command).or_else(|_| open(Path::new(OWN))),
        None => open(Path::new(OWN)),
    }
}

/// What is started in the box so that what it is [ordered](super::order) to is, and can write nowhere but in
/// `writable`. None there is no such wall.
pub(super) fn waiting(writable: &[&Path]) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![PLACE.into(), ENTER.into(), writable.len().to_string().into()];
    line.extend(writable.iter().map(OsString::from));
    line
}

/// The same for `program`, called `typed`, without an order.
pub(super) fn line(typed: &str, program: &Path, arguments: &[String], writable: &[&Path]) -> Vec<OsString> {
    let mut line = waiting(writable);
    line.extend([typed.into(), program.into()]);
    line.extend(arguments.iter().map(OsString::from));
    line
}

/// Has programs find the way out.
pub(super) fn lead_out(env: &mut BTreeMap<String, String>) {
    let connect = [PLACE, CONNECT].map(str::to_owned).to_vec();
    let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let way = Proxy { proxy, connect, known_hosts: KNOWN_HOSTS.to_owned() };
    env.extend(environment(&way));
}

/// `COUNT FOLDER… TYPED PROGRAM ARGUMENT…`: runs it, and ends as it does. Nothing that it starts writes
/// outside of the folders. Without a program it waits until it is ordered to run one.
fn enter(arguments: Vec<OsString>) -> io::Result<ExitCode> {
    let invalid = || io::Error::new(ErrorKind::InvalidInput, "expected folders, a name and a program");
    let (count, rest) = arguments.split_first().ok_or_else(invalid)?;
    let count = count.to_str().and_then(|count| count.parse().ok()).ok_or_else(invalid)?;
    let (writable, rest) = rest.split_at_checked(count).ok_or_else(invalid)?;
    // What the command has is as good as this one's, and would find here what leads to the gate.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    if !writable.is_empty() {
        landlock::restrict(writable)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before the command begins: whatever it does first, somebody listens, and it never has what listens.
        // Where this fails, it does not begin: the gate would take from it what it then handed over.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
        let relay = relay(port, Path::new(GATE))?;
        let mut passed = Passed::new()?;
        let command: Box<dyn Fn() -> Command> = match rest {
            [typed, program, arguments @ ..] => Box::new(move || called(typed, program, arguments)),
            // Nothing is in the box yet that could want to be carried.
            [] => match order::taken()? {
                Some(order) => Box::new(move || ordered(&order)),
                None => return Ok(ExitCode::SUCCESS),
            },
            [_] => return Err(invalid()),
        };
        let begun = async {
            // Without it the servers of others are not there, and the command begins all the same.
            let _ = settled(Path::new(GATE)).await;
            start(command).await
        };
        let mut ended = std::pin::pin!(async { begun.await?.wait().await });
        let mut answering = std::pin::pin!(relay.answer());
        let mut answers = true;
        loop {
            tokio::select! {
                ended = &mut ended => return Ok(code(ended?)),
                // Without it connections have no names, and the command goes on.
                ended = &mut answering, if answers => {
                    answers = false;
                    if let Err(error) = ended {
                        said(&error);
                    }
                }
                () = passed.any() => {}
            }
        }
    })
}

/// Signals to the whole group reach the command by themselves; ending before it would take its
/// time to end orderly.
struct Passed([Signal; 4]);

impl Passed {
    fn new() -> io::Result<Self> {
        let heard = |kind| signal(kind);
        let [hup, int, quit, term] =
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()];
        Ok(Self([heard(hup)?, heard(int)?, heard(quit)?, heard(term)?]))
    }

    async fn any(&mut self) {
        let [hup, int, quit, term] = &mut self.0;
        tokio::select! {
            _ = hup.recv() => {}
            _ = int.recv() => {}
            _ = quit.recv() => {}
            _ = term.recv() => {}
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the approved command, in the box that was made for it")]
fn called(typed: &OsStr, program: &OsStr, arguments: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.arg0(typed).args(arguments);
    command
}

#[expect(clippy::disallowed_methods, reason = "the approved command, in a box that was made for such")]
fn ordered(order: &Order) -> Command {
    let mut command = Command::new(&order.program);
    command.arg0(&order.typed).args(&order.arguments).env_clear().envs(&order.environment);
    command.current_dir(&order.folder);
    command
}

async fn start(command: impl Fn() -> Command) -> io::Result<Child> {
    let mut pause = FIRST_BUSY_PAUSE;
    loop {
        let mut command = command();
        match command.spawn() {
            // Somebody has it open for writing: not for long.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && pause <= LAST_BUSY_PAUSE => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            Err(error) => {
                let program = Path::new(command.as_std().get_program()).display();
                return Err(io::Error::new(error.kind(), format!("{program}: {error}")));
            }
            Ok(child) => return Ok(child),
        }
    }
}

/// As bubblewrap says it: 128 and the signal's number for what a signal ended.
fn code(ended: ExitStatus) -> ExitCode {
    let number = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    ExitCode::from(number.and_then(|number| u8::try_from(number).ok()).unwrap_or(NOT_STARTED))
}

/// `HOST PORT`: standard input and output, connected through the gate.
fn tunnel(arguments: Vec<OsString>) -> io::Result<ExitCode> {
    let [host, port] = arguments.as_slice() else {
        return Err(io::Error::new(ErrorKind::InvalidInput, "expected a host and a port"));
    };
    let invalid = |error: &dyn std::error::Error| io::Error::new(ErrorKind::InvalidInput, error.to_string());
    let text = |word: &OsString| word.to_str().map(str::to_owned).ok_or(ErrorKind::InvalidInput);
    let host: Host = text(host)?.parse().map_err(|error| invalid(&error))?;
    let port = text(port)?.parse().map_err(|error| invalid(&error))?;
    let destination = Destination::new(host, port).map_err(|error| invalid(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let through = connect(proxy, &destination, tokio::io::stdin(), tokio::io::stdout());
    let ended = runtime.block_on(through);
    // A read of standard input that nobody waits for any more.
    runtime.shutdown_background();
    match ended {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(NotConnected::Refused { said: words, .. }) => {
            said(&words);
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(io::Error::other(error)),
    }
}

#[expect(clippy::print_stderr, reason = "the command's own standard error is where whoever started it reads")]
fn said(what: &dyn std::fmt::Display) {
    eprintln!("{what}");
}

/// Where it lies in the box.
pub(super) const PLACE: &str = "/run/countersign/box";

/// What anybody may do with a copy of it.
const EXECUTABLE: u32 = 0o555;

/// Where it listens in the box: above the ports that the kernel gives out, and known for nothing.
const PORT: u16 = 61_080;

/// The words that tell.
const ENTER: &str = "enter-box";
pub(super) const LAY_OUT: &str = "lay-out-box";
const CONNECT: &str = "connect-from-box";

/// A program that can do nothing else, beside this one's file.
const SMALL: &str = "countersign-box";

/// This very program, also when its file was replaced.
const OWN: &str = "/proc/self/exe";

/// As shells say that a program could not be started.
const NOT_STARTED: u8 = 126;
