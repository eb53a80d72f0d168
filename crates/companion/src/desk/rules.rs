//! Rules of our own for windows and command line: looking, changing, confirming, and what the
//! history says about it.

use super::counting::{of_call, of_rule, on_this_machine};
use super::mistakes::rules_error;
use super::{Desk, LooseningAnswer};
use crate::agents::ids_in_rule_edits;
use countersign_approvals::rules::{Current, RuleChange, state};
use countersign_approvals::store::{Looser, Writer};
use countersign_core::known::escaped;
use countersign_node::executor::sandbox::Lapsed;
use countersign_policy::calls;
use countersign_policy::counts::Machine;
use countersign_policy::display::{self, Secrets};
use countersign_policy::document;
use countersign_policy::effective::BUILT_IN;
use countersign_policy::meaning;
use countersign_policy::rules::{PRESETS, Preset, describe, reach};
use countersign_policy::workspaces;
use countersign_protocol::counting::{Uncounted, UncountedFor};
use countersign_protocol::edits::Loosening;
use countersign_protocol::rule_edits::{
    CallRuleView, PresetSwitch, PresetView, RuleEdit, RuleEditParams, RuleEditResult, RuleState, RuleView,
    RulesView, WorkspaceView,
};
use countersign_protocol::rules::{CallRule, CommandRule, RuleDocument, Workspace, WorkspacePlace};
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{CommandError, ErrorCode};

impl Desk {
    /// The rules as the pages show them.
    pub async fn rules(&self) -> RulesView {
        let current = self.inner.parts.rules.refresh().await;
        let mut view =
            on_this_machine(&self.inner.parts.host, |machine| view(&current, self.now_ms(), machine));
        let rules = view.workspaces.iter().map(|workspace| workspace.rule.clone()).collect();
        let lapsed = self.inner.parts.host.lapsed(rules).await;
        for (workspace, lapsed) in view.workspaces.iter_mut().zip(lapsed) {
            tell_lapsed(workspace, &lapsed);
        }
        view
    }

    /// Changes the rules from a window. What loosens comes back unapplied until it is confirmed.
    pub async fn edit_rules(&self, mut params: RuleEditParams) -> Result<RuleEditResult, CommandError> {
        ids_in_rule_edits(&mut params.edits);
        self.check_opened(&params.edits).await?;
        let edits = params.edits.clone();
        let change = RuleChange {
            base_hash: Some(params.base_hash),
            edits: params.edits,
            looser: if params.confirmed { Looser::Confirmed } else { Looser::Refuse },
            writer: Writer::Window,
        };
        let mut result = self.inner.parts.rules.edit(change).await.map_err(rules_error)?;
        result.loosenings = escaped(self.with_fates(result.loosenings));
        if result.applied {
            result.comes = self.comes_of_rules(&edits).await;
        }
        Ok(result)
    }

    /// Changes the rules from the command line. What loosens waits for a person in the window; dropping the
    /// future takes the question back.
    pub async fn edit_rules_from_command_line(
        &self,
        base_hash: Option<String>,
        mut edits: Vec<RuleEdit>,
    ) -> Result<RuleEditResult, CommandError> {
        ids_in_rule_edits(&mut edits);
        self.check_opened(&edits).await?;
        let rules = &self.inner.parts.rules;
        let base_hash = match base_hash {
            Some(hash) => hash,
            None => rules.refresh().await.hash.clone(),
        };
        let mut change = RuleChange {
            base_hash: Some(base_hash),
            edits,
            looser: Looser::Refuse,
            writer: Writer::CommandLine,
        };
        let mut result = rules.edit(change.clone()).await.map_err(rules_error)?;
        if !result.applied && !result.loosenings.is_empty() {
            let told = escaped(self.with_fates(result.loosenings.clone()));
            match self.ask_confirmation(&told).await? {
                LooseningAnswer::Keep => return Ok(result),
                LooseningAnswer::Apply => {
                    change.looser = Looser::Confirmed;
                    result = rules.edit(change.clone()).await.map_err(rules_error)?;
                }
            }
        }
        if result.applied {
            result.comes = self.comes_of_rules(&change.edits).await;
        }
        Ok(result)
    }

