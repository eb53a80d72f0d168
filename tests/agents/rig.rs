//! A person's machine: a home with the app in a desktop session, an agent in it, and a model that does
//! as the story says.

use crate::kinds::{Agent, Deed, Door, Mode};
use crate::model::{Call, Model};
use crate::terminal::Terminal;
use crate::{NoSuchThing, Story};
use anyhow::{Context, Result, anyhow, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::{App, Prompt, Window};
use countersign_tests::bus::Shell;
use countersign_tests::cli::{Finished, Running};
use countersign_tests::driver::Key;
use countersign_tests::home::Home;
use countersign_tests::process::{Background, PATIENCE, countersign, wait_for};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

/// The machine without the app.
pub(crate) struct Machine<'a> {
    agent: &'a Agent,
    pub(crate) model: Model,
    /// Serves our tools where the agent does not start the server itself.
    server: Option<Background>,
    pub(crate) home: Home,
}

/// The machine with the app. Dropping it ends everything on it.
pub(crate) struct Rig<'a> {
    agent: &'a Agent,
    pub(crate) model: Model,
    _server: Option<Background>,
    pub(crate) app: App,
}

/// A conversation that goes on.
pub(crate) struct Talk {
    pub(crate) marker: String,
    running: Running,
}

/// How an agent is tied to the app.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tie {
    /// Not at all.
    None,
    /// By its hook, with more arguments of the installation.
    Hook(&'static [&'static str]),
    /// By tools, over standard input and output.
    Started,
    /// By its hook, and by tools over standard input and output.
    Both,
    /// By tools, over HTTP.
    Called,
}

impl<'a> Machine<'a> {
    /// A home in which the agent is tied to the app.
    pub(crate) fn prepare(agent: &'a Agent, tie: Tie) -> Result<Self> {
        let home = asking_home()?;
        let model = Model::start()?;
        agent.kind.settle(&home, &model)?;
        let mut server = None;
        match tie {
            Tie::None => {}
            Tie::Hook(more) => install_hook(&home, agent, more)?,
            Tie::Started => agent.kind.add_tools(agent, &home, &Door::Started(countersign()?))?,
            Tie::Both => {
                install_hook(&home, agent, &[])?;
                agent.kind.add_tools(agent, &home, &Door::Started(countersign()?))?;
            }
            Tie::Called => {
                let (serving, door) = serve(&home)?;
                agent.kind.add_tools(agent, &home, &door)?;
                server = Some(serving);
            }
        }
        Ok(Self { agent, model, server, home })
    }

    /// Tells the agent to do these things one after the other.
    pub(crate) fn tell(&self, deeds: &[Deed]) -> Result<Talk> {
        start(self.agent, &self.home, &self.model, Mode::Usual, one_by_one(self.agent, deeds)?)
    }

    /// The same without any permissions of the agent's own.
    pub(crate) fn tell_unchecked(&self, deeds: &[Deed]) -> Result<Talk> {
        start(self.agent, &self.home, &self.model, Mode::Unchecked, one_by_one(self.agent, deeds)?)
    }

    /// Types a line for a shell that ends by itself.
    pub(crate) fn type_in(&self, line: &str) -> Story {
        Running::start(&mut shell(self.agent, &self.home, line)?)?.finish()?.expect_code(0).map(|_| ())
    }

    /// Starts the app.
    pub(crate) fn start_app(self) -> Result<Rig<'a>> {
        let app = App::start(self.home, Shell::Bare)?;
        app.home.wait_until_listening()?;
        Ok(Rig { agent: self.agent, model: self.model, _server: self.server, app })
    }
}

impl<'a> Rig<'a> {
    /// Starts the app in a home in which the agent is tied to it.
    pub(crate) fn start(agent: &'a Agent, tie: Tie) -> Result<Self> {
        Machine::prepare(agent, tie)?.start_app()
    }

    /// Tells the agent to do these things one after the other.
    pub(crate) fn tell(&self, deeds: &[Deed]) -> Result<Talk> {
        self.tell_in(Mode::Usual, one_by_one(self.agent, deeds)?)
    }

