//! The decision flow of one request (docs/protocol/approval-socket.md, "Order of a decision"): check,
//! evaluate, ask if needed, evaluate again with the answer, check that the policy is still current, and only
//! then run.
//!
//! The same flow serves the socket and, without an app, the command line: then nobody can be asked and the
//! fallback decides.

mod asking;
mod breadth;
mod calls;
mod containing;
mod crossings;
mod grants;
mod in_force;
mod inquiry;
mod kept;
mod own_rules;
mod permit;
pub mod placement;
mod prepare;
mod ready;
mod record;
mod refusal;
mod rehearsal;
mod request;
mod running;
mod scratches;
mod shown;
mod tightened;
mod unwritten;

use crate::executor::sandbox::Environs;
use crate::executor::{NotStarted, Tap};
use crate::facts::{self, Places};
use crate::socket::server::{Call, Handler, Peer};
pub use breadth::Past;
pub use calls::Settled as SettledCall;
use containing::Around;
pub use containing::note_hidden;
use countersign_approvals::Approvals;
use countersign_approvals::history::History;
use countersign_approvals::ports::Ports;
use countersign_approvals::question::{
    Command, Looked, Offer, Place, Question, Runner, Subject as Wanted, Typing, peer_asks,
};
use countersign_approvals::rules::RuleStore;
use countersign_approvals::store::Store;
use countersign_commands::analysis::{self, Analysis};
use countersign_commands::environment;
use countersign_commands::profile::Profile;
use countersign_policy::allowlist;
use countersign_policy::always;
use countersign_policy::approved::{ApprovedCommand, ContainedCommand, NotRunnable, Plan};
use countersign_policy::document::Use;
use countersign_policy::effective::Effective;
use countersign_policy::evaluate::{
    Contained, DenyReason, Evaluation, Evidence, Subject, Trust, Verdict, evaluate,
};
use countersign_policy::facts::Facts;
use countersign_policy::{currency, display};
use countersign_protocol::edits::DocumentEdit;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::question::{CancelCause, Outcome, Via, Why};
use countersign_protocol::settings::Settings;
use countersign_protocol::socket::{AskRequest, Confinement, ExecError, ExecPayload, ExecRequest};
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use crossings::Neighbourhoods;
pub use crossings::{NotNamed, named_destination, registry_kinds};
pub use grants::AskedRun;
use grants::{Granted, Grants};
use in_force::{InForce, Policies};
pub use inquiry::{Ended, Inquired, Inquiry, Waiting};
use kept::Kept;
pub use kept::{NotKept, read_span};
use own_rules::{OwnRules, Payment};
use placement::Placement;
use prepare::PreparedRuns;
use ready::Ready;
use record::{Held, Recorder};
pub use refusal::Refusal;
use refusal::{answered_no, denied, refused_by};
use request::{Checked, check, wait_of, within};
pub use running::Running;
use scratches::Scratches;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tightened::Underway;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a host is made of.
pub struct Parts {
    /// Asks people.
    pub approvals: Approvals,
    /// The document.
    pub store: Store,
    /// The rules that it cannot hold.
    pub rules: RuleStore,
    /// What happened.
    pub history: History,
    /// Time and ids.
    pub ports: Ports,
    /// The person's settings.
    pub settings: watch::Receiver<Settings>,
    /// What runs without an entry.
    pub trusts: Box<dyn Trusts>,
    /// This process's environment, not yet sanitised.
    pub environment: BTreeMap<String, String>,
    /// Home directory: default working directory, and `~` in patterns.
    pub home: PathBuf,
    /// Folders of our own, which no sandbox may have as its own.
    pub private: Vec<PathBuf>,
    /// Where boxes keep what is written in them and belongs to no work: caches.
    pub boxes: PathBuf,
    /// Door that requests come through.
    pub via: Via,
}

/// Knows what each agent's commands may do without an entry, as it is set now.
pub trait Trusts: Send + Sync {
    /// For a command of this agent. Where it cannot be told, nothing is trusted. Every decision waits for it:
    /// a look at a small file at most.
    fn of(&self, agent: &AgentId) -> Arc<Trust>;
}

