//! Every check that must hold before a change lands, in the order in which a fault is cheapest to find.

use crate::interop::{self, Cache};
use crate::process::{command, describe};
use crate::session::Session;
use crate::setup::{self, Purpose};
use crate::ui;
use crate::workspace::{Binaries, Profile, cargo, npm, root, state_dir, target_dir};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

/// Options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct Options {
    /// Also fuzz for longer, and run the app against published OpenClaw releases, against agents of other vendors and on every
    /// desktop; what is missing for that is installed.
    #[arg(long)]
    all: bool,
    /// Only the UI: lint, types, unit tests, build, browser tests.
    #[arg(long, conflicts_with_all = ["all", "desktop"])]
    ui: bool,
    /// Only the desktop app and its end-to-end tests.
    #[arg(long, conflicts_with = "all")]
    desktop: bool,
    /// Only the app on every desktop that people use, or on the one that the filter names; what is missing is installed.
    #[arg(long, conflicts_with_all = ["all", "ui", "desktop"])]
    desktops: bool,
    /// With --desktops: write what came of it to docs/desktops.md, with pictures.
    #[arg(long, requires = "desktops", conflicts_with = "filter")]
    write_docs: bool,
    /// Go on after a failure.
    #[arg(long)]
    keep_going: bool,
    /// Only tests whose name contains this: neither formats nor lints nor runs the browser tests.
    filter: Option<String>,
}

/// Run the steps; the last line of output is `N passed, N failed`.
pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let mut steps = select(options)?;
    let planned = steps.len();
    let logs = state_dir().join("logs");
    if logs.is_dir() {
        fs::remove_dir_all(&logs)?;
    }
    fs::create_dir_all(&logs)?;
    let started = Instant::now();
    let mut summary = Vec::new();
    for (index, step) in steps.iter_mut().enumerate() {
        println!("[{:>2}/{planned}] {}", index + 1, step.name);
        let log = logs.join(format!("{:02}-{}.log", index + 1, step.name.replace(' ', "-")));
        let begun = Instant::now();
        let outcome = step.run(&log);
        let row =
            Row { name: step.name.clone(), elapsed: begun.elapsed(), tests: count_tests(&log), outcome };
        println!("        {row}");
        if let Err(error) = &row.outcome {
            print_tail(&log, error);
        }
        let failed = row.outcome.is_err();
        summary.push(row);
        if failed && !options.keep_going {
            break;
        }
    }
    print_summary(&summary, planned, started.elapsed());
    let failed = summary.iter().any(|row| row.outcome.is_err());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// One counted step.
struct Step {
    name: String,
    part: Part,
    work: Work,
}

/// What a step belongs to; the options choose among these.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    /// The machine and the built UI: needed by everything else.
    Base,
    /// Lint and types of the UI.
    UiCheck,
    /// Unit tests of the UI: these take a filter.
    UiTest,
    /// Tests in a browser.
    UiBrowser,
    /// Format and lint of the Rust code.
    RustCheck,
    /// Rust tests, those of the app too, that open no window: these take a filter.
    RustTest,
    /// Parsers and what is allowed, with made-up inputs.
    RustFuzz,
    /// The real app and every other program, as the parts after this need them.
    Build,
    /// Unit tests of the app, where the Rust tests do not run: these take a filter.
    AppTest,
    /// The real app: these take a filter.
    Desktop,
    /// What breaks around the real app.
    Faults,
    /// The real app on the desktops that every change is tried on.
    Desktops,
    /// The same on every desktop.
    EveryDesktop,
    /// Only with `--all`.
    Long,
}

enum Work {
    /// A function of this program.
    Call(fn() -> Result<()>),
    /// A program that must end with 0.
    Program(Command),
    /// The same, in a private desktop session.
    InSession(Command),
    /// The Rust tests, which also rewrite the UI's generated types: these must come out as they are.
    KeepingGeneratedTypes(Command),
}

impl Step {
    fn run(&mut self, log: &Path) -> Result<()> {
        match &mut self.work {
            Work::Call(work) => work(),
            Work::Program(program) => run_logged(program, log),
            Work::InSession(program) => {
                let session = Session::start()?;
                run_logged(session.enter(program), log)
            }
            Work::KeepingGeneratedTypes(program) => {
                let before = generated_types()?;
                run_logged(program, log)?;
                compare_types(&before, &generated_types()?)
            }
        }
    }
}

