//! Handing on what is asked, and how it ended, to places of the person's choice (docs/forwarder.md): other
//! gateways ([`asker`]), programs and webhooks ([`post`]).
//!
//! Nothing here delays an approval: the book is followed like every window follows it, each target has a
//! queue and a task of its own, and whatever fails is counted, logged and shown.

mod asker;
mod config;
mod edit;
mod filter;
mod message;
mod meter;
mod post;
pub mod sample;
mod secrets;
mod webhook;
mod wrong;

use crate::connections::{Connections, onward};
use asker::{Asker, MAX_ASKED};
#[cfg(fuzzing)]
pub use config::rewrite;
use config::{Destination, Document, Target};
pub use config::{ForwardFileError, check_file};
use countersign_approvals::Approvals;
use countersign_approvals::actor::Event;
use countersign_approvals::book::{Ending, Record};
use countersign_approvals::ports::Ports;
use countersign_commands::environment;
use countersign_core::paths::Paths;
use countersign_policy::display::{self, Secrets as ShownSecrets};
use countersign_protocol::document::MAIN_AGENT;
use countersign_protocol::ids::{RequestId, SessionKey};
use countersign_protocol::question::CancelCause;
use countersign_protocol::ui::{ForwardMode, ForwardNow, ForwardSettings, ForwardTargetView, ForwardView};
use filter::Filter;
use message::{Message, Sample, What};
use meter::Meter;
use post::{Queue, Receiver};
use secrets::Secrets;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use webhook::Webhook;
pub use wrong::ForwardWrong;

/// What handing on is made of.
pub struct Parts {
    /// What waits.
    pub approvals: Approvals,
    /// Time and ids.
    pub ports: Ports,
    /// This process's environment, not yet sanitised.
    pub environment: BTreeMap<String, String>,
    /// Other gateways; none in a program that connects to none.
    pub connections: Option<Connections>,
}

/// Handle of everything that is handed on.
#[derive(Clone)]
pub struct Forward {
    inner: Arc<Inner>,
}

struct Inner {
    file: PathBuf,
    secrets: Secrets,
    approvals: Approvals,
    ports: Ports,
    environment: Arc<BTreeMap<String, String>>,
    connections: Option<Connections>,
    live: Mutex<Live>,
    /// One change at a time.
    changing: tokio::sync::Mutex<()>,
    changed: watch::Sender<()>,
    tracker: TaskTracker,
    /// After the last message, at the end of the app.
    closing: CancellationToken,
}

/// What there is. Never locked across an await.
#[derive(Default)]
struct Live {
    document: Document,
    filter: Filter,
    running: BTreeMap<String, Running>,
    /// Requests that were handed on and wait, with the targets that are told of their end.
    open: HashMap<RequestId, Open>,
    /// Why nothing is handed on and nothing can be changed.
    broken: Option<String>,
}

struct Open {
    record: Arc<Record>,
    told: Vec<String>,
}

/// A target that is handed to. Dropping it ends it.
struct Running {
    meter: Meter,
    place: RunningPlace,
    gone: CancellationToken,
}

enum RunningPlace {
    Post(Queue),
    Gateway(Box<Asker>),
}

