//! One gateway as its operator: what waits there is asked here, what is answered here is told there, over the
//! very connection that brought the question and over no other (docs/protocol/approvals.md,
//! "Answering", "Lost events").

use super::asking::{Asking, OperatorParts, Withdrawal};
use super::presented::{Kind, Origin, Presented};
use crate::list::PeerStatus;
use countersign_approvals::book::MAX_PENDING_OF_GATEWAY;
use countersign_gateway::access::Scope;
use countersign_gateway::client::{CallError, LinkProblem, Live, Notice};
use countersign_policy::display;
use countersign_protocol::gateway::Event;
use countersign_protocol::gateway::approval::Resolved;
use countersign_protocol::limits::DISPLAY_INPUT_UNITS;
use countersign_protocol::question::CancelCause;
use countersign_protocol::ui::{LinkGap, LinkState, LinkView};
use countersign_protocol::vocabulary::Decision;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::mem::discriminant;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Which gateway, and what of it is shown.
#[derive(Clone)]
pub(super) struct About {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) session_filter: Option<String>,
    /// Its address, as this machine's runner calls it.
    pub(super) address: String,
    /// How ids of requests begin that this very machine raised there.
    pub(super) own_mark: String,
}

/// A question: of which connection, of which kind, and the gateway's id for it.
type Key = (u32, Kind, String);

/// A question of this connection that is open here.
struct Open {
    since: Instant,
    /// By the gateway's clock, Unix milliseconds.
    expires_at_ms: i64,
    /// What its texts weigh.
    bytes: usize,
    withdraw: Option<oneshot::Sender<Withdrawal>>,
}

/// What came of asking what waits.
struct Listed {
    live: Live,
    kind: Kind,
    asked_at: Instant,
    answer: Result<Value, CallError>,
}

/// Bytes of the texts of one request that is asked here: a command as long as may be shown, as
/// text and as a list.
const MAX_REQUEST_BYTES: usize = 2 * DISPLAY_INPUT_UNITS + 64 * 1_024;

/// Bytes of the texts of all requests of one gateway that are open here. What a person is shown of a byte
/// takes up to a hundred.
const MAX_OPEN_BYTES: usize = 4 * 1_024 * 1_024;

