//! What `tools.json` says of commands that run without an entry, and of what needs a person in spite of one:
//! `tools.exec.safeBins`, `safeBinTrustedDirs`, `safeBinProfiles`, `strictInlineEval` in the peers' own keys,
//! and `extensions` of ours (docs/policy.md).
//!
//! Whatever is not understood trusts nothing. A name, a folder or a profile that would let something
//! dangerous run counts for nothing, and is told.

use crate::json::kind;
use crate::private::{self, Others};
use countersign_commands::command::carries_code;
use countersign_commands::profile::{Extension, Extensions, Profile};
use countersign_node::host::Trusts;
use countersign_policy::display::{self, Secrets};
use countersign_policy::evaluate::{InlineEval, Trust};
use countersign_policy::safe_bins::{CustomProfile, Refusal, SafeBins, Settings};
use countersign_protocol::edits::{BesideEntries, BesideScope};
use countersign_protocol::ids::AgentId;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// `tools.json` as far as it is about trust. It is read for each command, so that another program's
/// change counts at once.
#[derive(Clone, Debug)]
pub struct TrustFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    last: Mutex<Option<Read>>,
}

/// What was read last, and what it says.
#[derive(Debug)]
struct Read {
    text: Zeroizing<String>,
    trusted: Arc<Trusted>,
}

/// What is trusted now.
#[derive(Debug)]
pub struct Trusted {
    global: Kept,
    agents: BTreeMap<String, Kept>,
    problems: Vec<String>,
}

#[derive(Clone, Debug)]
struct Kept {
    trust: Arc<Trust>,
    names: Vec<String>,
    folders: Vec<PathBuf>,
}

/// `tools.exec` of all agents or of one.
#[derive(Clone, Debug, Default, PartialEq)]
struct Exec {
    safe_bins: Option<Vec<String>>,
    trusted_dirs: Option<Vec<PathBuf>>,
    profiles: BTreeMap<String, CustomProfile>,
    strict_inline_eval: Option<bool>,
    extensions: BTreeMap<String, bool>,
}

/// What in it makes no sense.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{path}: expected {expected}, got {got}")]
pub struct TrustError {
    path: String,
    expected: &'static str,
    got: String,
}

impl TrustFile {
    /// The file at `path`; there need not be one.
    pub fn new(path: PathBuf) -> Self {
        Self { inner: Arc::new(Inner { path, last: Mutex::default() }) }
    }

    /// What it says now. Blocking.
    pub fn now(&self) -> Arc<Trusted> {
        let Inner { path, last } = &*self.inner;
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match private::read(path, MAX_BYTES, Others::MayRead) {
            Ok(text) => text.unwrap_or_default(),
            Err(spoiled) => return Arc::new(Trusted::nothing(spoiled.to_string())),
        };
        if let Some(known) = last.as_ref().filter(|known| known.text == text) {
            return Arc::clone(&known.trusted);
        }
        let trusted = Arc::new(Trusted::of_text(&text));
        for problem in &trusted.problems {
            tracing::warn!("{}: {problem}", path.display());
        }
        *last = Some(Read { text, trusted: Arc::clone(&trusted) });
        trusted
    }
}

impl Trusts for TrustFile {
    // Asking another thread for it would take longer.
    fn of(&self, agent: &AgentId) -> Arc<Trust> {
        Arc::clone(&self.now().of(agent.as_str()).trust)
    }
}

impl Trusted {
    fn of_text(text: &str) -> Self {
        if text.is_empty() {
            return Self::of_document(&Map::new()).unwrap_or_else(|error| Self::nothing(error.to_string()));
        }
        let read = serde_json::from_str(text).map_err(|error| format!("expected a JSON object: {error}"));
        let made = read.and_then(|document| Self::of_document(&document).map_err(|error| error.to_string()));
        made.unwrap_or_else(Self::nothing)
    }

