//! Changes of policy while no app runs: they only tighten, and the history hears of them as it
//! does from the app.

use crate::agents::{ids_in_document_edits, ids_in_rule_edits};
use countersign_approvals::history::HistoryError;
use countersign_approvals::ports::Ports;
use countersign_approvals::rules::{RuleChange, RuleStore, RulesChanged, RulesError, state};
use countersign_approvals::store::{Change, Looser, Store, StoreError, Writer};
use countersign_core::Core;
use countersign_core::known::{KnownVersions, rules_event};
use countersign_core::paths::Paths;
use countersign_node::host::note_hidden;
use countersign_policy::calls::{self, CallFacts, CallRuling};
use countersign_policy::document;
use countersign_policy::effective::Requested;
use countersign_policy::rules::{Moment, as_refused};
use countersign_protocol::edits::{DocumentEdit, EditResult};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::Via;
use countersign_protocol::rule_edits::{RuleEdit, RuleEditResult, RuleState};
use countersign_protocol::rules::CallRule;
use countersign_protocol::state::StoreState;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::Security;

/// Why nothing was changed, or why nobody was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotChanged {
    /// The history can be neither read nor written.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The document did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The rules did not take it.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// What is to be hidden in a folder could not be looked at, or not noted.
    #[error(transparent)]
    Hidden(#[from] std::io::Error),
}

/// Changes the document, unless that would let more run. To be called inside a tokio runtime,
/// with no app there.
pub async fn edit_document(paths: &Paths, edits: Vec<DocumentEdit>) -> Result<EditResult, NotChanged> {
    let core = Core::start(paths, Via::CommandLine)?;
    let changed = document(&core, paths, edits).await;
    core.stop().await;
    changed
}

async fn document(
    core: &Core,
    paths: &Paths,
    mut edits: Vec<DocumentEdit>,
) -> Result<EditResult, NotChanged> {
    let before = core.store.current();
    ids_in_document_edits(&mut edits, before.document.as_ref());
    let change = Change { base_hash: None, edits, looser: Looser::Refuse, writer: Writer::CommandLine };
    let result = core.store.edit(change).await?;
    if result.applied {
        let event = HistoryEvent::Document {
            writer: "command-line".to_owned(),
            store: None,
            before: before.hash.clone(),
            after: result.hash.clone(),
            loosenings: Vec::new(),
        };
        core.history.append(None, event).await?;
        KnownVersions::of(paths).document_moved(&before, &core.store.current());
    }
    Ok(result)
}

/// Changes the rules, unless that would let more run. To be called inside a tokio runtime, with no app there.
pub async fn edit_rules(paths: &Paths, edits: Vec<RuleEdit>) -> Result<RuleEditResult, NotChanged> {
    let core = Core::start(paths, Via::CommandLine)?;
    let changed = rules(&core, paths, edits).await;
    core.stop().await;
    changed
}

async fn rules(core: &Core, paths: &Paths, mut edits: Vec<RuleEdit>) -> Result<RuleEditResult, NotChanged> {
    ids_in_rule_edits(&mut edits);
    let before = core.rules.refresh().await;
    // Blocking, as this is anyway: nothing else runs here.
    note_hidden(&paths.boxes(), &edits)?;
    let change = RuleChange { base_hash: None, edits, looser: Looser::Refuse, writer: Writer::CommandLine };
    let result = core.rules.edit(change).await?;
    let after = core.rules.current();
    if after.hash != before.hash {
        let changed = RulesChanged { writer: Writer::CommandLine, before, after };
        core.history.append(None, rules_event(&changed, core.ports.clock.now_ms())).await?;
        KnownVersions::of(paths).rules_moved(&changed.before, &changed.after);
    }
    Ok(result)
}

/// Why a call of a tool that nobody is asked about is refused: a rule about the tool, or a policy that
/// somebody set. Reads both files once; what cannot be read may refuse it. Blocking, a few calls.
pub fn refuses_tool(paths: &Paths, agent: &AgentId, session: Option<&str>, tool: &str) -> Option<String> {
    let (rules, now_ms) = (RuleStore::read(&paths.rules()), Ports::system().clock.now_ms());
    let Some(document) = &rules.document else { return Some("the rules cannot be read".to_owned()) };
    let is_live = |rule: &&CallRule| state(*rule, &rules.counts, now_ms) == RuleState::Live;
    let live: Vec<CallRule> = document.calls.iter().filter(is_live).cloned().collect();
    let moment = Moment { agent: agent.as_str(), session, now_ms, uses: &rules.uses };
    let call = CallFacts { tool: tool.to_owned(), ..CallFacts::default() };
    if let Some(CallRuling::Deny(at)) = calls::ruling(&live, &call, moment) {
        let said = live.get(at).map(|rule| as_refused(&calls::describe(rule), rule.note.as_deref()));
        return Some(format!("refused by a rule: {}", said.unwrap_or_default()));
    }
    let store = Store::read(&paths.openclaw_state);
    let Some(document) = &store.document else {
        return (store.state != StoreState::Missing).then(|| "the policy cannot be read".to_owned());
    };
    let (policy, _) = document::resolve(document, Some(agent.as_str()), Requested::default());
    let security = policy.security;
    (security.value == Security::Deny && security.layer != PolicyLayer::BuiltIn)
        .then(|| "security is deny: this agent may do nothing here".to_owned())
}
