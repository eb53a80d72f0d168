//! What each kind of case means. The shapes are those of the peers' published vectors.

use super::line::CaseError;
use super::{Profile, commands, display, document};
use crate::reference::{self, Mode, Release};
use crate::windows;
use countersign_commands::environment;
use countersign_commands::raw_command;
use countersign_node::socket::auth;
use countersign_policy::allowlist::{self, Entry, Target};
use countersign_policy::effective::{BUILT_IN, Requested};
use countersign_policy::evaluate::{Covered, needs_prompt};
use countersign_policy::facts::ProgramFacts;
use countersign_policy::inline_eval::{self, Hit};
use countersign_policy::safe_bins::{self, CustomProfile, SafeBins};
use countersign_protocol::secret::SocketToken;
use countersign_protocol::vocabulary::{Ask, Security};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// What a case does not say itself.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Whose verdicts.
    pub profile: Profile,
    /// The folder tree that cases were written for: commands run in its `work`, programs are in its `bin` and
    /// `safe`. Without one, they are where this process has them.
    pub fixture: Option<PathBuf>,
    /// What `~` stands for.
    pub home: PathBuf,
}

impl Surroundings {
    /// Where a command runs.
    pub(crate) fn cwd(&self) -> PathBuf {
        match &self.fixture {
            Some(fixture) => fixture.join("work"),
            None => std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        }
    }

    /// Where its programs are looked up.
    pub(crate) fn path(&self) -> OsString {
        match &self.fixture {
            Some(fixture) => {
                let mut path = fixture.join("bin").into_os_string();
                path.push(":");
                path.push(fixture.join("safe"));
                path
            }
            None => std::env::var_os("PATH").unwrap_or_default(),
        }
    }
}

/// The result of a case.
pub(crate) fn answer(op: &str, input: &Value, surroundings: &Surroundings) -> Result<Value, CaseError> {
    let profile = surroundings.profile;
    Ok(match op {
        "allow-always" => commands::allow_always(&read(input, commands::EXPECTED)?, surroundings),
        "analyze-shell" => commands::analyze(&read(input, commands::EXPECTED)?, surroundings),
        "display" => display::answer(read(input, display::EXPECTED)?, profile),
        "document" => document::answer(read(input, document::EXPECTED)?, surroundings),
        "env-override" => environment(read(input, "key and value, scope?, shellWrapper?")?, profile),
        "evaluate" | "evaluate-argv" | "wrapper" => {
            commands::evaluate(read(input, commands::EXPECTED)?, surroundings)
        }
        "hash" => hash(read(input, "fn command, cwd-argv or hmac with its members")?),
        "inline-eval" => inline_eval(&read(input, "argv or pattern")?),
        "match-pattern" => matching(&read(input, "entries and target, argv?, cwd?")?, surroundings),
        "policy" => policy(&read(input, "fn min-security or max-ask with a and b, or fn mode with mode")?),
        "raw-command" => raw(&read(input, "argv and rawCommand, version?")?, profile),
        "requires-approval" => approval(read(input, APPROVAL)?, profile),
        "safe-bin" => {
            safe_bin(read(input, "argv and resolvedPath, safeBins?, trustedDirs?, …")?, surroundings)
        }
        "windows" => windows_text(&read(input, "kind analyze with command, or kind escape with value")?),
        _ => return Err(CaseError::new("op", OPS, &op.into())),
    })
}

fn read<T: DeserializeOwned>(input: &Value, expected: &str) -> Result<T, CaseError> {
    T::deserialize(input).map_err(|error| CaseError::new(error, expected, input))
}

/// The release that a case is about.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) enum Version {
    #[serde(rename = "2026.2.19")]
    Older,
    #[default]
    #[serde(rename = "2026.9.6")]
    Newest,
}