fn select(options: &Options) -> Result<Vec<Step>> {
    let filter = options.filter.as_deref();
    let mut steps = all_steps(filter);
    steps.push(if options.all {
        fuzz("fuzz, ten minutes each", "600")
    } else {
        fuzz("fuzz, twenty seconds each", "20")
    }?);
    steps.extend(desktop_steps(options));
    if options.all {
        steps.extend(interop_steps()?);
    }
    let wanted = |part: Part| match part {
        Part::Base => true,
        Part::Build => !options.ui,
        Part::AppTest => options.desktop,
        Part::EveryDesktop => options.all || options.desktops,
        _ if options.desktops => false,
        Part::Desktops => !options.ui && !options.all && filter.is_none(),
        Part::Faults => !options.ui && filter.is_none(),
        Part::UiCheck | Part::UiBrowser => !options.desktop && filter.is_none(),
        Part::UiTest => !options.desktop,
        Part::RustCheck | Part::RustFuzz => !options.ui && !options.desktop && filter.is_none(),
        Part::RustTest => !options.ui && !options.desktop,
        Part::Desktop => !options.ui,
        Part::Long => options.all,
    };
    steps.retain(|step| wanted(step.part));
    Ok(steps)
}

fn all_steps(filter: Option<&str>) -> Vec<Step> {
    let program =
        |name: &str, part, command| Step { name: name.to_owned(), part, work: Work::Program(command) };
    let call = |name: &str, part, function| Step { name: name.to_owned(), part, work: Work::Call(function) };
    let in_session = |name: &str, command| Step {
        name: name.to_owned(),
        part: Part::Desktop,
        work: Work::InSession(command),
    };
    let binaries = Binaries::locate(Profile::Debug);

    let mut unit = npm(["run", "--silent", "test"]);
    let mut rust = same(["test"], &PROGRAMS);
    let mut app = same(["test", "--bin", "countersign-desktop"], &PROGRAMS);
    let mut stories = same(["test", "--test", "desktop"], &WINDOWS);
    let mut socket = command("python3");
    socket.arg(root().join("tests/socket_client/run.py"));
    if let Some(filter) = filter {
        unit.args(["--", "-t", filter]);
        for tests in [&mut rust, &mut app, &mut stories, &mut socket] {
            tests.arg(filter);
        }
    }
    rust.envs(binaries.environment());
    stories.envs(binaries.environment());
    socket.envs(binaries.environment());
    vec![
        call("machine set-up", Part::Base, || setup::ensure(Purpose::Test)),
        call("UI dependencies", Part::Base, ui::ensure_dependencies),
        program("UI lint", Part::UiCheck, npm(["run", "--silent", "lint"])),
        program("UI types", Part::UiCheck, npm(["run", "--silent", "check"])),
        program("UI unit tests", Part::UiTest, unit),
        call("UI build", Part::Base, ui::ensure_built),
        program("Rust format", Part::RustCheck, cargo(["fmt", "--all", "--check"])),
        program("Rust lint", Part::RustCheck, cargo(LINT)),
        program("Rust documentation", Part::RustCheck, documentation()),
        program("build", Part::Build, same(["build", "--bins", "--examples"], &PROGRAMS)),
        Step {
            name: "Rust tests and generated types".to_owned(),
            part: Part::RustTest,
            work: Work::KeepingGeneratedTypes(rust),
        },
        program("parser against real shells", Part::RustFuzz, built("differential", &AGAINST_SHELLS)),
        program("what the groups allow, run", Part::RustFuzz, built("harmless", &["--runs=400"])),
        program("UI browser tests", Part::UiBrowser, npm(["run", "--silent", "e2e"])),
        program("app tests", Part::AppTest, app),
        in_session("desktop stories", stories),
        in_session("socket client in Python", socket),
        faults("what breaks, in short", Part::Faults, &["--short", "--requests", "20"]),
    ]
}

/// cargo over all packages at once: with the same packages chosen and with what tests need of a library, each library is
/// built once for all steps. What builds the programs names the examples for that.
fn same<const N: usize>(arguments: [&str; N], features: &[&str]) -> Command {
    let mut cargo = cargo(arguments);
    cargo.args(["--workspace", "--features"]);
    cargo.arg(
        features.iter().map(|feature| format!("countersign-tests/{feature}")).collect::<Vec<_>>().join(","),
    );
    cargo
}

