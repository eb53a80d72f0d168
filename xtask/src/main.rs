//! `cargo xtask …`: everything a developer or a CI machine does with this project, as one program.
//!
//! It prepares the machine, builds in the right order, runs the app, runs every test, and checks the
//! architecture. It is never part of what users install, and it depends on none of the project's crates.
//!
//! ```text
//! cargo xtask run --demo
//! cargo xtask test
//! ```

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a developer's tool: it talks to a terminal and starts programs"
)]

mod bench;
mod check;
mod demo;
mod deny;
mod fuzz;
mod icons;
mod interop;
mod pages;
mod process;
mod run;
mod session;
mod setup;
mod test;
mod tidy;
mod ui;
mod webdriver;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Set-up, run, test, bench and checks of Countersign.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what is missing on this machine to build, run and test.
    Setup(setup::Options),
    /// Build what changed and start the app; under Xvfb when there is no display.
    Run(run::Options),
    /// Show the UI's pages in a browser on a made-up backend, brought up to date whenever a file is saved.
    Ui(pages::Options),
    /// Run every check that must hold before a change lands.
    Test(test::Options),
    /// Check what changed and what uses it directly: for while it is being written.
    Check(check::Options),
    /// Measure the release build.
    Bench(bench::Options),
    /// Feed every parser of what others wrote with made-up inputs.
    Fuzz(fuzz::Options),
    /// Keep published OpenClaw releases to measure and test against.
    Interop(interop::Options),
    /// Check the architecture's invariants.
    Tidy,
    /// Check what may come into the tree: crates, licences, sources and advisories, as far as their data is
    /// on this machine.
    Deny,
    /// Draw the PNG icons from their SVG sources.
    Icons,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Test(options) => test::main(&options),
        Task::Check(options) => check::main(&options).map(|()| ExitCode::SUCCESS),
        Task::Setup(options) => setup::main(&options).map(|()| ExitCode::SUCCESS),
        Task::Run(options) => run::main(&options).map(|()| ExitCode::SUCCESS),
        Task::Ui(options) => pages::main(&options).map(|()| ExitCode::SUCCESS),
        Task::Bench(options) => bench::main(&options).map(|()| ExitCode::SUCCESS),
        Task::Fuzz(options) => fuzz::main(&options).map(|()| ExitCode::SUCCESS),
        Task::Interop(options) => interop::main(&options).map(|()| ExitCode::SUCCESS),
        Task::Tidy => tidy::main().map(|()| ExitCode::SUCCESS),
        Task::Deny => deny::main().map(|()| ExitCode::SUCCESS),
        Task::Icons => icons::main().map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_line_in_the_documents_is_understood() {
        let mut understood = 0;
        for (file, line) in lines() {
            let words =
                line.replace("VERSION", "2026.9.6").replace("FILE", "figures.json").replace('…', "tidy");
            let words = words.split_whitespace().skip(1);
            if let Err(error) = Cli::try_parse_from(words) {
                panic!("{file}: `{line}`: {error}");
            }
            understood += 1;
        }
        assert!(understood > 30, "only {understood} lines were found");
    }

    /// What the documents say to type, each with its document: in blocks to the comment, in sentences
    /// as it is quoted.
    fn lines() -> Vec<(String, String)> {
        let root = workspace::root();
        let mut files: Vec<_> =
            ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root.join(name)).into();
        files.extend(fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()));
        files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
        let mut found = Vec::new();
        for file in files {
            for line in fs::read_to_string(&file).unwrap().lines() {
                for (at, _) in line.match_indices("cargo xtask ") {
                    let end = |rest: &str| rest.find(['`', '#']).or(rest.find(" -->")).unwrap_or(rest.len());
                    let typed = line[at..at + end(&line[at..])].trim();
                    found.push((file.display().to_string(), typed.to_owned()));
                }
            }
        }
        found
    }
}