/// What the texts of a request weigh: their bytes, and a little for each value, of which
/// there may be as many.
fn weight(payload: &Value) -> usize {
    let own = match payload {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    own + size_of::<Value>()
}

/// Follows one gateway.
pub(super) struct Operator {
    about: About,
    tools: OperatorParts,
    now: watch::Sender<PeerStatus>,
    live: Option<Live>,
    generation: u32,
    open: HashMap<Key, Open>,
    asking: JoinSet<Key>,
    listing: JoinSet<Listed>,
    /// Whether to list once more.
    lists_again: bool,
}

impl Operator {
    pub(super) fn new(about: About, tools: OperatorParts, now: watch::Sender<PeerStatus>) -> Self {
        Self {
            about,
            tools,
            now,
            live: None,
            generation: 0,
            open: HashMap::new(),
            asking: JoinSet::new(),
            listing: JoinSet::new(),
            lists_again: false,
        }
    }

    /// Runs until `stop`; then what is open here is withdrawn and recorded. `closing` says that
    /// the whole app ends.
    pub(super) async fn run(
        mut self,
        mut notices: mpsc::Receiver<Notice>,
        stop: CancellationToken,
        closing: CancellationToken,
    ) {
        let mut safety = tokio::time::interval(SAFETY);
        loop {
            tokio::select! {
                // What has ended makes room before more is taken.
                biased;
                () = stop.cancelled() => break,
                Some(ended) = self.asking.join_next() => {
                    if let Ok(key) = ended {
                        self.open.remove(&key);
                    }
                    self.count();
                }
                Some(Ok(listed)) = self.listing.join_next() => {
                    self.reconcile(listed);
                    if self.lists_again && self.listing.is_empty() {
                        self.list();
                    }
                }
                notice = notices.recv() => match notice {
                    Some(notice) => self.heard(notice),
                    None => break,
                },
                _ = safety.tick() => self.list(),
            }
        }
        let cause = if closing.is_cancelled() { CancelCause::Shutdown } else { CancelCause::Withdrawn };
        self.withdraw_all(cause);
        while self.asking.join_next().await.is_some() {}
    }

    fn heard(&mut self, notice: Notice) {
        match notice {
            Notice::Connecting => self.state(LinkState::Connecting),
            Notice::Opened(live) => {
                self.generation = self.generation.wrapping_add(1);
                let gaps = gaps(&live);
                let hello = live.hello();
                self.state(LinkState::Connected {
                    link: LinkView {
                        version: display::escape(&hello.server.version),
                        protocol: hello.protocol,
                        scopes: hello
                            .auth
                            .as_ref()
                            .and_then(|auth| auth.scopes.as_ref())
                            .map(|scopes| scopes.iter().map(|scope| display::escape(scope)).collect()),
                        round_trip_us: None,
                        since_ms: self.tools.ports.clock.now_ms(),
                        gaps,
                    },
                });
                self.live = Some(live);
                self.list();
            }
            Notice::Event(event) => self.happened(event),
            Notice::Gap => self.list(),
            Notice::Narrow { request_id } => {
                let request_id = request_id.as_deref().map(display::escape);
                self.gap(LinkGap::ScopesNarrow { request_id });
            }
            Notice::Lost { problem, retry_in } => {
                self.live = None;
                // Dropped and not only stopped: the next connection is listed at once.
                self.listing = JoinSet::new();
                self.lists_again = false;
                self.withdraw_all(CancelCause::ConnectionLost);
                let problem = escaped(problem);
                self.state(match retry_in {
                    Some(wait) => LinkState::Waiting {
                        problem,
                        retry_at_ms: self
                            .tools
                            .ports
                            .clock
                            .now_ms()
                            .saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)),
                    },
                    None => LinkState::Stopped { problem },
                });
            }
        }
    }

    fn happened(&mut self, event: Event) {
        let Some(live) = self.live.clone() else { return };
        let payload = event.payload.unwrap_or_default();
        for kind in Kind::ALL {
            if event.event == kind.requested() {
                return self.ask(&live, kind, &payload);
            }
            if event.event == kind.resolved() {
                return self.resolved(kind, payload);
            }
        }
    }

    fn resolved(&mut self, kind: Kind, payload: Value) {
        let Ok(Resolved { id, decision, resolved_by, ts, .. }) = serde_json::from_value::<Resolved>(payload)
        else {
            return;
        };
        let Some(open) = self.open.get_mut(&(self.generation, kind, id)) else { return };
        // The newest releases tell of a request whose time is over as of a denial that nobody gave. It ends
        // here by its own time, as what it is.
        let nobody_allowed = resolved_by.is_none() && !decision.is_some_and(Decision::allows);
        if nobody_allowed && ts >= open.expires_at_ms {
            return;
        }
        // Nobody withdraws from one that is being answered from here: the gateway's own answer
        // tells who was first.
        if let Some(withdraw) = open.withdraw.take() {
            let by = resolved_by.map(|by| display::escape(&by.chars().take(MAX_NAME).collect::<String>()));
            let _ = withdraw.send(Withdrawal::Elsewhere { decision, by });
        }
    }

    /// Asks the person about something that waits there, unless it is asked already.
    fn ask(&mut self, live: &Live, kind: Kind, payload: &Value) {
        let is_open = |id: &str| self.open.contains_key(&(self.generation, kind, id.to_owned()));
        // Each list brings again what is open already: to take it apart once more would cost as much
        // as the first time.
        if payload["id"].as_str().is_some_and(is_open) {
            return;
        }
        let bytes = weight(payload);
        let open_bytes: usize = self.open.values().map(|open| open.bytes).sum();
        // What there is no room for is asked when a later list brings it.
        if bytes > MAX_REQUEST_BYTES || open_bytes + bytes > MAX_OPEN_BYTES {
            tracing::debug!(bytes, open_bytes, gateway = self.about.id, "no room for a request of a gateway");
            return;
        }
        let About { name, address, .. } = &self.about;
        let origin = Origin { name, address, own_node: self.tools.own_node.id().map(|id| id.as_str()) };
        let presented = match Presented::read(kind, payload, origin) {
            Ok(presented) => presented,
            Err(error) => {
                tracing::warn!(%error, gateway = self.about.id, "a request of a gateway is not understood");
                return;
            }
        };
        if presented.id.starts_with(&self.about.own_mark) {
            // It is asked here already, under the id that it has here.
            return;
        }
        let key = (self.generation, kind, presented.id.clone());
        let filter = self.about.session_filter.as_deref();
        let is_ours =
            filter.is_none_or(|filter| presented.session().is_some_and(|session| session.contains(filter)));
        let left_ms = presented.expires_at_ms.saturating_sub(live.gateway_now_ms());
        let Some(left) = u64::try_from(left_ms).ok().filter(|left| *left > 0).map(Duration::from_millis)
        else {
            return;
        };
        // What there is no room for is asked when the next list brings it.
        if !is_ours || self.open.contains_key(&key) || self.open.len() >= MAX_PENDING_OF_GATEWAY {
            return;
        }
        let (withdraw, withdrawn) = oneshot::channel();
        let open = Open {
            since: Instant::now(),
            expires_at_ms: presented.expires_at_ms,
            bytes,
            withdraw: Some(withdraw),
        };
        self.open.insert(key.clone(), open);
        let asking = Asking {
            tools: self.tools.clone(),
            gateway: self.about.id.clone(),
            generation: self.generation,
            live: live.clone(),
            presented,
            until: Instant::now() + left,
        };
        self.asking.spawn(async move {
            asking.run(withdrawn).await;
            key
        });
        self.count();
    }

    /// Asks what waits: after connecting, after a gap, and now and then in case an event was lost.
    fn list(&mut self) {
        let Some(live) = &self.live else { return };
        if !self.listing.is_empty() {
            // The answer that is on its way may be older than what made somebody ask.
            self.lists_again = true;
            return;
        }
        self.lists_again = false;
        for kind in Kind::ALL {
            // The first may be there although it is not told; the other is in newer releases
            // only, which tell.
            if kind != Kind::Exec && !live.has(kind.list()) {
                continue;
            }
            let live = live.clone();
            self.listing.spawn(async move {
                let asked_at = Instant::now();
                let answer = live.call(kind.list(), json!({})).await;
                Listed { live, kind, asked_at, answer }
            });
        }
    }

    /// Asks what the list brings, and withdraws what was there before and is no longer.
    fn reconcile(&mut self, listed: Listed) {
        let Listed { live, kind, asked_at, answer } = listed;
        if !self.live.as_ref().is_some_and(|current| current.is(&live)) {
            return;
        }
        let took = asked_at.elapsed();
        let rows = match answer {
            Ok(Value::Array(rows)) => rows,
            Ok(_) => return,
            Err(error) => {
                let says = |words: &str| matches!(&error, CallError::Refused(error) if error.message.contains(words));
                if kind == Kind::Exec && says("unknown method") {
                    self.gap(LinkGap::NoList);
                } else if says("missing scope: operator.approvals") {
                    // Releases before 2026.8 tell what the token is good for, also to a connection
                    // that asked for less.
                    self.gap(LinkGap::NoApprovals);
                }
                tracing::debug!(%error, gateway = self.about.id, "what waits at a gateway is not known");
                return;
            }
        };
        self.now.send_if_modified(|now| match &mut now.state {
            LinkState::Connected { link } => {
                link.gaps.retain(|gap| !matches!(gap, LinkGap::NoList | LinkGap::NoApprovals));
                link.round_trip_us = u64::try_from(took.as_micros()).ok();
                true
            }
            _ => false,
        });
        let waiting: HashSet<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
        for ((_, of, id), open) in &mut self.open {
            let is_gone = *of == kind && open.since < asked_at && !waiting.contains(id.as_str());
            if let Some(withdraw) = open.withdraw.take_if(|_| is_gone) {
                let _ = withdraw.send(Withdrawal::Elsewhere { decision: None, by: None });
            }
        }
        for row in &rows {
            self.ask(&live, kind, row);
        }
    }

    fn withdraw_all(&mut self, cause: CancelCause) {
        for open in self.open.values_mut() {
            if let Some(withdraw) = open.withdraw.take() {
                let _ = withdraw.send(Withdrawal::Cancelled(cause));
            }
        }
        // The same ids may come over the next connection while these are still being written down.
        self.open.clear();
    }

    /// Tells of a gap, in the place of an earlier one of its kind.
    fn gap(&self, gap: LinkGap) {
        self.now.send_if_modified(|now| match &mut now.state {
            LinkState::Connected { link } if !link.gaps.contains(&gap) => {
                link.gaps.retain(|known| discriminant(known) != discriminant(&gap));
                if matches!(gap, LinkGap::ScopesNarrow { .. }) {
                    // What is hidden was asked for: to turn that on would not help.
                    link.gaps.retain(|known| *known != LinkGap::AgentsHidden);
                }
                link.gaps.push(gap.clone());
                true
            }
            _ => false,
        });
    }

    fn state(&self, state: LinkState) {
        self.now.send_modify(|now| now.state = state);
    }

    fn count(&self) {
        let pending = self.open.len();
        self.now.send_if_modified(|now| std::mem::replace(&mut now.pending, pending) != pending);
    }
}