    /// The same by a line for a shell, in which "…" stands for what the agent is told.
    pub(crate) fn tell_by(&self, line: &str, deeds: &[Deed]) -> Result<Talk> {
        let marker = self.model.script(one_by_one(self.agent, deeds)?);
        let mut alone = self.agent.program(&self.app.home, &countersign()?)?;
        self.agent.kind.prompt(&mut alone, &self.model, "", Mode::Usual);
        let mut shell = shell(self.agent, &self.app.home, &line.replace('…', &request(&marker)))?;
        let set = alone.get_envs().filter(|(name, _)| *name != "PATH");
        shell.envs(set.filter_map(|(name, value)| Some((name, value?))));
        Ok(Talk { marker, running: Running::start(&mut shell)? })
    }

    /// The same with calls that the model makes at once.
    pub(crate) fn tell_at_once(&self, deeds: &[Deed]) -> Result<Talk> {
        let calls = deeds.iter().map(|deed| self.agent.kind.call(deed)).collect::<Result<_>>()?;
        self.tell_in(Mode::Usual, vec![calls])
    }

    /// The same in a mode of the agent.
    pub(crate) fn tell_unchecked(&self, deeds: &[Deed]) -> Result<Talk> {
        self.tell_in(Mode::Unchecked, one_by_one(self.agent, deeds)?)
    }

    /// Writes a script for an agent below the one that is told; returns the prompt that leads to it.
    pub(crate) fn script_below(&self, deeds: &[Deed]) -> Result<String> {
        let mut turns = one_by_one(self.agent, deeds)?;
        turns.extend(self.agent.kind.end_below().map(|call| vec![call]));
        Ok(request(&self.model.script(turns)))
    }

    /// Tells the agent to do these things one after the other, in a terminal.
    pub(crate) fn converse(&self, deeds: &[Deed]) -> Result<Terminal> {
        let marker = self.model.script(one_by_one(self.agent, deeds)?);
        let mut program = self.agent.program(&self.app.home, &countersign()?)?;
        self.agent.kind.converse(&mut program, &self.app.home, &self.model, &request(&marker))?;
        Terminal::start(&program)
    }

    fn tell_in(&self, mode: Mode, turns: Vec<Vec<Call>>) -> Result<Talk> {
        start(self.agent, &self.app.home, &self.model, mode, turns)
    }

    /// Waits until the window shows the one request that waits.
    pub(crate) fn shown(&self) -> Result<Prompt> {
        let waiting =
            wait_for("a request waits", PATIENCE, || Ok(self.app.pending_ids()?.into_iter().next()));
        let id = waiting.with_context(|| self.model.log())?;
        self.app.wait_for_prompt("the prompt shows the request", |prompt| {
            prompt.state == "card" && prompt.painted && prompt.card.as_ref() == Some(&id)
        })
    }

    /// Waits until the window shows what would become of a file, and reads it to its end, as has to be
    /// before it is allowed.
    pub(crate) fn reads_difference(&self) -> Story {
        self.app.wait_for_element(Window::Prompt, "[data-testid=\"diff\"]")?;
        wait_for("reading to the end arms", PATIENCE, || {
            self.app.press(&[Key::End])?;
            Ok(self.app.prompt()?.armed.then_some(()))
        })
    }

    /// Answers whatever is asked until the agent ends; `allows` says what is allowed.
    pub(crate) fn answer_all(&self, talk: &mut Talk, allows: impl Fn(&Prompt) -> bool) -> Story {
        loop {
            let next = wait_for("a request, or the agent's end", PATIENCE, || {
                let waits = !self.app.pending_ids()?.is_empty();
                Ok(if waits || !talk.running.runs()? { Some(waits) } else { None })
            });
            if !next.with_context(|| self.model.log())? {
                return Ok(());
            }
            let prompt = self.app.wait_for_prompt("the prompt shows a request", |prompt| {
                prompt.state == "card" && prompt.painted
            })?;
            if allows(&prompt) {
                self.app.allow_once()?
            } else {
                self.app.deny()?
            }
            wait_for("the answer counts", PATIENCE, || {
                let waiting = self.app.pending_ids()?;
                Ok((!waiting.iter().any(|id| Some(id) == prompt.card.as_ref())).then_some(()))
            })?;
        }
    }

    /// Waits until the window shows the one request that waits, and leaves it alone for a while.
    pub(crate) fn shown_for(&self, time: Duration) -> Story {
        self.shown()?;
        let begun = Instant::now();
        wait_for("a person has time", time + PATIENCE, || {
            ensure!(
                self.app.pending_ids()?.len() == 1,
                "the request should wait, and is gone after {:.0?}",
                begun.elapsed()
            );
            Ok((begun.elapsed() >= time).then_some(()))
        })
    }

