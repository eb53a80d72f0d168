//! Programs that tasks need: found, or installed, or absent.

use crate::task::Task;
use anyhow::{Context, Result, ensure};
use countersign_tests::cli::Running;
use countersign_tests::process::command;
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where programs are, and which of those that tasks need are nowhere.
#[derive(Debug)]
pub(crate) struct Tools {
    folder: PathBuf,
    path: String,
    absent: BTreeSet<String>,
}

/// Where a program comes from when it is not there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Source {
    Npm,
    Pip,
    Apt,
}

impl Tools {
    /// Finds what these tasks need, and installs what is missing and can be. An install that fails leaves its
    /// program absent, and `out` is told.
    pub(crate) fn ready(tasks: &[Task], out: &mut impl Write) -> Result<Self> {
        let folder = cache()?;
        let tools = folder.join("tools");
        let (npm, python) = (tools.join("npm"), tools.join("python"));
        fs::create_dir_all(&npm)?;
        let inherited = env::var("PATH").context("PATH is no text, or not there")?;
        let own = [npm.join("node_modules/.bin"), python.join("bin")];
        let path = [own[0].to_string_lossy(), own[1].to_string_lossy(), inherited.into()].join(":");
        let mut tools = Self { folder, path, absent: BTreeSet::new() };
        let needed: BTreeSet<&String> = tasks.iter().flat_map(|task| &task.needs).collect();
        for program in needed {
            if tools.has(program) {
                continue;
            }
            let known = SOURCES.iter().find(|(name, _, _)| name == program);
            if let Some((_, source, package)) = known {
                writeln!(out, "installing {package} …")?;
                out.flush()?;
                if let Err(error) = tools.install(*source, package, &npm, &python) {
                    writeln!(out, "{package} cannot be installed: {error:#}")?;
                }
            }
            if !tools.has(program) {
                tools.absent.insert(program.clone());
            }
        }
        Ok(tools)
    }

    /// What a task needs and is not there.
    pub(crate) fn missing<'a>(&self, task: &'a Task) -> Option<&'a str> {
        task.needs.iter().find(|program| self.absent.contains(*program)).map(String::as_str)
    }

    /// Search path of programs.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The folder that is kept between runs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn has(&self, program: &str) -> bool {
        env::split_paths(&self.path).any(|folder| {
            fs::metadata(folder.join(program))
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
    }

    fn install(&self, source: Source, package: &str, npm: &Path, python: &Path) -> Result<()> {
        match source {
            Source::Npm => {
                let project = npm.join("package.json");
                if !project.exists() {
                    fs::write(project, r#"{"private":true}"#)?;
                }
                self.run("npm", &["install", "--no-audit", "--no-fund", "--loglevel=error", package], npm)
            }
            Source::Pip => {
                if !python.join("bin/pip").exists() {
                    self.run("python3", &["-m", "venv", &python.to_string_lossy()], &self.folder)?;
                }
                let pip = python.join("bin/pip");
                self.run(pip, &["install", "--quiet", package], &self.folder)
            }
            Source::Apt => {
                ensure!(rustix::process::geteuid().is_root(), "only root may");
                self.run("apt-get", &["update", "--quiet=2"], &self.folder)?;
                self.run(
                    "apt-get",
                    &["install", "--quiet=2", "--no-install-recommends", package],
                    &self.folder,
                )
            }
        }
    }

    fn run(&self, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], folder: &Path) -> Result<()> {
        let mut program = command(program);
        program.args(arguments).current_dir(folder).env("PATH", &self.path);
        program.env("DEBIAN_FRONTEND", "noninteractive");
        inherit(&mut program, &["HOME"]);
        inherit(&mut program, CERTIFICATES);
        let ended = Running::start(&mut program)?.finish_within(INSTALL_LIMIT)?;
        ensure!(ended.code == 0, "{}", ended.stderr.trim());
        Ok(())
    }
}

/// The folder that `cargo xtask interop` keeps what it installs in, too.
fn cache() -> Result<PathBuf> {
    if let Some(named) = env::var_os("COUNTERSIGN_INTEROP") {
        return Ok(named.into());
    }
    let below = |home: OsString| Path::new(&home).join(".cache");
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| env::var_os("HOME").map(below));
    Ok(caches.context("no HOME; name a folder by COUNTERSIGN_INTEROP")?.join("countersign-interop"))
}

fn inherit(program: &mut Command, names: &[&str]) {
    for name in names {
        if let Some(value) = env::var_os(name) {
            program.env(name, value);
        }
    }
}

/// Variables by which programs find the certificates that this machine trusts, and what it has instead of
/// some packages. Tasks have them too.
pub(crate) const CERTIFICATES: &[&str] = &[
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "PIP_FIND_LINKS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// Programs that can be installed, and the packages that they come with.
const SOURCES: &[(&str, Source, &str)] = &[
    ("pnpm", Source::Npm, "pnpm"),
    ("bun", Source::Npm, "bun"),
    ("deno", Source::Npm, "deno"),
    ("uv", Source::Pip, "uv"),
    ("pytest", Source::Pip, "pytest"),
    ("ruff", Source::Pip, "ruff"),
    ("black", Source::Pip, "black"),
    ("mypy", Source::Pip, "mypy"),
    ("go", Source::Apt, "golang-go"),
    ("cmake", Source::Apt, "cmake"),
    ("ninja", Source::Apt, "ninja-build"),
    ("chromium", Source::Apt, "chromium"),
    ("sqlite3", Source::Apt, "sqlite3"),
    ("psql", Source::Apt, "postgresql-client"),
    ("mvn", Source::Apt, "maven"),
    ("javac", Source::Apt, "default-jdk-headless"),
    ("jq", Source::Apt, "jq"),
    ("curl", Source::Apt, "curl"),
    ("rsync", Source::Apt, "rsync"),
    ("zip", Source::Apt, "zip"),
    ("unzip", Source::Apt, "unzip"),
    ("rg", Source::Apt, "ripgrep"),
    ("git", Source::Apt, "git"),
    ("make", Source::Apt, "make"),
    ("cc", Source::Apt, "gcc"),
    ("c++", Source::Apt, "g++"),
    ("shellcheck", Source::Apt, "shellcheck"),
    ("tmux", Source::Apt, "tmux"),
    ("perl", Source::Apt, "perl"),
    ("patch", Source::Apt, "patch"),
    ("redis-server", Source::Apt, "redis-server"),
];

/// Longest install: a browser with its libraries.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);
