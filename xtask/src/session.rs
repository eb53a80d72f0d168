//! A desktop session of its own: display, window manager and session bus, all private and gone afterwards.
//!
//! The bus has no service folders, so that nothing of the machine is started on it by a call.

use crate::process::{Background, command};
use anyhow::{Context, Result, bail};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Whether a person sits in front of a display of this process's environment.
pub(crate) fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A private session. Dropping it ends everything in it, the window manager first.
#[derive(Debug)]
pub(crate) struct Session {
    display: String,
    bus_address: String,
    _window_manager: Background,
    _bus: Background,
    _display_server: Background,
    runtime: TempDir,
}

impl Session {
    /// Start one; returns when it is ready for windows.
    pub(crate) fn start() -> Result<Self> {
        let runtime = tempfile::Builder::new().prefix("countersign-session-").tempdir()?;
        let mut server = command("Xvfb");
        server.args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"]);
        let (display_server, number) = start_and_read_line(server.stderr(Stdio::null()))?;
        let display = format!(":{number}");

        let config = runtime.path().join("bus.conf");
        fs::write(&config, BUS_CONFIG)?;
        let mut bus = command("dbus-daemon");
        bus.arg("--config-file").arg(&config).args(["--nofork", "--print-address=1"]);
        let (bus, bus_address) = start_and_read_line(bus.stderr(Stdio::null()))?;

        let mut manager = command("openbox");
        manager.args(["--sm-disable", "--startup", "echo ready"]).env("DISPLAY", &display);
        let (window_manager, _) = start_and_read_line(manager.stderr(Stdio::null()))?;
        Ok(Self {
            display,
            bus_address,
            _window_manager: window_manager,
            _bus: bus,
            _display_server: display_server,
            runtime,
        })
    }

    /// Put a program into this session.
    pub(crate) fn enter<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus_address)
            .env("XDG_RUNTIME_DIR", self.runtime.path())
            .env("GDK_BACKEND", "x11")
            .env_remove("WAYLAND_DISPLAY")
    }
}

/// Start a program that says on its first line that it is ready.
fn start_and_read_line(command: &mut Command) -> Result<(Background, String)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut background = Background::start(command.stdout(Stdio::piped()))?;
    let output = background.child().stdout.take().context("standard output was not piped")?;
    let (says, said) = mpsc::channel();
    // Ends with the program's output, which ends with the program at the latest.
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        says.send(read.map(|_| line)).ok();
    });
    let line = said
        .recv_timeout(READY)
        .with_context(|| format!("{name} did not say within {} s that it is ready", READY.as_secs()))??;
    if line.trim().is_empty() {
        bail!("{name} ended before it was ready");
    }
    Ok((background, line.trim().to_owned()))
}

/// How long a part of a session may take until it is ready: a hundred times what it takes.
const READY: Duration = Duration::from_secs(120);

const BUS_CONFIG: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;
