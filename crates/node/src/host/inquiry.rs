//! Questions that come over a gateway. They meet the same refusing rules, are shown with the same facts and
//! leave the same line in the history as those that come over the socket.

use super::grants::{AskedCommand, AskedRun, Granted, Grants};
use super::own_rules::RefusingRule;
use super::record::Recorder;
use super::refusal::{Refusal, denied, refused_by};
use super::{Glance, Host, Placement};
use countersign_approvals::SubmitError;
use countersign_approvals::actor::Ticket;
use countersign_approvals::book::{Ending, Record, RequestedBy};
use countersign_approvals::ports::Ports;
use countersign_approvals::question::{Command, Place, Question, Subject};
use countersign_commands::analysis::{self, Analysis};
use countersign_commands::profile::Profile;
use countersign_policy::display;
use countersign_policy::evaluate::{DenyReason, Origin};
use countersign_protocol::ids::RequestId;
use countersign_protocol::question::{CancelCause, Outcome};
use countersign_protocol::socket::NodeRun;
use countersign_protocol::vocabulary::{Decision, Security};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Something that somebody else does once a person allows it.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// As the book will keep it. What can be found out is added where a command would run on this machine.
    pub question: Question,
    /// The command's text taken apart, where that was done for the question.
    pub analysis: Option<Analysis>,
    /// How long a person has.
    pub wait: Duration,
    /// Chosen by the asker.
    pub id: Option<String>,
    /// Who asks.
    pub by: RequestedBy,
    /// The run that it is about, where the asker names one. An answer that allows lets it through here, once.
    pub run: Option<AskedRun>,
}

/// What became of a question.
#[must_use]
pub enum Inquired {
    /// A person is asked.
    Waits(Box<Waiting>),
    /// A rule refuses the command; nobody is asked, and the history has its line.
    Refused {
        /// The question's id: the chosen one, or a fresh one.
        id: RequestId,
        /// What the rule says, and what the person wrote to it.
        rule: String,
    },
}

/// A question that waits. Dropping it withdraws it, without a line in the history.
#[must_use = "dropping it withdraws the question"]
pub struct Waiting {
    ticket: Ticket,
    recorder: Recorder,
    grants: Arc<Grants>,
    asked: Option<Box<AskedCommand>>,
    ports: Ports,
}

/// A question that ended.
#[must_use = "it is written down by `written`"]
pub struct Ended {
    ending: Ending,
    /// Why it does not happen although a person allowed it.
    refusal: Option<Box<Refusal>>,
    recorder: Recorder,
    grants: Arc<Grants>,
    run: Option<NodeRun>,
}

impl Waiting {
    /// As the book keeps it.
    pub fn record(&self) -> &Arc<Record> {
        self.ticket.record()
    }

    /// Waits for the end, and judges what was allowed by the rules and the policy of that moment: what they
    /// refuse by then counts as denied. Dropping this future withdraws the question.
    pub async fn ended(self, host: &Host) -> Ended {
        self.ended_unless(host, &CancellationToken::new()).await
    }

    /// The same, as long as somebody waits for it: with `gone` it is withdrawn, whatever was
    /// answered at that moment.
    pub async fn ended_unless(mut self, host: &Host, gone: &CancellationToken) -> Ended {
        let record = Arc::clone(self.ticket.record());
        let mut ending = tokio::select! {
            biased;
            () = gone.cancelled() => Ending::Cancelled(CancelCause::RequesterGone),
            ending = self.ticket.ended() => ending,
        };
        if let Some(by) = ending.by() {
            self.recorder.answered(by);
        }
        let mut refusal = None;
        if let Ending::Decided { decision, .. } = &mut ending
            && decision.allows()
        {
            refusal = host.refused_by_now(&record.question).await.map(Box::new);
            if refusal.is_some() {
                *decision = Decision::Deny;
            }
        }
        let mut run = None;
        // Before anybody is told: the run may come at once.
        if let (Ending::Decided { decision, .. }, Some(asked)) = (&ending, self.asked.take())
            && decision.allows()
        {
            run = Some(asked.asked.run.clone());
            let granted = Granted { request_id: self.recorder.request_id().to_owned(), decision: *decision };
            self.grants.keep(*asked, granted, self.ports.clock.steady_ms());
        }
        Ended { ending, refusal, recorder: self.recorder, grants: self.grants, run }
    }
}

impl Ended {
    /// How.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Why it does not happen although a person allowed it: rules or policy became tighter while it waited.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Writes the line of the history.
    pub async fn written(self) {
        let outcome = match self.refusal {
            Some(refusal) => refusal.outcome,
            None => self.ending.outcome(),
        };
        self.recorder.ended(outcome).await;
    }

    /// Writes the line of the history when something else came of it than the answer says; then it
    /// lets no run through.
    pub async fn written_as(self, outcome: Outcome) {
        if let Some(run) = &self.run {
            self.grants.revoke(run);
        }
        self.recorder.ended(outcome).await;
    }
}