/// Programs of `tests` that steps run, and what belongs to them.
const PROGRAMS: [&str; 4] = ["desktops", "differential", "faults", "harmless"];

/// The stories that open windows.
const WINDOWS: [&str; 5] = ["desktops", "differential", "faults", "harmless", "windows"];

/// A program that the step "build" built.
fn built(name: &str, arguments: &[&str]) -> Command {
    let mut program = command(target_dir().join("debug").join(name));
    program.args(arguments).current_dir(root());
    program
}

/// Every page is built, as those who work here read it, and every link in it leads somewhere.
fn documentation() -> Command {
    let mut doc = cargo(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"]);
    doc.env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links");
    doc
}

/// With what is run by hand alone, such as benchmarks: nothing else would tell that it no longer builds.
const LINT: [&str; 7] = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];

/// The committed texts and random ones, always the same and for less than a minute together; a difference is printed with
/// the command to see it again.
const AGAINST_SHELLS: [&str; 5] =
    ["--seconds=50", "--seed=1", "--require=dash", "--require=bash", "--differences=3"];

/// One fault at a time around the real app, and what holds then. It has a session of its own.
fn faults(name: &str, part: Part, arguments: &[&str]) -> Step {
    let mut run = built("faults", arguments);
    let json = target_dir().join(format!("{}.json", name.replace([' ', ','], "-"))).display().to_string();
    run.args(["--json", &json]);
    run.envs(Binaries::locate(Profile::Debug).environment());
    Step { name: name.to_owned(), part, work: Work::Program(run) }
}

/// The app on desktops as people have them. A run that every change needs tries those that differ most.
fn desktop_steps(options: &Options) -> Vec<Step> {
    let desktops = |arguments: &[&str]| {
        let mut tests = same(["test", "--test", "desktops"], &WINDOWS);
        tests.arg("--");
        tests.args(arguments).arg("--pictures").arg(target_dir().join("desktops"));
        Work::Program(tests)
    };
    let mut all = Vec::new();
    if let Some(name) = options.filter.as_deref().filter(|_| options.desktops) {
        all.extend(["--on", name]);
    }
    // The tests run in the folder of their package.
    let docs = root().join("docs").display().to_string();
    if options.write_docs {
        all.extend(["--write-docs", &docs]);
    }
    let step = |name: &str, part, work| Step { name: name.to_owned(), part, work };
    vec![
        step("desktops X11, sway and Weston", Part::Desktops, desktops(&["--often"])),
        step("desktop set-up", Part::EveryDesktop, Work::Call(|| setup::ensure(Purpose::Desktops))),
        step("every desktop", Part::EveryDesktop, desktops(&all)),
    ]
}

/// Parsers of what others wrote, fed with made-up inputs: this very program does it, as a person would.
fn fuzz(name: &str, seconds: &str) -> Result<Step> {
    let mut run = command(std::env::current_exe()?);
    run.args(["fuzz", "--seconds", seconds, "--json"]).arg(target_dir().join("fuzz.json"));
    run.current_dir(root());
    Ok(Step { name: name.to_owned(), part: Part::RustFuzz, work: Work::Program(run) })
}

/// The stories that need more than this machine: another one, an SDK, a release of each generation, and other vendors' agents.
fn interop_steps() -> Result<Vec<Step>> {
    let long = |name: String, work| Step { name, part: Part::Long, work };
    let cache = Cache::locate()?;
    let binaries = Binaries::locate(Profile::Debug);
    let network =
        ["test", "--quiet", "--package", "countersign-tests", "--features", "network", "--test", "network"];
    let mut steps = vec![
        long("all that the groups allow, run".to_owned(), Work::Program(built("harmless", &["--runs=4000"]))),
        faults("all that breaks", Part::Long, &["--runs", "3", "--requests", "150"]),
        long("a gateway on another machine".to_owned(), Work::Program(cargo(network))),
        long("MCP SDK".to_owned(), Work::Call(interop::ensure_sdk)),
        long("the MCP SDK's client".to_owned(), Work::Program(interop::mcp_stories(&binaries)?)),
        long("OpenClaw releases".to_owned(), Work::Call(interop::ensure_generations)),
    ];
    let [check, generate] = interop::asked_again(&cache)?;
    steps.push(long("stored cases of OpenClaw".to_owned(), Work::Program(check)));
    steps.push(long("made-up cases of OpenClaw".to_owned(), Work::Program(generate)));
    for version in interop::generations()? {
        let stories = interop::stories(&cache, &version, &binaries)?;
        steps.push(long(format!("stories with OpenClaw {version}"), Work::Program(stories)));
    }
    steps.push(long("agents of other vendors".to_owned(), Work::Call(interop::ensure_agents)));
    for (name, stories) in interop::agent_stories(&binaries)? {
        steps.push(long(name, Work::Program(stories)));
    }
    Ok(steps)
}