    /// Waits until nothing waits any more, after something that should bring that about at once.
    pub(crate) fn wait_until_taken_back(&self) -> Story {
        self.taken_back_after(|| Ok(true))
    }

    /// The same after the end of an agent, which may take its time to end when it is told to.
    pub(crate) fn wait_until_taken_back_by(&self, talk: &mut Talk) -> Story {
        self.taken_back_after(|| Ok(!talk.running.runs()?))
    }

    /// Waits until nothing waits any more because the agent waits no longer than so many seconds.
    pub(crate) fn wait_until_withdrawn(&self, seconds: u64) -> Story {
        let limit = Duration::from_secs(seconds) + LONGEST_LEFT;
        wait_for("its request is gone", limit, || Ok(self.app.pending_ids()?.is_empty().then_some(())))
    }

    fn taken_back_after(&self, mut is_over: impl FnMut() -> Result<bool>) -> Story {
        let mut over: Option<Instant> = None;
        let since = |over: Option<Instant>| over.map(|at| at.elapsed()).unwrap_or_default();
        let gone = wait_for("its request is gone", LONGEST_LEFT + PATIENCE, || {
            if over.is_none() && is_over()? {
                over = Some(Instant::now());
            }
            if self.app.pending_ids()?.is_empty() {
                return Ok(Some(since(over)));
            }
            ensure!(
                since(over) <= LONGEST_LEFT,
                "its request should be gone within {AT_ONCE:?}, and waited still after {LONGEST_LEFT:?}"
            );
            Ok(None)
        });
        let took = gone?;
        ensure!(took <= AT_ONCE, "its request should be gone within {AT_ONCE:?}, and was after {took:.0?}");
        Ok(())
    }

    /// Whether a file is there in the folder in which the agent works.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.app.home.work().join(name).exists()
    }

    /// What the model was told in a conversation that is over.
    pub(crate) fn heard(&self, talk: Talk) -> Result<String> {
        heard(&self.model, talk)
    }

    /// Fails unless the requests so far ended so.
    pub(crate) fn expect_outcomes(&self, expected: &[Outcome]) -> Story {
        let outcomes = self.app.home.outcomes()?;
        ensure!(outcomes == expected, "the history should say {expected:?}, and says {outcomes:?}");
        Ok(())
    }
}

impl Talk {
    /// Sends its agent a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Story {
        Ok(kill_process(self.pid()?, signal)?)
    }

    /// What Ctrl+C in a terminal does: a signal to all that the terminal runs.
    pub(crate) fn interrupt(&self) -> Story {
        Ok(kill_process_group(self.pid()?, Signal::INT)?)
    }

    fn pid(&self) -> Result<Pid> {
        i32::try_from(self.running.pid()).ok().and_then(Pid::from_raw).context("a process id")
    }
}

/// What the model was told in a conversation that is over.
pub(crate) fn heard(model: &Model, talk: Talk) -> Result<String> {
    let marker = talk.marker.clone();
    let Ok(finished) = talk.running.finish_within(TALK_LIMIT) else {
        let late =
            anyhow!("the agent should end within {TALK_LIMIT:?} after everything was answered, and ran on");
        return Err(late.context(model.log()));
    };
    let heard = model.heard(&marker);
    ensure!(!heard.is_empty(), "the model heard of no call; {}\n{}", said(&finished), model.log());
    Ok(heard)
}

/// Fails unless one of these words is among what the model heard.
pub(crate) fn expect_word(heard: &str, words: &[&str]) -> Story {
    let lower = heard.to_lowercase();
    ensure!(
        words.iter().any(|word| lower.contains(word)),
        "the model should hear {words:?}, and heard {heard:?}"
    );
    Ok(())
}

/// Shows what the agent's settings would be with the hook.
pub(crate) fn preview_hook(home: &Home, agent: &Agent) -> Result<Finished> {
    installer(home, agent, &["--dry-run"])
}

/// Puts the hook into the agent's settings, or takes it out.
pub(crate) fn change_hook(home: &Home, agent: &Agent, more: &[&str]) -> Result<Finished> {
    installer(home, agent, more)
}

