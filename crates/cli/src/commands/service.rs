//! `countersign service`: the runner as a service of the user's, so that it runs without anybody
//! having to start it.
//!
//! On Linux this is a unit of the systemd user manager, reached over the session bus. Elsewhere: on macOS a
//! launch agent whose `ProgramArguments` are this program and `run`, with `KeepAlive`; on Windows a scheduled
//! task at log-on. Neither is written here.

use super::Exit;
use super::output::Output;
use super::run::{RunArgs, place};
use anyhow::{Context as _, bail};
use clap::Subcommand;
use countersign_core::paths::{Paths, process_environment};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::timeout;
use zbus::zvariant::OwnedObjectPath;
use zbus::{Connection, Proxy, connection};

// What to do with the service.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum ServiceCommand {
    /// Write the service, have it start with every log-on, and start it now.
    ///
    /// It runs `countersign run` with these arguments. The variable COUNTERSIGN_GATEWAY_TOKEN is not written
    /// into it: a gateway that does not know this node yet needs --token-file. Installing again
    /// takes new arguments.
    Install(RunArgs),
    /// Say whether it is installed and runs; exits with 0 if it runs.
    Status,
    /// Stop it and remove it. The node's key stays, so that gateways know it again.
    Uninstall,
}

/// What is known about the service.
#[derive(Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    unit: PathBuf,
    installed: bool,
    /// Whether it starts by itself; `None` when no service manager answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<String>,
    /// Whether it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<String>,
    /// What to type where no service manager answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) async fn service(paths: &Paths, command: ServiceCommand, output: &Output) -> anyhow::Result<Exit> {
    let environment = process_environment();
    let unit = unit_path(paths, &environment);
    let manager = Manager::connect(&environment).await;
    match command {
        ServiceCommand::Install(args) => {
            install(paths, &args, &environment, &unit, manager.as_ref(), output).await
        }
        ServiceCommand::Status => {
            let status = status(&unit, manager.as_ref()).await;
            report(&status, output)?;
            let runs = status.active.as_deref() == Some("active");
            Ok(if runs { Exit::Ok } else { Exit::Failed })
        }
        ServiceCommand::Uninstall => uninstall(&unit, manager.as_ref(), output).await,
    }
}

async fn install(
    paths: &Paths,
    args: &RunArgs,
    environment: &BTreeMap<String, String>,
    unit: &Path,
    manager: Option<&Manager>,
    output: &Output,
) -> anyhow::Result<Exit> {
    // What would only fail when nobody looks is said now.
    place(paths, args)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let text = unit_text(&program, args, environment)?;
    write(unit, &text).with_context(|| format!("cannot write {}", unit.display()))?;
    if let Some(manager) = manager {
        manager.start().await.with_context(|| format!("{} is written, and not started", unit.display()))?;
    }
    let mut status = status(unit, manager).await;
    if manager.is_none() {
        status.next = Some(format!("systemctl --user daemon-reload && systemctl --user enable --now {UNIT}"));
    }
    report(&status, output)?;
    Ok(Exit::Ok)
}

async fn uninstall(unit: &Path, manager: Option<&Manager>, output: &Output) -> anyhow::Result<Exit> {
    if let Some(manager) = manager {
        manager.stop().await.context("the service could not be stopped")?;
    }
    match std::fs::remove_file(unit) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", unit.display()));
        }
        _ => {}
    }
    if let Some(manager) = manager {
        manager.reload().await?;
    }
    let mut status = status(unit, manager).await;
    if manager.is_none() {
        status.next = Some(format!("systemctl --user stop {UNIT}; systemctl --user daemon-reload"));
    }
    report(&status, output)?;
    Ok(Exit::Ok)
}

async fn status(unit: &Path, manager: Option<&Manager>) -> Status {
    let mut status = Status { unit: unit.to_owned(), installed: unit.is_file(), ..Status::default() };
    if let Some(manager) = manager {
        status.enabled = manager.enabled().await;
        status.active = manager.active().await;
    }
    status
}