impl Host {
    /// Asks a person about a command that somebody else runs, unless a rule refuses it. A question that
    /// cannot be taken has its line in the history too, except under an id that is in use: that
    /// one has its own.
    pub async fn inquire(&self, inquiry: Inquiry) -> Result<Inquired, SubmitError> {
        let mut recorder = self.recorder_of(&inquiry);
        let Inquiry { mut question, analysis, wait, id, by, run } = inquiry;
        // Words that a plugin or a gateway's own agent puts, and names of tools, are no command,
        // whatever they look like.
        let mut glances = match &question.subject {
            Subject::Command(command) => self.glances(command, analysis),
            Subject::Tool(_) | Subject::Plugin(_) | Subject::Proposal(_) | Subject::Crossing(_) => Vec::new(),
        };
        if let Some(rule) = self.refusing_one_of(&question, &glances).await {
            recorder.ended(refused_by(&rule)).await;
            let id = recorder.request_id().to_owned();
            return Ok(Inquired::Refused { id, rule: rule.0 });
        }
        if let (Subject::Command(command), Some(glance), Place::ThisMachine) =
            (&mut question.subject, glances.last(), &question.place)
        {
            let looked = glance.looked();
            command.folder = command.folder.take().map(|folder| looked.folder(&folder.given));
            question.facts.extend(looked.findings());
        }
        let command = question.subject.command();
        let mut asked = run.zip(glances.pop()).zip(command).map(|((asked, glance), command)| {
            let mut facts = glance.facts;
            // Nobody said which folder: what was looked at is no folder of the run's.
            facts.cwd = facts.cwd.filter(|_| command.folder.is_some());
            Box::new(AskedCommand::of(&question, command, asked, facts))
        });
        match self.parts.approvals.submit(question, wait, id, by).await {
            Ok(ticket) => {
                recorder.asked(ticket.id());
                if let Some(asked) = asked.as_mut().filter(|asked| asked.asked.run.run_id.is_empty()) {
                    asked.asked.run.run_id = ticket.id().to_string();
                }
                let (grants, ports) = (Arc::clone(&self.grants), self.parts.ports.clone());
                Ok(Inquired::Waits(Box::new(Waiting { ticket, recorder, grants, asked, ports })))
            }
            Err(error @ (SubmitError::AlreadyResolved(_) | SubmitError::AnotherRequest(_))) => Err(error),
            Err(error) => {
                recorder.ended(Outcome::Refused { reason: error.to_string() }).await;
                Err(error)
            }
        }
    }

    /// The rule that refuses one of the commands which a question may be about.
    async fn refusing_one_of(&self, question: &Question, glances: &[Glance]) -> Option<RefusingRule> {
        for Glance { analysis, facts, .. } in glances {
            let rule = self.refusing(&question.agent, question.session.as_ref(), analysis, facts).await;
            if rule.is_some() {
                return rule;
            }
        }
        None
    }

    /// Why rules and policy, as they are now, refuse what a question is about: they may have become tighter
    /// since it was asked. The policy of another machine is for that machine.
    pub(super) async fn refused_by_now(&self, question: &Question) -> Option<Refusal> {
        let no = || denied(DenyReason::Rule, Origin::Fresh);
        if let Subject::Command(command) = &question.subject {
            let glances = self.glances(command, None);
            if let Some(rule) = self.refusing_one_of(question, &glances).await {
                return Some(no().by_rule(&rule));
            }
        }
        if let Some(rule) = self.refusing_call(question).await {
            return Some(no().by_rule(&rule));
        }
        let is_ours = match &question.subject {
            Subject::Command(_) | Subject::Tool(_) | Subject::Crossing(_) => true,
            Subject::Plugin(_) | Subject::Proposal(_) => false,
        };
        let is_here = is_ours && question.place == Place::ThisMachine;
        let security = Placement::default().policy(&*self.in_force(&question.agent).await).security.value;
        (is_here && security == Security::Deny).then(|| self.nothing_may_run())
    }

    /// Writes down a question that nobody can be shown.
    pub async fn unasked(&self, inquiry: &Inquiry) {
        self.recorder_of(inquiry).ended(Outcome::NotShown).await;
    }

    /// Everything that a command may turn out to be: what is said to run and what is shown may differ, and
    /// neither may be refused. What would run comes last.
    fn glances(&self, command: &Command, analysis: Option<Analysis>) -> Vec<Glance> {
        let cwd = command.folder.as_ref().map(|folder| folder.given.as_str()).filter(|cwd| !cwd.is_empty());
        let cwd = cwd.unwrap_or("/");
        let mut glances = Vec::new();
        // A text that stands for a list in a shell's arguments may be seen through where the list is not.
        let is_list = command.argv.as_deref().is_some_and(|argv| display::argv_line(argv) == command.text);
        if !is_list {
            let analysis = analysis.unwrap_or_else(|| analysis::analyze_text(&command.text));
            glances.push(self.glance(analysis, cwd));
        }
        if let Some(argv) = &command.argv {
            // Nothing runs here by it: the more is understood, the more rules can refuse.
            let (analysis, facts) = self.probe(argv, cwd, Profile::ATTENTIVE);
            glances.push(Glance { argv: argv.clone(), analysis, facts });
        }
        glances
    }

    fn recorder_of(&self, inquiry: &Inquiry) -> Recorder {
        let mut recorder = Recorder::ask(&self.parts, &inquiry.question);
        if let Some(id) = &inquiry.id {
            recorder.asked(&RequestId::from(id.as_str()));
        }
        recorder
    }
}
