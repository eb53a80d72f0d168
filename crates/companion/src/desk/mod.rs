//! What the windows, the tray and the control channel may see and do: one handle, [`Desk`].
//!
//! A decision is taken only for a card as it was painted: its id, its generation, and the paint it was read
//! from. The arming delay is kept by the windows for the eye and again here, so that no window can be
//! made to skip it.

mod agents;
mod bound;
mod bursts;
mod confirmations;
mod connections;
mod counting;
mod display;
mod doors;
mod folders;
mod forward;
mod impact;
mod kept;
mod mistakes;
mod paints;
mod pets;
mod policies;
mod remember;
mod routing;
pub(crate) mod rules;
mod running;
pub(crate) mod status;
mod tools;

use crate::agents::{Agents, ids_in_document_edits};
use crate::routing::Router;
use confirmations::Confirmations;
use connections::Knocks;
use countersign_approvals::Approvals;
use countersign_approvals::actor::Event;
use countersign_approvals::book::{NotAnswered, Record};
use countersign_approvals::history::{self, History};
use countersign_approvals::ports::Ports;
use countersign_approvals::remember::Memory;
use countersign_approvals::rules::{RuleStore, RulesChanged};
use countersign_approvals::store::{Change, Changed, Looser, Store, Writer};
use countersign_core::known::{KnownVersions, Meanwhile, document_event, rules_event};
use countersign_core::session_events::SessionEvents;
use countersign_core::settings::SettingsFile;
use countersign_core::trust::TrustFile;
use countersign_node::host::Host;
use countersign_node::shortage;
use countersign_node::socket::vigil::Restored;
use countersign_peers::connections::{Connections, NotTaken};
use countersign_peers::forward::Forward;
use countersign_peers::gateway::{EmbeddedGateway, GatewayStatus};
use countersign_peers::pets::PetSources;
use countersign_protocol::edits::{Confirmation, DocumentEdit, DocumentView, EditResult, Loosening};
use countersign_protocol::history::{ChainReport, HistoryEntry, HistoryEvent, HistoryPage};
use countersign_protocol::ids::RequestId;
use countersign_protocol::meaning::{Impact, Standing};
use countersign_protocol::question::{Outcome, QuestionKind};
use countersign_protocol::remember::Rung;
use countersign_protocol::settings::Settings;
use countersign_protocol::state::{RecordingState, SocketState, TestParams, TestResult};
use countersign_protocol::ui::{
    ChangedBy, CommandError, DecideParams, DisplayState, EditParams, ErrorCode, FirstSteps, Page, Presence,
    Snapshot, UiEvent, UiMessage,
};
use countersign_protocol::vocabulary::Decision;
use countersign_questions::card::card;
pub use counting::mark_entries;
pub use display::{Again, KEPT_FILES, keep_files_for_windows};
use doors::Doors;
use mistakes::{answer_error, store_error};
use paints::Paints;
pub use rules::{tell_lapsed, view as rules_view};
use status::Until;
pub use status::{Part, Pause, views as policy_views};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a desk is made of.
pub struct Parts {
    /// Asks people.
    pub approvals: Approvals,
    /// The document.
    pub store: Store,
    /// The rules that it cannot hold.
    pub rules: RuleStore,
    /// What happened.
    pub history: History,
    /// Its folder.
    pub history_places: history::Places,
    /// What it was last told of the document and the rules.
    pub known: KnownVersions,
    /// Time and ids.
    pub ports: Ports,
    /// The person's settings.
    pub settings: Arc<SettingsFile>,
    /// Tries commands against the policy.
    pub host: Arc<Host>,
    /// The app's own gateway.
    pub gateway: EmbeddedGateway,
    /// Other gateways.
    pub connections: Connections,
    /// Other programs' pet servers.
    pub pets: PetSources,
    /// Where requests are handed to.
    pub forward: Forward,
    /// What agents can call.
    pub tools: crate::tools::Tools,
    /// What sessions are told of runs.
    pub events: SessionEvents,
    /// What runs without an entry.
    pub trust: TrustFile,
    /// Where commands run.
    pub router: Router,
    /// Agents of this machine.
    pub agents: Arc<Agents>,
    /// State of the approval socket.
    pub socket: watch::Receiver<SocketState>,
    /// Its path when the document names none.
    pub socket_path: PathBuf,
}