impl Drop for Running {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// What was typed is wrong.
    #[error(transparent)]
    Invalid(#[from] ForwardWrong),
    /// There is no such target.
    #[error("there is no such target any more")]
    Gone,
    /// The file could not be read when the app started.
    #[error("{0}")]
    Broken(String),
    /// The file or a secret cannot be read or written.
    #[error(transparent)]
    Store(#[from] std::io::Error),
}

impl Forward {
    /// Reads where the person wants requests handed to, and follows the approvals from now on until `stop`.
    pub fn start(paths: &Paths, parts: Parts, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        let Parts { approvals, ports, environment, connections } = parts;
        let this = Self {
            inner: Arc::new(Inner {
                file: paths.forward(),
                secrets: Secrets::new(paths.forward_secrets()),
                // Subscribed below and not in the task: nothing that is asked from now on is missed.
                approvals,
                ports,
                environment: Arc::new(environment::inherited(environment)),
                connections,
                live: Mutex::default(),
                changing: tokio::sync::Mutex::default(),
                changed: watch::Sender::new(()),
                tracker: tracker.clone(),
                closing: CancellationToken::new(),
            }),
        };
        match config::read(&this.inner.file) {
            Ok(document) => {
                for target in document.targets.clone() {
                    let secret = this.inner.secrets.read(&target.id).unwrap_or_else(|error| {
                        tracing::error!(%error, target_id = target.id, "the secret of a target cannot be read");
                        None
                    });
                    this.run(&target, secret);
                }
                this.adopt(document);
            }
            Err(error) => {
                tracing::error!("{error}");
                this.live().broken = Some(error.to_string());
            }
        }
        let events = this.inner.approvals.events();
        tracker.spawn(this.clone().follow(events, stop));
        this
    }

    /// Everything that is shown.
    pub fn view(&self) -> ForwardView {
        let live = self.live();
        let ForwardSettings { enabled, mode, agent_filter, session_filter } = live.document.settings();
        let targets = live.document.targets.iter().map(|target| view(target, live.running.get(&target.id)));
        ForwardView {
            enabled,
            mode,
            agent_filter,
            session_filter,
            targets: targets.collect(),
            broken: live.broken.clone(),
        }
    }

    /// Follows that something changed.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.inner.changed.subscribe()
    }

    /// Whether a request would be handed on to at least one target, before it has an id of ours. What this
    /// says is the peers' "delivered" (docs/forwarder.md, "Delivery"): at least one target takes it, not
    /// that it has arrived.
    pub(crate) fn takes(&self, id: Option<&str>, agent: Option<&str>, session: Option<&str>) -> bool {
        let live = self.live();
        live.is_meant(id.unwrap_or_default(), agent, session) && !live.running.is_empty()
    }

    fn adopt(&self, document: Document) {
        let filter = Filter::new(&document.agent_filter, &document.session_filter);
        let mut live = self.live();
        live.filter = filter;
        live.document = document;
    }

    /// Starts what a target needs, if it is wanted.
    fn run(&self, target: &Target, secret: Option<zeroize::Zeroizing<String>>) {
        if !target.enabled {
            return;
        }
        let place = match target.checked() {
            Ok(place) => place,
            // Both ways in check it.
            Err(error) => return tracing::error!("{error:#}"),
        };
        let clock = Arc::clone(&self.inner.ports.clock);
        let meter = Meter::new(target.id.clone(), Arc::clone(&clock), self.inner.changed.clone());
        let gone = CancellationToken::new();
        let place = match self.receiver(place, secret) {
            Reaches::Post(receiver) => {
                let queue = Queue::new(meter.clone());
                let closing = self.inner.closing.clone();
                self.inner.tracker.spawn(post::deliver(
                    receiver,
                    queue.clone(),
                    clock,
                    gone.clone(),
                    closing,
                ));
                RunningPlace::Post(queue)
            }
            Reaches::Gateway { gateway, may_allow } => {
                match self.asker(target, gateway, may_allow, meter.clone(), &gone) {
                    Some(asker) => RunningPlace::Gateway(Box::new(asker)),
                    None => return tracing::warn!(target_id = target.id, "{UNCONNECTED}"),
                }
            }
        };
        self.live().running.insert(target.id.clone(), Running { meter, place, gone });
    }

    fn receiver(&self, place: Destination, secret: Option<zeroize::Zeroizing<String>>) -> Reaches {
        match place {
            Destination::Gateway { gateway, may_allow } => Reaches::Gateway { gateway, may_allow },
            Destination::Command(program) => {
                Reaches::Post(Receiver::Command { program, environment: Arc::clone(&self.inner.environment) })
            }
            Destination::Webhook { address, pin, auth } => {
                Reaches::Post(Receiver::Webhook(Webhook { address, pin, auth, secret }))
            }
        }
    }

    /// `None` in a program without connections.
    fn asker(
        &self,
        target: &Target,
        gateway: String,
        may_allow: bool,
        meter: Meter,
        gone: &CancellationToken,
    ) -> Option<Asker> {
        let inner = &self.inner;
        Some(Asker {
            connections: inner.connections.clone()?,
            approvals: inner.approvals.clone(),
            ports: inner.ports.clone(),
            meter,
            gateway,
            name: target.name.clone(),
            may_allow,
            room: Arc::new(Semaphore::new(MAX_ASKED)),
            tracker: inner.tracker.clone(),
            gone: gone.clone(),
            closing: inner.closing.clone(),
        })
    }

    /// Ends a target. It is told nothing more.
    fn stop_target(&self, id: &str) {
        let mut live = self.live();
        live.running.remove(id);
        for open in live.open.values_mut() {
            open.told.retain(|told| told != id);
        }
    }

    async fn follow(self, mut events: broadcast::Receiver<Event>, stop: CancellationToken) {
        let _closing = self.inner.closing.clone().drop_guard();
        loop {
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                () = stop.cancelled() => break,
            };
            match event {
                Ok(Event::Added(record)) => self.requested(&record),
                Ok(Event::Closed(record)) => self.ended(&record),
                // Who is told how long is left looks at what waits then.
                Ok(Event::ClockSet) => {}
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "what is handed on has a gap");
                    self.catch_up().await;
                }
                Err(broadcast::error::RecvError::Closed) => break,
            }
        }
        // What waits ends with the app, whether or not its event came in time.
        let left: Vec<Arc<Record>> = self.live().open.values().map(|open| Arc::clone(&open.record)).collect();
        for record in left {
            self.tell_end(&record, What::Ended(&Ending::Cancelled(CancelCause::Shutdown)));
        }
    }

    /// A request waits: every target that takes it is told.
    fn requested(&self, record: &Arc<Record>) {
        let question = &record.question;
        let session = question.session.as_ref().map(SessionKey::as_str);
        // Who names no agent means this one: the session may say more.
        let agent = Some(question.agent.as_str()).filter(|agent| *agent != MAIN_AGENT);
        let mut live = self.live();
        if live.open.contains_key(&record.id) || !live.is_meant(record.id.as_str(), agent, session) {
            return;
        }
        let mut told = Vec::new();
        let mut message = None;
        for (id, running) in &live.running {
            match &running.place {
                RunningPlace::Post(queue) => {
                    let message = message.get_or_insert_with(|| self.message(record, What::Requested));
                    queue.push(message.clone());
                    told.push(id.clone());
                }
                RunningPlace::Gateway(asker) if asker.takes(record) => asker.ask(Arc::clone(record)),
                RunningPlace::Gateway(_) => {}
            }
        }
        if !told.is_empty() {
            live.open.insert(record.id.to_string().into(), Open { record: Arc::clone(record), told });
        }
    }

    fn ended(&self, record: &Record) {
        match &record.ending {
            Some(ending) => self.tell_end(record, What::Ended(ending)),
            None => self.tell_end(record, What::Lost),
        }
    }

    /// Tells those who were told that it waits.
    fn tell_end(&self, record: &Record, what: What<'_>) {
        let mut live = self.live();
        let Some(Open { told, .. }) = live.open.remove(&record.id) else { return };
        let message = self.message(record, what);
        for id in told {
            if let Some(Running { place: RunningPlace::Post(queue), .. }) = live.running.get(&id) {
                queue.push(message.clone());
            }
        }
    }

    /// After a gap: what waits and was not told is told, and so is the end of what no longer waits.
    async fn catch_up(&self) {
        let pending = self.inner.approvals.pending().await;
        let open: Vec<Arc<Record>> = self.live().open.values().map(|open| Arc::clone(&open.record)).collect();
        for record in open {
            if pending.iter().any(|waiting| waiting.id == record.id) {
                continue;
            }
            match self.inner.approvals.snapshot(&record.id).await {
                Some(snapshot) => self.ended(&snapshot),
                None => self.tell_end(&record, What::Lost),
            }
        }
        for record in &pending {
            self.requested(record);
        }
    }

    fn message(&self, record: &Record, what: What<'_>) -> Message {
        let ports = &self.inner.ports;
        Message::new(record, what, ports.ids.uuid(), ports.clock.now_ms(), Sample::No)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a place is reached.
enum Reaches {
    Post(Receiver),
    Gateway { gateway: String, may_allow: bool },
}

impl Live {
    /// Whether requests like this are handed on at all. Nothing is that somebody handed on to here.
    fn is_meant(&self, id: &str, agent: Option<&str>, session: Option<&str>) -> bool {
        let is_on =
            self.document.enabled && self.document.mode != ForwardMode::Session && self.broken.is_none();
        // As everywhere here: who names none is this one.
        let agent = agent.or_else(|| session.and_then(filter::agent_of)).or(Some(MAIN_AGENT));
        is_on && !onward::is_handed_on(id) && self.filter.matches(agent, session)
    }
}

fn view(target: &Target, running: Option<&Running>) -> ForwardTargetView {
    ForwardTargetView {
        id: target.id.clone(),
        name: display::shown(&target.name, ShownSecrets::Show),
        enabled: target.enabled,
        place: target.place.clone(),
        has_secret: target.has_secret,
        now: running.map_or_else(ForwardNow::default, |running| running.meter.now()),
    }
}

/// Why a gateway is no target of `countersign gateway`.
const UNCONNECTED: &str = "this program connects to no other gateways: a gateway as target needs the app";

#[cfg(test)]
mod tests;
