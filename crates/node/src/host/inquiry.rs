//! Questions that come over a gateway. They meet the same refusing rules, are shown with the same facts and leave the same
//! line in the history as those that come over the socket.

use super::grants::{Asked, AskedRun, Granted, Grants};
use super::record::{self, Recorder};
use super::refusal::{ended, refused_by};
use super::{Glance, Host, card};
use countersign_approvals::SubmitError;
use countersign_approvals::actor::Ticket;
use countersign_approvals::book::{Ending, Record, Request, RequestedBy};
use countersign_approvals::ports::Ports;
use countersign_protocol::socket::NodeRun;
use countersign_protocol::ui::{CardKind, HostKind, Outcome};
use std::sync::Arc;
use std::time::Duration;

/// A question about a command that somebody else runs.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// As the book will keep it. Facts are added where the command would run on this machine.
    pub request: Request,
    /// The command's text as it was given.
    pub command: String,
    /// The argument list that would run, where the asker tells.
    pub argv: Option<Vec<String>>,
    /// Its folder as it was given.
    pub cwd: Option<String>,
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
    Waits(Box<Question>),
    /// A rule refuses the command; nobody is asked, and the history has its line.
    Refused {
        /// The question's id: the chosen one, or a fresh one.
        id: String,
    },
}

/// A question that waits. Dropping it withdraws it, without a line in the history.
#[must_use = "dropping the question withdraws it"]
pub struct Question {
    ticket: Ticket,
    recorder: Recorder,
    grants: Arc<Grants>,
    asked: Option<Box<Asked>>,
    ports: Ports,
}

/// A question that ended.
#[must_use = "it is written down by `written`"]
pub struct Ended {
    ending: Ending,
    recorder: Recorder,
    grants: Arc<Grants>,
    run: Option<NodeRun>,
}

impl Question {
    /// As the book keeps it.
    pub fn record(&self) -> &Arc<Record> {
        self.ticket.record()
    }

    /// Waits for the end. Dropping this future withdraws the question.
    pub async fn ended(mut self) -> Ended {
        let ending = self.ticket.ended().await;
        if let Ending::Decided { by, .. } | Ending::Elsewhere { by: Some(by), .. } = &ending {
            self.recorder.answered(by);
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
        Ended { ending, recorder: self.recorder, grants: self.grants, run }
    }
}

impl Ended {
    /// How.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Writes the line of the history.
    pub async fn written(self) {
        self.recorder.ended(ended(&self.ending)).await;
    }

    /// Writes the line of the history when something else came of it than the answer says; then it lets no run through.
    pub async fn written_as(self, outcome: Outcome) {
        if let Some(run) = &self.run {
            self.grants.revoke(run);
        }
        self.recorder.ended(outcome).await;
    }
}

impl Host {
    /// Asks a person about a command that somebody else runs, unless a rule refuses it. A question that cannot be taken has
    /// its line in the history too, except under an id that is in use: that one has its own.
    pub async fn inquire(&self, inquiry: Inquiry) -> Result<Inquired, SubmitError> {
        let mut recorder = self.recorder_of(&inquiry);
        let Inquiry { mut request, command, argv, cwd: given_cwd, wait, id, by, run } = inquiry;
        let cwd = given_cwd.clone().unwrap_or_default();
        let mut glances = vec![self.glance(&command, &cwd)];
        if let Some(argv) = &argv {
            let (analysis, facts) = self.probe(argv, if cwd.is_empty() { "/" } else { &cwd });
            glances.push(Glance { argv: argv.clone(), analysis, facts });
        }
        if matches!(request.card.kind, CardKind::Plugin | CardKind::SystemAgent | CardKind::Tool) {
            // Words that a plugin or a gateway's own agent puts, and names of tools, are no command, whatever they look like.
            glances.clear();
        }
        // What is said to run and what is shown may differ: neither may be refused.
        for Glance { analysis, facts, .. } in &glances {
            let rule = self.refusing(&request.agent, request.session.as_deref(), analysis, facts).await;
            if let Some(rule) = rule {
                recorder.ended(refused_by(&rule)).await;
                return Ok(Inquired::Refused { id: recorder.request_id().to_owned() });
            }
        }
        let is_here = request.card.host.kind == HostKind::ThisMachine;
        if let Some(glance) = glances.last().filter(|_| is_here) {
            request.card.facts.extend(card::facts_of_text(&glance.looked(&cwd)));
        }
        let mut asked = run.zip(glances.pop()).map(|(asked, glance)| {
            let mut facts = glance.facts;
            // Nobody said which folder: what was looked at is no folder of the run's.
            facts.cwd = facts.cwd.filter(|_| !cwd.is_empty());
            let (agent, session) = (request.agent.clone(), request.session.clone());
            Box::new(Asked { asked, text: command, argv, cwd: given_cwd, agent, session, facts })
        });
        match self.parts.approvals.submit(request, wait, id, by).await {
            Ok(ticket) => {
                recorder.asked(ticket.id());
                if let Some(asked) = asked.as_mut().filter(|asked| asked.asked.run.run_id.is_empty()) {
                    asked.asked.run.run_id = ticket.id().to_owned();
                }
                let (grants, ports) = (Arc::clone(&self.grants), self.parts.ports.clone());
                Ok(Inquired::Waits(Box::new(Question { ticket, recorder, grants, asked, ports })))
            }
            Err(error @ (SubmitError::AlreadyResolved(_) | SubmitError::AnotherRequest(_))) => Err(error),
            Err(error) => {
                recorder.ended(Outcome::Refused { reason: error.to_string() }).await;
                Err(error)
            }
        }
    }

    /// Writes down a question that nobody can be shown.
    pub async fn unasked(&self, inquiry: &Inquiry) {
        self.recorder_of(inquiry).ended(Outcome::NotShown).await;
    }

    fn recorder_of(&self, inquiry: &Inquiry) -> Recorder {
        let Inquiry { request, command, cwd, .. } = inquiry;
        let question = record::Question {
            via: request.card.via,
            card: request.card.kind,
            agent: &request.agent,
            session: request.session.as_deref(),
            command,
            cwd: cwd.as_deref(),
        };
        let mut recorder = Recorder::ask(&self.parts, &question);
        if let Some(id) = &inquiry.id {
            recorder.asked(id);
        }
        recorder
    }
}