/// What a desk is told that asks for it.
pub struct News {
    /// Answers that a gateway did not take.
    pub not_taken: mpsc::Receiver<NotTaken>,
    /// Sockets of the app's that were lost and bound again.
    pub lost_sockets: mpsc::Receiver<Restored>,
    /// What changed while no app ran.
    pub meanwhile: Meanwhile,
    /// Changes of the document, from before anything of this app's could make one.
    pub changes: broadcast::Receiver<Changed>,
    /// The same of the rules.
    pub rule_changes: broadcast::Receiver<RulesChanged>,
}

/// Handle of the desk.
#[derive(Clone)]
pub struct Desk {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Parts,
    live: Mutex<Live>,
    messages: broadcast::Sender<UiMessage>,
    pending: watch::Receiver<usize>,
    paused: watch::Sender<Pause>,
    standing: watch::Sender<Standing>,
}

/// What changes while running. Never locked across an await.
struct Live {
    seq: u64,
    paints: Paints,
    confirmations: Confirmations,
    /// Requests put aside; those that ended are removed.
    dismissed: BTreeSet<RequestId>,
    knocks: Knocks,
    policies: policies::Shown,
    tray: Presence,
    notifications: Presence,
    display: DisplayState,
    /// Variables of the app's environment that it does not obey.
    ignored: Vec<String>,
    pages: display::Pages,
    /// When a pause ends by itself.
    paused_until: Option<Until>,
    /// What was set for sandboxes when somebody looked last.
    sandboxed: Vec<status::InSandbox>,
    first_steps: FirstSteps,
}

impl Desk {
    /// A desk that follows approvals, document, history, settings, gateways, socket and machine until `stop`,
    /// and tells of `news`.
    pub fn start(parts: Parts, news: News, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        let desk = Self {
            inner: Arc::new(Inner {
                pending: parts.approvals.count(),
                live: Mutex::new(Live {
                    seq: 0,
                    paints: Paints::default(),
                    confirmations: Confirmations::default(),
                    dismissed: BTreeSet::new(),
                    knocks: Knocks::default(),
                    policies: policies::Shown::default(),
                    tray: Presence::Unknown,
                    notifications: Presence::Unknown,
                    display: DisplayState::Ok,
                    ignored: Vec::new(),
                    pages: display::Pages::default(),
                    paused_until: None,
                    sandboxed: Vec::new(),
                    first_steps: parts.agents.first_steps(),
                }),
                messages: broadcast::Sender::new(MESSAGES),
                paused: watch::Sender::new(Pause::Prompting),
                standing: watch::Sender::new(Standing::Asking),
                parts,
            }),
        };
        desk.inner.standing.send_replace(desk.status().standing);
        // Subscribed here and not in the task: nothing that happens from now on is missed.
        let follower = desk.clone().follow(
            stop,
            Sources {
                events: desk.inner.parts.approvals.events(),
                changes: news.changes,
                rule_changes: news.rule_changes,
                rules: desk.inner.parts.rules.watch(),
                appended: desk.inner.parts.history.appended(),
                settings: desk.inner.parts.settings.watch(),
                gateway: desk.inner.parts.gateway.changes(),
                connections: desk.inner.parts.connections.changes(),
                pets: desk.inner.parts.pets.changes(),
                forward: desk.inner.parts.forward.changes(),
                routing: desk.inner.parts.router.changes(),
                not_taken: news.not_taken,
                lost_sockets: news.lost_sockets,
                recording: desk.inner.parts.history.recording(),
                socket: desk.inner.parts.socket.clone(),
                store: desk.inner.parts.store.watch(),
                meanwhile: news.meanwhile,
            },
        );
        let watcher = desk.clone().follow_running();
        let machine = desk.clone().follow_shortages(shortage::follow());
        tracker.spawn(async move {
            tokio::select! {
                () = follower => {}
                () = watcher => {}
                () = machine => {}
            }
        });
        desk
    }

