//! Changing the rule document, with the edits that take a change back.

use countersign_policy::calls::{self, CallProblem};
use countersign_policy::counts::{Idle, call_never, rule_never};
use countersign_policy::rules::{self, PRESETS, RuleProblem, Unproven};
use countersign_policy::workspaces::{self, WorkspaceProblem};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::rule_edits::{PresetSwitch, RuleEdit};
use countersign_protocol::rules::{
    Attendance, CallRule, CallRuleDraft, CommandRule, FolderStanding, RuleDocument, RuleDraft, RuleEffect,
    RuleLimits, RuleOrigin, StoredRule, Workspace, WorkspaceDraft,
};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// Rules that a document may hold. More than anybody reads; the bound keeps comparing two documents quick.
pub(crate) const MAX_RULES: u32 = 2_000;

/// Id of a rule that is only looked at.
const UNSTORED: &str = "-";

/// Longest note, in characters: a sentence or two.
const MAX_NOTE_CHARS: u32 = 500;

/// An edit that makes no sense.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleEditError {
    /// No such rule.
    #[error("there is no rule {0}")]
    NoRule(String),
    /// Nothing opens it.
    #[error("{0} is not open")]
    NotOpen(String),
    /// What would come back is there.
    #[error("there is a rule {0} already")]
    Exists(String),
    /// A rule without an id.
    #[error("the rule has a blank id")]
    NoId,
    /// No such preset.
    #[error("there is no preset {0:?}; there are {known}", known = known_presets())]
    NoPreset(String),
    /// Something in the rule contradicts itself.
    #[error("the rule cannot be stored: {0}")]
    Rule(RuleProblem),
    /// It refuses less than it says.
    #[error("the rule cannot be stored: {0}")]
    Unproven(Unproven),
    /// It allows nothing, whatever is asked about.
    #[error("the rule cannot be stored: it never counts: {0}")]
    Idle(Idle),
    /// The same of one about calls.
    #[error("the rule cannot be stored: it never counts: {0}")]
    IdleCall(Idle),
    /// Something in what a rule about calls is about does.
    #[error("the rule cannot be stored: {0}")]
    Call(CallProblem),
    /// Something in an open folder does.
    #[error("the folder cannot be opened: {0}")]
    Workspace(WorkspaceProblem),
    /// A number of uses of a refusing rule, which would be counted down by what it refuses, and
    /// then let it through.
    #[error("the rule cannot be stored: a refusing rule has no number of uses")]
    RefusalUses,
    /// No use at all.
    #[error("the rule cannot be stored: it could never be used")]
    NoUses,
    /// A session without a name.
    #[error("the rule cannot be stored: the session is blank")]
    Session,
    /// Too much text.
    #[error("the note is longer than {most} characters")]
    Note {
        /// So many fit.
        most: u32,
    },
    /// Too many rules.
    #[error("there are {most} rules already; remove some first")]
    TooMany {
        /// So many fit.
        most: u32,
    },
}

macro_rules! told_once {
    ($($problem:ident => $told:ident),+) => {$(
        impl From<$problem> for RuleEditError {
            fn from(problem: $problem) -> Self {
                Self::$told(problem)
            }
        }
    )+};
}

// What is wrong is in the words already, and no source of them: whoever writes out sources
// would say it twice.
told_once!(RuleProblem => Rule, Unproven => Unproven, Idle => Idle, CallProblem => Call, WorkspaceProblem => Workspace);

/// The document after edits, and the edits that take them back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edited {
    pub(super) document: RuleDocument,
    /// In the order in which to apply them.
    pub(super) undo: Vec<RuleEdit>,
}

/// What a new rule is stamped with.
pub(super) struct NewRule<'a> {
    pub(super) new_id: &'a mut dyn FnMut() -> String,
    pub(super) now_ms: i64,
    pub(super) from: RuleOrigin,
    /// Follows every link of a path that is there.
    pub(super) real: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

