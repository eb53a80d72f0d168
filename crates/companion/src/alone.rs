//! Changes of policy while no app runs: they only tighten, and the history hears of them as it
//! does from the app.

use countersign_approvals::history::HistoryError;
use countersign_approvals::rules::{RuleChange, RulesChanged, RulesError};
use countersign_approvals::store::{Change, Looser, StoreError, Writer};
use countersign_core::Core;
use countersign_core::known::{KnownVersions, rules_event};
use countersign_core::paths::Paths;
use countersign_protocol::edits::{DocumentEdit, EditResult};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::Via;
use countersign_protocol::rule_edits::{RuleEdit, RuleEditResult};

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
}

/// Changes the document, unless that would let more run. To be called inside a tokio runtime,
/// with no app there.
pub async fn edit_document(paths: &Paths, edits: Vec<DocumentEdit>) -> Result<EditResult, NotChanged> {
    let core = Core::start(paths, Via::CommandLine)?;
    let changed = document(&core, paths, edits).await;
    core.stop().await;
    changed
}

async fn document(core: &Core, paths: &Paths, edits: Vec<DocumentEdit>) -> Result<EditResult, NotChanged> {
    let before = core.store.current();
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

async fn rules(core: &Core, paths: &Paths, edits: Vec<RuleEdit>) -> Result<RuleEditResult, NotChanged> {
    let before = core.rules.refresh().await;
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
