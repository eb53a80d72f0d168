//! What is in force for an agent, made ready once per document and agent instead of for every request.

use countersign_approvals::store::Current;
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::document;
use countersign_policy::effective::{BUILT_IN, Effective, Requested};
use countersign_protocol::ids::AgentId;
use countersign_protocol::socket::PolicySnapshot;
use countersign_protocol::state::StoreState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Policy and entries of one agent in one document.
#[derive(Debug)]
pub(super) struct InForce {
    pub(super) policy: Effective,
    pub(super) entries: EntryIndex,
    agent: AgentId,
    current: Arc<Current>,
}

impl InForce {
    fn of(current: &Arc<Current>, agent: &AgentId) -> Self {
        let (policy, entries) = match &current.document {
            Some(document) => document::resolve(document, Some(agent.as_str()), Requested::default()),
            // No usable document: the built-in values deny.
            None => (BUILT_IN, Vec::new()),
        };
        let entries = EntryIndex::new(entries);
        Self { policy, entries, agent: agent.clone(), current: Arc::clone(current) }
    }

    /// What holds in a sandbox, see [`super::placement`].
    pub(super) fn policy_in_sandbox(&self, requested: Requested) -> Effective {
        let agent = Some(self.agent.as_str());
        match (&self.current.document, &self.current.state) {
            (Some(document), _) => document::resolve_in_sandbox(document, agent, requested),
            (None, StoreState::Missing) => document::resolve_in_sandbox(&document::empty(), agent, requested),
            // It may spell out a deny.
            (None, StoreState::Ready | StoreState::Sqlite { .. } | StoreState::Unreadable { .. }) => BUILT_IN,
        }
    }

    /// What a later look at the policy is compared with. Written out only here: it lists every entry, and
    /// most requests end under the document that they began with.
    pub(super) fn snapshot(&self) -> PolicySnapshot {
        match &self.current.document {
            Some(document) => document::snapshot(document, Some(self.agent.as_str())),
            None => document::snapshot(&document::empty(), Some(self.agent.as_str())),
        }
    }
}

/// Keeps what is in force under the document that was asked about last.
#[derive(Debug, Default)]
pub(super) struct Policies {
    latest: Mutex<Latest>,
}

#[derive(Debug, Default)]
struct Latest {
    current: Option<Arc<Current>>,
    agents: HashMap<AgentId, Arc<InForce>>,
}

impl Policies {
    /// What `current` says for `agent`. A document that was read again is another one, so nothing
    /// outlives its document.
    pub(super) fn of(&self, current: &Arc<Current>, agent: &AgentId) -> Arc<InForce> {
        // What a panic left behind is whole: everything is put in place by one assignment or insertion.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if !latest.current.as_ref().is_some_and(|known| Arc::ptr_eq(known, current)) {
            *latest = Latest { current: Some(Arc::clone(current)), agents: HashMap::new() };
        }
        if let Some(known) = latest.agents.get(agent) {
            return Arc::clone(known);
        }
        if latest.agents.len() >= AGENTS {
            latest.agents.clear();
        }
        let in_force = Arc::new(InForce::of(current, agent));
        latest.agents.insert(agent.clone(), Arc::clone(&in_force));
        in_force
    }
}

/// Most agents that are kept at a time: requesters choose their names, and each keeps a copy of the entries.
const AGENTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::document::Document;
    use serde_json::{Value, json};

    fn read(document: Value) -> Arc<Current> {
        let Value::Object(root) = document else { panic!("expected an object") };
        let (path, hash) = ("/nowhere".into(), String::new());
        Arc::new(Current {
            path,
            state: StoreState::Ready,
            hash,
            document: Some(Document(root)),
            trouble: None,
        })
    }

    fn allowing(pattern: &str) -> Arc<Current> {
        read(json!({ "version": 1, "agents": { "*": { "allowlist": [{ "pattern": pattern }] } } }))
    }

    fn patterns(in_force: &InForce) -> Vec<&str> {
        in_force.entries.entries().iter().map(|rule| rule.pattern.as_str()).collect()
    }

    fn agent(name: &str) -> AgentId {
        AgentId::of(Some(name))
    }

    #[test]
    fn what_is_in_force_is_made_ready_once_for_a_document_and_an_agent() {
        let (policies, one, other) = (Policies::default(), allowing("/one"), allowing("/other"));
        let first = policies.of(&one, &agent("main"));
        assert!(Arc::ptr_eq(&first, &policies.of(&one, &agent("main"))));
        assert!(!Arc::ptr_eq(&first, &policies.of(&one, &agent("ops"))));
        assert_eq!(patterns(&policies.of(&other, &agent("main"))), ["/other"]);
        assert_eq!(patterns(&policies.of(&one, &agent("main"))), ["/one"]);
        assert_eq!(patterns(&first), ["/one"]);
    }

    #[test]
    fn made_up_agents_do_not_pile_up() {
        let (policies, document) = (Policies::default(), allowing("/one"));
        for number in 0..10 * AGENTS {
            assert_eq!(patterns(&policies.of(&document, &agent(&number.to_string()))), ["/one"]);
            assert!(policies.latest.lock().unwrap().agents.len() <= AGENTS);
        }
    }
}
