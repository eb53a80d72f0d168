//! What changed, looked at while it is being written: format, lint, types and unit tests of it and of what
//! uses it directly, and the architecture's invariants.
//!
//! ```text
//! cargo xtask check                      # what differs from the last commit, or from upstream
//! cargo xtask check crates/keep ui/src   # what lies there
//! ```

use crate::process::{command, describe, output_of, run};
use crate::workspace::{cargo, npm, root, typed_here};
use crate::{test, tidy, ui};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Options of `cargo xtask check`.
#[derive(Args)]
pub(crate) struct Options {
    /// Files or folders to look at [default: what differs from upstream, or without one from
    /// the last commit].
    paths: Vec<PathBuf>,
}

/// Look at what changed; the first thing that is wrong ends it.
pub(crate) fn main(options: &Options) -> Result<()> {
    let changed = if options.paths.is_empty() { changed()? } else { named(&options.paths)? };
    if changed.is_empty() {
        println!("Nothing changed. Name files or folders to look at them all the same.");
        return Ok(());
    }
    let packages = Packages::read()?;
    let plan = Plan::of(&changed, &packages);
    println!("{plan}");
    let mut done = Vec::new();
    let mut step = |name: &'static str, work: &mut dyn FnMut() -> Result<()>| {
        let begun = Instant::now();
        println!("· {name}");
        let outcome = work();
        done.push((name, begun.elapsed()));
        outcome.with_context(|| format!("{name} failed"))
    };
    if !plan.pages.is_empty() {
        ui::ensure_dependencies()?;
        step("format and lint of the pages", &mut || plan.lint_pages())?;
        step("types of the pages", &mut || run(&mut npm(["run", "--silent", "check"])))?;
        step("unit tests of the pages", &mut || plan.test_pages())?;
    }
    if !plan.changed.is_empty() {
        // The app does not compile without the pages that it shows.
        ui::ensure_built()?;
        step("format", &mut || plan.format())?;
        step("lint, types and unit tests", &mut || plan.test())?;
    }
    step("architecture", &mut tidy::main)?;
    println!();
    for (name, took) in done {
        println!("  {:>6.1} s  {name}", took.as_secs_f64());
    }
    Ok(())
}