    /// Follows what happens. A receiver that lags asks for a snapshot.
    pub fn messages(&self) -> broadcast::Receiver<UiMessage> {
        self.inner.messages.subscribe()
    }

    /// Follows how many requests wait.
    pub fn pending(&self) -> watch::Receiver<usize> {
        self.inner.pending.clone()
    }

    /// Everything a fresh window needs. What happens meanwhile arrives as a message with a greater number.
    pub async fn snapshot(&self) -> Snapshot {
        self.look_at_sandboxes().await;
        let (seq, confirmations, dismissed, first_steps) = {
            let live = self.live();
            (live.seq, live.confirmations.list(), live.dismissed.clone(), live.first_steps)
        };
        let records = self.inner.parts.approvals.pending().await;
        Snapshot {
            seq,
            now_ms: self.now_ms(),
            cards: records.iter().map(|record| card(record)).collect(),
            dismissed: dismissed.into_iter().map(String::from).collect(),
            confirmations,
            status: self.status(),
            settings: self.settings(),
            first_steps,
        }
    }

    /// The person's settings.
    pub fn settings(&self) -> Settings {
        self.inner.parts.settings.watch().borrow().clone()
    }

    /// Follows the person's settings.
    pub fn follow_settings(&self) -> watch::Receiver<Settings> {
        self.inner.parts.settings.watch()
    }

    /// Takes new settings.
    pub fn set_settings(&self, settings: Settings) -> Result<(), CommandError> {
        self.inner.parts.settings.set(settings).map_err(|failure| connections::settings_error(&failure))
    }

    /// A window painted a card. The number goes into the decision.
    pub async fn card_painted(&self, id: &RequestId, generation: u32) -> Result<u64, CommandError> {
        let record = self.inner.parts.approvals.snapshot(id).await.filter(|record| record.ending.is_none());
        let question = &record.as_ref().ok_or_else(|| gone(id))?.question;
        if question.door.generation != generation {
            return Err(gone(id));
        }
        let now_ms = self.now_ms();
        Ok(self.live().paints.painted(id, generation, now_ms))
    }

    /// A person's answer from the window. An allow needs a paint that is old enough; "always" stores its rule
    /// first, and takes it back when the request ended meanwhile.
    pub async fn decide(&self, params: &DecideParams) -> Result<Outcome, CommandError> {
        let id = &RequestId::from(params.id.as_str());
        let record = self.inner.parts.approvals.snapshot(id).await.filter(|record| record.ending.is_none());
        let record = record.ok_or_else(|| gone(id))?;
        let question = &record.question;
        if question.door.generation != params.generation {
            return Err(gone(id));
        }
        // Before anything is kept for it.
        if let Some(objection) = question.objection(params.decision) {
            return Err(not_answered(id, objection));
        }
        if params.decision.allows() {
            let arm_delay = i64::from(self.settings().arm_delay_ms);
            let painted_at = self.live().paints.painted_at(params.paint, id, params.generation);
            if painted_at.is_none_or(|at| self.now_ms().saturating_sub(at) < arm_delay) {
                return Err(error(ErrorCode::NotArmed, "the request was not in view long enough"));
            }
        }
        let approvals = &self.inner.parts.approvals;
        // What somebody else runs by rules of its own is remembered there. A call of a tool is asked
        // about by our rules.
        let is_ours = matches!(
            question.subject.kind(),
            QuestionKind::Exec | QuestionKind::Permit | QuestionKind::Tool | QuestionKind::Crossing
        );
        if params.decision == Decision::AllowAlways && is_ours {
            let Some(remember) = &params.remember else {
                return Err(error(ErrorCode::Invalid, "remember: expected with allow-always"));
            };
            let memory = Memory { store: &self.inner.parts.store, rules: &self.inner.parts.rules };
            let answered = memory.allow_always(approvals, &record, remember, WINDOW, self.now_ms()).await;
            answered.map_err(|why| remember::not_remembered(id, why))?;
            if remember.rung == Rung::Workspace {
                return Ok(Outcome::Contained);
            }
        } else {
            let answered = approvals.resolve(id, params.decision, WINDOW).await;
            answered.map_err(|why| not_answered(id, why))?;
        }
        Ok(params.decision.into())
    }

