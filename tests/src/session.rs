//! A desktop session of a story's own: display, window manager and session bus. Stories never share one, so
//! that the keyboard focus of one is nothing to another.

use crate::process::{Background, command, kill};
use anyhow::Result;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// The session. Dropping it ends everything in it; a program that draws on its display ends with
/// it at the latest.
#[derive(Debug)]
pub struct Session {
    display: String,
    bus_address: String,
    _window_manager: Background,
    /// `None` after its end.
    bus: Mutex<Option<Background>>,
    display_server: Background,
    runtime: TempDir,
}

impl Session {
    /// Starts one; returns when it is ready for windows. No service is started on its bus by a call.
    pub fn start() -> Result<Self> {
        let runtime = tempfile::Builder::new().prefix("countersign-session-").tempdir()?;
        let mut server = command("Xvfb");
        server.args(["-displayfd", "1", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"]);
        let (display_server, number) = Background::start_and_read_line(server.stderr(Stdio::null()))?;
        let display = format!(":{number}");

        // At a place of its own, as a desktop has it: another bus can take its place.
        let bus_address = format!("unix:path={}", runtime.path().join(BUS_SOCKET).display());
        let bus = Mutex::new(Some(start_bus(runtime.path())?));

        let mut manager = command("openbox");
        manager.args(["--sm-disable", "--startup", "echo ready"]).env("DISPLAY", &display);
        manager.env("HOME", runtime.path());
        let (window_manager, _) = Background::start_and_read_line(manager.stderr(Stdio::null()))?;
        Ok(Self { display, bus_address, _window_manager: window_manager, bus, display_server, runtime })
    }

    /// Name of the display.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Ends the display, as a crash of its server would.
    pub fn kill_display(&self) {
        kill(self.display_server.pid());
    }

    /// Ends the session bus, as a crash would.
    pub fn kill_bus(&self) {
        self.bus.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Starts another session bus where the first was; returns its process.
    pub fn start_bus(&self) -> Result<u32> {
        let mut bus = self.bus.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(bus.insert(start_bus(self.runtime.path())?).pid())
    }

    /// Address of the session bus.
    pub fn bus_address(&self) -> &str {
        &self.bus_address
    }

    /// Puts a program into this session.
    pub fn enter<'a>(&self, program: &'a mut Command) -> &'a mut Command {
        program
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus_address)
            .env("XDG_RUNTIME_DIR", self.runtime.path())
            .env("GDK_BACKEND", "x11")
            // The accessibility bus would be started as a service, which this bus has none of.
            .env("NO_AT_BRIDGE", "1")
    }
}

/// Starts a session bus whose socket is in this folder.
fn start_bus(folder: &Path) -> Result<Background> {
    let socket = folder.join(BUS_SOCKET);
    if socket.exists() {
        // A bus that was killed leaves it behind, and the next would not bind it.
        std::fs::remove_file(&socket)?;
    }
    let config = folder.join("bus.conf");
    std::fs::write(&config, BUS_CONFIG.replace("SOCKET", &socket.display().to_string()))?;
    let mut bus = command("dbus-daemon");
    bus.arg("--config-file").arg(&config).args(["--nofork", "--print-address=1"]);
    Ok(Background::start_and_read_line(bus.stderr(Stdio::null()))?.0)
}

/// Not `bus`, which is found there by programs that are told of none.
const BUS_SOCKET: &str = "session-bus";

const BUS_CONFIG: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=SOCKET</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;