/// The same for all agents, whenever it is asked for.
impl Trusts for Arc<Trust> {
    fn of(&self, _: &AgentId) -> Arc<Trust> {
        Self::clone(self)
    }
}

/// This machine as exec host.
pub struct Host {
    parts: Parts,
    base_env: BTreeMap<String, String>,
    environs: Environs,
    policies: Policies,
    path: OsString,
    generation: u32,
    /// Answers that wait for their runs.
    grants: Arc<Grants>,
    prepared: PreparedRuns,
    running: Running,
    ready: Ready,
    scratches: Scratches,
    neighbourhoods: Neighbourhoods,
    kept: Kept,
    /// What looks at what runs did, after they ended.
    afterwards: TaskTracker,
}

/// How a request and whoever waits for it hear of each other.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Nobody waits any more: the question is withdrawn, the run is ended.
    pub gone: CancellationToken,
    /// Cancelled by the host when the command's process is started.
    pub started: CancellationToken,
    /// Hears what it prints, while it does.
    pub tap: Tap,
    /// Whether its agent will type in its terminal, if it gets one.
    pub types: bool,
}

impl From<CancellationToken> for Signals {
    fn from(gone: CancellationToken) -> Self {
        Self { gone, ..Self::default() }
    }
}

/// A request with everything that judging it needs.
struct Judged {
    analysis: Analysis,
    facts: Facts,
    in_force: Arc<InForce>,
    /// Of the agent, where the request is to run.
    policy: Effective,
    trust: Arc<Trust>,
    own: OwnRules,
    around: Around,
    /// What a person here answered before, when the run was asked about.
    granted: Option<Granted>,
    /// Why it cannot be written down that it runs, when that is so.
    unrecorded: Option<String>,
}

/// What may run, with where it may.
enum Runnable {
    Approved(ApprovedCommand),
    Contained(ContainedCommand),
}

impl Runnable {
    /// What `evaluation` lets run. With `within` it runs in that box, whatever lets it run.
    fn of(
        evaluation: Evaluation,
        within: Option<Contained>,
        facts: &Facts,
        plan: Plan,
    ) -> Result<Self, NotRunnable> {
        match (&evaluation.verdict, within) {
            (Verdict::Contain(_), _) => ContainedCommand::new(evaluation, facts, plan).map(Self::Contained),
            (_, Some(contained)) => {
                ContainedCommand::within(evaluation, contained, facts, plan).map(Self::Contained)
            }
            (_, None) => ApprovedCommand::new(evaluation, facts, plan).map(Self::Approved),
        }
    }
}

/// A request that may run.
struct Settled {
    checked: Checked,
    judged: Judged,
    evaluation: Evaluation,
}

/// A command that somebody else would run, as far as it can be seen from here.
struct Glance {
    /// Its argument list; empty where only a text is known.
    argv: Vec<String>,
    analysis: Analysis,
    facts: Facts,
}

impl Glance {
    fn looked(&self) -> Looked<'_> {
        Looked { argv: &self.argv, analysis: &self.analysis, facts: &self.facts }
    }
}

impl Host {
    /// A host. Nothing starts yet.
    pub fn new(parts: Parts) -> Self {
        let environs = Environs::of(&parts.environment);
        let mut base_env = environment::inherited(parts.environment.clone());
        // With it `cd src` goes to another folder than the one that was looked at.
        base_env.remove(SEARCH_PATH_OF_CD);
        let kept = Kept::new(parts.boxes.join(KEPT), parts.ports.clone());
        let path = base_env.get("PATH").map_or_else(|| OsString::from(DEFAULT_PATH), OsString::from);
        Self {
            parts,
            base_env,
            environs,
            policies: Policies::default(),
            path,
            generation: 1,
            grants: Arc::default(),
            prepared: PreparedRuns::default(),
            running: Running::default(),
            ready: Ready::new(),
            scratches: Scratches::default(),
            neighbourhoods: Neighbourhoods::default(),
            kept,
            afterwards: TaskTracker::new(),
        }
    }