    /// Denies one request. False when it no longer waits.
    pub async fn deny(&self, id: &RequestId, by: &str) -> bool {
        self.inner.parts.approvals.resolve(id, Decision::Deny, by).await.is_ok()
    }

    /// Denies everything that waits, loosenings included. The ids that were denied.
    pub async fn deny_all(&self, by: &str) -> Vec<RequestId> {
        let confirmations = self.live().confirmations.list();
        for confirmation in confirmations {
            let _ = self.answer_confirmation(&confirmation.id, LooseningAnswer::Keep);
        }
        let mut denied = Vec::new();
        for record in self.inner.parts.approvals.pending().await {
            if self.deny(&record.id, by).await {
                denied.push(record.id.clone());
            }
        }
        denied
    }

    /// The document as the pages show it.
    pub async fn document(&self) -> DocumentView {
        let current = self.inner.parts.store.refresh().await;
        let (mut scopes, effective) = self.views(&current);
        counting::on_this_machine(&self.inner.parts.host, |machine| {
            counting::mark_entries(&mut scopes, machine);
        });
        self.tell_bound(&mut scopes).await;
        let trust = self.inner.parts.trust.clone();
        let beside = tokio::task::spawn_blocking(move || trust.now().view()).await.ok();
        DocumentView {
            path: current.path.display().to_string(),
            state: current.state.clone(),
            hash: current.hash.clone(),
            scopes,
            effective,
            beside,
        }
    }

    /// Changes the document from a window. What loosens comes back unapplied until it is confirmed.
    pub async fn edit(&self, mut params: EditParams) -> Result<EditResult, CommandError> {
        ids_in_document_edits(&mut params.edits, self.inner.parts.store.current().document.as_ref());
        let change = Change {
            base_hash: Some(params.base_hash),
            edits: params.edits,
            looser: if params.confirmed { Looser::Confirmed } else { Looser::Refuse },
            writer: Writer::Window,
        };
        let edits = change.edits.clone();
        let mut result = self.inner.parts.store.edit(change).await.map_err(store_error)?;
        if !result.applied && !result.loosenings.is_empty() {
            result.impact = self.impact(&edits).await;
        }
        if result.applied {
            result.comes = self.comes_of_entries(&edits).await;
        }
        Ok(result)
    }

    /// Changes the document from the command line. What loosens waits for a person in the window; dropping
    /// the future takes the question back.
    pub async fn edit_from_command_line(
        &self,
        base_hash: Option<String>,
        mut edits: Vec<DocumentEdit>,
    ) -> Result<EditResult, CommandError> {
        ids_in_document_edits(&mut edits, self.inner.parts.store.current().document.as_ref());
        let base_hash = base_hash.unwrap_or_else(|| self.inner.parts.store.current().hash.clone());
        let mut change =
            Change { base_hash: Some(base_hash), edits, looser: Looser::Refuse, writer: Writer::CommandLine };
        let mut result = self.inner.parts.store.edit(change.clone()).await.map_err(store_error)?;
        if !result.applied && !result.loosenings.is_empty() {
            let impact = self.impact(&change.edits).await;
            match self.ask_about(&result.loosenings, impact).await? {
                LooseningAnswer::Keep => return Ok(result),
                LooseningAnswer::Apply => {
                    change.looser = Looser::Confirmed;
                    result = self.inner.parts.store.edit(change.clone()).await.map_err(store_error)?;
                }
            }
        }
        if result.applied {
            result.comes = self.comes_of_entries(&change.edits).await;
        }
        Ok(result)
    }

    /// A person's answer to a loosening from the command line.
    pub fn answer_confirmation(&self, id: &str, answer: LooseningAnswer) -> Result<(), CommandError> {
        let now_ms = self.now_ms();
        let arm_delay = i64::from(self.settings().arm_delay_ms);
        self.live().confirmations.answer(id, answer, now_ms, arm_delay)?;
        self.emit(UiEvent::ConfirmationClosed {
            id: id.to_owned(),
            applied: answer == LooseningAnswer::Apply,
        });
        Ok(())
    }

