//! Is what the ready-made groups allow harmless? This runs it: each form of each rule, with hostile folders,
//! names, links, configuration and environment, as a request of an agent, in name spaces of its own for
//! mounts, processes and the network, under `strace`. What writes anything, starts a program that was not
//! allowed, opens a socket or reads a marked secret fails.
//!
//! ```sh
//! cargo run -p countersign-tests --features harmless --bin harmless -- --runs 2000 --seed 7
//! ```

mod forms;
#[path = "../redteam/machine.rs"]
mod machine;
mod random;
mod traced;
mod worker;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use countersign_tests::process::command;
use forms::Form;
use machine::{Machine, SYSTEM};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use traced::Finding;
use worker::Outcome;

/// Run what the ready-made groups allow, and see that it is harmless.
#[derive(Debug, Parser)]
struct Args {
    /// How many forms are tried at least; every flag of every rule is tried once in any case, unless
    /// there are fewer runs.
    #[arg(long, default_value_t = 2_000)]
    runs: usize,
    /// Where the random forms begin: the same seed makes the same forms in the same order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only forms of this program.
    #[arg(long)]
    program: Option<String>,
    /// Leave the traces in this folder.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// The part inside the name spaces: the forms are read from the folder and run there.
    #[arg(long, hide = true)]
    inside: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let Some(folder) = &args.inside {
        worker::run(folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = std::io::stdout().lock();
    let machine = Machine::build()?;
    prepare(machine.root())?;
    let programs = forms::installed();
    let mut all = forms::all(machine.root(), args.seed, args.runs, &programs);
    if let Some(only) = &args.program {
        all.retain(|form| form.program == *only);
    }
    ensure!(!all.is_empty(), "there is nothing to run");
    let work = machine.root().join("harness");
    fs::create_dir(&work)?;
    let ran = in_name_spaces(&work, &all)?;
    ensure!(ran.len() == all.len(), "only {} of {} forms were tried", ran.len(), all.len());
    let secrets = forms::secrets(machine.root());
    let traced = traced::read(&work, &ran, &secrets, machine.root())?;
    let findings = report(&mut out, machine.root(), &all, &ran, &traced, &programs)?;
    if let Some(folder) = &args.keep {
        fs::create_dir_all(folder)?;
        for entry in fs::read_dir(&work)? {
            let entry = entry?;
            if entry.path().is_file() {
                fs::copy(entry.path(), folder.join(entry.file_name()))?;
            }
        }
    }
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes what only real programs can make: a repository with commits and an index that is out of date.
fn prepare(root: &Path) -> Result<()> {
    for folder in ["w/plain", "w/proj", "w/shape"] {
        let folder = root.join(folder);
        for arguments in [
            &["add", "--", "README.md", "f.txt", "a.txt", "src/main.rs", "src/lib.rs", "d/y"][..],
            &["commit", "--quiet", "--message", "one"],
            &["tag", "v1"],
        ] {
            let mut git = command("git");
            git.args(["-c", "user.name=A", "-c", "user.email=a@example.invalid"]).args(arguments);
            git.current_dir(&folder)
                .env("PATH", SYSTEM)
                .env("HOME", root.join("home"))
                .env("GIT_CONFIG_GLOBAL", "/dev/null");
            let made = git.output().context("git is needed")?;
            // One with broken submodules in it has no commit then, which is a state too.
            if !made.status.success() {
                break;
            }
        }
        // The index no longer says what git would say of the file.
        fs::write(folder.join("README.md"), "x\n")?;
    }
    Ok(())
}

/// Runs the forms where nothing of them gets out, each traced; what came of each, in order.
fn in_name_spaces(work: &Path, forms: &[Form]) -> Result<Vec<Outcome>> {
    let mut list = fs::File::create(work.join(worker::FORMS))?;
    for form in forms {
        writeln!(list, "{}", serde_json::to_string(form)?)?;
    }
    let own = std::env::current_exe()?;
    let mut isolated = command("unshare");
    isolated.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    if !rustix::process::geteuid().is_root() {
        isolated.args(["--user", "--map-root-user"]);
    }
    isolated.args([
        "strace",
        "--follow-forks",
        "--seccomp-bpf",
        "--output-separately",
        "-ttt",
        "-y",
        "-qq",
        "-s",
        "256",
        "-e",
    ]);
    isolated.arg(format!("trace={}", traced::CALLS)).arg("-o").arg(work.join(traced::PREFIX)).arg(own);
    isolated.arg("--inside").arg(work).stdin(Stdio::null());
    isolated.env("HOME", work.parent().unwrap_or(work).join("home")).env("PATH", SYSTEM);
    let ended = isolated.output().context("unshare is needed")?;
    ensure!(
        ended.status.success(),
        "name spaces and strace are needed; a container may forbid them:\n{}{}",
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr)
    );
    worker::outcomes(work)
}

fn report(
    out: &mut impl Write,
    root: &Path,
    forms: &[Form],
    ran: &[Outcome],
    traced: &BTreeMap<usize, BTreeSet<Finding>>,
    programs: &forms::Programs,
) -> Result<usize> {
    let count = |ran: &[Outcome], wanted: fn(&Outcome) -> bool| ran.iter().filter(|one| wanted(one)).count();
    let mut found = 0;
    for (at, findings) in traced {
        let (Some(form), Some(outcome)) = (forms.get(*at), ran.get(*at)) else { continue };
        for finding in findings {
            found += 1;
            let told = format!("FOUND {finding} by {:?} in {} ({})", form.command, form.folder, outcome.said);
            writeln!(out, "{}", told.replace(&*root.to_string_lossy(), "$R"))?;
        }
    }
    let tried: BTreeSet<&str> = forms.iter().map(|form| form.program.as_str()).collect();
    writeln!(
        out,
        "{} forms of {} programs tried, {} ran, {} were asked about; {} programs of the groups are not installed",
        ran.len(),
        tried.len(),
        count(ran, |one| one.ran),
        count(ran, |one| !one.ran),
        programs.missing.len(),
    )?;
    let late = count(ran, |one| one.said == "timeout");
    writeln!(out, "{late} did not end by themselves, {found} findings")?;
    ensure!(count(ran, |one| one.ran) > 0, "nothing was allowed, so nothing was shown");
    Ok(found)
}