    /// The same with what the policy of each scope makes of what is allowed there.
    fn with_fates(&self, loosenings: Vec<Loosening>) -> Vec<Loosening> {
        let current = self.inner.parts.store.current();
        let nobody = document::empty();
        meaning::with_fates(current.document.as_ref().unwrap_or(&nobody), &BUILT_IN, loosenings)
    }

    /// Refuses edits that open a folder which nobody may open, or give its boxes what none may have, before a
    /// person is asked about them. What a rule says already is no reason to refuse another change of it.
    async fn check_opened(&self, edits: &[RuleEdit]) -> Result<(), CommandError> {
        let current = self.inner.parts.rules.refresh().await;
        let known = |id: &str| {
            let workspaces = current.document.iter().flat_map(|document| &document.workspaces);
            workspaces.into_iter().find(|rule| rule.id == id)
        };
        for edit in edits {
            let (rule, before) = match edit {
                RuleEdit::OpenWorkspace { rule } => (rule, None),
                RuleEdit::ReplaceWorkspace { rule, id } => (rule, known(id)),
                _ => continue,
            };
            if !rule.standing.is_open() {
                continue;
            }
            if before.is_none_or(|before| before.folder != rule.folder) {
                if let Some(real) = another_name(&rule.folder) {
                    let message = format!("{} leads to {real}; open that", rule.folder);
                    return Err(super::error(ErrorCode::Invalid, message));
                }
                let opened = self.inner.parts.host.may_be_opened(&rule.folder).await;
                opened.map_err(|why| super::error(ErrorCode::Invalid, format!("{why}; {}", why.remedy())))?;
            }
            let is_new = |place: &&WorkspacePlace| before.is_none_or(|before| !before.places.contains(place));
            for place in rule.places.iter().filter(is_new) {
                let may = self.inner.parts.host.may_have(place, &rule.folder).await;
                may.map_err(|why| super::error(ErrorCode::Invalid, why.to_string()))?;
            }
        }
        let noted = self.inner.parts.host.note_hidden(edits).await;
        noted.map_err(|why| super::error(ErrorCode::Invalid, why.to_string()))
    }

    /// Puts unusable rules aside and starts without any. The path of what was put aside.
    pub async fn reset_rules(&self) -> Result<String, CommandError> {
        let aside = self.inner.parts.rules.reset().await.map_err(rules_error)?;
        Ok(aside.display().to_string())
    }
}

/// The real path of a folder that is named otherwise. Rules compare real paths, and what was confirmed is
/// what is stored, so a link is not followed for the person. One system call for each part of the path.
fn another_name(folder: &str) -> Option<String> {
    let real = std::fs::canonicalize(folder).ok()?;
    (real != std::path::Path::new(folder)).then(|| real.display().to_string())
}

/// The rules as pages and command line show them, on this machine. Blocking, a few system calls for each rule
/// that allows a program.
pub fn view(current: &Current, now_ms: i64, machine: Machine<'_>) -> RulesView {
    let empty = RuleDocument::empty();
    let document = current.document.as_ref().unwrap_or(&empty);
    RulesView {
        path: current.path.display().to_string(),
        state: current.state.clone(),
        hash: current.hash.clone(),
        presets: presets(document),
        rules: document.rules.iter().map(|rule| rule_view(rule, current, now_ms, machine)).collect(),
        calls: document.calls.iter().map(|rule| call_rule_view(rule, current, now_ms, machine)).collect(),
        workspaces: document.workspaces.iter().map(|rule| workspace_view(rule, current, now_ms)).collect(),
    }
}

/// Has a view say what does not hold of the folder's rule.
pub fn tell_lapsed(view: &mut WorkspaceView, lapsed: &Lapsed) {
    view.refused = lapsed.folder.as_ref().map(|why| shown(&format!("{why}; {}", why.remedy())));
    view.lapsed = lapsed.places.iter().map(|why| shown(&why.to_string())).collect();
}