    /// Has a command run on this machine, asking if needed. `gone` withdraws the question or ends the run.
    pub async fn exec(
        &self,
        request: ExecRequest,
        peer: &Peer,
        signals: impl Into<Signals>,
    ) -> Result<ExecPayload, Refusal> {
        self.exec_at(request, Placement::default(), peer, signals).await
    }

    /// How many bytes of a run's output the person lets be kept and returned.
    pub fn output_limit(&self) -> usize {
        self.parts.settings.borrow().limits.output_kb as usize * 1_000
    }

    /// What runs now.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Asks a person about a command that somebody else runs. `None` means silence.
    pub async fn ask(&self, request: AskRequest, peer: &Peer, gone: CancellationToken) -> Option<Decision> {
        let given_cwd = request.cwd.filter(|cwd| !cwd.is_empty());
        let glance =
            self.glance(analysis::analyze_text(&request.command), given_cwd.as_deref().unwrap_or("/"));
        let Glance { analysis, facts, .. } = &glance;
        let view = display::text_view(&request.command, analysis);
        let question = Question {
            blocked: display::allow_blocked(&view),
            subject: Wanted::Command(Box::new(Command {
                folder: given_cwd.as_deref().map(|given| glance.looked().folder(given)),
                ..Command::of_text(Runner::Asker, request.command, view)
            })),
            door: self.door(self.parts.via, peer),
            agent: AgentId::of(request.agent_id.as_deref()),
            session: SessionKey::of(request.session_key.as_deref()),
            place: claimed_place(request.host.as_deref()),
            why: Why {
                security: word(request.security.as_deref()).unwrap_or(Security::Allowlist),
                ask: word(request.ask.as_deref()).unwrap_or(Ask::OnMiss),
                ..peer_asks(PolicyLayer::Requested)
            },
            facts: glance.looked().findings(),
            offer: Offer::for_ask(&request.allowed_decisions, request.ask.as_deref()),
        };
        let mut recorder = Recorder::ask(&self.parts, &question);
        if let Some(rule) = self.refusing(&question.agent, question.session.as_ref(), analysis, facts).await {
            recorder.ended(refused_by(&rule)).await;
            return Some(Decision::Deny);
        }
        let wait = wait_of(request.approval_timeout_ms);
        // Whoever runs it has no box.
        let never = std::future::pending();
        let ending = self.submit(question.clone(), wait, peer, &gone, never, &mut recorder).await;
        let (decision, outcome) = match ending {
            Ok(ending) => {
                let decision = ending.decision();
                self.keep_grant(request.node_run, &question, glance.facts, decision, recorder.request_id());
                (decision, ending.outcome())
            }
            Err(error) => (None, Outcome::Refused { reason: error.to_string() }),
        };
        recorder.ended(outcome).await;
        decision
    }

    async fn exec_recorded(
        &self,
        request: ExecRequest,
        placement: Placement,
        peer: &Peer,
        signals: Signals,
        recorder: &mut Recorder,
    ) -> Result<ExecPayload, Refusal> {
        let Signals { gone, started, tap, types } = signals;
        let needs_screen_recording = request.needs_screen_recording == Some(true);
        let Settings { forwarded_grants, limits, .. } = *self.parts.settings.borrow();
        let mut checked = check(request, placement, &self.parts.home, forwarded_grants)?;
        // The person is shown the limit that holds.
        checked.timeout = within(checked.timeout, limits.run_seconds);
        checked.started = started;
        checked.tap = tap;
        checked.terminal = checked.terminal.map(|silent| if types { Typing::Agent } else { silent });
        let settled = self.settle(checked, needs_screen_recording, peer, &gone, recorder).await?;
        Box::pin(self.run(settled, gone, recorder)).await
    }