    fn of_document(document: &Map<String, Value>) -> Result<Self, TrustError> {
        let (global, agents) = read(document)?;
        let mut problems = Vec::new();
        let mut made = BTreeMap::new();
        let of_all = kept(&global, "tools.exec", &mut problems);
        for (id, own) in agents {
            let path = format!("agents.entries.{id}.tools.exec");
            made.insert(id, kept(&own.over(&global), &path, &mut problems));
        }
        problems.sort();
        problems.dedup();
        Ok(Self { global: of_all, agents: made, problems })
    }

    /// Nothing runs without an entry, and what is run from the command line itself is asked about.
    fn nothing(why: String) -> Self {
        let bins = Settings { names: Some(Vec::new()), ..Settings::default() };
        let trust = Trust {
            safe_bins: SafeBins::new(bins),
            inline_eval: InlineEval::NeedsApproval,
            profile: Profile::Attentive(Extensions::NONE),
            ..Trust::default()
        };
        let global = Kept { trust: Arc::new(trust), names: Vec::new(), folders: Vec::new() };
        Self { global, agents: BTreeMap::new(), problems: vec![why] }
    }

    fn of(&self, agent: &str) -> &Kept {
        self.agents.get(agent).unwrap_or(&self.global)
    }

    /// As people look at it.
    pub fn view(&self) -> BesideEntries {
        let shown = |text: &str| display::shown(text, Secrets::Show);
        let scope = |agent: Option<&str>, kept: &Kept| BesideScope {
            agent: agent.map(shown),
            programs: kept.names.iter().map(|name| shown(name)).collect(),
            folders: kept.folders.iter().map(|folder| shown(&folder.to_string_lossy())).collect(),
            strict: kept.trust.inline_eval == InlineEval::NeedsApproval,
        };
        let own = self.agents.iter().map(|(id, kept)| scope(Some(id), kept));
        BesideEntries {
            scopes: [scope(None, &self.global)].into_iter().chain(own).collect(),
            problems: self.problems.iter().map(|problem| display::escape(problem)).collect(),
        }
    }

    /// What counts for nothing, and why.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl Exec {
    /// An agent's own word before everybody's, key by key; profiles program by program.
    fn over(&self, global: &Self) -> Self {
        let mut profiles = global.profiles.clone();
        profiles.extend(self.profiles.clone());
        let mut extensions = global.extensions.clone();
        extensions.extend(self.extensions.clone());
        Self {
            safe_bins: self.safe_bins.clone().or_else(|| global.safe_bins.clone()),
            trusted_dirs: self.trusted_dirs.clone().or_else(|| global.trusted_dirs.clone()),
            profiles,
            strict_inline_eval: self.strict_inline_eval.or(global.strict_inline_eval),
            extensions,
        }
    }
}

fn kept(exec: &Exec, path: &str, problems: &mut Vec<String>) -> Kept {
    let mut folders = SafeBins::default().trusted_dirs().map(Path::to_owned).collect::<Vec<_>>();
    for folder in exec.trusted_dirs.iter().flatten() {
        match open_to_others(folder) {
            None => folders.push(folder.clone()),
            Some(why) => {
                problems
                    .push(format!("{path}.safeBinTrustedDirs: {} is not trusted: {why}", folder.display()));
            }
        }
    }
    let mut profiles = exec.profiles.clone();
    profiles.retain(|name, _| {
        let changes = changes_something(name);
        if changes {
            problems.push(format!("{path}.safeBinProfiles: {name} is no filter, whatever its arguments"));
        }
        !changes
    });
    let bins = SafeBins::new(Settings {
        names: exec.safe_bins.clone(),
        trusted_dirs: Some(folders.clone()),
        profiles,
    });
    let mut names = Vec::new();
    for name in bins.names() {
        match bins.may_be_safe(name) {
            Ok(()) => names.push(name.to_owned()),
            Err(Refusal::NoProfile(_)) => {
                problems.push(format!(
                    "{path}.safeBins: {name} counts for nothing: which of its arguments are harmless is not known \
                     (safeBinProfiles can say it)"
                ));
            }
            Err(why) => problems.push(format!("{path}.safeBins: {name} counts for nothing: {why}")),
        }
    }
    let off = exec.extensions.iter().filter(|(_, is_on)| !**is_on);
    let off = off.filter_map(|(name, _)| Extension::named(name));
    let extensions = off.fold(Extensions::ALL, Extensions::without);
    let inline_eval = match exec.strict_inline_eval {
        Some(true) => InlineEval::NeedsApproval,
        Some(false) | None => InlineEval::Covered,
    };
    let trust =
        Trust { safe_bins: bins, inline_eval, profile: Profile::Attentive(extensions), ..Trust::default() };
    Kept { trust: Arc::new(trust), names, folders }
}

