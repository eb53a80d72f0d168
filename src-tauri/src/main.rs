//! Countersign's desktop shell: windows, tray, notifications. It shows what the companion tells it and hands
//! answers back; it decides nothing.

#[cfg(target_os = "linux")]
mod bus;
#[cfg(not(target_os = "linux"))]
mod bus {
    /// Other systems have none.
    pub(crate) fn outlive() {}
}
mod commands;
#[cfg(target_os = "linux")]
mod first_frame;
#[cfg(not(target_os = "linux"))]
mod first_frame {
    /// Other systems draw when there is something to draw.
    pub(crate) fn draw_at_once(_: &tauri::WebviewWindow) -> tauri::Result<()> {
        Ok(())
    }
}
#[cfg(target_os = "linux")]
mod font;
#[cfg(not(target_os = "linux"))]
mod font {
    /// Other systems find their font as `system-ui`.
    pub(crate) fn script() -> String {
        String::new()
    }
}
#[cfg(target_os = "linux")]
mod keyboard;
#[cfg(not(target_os = "linux"))]
mod keyboard {
    use tauri::WebviewWindow;

    /// Other systems give a window the keyboard when it asks for it.
    pub(crate) fn leave(_: &WebviewWindow) -> tauri::Result<()> {
        Ok(())
    }

    /// The same.
    pub(crate) fn take(_: &WebviewWindow) -> tauri::Result<()> {
        Ok(())
    }

    /// There is none.
    pub(crate) fn tell_compositor() {}
}
mod main_size;
mod notifications;
#[cfg(target_os = "linux")]
mod renderer;
#[cfg(not(target_os = "linux"))]
mod renderer {
    /// Other systems have one way to draw.
    pub(crate) fn choose() {}
}
#[cfg(target_os = "linux")]
mod rest;
#[cfg(not(target_os = "linux"))]
mod rest {
    /// Nothing is known to give back.
    pub(crate) struct Rest;

    impl Rest {
        pub(crate) fn at_start() -> Self {
            Self
        }

        pub(crate) fn begin(&self) {}
    }
}
mod room;
mod shell;
mod told;
mod tray;
mod windows;
mod words;

use crate::rest::Rest;
use anyhow::Context;
use clap::Parser;
use countersign_companion::desk::keep_files_for_windows;
use countersign_companion::surroundings::{self, Automation};
use countersign_companion::{Companion, StartError, control};
use countersign_core::paths::Paths;
use countersign_protocol::control::ControlRequest;
use countersign_protocol::ui::Page;
use std::process::ExitCode;
use std::time::Duration;

/// Countersign stands between AI agents and this machine.
#[derive(Debug, Parser)]
#[command(name = "countersign-desktop", version)]
struct Args {
    /// Start in the tray, without a window.
    #[arg(long)]
    hidden: bool,
    /// Variables that this program began again without. It says so itself, see [`surroundings`].
    #[arg(long, hide = true, value_delimiter = ',')]
    ignored_variables: Vec<String>,
}

/// The app's name: of its desktop file, of its windows' class, and wherever a desktop says who
/// shows something.
const APP: &str = "Countersign";

/// Whether this build lets a driver act in its windows: tests build one that does, and what
/// people run does not.
const AUTOMATION: Automation = match cfg!(any(debug_assertions, feature = "automation")) {
    true => Automation::Obeyed,
    false => Automation::Refused,
};

/// The argument behind which this program names to itself what it does not obey.
const IGNORED_VARIABLES: &str = "--ignored-variables";

fn main() -> ExitCode {
    if let Some(ended) = countersign_core::beside_main() {
        return ended;
    }
    let rest = Rest::at_start();
    let args = Args::parse();
    countersign_companion::log::start();
    if let Err(error) = surroundings::settle(AUTOMATION, IGNORED_VARIABLES, &args.ignored_variables) {
        tracing::error!("the environment must not be obeyed: {error}");
        return ExitCode::FAILURE;
    }
    if !args.ignored_variables.is_empty() {
        tracing::warn!(variables = ?args.ignored_variables, "not obeyed: they would open or weaken the windows");
    }
    renderer::choose();
    call_windows(APP);
    match run(args, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Gives windows the class by which taskbars find name and icon in the desktop file. Belongs
/// before GTK starts.
#[cfg(target_os = "linux")]
fn call_windows(name: &str) {
    gtk::glib::set_prgname(Some(name));
    gtk::glib::set_application_name(name);
}

#[cfg(not(target_os = "linux"))]
fn call_windows(_: &str) {}

fn run(args: Args, rest: Rest) -> anyhow::Result<()> {
    let paths = Paths::of_process()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    tauri::async_runtime::set(runtime.handle().clone());
    let signals = {
        let _inside = runtime.enter();
        // Before GTK starts, so that none is lost.
        shell::Signals::follow()?
    };
    bus::outlive();
    // Before any socket opens: who is asked by an app without windows would wait for nobody.
    if let Err(no_display) = shell::open_display() {
        // The one that runs already has a display.
        return show_running(&paths, &args, &runtime).map_err(|_| no_display);
    }
    keep_files_for_windows();
    let started = {
        let _inside = runtime.enter();
        Companion::start(&paths)
    };
    match started {
        Ok((companion, presenter)) => {
            countersign_core::guard_runs(&paths);
            companion.desk().set_ignored(args.ignored_variables);
            shell::run(companion, presenter, args.hidden, rest, signals, &runtime)
        }
        Err(StartError::AlreadyRunning) if args.hidden => Ok(()),
        Err(StartError::AlreadyRunning) => show_running(&paths, &args, &runtime)
            .context("Countersign is already running, but its window cannot be raised"),
        Err(error) => Err(error.into()),
    }
}

/// Has the app that runs already show itself instead, unless this one was to be without a window; an
/// error when none runs.
fn show_running(paths: &Paths, args: &Args, runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let request = match args.hidden {
        true => ControlRequest::Status,
        false => ControlRequest::Show { page: Page::Inbox },
    };
    let socket = paths.control_socket();
    runtime.block_on(control::call(&socket, &request, Duration::from_secs(5)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taskbar_finds_the_desktop_file_by_the_class_of_the_windows() {
        let config: serde_json::Value =
            serde_json::from_str(include_str!("../tauri.conf.json")).expect("the configuration is JSON");
        // The packages name the file after the product, and put that name in place of the mark.
        assert_eq!(config["productName"], APP);
        let template = include_str!("../countersign.desktop");
        assert!(template.lines().any(|line| line == "StartupWMClass={{name}}"), "{template}");
        for package in ["deb", "rpm"] {
            assert_eq!(config["bundle"]["linux"][package]["desktopTemplate"], "countersign.desktop");
        }
    }
}
