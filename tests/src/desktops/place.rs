//! A desktop that runs: its screen, its session bus, and what draws its windows, panel and notifications.

use super::bus::Bus;
use super::kind::{Kind, Look, Protocol};
use super::recipe;
use super::screen::Screen;
use crate::home::Home;
use crate::process::{Background, PATIENCE, wait_for};
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The desktop. Dropping it ends everything in it.
pub struct Place {
    /// Which one.
    pub kind: Kind,
    /// How it looks.
    pub look: Look,
    /// What is seen and touched.
    pub screen: Screen,
    /// The home of who sits there.
    pub home: Home,
    variables: Vec<(&'static str, String)>,
    bus: Option<String>,
    parts: Vec<(&'static str, Background)>,
    runtime: TempDir,
}

impl Place {
    /// Starts a desktop for this home; returns when it is ready for windows.
    pub fn start(kind: Kind, look: Look, home: Home) -> Result<Self> {
        let screen = Screen::start(look.screen())?;
        let runtime = tempfile::Builder::new().prefix("countersign-desktop-").tempdir()?;
        fs::set_permissions(runtime.path(), fs::Permissions::from_mode(0o700))?;
        let mut place =
            Self { kind, look, screen, home, variables: Vec::new(), bus: None, parts: Vec::new(), runtime };
        place.set("XDG_RUNTIME_DIR", place.runtime.path().to_string_lossy().into_owned());
        place.set("NO_AT_BRIDGE", "1".to_owned());
        // Settings are kept in a file of the home: no service, and nothing of this machine's.
        place.set("GSETTINGS_BACKEND", "keyfile".to_owned());
        let display = place.screen.name().to_owned();
        place.set("DISPLAY", display);
        place.start_buses()?;
        recipe::start(&mut place).with_context(|| format!("could not start {kind}\n{}", place.logs()))?;
        Ok(place)
    }

    /// Puts a program into this session.
    pub fn enter<'a>(&self, program: &'a mut Command) -> &'a mut Command {
        for (name, value) in &self.variables {
            // An empty value is one that is taken away again.
            if value.is_empty() {
                program.env_remove(name);
            } else {
                program.env(name, value);
            }
        }
        program
    }

