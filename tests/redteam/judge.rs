//! A case, and what the real `countersign` says about it.

use crate::machine::{Machine, OWN, SYSTEM};
use anyhow::{Context, Result, bail, ensure};
use countersign_tests::cli::{Finished, Running};
use countersign_tests::process::{command, countersign};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A command that must not run unasked, or an everyday one that must.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) id: String,
    /// Folder of the machine that it runs in, below `w`.
    folder: String,
    text: Option<String>,
    argv: Option<Vec<String>>,
    /// Where in the machine it is asked, when not in its folder.
    cwd: Option<String>,
    /// Folder that comes first in the search path.
    search: Option<String>,
    /// Rules that were kept, in the place of the ready-made group.
    #[serde(default)]
    rules: Vec<Value>,
    /// A program, perhaps with a subcommand, that is refused; everything else is allowed then.
    refuse: Option<String>,
    /// It is allowed, and this is the name that the program is started under.
    pub(crate) started_as: Option<String>,
    /// It is an everyday command.
    #[serde(default)]
    pub(crate) everyday: bool,
    pub(crate) why: String,
}

impl Case {
    /// What is asked, for a reader.
    pub(crate) fn shown(&self) -> String {
        let list = || self.argv.as_deref().unwrap_or_default().join(" ");
        self.text.clone().unwrap_or_else(list)
    }

    /// The programs that it seems to name.
    fn names(&self) -> impl Iterator<Item = String> {
        let text = self.shown();
        let parts: Vec<String> = text
            .split(['|', ';', '&', '(', ')'])
            .filter_map(|part| part.split_whitespace().next().map(str::to_owned))
            .collect();
        parts.into_iter()
    }
}

/// All cases.
pub(crate) fn cases() -> Result<Vec<Case>> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("redteam/cases.jsonl"))?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// The verdict on a case.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    Allow,
    Ask,
    Deny,
    /// It ran, under this name.
    Started(String),
    /// A program is not installed, and one of the machine's own does not count here.
    NotTried,
}

/// Judges cases on a machine.
pub(crate) struct Judge {
    machine: Machine,
    /// Whether its own programs count as nobody's to change: only root can make such.
    is_whole: bool,
    /// Folders with a policy, by the policy.
    states: Mutex<BTreeMap<String, PathBuf>>,
}

impl Judge {
    /// Gives all of the machine but programs to [`NOBODY`] when root judges.
    pub(crate) fn new(machine: Machine) -> Result<Self> {
        // Wherever the program lies, the user that it is run as can read it here.
        fs::copy(countersign()?, machine.root().join(PROGRAM))?;
        let judge =
            Self { machine, is_whole: rustix::process::geteuid().is_root(), states: Mutex::default() };
        for own in OWN {
            judge.give(&judge.machine.root().join(own))?;
        }
        Ok(judge)
    }

    pub(crate) fn verdict(&self, case: &Case) -> Result<Verdict> {
        let own = !case.rules.is_empty() || case.refuse.is_some();
        if !self.is_whole && (case.search.is_none() && !own) && case.names().any(|name| !is_installed(&name))
        {
            return Ok(Verdict::NotTried);
        }
        let whole = |text: &String| self.whole(text, case);
        if case.started_as.is_some() {
            let words: Vec<String> = match (&case.argv, &case.text) {
                (Some(argv), _) => argv.iter().map(whole).collect(),
                (None, Some(text)) => {
                    ["sh", "-c", text].iter().map(|word| whole(&(*word).to_owned())).collect()
                }
                (None, None) => bail!("{}: neither text nor argv", case.id),
            };
            let ran = self.ask(case, &["exec"], &words)?;
            let name =
                ran.stdout.split('\0').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
            return Ok(match ran.code {
                0 => Verdict::Started(name.to_owned()),
                _ => Verdict::Ask,
            });
        }
        let words: Vec<String> = match (&case.argv, &case.text) {
            (Some(argv), _) => argv.iter().map(whole).collect(),
            (None, text) => text.iter().map(whole).collect(),
        };
        let answer = self.ask(case, &["allowlist", "test", "--json"], &words)?;
        match answer.json()?["verdict"].as_str() {
            Some("allow") => Ok(Verdict::Allow),
            Some("ask") => Ok(Verdict::Ask),
            Some("deny") => Ok(Verdict::Deny),
            other => bail!("{}: {other:?}: {answer:?}", case.id),
        }
    }

    fn ask(&self, case: &Case, arguments: &[&str], words: &[String]) -> Result<Finished> {
        let state = self.state(case)?;
        let cwd = self.whole(case.cwd.as_deref().unwrap_or("$W"), case);
        let root = self.machine.root();
        let mut path = self.search_path(case);
        if let Some(first) = &case.search {
            path = format!("{}:{SYSTEM}", self.whole(first, case)).into();
        }
        let mut program = command(root.join(PROGRAM));
        if self.is_whole {
            program.uid(NOBODY).gid(NOBODY);
        }
        program
            .args(arguments)
            .args(["--cwd", &cwd, "--"])
            .args(words)
            .current_dir(&cwd)
            .env("HOME", root.join("home"))
            .env("PATH", path)
            .env("COUNTERSIGN_STATE_DIR", state.join("state"))
            .env("OPENCLAW_STATE_DIR", state.join("peer"))
            .env("XDG_RUNTIME_DIR", root.join("run"));
        Running::start(&mut program)?.finish()
    }

