//! A terminal with an agent in it, and a person's hand on its keys.

use anyhow::{Context, Result};
use countersign_tests::process::{PATIENCE, wait_for};
use pty_process::Size;
use pty_process::blocking::{self, Pty};
use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The end of what was written to the screen, as it was written.
type Written = Mutex<VecDeque<u8>>;

/// A terminal. What runs in it is killed when this is dropped.
pub(crate) struct Terminal {
    child: Child,
    line: Arc<Pty>,
    written: Arc<Written>,
}

impl Terminal {
    /// Starts a program in it, which has it as its controlling terminal.
    pub(crate) fn start(program: &Command) -> Result<Self> {
        let (line, end) = blocking::open()?;
        line.resize(Size::new(ROWS, COLUMNS))?;
        let mut started = blocking::Command::new(program.get_program()).args(program.get_args()).env_clear();
        for (name, value) in program.get_envs() {
            if let Some(value) = value {
                started = started.env(name, value);
            }
        }
        if let Some(folder) = program.get_current_dir() {
            started = started.current_dir(folder);
        }
        let child = started.spawn(end).context("a program in a terminal")?;
        let (line, written) = (Arc::new(line), Arc::<Written>::default());
        let (at, to) = (Arc::clone(&line), Arc::clone(&written));
        thread::spawn(move || watch(&at, &to));
        Ok(Self { child, line, written })
    }

    /// Presses keys, as the bytes that they send.
    pub(crate) fn press(&self, keys: &str) -> Result<()> {
        Ok((&*self.line).write_all(keys.as_bytes())?)
    }

    /// Waits until this was written.
    pub(crate) fn wait_for(&self, words: &str) -> Result<()> {
        wait_for(words, PATIENCE, || Ok(self.text().contains(words).then_some(())))
            .with_context(|| self.text())
    }

    /// Whether its program still runs.
    pub(crate) fn runs(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// What was written last, without what only places and colours it.
    pub(crate) fn text(&self) -> String {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = written.iter().copied().collect();
        let mut text = String::new();
        let mut parts = String::from_utf8_lossy(&bytes).into_owned();
        parts.push('\u{1b}');
        for part in parts.split('\u{1b}') {
            let ends = part.find(|c: char| c.is_ascii_alphabetic() || c == '\u{7}').map_or(0, |at| at + 1);
            text.push_str(part.get(ends..).unwrap_or_default());
            text.push(' ');
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that ended by itself cannot be killed, which is fine.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reads what is written to the screen, and answers what terminals are asked.
fn watch(mut line: &Pty, written: &Written) {
    let mut bytes = [0; 4096];
    // A terminal that nobody has open any more says so by an error.
    while let Ok(count @ 1..) = line.read(&mut bytes) {
        let now = &bytes[..count];
        for (asked, answer) in ANSWERS {
            if now.windows(asked.len()).any(|part| part == asked.as_bytes()) {
                line.write_all(answer.as_bytes()).ok();
            }
        }
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend(now);
        let old = written.len().saturating_sub(KEPT_BYTES);
        written.drain(..old);
    }
}

/// What programs ask a terminal, and what an `xterm` says: where the cursor is, what it is, and
/// which colours it has.
const ANSWERS: [(&str, &str); 5] = [
    ("\u{1b}[6n", "\u{1b}[1;1R"),
    ("\u{1b}[c", "\u{1b}[?62;22c"),
    ("\u{1b}[?u", "\u{1b}[?0u"),
    ("\u{1b}]10;?", "\u{1b}]10;rgb:ffff/ffff/ffff\u{1b}\\"),
    ("\u{1b}]11;?", "\u{1b}]11;rgb:0000/0000/0000\u{1b}\\"),
];

const ROWS: u16 = 40;
const COLUMNS: u16 = 120;

/// Enough for some screens.
const KEPT_BYTES: usize = 64 * 1024;
