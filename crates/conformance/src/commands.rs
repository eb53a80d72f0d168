//! Cases about whole commands: taken apart, looked up on this machine and held against entries. Nothing runs.

use super::Profile;
use super::cases::{BinProfile, Surroundings, WrittenEntry};
use crate::reference;
use countersign_commands::analysis::{
    Analysis, Form, OpaqueReason, Operator, Segment, analyze_argv_as, analyze_text_as,
};
use countersign_commands::command::Mode;
use countersign_commands::profile;
use countersign_node::facts::{Places, gather};
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::always::{proposals, remembered};
use countersign_policy::bind::{Unbound, bind};
use countersign_policy::effective::BUILT_IN;
use countersign_policy::evaluate::{InlineEval, SkillBin, Skills, Trust, covers};
use countersign_policy::facts::{Facts, FolderFacts, ProgramFacts};
use countersign_policy::safe_bins::{SafeBins, Settings};
use countersign_protocol::vocabulary::Security;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command and what it is held against.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Case {
    #[serde(flatten)]
    subject: Subject,
    cwd: Option<PathBuf>,
    path: Option<String>,
    #[serde(default)]
    allowlist: Vec<WrittenEntry>,
    safe_bins: Option<Vec<String>>,
    trusted_dirs: Option<Vec<PathBuf>>,
    #[serde(default)]
    safe_bin_profiles: BTreeMap<String, BinProfile>,
    #[serde(default)]
    auto_allow_skills: bool,
    #[serde(default)]
    skill_bins: Vec<Skill>,
    #[serde(default)]
    strict_inline_eval: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Subject {
    Text { command: String },
    List { argv: Vec<String> },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Skill {
    name: String,
    resolved_path: PathBuf,
}

pub(crate) const EXPECTED: &str =
    "command or argv, allowlist?, cwd?, path?, safeBins?, trustedDirs?, autoAllowSkills?, skillBins?, …";

/// What a text is made of.
pub(crate) fn analyze(case: &Case, surroundings: &Surroundings) -> Value {
    let (analysis, facts) = probe(case, surroundings);
    let profile = surroundings.profile;
    let operators: Vec<&str> =
        analysis.segments.iter().filter_map(|segment| Some(operator(segment.operator?, profile))).collect();
    let segments: Vec<Value> =
        analysis.segments.iter().map(|one| segment(one, &analysis, &facts, profile)).collect();
    json!({
        "ok": analysis.opaque.is_none(),
        "reason": reason(&analysis, profile),
        "segments": segments,
        "operators": operators,
    })
}

/// Whether entries, safe bins, builtins and skills cover a command.
pub(crate) fn evaluate(case: Case, surroundings: &Surroundings) -> Value {
    let (analysis, facts) = probe(&case, surroundings);
    let rules = EntryIndex::new(case.allowlist.iter().map(WrittenEntry::entry).collect());
    let trusted = || surroundings.fixture.as_ref().map(|fixture| vec![fixture.join("safe")]);
    let profiles = case.safe_bin_profiles.into_iter().map(|(name, profile)| (name, profile.into()));
    let trust = Trust {
        safe_bins: SafeBins::new(Settings {
            names: case.safe_bins,
            trusted_dirs: case.trusted_dirs.or_else(trusted),
            profiles: profiles.collect(),
        }),
        skills: case
            .skill_bins
            .into_iter()
            .map(|skill| SkillBin { name: skill.name, real_path: skill.resolved_path })
            .collect(),
        ..Trust::default()
    };
    let skills = if case.auto_allow_skills { Skills::Allowed } else { Skills::NotAllowed };
    let covers = covers(&analysis, &facts, &rules, &trust, skills);
    let covered = analysis.opaque.is_none() && !covers.is_empty() && covers.iter().all(Result::is_ok);
    let unbound = match surroundings.profile {
        // The peers pin what they run in another step.
        Profile::Reference => None,
        Profile::Attentive => bind(&analysis, &facts).err().filter(|_| covered),
    };
    json!({
        "satisfied": covered && unbound.is_none(),
        "analysisOk": analysis.opaque.is_none(),
        "satisfiedBy": covers.iter().map(|cover| cover.as_ref().ok().map(|cover| cover.as_str())).collect::<Vec<_>>(),
        "reason": reason(&analysis, surroundings.profile),
        "unbound": unbound.map(Unbound::as_str),
    })
}

/// What "always" would store for a command.
pub(crate) fn allow_always(case: &Case, surroundings: &Surroundings) -> Value {
    let (analysis, facts) = probe(case, surroundings);
    let offered = |entries: Vec<Value>, marker: bool| {
        json!({
            "offered": true,
            "kind": "patterns",
            "reasons": [],
            "entries": entries,
            "marker": marker,
        })
    };
    let refused = |reason: Value| {
        json!({
            "offered": false,
            "kind": "one-shot",
            "reasons": [reason],
            "entries": [],
            "marker": false,
        })
    };
    let entry = |pattern: &str, arguments: &str| json!({ "pattern": pattern, "argPattern": arguments });
    match surroundings.profile {
        Profile::Reference => {
            let inline =
                if case.strict_inline_eval { InlineEval::NeedsApproval } else { InlineEval::Covered };
            match remembered(&analysis, &facts, inline) {
                Ok(stored) => {
                    let entries = stored.entries.iter().map(|one| entry(&one.pattern, &one.arg_pattern));
                    offered(entries.collect(), stored.marker)
                }
                Err(reason) => refused(reason.as_str().into()),
            }
        }
        Profile::Attentive => {
            let mut policy = BUILT_IN;
            policy.security.value = Security::Allowlist;
            match proposals(&analysis, &facts, &policy) {
                Ok(proposals) => {
                    let bound = proposals.iter().filter_map(|proposal| {
                        Some(entry(&proposal.pattern, proposal.arg_pattern.as_deref()?))
                    });
                    offered(bound.collect(), false)
                }
                Err(reason) => refused(json!(reason)),
            }
        }
    }
}

fn probe(case: &Case, surroundings: &Surroundings) -> (Analysis, Facts) {
    let profile = match surroundings.profile {
        Profile::Reference => profile::Profile::Reference,
        Profile::Attentive => profile::Profile::ATTENTIVE,
    };
    let analysis = match &case.subject {
        Subject::Text { command } => analyze_text_as(command, profile),
        Subject::List { argv } => analyze_argv_as(argv, profile),
    };
    let cwd = case.cwd.clone().unwrap_or_else(|| surroundings.cwd());
    let path = case.path.clone().map_or_else(|| surroundings.path(), OsString::from);
    let places = Places { path: &path, cwd: &cwd, home: &surroundings.home };
    let mut facts = gather(&[], &analysis, places);
    // A case may speak of a folder that is not here; nothing will run in it.
    facts.cwd.get_or_insert_with(|| FolderFacts { given: cwd.clone(), real_path: cwd, dev: 0, ino: 0 });
    (analysis, facts)
}

fn operator(operator: Operator, profile: Profile) -> &'static str {
    match (operator, profile) {
        // The peers take both for the same.
        (Operator::PipeBoth, Profile::Reference) => Operator::Pipe.as_str(),
        (operator, _) => operator.as_str(),
    }
}

fn reason(analysis: &Analysis, profile: Profile) -> Option<&'static str> {
    let reason = analysis.opaque.as_ref()?.reason;
    Some(match (reason, analysis.form, profile) {
        (OpaqueReason::Empty, Form::Text, Profile::Reference) => "no commands to authorize",
        (OpaqueReason::Empty, Form::Arguments, Profile::Reference) => "empty argv",
        (OpaqueReason::TooLong, _, Profile::Reference) => "too-large",
        (reason, _, _) => reason.as_str(),
    })
}

fn segment(segment: &Segment, analysis: &Analysis, facts: &Facts, profile: Profile) -> Value {
    let program = segment.policy().and_then(|word| facts.programs.get(&word.text));
    let mode = match segment.candidate.mode {
        Mode::Executable => "executable",
        Mode::ExactCommand => "exact-command",
        Mode::PromptOnly(_) => "prompt-only",
    };
    json!({
        "argv": words(segment, profile),
        "path": program.and_then(real_path),
        "mode": mode,
        "reusable": segment.candidate.mode == Mode::Executable,
        "transport": analysis.transport.as_str(),
    })
}

/// The words of a command.
fn words(segment: &Segment, profile: Profile) -> Vec<&str> {
    match profile {
        Profile::Reference => reference::words::listed(segment),
        Profile::Attentive => segment.words.iter().map(|word| word.text.as_str()).collect(),
    }
}

fn real_path(program: &ProgramFacts) -> Option<&Path> {
    program.real_path.as_deref().or(program.path.as_deref())
}