impl NewRule<'_> {
    /// A rule about a program in the form in which programs are compared.
    fn in_normal_form(&self, rule: &RuleDraft) -> Result<RuleDraft, RuleEditError> {
        let program = rules::program_as_stored(&rule.program, rule.effect, self.real)?;
        // A command that was seen may have any word; who types one means what is compared.
        if self.from == RuleOrigin::Typed {
            rules::check_typed_words(&rule.arguments)?;
        }
        Ok(RuleDraft { program, ..rule.clone() })
    }

    /// The same for a rule about calls.
    fn call_in_normal_form(&self, rule: &CallRuleDraft) -> Result<CallRuleDraft, RuleEditError> {
        let about = calls::about_as_stored(&rule.about, self.real)?;
        Ok(CallRuleDraft { about, ..rule.clone() })
    }
}

/// Applies edits, all or none. Adding a rule without limits that is there already changes nothing.
pub(super) fn apply(
    document: &RuleDocument,
    edits: &[RuleEdit],
    mut stamp: NewRule<'_>,
) -> Result<Edited, RuleEditError> {
    let mut document = document.clone();
    let mut undo = Vec::new();
    for edit in edits {
        undo.extend(apply_one(&mut document, edit, &mut stamp)?);
    }
    undo.reverse();
    Ok(Edited { document, undo })
}

/// Whether a document could be stored and read back.
pub(super) fn check(document: &RuleDocument) -> Result<(), RuleEditError> {
    document.rules.iter().try_for_each(Checked::check)?;
    document.calls.iter().try_for_each(Checked::check)?;
    document.workspaces.iter().try_for_each(Checked::check)?;
    let mut ids = HashSet::new();
    for rule in document.every() {
        if !ids.insert(rule.id()) {
            return Err(RuleEditError::Exists(rule.id().to_owned()));
        }
    }
    if ids.len() > MAX_RULES as usize { Err(RuleEditError::TooMany { most: MAX_RULES }) } else { Ok(()) }
}

fn apply_one(
    document: &mut RuleDocument,
    edit: &RuleEdit,
    stamp: &mut NewRule<'_>,
) -> Result<Vec<RuleEdit>, RuleEditError> {
    let undo = match edit {
        RuleEdit::AddRule { rule: draft } => {
            let draft = stamp.in_normal_form(draft)?;
            let is_there = is_there(&document.rules, &draft, says);
            let id = if is_there { UNSTORED.to_owned() } else { (stamp.new_id)() };
            let rule = draft.into_rule(id, stamp.now_ms, stamp.from.clone());
            rule.check()?;
            prove(&rule)?;
            if is_there {
                return Ok(Vec::new());
            }
            Some(insert(document, usize::MAX, rule)?)
        }
        RuleEdit::AddCallRule { rule: draft } => {
            let draft = stamp.call_in_normal_form(draft)?;
            if is_there(&document.calls, &draft, says_of_calls) {
                return Ok(Vec::new());
            }
            let rule = draft.into_rule((stamp.new_id)(), stamp.now_ms, stamp.from.clone());
            rule.check()?;
            prove_call(&rule)?;
            Some(insert(document, usize::MAX, rule)?)
        }
        RuleEdit::OpenWorkspace { rule } => return open(document, rule, stamp),
        RuleEdit::CloseWorkspace { folder, agent } => return close(document, folder, agent, stamp),
        RuleEdit::RestoreRule { index, rule } => Some(insert(document, place(*index), rule.clone())?),
        RuleEdit::RestoreCallRule { index, rule } => Some(insert(document, place(*index), rule.clone())?),
        RuleEdit::RestoreWorkspace { index, rule } => Some(insert(document, place(*index), rule.clone())?),
        RuleEdit::RemoveRule { id } => Some(remove(document, id)?),
        RuleEdit::ReplaceRule { id, rule: draft } => {
            let draft = stamp.in_normal_form(draft)?;
            let old = replace(&mut document.rules, id, |old| {
                draft.into_rule(old.id.clone(), old.created_at_ms, old.from.clone())
            })?;
            let new = find(&document.rules, id).ok().and_then(|at| document.rules.get(at));
            if let Some(new) = new.filter(|new| !is_about_the_same(new, &old)) {
                prove(new)?;
            }
            Some(RuleEdit::ReplaceRule { id: id.clone(), rule: says(&old) })
        }
        RuleEdit::ReplaceCallRule { id, rule: draft } => {
            let draft = stamp.call_in_normal_form(draft)?;
            let old = replace(&mut document.calls, id, |old| {
                draft.into_rule(old.id.clone(), old.created_at_ms, old.from.clone())
            })?;
            let new = find(&document.calls, id).ok().and_then(|at| document.calls.get(at));
            if let Some(new) = new.filter(|new| new.about != old.about || new.effect != old.effect) {
                prove_call(new)?;
            }
            Some(RuleEdit::ReplaceCallRule { id: id.clone(), rule: says_of_calls(&old) })
        }
        RuleEdit::ReplaceWorkspace { id, rule: draft } => {
            let old = replace(&mut document.workspaces, id, |old| {
                draft.clone().into_rule(old.id.clone(), old.created_at_ms, old.from.clone())
            })?;
            Some(RuleEdit::ReplaceWorkspace { id: id.clone(), rule: old.draft() })
        }
        RuleEdit::MoveRule { id, index } => {
            let rules = &mut document.rules;
            let at = find(rules, id)?;
            let rule = rules.remove(at);
            rules.insert(place(*index).min(rules.len()), rule);
            Some(RuleEdit::MoveRule { id: id.clone(), index: index_of(at) })
        }
        RuleEdit::SwitchPreset { name, to } => switch(&mut document.presets, name, *to)?,
    };
    Ok(undo.into_iter().collect())
}