fn report(status: &Status, output: &Output) -> std::io::Result<()> {
    output.result(status, |out| {
        let word = if status.installed { "installed" } else { "not installed" };
        writeln!(out, "{word}: {}", status.unit.display())?;
        for (what, value) in [("starts by itself", &status.enabled), ("state", &status.active)] {
            if let Some(value) = value {
                writeln!(out, "{what}: {value}")?;
            }
        }
        match &status.next {
            Some(next) => writeln!(out, "no service manager answers here; where one does: {next}"),
            None => Ok(()),
        }
    })
}

/// Where the unit is, if it is installed.
pub(super) fn unit_path(paths: &Paths, environment: &BTreeMap<String, String>) -> PathBuf {
    let named = environment.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.unwrap_or_else(|| paths.home.join(".config")).join("systemd/user").join(UNIT)
}

/// The unit. What the gateway's agents run inherits its limits: no process may gain rights, and all end
/// with the service.
fn unit_text(
    program: &Path,
    args: &RunArgs,
    environment: &BTreeMap<String, String>,
) -> anyhow::Result<String> {
    let program = program.to_str().context("this program's path is not UTF-8")?;
    let mut words = vec![program.to_owned(), "run".to_owned()];
    let token_file = args.token_file.as_ref().map(std::path::absolute).transpose()?;
    let token_file = token_file.map(|file| file.into_os_string().into_string());
    let token_file = token_file
        .transpose()
        .map_err(|file| anyhow::anyhow!("--token-file is not UTF-8: {}", file.display()))?;
    for (flag, value) in
        [("--url", &args.url), ("--token-file", &token_file), ("--pin", &args.pin), ("--name", &args.name)]
    {
        if let Some(value) = value {
            words.extend([flag.to_owned(), value.clone()]);
        }
    }
    if args.here {
        words.push("--here".to_owned());
    }
    let command = words.iter().map(|word| quoted(word)).collect::<anyhow::Result<Vec<_>>>()?.join(" ");
    let mut text = format!(
        "# Written by `countersign service install`.\n\
         [Unit]\n\
         Description=Countersign runner: takes commands from a gateway as its node\n\
         After=network-online.target\n\n\
         [Service]\n\
         ExecStart={command}\n"
    );
    for name in CARRIED {
        if let Some(value) = environment.get(name).filter(|value| !value.is_empty()) {
            writeln!(text, "Environment={}", quoted(&format!("{name}={value}"))?)?;
        }
    }
    text.push_str(LIMITS);
    Ok(text)
}

/// A word as unit files read it (systemd.syntax(7)): in quotes, `%` and `$` doubled.
fn quoted(word: &str) -> anyhow::Result<String> {
    if word.contains(['\n', '\r', '\0']) {
        bail!("expected no line break in {word:?}");
    }
    let escaped = word.replace('\\', r"\\").replace('"', r#"\""#).replace('%', "%%").replace('$', "$$");
    Ok(format!("\"{escaped}\""))
}

fn write(unit: &Path, text: &str) -> std::io::Result<()> {
    // Nothing in it is secret, and the folder is shared with other programs.
    std::fs::create_dir_all(unit.parent().unwrap_or(Path::new("/")))?;
    let fresh = unit.with_extension("service.new");
    std::fs::write(&fresh, text)?;
    std::fs::rename(fresh, unit)
}

/// The user's service manager.
struct Manager {
    bus: Connection,
}

impl Manager {
    /// `None` when none answers.
    async fn connect(environment: &BTreeMap<String, String>) -> Option<Self> {
        let set = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let address = match set("DBUS_SESSION_BUS_ADDRESS") {
            Some(address) => address.clone(),
            None => format!("unix:path={}/bus", set("XDG_RUNTIME_DIR")?),
        };
        let bus = async { connection::Builder::address(address.as_str())?.build().await };
        let manager = Self { bus: timeout(PATIENCE, bus).await.ok()?.ok()? };
        let version = async { manager.proxy().await?.get_property::<String>("Version").await };
        timeout(PATIENCE, version).await.ok()?.ok()?;
        Some(manager)
    }

    async fn proxy(&self) -> zbus::Result<Proxy<'_>> {
        Proxy::new(&self.bus, SERVICE, MANAGER_PATH, "org.freedesktop.systemd1.Manager").await
    }

    async fn reload(&self) -> anyhow::Result<()> {
        soon(async { self.proxy().await?.call::<_, _, ()>("Reload", &()).await }).await
    }

    async fn start(&self) -> anyhow::Result<()> {
        self.reload().await?;
        soon(async {
            let manager = self.proxy().await?;
            manager.call_method("EnableUnitFiles", &(&[UNIT][..], false, true)).await?;
            // One that runs already takes the new arguments.
            manager.call_method("RestartUnit", &(UNIT, "replace")).await
        })
        .await
        .map(|_| ())
    }

    async fn stop(&self) -> anyhow::Result<()> {
        soon(async {
            let manager = self.proxy().await?;
            match manager.call_method("StopUnit", &(UNIT, "replace")).await {
                Err(zbus::Error::MethodError(name, ..)) if name.as_str().ends_with(".NoSuchUnit") => {}
                stopped => drop(stopped?),
            }
            manager.call_method("DisableUnitFiles", &(&[UNIT][..], false)).await
        })
        .await
        .map(|_| ())
    }

    async fn enabled(&self) -> Option<String> {
        soon(async { self.proxy().await?.call::<_, _, String>("GetUnitFileState", &UNIT).await }).await.ok()
    }

    async fn active(&self) -> Option<String> {
        let state = async {
            let unit: OwnedObjectPath = self.proxy().await?.call("LoadUnit", &UNIT).await?;
            let unit = Proxy::new(&self.bus, SERVICE, unit, "org.freedesktop.systemd1.Unit").await?;
            unit.get_property::<String>("ActiveState").await
        };
        soon(state).await.ok()
    }
}