/// Run with output to a file, saying now and then that it still runs.
fn run_logged(program: &mut Command, log: &Path) -> Result<()> {
    let shown = describe(program);
    let file = File::create(log)?;
    program.stdout(file.try_clone()?).stderr(file);
    let mut child = program.spawn().with_context(|| format!("could not start `{shown}`"))?;
    let started = Instant::now();
    let mut announced = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() >= announced + SIGN_OF_LIFE {
            announced = started.elapsed();
            println!("        still running, {} s: {}", announced.as_secs(), last_line(log));
        }
        thread::sleep(LOOK_EVERY);
    };
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Every generated TypeScript file and its content.
fn generated_types() -> Result<BTreeMap<PathBuf, String>> {
    let folder = root().join("ui/src/lib/protocol");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_file() {
            files.insert(path.clone(), fs::read_to_string(&path)?);
        }
    }
    Ok(files)
}

fn compare_types(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) -> Result<()> {
    let changed: Vec<String> = after
        .iter()
        .filter(|(path, content)| before.get(*path) != Some(content))
        .map(|(path, _)| path.strip_prefix(root()).unwrap_or(path).display().to_string())
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    bail!("these generated types were not up to date and are now; commit them: {}", changed.join(", "));
}

/// A line of the summary.
struct Row {
    name: String,
    elapsed: Duration,
    tests: usize,
    outcome: Result<()>,
}

impl std::fmt::Display for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.outcome.is_ok() { "passed" } else { "FAILED" };
        write!(out, "{word}  {:>7.1} s", self.elapsed.as_secs_f64())?;
        if self.tests > 0 {
            write!(out, "  {} tests", self.tests)?;
        }
        Ok(())
    }
}

fn print_summary(rows: &[Row], planned: usize, elapsed: Duration) {
    println!("\nSummary after {:.0} s", elapsed.as_secs_f64());
    for row in rows {
        println!("  {:<32} {row}", row.name);
    }
    if rows.len() < planned {
        println!("  {} further steps did not run", planned - rows.len());
    }
    let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    println!("{} passed, {failed} failed", rows.len() - failed);
}

fn print_tail(log: &Path, error: &anyhow::Error) {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    // First, because whoever keeps this output may cut it.
    for line in failures(&lines) {
        println!("        ! {line}");
    }
    for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
        println!("        | {line}");
    }
    println!("        {error:#}");
    if log.exists() {
        println!("        all of its output: {}", log.display());
    }
}

/// What a step's output says failed, as rustc, cargo's, vitest's and Node's test runners put it.
fn failures<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut message = 0;
    for line in lines {
        let text = line.trim_start();
        let failed = text.ends_with("... FAILED")
            || ["error:", "Error: ", "error[", "not ok ", "✖ ", "FAIL ", "failed: "]
                .iter()
                .any(|word| text.starts_with(word));
        let panicked = text.starts_with("thread '") && text.contains(" panicked at ");
        if panicked {
            message = PANIC_LINES;
        }
        if failed || message > 0 {
            found.push(*line);
            message = usize::saturating_sub(message, 1);
        }
        if found.len() == FAILURE_LINES {
            break;
        }
    }
    found
}

fn last_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no output yet").to_owned()
}

/// How many tests a log says have passed, as cargo, vitest, Node's test runner and the socket client put it.
fn count_tests(log: &Path) -> usize {
    fs::read_to_string(log).unwrap_or_default().lines().filter_map(passed_in_line).sum()
}

