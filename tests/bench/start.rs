//! From starting the program to its icon being registered with the tray, and to its sockets answering.

use crate::figures::Figure;
use anyhow::Result;
use countersign_tests::bus::{Desktop, Shell};
use countersign_tests::home::Home;
use countersign_tests::process::{Background, countersign_desktop, wait_for};
use countersign_tests::session::Session;
use std::time::{Duration, Instant};

/// Starts the app `count` times, hidden.
pub(crate) fn measure(count: usize) -> Result<Vec<Figure>> {
    let (mut to_tray, mut to_socket) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let session = Session::start()?;
        let desktop = Desktop::start(session.bus_address(), Shell::Full)?;
        let home = Home::asking()?;
        let started = Instant::now();
        let _app = start(&session, &home)?;
        to_tray.push(desktop.registered_at()?.saturating_duration_since(started));
        wait_for("the app answers", LIMIT, || home.status())?;
        to_socket.push(started.elapsed());
    }
    Ok(vec![
        Figure::times("start to tray icon", &to_tray, "≤ 300 median"),
        Figure::times("start to tray icon and answering sockets", &to_socket, ""),
    ])
}

/// The app, hidden, without a driver.
pub(crate) fn start(session: &Session, home: &Home) -> Result<Background> {
    let mut app = home.command(countersign_desktop()?);
    session.enter(app.arg("--hidden"));
    Background::start(&mut app)
}

/// A start takes a fraction of a second.
const LIMIT: Duration = Duration::from_secs(20);
