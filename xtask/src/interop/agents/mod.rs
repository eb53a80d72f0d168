//! The agents of other vendors, as these publish them, beside the OpenClaw releases: stories of
//! `tests/agents`, told with each.

mod install;
mod table;

use super::Cache;
use super::npm::npm;
use crate::process;
use crate::setup::{self, Purpose};
use crate::workspace::{Binaries, Profile, cargo, state_dir};
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `cargo xtask interop agents`.
#[derive(Args)]
pub(super) struct Options {
    /// Which agents; by default all.
    names: Vec<Name>,
    /// The newest releases that the registry has, instead of those that the project is tried with. What
    /// changed against docs/agents.md is printed, and nothing is written there.
    #[arg(long)]
    newest: bool,
    /// Also the stories in which a person takes more than a minute for an answer.
    #[arg(long)]
    slow: bool,
    /// Only stories whose name contains this; nothing is written to docs/agents.md.
    #[arg(long)]
    filter: Option<String>,
}

/// An agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Name {
    /// Claude Code of Anthropic, about 400 MB.
    ClaudeCode,
    /// Codex of OpenAI, about 400 MB.
    Codex,
    /// Copilot CLI of GitHub, about 200 MB.
    Copilot,
    /// Gemini CLI of Google, about 100 MB.
    Gemini,
    /// opencode, about 400 MB.
    Opencode,
    /// Qwen Code of Alibaba, about 200 MB.
    Qwen,
}

/// One release of an agent.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Release {
    name: Name,
    version: String,
}

/// Do what was asked.
pub(super) fn main(cache: &Cache, options: &Options) -> Result<()> {
    let names = if options.names.is_empty() { Name::value_variants() } else { &options.names[..] };
    let of = |name: &Name| if options.newest { name.newest() } else { Ok(name.tried()) };
    let releases: Vec<Release> = names.iter().map(of).collect::<Result<_>>()?;
    setup::ensure(Purpose::Test)?;
    releases.iter().try_for_each(|release| install::ensure_installed(cache, release))?;
    let binaries = crate::run::build(Profile::Debug, crate::run::Driver::MayAct)?;
    let mut failed = Vec::new();
    for release in &releases {
        println!("\n{release}");
        let mut stories = release.stories(cache, &binaries)?;
        if options.slow {
            stories.arg("--slow");
        }
        if let Some(filter) = &options.filter {
            stories.arg(filter);
        }
        if process::run(&mut stories).is_err() {
            failed.push(release.to_string());
        }
        if options.filter.is_none() {
            let told: Vec<Value> = serde_json::from_slice(&fs::read(release.report())?)?;
            if options.newest {
                println!("{}", table::changes(release, &told)?);
            } else {
                table::write(release, &told)?;
            }
        }
    }
    ensure!(failed.is_empty(), "stories failed with {}", failed.join(", "));
    Ok(())
}

/// Install those that the project is tried with and that are missing.
pub(crate) fn ensure_agents() -> Result<()> {
    let cache = Cache::locate()?;
    Name::value_variants().iter().try_for_each(|name| install::ensure_installed(&cache, &name.tried()))
}

/// The agents that the project is tried with, each in its release.
pub(crate) fn agents() -> impl Iterator<Item = Agent> {
    Name::value_variants().iter().map(|name| Agent(name.tried()))
}

/// An agent in the release that the project is tried with.
pub(crate) struct Agent(Release);

impl Agent {
    /// The program that tells its stories, for binaries that are built. What came of them before is removed.
    pub(crate) fn stories(&self, binaries: &Binaries) -> Result<Command> {
        self.0.stories(&Cache::locate()?, binaries)
    }
}

impl std::fmt::Display for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Name {
    /// What people call it.
    const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Copilot => "Copilot CLI",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Qwen => "Qwen Code",
        }
    }

    /// As `countersign hook` and the stories call it.
    const fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen",
        }
    }

    /// Its npm package.
    const fn package(self) -> &'static str {
        match self {
            Self::ClaudeCode => "@anthropic-ai/claude-code",
            Self::Codex => "@openai/codex",
            Self::Copilot => "@github/copilot",
            Self::Gemini => "@google/gemini-cli",
            Self::Opencode => "opencode-ai",
            Self::Qwen => "@qwen-code/qwen-code",
        }
    }

    /// The program below `node_modules`: the one that does the work, since a wrapper takes
    /// signals for itself.
    const fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "@anthropic-ai/claude-code-linux-x64/claude",
            Self::Codex => "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
            Self::Copilot => "@github/copilot-linux-x64/copilot",
            Self::Gemini => "@google/gemini-cli/bundle/gemini.js",
            Self::Opencode => "opencode-linux-x64/bin/opencode",
            Self::Qwen => "@qwen-code/qwen-code/cli.js",
        }
    }

    const fn is_script(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Copilot | Self::Opencode => false,
            Self::Gemini | Self::Qwen => true,
        }
    }

    /// The release that the project is tried with.
    fn tried(self) -> Release {
        let version = match self {
            Self::ClaudeCode => "2.1.330",
            Self::Codex => "0.169.0",
            Self::Copilot => "1.0.102",
            Self::Gemini => "0.61.0",
            Self::Opencode => "1.18.33",
            Self::Qwen => "0.24.4",
        };
        Release { name: self, version: version.to_owned() }
    }

    fn newest(self) -> Result<Release> {
        let mut view = npm(Path::new("."), ["view", self.package(), "version", "--fetch-retries=0"]);
        let told = process::output_of(&mut view).context("npm is not installed")?;
        let version = told.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if !version.starts_with(|c: char| c.is_ascii_digit()) || !version.chars().all(fits) {
            bail!("expected the newest version of {}, and the npm registry said {told:?}", self.package());
        }
        Ok(Release { name: self, version: version.to_owned() })
    }
}

impl Release {
    fn folder(&self, cache: &Cache) -> PathBuf {
        cache.folder.join(format!("agent-{}-{}", self.name.word(), self.version))
    }

    fn program(&self, cache: &Cache) -> PathBuf {
        self.folder(cache).join("node_modules").join(self.name.program())
    }

    /// What came of the stories; none when only some were told.
    fn report(&self) -> PathBuf {
        state_dir().join(format!("agent-{}-{}.json", self.name.word(), self.version))
    }

    fn stories(&self, cache: &Cache, binaries: &Binaries) -> Result<Command> {
        let report = self.report();
        if report.is_file() {
            fs::remove_file(&report)?;
        }
        fs::create_dir_all(state_dir())?;
        let mut stories =
            cargo(["test", "--quiet", "--package", "countersign-tests", "--features", "agents"]);
        stories.args(["--test", "agents", "--"]).envs(binaries.environment());
        stories.env("COUNTERSIGN_AGENT", self.name.word());
        stories.env("COUNTERSIGN_AGENT_PROGRAM", self.program(cache));
        stories.env("COUNTERSIGN_AGENT_NODE", cache.node());
        stories.env("COUNTERSIGN_AGENT_REPORT", report);
        Ok(stories)
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name.title(), self.version)
    }
}
