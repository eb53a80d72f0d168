//! The same with Docker or Podman, through their command line: the programs of an image instead
//! of this system's.
//!
//! Their service makes the container, so what was pinned can be handed over by path only: a folder that is
//! swapped after it was compared, in the moment before the service looks, is not noticed. Programs of the
//! system are the image's, whatever this machine has under the same path.

use super::super::program::Program;
use super::super::tree::{self, Tree};
use super::super::warden;
use super::super::{Controls, NotStarted, Run, RunOutput, Stop, not_started, verify};
use super::{Network, Unavailable};
use countersign_commands::environment;
use countersign_policy::ApprovedCommand;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

/// A container to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container<'a> {
    /// `docker` or `podman`.
    pub(super) program: &'a Path,
    /// What it is made from.
    pub(super) image: &'a str,
    /// Whether it has the network.
    pub(super) network: Network,
}

/// A container that may be running. Dropping it ends the container, unless it is known to have ended.
#[derive(Debug)]
pub(in super::super) struct Running {
    program: PathBuf,
    name: String,
    env: BTreeMap<String, String>,
    ended: bool,
}

/// Whether containers could be made. Blocking, a few system calls; the program itself is not asked.
pub(super) fn check(program: &Path, image: &str, folder: &Path) -> Result<(), Unavailable> {
    let wrong = |why: String| Unavailable::Container(why);
    let name = program.to_str().ok_or_else(|| wrong(format!("{} is not UTF-8", program.display())))?;
    let program = Program::parse(vec![name.to_owned()]).map_err(|error| wrong(error.to_string()))?;
    program.check_file().map_err(|error| wrong(error.to_string()))?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:@".contains(&byte);
    if image.is_empty() || image.starts_with('-') || !image.bytes().all(plain) {
        return Err(wrong(format!("expected the name of an image such as debian:12, got {image:?}")));
    }
    nameable(folder).map(drop)
}

/// Runs `command` in a container.
pub(super) async fn run(
    command: ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    container: Container<'_>,
    Controls { cancel, tap, name: called, output, terminal: _ }: Controls,
) -> Result<RunOutput, NotStarted> {
    // Opened and compared; the service will open it again by its path.
    let _folder = verify(&command).await?;
    let name = format!("countersign-{}", Uuid::new_v4().simple());
    let list = arguments(&command, &container, &name)?;
    if cancel.is_cancelled() {
        return Err(NotStarted::Cancelled);
    }
    let started = Instant::now();
    let payload = match start(container.program, &list, base_env, called.as_deref()) {
        Ok((child, tree)) => {
            warden::contained(tree.mark(), container.program, &name);
            let running =
                Running { program: container.program.to_owned(), name, env: base_env.clone(), ended: false };
            let run = Run::of((child, tree), output, tap).stopped_by(Stop::Container(running));
            let mut payload = run.finish(command.timeout(), started, &cancel).await;
            if payload.exit_code == Some(FAILED_ITSELF) {
                payload.error = Some(format!(
                    "exit {FAILED_ITSELF}: {} could not run the container, or the command ended so",
                    container.program.display()
                ));
            }
            payload
        }
        Err(error) => not_started(&error.to_string()),
    };
    Ok(RunOutput { payload, duration: started.elapsed() })
}