    /// A program in this home and session.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.home.command(program);
        self.enter(&mut command);
        command
    }

    /// The session bus; `None` where there is none.
    pub fn bus(&self) -> Result<Option<Bus>> {
        self.bus.as_deref().map(Bus::connect).transpose()
    }

    /// What the desktop's programs wrote, for whoever looks for why one failed.
    pub fn logs(&self) -> String {
        let mut text = String::new();
        for (name, _) in &self.parts {
            let log = fs::read(self.log(name)).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let lines: Vec<&str> = log.lines().collect();
            let end = &lines[lines.len().saturating_sub(LOG_LINES)..];
            text += &format!("{name} wrote:\n  {}\n", end.join("\n  "));
        }
        text
    }

    /// Gives the programs that are started from now on a variable, or takes it away by an empty value.
    pub(super) fn set(&mut self, name: &'static str, value: String) {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value));
    }

    /// Writes a file of the home.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        Ok(fs::write(path, text)?)
    }

    /// Starts a part of the desktop.
    pub(super) fn run(
        &mut self,
        name: &'static str,
        program: impl AsRef<Path>,
        arguments: &[&str],
    ) -> Result<()> {
        let mut program = self.command(program.as_ref());
        self.run_as(name, program.args(arguments))
    }

    /// The same for a program with variables of its own.
    pub(super) fn run_as(&mut self, name: &'static str, program: &mut Command) -> Result<()> {
        let log = File::create(self.log(name))?;
        program.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.parts.push((name, Background::start(program)?));
        Ok(())
    }

    /// Waits for something that the part started last brings about.
    pub(super) fn wait_for<T>(
        &mut self,
        what: &str,
        mut found: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        wait_for(what, PATIENCE, || {
            for (name, part) in &mut self.parts {
                ensure!(part.ended()?.is_none(), "{name} ended early");
            }
            found(self)
        })
    }

    /// Waits until somebody has a name on the session bus.
    pub(super) fn wait_for_name(&mut self, name: &str) -> Result<()> {
        let bus = self.bus()?.context("this desktop has no session bus")?;
        self.wait_for(&format!("{name} is there"), |_| Ok(bus.has(name)?.then_some(())))
    }

    /// The folder of the session's sockets.
    pub fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    /// Waits for the Wayland socket of the compositor, has it fill the screen, and puts the programs that are
    /// started from now on there, and only there.
    pub(super) fn enter_wayland(&mut self) -> Result<()> {
        let socket = self.wait_for("the compositor listens", |place| {
            let mut names =
                fs::read_dir(place.runtime())?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            Ok(names.find(|name| name.starts_with("wayland-") && !name.ends_with(".lock")))
        })?;
        self.screen.give_all_to_nested()?;
        self.set("WAYLAND_DISPLAY", socket);
        self.set("XDG_SESSION_TYPE", "wayland".to_owned());
        self.set("DISPLAY", String::new());
        if matches!(self.kind, Kind::SwayTiled | Kind::SwayFloating) {
            // As sway does for what it starts.
            let asked = self.wait_for("sway listens", |place| {
                let mut paths = fs::read_dir(place.runtime())?.filter_map(|entry| Some(entry.ok()?.path()));
                Ok(paths.find(|path| path.to_string_lossy().contains("/sway-ipc.")))
            })?;
            self.set("SWAYSOCK", asked.to_string_lossy().into_owned());
        }
        Ok(())
    }

    fn log(&self, name: &str) -> PathBuf {
        self.home.path().join(format!("{name}.log"))
    }

    /// A bus for the session, on which only the services of this desktop can be started, and an empty one in
    /// the place of the machine's.
    fn start_buses(&mut self) -> Result<()> {
        let services = self.runtime().join("services");
        fs::create_dir(&services)?;
        for entry in fs::read_dir(SERVICES).into_iter().flatten() {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if recipe::services(self.kind).iter().any(|wanted| name.starts_with(wanted)) {
                fs::copy(entry.path(), services.join(name))?;
            }
        }
        let system = self.start_bus("system-bus", None)?;
        self.set("DBUS_SYSTEM_BUS_ADDRESS", system);
        if self.kind == Kind::NoBus {
            // Without an address, GLib would start a bus by itself.
            let nowhere = format!("unix:path={}", self.runtime().join("no-bus").display());
            self.set("DBUS_SESSION_BUS_ADDRESS", nowhere);
            return Ok(());
        }
        let session = self.start_bus("session-bus", Some(&services))?;
        self.set("DBUS_SESSION_BUS_ADDRESS", session.clone());
        self.bus = Some(session);
        Ok(())
    }

    fn start_bus(&mut self, name: &'static str, services: Option<&Path>) -> Result<String> {
        let config = self.runtime().join(format!("{name}.conf"));
        let folder = services.map(|folder| format!("<servicedir>{}</servicedir>", folder.display()));
        let socket = self.runtime().join(name);
        fs::write(
            &config,
            BUS.replace("SERVICES", &folder.unwrap_or_default()).replace("SOCKET", &socket.to_string_lossy()),
        )?;
        let mut bus = self.home.command("dbus-daemon");
        self.enter(&mut bus);
        bus.arg("--config-file").arg(&config).args(["--nofork", "--print-address=1"]);
        let (bus, address) = Background::start_and_read_line(bus.stderr(Stdio::null()))?;
        self.parts.push((name, bus));
        Ok(address)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The last one started stands on those before it.
        while self.parts.pop().is_some() {}
    }
}

/// Whether what a desktop of this kind is made of is on this machine; else what is missing.
pub fn missing(kind: Kind) -> Vec<&'static str> {
    let missing = |program: &&&str| !recipe::is_there(program);
    recipe::programs(kind).iter().chain(common(kind.protocol())).filter(missing).copied().collect()
}

fn common(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::X11 => &["Xvfb", "dbus-daemon", "xterm"],
        Protocol::Wayland => &["Xvfb", "dbus-daemon", "weston-terminal"],
    }
}

const SERVICES: &str = "/usr/share/dbus-1/services";

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=SOCKET</listen>
  <auth>EXTERNAL</auth>
  SERVICES
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// Lines of a program's output that a failure repeats.
const LOG_LINES: usize = 12;