/// Opens a folder, in place of what opens or closes it for the same agent: what is said last about it is what
/// is meant, also where that is less. A rule for a session stands beside one that is for all.
fn open(
    document: &mut RuleDocument,
    draft: &WorkspaceDraft,
    stamp: &mut NewRule<'_>,
) -> Result<Vec<RuleEdit>, RuleEditError> {
    if is_there(&document.workspaces, draft, Workspace::draft) {
        return Ok(Vec::new());
    }
    let gives_way = |rule: &&Workspace| {
        draft.standing.is_open()
            && rule.folder == draft.folder
            && rule.agent == draft.agent
            && (!rule.standing.is_open() || rule.limits.session == draft.limits.session)
    };
    let replaced: Vec<String> =
        document.workspaces.iter().filter(gives_way).map(|rule| rule.id.clone()).collect();
    let mut undo = Vec::new();
    for id in &replaced {
        undo.push(remove(document, id)?);
    }
    let rule = draft.clone().into_rule((stamp.new_id)(), stamp.now_ms, stamp.from.clone());
    undo.push(insert(document, usize::MAX, rule)?);
    Ok(undo)
}

/// Closes a folder with all below it.
fn close(
    document: &mut RuleDocument,
    folder: &str,
    agent: &str,
    stamp: &mut NewRule<'_>,
) -> Result<Vec<RuleEdit>, RuleEditError> {
    let is_meant = |rule: &Workspace| agent == WILDCARD_AGENT || rule.agent == agent;
    let opens = |rule: &&Workspace| rule.standing.is_open();
    let opening = document.workspaces.iter().filter(opens);
    let below = opening.filter(|rule| is_meant(rule) && Path::new(&rule.folder).starts_with(folder));
    let below: Vec<String> = below.map(|rule| rule.id.clone()).collect();
    let mut undo = Vec::new();
    for id in &below {
        undo.push(remove(document, id)?);
    }
    // What is left opens it by a folder around it, or below it for more agents than this one.
    let is_for = |rule: &Workspace| is_meant(rule) || rule.agent == WILDCARD_AGENT;
    let still: Vec<String> = document
        .workspaces
        .iter()
        .filter(opens)
        .filter(|rule| is_for(rule))
        .filter_map(|rule| {
            let (folder, open) = (Path::new(folder), Path::new(&rule.folder));
            let closed = if folder.starts_with(open) { Some(folder) } else { None };
            closed.or_else(|| open.starts_with(folder).then_some(open))?.to_str().map(str::to_owned)
        })
        .collect();
    for folder in still.into_iter().collect::<BTreeSet<_>>() {
        let draft = WorkspaceDraft {
            agent: agent.to_owned(),
            folder,
            standing: FolderStanding::Closed,
            attendance: Attendance::default(),
            places: Vec::new(),
            limits: RuleLimits::default(),
            note: None,
        };
        undo.extend(open(document, &draft, stamp)?);
    }
    if undo.is_empty() && document.workspaces.iter().all(|rule| !is_closed_by(rule, folder, agent)) {
        return Err(RuleEditError::NotOpen(folder.to_owned()));
    }
    Ok(undo)
}

