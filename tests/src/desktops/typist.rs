//! Somebody who types in a terminal while the app is about: each key that does not arrive there
//! went somewhere else.

use super::kind::Protocol;
use super::picture::Area;
use super::place::Place;
use super::screen::Key;
use crate::process::{PATIENCE, wait_for};
use anyhow::{Context, Result, ensure};
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A terminal with the keyboard, and what was typed into it.
pub struct Typist {
    record: PathBuf,
    typed: RefCell<Vec<u8>>,
    area: Area,
}

impl Typist {
    /// Opens the terminal, clicks into it, and returns when what is typed arrives.
    pub fn start(place: &mut Place) -> Result<Self> {
        let record = place.home.path().join("typed");
        let script = place.home.path().join("record-keys");
        fs::write(&script, format!("#!/bin/sh\nstty raw -echo\nexec cat > {}\n", record.display()))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
        let before = place.screen.picture()?;
        let script = script.to_string_lossy().into_owned();
        match place.kind.protocol() {
            Protocol::X11 => place.run("xterm", "xterm", &[&XTERM[..], &[&script]].concat())?,
            Protocol::Wayland => place.run(
                "weston-terminal",
                "weston-terminal",
                &["--maximized", &format!("--shell={script}")],
            )?,
        }
        place.wait_for("the terminal is ready", |_| Ok(record.exists().then_some(())))?;
        let area = place.wait_for("the terminal is on the screen", |place| {
            let picture = place.screen.picture()?;
            let Some(changed) = picture.difference(&before) else { return Ok(None) };
            // A panel changes as well. What is in the middle of it all is the terminal's ground.
            let ground = picture.at(changed.middle().0, changed.middle().1);
            Ok(picture.blocks(ground, LEAST, LEAST).into_iter().find(|block| block.meets(&changed)))
        })?;
        let typist = Self { record, typed: RefCell::default(), area };
        typist.come_back(place)?;
        place.wait_for("the terminal has the keyboard", |place| {
            place.screen.press(&[Key::Char('a')])?;
            Ok((!typist.arrived()?.is_empty()).then_some(()))
        })?;
        // The keys that came before the terminal had the keyboard, or that are still on their way,
        // count for nothing.
        typist.begin_again(place)?;
        Ok(typist)
    }

    /// Types one of the keys that could answer a prompt, or a letter: another one each time.
    pub fn type_one(&self, place: &Place) -> Result<()> {
        let mut typed = self.typed.borrow_mut();
        let (key, byte) = KEYS[typed.len() % KEYS.len()];
        place.screen.press(&[key])?;
        typed.push(byte);
        Ok(())
    }

    /// Clicks into the terminal, and forgets what was typed before.
    pub fn begin_again(&self, place: &Place) -> Result<()> {
        self.come_back(place)?;
        self.settle()?;
        self.typed.replace(self.arrived()?);
        Ok(())
    }

    /// Clicks into the terminal again.
    fn come_back(&self, place: &Place) -> Result<()> {
        // In a corner: a prompt lies over its middle.
        place.screen.click((self.area.left + MARGIN, self.area.top + self.area.height - MARGIN))
    }

    /// Fails unless everything that was typed arrived, in its order, and nothing else; returns how
    /// many keys that were.
    pub fn check(&self) -> Result<usize> {
        let typed = self.typed.borrow();
        let arrived = wait_for("as many keys arrive as were typed", PATIENCE, || {
            let arrived = self.arrived()?;
            Ok((arrived.len() >= typed.len()).then_some(arrived))
        });
        let arrived = match arrived {
            Ok(arrived) => arrived,
            Err(_) => self.arrived()?,
        };
        let lost = typed.len().saturating_sub(arrived.len());
        ensure!(lost == 0, "{lost} of {} keys did not arrive where they were typed", typed.len());
        ensure!(*typed == arrived, "other keys arrived than were typed");
        Ok(typed.len())
    }

    fn arrived(&self) -> Result<Vec<u8>> {
        fs::read(&self.record).context("the terminal records no keys")
    }

    /// Waits until no more keys arrive.
    fn settle(&self) -> Result<()> {
        let mut last = (self.arrived()?.len(), 0);
        wait_for("no more keys arrive", PATIENCE, || {
            let now = self.arrived()?.len();
            last = if now == last.0 { (now, last.1 + 1) } else { (now, 0) };
            Ok((last.1 >= QUIET_LOOKS).then_some(()))
        })
    }
}

/// What is typed, and what a terminal makes of it.
const KEYS: [(Key, u8); 16] = [
    (Key::Char('m'), b'm'),
    (Key::Char('a'), b'a'),
    (Key::Char('k'), b'k'),
    (Key::Char('e'), b'e'),
    (Key::Char(' '), b' '),
    (Key::Char('d'), b'd'),
    (Key::Char('y'), b'y'),
    (Key::Enter, b'\r'),
    (Key::Char('n'), b'n'),
    (Key::Tab, b'\t'),
    (Key::Char(' '), b' '),
    (Key::Char('o'), b'o'),
    (Key::Escape, 0x1B),
    (Key::Char('1'), b'1'),
    (Key::Enter, b'\r'),
    (Key::Char('.'), b'.'),
];

/// In colours that the app does not have, over everything.
const XTERM: [&str; 6] = ["-maximized", "-bg", "#103820", "-fg", "#a0ffa0", "-e"];

/// Smaller than any terminal, in pixels.
const LEAST: usize = 200;

/// From the lower edge of the terminal, in pixels.
const MARGIN: usize = 12;

/// Looks in a row that find nothing new.
const QUIET_LOOKS: usize = 15;
