//! Countersign's desktop shell: windows, tray, notifications. It shows what the companion tells it and hands answers
//! back; it decides nothing.

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
mod notifications;
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
mod shell;
mod told;
mod tray;
mod windows;
mod words;

use crate::rest::Rest;
use anyhow::Context;
use clap::Parser;
use countersign::paths::Paths;
use countersign::{Companion, StartError, control};
use countersign_protocol::control::ControlRequest;
use countersign_protocol::ui::Page;
use std::process::ExitCode;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// Countersign stands between AI agents and this machine.
#[derive(Debug, Parser)]
#[command(name = "countersign-desktop", version)]
struct Args {
    /// Start in the tray, without a window.
    #[arg(long)]
    hidden: bool,
}

fn main() -> ExitCode {
    let rest = Rest::at_start();
    let args = Args::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            EnvFilter::try_from_env("COUNTERSIGN_LOG").unwrap_or_else(|_| EnvFilter::new("info")),
        )
        .init();
    match run(args, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args, rest: Rest) -> anyhow::Result<()> {
    let paths = Paths::of_process()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    tauri::async_runtime::set(runtime.handle().clone());
    let started = {
        let _inside = runtime.enter();
        Companion::start(&paths)
    };
    match started {
        Ok((companion, presenter)) => shell::run(companion, presenter, args.hidden, rest, &runtime),
        // The app that runs already shows itself instead.
        Err(StartError::AlreadyRunning) if args.hidden => Ok(()),
        Err(StartError::AlreadyRunning) => runtime
            .block_on(control::call(
                &paths.control_socket(),
                &ControlRequest::Show { page: Page::Inbox },
                Duration::from_secs(5),
            ))
            .map(|_| ())
            .context("Countersign is already running, but its window cannot be raised"),
        Err(error) => Err(error.into()),
    }
}