    /// The folder with the policy of a case.
    fn state(&self, case: &Case) -> Result<PathBuf> {
        let mut rules: Vec<Value> = Vec::new();
        for rule in &case.rules {
            rules.push(serde_json::from_str(&self.whole(&rule.to_string(), case))?);
        }
        if let Some(refused) = &case.refuse {
            let mut words = refused.split(' ');
            let program = words.next();
            let words: Vec<&str> = words.collect();
            let arguments = match words.is_empty() {
                true => json!("any"),
                false => json!({ "shape": { "subcommand": words, "flags": "any" } }),
            };
            rules.push(json!({
                "id": "refused", "agent": "*", "effect": "deny", "program": program, "arguments": arguments,
                "createdAtMs": 0, "from": "typed",
            }));
        }
        let presets: &[&str] = if rules.is_empty() { &["everyday"] } else { &[] };
        let defaults = match case.refuse {
            Some(_) => json!({ "security": "full", "ask": "off", "askFallback": "full" }),
            None => json!({ "security": "allowlist", "ask": "on-miss", "askFallback": "deny" }),
        };
        let own = json!({ "version": 1, "presets": presets, "rules": rules });
        let peer = json!({ "version": 1, "defaults": defaults, "agents": {} });
        let mut states = self.states.lock().map_err(|_| anyhow::anyhow!("another case failed"))?;
        let key = format!("{own}{peer}");
        if let Some(folder) = states.get(&key) {
            return Ok(folder.clone());
        }
        let folder = self.machine.root().join("states").join(states.len().to_string());
        for (below, name, text) in [("state", "rules.json", &own), ("peer", "exec-approvals.json", &peer)] {
            let below = folder.join(below);
            DirBuilder::new().recursive(true).mode(0o700).create(&below)?;
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(below.join(name))?;
            file.write_all(text.to_string().as_bytes())?;
        }
        self.give(&folder)?;
        states.insert(key, folder.clone());
        Ok(folder)
    }

    /// The machine's own programs, or the real ones where its own would count as the user's to change.
    fn search_path(&self, case: &Case) -> OsString {
        if self.is_whole || !case.rules.is_empty() {
            return self.machine.root().join("bin").into_os_string();
        }
        SYSTEM.into()
    }

    /// Gives everything at or below a path to the user that cases are judged as.
    fn give(&self, path: &Path) -> Result<()> {
        if !self.is_whole {
            return Ok(());
        }
        lchown(path, Some(NOBODY), Some(NOBODY))?;
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(path)? {
                self.give(&entry?.path())?;
            }
        }
        Ok(())
    }

    /// With the machine's folders in the place of `$W` (the case's own), `$H` (home), `$B` (programs), `$R`
    /// (all of it) and `$N` (the last part of that).
    fn whole(&self, text: &str, case: &Case) -> String {
        let root = self.machine.root();
        let name = |path: PathBuf| path.to_string_lossy().into_owned();
        let places = [
            ("$W", name(root.join("w").join(&case.folder))),
            ("$H", name(root.join("home"))),
            ("$B", name(root.join("bin"))),
            ("$R", name(root.to_owned())),
            ("$N", root.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        ];
        let mut whole = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            whole.push_str(before);
            let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let place = places
                .iter()
                .find(|(sign, _)| from.strip_prefix(sign).is_some_and(|behind| !behind.starts_with(goes_on)));
            match place {
                Some((sign, path)) => {
                    whole.push_str(path);
                    rest = from.get(sign.len()..).unwrap_or_default();
                }
                None => {
                    whole.push('$');
                    rest = from.get(1..).unwrap_or_default();
                }
            }
        }
        whole + rest
    }
}

fn is_installed(name: &str) -> bool {
    let builtin =
        ["cd", "echo", "printf", "test", "[", "true", "false", "pwd", "time", "!", "{"].contains(&name);
    builtin || name.contains('/') || SYSTEM.split(':').any(|folder| Path::new(folder).join(name).is_file())
}

/// Fails unless the machine's programs do what they are there for: nothing, and to show the name
/// that they run under.
pub(crate) fn check_programs(machine: &Machine) -> Result<()> {
    let cat = machine.root().join("w/argv0/bin/cargo");
    let shown = Running::start(command(&cat).arg("/proc/self/cmdline"))?.finish()?;
    ensure!(shown.stdout.split('\0').next().is_some_and(|name| name.ends_with("/cargo")), "{shown:?}");
    let nothing = machine.root().join("bin/rm");
    let done = Running::start(command(nothing).arg("x"))?.finish()?;
    ensure!((done.code, done.stdout.as_str(), done.stderr.as_str()) == (0, "", ""), "{done:?}");
    Ok(())
}

/// The command, in the machine's folder.
const PROGRAM: &str = "countersign";

/// The user that root judges as.
const NOBODY: u32 = 65_534;
