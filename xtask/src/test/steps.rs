//! The one list of steps, in the order in which a fault is cheapest to find, and which of them a run has.

use super::Options;
use super::programs::Choice;
use super::step::{Part, Step, Tier, Work};
use crate::deny;
use crate::interop::{self, Cache};
use crate::process::command;
use crate::setup::{self, Purpose};
use crate::ui;
use crate::workspace::{Binaries, Profile, cargo, npm, root, target_dir};
use anyhow::Result;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

/// The steps of the run that is asked for.
pub(super) fn select(options: &Options) -> Result<Vec<Step>> {
    let mut steps = all(options)?;
    let has_filter = options.filter.is_some();
    let wanted = |step: &Step| {
        let tier = match step.tier {
            Tier::Every => true,
            Tier::Change => !options.all,
            Tier::All => options.all || options.desktops && step.part == Part::Desktops,
        };
        let part = match step.part {
            Part::Base => true,
            Part::Build => !options.ui,
            Part::Desktops if options.desktops => step.tier == Tier::All,
            _ if options.desktops => false,
            Part::Desktops | Part::Faults => !options.ui && !has_filter,
            Part::UiCheck | Part::UiBrowser => !options.desktop && !has_filter,
            Part::UiTest => !options.desktop,
            Part::RustCheck | Part::RustFuzz => !options.ui && !options.desktop && !has_filter,
            Part::RustTest => !options.ui && !options.desktop,
            Part::Desktop => !options.ui,
            Part::Elsewhere => true,
        };
        tier && part
    };
    steps.retain(wanted);
    Ok(steps)
}

fn all(options: &Options) -> Result<Vec<Step>> {
    let filter = options.filter.as_deref();
    let choice = Choice { filter: options.filter.clone(), all: options.all, longest: None };
    let binaries = Binaries::locate(Profile::Debug);
    let step = |name: &str, part, tier, minutes: u32, work| Step {
        name: name.to_owned(),
        part,
        tier,
        deadline: Duration::from_secs(60 * u64::from(minutes)),
        work,
    };
    let every = |name: &str, part, minutes, work| step(name, part, Tier::Every, minutes, work);
    let change = |name: &str, part, minutes, work| step(name, part, Tier::Change, minutes, work);
    let long = |name: &str, part, minutes, work| step(name, part, Tier::All, minutes, work);

    let mut unit = npm(["run", "--silent", "test"]);
    let mut socket = command("python3");
    socket.arg(root().join("tests/socket_client/run.py")).envs(binaries.environment());
    if let Some(filter) = filter {
        unit.args(["--", "-t", filter]);
        socket.arg(filter);
    }
    let mut steps = vec![
        every("machine set-up", Part::Base, 30, Work::Call(|| setup::ensure(Purpose::Test))),
        every("UI dependencies", Part::Base, 15, Work::Call(ui::ensure_dependencies)),
        every("UI lint", Part::UiCheck, 10, Work::Program(npm(["run", "--silent", "lint"]))),
        every("UI types", Part::UiCheck, 10, Work::Program(npm(["run", "--silent", "check"]))),
        every("UI unit tests", Part::UiTest, 10, Work::Program(unit)),
        every("UI build", Part::Base, 10, Work::Call(ui::ensure_built)),
        every("Rust format", Part::RustCheck, 5, Work::Program(cargo(["fmt", "--all", "--check"]))),
        every("what may come into the tree", Part::RustCheck, 10, Work::Call(deny::main)),
        every("build and lint", Part::Build, 60, Work::Build),
        every("Rust tests and generated types", Part::RustTest, 40, Work::RustTests(choice.clone())),
        every("examples in comments", Part::RustTest, 20, Work::Examples(options.filter.clone())),
        long("Rust documentation", Part::RustCheck, 30, Work::Program(documentation())),
        change("parser against real shells", Part::RustFuzz, 10, shells("20")),
        long("parser against real shells, for long", Part::RustFuzz, 20, shells("300")),
        change("what the groups allow, run", Part::RustFuzz, 20, groups("400")),
        long("all that the groups allow, run", Part::RustFuzz, 90, groups("4000")),
        every("UI browser tests", Part::UiBrowser, 30, Work::Program(npm(["run", "--silent", "e2e"]))),
        every("desktop stories", Part::Desktop, 40, Work::Stories(choice)),
        every("socket client in Python", Part::Desktop, 10, Work::InSession(socket)),
        change("what breaks, in short", Part::Faults, 20, faults("short", &["--short", "--requests", "20"])),
        long("all that breaks", Part::Faults, 180, faults("all", &["--runs", "3", "--requests", "150"])),
        change("fuzz, three seconds each", Part::RustFuzz, 30, fuzz("3")?),
        long("fuzz, ten minutes each", Part::RustFuzz, 120, fuzz("600")?),
        change("desktop X11", Part::Desktops, 15, desktops(&["--on", "openbox"])),
        long("desktop set-up", Part::Desktops, 30, Work::Call(|| setup::ensure(Purpose::Desktops))),
        long("every desktop", Part::Desktops, 120, every_desktop(options)),
    ];
    if options.all {
        steps.extend(elsewhere(&binaries)?);
    }
    Ok(steps)
}