/// The packages of the workspace.
#[derive(Default)]
struct Packages {
    /// By folder from the root, the deepest last.
    folders: BTreeMap<PathBuf, String>,
    /// What each names in its manifest.
    uses: BTreeMap<String, BTreeSet<String>>,
    /// Programs, files of tests and examples beside the library, as options of cargo: `--bin NAME`.
    targets: BTreeMap<String, Vec<[String; 2]>>,
    /// Folders of `tests` that sources name, with the packages of these: what lies there may
    /// be data of theirs.
    readers: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl Packages {
    fn read() -> Result<Self> {
        let metadata = output_of(&mut cargo(["metadata", "--no-deps", "--format-version", "1", "--offline"]))
            .context("could not start cargo")?;
        let metadata: Value = serde_json::from_str(&metadata).context("cargo says what the workspace has")?;
        let mut packages = Self::default();
        for package in metadata["packages"].as_array().into_iter().flatten() {
            packages.add(package).context("cargo says what a package is")?;
        }
        packages.add_readers(&tidy::Tree::load(&root())?);
        Ok(packages)
    }

    fn add_readers(&mut self, tree: &tidy::Tree) {
        for (path, text) in tree.below("", &["rs"]) {
            let Some(package) = self.of(Path::new(path)).map(str::to_owned) else { continue };
            for (at, before) in text.match_indices("tests/") {
                let behind = &text[at + before.len()..];
                let end = behind.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(behind.len());
                let folder = Path::new("tests").join(&behind[..end]);
                self.readers.entry(folder).or_default().insert(package.clone());
            }
        }
    }

    fn add(&mut self, package: &Value) -> Option<()> {
        let name = package["name"].as_str()?.to_owned();
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
        self.folders.insert(folder.strip_prefix(root()).ok()?.to_owned(), name.clone());
        let names = |list: &Value, wanted: &dyn Fn(&Value) -> bool| -> Vec<String> {
            let entries = list.as_array().into_iter().flatten().filter(|entry| wanted(entry));
            entries.filter_map(|entry| Some(entry["name"].as_str()?.to_owned())).collect()
        };
        let ours = names(&package["dependencies"], &|entry| entry["path"].is_string());
        let of_kind = |kind: &str| names(&package["targets"], &|entry| entry["kind"][0] == kind);
        let options = ["bin", "test", "example"]
            .into_iter()
            .flat_map(|kind| of_kind(kind).into_iter().map(move |name| [format!("--{kind}"), name]));
        self.targets.insert(name.clone(), options.collect());
        self.uses.insert(name, ours.into_iter().collect());
        Some(())
    }

    /// The package that a file belongs to.
    fn of(&self, file: &Path) -> Option<&str> {
        let holds = |(folder, _): &(&PathBuf, &String)| file.starts_with(folder);
        self.folders
            .iter()
            .filter(holds)
            .max_by_key(|(folder, _)| folder.components().count())
            .map(|(_, name)| name.as_str())
    }

    /// Those that name one of these in their manifest.
    fn users(&self, of: &BTreeSet<String>) -> BTreeSet<String> {
        let uses = self.uses.iter().filter(|(name, uses)| !of.contains(*name) && !uses.is_disjoint(of));
        uses.map(|(name, _)| name.clone()).collect()
    }
}

/// What is looked at.
#[derive(Debug, Default, Eq, PartialEq)]
struct Plan {
    /// Packages with a changed file.
    changed: BTreeSet<String>,
    /// Packages that use one of them directly.
    users: BTreeSet<String>,
    /// What is built beside the libraries, as options of cargo: all of what changed, and of what uses it all
    /// but the stories, which are a program's worth of building each.
    targets: BTreeSet<[String; 2]>,
    /// Whether a file of the fuzz targets changed, which are a workspace of their own.
    is_fuzz: bool,
    /// Changed files of the pages, from `ui`.
    pages: Vec<PathBuf>,
}

impl Plan {
    /// For these files, by their paths from the root.
    fn of(files: &BTreeSet<PathBuf>, packages: &Packages) -> Self {
        let mut plan = Self::default();
        for file in files {
            let is_above =
                file.as_os_str().is_empty() || EVERYTHING.iter().any(|name| file == Path::new(name));
            if OF_THE_FORGE.iter().any(|folder| file.starts_with(folder)) {
                plan.pages.push(PathBuf::from(TEST_OF_THE_FORGE));
            } else if let Ok(page) = file.strip_prefix("ui") {
                // The folder itself.
                let is_whole = page.as_os_str().is_empty();
                plan.pages.push(if is_whole { PathBuf::from(".") } else { page.to_owned() });
            } else if file.starts_with(FUZZ) {
                plan.is_fuzz = true;
            } else if let Some(package) = packages.of(file) {
                plan.changed.insert(package.to_owned());
                let is_source = file.extension().is_some_and(|extension| extension == "rs");
                let folder: PathBuf = file.components().take(2).collect();
                if let Some(readers) = packages.readers.get(&folder).filter(|_| !is_source) {
                    plan.changed.extend(readers.iter().cloned());
                }
            } else {
                let below =
                    packages.folders.iter().filter(|(folder, _)| is_above || folder.starts_with(file));
                plan.changed.extend(below.map(|(_, name)| name.clone()));
            }
        }
        plan.users = packages.users(&plan.changed);
        let built = plan.changed.iter().chain(plan.users.iter().filter(|name| *name != STORIES));
        plan.targets = built.filter_map(|name| packages.targets.get(name)).flatten().cloned().collect();
        plan
    }

    fn lint_pages(&self) -> Result<()> {
        let is_there = |page: &&PathBuf| root().join("ui").join(page).exists();
        let pages: Vec<_> = self.pages.iter().filter(is_there).collect();
        if pages.is_empty() {
            return Ok(());
        }
        run(npm(["exec", "--", "prettier", "--check", "--ignore-unknown"]).args(&pages))?;
        run(npm(["exec", "--", "eslint", "--no-warn-ignored"]).args(&pages))
    }

