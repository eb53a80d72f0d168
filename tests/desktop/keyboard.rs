//! Whose keys are whose: a prompt comes up while somebody types into something else.

use crate::{Story, asking};
use anyhow::{Context, Result, ensure};
use countersign_tests::app::App;
use countersign_tests::cli::Running;
use countersign_tests::process::{Background, PATIENCE, wait_for};
use std::fs::{self, File};
use std::path::PathBuf;

#[test]
fn a_prompt_never_takes_the_keyboard_and_keys_meant_elsewhere_answer_nothing() -> Story {
    asking(|app| {
        let elsewhere = Elsewhere::open(app)?;
        // The first window is made, the second was kept, and the third stands already.
        let (mut first, _) = app.raise(&["echo", "first"])?;
        elsewhere.type_into(app)?;
        ensure!(first.runs()?, "a key that was meant elsewhere answered the first request");
        app.deny()?;
        first.finish()?.expect_code(200)?;
        app.wait_for_blank()?;
        elsewhere.type_into(app)?;
        let (mut second, _) = app.raise(&["echo", "second"])?;
        elsewhere.type_into(app)?;
        let mut third: Running = app.home.exec(&["echo", "third"])?;
        app.wait_for_pending(2)?;
        elsewhere.type_into(app)?;
        ensure!(second.runs()? && third.runs()?, "a key that was meant elsewhere answered a request");
        Ok(())
    })
}

/// A window that somebody types into, and writes down what it gets.
struct Elsewhere {
    _window: Background,
    told: PathBuf,
}

impl Elsewhere {
    fn open(app: &App) -> Result<Self> {
        let told = app.home.path().join("typed");
        let mut program = app.command("xev");
        program.args(["-name", "elsewhere", "-event", "keyboard"]).stdout(File::create(&told)?);
        let window = Background::start(&mut program)?;
        wait_for("a window to type into", PATIENCE, || {
            let mut focus = app.command("xdotool");
            focus.args(["search", "--onlyvisible", "--name", "^elsewhere$", "windowactivate", "--sync"]);
            Ok(focus.output()?.status.success().then_some(()))
        })?;
        Ok(Self { _window: window, told })
    }

    /// Types without a pause, words and what answers a prompt, and fails unless each key arrived.
    fn type_into(&self, app: &App) -> Story {
        let before = self.arrived()?;
        let keys = ["m", "a", "k", "e", "space", "d", "Return", "space", "Escape", "Tab", "space", "Return"];
        let keys = keys.repeat(5);
        let mut typing = app.command("xdotool");
        let typed = typing.args(["key", "--delay", "5"]).args(&keys).output().context("xdotool")?;
        ensure!(typed.status.success(), "{typed:?}");
        wait_for("every key arrives", PATIENCE, || Ok((self.arrived()? - before == keys.len()).then_some(())))
    }

    fn arrived(&self) -> Result<usize> {
        Ok(fs::read_to_string(&self.told)?.matches("KeyPress event").count())
    }
}