/// Every page is built, as those who work here read it, and every link in it leads somewhere.
fn documentation() -> Command {
    let mut doc = cargo(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"]);
    doc.env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links");
    doc
}

/// A program that the step "build and lint" built.
fn built(name: &str, arguments: &[&str]) -> Command {
    let mut program = command(target_dir().join("debug").join(name));
    program.args(arguments).current_dir(root());
    program
}

/// The committed texts and random ones, always the same; a difference is printed with the command
/// to see it again.
fn shells(seconds: &str) -> Work {
    let seconds = format!("--seconds={seconds}");
    let arguments = [&seconds, "--seed=1", "--require=dash", "--require=bash", "--differences=3"];
    Work::Program(built("differential", &arguments))
}

/// What the ready-made groups allow, run so often.
fn groups(runs: &str) -> Work {
    Work::Program(built("harmless", &[&format!("--runs={runs}")]))
}

/// One fault at a time around the real app, and what holds then. It has a session of its own.
fn faults(name: &str, arguments: &[&str]) -> Work {
    let mut run = built("faults", arguments);
    run.arg("--json").arg(target_dir().join(format!("faults-{name}.json")));
    run.envs(Binaries::locate(Profile::Debug).environment());
    Work::Program(run)
}

/// Parsers of what others wrote, fed with made-up inputs: this very program does it, as a person would.
fn fuzz(seconds: &str) -> Result<Work> {
    let mut run = command(std::env::current_exe()?);
    run.args(["fuzz", "--seconds", seconds, "--json"]).arg(target_dir().join("fuzz.json"));
    run.current_dir(root());
    Ok(Work::Program(run))
}

/// The app on desktops as people have them.
fn desktops(arguments: &[&str]) -> Work {
    let mut arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    arguments.push("--pictures".into());
    arguments.push(target_dir().join("desktops").into());
    Work::Tests("desktops", arguments)
}

fn every_desktop(options: &Options) -> Work {
    let mut arguments = Vec::new();
    if let Some(name) = options.filter.as_deref().filter(|_| options.desktops) {
        arguments.extend(["--on", name]);
    }
    // The tests run in the folder of their package.
    let docs = root().join("docs").display().to_string();
    if options.write_docs {
        arguments.extend(["--write-docs", &docs]);
    }
    desktops(&arguments)
}

/// The stories that need more than this machine and its packages: another one, an SDK, a release of each
/// generation, and other vendors' agents.
fn elsewhere(binaries: &Binaries) -> Result<Vec<Step>> {
    let step = |name: String, minutes: u32, work| Step {
        name,
        part: Part::Elsewhere,
        tier: Tier::All,
        deadline: Duration::from_secs(60 * u64::from(minutes)),
        work,
    };
    let prepared = |prepare: Box<dyn Fn() -> Result<Command>>| Work::Prepared(prepare);
    let own = binaries.clone();
    let mut steps = vec![
        step("a gateway on another machine".to_owned(), 30, Work::Tests("network", Vec::new())),
        step("MCP SDK".to_owned(), 15, Work::Call(interop::ensure_sdk)),
        step("the MCP SDK's client".to_owned(), 30, prepared(Box::new(move || interop::mcp_stories(&own)))),
        step("OpenClaw releases".to_owned(), 60, Work::Call(interop::ensure_generations)),
    ];
    let [check, generate] = interop::asked_again(&Cache::locate()?)?;
    steps.push(step("stored cases of OpenClaw".to_owned(), 60, Work::Program(check)));
    steps.push(step("made-up cases of OpenClaw".to_owned(), 60, Work::Program(generate)));
    for version in interop::generations()? {
        let (name, own) = (format!("stories with OpenClaw {version}"), binaries.clone());
        let stories = move || interop::stories(&Cache::locate()?, &version, &own);
        steps.push(step(name, 90, prepared(Box::new(stories))));
    }
    steps.push(step("agents of other vendors".to_owned(), 60, Work::Call(interop::ensure_agents)));
    for agent in interop::agents_tried() {
        let (name, own) = (format!("stories with {agent}"), binaries.clone());
        steps.push(step(name, 90, prepared(Box::new(move || agent.stories(&own)))));
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn chosen(choose: impl FnOnce(&mut Options)) -> Options {
        let mut options = Options::default();
        choose(&mut options);
        options
    }

    fn names(options: &Options) -> Vec<String> {
        select(options).unwrap().into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn a_filter_leaves_only_steps_that_take_it() {
        let options = chosen(|options| options.filter = Some("glob".to_owned()));
        let steps = select(&options).unwrap();
        assert!(steps.iter().all(|step| !matches!(
            step.part,
            Part::UiCheck
                | Part::RustCheck
                | Part::RustFuzz
                | Part::UiBrowser
                | Part::Faults
                | Part::Desktops
        )));
        assert!(steps.iter().any(|step| step.part == Part::RustTest));
    }

    #[test]
    fn the_desktop_steps_still_build_the_ui_they_show() {
        assert_eq!(
            names(&chosen(|options| options.desktop = true)),
            [
                "machine set-up",
                "UI dependencies",
                "UI build",
                "build and lint",
                "desktop stories",
                "socket client in Python",
                "what breaks, in short",
                "desktop X11"
            ]
        );
    }

    #[test]
    fn every_change_is_tried_on_one_desktop_and_a_long_run_on_all() {
        let usual = names(&Options::default());
        let has = |name: &str| usual.iter().any(|step| step == name);
        assert!(has("desktop X11") && !has("every desktop"));
        assert_eq!(
            names(&chosen(|options| options.desktops = true)),
            [
                "machine set-up",
                "UI dependencies",
                "UI build",
                "build and lint",
                "desktop set-up",
                "every desktop"
            ]
        );
    }

    #[test]
    fn the_long_run_has_all_that_each_change_must_pass_or_more_of_it() {
        let every = all(&Options::default()).unwrap();
        let long = names(&chosen(|options| options.all = true));
        let parts_of = |tier| -> BTreeSet<String> {
            every.iter().filter(|step| step.tier == tier).map(|step| format!("{:?}", step.part)).collect()
        };
        assert!(every.iter().filter(|step| step.tier == Tier::Every).all(|step| long.contains(&step.name)));
        assert!(parts_of(Tier::Change).is_subset(&parts_of(Tier::All)));
    }

    #[test]
    fn no_two_steps_have_one_name() {
        let names: Vec<String> =
            all(&chosen(|options| options.all = true)).unwrap().into_iter().map(|step| step.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
