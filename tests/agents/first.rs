//! The first steps in the window, from the start of the app to an answered question of the agent itself.

use crate::Story;
use crate::kinds::{Agent, Deed};
use crate::rig::{Machine, Rig, Tie, knows_hook};
use anyhow::{Context, Result, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::{App, Window};
use countersign_tests::driver::Key;
use countersign_tests::first_steps::of;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub(crate) fn by_mouse_an_agent_among_all_is_connected_and_its_first_question_answered(
    agent: &Agent,
) -> Story {
    let begin = Begin::new(agent, |machine| {
        // What shows that the others are here.
        for below in [
            ".claude",
            ".codex",
            ".gemini",
            ".qwen",
            ".copilot",
            ".config/opencode",
            ".cursor",
            ".config/Code/User",
            ".config/zed",
        ] {
            fs::create_dir_all(machine.home.path().join(below))?;
        }
        Ok(())
    })?;
    let app = &begin.rig.app;
    begin.connect(Hand::Mouse)?;
    app.click(Window::Main, "step-next")?;
    app.wait_for_step("harmless")?;
    app.click_on("[data-testid=\"preset-everyday\"] label:last-child input")?;
    app.click_armed(Window::Main, "loosen-apply")?;
    app.wait_until_gone("confirm-loosening")?;
    app.click(Window::Main, "step-next")?;
    app.wait_for_step("try")?;
    app.click(Window::Main, "sample-send")?;
    app.wait_for_card("uname")?;
    app.allow_once()?;
    app.wait_for_element(Window::Main, "[data-testid=\"sample-output\"]")?;
    app.click(Window::Main, "step-next")?;
    app.wait_until_gone("first-steps")?;
    begin.first_question(Hand::Mouse, &[Outcome::AllowedOnce, Outcome::AllowedOnce])
}

pub(crate) fn by_keyboard_an_agent_is_connected_and_its_first_question_answered(agent: &Agent) -> Story {
    let begin = Begin::new(agent, |_| Ok(()))?;
    begin.connect(Hand::Keyboard)?;
    for next in ["harmless", "try"] {
        begin.rig.app.browser()?.press(&[Key::Escape])?;
        begin.rig.app.wait_for_step(next)?;
    }
    begin.rig.app.browser()?.press(&[Key::Escape])?;
    begin.rig.app.wait_until_gone("first-steps")?;
    begin.first_question(Hand::Keyboard, &[Outcome::AllowedOnce])
}

pub(crate) fn an_agent_that_comes_after_the_first_steps_is_connected_from_the_inbox(agent: &Agent) -> Story {
    let folder = |machine: &Machine<'_>| -> Result<(PathBuf, PathBuf)> {
        let settings = agent.kind.hooks_file(&machine.home);
        let folder = settings.parent().context("settings lie in a folder")?.to_owned();
        Ok((folder, machine.home.path().join("not-here-yet")))
    };
    let mut moved = None;
    let begin = Begin::new(agent, |machine| {
        let (here, away) = moved.insert(folder(machine)?);
        Ok(fs::rename(here, away)?)
    })?;
    let (here, away) = moved.context("its folder")?;
    let app = &begin.rig.app;
    app.click(Window::Main, "steps-skip-all")?;
    app.click_on("[data-testid=\"inbox-connect\"]")?;
    app.wait_for_element(Window::Main, "[data-testid=\"agents-missing\"]")?;
    fs::rename(away, here)?;
    app.click(Window::Main, "agents-again")?;
    begin.connect(Hand::Mouse)?;
    begin.first_question(Hand::Mouse, &[Outcome::AllowedOnce])
}

pub(crate) fn broken_settings_are_left_alone_and_what_to_put_in_by_hand_connects(agent: &Agent) -> Story {
    let broken = "{ broken";
    let mut sound = json!({});
    let begin = Begin::new(agent, |machine| {
        let path = agent.kind.hooks_file(&machine.home);
        if let Ok(text) = fs::read(&path) {
            sound = serde_json::from_slice(&text)?;
        }
        Ok(fs::write(path, broken)?)
    })?;
    let app = &begin.rig.app;
    let path = agent.kind.hooks_file(&app.home);
    app.click_on(&begin.of("agent-connect"))?;
    app.wait_for_element(Window::Main, &begin.of("agent-left-alone"))?;
    let shown = format!("return document.querySelector({}).textContent", json!(begin.of("agent-by-hand")));
    app.wait_for_element(Window::Main, &begin.of("agent-by-hand"))?;
    let shown: String = app.browser()?.run(&shown, json!([]))?;
    ensure!(fs::read_to_string(&path)? == broken, "broken settings were changed");
    app.click_on(&begin.of("agent-cancel"))?;
    // The person mends the file and puts in what is shown.
    let added: Map<String, Value> = serde_json::from_str(&shown).context(shown)?;
    sound.as_object_mut().context("settings are an object")?.extend(added);
    fs::write(&path, format!("{sound:#}\n"))?;
    app.click(Window::Main, "steps-skip-all")?;
    begin.first_question(Hand::Mouse, &[Outcome::AllowedOnce])
}