    /// Has it decided whether a request may run, and pays what that costs.
    async fn settle(
        &self,
        checked: Checked,
        needs_screen_recording: bool,
        peer: &Peer,
        gone: &CancellationToken,
        recorder: &mut Recorder,
    ) -> Result<Settled, Refusal> {
        let mut judged = self.judge(&checked).await?;
        self.placeable(&checked.placement, &judged.facts).await?;
        if checked.confinement == Some(Confinement::Box) {
            judged.around.required()?;
        }
        judged.granted = self.granted(&checked, &judged)?;
        for _ in 0..PAYMENT_TRIES {
            let evaluation = self.decide(&checked, &mut judged, peer, gone, recorder).await?;
            if needs_screen_recording {
                return Err(Refusal::unavailable(
                    "PERMISSION_MISSING: screenRecording",
                    "permission:screenRecording",
                ));
            }
            self.commit(&checked, &judged, &evaluation).await?;
            match self.pay(&judged, &evaluation).await {
                (Payment::Done, _) => return Ok(Settled { checked, judged, evaluation }),
                (Payment::Refused, ids) => {
                    let granted = judged.granted.take();
                    judged = Judged { granted, ..self.judge(&checked).await? };
                    if checked.confinement == Some(Confinement::Box) {
                        judged.around.required()?;
                    }
                    judged.own.withdraw(ids);
                }
            }
        }
        Err(Refusal::outdated("the rules kept changing"))
    }

    /// Judges a request, asking a person if needed. What comes back allows.
    async fn decide(
        &self,
        checked: &Checked,
        judged: &mut Judged,
        peer: &Peer,
        gone: &CancellationToken,
        recorder: &mut Recorder,
    ) -> Result<Evaluation, Refusal> {
        judged.refused_by_a_call(checked)?;
        let before = judged.granted.as_ref().map(Granted::answer);
        if let Some(Granted { request_id, decision }) = &judged.granted {
            recorder.continues(request_id, (*decision).into());
        }
        let mut first = evaluate(&judged.subject(checked), before.as_ref());
        if let Err(error) = self.parts.history.ready().await {
            judged.unrecorded = Some(error.to_string());
            if matches!(first.verdict, Verdict::Allow(_) | Verdict::Contain(_)) && before.is_none() {
                // What cannot be recorded is for a person to let run, and for nobody else.
                judged.policy.ask.value = Ask::Always;
                judged.policy.ask_fallback.value = Security::Deny;
                first = evaluate(&judged.subject(checked), None);
                if matches!(first.verdict, Verdict::Allow(_)) {
                    return Err(Refusal::unrecorded(&error));
                }
            }
        }
        let reason = match first.verdict {
            Verdict::Allow(_) | Verdict::Contain(_) => return Ok(first),
            Verdict::Deny(reason) => {
                let refusal = denied(reason, checked.origin).of_document(&self.parts.store.current());
                return Err(judged.named(refusal, &first));
            }
            Verdict::Ask(reason) => reason,
        };
        let asked = self.ask_person(checked, judged, &first, reason, peer, gone, recorder);
        let Some(answer) = Box::pin(asked).await? else {
            if checked.contained.is_some() {
                return Err(Refusal::contained());
            }
            let opened = self.opened_now(checked, judged).await;
            let closed = || Refusal::outdated("its folder was closed again");
            let (own, around, contained) = opened.ok_or_else(closed)?;
            (judged.own, judged.around) = (own, around);
            return Ok(contained);
        };
        // A rule that came while the person was looking refuses all the same.
        judged.own = self.own_rules(checked.who(), &checked.argv, &judged.analysis, &judged.facts).await;
        judged.refused_by_a_call(checked)?;
        let second = evaluate(&judged.subject(checked), Some(&answer));
        match second.verdict {
            Verdict::Allow(_) => Ok(second),
            Verdict::Deny(reason) => Err(judged.named(answered_no(reason, &answer), &second)),
            // The second pass never asks and never contains; should that ever break, nothing runs.
            Verdict::Ask(_) | Verdict::Contain(_) => Err(denied(DenyReason::AllowlistMiss, checked.origin)),
        }
    }

