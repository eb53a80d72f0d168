//! Files by which an agent's hook is switched off: what is said of the agent, beside whether its call came
//! here.

use crate::kinds::{Agent, Deed, Place, Switched};
use crate::rig::{Machine, Tie};
use crate::{NoSuchThing, Story, has_own_machine_files};
use anyhow::{Context, Result, bail, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::Window;
use countersign_tests::cli::Running;
use countersign_tests::home::Home;
use countersign_tests::process::countersign;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn whether_a_call_comes_here_is_said_with_each_file_that_may_switch_the_hook_off(
    agent: &Agent,
) -> Story {
    let files = agent.kind.switched_by();
    if files.is_empty() {
        return Err(NoSuchThing("it has no hook that a file could switch off".to_owned()).into());
    }
    for file in files {
        if matches!(file.place, Place::Machine(_)) && !has_own_machine_files() {
            tell(agent, file, "not tried: this user has no files of the machine of its own")?;
            continue;
        }
        let came = tried(agent, file).with_context(|| format!("{:?} with {}", file.place, file.text))?;
        tell(
            agent,
            file,
            if came { "the call came here, and all say so" } else { "it ran unasked, and all say so" },
        )?;
    }
    Ok(())
}

pub(crate) fn a_repository_that_has_claude_codes_hook_is_asked_about_once_and_as_the_agent(
    agent: &Agent,
) -> Story {
    let machine = in_repository(agent)?;
    let mut install = machine.home.command(countersign()?);
    install.args(["hook", "install", "claude-code", "--scope", "project"]).current_dir(machine.home.work());
    Running::start(&mut install)?.finish()?.expect_code(0)?;
    let rig = machine.start_app()?;
    let mut talk = rig.tell_unchecked(&[Deed::Run("touch made".to_owned())])?;
    rig.answer_all(&mut talk, |_| true)?;
    rig.heard(talk)?;
    ensure!(rig.has("made"), "what was allowed did not run");
    rig.expect_outcomes(&[Outcome::AllowedOnce])?;
    let told = rig.app.home.countersign(&["history"])?.stdout;
    ensure!(told.contains(agent.kind.name()), "it was not asked about as {}: {told}", agent.kind.name());
    Ok(())
}

/// A machine on which the agent works in a repository, and trusts it: some obey what a project says only
/// there.
fn in_repository(agent: &Agent) -> Result<Machine<'_>> {
    let machine = Machine::prepare(agent, Tie::Hook(&[]))?;
    agent.kind.trust_hook(&machine.home)?;
    let mut git = machine.home.command("git");
    git.args(["init", "-q"]).arg(machine.home.work());
    Running::start(&mut git)?.finish()?.expect_code(0)?;
    Ok(machine)
}

/// Has the agent run a command while the file is there; whether the call came here.
fn tried(agent: &Agent, file: &Switched) -> Result<bool> {
    let machine = in_repository(agent)?;
    let path = path(file.place, &machine.home);
    let _put_back = put(&path, file.text)?;
    let rig = machine.start_app()?;
    let mut talk = rig.tell_unchecked(&[Deed::Run("touch made".to_owned())])?;
    rig.answer_all(&mut talk, |_| false)?;
    rig.heard(talk)?;
    let came = rig.app.home.outcomes()? == [Outcome::Denied];
    ensure!(came != rig.has("made"), "it ran: {}, and it came here: {came}", rig.has("made"));
    ensure!(came != file.turns_off, "it came here: {came}");
    for command in ["doctor", "status"] {
        let said = rig.app.home.countersign(&[command])?.stdout;
        let says_off = said.lines().any(|line| line.contains("does not ask"));
        ensure!(says_off != came, "it came here: {came}, and {command} says {said}");
        let names = said.contains(&path.display().to_string());
        ensure!(came || names, "{command} does not name {}: {said}", path.display());
    }
    let state =
        if came { "[data-state=\"asks\"]" } else { ":is([data-state=\"trouble\"], [data-state=\"silent\"])" };
    rig.app.start_again(&[])?;
    rig.app.wait_for_element(Window::Main, "body[data-ready=\"true\"]")?;
    rig.app.click(Window::Main, "nav-agents")?;
    let card = format!("[data-agent=\"{}\"]{state}", agent.kind.name());
    rig.app.wait_for_element(Window::Main, &card).with_context(|| format!("it came here: {came}"))?;
    Ok(came)
}

fn path(place: Place, home: &Home) -> PathBuf {
    match place {
        Place::Home(below) => home.path().join(below),
        Place::Work(below) => home.work().join(below),
        Place::Machine(path) => PathBuf::from(path),
    }
}

/// Files of the machine are those of every story: what was put there goes again.
struct PutBack(Option<PathBuf>);

impl Drop for PutBack {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            fs::remove_file(path).ok();
        }
    }
}

/// Adds settings to a file, which may be there.
fn put(path: &Path, text: &str) -> Result<PutBack> {
    fs::create_dir_all(path.parent().context("a folder")?)?;
    let before = fs::read_to_string(path).ok();
    let content = match (&before, serde_json::from_str::<Value>(text)) {
        (Some(before), Ok(Value::Object(new))) => {
            let mut all: Value = serde_json::from_str(before)?;
            let Some(members) = all.as_object_mut() else { bail!("expected members in {before}") };
            members.extend(new);
            format!("{all:#}\n")
        }
        (Some(before), _) => format!("{before}\n{text}\n"),
        (None, _) => format!("{text}\n"),
    };
    fs::write(path, content)?;
    Ok(PutBack(path.starts_with("/etc").then(|| path.to_owned())))
}

fn tell(agent: &Agent, file: &Switched, what: &str) -> Story {
    use std::io::Write as _;
    let place = match file.place {
        Place::Home(below) => format!("~/{below}"),
        Place::Work(below) => below.to_owned(),
        Place::Machine(path) => path.to_owned(),
    };
    let setting = file.text.replace('\n', " ");
    Ok(writeln!(std::io::stdout(), "       {}  {place}  {setting}  {what}", agent.kind.name())?)
}