    /// Puts an unusable document aside and starts a fresh one. The path of what was put aside.
    pub async fn reset_document(&self) -> Result<String, CommandError> {
        let backup = self.inner.parts.store.reset().await.map_err(store_error)?;
        Ok(backup.display().to_string())
    }

    /// What the policy says about a command. Nothing runs.
    pub async fn test(&self, params: &TestParams) -> TestResult {
        self.inner.parts.host.test(params).await
    }

    /// A page of history, newest first.
    pub async fn history(&self, before: Option<u64>, limit: usize) -> Result<HistoryPage, CommandError> {
        let dir = self.inner.parts.history_places.lines.clone();
        let limit = limit.clamp(1, HISTORY_PAGE);
        blocking(move || history::page(&dir, before, limit)).await
    }

    /// Checks the history's chain.
    pub async fn verify_history(&self) -> Result<ChainReport, CommandError> {
        let places = self.inner.parts.history_places.clone();
        blocking(move || history::verify(&places)).await
    }

    /// Asks the main window to show a page.
    pub fn show_page(&self, page: Page) {
        self.emit(UiEvent::ShowPage { page, card: None });
    }

    /// The same for the inbox, at one request.
    pub fn show_in_inbox(&self, id: RequestId) {
        self.emit(UiEvent::ShowPage { page: Page::Inbox, card: Some(id) });
    }

    /// Whether a request waits that was not put aside, and prompts open by themselves.
    pub async fn wants_prompt(&self) -> bool {
        if *self.inner.paused.borrow() == Pause::Paused {
            return false;
        }
        let records = self.inner.parts.approvals.pending().await;
        let live = self.live();
        records.iter().any(|record| !live.dismissed.contains(&record.id))
    }

    /// Asks the prompt window to show a request, also one that was put aside.
    pub fn show_card(&self, id: &RequestId) {
        self.live().dismissed.remove(id);
        self.emit(UiEvent::ShowCard { id: id.to_owned().into() });
    }

    async fn ask_confirmation(&self, loosenings: &[Loosening]) -> Result<LooseningAnswer, CommandError> {
        self.ask_about(loosenings, None).await
    }

    async fn ask_about(
        &self,
        loosenings: &[Loosening],
        impact: Option<Impact>,
    ) -> Result<LooseningAnswer, CommandError> {
        let confirmation = Confirmation {
            id: self.inner.parts.ports.ids.uuid(),
            created_at_ms: self.now_ms(),
            expires_at_ms: self.now_ms() + confirmations::WAIT_MS,
            loosenings: loosenings.to_vec(),
            impact,
        };
        let id = confirmation.id.clone();
        let answered = self.live().confirmations.add(confirmation.clone())?;
        let withdrawn = Withdraw { desk: self, id: &id };
        self.emit(UiEvent::ConfirmationAdded { confirmation });
        let wait = std::time::Duration::from_millis(confirmations::WAIT_MS.unsigned_abs());
        let answer = match tokio::time::timeout(wait, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => LooseningAnswer::Keep,
        };
        drop(withdrawn);
        Ok(answer)
    }