/// Programs that change, send or start something: no arguments make filters of them.
fn changes_something(name: &str) -> bool {
    const CHANGING: &[&str] = &[
        "chgrp",
        "chmod",
        "chown",
        "cp",
        "crontab",
        "curl",
        "dd",
        "install",
        "kill",
        "ln",
        "mkdir",
        "mkfifo",
        "mknod",
        "mount",
        "mv",
        "nc",
        "ncat",
        "netcat",
        "openssl",
        "pkill",
        "rm",
        "rmdir",
        "rsync",
        "scp",
        "sftp",
        "shred",
        "socat",
        "split",
        "ssh",
        "systemctl",
        "tar",
        "tee",
        "touch",
        "truncate",
        "umount",
        "unlink",
        "unzip",
        "wget",
        "zip",
    ];
    let name = name.trim().to_lowercase();
    CHANGING.contains(&name.as_str()) || carries_code([name.as_str()])
}

/// Who could put a program there, besides the system: anybody who may write the folder or one
/// that it lies in.
fn open_to_others(folder: &Path) -> Option<String> {
    if !folder.is_absolute() {
        return Some("expected an absolute path".to_owned());
    }
    for above in folder.ancestors() {
        match std::fs::symlink_metadata(above) {
            Err(error) => return Some(error.to_string()),
            Ok(about) if !about.is_dir() => return Some(format!("{} is no folder", above.display())),
            Ok(about) if about.uid() != 0 => {
                return Some(format!(
                    "{} is not the system's, and whoever runs commands can write there",
                    above.display()
                ));
            }
            Ok(about) if about.mode() & 0o022 != 0 => {
                return Some(format!("{} can be written by others", above.display()));
            }
            Ok(_) => {}
        }
    }
    None
}

/// Checks the same keys for whoever reads the file for something else.
pub fn check(document: &Map<String, Value>) -> Result<(), TrustError> {
    read(document).map(drop)
}

fn read(document: &Map<String, Value>) -> Result<(Exec, BTreeMap<String, Exec>), TrustError> {
    let whole = Value::Object(document.clone());
    let global = exec(&whole, "")?;
    let mut agents = BTreeMap::new();
    let entries = whole.pointer("/agents/entries").and_then(Value::as_object);
    for (id, entry) in entries.into_iter().flatten() {
        let own = exec(entry, &format!("agents.entries.{id}."))?;
        agents.insert(id.clone(), own);
    }
    let list = whole.pointer("/agents/list").and_then(Value::as_array);
    for (at, entry) in list.into_iter().flatten().enumerate() {
        let own = exec(entry, &format!("agents.list[{at}]."))?;
        if let Some(id) = entry.get("id").and_then(Value::as_str) {
            agents.insert(id.to_owned(), own);
        }
    }
    agents.retain(|_, own| *own != Exec::default());
    Ok((global, agents))
}