/// What the program is called with.
pub(super) fn arguments(
    command: &ApprovedCommand,
    container: &Container<'_>,
    name: &str,
) -> Result<Vec<OsString>, Unavailable> {
    let pins = command.pins();
    let cwd = &pins.cwd.real_path;
    let mut list: Vec<OsString> = OPTIONS.iter().map(OsString::from).collect();
    list.extend(["--name".into(), name.into()]);
    match container.network {
        Network::None => list.extend(["--network".into(), "none".into()]),
        // What the program takes by itself: a network of its own, with a way out.
        Network::Shared => {}
    }
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    list.extend(["--user".into(), format!("{}:{}", user.as_raw(), group.as_raw()).into()]);
    let is_podman = container.program.file_name().is_some_and(|name| name == "podman");
    if is_podman && !user.is_root() {
        // Without it this user would be another one inside, who may not write to the folder.
        list.extend(["--userns".into(), "keep-id".into()]);
    }
    let here = nameable(cwd)?;
    list.extend(["--mount".into(), format!("type=bind,source={here},target={here}").into()]);
    list.extend(["--workdir".into(), here.into()]);
    let mut mount = |real: &Path, inside: &Path| -> Result<(), Unavailable> {
        let (real, inside) = (nameable(real)?, nameable(inside)?);
        let mount = format!("type=bind,source={real},target={inside},readonly");
        list.extend(["--mount".into(), mount.into()]);
        Ok(())
    };
    let mut shown: Vec<&Path> = Vec::new();
    for (path, _) in &pins.programs {
        if !is_of_system(path) && !shown.contains(&path.as_path()) {
            mount(path, path)?;
            shown.push(path);
        }
    }
    for script in &pins.scripts {
        if !shown.contains(&script.real_path.as_path()) {
            mount(&script.real_path, &script.real_path)?;
            shown.push(&script.real_path);
        }
    }
    let marked = command.env().iter().map(|(name, value)| format!("{name}={value}"));
    for variable in marked.chain(["OPENCLAW_CLI=1".to_owned()]) {
        list.extend(["--env".into(), variable.into()]);
    }
    // An image's own entry point would get the command as its arguments.
    list.extend(["--entrypoint".into(), "".into()]);
    list.push(container.image.into());
    list.extend(command.argv().iter().map(OsString::from));
    Ok(list)
}

impl Running {
    /// Ends the container and waits for that, within bounds.
    pub(in super::super) async fn kill(&mut self) {
        self.ended = true;
        match self.killer().and_then(|mut killer| killer.spawn()) {
            Ok(mut killer) => match timeout(KILL_WAIT, killer.wait()).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(%error, name = %self.name, "a container may still run"),
                Err(_) => {
                    tracing::warn!(name = %self.name, "a container may still run: its service does not answer")
                }
            },
            Err(error) => tracing::warn!(%error, name = %self.name, "a container may still run"),
        }
    }

    /// It ended by itself.
    pub(in super::super) fn has_ended(mut self) {
        self.ended = true;
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the program that the person configured, to end what it started"
    )]
    fn killer(&self) -> io::Result<Command> {
        let mut killer = Command::new(&self.program);
        killer
            .args(["kill", &self.name])
            .env_clear()
            .envs(self.env.iter().filter(|(name, _)| !environment::is_ours_alone(name)))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(killer)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        // Nobody waits for it; the runtime reaps it.
        if let Err(error) = self.killer().and_then(|mut killer| killer.spawn()) {
            tracing::warn!(%error, name = %self.name, "a container may still run");
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program that the person configured, with an approved command"
)]
fn start(
    program: &Path,
    list: &[OsString],
    base_env: &BTreeMap<String, String>,
    called: Option<&str>,
) -> io::Result<(Child, Tree)> {
    let mut process = Command::new(program);
    process
        .args(list)
        .env_clear()
        .envs(base_env)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    tree::start(&mut process, called)
}

/// A path that a mount can be made of.
fn nameable(path: &Path) -> Result<&str, Unavailable> {
    path.to_str()
        .filter(|path| !path.contains([',', '"', '\n', '\r']))
        .ok_or_else(|| Unavailable::Unnameable(path.to_owned()))
}

/// Whether the image has its own file there.
fn is_of_system(path: &Path) -> bool {
    OF_SYSTEM.iter().any(|system| path.starts_with(system))
}

const OF_SYSTEM: &[&str] = &["/bin", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/sbin", "/usr"];

/// Of every container. What it prints comes to us and is not kept by its service.
const OPTIONS: &[&str] = &[
    "run",
    "--rm",
    "--interactive",
    "--pull",
    "never",
    "--read-only",
    "--tmpfs",
    "/tmp:rw,nosuid,nodev,size=1g",
    "--cap-drop",
    "ALL",
    "--security-opt",
    "no-new-privileges",
    "--pids-limit",
    "512",
    "--log-driver",
    "none",
    "--no-healthcheck",
];

/// What these programs exit with when it was not the command that failed.
const FAILED_ITSELF: i32 = 125;

/// Longest wait for a container's end; its service sends KILL at once.
const KILL_WAIT: Duration = Duration::from_secs(5);