    /// The tests that import what changed; a file that no test imports is left to the tests in a browser.
    fn test_pages(&self) -> Result<()> {
        run(npm(["exec", "--", "vitest", "related", "--run", "--passWithNoTests"]).args(&self.pages))
    }

    fn format(&self) -> Result<()> {
        let mut format = cargo(["fmt", "--check"]);
        for name in &self.changed {
            format.args(["--package", name]);
        }
        run(&mut format)
    }

    /// Builds the unit tests of all, with programs and other tests, and runs those that are no stories. The
    /// types that tests write for the pages have to come out as they are.
    fn test(&self) -> Result<()> {
        let mut build = cargo(["test", "--no-run", "--all-features", "--lib"]);
        let looked_at = self.changed.iter().chain(&self.users).map(String::as_str);
        for name in looked_at.chain(ROOTS).collect::<BTreeSet<_>>() {
            build.args(["--package", name]);
        }
        build.args(self.targets.iter().flatten());
        let is_wanted = |package: &str| self.changed.contains(package) || self.users.contains(package);
        let is_unit = |package: &str| is_wanted(package) && package != STORIES;
        test::keeping_types(|| test::of_packages(build, is_unit, LONGEST))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        if !self.pages.is_empty() {
            writeln!(out, "Pages: {} changed", self.pages.len())?;
        }
        if !self.changed.is_empty() {
            writeln!(out, "Changed: {}", list(&self.changed))?;
        }
        if self.changed.contains(STORIES) {
            writeln!(out, "Stories are built and not run: `cargo xtask test NAME` runs those of a name")?;
        }
        if self.is_fuzz {
            writeln!(out, "Not looked at: {FUZZ}, which `cargo xtask fuzz` builds and runs")?;
        }
        if !self.users.is_empty() {
            writeln!(out, "Uses them: {}", list(&self.users))?;
        }
        Ok(())
    }
}

/// Files that differ from where this branch left upstream, or without one from the last commit, and those
/// that git does not know.
fn changed() -> Result<BTreeSet<PathBuf>> {
    let base = git(&["merge-base", "HEAD", "@{upstream}"]).unwrap_or_else(|_| "HEAD".to_owned());
    let differ = git(&["diff", "--name-only", "--no-renames", base.trim()])?;
    let unknown = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(differ.lines().chain(unknown.lines()).map(PathBuf::from).collect())
}

fn git(arguments: &[&str]) -> Result<String> {
    let mut git = command("git");
    // Names as they are, from the root.
    git.args(["-c", "core.quotePath=false"]).args(arguments).current_dir(root());
    let shown = describe(&git);
    let output = git.output().with_context(|| format!("could not start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}`: {}; name files or folders instead", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Paths from the root for those that were typed.
fn named(paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    let of = |path: &PathBuf| {
        let whole = typed_here(path);
        let found = whole.canonicalize().with_context(|| format!("cannot look at {}", path.display()))?;
        let root = root().canonicalize()?;
        let inside = found.strip_prefix(&root).map(Path::to_owned);
        inside.with_context(|| format!("expected a path in {}, got {}", root.display(), path.display()))
    };
    paths.iter().map(of).collect()
}

/// Tests that take longer are run by `cargo xtask test` alone: most start other programs.
const LONGEST: Duration = Duration::from_secs(2);

/// The package whose tests are stories of the whole program: `cargo xtask test` runs them.
const STORIES: &str = "countersign-tests";

/// Packages that are built each time. Which features a library has follows from all packages that are named:
/// with these they are those of the whole workspace, and no choice of packages builds a library once more.
const ROOTS: [&str; 4] = ["countersign", "countersign-desktop", STORIES, "xtask"];

/// What the forge reads, and the test of that among those of the pages.
const OF_THE_FORGE: [&str; 2] = [".ci", ".github"];
const TEST_OF_THE_FORGE: &str = "tests/unit/forge.test.ts";

/// Fuzz targets and their inputs.
const FUZZ: &str = "tests/fuzz";

/// Files that say how every package is compiled.
const EVERYTHING: [&str; 5] =
    [".cargo/config.toml", "Cargo.lock", "Cargo.toml", "clippy.toml", "rustfmt.toml"];

#[cfg(test)]
mod tests {
    use super::*;

    fn packages() -> Packages {
        let mut packages = Packages::default();
        for (folder, uses, tests) in [
            ("crates/gate", &[][..], &[][..]),
            ("crates/gateway", &[], &[]),
            ("crates/node", &["crates/gate"], &["box_program"]),
            ("crates/peers", &["crates/node", "crates/gateway"], &[]),
            ("tests", &["crates/node"], &["stories"]),
        ] {
            packages
                .add(&serde_json::json!({
                    "name": name(folder),
                    "manifest_path": root().join(folder).join("Cargo.toml"),
                    "dependencies": uses.iter().map(|folder| serde_json::json!({ "name": name(folder), "path": folder }))
                        .chain([serde_json::json!({ "name": "serde", "path": null })]).collect::<Vec<_>>(),
                    "targets": tests.iter().map(|test| serde_json::json!({ "name": test, "kind": ["test"] }))
                        .chain([serde_json::json!({ "name": "lib", "kind": ["lib"] })]).collect::<Vec<_>>(),
                }))
                .unwrap();
        }
        let reads = ("crates/gate/src/a.rs", "include_str!(\"../../../tests/vectors/a.json\")");
        packages.add_readers(&tidy::Tree::of(&[reads]));
        packages
    }

    fn name(folder: &str) -> String {
        format!("countersign-{}", folder.trim_start_matches("crates/"))
    }

    fn check(files: &[&str], changed: &[&str], users: &[&str], targets: &[&str], pages: &[&str]) {
        let plan = Plan::of(&files.iter().map(PathBuf::from).collect(), &packages());
        let names = |list: &[&str]| list.iter().map(|name| format!("countersign-{name}")).collect();
        let expected = Plan {
            changed: names(changed),
            users: names(users),
            targets: targets.iter().map(|name| ["--test".to_owned(), (*name).to_owned()]).collect(),
            pages: pages.iter().map(PathBuf::from).collect(),
            is_fuzz: false,
        };
        assert_eq!(plan, expected, "{files:?}");
    }

    #[test]
    fn what_uses_a_changed_package_directly_is_looked_at_too() {
        check(&["crates/gate/src/lib.rs"], &["gate"], &["node"], &["box_program"], &[]);
        check(&["crates/gateway"], &["gateway"], &["peers"], &[], &[]);
        check(&["crates/node/tests/a.rs"], &["node"], &["peers", "tests"], &["box_program"], &[]);
        check(&["tests/stories/main.rs"], &["tests"], &[], &["stories"], &[]);
        check(&["tests/vectors/a.json"], &["gate", "tests"], &["node"], &["box_program", "stories"], &[]);
    }

    #[test]
    fn pages_are_named_from_their_own_folder() {
        check(&["ui/src/a.ts", "docs/b.md"], &[], &[], &[], &["src/a.ts"]);
        check(&["ui"], &[], &[], &[], &["."]);
        check(&[".github/workflows/change.yml"], &[], &[], &[], &[TEST_OF_THE_FORGE]);
    }

    #[test]
    fn what_every_package_is_compiled_by_and_a_folder_of_packages_mean_all_of_them() {
        let all = ["gate", "gateway", "node", "peers", "tests"];
        check(&["Cargo.lock"], &all, &[], &["box_program", "stories"], &[]);
        check(&["crates"], &all[..4], &["tests"], &["box_program"], &[]);
        check(&[""], &all, &[], &["box_program", "stories"], &[]);
    }

    #[test]
    fn a_path_outside_of_the_checkout_is_refused() {
        let error = named(&[PathBuf::from("/")]).unwrap_err().to_string();
        assert!(error.starts_with("expected a path in ") && error.ends_with("got /"), "{error}");
        assert!(named(&[PathBuf::from("no/such/file")]).unwrap_err().to_string().contains("no/such/file"));
    }
}