fn rule_view(rule: &CommandRule, current: &Current, now_ms: i64, machine: Machine<'_>) -> RuleView {
    let count = current.counts.get(&rule.id);
    let uncounted = of_rule(rule, machine);
    RuleView {
        shown: shown(&describe(rule)),
        reach: reach(rule),
        agent: shown(&rule.agent),
        session: rule.limits.session.as_deref().map(shown),
        note: rule.note.as_deref().map(shown),
        state: told_state(state(rule, &current.counts, now_ms), uncounted.as_ref()),
        uncounted,
        uses: count.map_or(0, |count| count.uses),
        last_used_at_ms: count.map(|count| count.last_used_at_ms),
        rule: rule.clone(),
    }
}

/// What is said of a rule that lets nothing run.
fn told_state(state: RuleState, uncounted: Option<&Uncounted>) -> RuleState {
    match (state, uncounted.map(|why| why.lasts)) {
        (RuleState::Live, Some(UncountedFor::Ever)) => RuleState::NeverCounts,
        (RuleState::Live, Some(UncountedFor::Now)) => RuleState::NotNow,
        (state, _) => state,
    }
}

fn call_rule_view(rule: &CallRule, current: &Current, now_ms: i64, machine: Machine<'_>) -> CallRuleView {
    let count = current.counts.get(&rule.id);
    let uncounted = of_call(rule, machine.home);
    CallRuleView {
        shown: shown(&calls::describe(rule)),
        reach: calls::reach(&rule.about),
        agent: shown(&rule.agent),
        session: rule.limits.session.as_deref().map(shown),
        note: rule.note.as_deref().map(shown),
        state: told_state(state(rule, &current.counts, now_ms), uncounted.as_ref()),
        uncounted,
        uses: count.map_or(0, |count| count.uses),
        last_used_at_ms: count.map(|count| count.last_used_at_ms),
        rule: rule.clone(),
    }
}

fn workspace_view(rule: &Workspace, current: &Current, now_ms: i64) -> WorkspaceView {
    let count = current.counts.get(&rule.id);
    WorkspaceView {
        shown: shown(&workspaces::describe(rule)),
        folder: shown(&rule.folder),
        places: rule.places.iter().map(|place| shown(&place.path)).collect(),
        agent: shown(&rule.agent),
        session: rule.limits.session.as_deref().map(shown),
        note: rule.note.as_deref().map(shown),
        state: state(rule, &current.counts, now_ms),
        refused: None,
        lapsed: Vec::new(),
        uses: count.map_or(0, |count| count.uses),
        last_used_at_ms: count.map(|count| count.last_used_at_ms),
        rule: rule.clone(),
    }
}

fn shown(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}

/// Those that there are, and those that are on and that this version does not know.
fn presets(document: &RuleDocument) -> Vec<PresetView> {
    let switch = |name: &str| {
        let is_on = document.presets.iter().any(|on| on == name);
        if is_on { PresetSwitch::On } else { PresetSwitch::Off }
    };
    let known = PRESETS.iter().map(|preset| PresetView {
        name: preset.name.to_owned(),
        title: preset.title.to_owned(),
        words: preset.words.to_owned(),
        switch: switch(preset.name),
        rules: u32::try_from(preset.rules(0).len()).unwrap_or(u32::MAX),
        includes: included(preset),
    });
    let unknown = document.presets.iter().filter(|name| PRESETS.iter().all(|preset| preset.name != *name));
    let unknown = unknown.map(|name| PresetView {
        name: display::escape(name),
        title: String::new(),
        words: String::new(),
        switch: PresetSwitch::On,
        rules: 0,
        includes: Vec::new(),
    });
    known.chain(unknown).collect()
}

fn included(preset: &Preset) -> Vec<String> {
    PRESETS.iter().filter(|other| preset.includes(other)).map(|other| other.name.to_owned()).collect()
}

#[cfg(test)]
mod tests;