    /// Resolves policy and facts. The document is read again if it changed on disk.
    async fn judge(&self, checked: &Checked) -> Result<Judged, Refusal> {
        let in_force = self.in_force(&checked.agent).await;
        let trust = self.parts.trusts.of(&checked.agent);
        let (analysis, facts) = self.probe(&checked.argv, &checked.cwd, trust.profile);
        if facts.cwd.is_none() {
            return Err(Refusal::unavailable(&NotRunnable::CwdUnavailable.to_string(), "cwd-unavailable"));
        }
        let own = self.own_rules(checked.who(), &checked.argv, &analysis, &facts).await;
        let policy = checked.placement.policy(&in_force);
        let around = self.around(checked.place(), &facts, &own, policy.attendance()).await;
        Ok(Judged { analysis, facts, in_force, policy, trust, own, around, granted: None, unrecorded: None })
    }

    /// Stores what has to be stored before the run, and refuses if the policy moved meanwhile.
    async fn commit(
        &self,
        checked: &Checked,
        judged: &Judged,
        evaluation: &Evaluation,
    ) -> Result<(), Refusal> {
        let shown = || match &checked.forwarded {
            Some(forwarded) => Cow::Borrowed(forwarded),
            None => Cow::Owned(judged.in_force.snapshot()),
        };
        // What a person answers to a card of ours is stored before that; what came over the
        // network is stored here.
        let always = judged.granted.as_ref().is_some_and(|granted| granted.decision == Decision::AllowAlways)
            || matches!(&evaluation.verdict, Verdict::Allow(Evidence::Forwarded(Decision::AllowAlways)));
        let store_always =
            always && checked.placement.remembers() && judged.policy.security.value == Security::Allowlist;
        if store_always {
            let proposals = always::proposals(&judged.analysis, &judged.facts, &judged.policy);
            let edits = proposals.unwrap_or_default().first().map(|proposal| {
                let marker = checked.run.as_ref().map(|_| DocumentEdit::AddEntry {
                    agent: checked.agent.to_string(),
                    pattern: allowlist::node_command_marker(&checked.command_text),
                    arg_pattern: None,
                    source: proposal.source(),
                });
                std::iter::once(proposal.entry(&checked.agent)).chain(marker).collect()
            });
            let written = self
                .parts
                .store
                .commit_grant(checked.agent.to_string(), shown().into_owned(), edits.unwrap_or_default())
                .await;
            return written.map_err(|error| {
                tracing::info!(%error, "a forwarded grant was not stored");
                Refusal::outdated(&error.to_string())
            });
        }
        let live = self.in_force(&checked.agent).await;
        if checked.forwarded.is_none() && Arc::ptr_eq(&live, &judged.in_force) {
            return Ok(());
        }
        currency::still_current(&shown(), &live.snapshot())
            .map_err(|outdated| Refusal::outdated(&outdated.to_string()))?;
        checked.placement.still_allows(&judged.policy, &live)
    }