/// What a gateway keeps from us although it is connected.
pub fn gaps(live: &Live) -> Vec<LinkGap> {
    let mut gaps = Vec::new();
    if live.may(Scope::Approvals) == Some(false) {
        gaps.push(LinkGap::NoApprovals);
    }
    let hides = release(&live.hello().server.version).is_some_and(|release| release >= HIDES_AGENTS);
    if hides && live.may(Scope::Admin) != Some(true) {
        gaps.push(LinkGap::AgentsHidden);
    }
    if !live.has(Kind::Exec.list()) {
        gaps.push(LinkGap::NoList);
    }
    gaps
}

/// `2026.5.18` as numbers; what follows a dash does not count.
pub(crate) fn release(version: &str) -> Option<[u32; 3]> {
    let mut numbers = version.split('-').next()?.split('.').map(str::parse);
    let release = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    Some(release)
}

/// From this release on, what agents raise is shown to `operator.admin` only (docs/protocol/approvals.md,
/// "Who sees what").
const HIDES_AGENTS: [u32; 3] = [2026, 5, 18];

/// The other end's words, so that nothing in them is hidden.
pub(crate) fn escaped(problem: LinkProblem) -> LinkProblem {
    match problem {
        LinkProblem::Unreachable { text } => LinkProblem::Unreachable { text: display::escape(&text) },
        LinkProblem::Closed { code, text } => LinkProblem::Closed { code, text: display::escape(&text) },
        LinkProblem::NotPaired { reason, request_id } => {
            LinkProblem::NotPaired { reason, request_id: request_id.as_deref().map(display::escape) }
        }
        LinkProblem::Certificate { text } => LinkProblem::Certificate { text: display::escape(&text) },
        LinkProblem::Refused { code, text } => {
            LinkProblem::Refused { code: display::escape(&code), text: display::escape(&text) }
        }
        LinkProblem::NotAGateway { text } => LinkProblem::NotAGateway { text: display::escape(&text) },
        plain @ (LinkProblem::TimedOut
        | LinkProblem::Starting
        | LinkProblem::SecretMissing
        | LinkProblem::SecretWrong
        | LinkProblem::SecretWithheld
        | LinkProblem::RateLimited
        | LinkProblem::Protocol { .. }
        | LinkProblem::PinMismatch { .. }) => plain,
    }
}

/// Characters of the name of whoever answered elsewhere.
const MAX_NAME: usize = 200;

/// How often to ask what waits, in case an event was lost (docs/protocol/approvals.md, "Lost events").
const SAFETY: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        let hides = |version: &str| release(version).is_some_and(|release| release >= HIDES_AGENTS);
        assert!(!hides("2026.2.26") && !hides("2026.5.7") && !hides("dev") && !hides("2026.9"));
        assert!(hides("2026.5.18") && hides("2026.9.6") && hides("2026.10.1-beta.2"));
    }
}
