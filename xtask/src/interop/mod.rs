//! Published OpenClaw releases on this machine, to be measured and tested against as they are.
//!
//! They live in a cache outside the checkout, each in a folder of its own beside a Node that runs them all.
//! Nothing of them is changed and nothing of them is part of the project. The official MCP SDK, whose client
//! speaks to our server, and the agents of other vendors live beside them.

mod agents;
mod install;
mod mcp;
mod npm;
mod record;
mod run;
mod table;

pub(crate) use agents::{agents as agents_tried, ensure_agents};
pub(crate) use mcp::{ensure_sdk, mcp_stories};
pub(crate) use run::{asked_again, ensure_compared, ensure_generations, stories};

use crate::workspace::typed_here;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use std::env;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Options of `cargo xtask interop`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    run: Run,
}

#[derive(Subcommand)]
enum What {
    /// Run the real app against agents of other vendors with scripted models, and write what came of it into
    /// docs/agents.md. Those that are missing are installed.
    Agents(agents::Options),
    /// Ask the newest release that figures are compared with the stored cases once more, and made-up ones, as
    /// docs/conformance.md says. It is installed when it is missing.
    Cases,
    /// Install releases from the npm registry; what is there already stays. About 0.6 to 1.4 GB each.
    Install {
        /// Versions; by default the two that figures are compared with.
        versions: Vec<Version>,
    },
    /// Have the client of the official MCP SDK speak to `countersign mcp`; the SDK is installed when it is
    /// missing (30 MB).
    Mcp {
        /// Only stories whose name contains this.
        #[arg(long)]
        filter: Option<String>,
    },
    /// Write down what releases say to the script of `tests/exchanges`; those that are missing are installed.
    Record {
        /// Versions; by default the two that figures are compared with.
        versions: Vec<Version>,
    },
    /// Run the real app against releases; those that are missing are installed. What is done
    /// without a subcommand.
    Run(Run),
    /// Write what came of all stories, when they were last told with each release, into docs/gateway.md.
    Table,
}

#[derive(Args)]
struct Run {
    /// Versions; by default the two that figures are compared with.
    versions: Vec<Version>,
    /// The newest release of each month that the registry has, from 2026.2 on.
    #[arg(long, conflicts_with = "versions")]
    monthly: bool,
    /// Only stories whose name contains this.
    #[arg(long)]
    filter: Option<String>,
}

/// Do what was asked.
pub(crate) fn main(options: &Options) -> Result<()> {
    let cache = Cache::locate()?;
    let wanted = |versions: &[Version]| if versions.is_empty() { compared() } else { Ok(versions.to_vec()) };
    match &options.what {
        Some(What::Agents(options)) => agents::main(&cache, options),
        Some(What::Cases) => run::ask_again(&cache),
        Some(What::Install { versions }) => {
            wanted(versions)?.iter().try_for_each(|version| install::install(&cache, version))
        }
        Some(What::Mcp { filter }) => mcp::run(&cache, filter.as_deref()),
        Some(What::Record { versions }) => record::record(&cache, &wanted(versions)?),
        Some(What::Run(run)) => tell(&cache, run),
        Some(What::Table) => table::write(&run::reports()?),
        None => tell(&cache, &options.run),
    }
}

fn tell(cache: &Cache, options: &Run) -> Result<()> {
    let versions = match (options.monthly, &options.versions[..]) {
        (true, _) => npm::monthly()?,
        (false, []) => compared()?,
        (false, named) => named.to_vec(),
    };
    run::run(cache, &versions, options.filter.as_deref())
}

/// One release of each generation: a document without a list of what waits, one with it, the first
/// database, the newest.
pub(crate) fn generations() -> Result<Vec<Version>> {
    ["2026.2.26", "2026.5.28", "2026.7.35", "2026.9.6"].map(str::parse).into_iter().collect()
}

/// The releases that figures are compared with: the last one with a file for a document, and the newest.
pub(crate) fn compared() -> Result<Vec<Version>> {
    ["2026.2.26", "2026.9.6"].map(str::parse).into_iter().collect()
}

/// A version, fit to be part of a folder's name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Version(String);

impl Version {
    /// Its numbers, for one that people are to use; `None` for what came before it, such as
    /// `2026.9.1-beta.1`.
    fn numbers(&self) -> Option<(u32, u32, u32)> {
        let parts: Vec<u32> = self.0.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [year, month, number] = parts[..] else { return None };
        Some((year, month, number))
    }
}