fn install_hook(home: &Home, agent: &Agent, more: &[&str]) -> Story {
    change_hook(home, agent, more)?.expect_code(0).map(|_| ())
}

/// Whether there is a hook for this agent.
pub(crate) fn knows_hook(home: &Home, agent: &Agent) -> Result<bool> {
    match preview_hook(home, agent) {
        Ok(_) => Ok(true),
        Err(error) if error.is::<NoSuchThing>() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Has the installer do something; an error with [`NoSuchThing`] where it does not know the agent.
fn installer(home: &Home, agent: &Agent, more: &[&str]) -> Result<Finished> {
    let name = agent.kind.name();
    let done = home.countersign(&[&["hook", "install", name], more].concat())?;
    if done.stderr.contains("invalid value") {
        return Err(NoSuchThing(format!("`countersign hook install` knows no {name}")).into());
    }
    Ok(done)
}

/// Where everything is asked and commands of tools run on this machine.
fn asking_home() -> Result<Home> {
    let home = Home::asking()?;
    let here =
        json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
    home.write_private(&home.state().join("tools.json"), here.to_string().as_bytes())?;
    Ok(home)
}

/// Starts the server of our tools on a port of its own.
fn serve(home: &Home) -> Result<(Background, Door)> {
    let mut server = home.command(countersign()?);
    server.args(["mcp", "--http", "0", "--json"]).stderr(Stdio::null());
    let (serving, line) = Background::start_and_read_line(&mut server)?;
    let told: serde_json::Value = serde_json::from_str(&line).with_context(|| line.clone())?;
    let text = |name: &str| told[name].as_str().with_context(|| format!("{name} in {told}"));
    let token = std::fs::read_to_string(text("tokenFile")?)?.trim().to_owned();
    Ok((serving, Door::Called { url: text("url")?.to_owned(), token }))
}

fn one_by_one(agent: &Agent, deeds: &[Deed]) -> Result<Vec<Vec<Call>>> {
    let mut turns = Vec::new();
    for deed in deeds {
        turns.push(vec![agent.kind.call(deed)?]);
        if matches!(deed, Deed::Delegate(_)) {
            turns.extend(agent.kind.await_below().map(|call| vec![call]));
        }
    }
    Ok(turns)
}

fn start(agent: &Agent, home: &Home, model: &Model, mode: Mode, turns: Vec<Vec<Call>>) -> Result<Talk> {
    let marker = model.script(turns);
    let mut program = agent.program(home, &countersign()?)?;
    agent.kind.prompt(&mut program, model, &request(&marker), mode);
    // A group of its own, as a shell gives to what it starts.
    program.process_group(0);
    Ok(Talk { marker, running: Running::start(&mut program)? })
}

/// A shell with a line to do, which finds the agent's program and ours as a person's does.
fn shell(agent: &Agent, home: &Home, line: &str) -> Result<Command> {
    let program = agent.program(home, &countersign()?)?;
    let folder = home.path().join("bin");
    fs::create_dir_all(&folder)?;
    let named = folder.join(line.split(' ').next().unwrap_or_default());
    if !named.exists() {
        symlink(program.get_program(), &named)?;
    }
    let path = program.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value?));
    let folders = std::iter::once(folder).chain(path.iter().flat_map(env::split_paths));
    let mut shell = home.command("/bin/sh");
    shell.env("PATH", env::join_paths(folders)?).env("TERM", "xterm").args(["-c", line]);
    shell.process_group(0);
    Ok(shell)
}

/// A prompt that leads to a script.
fn request(marker: &str) -> String {
    format!("Please do {marker}")
}

/// The end of what an agent said.
fn said(finished: &Finished) -> String {
    let end = |text: &str| {
        let chars: Vec<char> = text.chars().collect();
        chars[chars.len().saturating_sub(QUOTED_CHARS)..].iter().collect::<String>()
    };
    format!("it ended with {} and said: {}\n{}", finished.code, end(&finished.stdout), end(&finished.stderr))
}

/// A card that is of no use any more has to be gone within this time.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How long a story looks whether it goes at all.
const LONGEST_LEFT: Duration = Duration::from_secs(15);

/// Longest conversation after everything was answered.
const TALK_LIMIT: Duration = Duration::from_secs(60);

/// Characters of an agent's output that a failed story repeats.
const QUOTED_CHARS: usize = 1_500;