fn is_closed_by(rule: &Workspace, folder: &str, agent: &str) -> bool {
    !rule.standing.is_open() && rule.folder == folder && rule.agent == agent
}

fn switch(
    presets: &mut Vec<String>,
    name: &str,
    to: PresetSwitch,
) -> Result<Option<RuleEdit>, RuleEditError> {
    let is_on = presets.iter().any(|preset| preset == name);
    // One of another version that is on can still be switched off.
    if !is_on && !PRESETS.iter().any(|preset| preset.name == name) {
        return Err(RuleEditError::NoPreset(name.to_owned()));
    }
    let back = match (to, is_on) {
        (PresetSwitch::On, true) | (PresetSwitch::Off, false) => return Ok(None),
        (PresetSwitch::On, false) => {
            presets.push(name.to_owned());
            PresetSwitch::Off
        }
        (PresetSwitch::Off, true) => {
            presets.retain(|preset| preset != name);
            PresetSwitch::On
        }
    };
    Ok(Some(RuleEdit::SwitchPreset { name: name.to_owned(), to: back }))
}

fn known_presets() -> String {
    PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}

/// A rule of one of the lists.
trait Checked: StoredRule + Sized {
    /// Where such rules stand.
    fn list(document: &mut RuleDocument) -> &mut Vec<Self>;

    /// What is wrong with what it is about.
    fn check_subject(&self) -> Result<(), RuleEditError>;

    /// Whether it could be stored.
    fn check(&self) -> Result<(), RuleEditError> {
        if self.id().trim().is_empty() {
            return Err(RuleEditError::NoId);
        }
        self.check_subject()?;
        let limits = self.limits();
        if self.effect() == RuleEffect::Deny && limits.uses.is_some() {
            return Err(RuleEditError::RefusalUses);
        }
        if limits.uses == Some(0) {
            return Err(RuleEditError::NoUses);
        }
        if limits.session.as_deref().is_some_and(|session| session.trim().is_empty()) {
            return Err(RuleEditError::Session);
        }
        if self.note().is_some_and(|note| note.chars().count() > MAX_NOTE_CHARS as usize) {
            return Err(RuleEditError::Note { most: MAX_NOTE_CHARS });
        }
        Ok(())
    }
}

impl Checked for CommandRule {
    fn list(document: &mut RuleDocument) -> &mut Vec<Self> {
        &mut document.rules
    }

    fn check_subject(&self) -> Result<(), RuleEditError> {
        Ok(rules::check(self)?)
    }
}

impl Checked for CallRule {
    fn list(document: &mut RuleDocument) -> &mut Vec<Self> {
        &mut document.calls
    }

    fn check_subject(&self) -> Result<(), RuleEditError> {
        if self.agent.trim().is_empty() {
            return Err(RuleProblem::Agent.into());
        }
        Ok(calls::check(&self.about)?)
    }
}

impl Checked for Workspace {
    fn list(document: &mut RuleDocument) -> &mut Vec<Self> {
        &mut document.workspaces
    }

    fn check_subject(&self) -> Result<(), RuleEditError> {
        Ok(workspaces::check(self)?)
    }
}