fn exec(whole: &Value, path: &str) -> Result<Exec, TrustError> {
    let Some(members) = whole.pointer("/tools/exec").and_then(Value::as_object) else {
        return Ok(Exec::default());
    };
    let below = |key: &str| format!("{path}tools.exec.{key}");
    let wrong = |key: &str, expected, got: &Value| TrustError {
        path: below(key),
        expected,
        got: kind(got).to_owned(),
    };
    let safe_bins = members.get("safeBins").map(|value| texts(value, &below("safeBins"))).transpose()?;
    let trusted_dirs = members
        .get("safeBinTrustedDirs")
        .map(|value| texts(value, &below("safeBinTrustedDirs")))
        .transpose()?;
    let strict_inline_eval = match members.get("strictInlineEval") {
        None => None,
        Some(Value::Bool(truth)) => Some(*truth),
        Some(other) => return Err(wrong("strictInlineEval", "true or false", other)),
    };
    let mut profiles = BTreeMap::new();
    match members.get("safeBinProfiles") {
        None => {}
        Some(Value::Object(named)) => {
            for (name, value) in named {
                profiles.insert(name.clone(), profile(value, &below(&format!("safeBinProfiles.{name}")))?);
            }
        }
        Some(other) => return Err(wrong("safeBinProfiles", "an object", other)),
    }
    let mut extensions = BTreeMap::new();
    match members.get("extensions") {
        None => {}
        Some(Value::Object(named)) => {
            for (name, value) in named {
                let key = format!("extensions.{name}");
                let Value::Bool(is_on) = value else { return Err(wrong(&key, "true or false", value)) };
                if Extension::named(name).is_none() {
                    let got = format!("{name:?}");
                    return Err(TrustError { path: below("extensions"), expected: EXTENSIONS, got });
                }
                extensions.insert(name.clone(), *is_on);
            }
        }
        Some(other) => return Err(wrong("extensions", "an object", other)),
    }
    let trusted_dirs = trusted_dirs.map(|folders| folders.into_iter().map(PathBuf::from).collect());
    Ok(Exec { safe_bins, trusted_dirs, profiles, strict_inline_eval, extensions })
}

fn profile(value: &Value, path: &str) -> Result<CustomProfile, TrustError> {
    let Value::Object(members) = value else {
        return Err(TrustError { path: path.to_owned(), expected: "an object", got: kind(value).to_owned() });
    };
    let mut profile = CustomProfile::default();
    for (key, value) in members {
        let path = format!("{path}.{key}");
        let count = || {
            let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
            count.ok_or_else(|| TrustError {
                path: path.clone(),
                expected: "a whole number from 0 on",
                got: value.to_string(),
            })
        };
        match key.as_str() {
            "minPositional" => profile.min_positional = count()?,
            "maxPositional" => profile.max_positional = Some(count()?),
            "allowedValueFlags" => profile.allowed_value_flags = texts(value, &path)?,
            "deniedFlags" => profile.denied_flags = texts(value, &path)?,
            // A word that says less than was meant would let more run.
            _ => {
                let expected = "minPositional, maxPositional, allowedValueFlags or deniedFlags";
                return Err(TrustError { path, expected, got: format!("{key:?}") });
            }
        }
    }
    Ok(profile)
}

fn texts(value: &Value, path: &str) -> Result<Vec<String>, TrustError> {
    let wrong = |got: &Value| TrustError {
        path: path.to_owned(),
        expected: "a list of texts",
        got: kind(got).to_owned(),
    };
    let Value::Array(entries) = value else { return Err(wrong(value)) };
    entries.iter().map(|entry| entry.as_str().map(str::to_owned).ok_or_else(|| wrong(entry))).collect()
}

/// Names of extensions, for errors.
const EXTENSIONS: &str = "literal-output, plain-assignments, find-readers, shell-answers, stream-duplicate, null-device, \
                          line-continuation, exit-status, literal-substitution, group, path-names, comments, \
                          known-variable, double-bracket, input-file, conditional or loop";

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1_024 * 1_024;

#[cfg(test)]
mod tests;