impl From<Version> for Release {
    fn from(version: Version) -> Self {
        match version {
            Version::Older => Self::Older,
            Version::Newest => Self::Newest,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Variable {
    key: String,
    value: String,
    scope: Option<Scope>,
    #[serde(default)]
    shell_wrapper: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scope {
    Inherited,
}

fn environment(variable: Variable, profile: Profile) -> Value {
    let Variable { key, value, scope, shell_wrapper } = variable;
    let says = |verdict: &str, key: Option<String>, value: Option<String>| json!({ "verdict": verdict, "key": key, "value": value });
    if let Some(Scope::Inherited) = scope {
        return match environment::inherited([(key, value)]).pop_first() {
            Some((key, value)) => says("kept", Some(key), Some(value)),
            None => says("removed", None, None),
        };
    }
    let target = if shell_wrapper { environment::Target::ShellWrapper } else { environment::Target::Program };
    match environment::overrides(&BTreeMap::from([(key, value)]), target) {
        Ok(mut checked) => match checked.accepted.pop_first() {
            Some((key, value)) => {
                says(if shell_wrapper { "kept" } else { "accepted" }, Some(key), Some(value))
            }
            None => says("dropped", None, None),
        },
        // The peers refuse before they get to the shell, so this step of theirs only ever drops.
        Err(_) if shell_wrapper && profile == Profile::Reference => says("dropped", None, None),
        Err(mut rejected) => match rejected.blocked.pop() {
            Some(key) => says("blocked", Some(key), None),
            None => says("invalid", rejected.invalid.pop(), None),
        },
    }
}

#[derive(Deserialize)]
#[serde(tag = "fn", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Hash {
    Command { text: String },
    CwdArgv { argv: Vec<String>, cwd: String, platform: Option<String> },
    Hmac { token: String, nonce: String, ts: i64, request_json: String },
}

fn hash(hash: Hash) -> Value {
    let value = match hash {
        Hash::Command { text } => allowlist::exact_command(&text),
        Hash::CwdArgv { argv, cwd, platform } => {
            let args = argv.get(1..).unwrap_or_default();
            let on_windows = platform.as_deref() == Some(WINDOWS);
            allowlist::bound_arguments(&if on_windows { cwd.replace('\\', "/") } else { cwd }, args)
        }
        Hash::Hmac { token, nonce, ts, request_json } => {
            // A blank token is no token.
            let Some(token) = SocketToken::parse(&token) else { return json!({ "value": null }) };
            auth::sign(&token, &nonce, ts, &request_json)
        }
    };
    json!({ "value": value })
}

#[derive(Deserialize)]
#[serde(untagged)]
enum InlineEval {
    Argv { argv: Vec<String> },
    Pattern { pattern: String },
}

fn inline_eval(case: &InlineEval) -> Value {
    match case {
        InlineEval::Pattern { pattern } => {
            json!({ "interpreterLike": inline_eval::interpreter_like(pattern) })
        }
        InlineEval::Argv { argv } => {
            let hit = inline_eval::detect(argv);
            json!({
                "hit": hit.is_some(),
                "executable": hit.as_ref().map(|hit| &hit.executable),
                "flag": hit.as_ref().map(|hit| hit.carrier.to_string()),
                "label": hit.as_ref().map(Hit::label),
            })
        }
    }
}

/// An allowlist entry as a case writes it.
#[derive(Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum WrittenEntry {
    Pattern(String),
    Members {
        pattern: String,
        arg_pattern: Option<String>,
        source: Option<String>,
        command_text: Option<String>,
    },
}

impl WrittenEntry {
    pub(crate) fn entry(&self) -> Entry {
        let (pattern, arg_pattern, source) = match self {
            Self::Pattern(pattern) => (pattern, None, None),
            Self::Members { pattern, arg_pattern, source, .. } => {
                (pattern, arg_pattern.clone(), source.as_deref())
            }
        };
        Entry {
            agent: AGENT.to_owned(),
            id: String::new(),
            pattern: pattern.clone(),
            arg_pattern,
            generated: source == Some(GENERATED),
        }
    }

    fn stored_text(&self) -> Option<&str> {
        match self {
            Self::Members { command_text, source, .. } if source.as_deref() == Some(GENERATED) => {
                command_text.as_deref()
            }
            Self::Members { .. } | Self::Pattern(_) => None,
        }
    }

    fn is_generated(&self) -> bool {
        self.entry().generated
    }
}

#[derive(Deserialize)]
struct Matching {
    entries: Vec<WrittenEntry>,
    target: Option<MatchTarget>,
    argv: Option<Vec<String>>,
    cwd: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MatchTarget {
    typed: Option<String>,
    path: Option<PathBuf>,
    real_path: Option<PathBuf>,
}

fn matching(case: &Matching, surroundings: &Surroundings) -> Value {
    let mut rules: Vec<Entry> = case.entries.iter().map(WrittenEntry::entry).collect();
    let is_narrow =
        |rule: &&mut Entry| rule.arg_pattern.as_deref().is_some_and(|pattern| !pattern.is_empty());
    // Arguments that nobody knows are none that a pattern could fit.
    for rule in rules.iter_mut().filter(|rule| case.argv.is_none() && is_narrow(rule)) {
        rule.pattern.clear();
    }
    let none = MatchTarget::default();
    let target = case.target.as_ref().unwrap_or(&none);
    let program = ProgramFacts {
        path: target.path.clone(),
        real_path: target.real_path.clone(),
        ..ProgramFacts::default()
    };
    let target = Target {
        typed: target.typed.as_deref().unwrap_or_default(),
        program: &program,
        args: case.argv.as_ref().and_then(|argv| argv.get(1..)).unwrap_or_default(),
        cwd: case.cwd.as_deref(),
        home: &surroundings.home,
    };
    let index = allowlist::matching(&rules, target);
    json!({ "matches": index.is_some(), "index": index })
}

#[derive(Deserialize)]
#[serde(tag = "fn", rename_all = "kebab-case")]
enum Policy {
    MinSecurity { a: Security, b: Security },
    MaxAsk { a: Ask, b: Ask },
    Mode { mode: String },
}

fn policy(case: &Policy) -> Value {
    let mut layered = BUILT_IN;
    let value = match case {
        Policy::MinSecurity { a, b } => {
            layered.security.value = *a;
            json!(layered.hardened(Requested { security: Some(*b), ask: None }).security.value)
        }
        Policy::MaxAsk { a, b } => {
            layered.ask.value = *a;
            json!(layered.hardened(Requested { security: None, ask: Some(*b) }).ask.value)
        }
        Policy::Mode { mode } => Mode::from_word(mode).map_or(
            Value::Null,
            |mode| json!({ "security": mode.security, "ask": mode.ask, "autoReview": mode.auto_review }),
        ),
    };
    json!({ "value": value })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCommand {
    #[serde(default)]
    version: Version,
    argv: Vec<String>,
    raw_command: Option<String>,
}

fn raw(case: &RawCommand, profile: Profile) -> Value {
    let (argv, raw) = (&case.argv, case.raw_command.as_deref());
    let refused = |code: &str, message: &str| {
        json!({
            "ok": false,
            "commandText": null,
            "shellPayload": null,
            "preview": null,
            "code": code,
            "message": message,
        })
    };
    let is_nothing = raw.is_none_or(|raw| raw.trim().is_empty());
    if argv.is_empty()
        && is_nothing
        && (profile, Release::from(case.version)) == (Profile::Reference, Release::Newest)
    {
        return json!({
            "ok": true,
            "commandText": "",
            "shellPayload": null,
            "preview": null,
            "code": null,
            "message": null,
        });
    }
    if argv.is_empty() {
        return refused("MISSING_COMMAND", "rawCommand requires params.command");
    }
    let agreed = match profile {
        Profile::Reference => reference::raw_command::check(case.version.into(), argv, raw),
        Profile::Attentive => raw_command::check(argv, raw),
    };
    match agreed {
        Ok(agreed) => json!({
            "ok": true,
            "commandText": agreed.command_text,
            "shellPayload": agreed.shell_payload,
            "preview": agreed.preview,
            "code": null,
            "message": null,
        }),
        Err(mismatch) => refused("RAW_COMMAND_MISMATCH", &mismatch.to_string()),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Approval {
    Kind(ApprovalKind),
    Truth(Truth),
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum ApprovalKind {
    Decisions {
        ask: Option<String>,
        #[serde(default)]
        one_shot: bool,
    },
    Durable {
        analysis_ok: bool,
        segment_entries: Vec<Option<WrittenEntry>>,
        allowlist: Vec<WrittenEntry>,
        command_text: String,
    },
    ExactCommand {
        command_text: String,
        allowlist: Vec<WrittenEntry>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Truth {
    ask: Ask,
    security: Security,
    analysis_ok: bool,
    satisfied: bool,
    #[serde(default)]
    durable: bool,
}

fn approval(case: Approval, profile: Profile) -> Value {
    match case {
        Approval::Truth(Truth { ask, security, analysis_ok, satisfied, durable }) => {
            let satisfied = analysis_ok && satisfied;
            let required = match profile {
                Profile::Reference => reference::requires_approval(ask, security, satisfied, durable),
                Profile::Attentive => {
                    let covered = if satisfied || durable { Covered::ByRules } else { Covered::No };
                    needs_prompt(security, ask, covered)
                }
            };
            json!({ "required": required })
        }
        Approval::Kind(ApprovalKind::Decisions { ask, one_shot }) => {
            let ask = ask.and_then(|word| Ask::from_word(&word.trim().to_lowercase()));
            json!({ "decisions": reference::decisions(ask, one_shot) })
        }
        Approval::Kind(ApprovalKind::ExactCommand { command_text, allowlist }) => {
            json!({ "durable": is_exact(&allowlist, &command_text, profile) })
        }
        Approval::Kind(ApprovalKind::Durable { analysis_ok, segment_entries, allowlist, command_text }) => {
            let stored =
                |entry: &Option<WrittenEntry>| entry.as_ref().is_some_and(WrittenEntry::is_generated);
            let by_segments =
                analysis_ok && !segment_entries.is_empty() && segment_entries.iter().all(stored);
            json!({ "durable": by_segments || is_exact(&allowlist, &command_text, profile) })
        }
    }
}

/// The legacy member with the text counts for the peers only.
fn is_exact(entries: &[WrittenEntry], command: &str, profile: Profile) -> bool {
    let rules: Vec<Entry> = entries.iter().map(WrittenEntry::entry).collect();
    let texts = entries.iter().filter_map(WrittenEntry::stored_text);
    match profile {
        Profile::Reference => reference::is_exact_grant(&rules, texts, command),
        Profile::Attentive => reference::is_exact_grant(&rules, [], command),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SafeBin {
    argv: Vec<String>,
    resolved_path: Option<PathBuf>,
    safe_bins: Option<Vec<String>>,
    trusted_dirs: Option<Vec<PathBuf>>,
    #[serde(default)]
    safe_bin_profiles: BTreeMap<String, BinProfile>,
    platform: Option<String>,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
pub(crate) struct BinProfile {
    min_positional: usize,
    max_positional: Option<usize>,
    allowed_value_flags: Vec<String>,
    denied_flags: Vec<String>,
}

impl From<BinProfile> for CustomProfile {
    fn from(profile: BinProfile) -> Self {
        Self {
            min_positional: profile.min_positional,
            max_positional: profile.max_positional,
            allowed_value_flags: profile.allowed_value_flags,
            denied_flags: profile.denied_flags,
        }
    }
}

fn safe_bin(case: SafeBin, surroundings: &Surroundings) -> Value {
    let trusted = || surroundings.fixture.as_ref().map(|fixture| vec![fixture.join("safe")]);
    let bins = SafeBins::new(safe_bins::Settings {
        names: case.safe_bins,
        trusted_dirs: case.trusted_dirs.or_else(trusted),
        profiles: case.safe_bin_profiles.into_iter().map(|(name, profile)| (name, profile.into())).collect(),
    });
    let platform = match case.platform.as_deref() {
        Some(WINDOWS) => safe_bins::Platform::Windows,
        _ => safe_bins::Platform::Posix,
    };
    // What was not found is nothing that could be trusted.
    let Some(found) = case.resolved_path else { return json!({ "satisfied": false, "reason": null }) };
    let verdict = bins.check(&case.argv, &found, &found, platform);
    json!({ "satisfied": verdict.is_ok(), "reason": verdict.err().map(|refusal| refusal.to_string()) })
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum WindowsText {
    Analyze { command: String },
    Escape { value: String },
}

fn windows_text(case: &WindowsText) -> Value {
    match case {
        WindowsText::Analyze { command } => match windows::analyze(command) {
            Ok(argv) => json!({ "ok": true, "argv": argv, "reason": null }),
            Err(opaque) => json!({ "ok": false, "argv": null, "reason": opaque.to_string() }),
        },
        WindowsText::Escape { value } => {
            let escaped = windows::escape(value);
            json!({ "ok": escaped.is_ok(), "escaped": escaped.ok() })
        }
    }
}

const OPS: &str = "allow-always, analyze-shell, display, document, env-override, evaluate, evaluate-argv, hash, inline-eval, \
                   match-pattern, policy, raw-command, requires-approval, safe-bin, windows or wrapper";

const APPROVAL: &str = "ask, security, analysisOk and satisfied, or kind exact-command, durable or decisions";

/// The agent that entries of a case belong to.
const AGENT: &str = "main";

/// The `source` of an entry that an answer made.
const GENERATED: &str = "allow-always";

/// How a case spells Windows.
const WINDOWS: &str = "win32";