/// Takes a rule out, whatever it is about; what puts it back.
fn remove(document: &mut RuleDocument, id: &str) -> Result<RuleEdit, RuleEditError> {
    if let Ok(at) = find(&document.calls, id) {
        return Ok(RuleEdit::RestoreCallRule { index: index_of(at), rule: document.calls.remove(at) });
    }
    if let Ok(at) = find(&document.workspaces, id) {
        return Ok(RuleEdit::RestoreWorkspace { index: index_of(at), rule: document.workspaces.remove(at) });
    }
    let at = find(&document.rules, id)?;
    Ok(RuleEdit::RestoreRule { index: index_of(at), rule: document.rules.remove(at) })
}

/// Puts a rule in; what takes it out again.
fn insert<R: Checked>(document: &mut RuleDocument, at: usize, rule: R) -> Result<RuleEdit, RuleEditError> {
    rule.check()?;
    let id = rule.id().to_owned();
    if document.every().any(|other| other.id() == id) {
        return Err(RuleEditError::Exists(id));
    }
    if document.every().count() >= MAX_RULES as usize {
        return Err(RuleEditError::TooMany { most: MAX_RULES });
    }
    let rules = R::list(document);
    rules.insert(at.min(rules.len()), rule);
    Ok(RuleEdit::RemoveRule { id })
}

/// Puts what `new` makes of a rule in its place; the rule that was there.
fn replace<R: Checked>(rules: &mut [R], id: &str, new: impl FnOnce(&R) -> R) -> Result<R, RuleEditError> {
    let at = find(rules, id)?;
    let old = rules.get_mut(at).ok_or_else(|| RuleEditError::NoRule(id.to_owned()))?;
    let new = new(old);
    new.check()?;
    Ok(std::mem::replace(old, new))
}

/// Whether a rule that says the same without an end is there.
fn is_there<R: StoredRule, D: PartialEq>(rules: &[R], draft: &D, says: fn(&R) -> D) -> bool {
    rules.iter().any(|rule| rule.limits().is_unlimited() && says(rule) == *draft)
}

/// Whether a rule does what it says: refuses its own words, or lets some of them run. An answer was given to
/// a command that it was made of.
fn prove(rule: &CommandRule) -> Result<(), RuleEditError> {
    rules::prove(rule)?;
    let idle = if rule.from == RuleOrigin::Typed { rule_never(rule) } else { None };
    idle.map_or(Ok(()), |idle| Err(idle.into()))
}

/// The same of a rule about calls.
fn prove_call(rule: &CallRule) -> Result<(), RuleEditError> {
    calls::prove(rule)?;
    let idle = if rule.from == RuleOrigin::Typed { call_never(rule) } else { None };
    idle.map_or(Ok(()), |idle| Err(RuleEditError::IdleCall(idle)))
}

/// Whether two rules are about the same commands and do the same with them, for whom and how long apart.
fn is_about_the_same(rule: &CommandRule, other: &CommandRule) -> bool {
    let about = |rule: &CommandRule| RuleDraft {
        agent: String::new(),
        limits: RuleLimits::default(),
        note: None,
        ..says(rule)
    };
    about(rule) == about(other)
}

/// What a rule says, without what the store gave it.
fn says(rule: &CommandRule) -> RuleDraft {
    let CommandRule { agent, effect, program, arguments, folder, contents, limits, note, .. } = rule.clone();
    RuleDraft { agent, effect, program, arguments, folder, contents, limits, note }
}

/// The same of one about calls.
fn says_of_calls(rule: &CallRule) -> CallRuleDraft {
    let CallRule { agent, effect, about, limits, note, .. } = rule.clone();
    CallRuleDraft { agent, effect, about, limits, note }
}

fn find(rules: &[impl StoredRule], id: &str) -> Result<usize, RuleEditError> {
    rules.iter().position(|rule| rule.id() == id).ok_or_else(|| RuleEditError::NoRule(id.to_owned()))
}

fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

fn index_of(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