    async fn run(
        &self,
        settled: Settled,
        gone: CancellationToken,
        recorder: &Recorder,
    ) -> Result<ExecPayload, Refusal> {
        let Settled { checked, judged, evaluation } = settled;
        let outcome = allowed(&evaluation.verdict);
        let uses = self.uses(&checked, &judged, &evaluation);
        let placement = checked.placement;
        let plan = Plan { argv: checked.argv, env: checked.env.accepted, timeout: checked.timeout };
        let within = judged.around.contained().filter(|_| checked.confinement == Some(Confinement::Box));
        let command = match Runnable::of(evaluation, within, &judged.facts, plan) {
            Ok(command) => command,
            // Like any shell would say it: allowed, but there is nothing to start.
            Err(NotRunnable::ProgramNotFound(name)) => {
                recorder.allowed(outcome).await?;
                let payload = not_found(&name);
                recorder.ran(&payload, Duration::ZERO, Held::default()).await;
                return Ok(payload);
            }
            Err(error) => return Err(Refusal::unavailable(&error.to_string(), "cwd-unavailable")),
        };
        if !uses.is_empty() {
            self.parts.store.record_uses(uses);
        }
        let view = recorder.running(self.parts.ports.clock.now_ms());
        let (watched, mut controls) = self.running.watch(view, &gone, checked.started, checked.tap);
        controls.terminal = checked.terminal;
        controls.output = self.output_limit();
        let mut before = None;
        let stop = controls.cancel.clone();
        let tap = controls.tap.clone();
        let under_way = |is_contained| Underway {
            agent: &checked.agent,
            session: checked.session.as_ref(),
            judged: &judged,
            placement: &placement,
            is_contained,
        };
        let (ran, ended) = match command {
            Runnable::Approved(command) => {
                recorder.allowed(outcome).await?;
                let runs = self.execute(command, &placement, controls);
                let (ran, ended) = self.while_it_may(under_way(false), &stop, runs).await;
                (ran.map(|output| (output, Held::default())), ended)
            }
            Runnable::Contained(command) => {
                let run = crossings::Run {
                    agent: checked.agent.clone(),
                    session: checked.session.clone(),
                    via: recorder.via(),
                    command: checked.command_text,
                    folder: command.contained().folder.clone(),
                    wait: checked.approval_wait,
                    policy: judged.policy.clone(),
                    serving: watched.serving(),
                };
                let recorded = recorder.allowed(outcome);
                let (env, before) = (checked.box_env, &mut before);
                let runs = self.contain(command, &judged, &run, env, controls, before, recorded);
                let (ran, ended) = Box::pin(self.while_it_may(under_way(true), &stop, runs)).await;
                (ran?, ended)
            }
        };
        let ran = match ran {
            Ok((mut output, held)) => {
                if let Some(why) = ended {
                    let said = format!("\n{ENDED}: {why}\n");
                    containing::add(&mut output.payload, &said, &tap).await;
                }
                recorder.ran(&output.payload, output.duration, held).await;
                Ok(output.payload)
            }
            Err(NotStarted::Cancelled) => Err(match ended {
                Some(why) => Refusal::tightened(&why),
                None => Refusal::unanswered(Outcome::Cancelled { cause: CancelCause::RequesterGone }),
            }),
            Err(NotStarted::Sandbox(error)) => Err(Refusal::no_sandbox(&error)),
            Err(error) => Err(Refusal::changed(&error.to_string())),
        };
        if let Some(before) = before {
            self.look_after(before, recorder);
        }
        ran
    }

    fn uses(&self, checked: &Checked, judged: &Judged, evaluation: &Evaluation) -> Vec<Use> {
        let by_rule =
            matches!(&evaluation.verdict, Verdict::Allow(Evidence::Entries | Evidence::FallbackEntries));
        if !by_rule {
            return Vec::new();
        }
        let at_ms = self.parts.ports.clock.now_ms();
        let resolved = judged.analysis.segments.first().and_then(|segment| {
            let real = judged.facts.programs.get(&segment.policy()?.text)?.real_path.as_ref()?;
            Some(real.to_string_lossy().into_owned())
        });
        evaluation
            .matched
            .iter()
            .filter_map(|index| judged.in_force.entries.entries().get(*index))
            .map(|rule| Use {
                agent: rule.agent.clone(),
                pattern: rule.pattern.clone(),
                arg_pattern: rule.arg_pattern.clone(),
                at_ms,
                command: checked.command_text.clone(),
                resolved_path: resolved.clone(),
            })
            .collect()
    }

    fn places<'a>(&'a self, cwd: &'a str) -> Places<'a> {
        Places { path: &self.path, cwd: cwd.as_ref(), home: &self.parts.home }
    }

    /// Takes a command apart and looks at what it names.
    fn probe(&self, argv: &[String], cwd: &str, profile: Profile) -> (Analysis, Facts) {
        let places = self.places(cwd);
        let mut analysis = analysis::analyze_argv_as(argv, profile);
        facts::name_files(&mut analysis, places);
        let facts = facts::gather(argv, &analysis, places);
        (analysis, facts)
    }

    /// Looks at what the first command of a text names.
    fn glance(&self, analysis: Analysis, cwd: &str) -> Glance {
        let words: Vec<String> = analysis
            .segments
            .first()
            .map(|segment| segment.words.iter().map(|word| word.text.clone()).collect())
            .unwrap_or_default();
        let facts = facts::gather(&words, &analysis, self.places(cwd));
        Glance { argv: Vec::new(), analysis, facts }
    }