async fn soon<T>(call: impl Future<Output = zbus::Result<T>>) -> anyhow::Result<T> {
    let answer = timeout(PATIENCE, call).await;
    Ok(answer
        .with_context(|| format!("the service manager did not answer within {} s", PATIENCE.as_secs()))??)
}

/// Name of the service.
pub(super) const UNIT: &str = "countersign-runner.service";

const SERVICE: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";

/// Longest wait for the service manager.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the runner must find as the person who installs it does. No secret is among them.
const CARRIED: [&str; 8] = [
    "PATH",
    "OPENCLAW_HOME",
    "OPENCLAW_STATE_DIR",
    "COUNTERSIGN_STATE_DIR",
    "COUNTERSIGN_GATEWAY_PORT",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "LANG",
];

/// Limits that a user manager can set without more rights than its user has. No restriction of namespaces:
/// the sandbox needs them.
const LIMITS: &str = "\
Restart=on-failure
RestartSec=5
# A gateway that refuses this node would only refuse it again.
RestartPreventExitStatus=203
# Commands get TERM, then KILL; their ends are told and recorded.
TimeoutStopSec=15
KillMode=control-group
UMask=0077
NoNewPrivileges=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
KeyringMode=private
LimitCORE=0
TasksMax=4096
OOMPolicy=continue

[Install]
WantedBy=default.target
";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_unit_starts_this_program_with_these_arguments_and_no_secret() {
        let args = RunArgs {
            url: Some("wss://gw.example:443".into()),
            token_file: Some("/t o/\"k\"%n".into()),
            pin: None,
            name: Some("a $node".into()),
            here: true,
        };
        let environment = BTreeMap::from(
            [
                ("PATH", "/usr/bin"),
                ("COUNTERSIGN_GATEWAY_TOKEN", "secret"),
                ("OPENCLAW_GATEWAY_TOKEN", "secret"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let text = unit_text(Path::new("/opt/countersign"), &args, &environment).unwrap();
        let start = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let expected = r#""/opt/countersign" "run" "--url" "wss://gw.example:443" "--token-file" "/t o/\"k\"%%n" "--name" "a $$node" "--here""#;
        assert_eq!(start, expected);
        assert!(text.contains("Environment=\"PATH=/usr/bin\"\n") && !text.contains("secret"));
        assert!(text.contains("NoNewPrivileges=yes\n"));
        assert!(text.contains(&format!("RestartPreventExitStatus={}\n", Exit::Refused.code())));
        assert!(quoted("a\nExecStart=b").is_err());
    }
}
