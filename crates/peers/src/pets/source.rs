//! One pet server: its token is read, it is kept connected, and each call that it asks about becomes
//! a question here.

use super::asking::{Asking, FollowerParts};
use super::config::{Checked, Source};
use crate::connections::escaped;
use crate::list::PeerStatus;
use crate::secrets::Secrets;
use countersign_gateway::pet::client::{self, LinkProblem, Notice, Options, PetCall};
use countersign_protocol::secret::PetToken;
use countersign_protocol::ui::{LinkState, LinkView};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Follows one server.
pub(super) struct Following {
    pub(super) source: Source,
    pub(super) checked: Checked,
    pub(super) secrets: Secrets,
    pub(super) tools: FollowerParts,
    pub(super) now: watch::Sender<PeerStatus>,
    /// Told when the person wants it tried again.
    pub(super) again: Arc<Notify>,
    pub(super) tracker: TaskTracker,
}

impl Following {
    /// Runs until `stop`; then what is open here is withdrawn and recorded. `closing` says that
    /// the whole app ends.
    pub(super) async fn run(self, stop: CancellationToken, closing: CancellationToken) {
        let Some(token) = self.token(&stop).await else { return };
        let Checked { address, pin, session_id } = &self.checked;
        let options = Options { address: address.clone(), pin: *pin, session_id: session_id.clone(), token };
        let (link, mut notices) = client::connect(options, &self.tracker, &stop);
        let mut asking = JoinSet::new();
        loop {
            tokio::select! {
                // What has ended makes room before more is taken.
                biased;
                () = stop.cancelled() => break,
                Some(_) = asking.join_next() => self.count(asking.len()),
                () = self.again.notified() => link.retry(),
                notice = notices.recv() => match notice {
                    Some(Notice::Asked(asked)) => {
                        asking.spawn(self.asking(asked, &stop, &closing).run());
                        self.count(asking.len());
                    }
                    Some(Notice::Connecting) => self.state(LinkState::Connecting),
                    Some(Notice::Opened) => self.state(LinkState::Connected { link: self.link() }),
                    Some(Notice::Lost { problem, retry_in }) => self.lost(problem, retry_in),
                    None => break,
                },
            }
        }
        // Each sees the end by itself.
        while asking.join_next().await.is_some() {}
    }

    /// The token, once it can be read; `None` at the end. A keyring that gives it later is asked when
    /// the person says so.
    async fn token(&self, stop: &CancellationToken) -> Option<Option<PetToken>> {
        loop {
            match self.secrets.read(&self.source.id, self.source.secret).await {
                // What is no token is as wrong there as none.
                Ok(text) => return Some(text.and_then(|text| PetToken::parse(&text))),
                Err(_) => self.state(LinkState::Stopped { problem: LinkProblem::SecretWithheld }),
            }
            tokio::select! {
                () = stop.cancelled() => return None,
                () = self.again.notified() => self.state(LinkState::Connecting),
            }
        }
    }

    fn asking(&self, asked: PetCall, stop: &CancellationToken, closing: &CancellationToken) -> Asking {
        Asking {
            tools: self.tools.clone(),
            source: self.source.id.clone(),
            name: self.source.name.clone(),
            session_id: self.source.session_id.clone(),
            asked,
            stop: stop.clone(),
            closing: closing.clone(),
        }
    }

    /// The channel tells neither release nor rights.
    fn link(&self) -> LinkView {
        LinkView {
            version: String::new(),
            protocol: 0,
            scopes: None,
            round_trip_us: None,
            since_ms: self.tools.ports.clock.now_ms(),
            gaps: Vec::new(),
        }
    }

    fn lost(&self, problem: LinkProblem, retry_in: Option<Duration>) {
        let problem = escaped(problem);
        self.state(match retry_in {
            Some(wait) => {
                let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
                let retry_at_ms = self.tools.ports.clock.now_ms().saturating_add(wait_ms);
                LinkState::Waiting { problem, retry_at_ms }
            }
            None => LinkState::Stopped { problem },
        });
    }

    fn state(&self, state: LinkState) {
        self.now.send_modify(|now| now.state = state);
    }

    fn count(&self, pending: usize) {
        self.now.send_if_modified(|now| std::mem::replace(&mut now.pending, pending) != pending);
    }
}