    /// What is in force for an agent. The document is read again if it changed on disk.
    async fn in_force(&self, agent: &AgentId) -> Arc<InForce> {
        self.policies.of(&self.parts.store.refresh().await, agent)
    }
}

impl Handler for Host {
    async fn ask(&self, call: Call<AskRequest>) -> Option<Decision> {
        Host::ask(self, call.request, &call.peer, call.gone).await
    }

    async fn exec(&self, call: Call<ExecRequest>) -> Result<ExecPayload, ExecError> {
        Host::exec(
            self,
            call.request,
            &call.peer,
            Signals {
                gone: call.gone,
                started: call.started,
                tap: Tap::default().with(call.outlet),
                ..Signals::default()
            },
        )
        .await
        .map_err(|refusal| refusal.error)
    }
}

impl Judged {
    /// Refuses a command that is seen to do what a rule about calls refuses.
    fn refused_by_a_call(&self, checked: &Checked) -> Result<(), Refusal> {
        match self.own.refuses_what_it_does() {
            Some(rule) => Err(denied(DenyReason::Rule, checked.origin).by_rule(&rule)),
            None => Ok(()),
        }
    }

    /// A refusal that names the rule which refuses.
    fn named(&self, refusal: Refusal, evaluation: &Evaluation) -> Refusal {
        match self.own.refused_by(evaluation) {
            Some(rule) => refusal.by_rule(&rule),
            None => refusal,
        }
    }

    fn subject<'a>(&'a self, checked: &'a Checked) -> Subject<'a> {
        Subject {
            argv: &checked.argv,
            analysis: &self.analysis,
            facts: &self.facts,
            policy: &self.policy,
            entries: &self.in_force.entries,
            local: self.own.local(),
            walls: self.around.walls(),
            trust: &self.trust,
            unusual_env: &checked.env.unusual,
            origin: checked.origin,
        }
    }
}

fn word<T: std::str::FromStr>(text: Option<&str>) -> Option<T> {
    text.and_then(|text| text.trim().parse().ok())
}

/// Where an asker says that it would run: this machine unless it names another.
fn claimed_place(host: Option<&str>) -> Place {
    match host.map(str::trim) {
        None | Some("" | "node" | "gateway") => Place::ThisMachine,
        Some("sandbox") => Place::Sandbox,
        Some(other) => Place::Remote(Some(other.to_owned())),
    }
}

fn allowed(verdict: &Verdict) -> Outcome {
    match verdict {
        Verdict::Allow(evidence) => match evidence {
            Evidence::Policy => Outcome::AllowedByPolicy,
            Evidence::Entries => Outcome::AllowedByRule,
            Evidence::Person { decision, .. } => (*decision).into(),
            Evidence::Forwarded(_) | Evidence::AutoReview => Outcome::AllowedElsewhere,
            Evidence::Fallback | Evidence::FallbackEntries => Outcome::AllowedByFallback,
            Evidence::Contained => Outcome::Contained,
        },
        Verdict::Contain(_) => Outcome::Contained,
        Verdict::Ask(_) | Verdict::Deny(_) => Outcome::Refused { reason: "not allowed".to_owned() },
    }
}

fn not_found(name: &str) -> ExecPayload {
    ExecPayload {
        error: Some(format!("failed to start: {} was not found", display::escape(name))),
        ..ExecPayload::default()
    }
}

/// How often a request is judged again because a rule stopped counting between judging and running.
const PAYMENT_TRIES: usize = 8;

/// A request that came to be answered elsewhere is of no use here.
/// Said at the end of what a run printed that was ended.
const ENDED: &str = "countersign: ended, because it could not be started any more";

const WITHDRAWN: Outcome = Outcome::Cancelled { cause: CancelCause::Withdrawn };

/// Where states of folders are kept, beside what boxes keep for themselves.
const KEPT: &str = "kept";

/// Where shells look for a folder before they look in the one that they are in.
const SEARCH_PATH_OF_CD: &str = "CDPATH";

/// Search path when the environment has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[cfg(test)]
mod tests;
