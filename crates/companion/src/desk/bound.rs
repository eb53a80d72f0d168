//! What entries are about that bind folder and arguments by a digest: found again among past requests, and
//! compared with the digest, so that nothing is said of an entry that is not so.

use super::Desk;
use super::remember::{PAST_REQUESTS, recalled};
use countersign_node::host::Past;
use countersign_policy::allowlist::is_bound;
use countersign_policy::display::{self, Secrets, shown};
use countersign_protocol::edits::{BoundCall, EntryView, ScopeView};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::QuestionKind;

impl Desk {
    /// Fills in what entries of `scopes` are about, as far as the history tells. One that cannot be
    /// read tells nothing.
    pub(super) async fn tell_bound(&self, scopes: &mut [ScopeView]) {
        let entries = scopes.iter_mut().flat_map(|scope| &mut scope.entries);
        let bound: Vec<&mut EntryView> =
            entries.filter(|entry| entry.arg_pattern.as_deref().is_some_and(is_bound)).collect();
        if bound.is_empty() {
            return;
        }
        let Ok(past) = self.past(PAST_REQUESTS, asked_or_run).await else { return };
        let known = self.inner.parts.host.bound_by(&past);
        for entry in bound {
            let found = entry.arg_pattern.as_ref().and_then(|pattern| known.get(pattern));
            entry.bound = found.map(|(args, folder)| BoundCall {
                args: args.iter().map(|arg| shown(arg, Secrets::Mask)).collect(),
                folder: shown(folder, Secrets::Show),
            });
        }
    }
}

/// A request that ran here, or a text that another program asked about: its runner may have stored
/// an entry for it.
fn asked_or_run(event: HistoryEvent) -> Option<Past> {
    let HistoryEvent::Request { card: QuestionKind::Ask, agent, command, cwd, .. } = &event else {
        return recalled(event);
    };
    Some(Past {
        agent: AgentId::of(Some(&display::unescape(agent)?)),
        argv: vec!["sh".to_owned(), "-c".to_owned(), display::unescape(command)?],
        cwd: cwd.as_deref().and_then(display::unescape),
        denied: false,
    })
}