fn passed_in_line(line: &str) -> Option<usize> {
    let line = line.trim();
    if let Some(count) = line.strip_prefix("# pass ").or_else(|| line.strip_prefix("ℹ pass ")) {
        return count.parse().ok();
    }
    if let Some((count, failed)) = line.split_once(" passed, ") {
        return failed.ends_with(" failed").then(|| count.parse().ok()).flatten();
    }
    let counted = line.strip_prefix("test result: ok. ").or_else(|| line.strip_prefix("Tests "))?;
    let (count, _) = counted.split_once(" passed")?;
    count.split_whitespace().last()?.parse().ok()
}

/// A step that says nothing for longer looks stuck to a person and to some CI systems.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// How soon the end of a step is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Lines of a failed step's output that are repeated: a compiler error or a test's report with its context.
const TAIL_LINES: usize = 120;

/// Lines that are repeated because they tell of a failure: enough to know what to look at.
const FAILURE_LINES: usize = 40;

/// A panic's place, and the values that an assertion compared.
const PANIC_LINES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(choose: impl FnOnce(&mut Options)) -> Options {
        let mut options = Options {
            all: false,
            ui: false,
            desktop: false,
            desktops: false,
            write_docs: false,
            keep_going: false,
            filter: None,
        };
        choose(&mut options);
        options
    }

    fn names(options: &Options) -> Vec<String> {
        select(options).unwrap().into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn tests_are_counted_from_the_lines_of_each_runner() {
        let check = |line, expected| assert_eq!(passed_in_line(line), expected, "{line}");
        check("test result: ok. 12 passed; 0 failed; 0 ignored", Some(12));
        check("      Tests  45 passed (45)", Some(45));
        check(" Test Files  6 passed (6)", None);
        check("# pass 17", Some(17));
        check("ℹ pass 17", Some(17));
        check("83 passed, 0 failed", Some(83));
        check("Compiling passed (thing)", None);
    }

    #[test]
    fn what_failed_is_found_between_other_lines() {
        let lines = [
            "test a::b ... ok",
            "test a::c ... FAILED",
            "thread 'a::c' (7) panicked at src/a.rs:1:2:",
            "not equal",
            "  left: 1",
            " right: 2",
            "stack backtrace:",
            "not ok 3 - opens the page",
            "Error: did not happen within 30000 ms: the prompt shows",
            "the page says: blank",
        ];
        assert_eq!(failures(&lines), [&lines[1..6], &lines[7..9]].concat());
    }

    #[test]
    fn a_filter_leaves_only_steps_that_take_it() {
        let options = chosen(|options| options.filter = Some("glob".to_owned()));
        let steps = select(&options).unwrap();
        assert!(steps.iter().all(|step| !matches!(
            step.part,
            Part::UiCheck | Part::RustCheck | Part::RustFuzz | Part::UiBrowser
        )));
        assert!(steps.iter().any(|step| step.part == Part::RustTest));
    }

    #[test]
    fn the_desktop_steps_still_build_the_ui_they_show() {
        let options = chosen(|options| options.desktop = true);
        assert_eq!(
            names(&options),
            [
                "machine set-up",
                "UI dependencies",
                "UI build",
                "build",
                "app tests",
                "desktop stories",
                "socket client in Python",
                "what breaks, in short",
                "desktops X11, sway and Weston"
            ]
        );
    }

    #[test]
    fn every_change_is_tried_on_some_desktops_and_a_long_run_on_all() {
        let usual = names(&chosen(|_| {}));
        assert!(
            usual.contains(&"desktops X11, sway and Weston".to_owned())
                && !usual.contains(&"every desktop".to_owned())
        );
        let only = names(&chosen(|options| options.desktops = true));
        assert_eq!(
            only,
            ["machine set-up", "UI dependencies", "UI build", "build", "desktop set-up", "every desktop"]
        );
    }

    #[test]
    fn a_changed_or_added_type_is_named() {
        let files = |content: &str| BTreeMap::from([(root().join("ui/a.ts"), content.to_owned())]);
        assert!(compare_types(&files("1"), &files("1")).is_ok());
        assert!(compare_types(&files("1"), &files("2")).unwrap_err().to_string().contains("ui/a.ts"));
        assert!(compare_types(&BTreeMap::new(), &files("1")).is_err());
    }
}
