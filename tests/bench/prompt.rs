//! From the last byte of a request on the socket to the Deny button on the screen.

use crate::figures::Figure;
use crate::memory;
use crate::screen::Screen;
use crate::start::start;
use anyhow::{Context, Result};
use countersign_protocol::control::ControlRequest;
use countersign_tests::home::Home;
use countersign_tests::process::wait_for;
use countersign_tests::session::Session;
use countersign_tests::wire::Wire;
use serde_json::json;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The first prompt of fresh processes, prompts whose window is created anew, and prompts in the
/// window kept warm.
pub(crate) fn measure(count: usize) -> Result<Vec<Figure>> {
    let mut first = Vec::new();
    for _ in 0..FIRST {
        let rig = Rig::new()?;
        first.push(rig.prompt()?);
    }
    let rig = Rig::new()?;
    let without_windows = memory::family(rig.app.pid())?.len();
    rig.prompt()?;
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..count {
        rig.screen.close_prompt()?;
        cold.push(rig.prompt()?);
    }
    for _ in 0..count {
        warm.push(rig.prompt()?);
    }
    let mut rested = Vec::new();
    for _ in 0..RESTS {
        rig.screen.close_prompt()?;
        let alone = || Ok((memory::family(rig.app.pid())?.len() <= without_windows).then_some(()));
        wait_for("WebKit's processes end", REST_LIMIT, alone)?;
        rested.push(rig.prompt()?);
    }
    Ok(vec![
        Figure::times("request to pixels, window kept warm", &warm, "≤ 33 p95"),
        Figure::times("request to pixels, window created anew", &cold, "≤ 350 median"),
        Figure::times("request to pixels, after WebKit was ended for a rest", &rested, ""),
        Figure::times("request to pixels, first prompt of a process", &first, ""),
    ])
}

struct Rig {
    screen: Screen,
    home: Home,
    app: countersign_tests::process::Background,
    _session: Session,
}

impl Rig {
    fn new() -> Result<Self> {
        let session = Session::start()?;
        let home = Home::asking()?;
        home.write_settings(&json!({ "theme": "light", "notifications": false }))?;
        let app = start(&session, &home)?;
        wait_for("the app answers", LIMIT, || home.status())?;
        // Its name is there a moment before anybody listens.
        wait_for("the approval socket answers", LIMIT, || Ok(UnixStream::connect(home.socket()).ok()))?;
        Ok(Self { screen: Screen::open(session.display())?, home, app, _session: session })
    }

    /// Raises a request, waits for its pixels, denies it, and waits until the window is hidden again.
    fn prompt(&self) -> Result<Duration> {
        // A small program: as root every program could be rewritten and is hashed, for which
        // nobody else waits.
        let request = json!({ "command": ["rm", "-rf", "./build"], "cwd": self.home.work() });
        let started = Instant::now();
        let waiting = Wire::exec(&self.home, &request)?;
        self.screen.wait_for_deny_button(LIMIT)?;
        let painted = started.elapsed();
        self.home.control(&ControlRequest::Deny { id: None })?.context("the app is gone")?;
        waiting.answer()?;
        self.screen.wait_until_hidden(LIMIT)?;
        Ok(painted)
    }
}

/// Fresh processes for the first prompt: each takes seconds.
const FIRST: usize = 5;

/// Rests: each takes half a minute.
const RESTS: usize = 3;

/// Longest wait for a rest.
const REST_LIMIT: Duration = Duration::from_secs(90);

const LIMIT: Duration = Duration::from_secs(20);