    /// Until `stop`; then what has changed is still written down.
    async fn follow(self, stop: CancellationToken, mut sources: Sources) {
        if let Some(changed) = sources.meanwhile.document.take() {
            self.document_changed(changed).await;
        }
        if let Some(changed) = sources.meanwhile.rules.take() {
            self.rules_changed(changed).await;
        }
        self.look_at_sandboxes().await;
        self.status_changed();
        let mut paused = self.inner.paused.subscribe();
        let mut doors = Doors::default();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                // Another pause has another end: waited for anew.
                Ok(()) = paused.changed() => paused.mark_unchanged(),
                () = self.pause_over() => self.set_paused(Pause::Prompting),
                event = sources.events.recv() => match event {
                    Ok(Event::Added(record)) => self.emit(UiEvent::CardAdded { card: card(&record) }),
                    Ok(Event::Closed(record)) => self.closed(&record),
                    Ok(Event::ClockSet) | Err(broadcast::error::RecvError::Lagged(_)) => self.skip(),
                    Err(broadcast::error::RecvError::Closed) => break,
                },
                changed = sources.changes.recv() => match changed {
                    Ok(changed) => self.document_changed(changed).await,
                    Err(broadcast::error::RecvError::Lagged(_)) => self.skip(),
                    Err(broadcast::error::RecvError::Closed) => break,
                },
                changed = sources.rule_changes.recv() => match changed {
                    Ok(changed) => self.rules_changed(changed).await,
                    Err(broadcast::error::RecvError::Lagged(_)) => self.skip(),
                    Err(broadcast::error::RecvError::Closed) => break,
                },
                Ok(()) = sources.rules.changed() => {
                    let hash = sources.rules.borrow_and_update().hash.clone();
                    self.emit(UiEvent::RulesChanged { hash, by: None });
                    self.status_changed();
                }
                entry = sources.appended.recv() => match entry {
                    Ok(entry) => self.emit(UiEvent::HistoryAppended { entry }),
                    Err(broadcast::error::RecvError::Lagged(_)) => self.skip(),
                    Err(broadcast::error::RecvError::Closed) => break,
                },
                Ok(()) = sources.settings.changed() => {
                    let settings = sources.settings.borrow_and_update().clone();
                    self.emit(UiEvent::SettingsChanged { settings });
                }
                Ok(()) = sources.connections.changed() => {
                    sources.connections.mark_unchanged();
                    self.emit(UiEvent::ConnectionsChanged);
                }
                Ok(()) = sources.pets.changed() => {
                    sources.pets.mark_unchanged();
                    self.emit(UiEvent::ConnectionsChanged);
                }
                Ok(()) = sources.forward.changed() => {
                    sources.forward.mark_unchanged();
                    self.emit(UiEvent::ConnectionsChanged);
                }
                Ok(()) = sources.routing.changed() => {
                    sources.routing.mark_unchanged();
                    self.emit(UiEvent::ConnectionsChanged);
                    self.look_at_sandboxes().await;
                    self.status_changed();
                }
                Some(NotTaken { id, gateway, text }) = sources.not_taken.recv() => {
                    self.emit(UiEvent::AnswerNotTaken { id: id.into(), gateway, text });
                }
                Some(restored) = sources.lost_sockets.recv() => self.socket_restored(&mut doors, restored).await,
                () = self.losses_overdue(&doors) => self.overdue_losses(&mut doors).await,
                Ok(()) = sources.recording.changed() => {
                    sources.recording.mark_unchanged();
                    // What cannot be written may be for want of files.
                    shortage::look();
                    self.status_changed();
                }
                Ok(()) = sources.gateway.changed() => {
                    self.gateway_changed();
                }
                Ok(()) = sources.socket.changed() => {
                    sources.socket.mark_unchanged();
                    self.status_changed();
                }
                Ok(()) = sources.store.changed() => {
                    sources.store.mark_unchanged();
                    self.look_at_sandboxes().await;
                    self.status_changed();
                }
            }
        }
        self.last_losses(doors).await;
        while let Ok(changed) = sources.changes.try_recv() {
            self.document_changed(changed).await;
        }
        while let Ok(changed) = sources.rule_changes.try_recv() {
            self.rules_changed(changed).await;
        }
    }

    fn closed(&self, record: &Record) {
        let (outcome, by) = match &record.ending {
            Some(ending) => (ending.outcome(), ending.by().map(str::to_owned)),
            None => (Outcome::Expired, None),
        };
        {
            let mut live = self.live();
            live.paints.forget(&record.id);
            live.dismissed.remove(&record.id);
        }
        self.emit(UiEvent::CardClosed { id: record.id.to_string(), outcome, by });
    }

    async fn document_changed(&self, changed: Changed) {
        let after = Arc::clone(&changed.after);
        self.record_change(document_event(&changed), move |known| known.note_document(&after)).await;
        let by = changed_by(changed.writer);
        self.emit(UiEvent::DocumentChanged { hash: changed.after.hash.clone(), by });
    }

    async fn rules_changed(&self, changed: RulesChanged) {
        let (event, after) = (rules_event(&changed, self.now_ms()), Arc::clone(&changed.after));
        self.record_change(event, move |known| known.note_rules(&after)).await;
        let by = Some(changed_by(changed.writer));
        self.emit(UiEvent::RulesChanged { hash: changed.after.hash.clone(), by });
    }

    /// Tells the history of a change of policy, and notes what it was told.
    async fn record_change(&self, event: HistoryEvent, note: impl FnOnce(&KnownVersions) + Send + 'static) {
        if let Err(error) = self.inner.parts.history.append(None, event).await {
            tracing::error!(%error, "a change of policy could not be written to the history");
            return;
        }
        let known = self.inner.parts.known.clone();
        let noted = tokio::task::spawn_blocking(move || note(&known)).await;
        noted.unwrap_or_else(|error| tracing::error!(%error, "a note was not written"));
    }

    fn emit(&self, event: UiEvent) {
        let mut live = self.live();
        let after = live.seq;
        live.seq += 1;
        // Sent under the lock, so that numbers leave in order. Nobody listening is fine: a window
        // asks for a snapshot.
        let _ = self.inner.messages.send(UiMessage { after, seq: live.seq, event });
    }

    /// Something was missed: the gap in the numbers makes every window ask for a snapshot.
    fn skip(&self) {
        self.live().seq += 1;
        self.status_changed();
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> i64 {
        self.inner.parts.ports.clock.now_ms()
    }
}

