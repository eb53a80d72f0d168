//! Build what changed and start the app.

use crate::session::{Session, has_display};
use crate::setup::Purpose;
use crate::workspace::{Binaries, Profile, cargo};
use crate::{demo, process, setup, ui};
use anyhow::Result;
use clap::Args;
use std::ffi::OsString;

/// Options of `cargo xtask run`.
#[derive(Args)]
pub(crate) struct Options {
    /// Build and start the optimised app.
    #[arg(long)]
    release: bool,
    /// Show two sample requests in a throw-away home and print what came of them. Without a display, the
    /// window is answered by a driver: the first request is allowed, the second denied.
    #[arg(long, conflicts_with = "app_arguments")]
    demo: bool,
    /// Arguments of the app.
    #[arg(last = true)]
    app_arguments: Vec<OsString>,
}

/// Prepare, build, start.
pub(crate) fn main(options: &Options) -> Result<()> {
    setup::ensure(if has_display() { Purpose::Run } else { Purpose::Headless })?;
    let profile = if options.release { Profile::Release } else { Profile::Debug };
    let driver = if options.demo { Driver::MayAct } else { Driver::KeptOut };
    let binaries = build(profile, driver)?;
    if options.demo {
        return demo::run(&binaries);
    }
    let mut app = process::command(&binaries.desktop);
    app.args(&options.app_arguments);
    if has_display() {
        return process::run(&mut app);
    }
    println!("There is no display: the app runs under Xvfb.");
    let session = Session::start()?;
    process::run(session.enter(&mut app))
}

/// Whether a WebDriver may act in the windows of an optimised app; in others it always may.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Driver {
    KeptOut,
    MayAct,
}

/// Build the UI, the command and the app, each only if it changed.
pub(crate) fn build(profile: Profile, driver: Driver) -> Result<Binaries> {
    ui::ensure_built()?;
    let mut build = cargo(BUILD_APP);
    if profile == Profile::Release {
        build.arg("--release");
        if driver == Driver::MayAct {
            build.args(["--features", "countersign-desktop/automation"]);
        }
    }
    process::run(&mut build)?;
    Ok(Binaries::locate(profile))
}

/// The app, the command beside it, and the small program that boxes begin with.
const BUILD_APP: [&str; 7] = [
    "build",
    "--package",
    "countersign",
    "--package",
    "countersign-desktop",
    "--package",
    "countersign-node",
];