impl FromStr for Version {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.chars().all(fits) {
            bail!("expected a version such as 2026.9.6, got {text:?}");
        }
        Ok(Self(text.to_owned()))
    }
}

impl Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where releases are installed.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The folder that `COUNTERSIGN_INTEROP` names, else one among the user's caches. It may not exist yet.
    pub(crate) fn locate() -> Result<Self> {
        let named = env::var_os("COUNTERSIGN_INTEROP").filter(|folder| !folder.is_empty());
        let folder = match named {
            Some(folder) => typed_here(Path::new(&folder)),
            None => {
                caches().context("no HOME; name a folder by COUNTERSIGN_INTEROP")?.join("countersign-interop")
            }
        };
        Ok(Self { folder })
    }

    /// The Node that runs releases: the system's may be older than they need.
    pub(crate) fn node(&self) -> PathBuf {
        self.node_folder().join("bin/node")
    }

    /// The package of a release that is installed.
    pub(crate) fn package(&self, version: &Version) -> Option<PathBuf> {
        let package = self.package_folder(version);
        let manifest = fs::read(package.join("package.json")).ok()?;
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).ok()?;
        // npm writes this list last.
        let is_whole = self.release_folder(version).join("node_modules/.package-lock.json").is_file();
        (is_whole && manifest["version"] == version.0.as_str()).then_some(package)
    }

    fn node_folder(&self) -> PathBuf {
        self.folder.join(format!("node-{NODE}"))
    }

    fn release_folder(&self, version: &Version) -> PathBuf {
        self.folder.join(format!("oc-{version}"))
    }

    fn package_folder(&self, version: &Version) -> PathBuf {
        self.release_folder(version).join("node_modules").join(PACKAGE)
    }

    /// A home directory for a release, so that it never meets the user's own.
    fn home(&self, version: &Version) -> PathBuf {
        self.folder.join(format!("home-{version}"))
    }
}

fn caches() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))
}

/// The npm package of OpenClaw.
const PACKAGE: &str = "openclaw";

/// The Node that releases run on: early ones need 22.12, the newest 24.16.
const NODE: &str = "24.21.0";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_version_alone_is_run() {
        let check = |words: &[&str], installs: bool, expected: &[&str]| {
            let line = Line::try_parse_from([&["interop"], words].concat()).unwrap();
            let (is_install, versions) = match line.options.what {
                Some(What::Install { versions }) => (true, versions),
                Some(What::Run(run)) => (false, run.versions),
                Some(
                    What::Agents(_) | What::Cases | What::Mcp { .. } | What::Record { .. } | What::Table,
                ) => {
                    panic!("another task")
                }
                None => (false, line.options.run.versions),
            };
            let versions: Vec<_> = versions.iter().map(ToString::to_string).collect();
            assert_eq!((is_install, versions), (installs, expected.iter().map(|v| v.to_string()).collect()));
        };
        check(&[], false, &[]);
        check(&["2026.9.6"], false, &["2026.9.6"]);
        check(&["--filter", "always", "2026.2.26", "2026.9.6"], false, &["2026.2.26", "2026.9.6"]);
        check(&["run", "2026.9.6"], false, &["2026.9.6"]);
        check(&["install", "2026.9.6"], true, &["2026.9.6"]);
    }

    #[test]
    fn a_version_is_no_path_and_no_option() {
        for (text, fits) in [
            ("2026.9.6", true),
            ("2026.9.6-beta.1", true),
            ("", false),
            ("..", false),
            ("1/..", false),
            ("-g", false),
        ] {
            assert_eq!(text.parse::<Version>().is_ok(), fits, "{text:?}");
        }
    }

    #[test]
    fn a_release_counts_as_installed_once_npm_has_finished() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().to_owned() };
        let version: Version = "2026.9.6".parse().unwrap();
        let package = cache.package_folder(&version);
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), r#"{"version":"2026.9.6"}"#).unwrap();
        assert_eq!(cache.package(&version), None);
        fs::write(cache.release_folder(&version).join("node_modules/.package-lock.json"), "{}").unwrap();
        assert_eq!(cache.package(&version), Some(package.clone()));
        fs::write(package.join("package.json"), r#"{"version":"2026.9.7"}"#).unwrap();
        assert_eq!(cache.package(&version), None);
    }
}
