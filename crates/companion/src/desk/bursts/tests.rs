//! A burst with everything running.

use super::*;
use crate::testing::paths;
use crate::wiring::Companion;
use countersign_approvals::actor::PresenterGuard;
use countersign_core::private;
use countersign_node::socket::server::Peer;
use countersign_protocol::socket::ExecRequest;
use pretty_assertions::assert_eq;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct Rig {
    _home: TempDir,
    companion: Companion,
    _presenter: PresenterGuard,
}

impl Rig {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        private::write(&paths.document(), ASKING.as_bytes()).unwrap();
        let (companion, presenter) = Companion::start(&paths).unwrap();
        Self { _home: home, companion, _presenter: presenter }
    }

    fn desk(&self) -> &Desk {
        self.companion.desk()
    }

    /// An agent asks in a session; the id of its request once that waits.
    async fn ask(&self, agent: &str, session: Option<&str>, word: &str) -> RequestId {
        let mut waiting = self.desk().pending();
        let before = *waiting.borrow_and_update();
        let host = self.desk().inner.parts.host.clone();
        let request = ExecRequest {
            command: vec!["echo".to_owned(), word.to_owned()],
            agent_id: Some(agent.to_owned()),
            session_key: session.map(str::to_owned),
            ..ExecRequest::default()
        };
        tokio::spawn(
            async move { host.exec(request, &Peer::default(), CancellationToken::new()).await.is_ok() },
        );
        waiting.wait_for(|count| *count > before).await.unwrap();
        self.waiting().await.last().unwrap().clone()
    }

    async fn waiting(&self) -> Vec<RequestId> {
        self.desk().snapshot().await.cards.into_iter().map(|card| card.id.into()).collect()
    }
}

#[tokio::test]
async fn what_is_put_aside_is_all_that_waits_of_its_run_and_nothing_else() {
    let rig = Rig::start();
    let first = rig.ask("coder", Some("one"), "a").await;
    let other_session = rig.ask("coder", Some("two"), "b").await;
    let second = rig.ask("coder", Some("one"), "c").await;
    let other_agent = rig.ask("ops", Some("one"), "d").await;
    assert_eq!(rig.desk().dismiss(&second).await, [first.clone(), second.clone()]);
    let snapshot = rig.desk().snapshot().await;
    let aside = std::collections::BTreeSet::from_iter(snapshot.dismissed.into_iter().map(RequestId::from));
    assert_eq!(aside, [first.clone(), second.clone()].into());
    assert_eq!(rig.waiting().await, [first, other_session, second, other_agent], "nothing is answered");
}

#[tokio::test]
async fn denying_a_run_denies_what_waits_of_it_and_leaves_the_rest_waiting() {
    let rig = Rig::start();
    let first = rig.ask("coder", None, "a").await;
    let named = rig.ask("coder", Some("one"), "b").await;
    let second = rig.ask("coder", None, "a").await;
    assert_eq!(rig.desk().deny_run(&first, "window").await, [first.clone(), second]);
    assert_eq!(rig.waiting().await, [named]);
    assert_eq!(rig.desk().deny_run(&first, "window").await, [] as [RequestId; 0], "it no longer waits");
}

const ASKING: &str =
    r#"{"version":1,"defaults":{"security":"allowlist","ask":"always","askFallback":"deny"},"agents":{}}"#;