/// An answer to a loosening from the command line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LooseningAnswer {
    /// The policy gets looser.
    Apply,
    /// It stays as it is.
    Keep,
}

struct Sources {
    events: broadcast::Receiver<Event>,
    changes: broadcast::Receiver<Changed>,
    rule_changes: broadcast::Receiver<RulesChanged>,
    rules: watch::Receiver<Arc<countersign_approvals::rules::Current>>,
    appended: broadcast::Receiver<HistoryEntry>,
    settings: watch::Receiver<Settings>,
    gateway: watch::Receiver<GatewayStatus>,
    connections: watch::Receiver<()>,
    pets: watch::Receiver<()>,
    forward: watch::Receiver<()>,
    routing: watch::Receiver<()>,
    not_taken: mpsc::Receiver<NotTaken>,
    lost_sockets: mpsc::Receiver<Restored>,
    recording: watch::Receiver<RecordingState>,
    socket: watch::Receiver<SocketState>,
    store: watch::Receiver<Arc<countersign_approvals::store::Current>>,
    meanwhile: Meanwhile,
}

/// Takes a question back when its asker goes away.
struct Withdraw<'a> {
    desk: &'a Desk,
    id: &'a str,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        let removed = self.desk.live().confirmations.remove(self.id);
        if removed {
            self.desk.emit(UiEvent::ConfirmationClosed { id: self.id.to_owned(), applied: false });
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, history::HistoryError> + Send + 'static,
) -> Result<T, CommandError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(error(ErrorCode::Internal, failure.to_string())),
        Err(failure) => Err(error(ErrorCode::Internal, failure.to_string())),
    }
}

fn error(code: ErrorCode, message: impl Into<String>) -> CommandError {
    CommandError { code, message: message.into(), mistake: None }
}

fn invalid(failure: &dyn std::error::Error) -> CommandError {
    error(ErrorCode::Invalid, failure.to_string())
}

fn gone(id: &RequestId) -> CommandError {
    error(ErrorCode::Gone, format!("request {id} is no longer waiting"))
}

fn not_answered(id: &RequestId, why: NotAnswered) -> CommandError {
    match why {
        NotAnswered::Gone => gone(id),
        why => answer_error(why),
    }
}

fn changed_by(writer: Writer) -> ChangedBy {
    match writer {
        Writer::Answer => ChangedBy::Answer,
        Writer::AnotherProgram => ChangedBy::AnotherProgram,
        Writer::CommandLine => ChangedBy::CommandLine,
        Writer::FirstRun => ChangedBy::FirstRun,
        Writer::Gateway => ChangedBy::Gateway,
        Writer::Upkeep => ChangedBy::Upkeep,
        Writer::Window => ChangedBy::Window,
    }
}

/// Messages kept for a window that is slow; one that lags further asks for a snapshot.
const MESSAGES: usize = 1_024;

/// Most history entries a page holds.
const HISTORY_PAGE: usize = 200;

/// Who answers and changes here, for the history.
const WINDOW: &str = "window";