pub(crate) fn settings_with_comments_keep_them(agent: &Agent) -> Story {
    let mine = "// mine, and to stay\n";
    let mut plain = String::new();
    let begin = Begin::new(agent, |machine| {
        let path = agent.kind.hooks_file(&machine.home);
        plain = fs::read_to_string(&path).unwrap_or_else(|_| "{}\n".to_owned());
        Ok(fs::write(path, format!("{mine}{plain}"))?)
    })?;
    let app = &begin.rig.app;
    let path = agent.kind.hooks_file(&app.home);
    app.click_on(&begin.of("agent-connect"))?;
    let either = format!("{}:enabled, {}", begin.of("agent-write"), begin.of("agent-left-alone"));
    app.wait_for_element(Window::Main, &either)?;
    if app.browser()?.run(
        &format!("return document.querySelector({}) !== null", json!(begin.of("agent-left-alone"))),
        json!([]),
    )? {
        // It reads no comments itself, so such a file is a broken one.
        ensure!(fs::read_to_string(&path)? == format!("{mine}{plain}"), "what was left alone was changed");
        app.click_on(&begin.of("agent-cancel"))?;
        fs::write(&path, &plain)?;
        begin.connect(Hand::Mouse)?;
    } else {
        begin.write(Hand::Mouse)?;
        ensure!(fs::read_to_string(&path)?.starts_with(mine), "a comment was lost");
    }
    app.click(Window::Main, "steps-skip-all")?;
    begin.first_question(Hand::Mouse, &[Outcome::AllowedOnce])
}

/// What a person's hand is on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Hand {
    Mouse,
    Keyboard,
}

impl Hand {
    /// Presses a button of the main window.
    fn press(self, app: &App, selector: &str) -> Story {
        match self {
            Self::Mouse => app.click_on(selector),
            Self::Keyboard => {
                app.tab_to(selector)?;
                app.browser()?.press(&[Key::Enter]).map(|_| ())
            }
        }
    }
}

/// The app on a machine where nobody went through the first steps, which the window shows.
struct Begin<'a> {
    agent: &'a Agent,
    rig: Rig<'a>,
    at: Instant,
}

impl<'a> Begin<'a> {
    fn new(agent: &'a Agent, arrange: impl FnOnce(&Machine<'a>) -> Story) -> Result<Self> {
        let mut machine = Machine::prepare(agent, Tie::None)?;
        machine.home = machine.home.before_first_steps()?;
        arrange(&machine)?;
        let at = Instant::now();
        let rig = machine.start_app()?;
        ensure!(rig.app.start_again(&[])? == 0, "the app should come up");
        rig.app.wait_for_step("who")?;
        Ok(Self { agent, rig, at })
    }

    fn of(&self, testid: &str) -> String {
        of(self.agent.kind.name(), testid)
    }

    fn connect(&self, hand: Hand) -> Story {
        hand.press(&self.rig.app, &self.of("agent-connect"))?;
        self.write(hand)
    }

    /// Writes the change that is shown.
    fn write(&self, hand: Hand) -> Story {
        hand.press(&self.rig.app, &format!("{}:enabled", self.of("agent-write")))?;
        self.rig.app.wait_for_element(Window::Main, &self.of("agent-written"))
    }

    /// Has the agent ask, and answers.
    fn first_question(&self, hand: Hand, outcomes: &[Outcome]) -> Story {
        let rig = &self.rig;
        let touch = "touch made".to_owned();
        let deed = if knows_hook(&rig.app.home, self.agent)? {
            Deed::Run(touch)
        } else {
            Deed::Ours { tool: "exec", arguments: json!({ "command": touch }) }
        };
        let talk = rig.tell(&[deed])?;
        rig.shown()?;
        match hand {
            Hand::Mouse => rig.app.allow_once()?,
            Hand::Keyboard => {
                rig.app.wait_for_prompt("the card is armed", |prompt| prompt.armed)?;
                rig.app.press(&[Key::Control, Key::Shift, Key::Enter])?;
            }
        }
        rig.app.wait_for_pending(0)?;
        let took = self.at.elapsed();
        let heard = rig.heard(talk)?;
        ensure!(rig.has("made"), "what was allowed should run, and did not; heard {heard:?}");
        rig.expect_outcomes(outcomes)?;
        ensure!(took <= MINUTE, "it should take at most {MINUTE:?}, and took {took:.0?}");
        Ok(())
    }
}

/// From the start of the app to the first answer.
const MINUTE: Duration = Duration::from_secs(60);
