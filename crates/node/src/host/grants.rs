//! What a person here allowed for a run that comes over the network (docs/protocol/nodes.md,
//! "What an approval is worth").
//!
//! A gateway says with a run that it was approved. That is never believed: what counts is that somebody
//! answered the very question in this program's own book, about this command, folder, agent, session and
//! environment, for this node and over this gateway. Such an answer lets one run through, once, as long as
//! what was looked at is still what it was.

use super::request::Checked;
use super::{Host, Judged, Refusal};
use crate::facts::{self, Drift};
use countersign_approvals::question::{Command, Question};
use countersign_commands::analysis::analyze_text;
use countersign_commands::raw_command;
use countersign_policy::evaluate::Answer;
use countersign_policy::facts::Facts;
use countersign_protocol::ids::{AgentId, RequestId, SessionKey};
use countersign_protocol::socket::NodeRun;
use countersign_protocol::vocabulary::Decision;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A run that a question is about, as the gateway names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AskedRun {
    /// Which gateway, which node, which approval.
    pub run: NodeRun,
    /// Names of environment overrides that were shown.
    pub env_names: Vec<String>,
}

/// The command of a question.
#[derive(Clone, Debug)]
pub(super) struct AskedCommand {
    pub(super) asked: AskedRun,
    /// Its text as it was given.
    pub(super) text: String,
    /// The list that would run, where the asker said it.
    pub(super) argv: Option<Vec<String>>,
    pub(super) cwd: Option<String>,
    pub(super) agent: AgentId,
    pub(super) session: Option<SessionKey>,
    /// What was there when it was shown.
    pub(super) facts: Facts,
}

/// The command of a run.
pub(super) struct Wanted<'a> {
    pub(super) run: &'a NodeRun,
    pub(super) argv: &'a [String],
    pub(super) cwd: Option<&'a str>,
    pub(super) agent: &'a AgentId,
    pub(super) session: Option<&'a SessionKey>,
    pub(super) env_names: BTreeSet<&'a str>,
    pub(super) facts: &'a Facts,
}

/// What a person allowed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Granted {
    /// The request in book and history.
    pub(super) request_id: RequestId,
    pub(super) decision: Decision,
}

impl Granted {
    /// For the evaluation.
    pub(super) fn answer(&self) -> Answer {
        Answer::Person { request_id: self.request_id.clone(), decision: self.decision }
    }
}

/// Why an answer does not count for a run that names it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum NotGranted {
    /// It let a run through before.
    #[error("the approval was used already")]
    Used,
    /// The run is another one than the person saw.
    #[error("another {0} than was approved")]
    Other(&'static str),
    /// Something is no longer what was shown.
    #[error(transparent)]
    Drift(#[from] Drift),
}

/// Answers that wait for their run, and those that were used.
#[derive(Debug, Default)]
pub(super) struct Grants {
    kept: Mutex<VecDeque<KeptGrant>>,
}

#[derive(Debug)]
struct KeptGrant {
    asked: AskedCommand,
    granted: Granted,
    /// By the steady clock.
    until_ms: i64,
    is_used: bool,
}

impl Grants {
    /// Keeps an answer that allows.
    pub(super) fn keep(&self, asked: AskedCommand, granted: Granted, now_ms: i64) {
        let mut kept = self.kept();
        kept.retain(|known| known.until_ms > now_ms && known.asked.asked.run != asked.asked.run);
        // The oldest goes: its run asks again.
        while kept.len() >= MAX_GRANTS {
            kept.pop_front();
        }
        kept.push_back(KeptGrant {
            asked,
            granted,
            until_ms: now_ms.saturating_add(GRANT_MS),
            is_used: false,
        });
    }

    /// Takes an answer back that did not count where the question came from.
    pub(super) fn revoke(&self, run: &NodeRun) {
        self.kept().retain(|known| known.asked.asked.run != *run);
    }

    /// The answer that a run may use; from now on it is used. `None` when nobody here was
    /// asked about this run.
    pub(super) fn claim(&self, wanted: &Wanted<'_>, now_ms: i64) -> Result<Option<Granted>, NotGranted> {
        let mut kept = self.kept();
        kept.retain(|known| known.until_ms > now_ms);
        let Some(known) = kept.iter_mut().find(|known| known.asked.asked.run == *wanted.run) else {
            return Ok(None);
        };
        if std::mem::replace(&mut known.is_used, true) {
            return Err(NotGranted::Used);
        }
        known.asked.covers(wanted)?;
        Ok(Some(known.granted.clone()))
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<KeptGrant>> {
        // What a panic left behind is whole: entries are put in and marked by one operation.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AskedCommand {
    /// The command of `question`, of which `asked` is the run and `facts` what was there.
    pub(super) fn of(question: &Question, command: &Command, asked: AskedRun, facts: Facts) -> Self {
        Self {
            asked,
            text: command.text.clone(),
            argv: command.argv.clone(),
            cwd: command.folder.as_ref().map(|folder| folder.given.clone()),
            agent: question.agent.clone(),
            session: question.session.clone(),
            facts,
        }
    }

    fn covers(&self, wanted: &Wanted<'_>) -> Result<(), NotGranted> {
        let is_the_list = match &self.argv {
            Some(argv) => argv == wanted.argv,
            None => says(&self.text, wanted.argv),
        };
        let names: BTreeSet<&str> = self.asked.env_names.iter().map(String::as_str).collect();
        for (is_same, what) in [
            (is_the_list, "command"),
            (filled(self.cwd.as_deref()) == filled(wanted.cwd), "working directory"),
            (self.agent == *wanted.agent, "agent"),
            (self.session.as_ref() == wanted.session, "session"),
            (names == wanted.env_names, "environment"),
        ] {
            if !is_same {
                return Err(NotGranted::Other(what));
            }
        }
        Ok(facts::unchanged(&self.facts, wanted.facts)?)
    }
}

/// Whether a text that a person saw is all that a list runs: as the text of a gateway's shell,
/// or word by word.
fn says(text: &str, argv: &[String]) -> bool {
    if let [_, flag, inner] = argv
        && flag == "-lc"
        && raw_command::check(argv, Some(inner)).is_ok()
        && inner.trim() == text.trim()
    {
        return true;
    }
    let analysis = analyze_text(text);
    let [only] = analysis.segments.as_slice() else { return false };
    analysis.words_say_it_all()
        && only.words.len() == argv.len()
        && only.words.iter().zip(argv).all(|(word, argument)| !word.expands && word.text == *argument)
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

impl Host {
    /// Keeps the answer to a question of the socket, if it allows and names a run.
    pub(super) fn keep_grant(
        &self,
        run: Option<NodeRun>,
        question: &Question,
        mut facts: Facts,
        decision: Option<Decision>,
        request_id: &RequestId,
    ) {
        let decision = decision.filter(|decision| decision.allows());
        let Some((run, decision)) = run.zip(decision) else { return };
        let Some(command) = question.subject.command() else { return };
        facts.cwd = facts.cwd.filter(|_| command.folder.is_some());
        let asked = AskedCommand::of(question, command, AskedRun { run, env_names: Vec::new() }, facts);
        let granted = Granted { request_id: request_id.to_owned(), decision };
        self.grants.keep(asked, granted, self.parts.ports.clock.steady_ms());
    }

    /// What a person here answered when this run was asked about, if that still counts.
    pub(super) fn granted(&self, checked: &Checked, judged: &Judged) -> Result<Option<Granted>, Refusal> {
        let Some(run) = &checked.run else { return Ok(None) };
        // Whoever asked named variables and not their values; of those that may change what a command does, a
        // person has to see these.
        if !checked.env.unusual.is_empty() {
            return Ok(None);
        }
        let wanted = Wanted {
            run,
            argv: &checked.argv,
            cwd: checked.given_cwd.as_deref(),
            agent: &checked.agent,
            session: checked.session.as_ref(),
            env_names: checked.env.accepted.keys().map(String::as_str).collect(),
            facts: &judged.facts,
        };
        let claimed = self.grants.claim(&wanted, self.parts.ports.clock.steady_ms());
        claimed.map_err(|not_granted| Refusal::changed(&not_granted.to_string()))
    }
}

/// Answers that are kept at a time: more than a person gives in [`GRANT_MS`].
const MAX_GRANTS: usize = 256;

/// How long an answer waits for its run, in milliseconds: a gateway sends it at once.
const GRANT_MS: i64 = 5 * 60 * 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> NodeRun {
        NodeRun { gateway: "ws://127.0.0.1:18789".into(), node_id: "n1".into(), run_id: "r1".into() }
    }

    fn asked(argv: Option<&[&str]>) -> AskedCommand {
        AskedCommand {
            asked: AskedRun { run: run(), env_names: vec!["LANG".into()] },
            text: "id -u".into(),
            argv: argv.map(strings),
            cwd: Some("/work".into()),
            agent: AgentId::of(None),
            session: SessionKey::of(Some(SESSION)),
            facts: Facts::default(),
        }
    }

    const SESSION: &str = "agent:main:main";

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// A run after a person allowed `asked`, changed by `change`.
    fn check(
        asked: AskedCommand,
        argv: &[&str],
        change: impl Fn(&mut Wanted<'_>),
        expected: Result<bool, NotGranted>,
    ) {
        let (grants, run, argv, facts) = (Grants::default(), run(), strings(argv), Facts::default());
        let (agent, session) = (AgentId::of(None), SessionKey::of(Some(SESSION)));
        grants.keep(asked, Granted { request_id: "q".into(), decision: Decision::AllowOnce }, 0);
        let mut wanted = Wanted {
            run: &run,
            argv: &argv,
            cwd: Some("/work"),
            agent: &agent,
            session: session.as_ref(),
            env_names: BTreeSet::from(["LANG"]),
            facts: &facts,
        };
        change(&mut wanted);
        assert_eq!(grants.claim(&wanted, 1).map(|granted| granted.is_some()), expected);
    }

    #[test]
    fn an_answer_counts_for_the_run_that_was_shown() {
        check(asked(None), &["/bin/sh", "-lc", "id -u"], |_| {}, Ok(true));
        check(asked(None), &["id", "-u"], |_| {}, Ok(true));
        check(asked(Some(&["/bin/sh", "-lc", "id -u"])), &["/bin/sh", "-lc", "id -u"], |_| {}, Ok(true));
    }

    #[test]
    fn t05_an_answer_counts_for_nothing_else() {
        let other = |what| Err(NotGranted::Other(what));
        let list: &[&str] = &["id", "-u"];
        check(asked(None), &["id", "-g"], |_| {}, other("command"));
        check(asked(None), &["/bin/sh", "-lc", "id -u; id"], |_| {}, other("command"));
        check(asked(None), &["/bin/bash", "-lc", "id -u"], |_| {}, other("command"));
        check(asked(Some(&["id", "-u"])), &["/bin/sh", "-lc", "id -u"], |_| {}, other("command"));
        check(asked(None), list, |wanted| wanted.cwd = Some("/"), other("working directory"));
        check(asked(None), list, |wanted| wanted.cwd = None, other("working directory"));
        let ops: &'static AgentId = Box::leak(Box::new(AgentId::of(Some("ops"))));
        check(asked(None), list, |wanted| wanted.agent = ops, other("agent"));
        check(asked(None), list, |wanted| wanted.session = None, other("session"));
        check(asked(None), list, |wanted| wanted.env_names.clear(), other("environment"));
        let nobody_asked = |run: NodeRun| {
            let run: &'static NodeRun = Box::leak(Box::new(run));
            check(asked(None), list, |wanted| wanted.run = run, Ok(false));
        };
        nobody_asked(NodeRun { node_id: "n2".into(), ..run() });
        nobody_asked(NodeRun { gateway: "wss://elsewhere:443".into(), ..run() });
        nobody_asked(NodeRun { run_id: "r2".into(), ..run() });
    }

    #[test]
    fn t05_an_answer_counts_once_and_not_for_ever() {
        let (grants, run, facts, argv) = (Grants::default(), run(), Facts::default(), strings(&["id", "-u"]));
        let (agent, session) = (AgentId::of(None), SessionKey::of(Some(SESSION)));
        let granted = Granted { request_id: "q".into(), decision: Decision::AllowAlways };
        let wanted = || Wanted {
            run: &run,
            argv: &argv,
            cwd: Some("/work"),
            agent: &agent,
            session: session.as_ref(),
            env_names: BTreeSet::from(["LANG"]),
            facts: &facts,
        };
        grants.keep(asked(None), granted.clone(), 0);
        assert_eq!(grants.claim(&wanted(), 1), Ok(Some(granted.clone())));
        assert_eq!(grants.claim(&wanted(), 2), Err(NotGranted::Used));
        assert_eq!(grants.claim(&wanted(), GRANT_MS), Ok(None));
        grants.keep(asked(None), granted.clone(), 0);
        assert_eq!(grants.claim(&wanted(), GRANT_MS), Ok(None));
        grants.keep(asked(None), granted, 0);
        grants.revoke(&run);
        assert_eq!(grants.claim(&wanted(), 1), Ok(None));
    }

    #[test]
    fn answers_do_not_pile_up() {
        let grants = Grants::default();
        for number in 0..2 * MAX_GRANTS {
            let mut one = asked(None);
            one.asked.run.run_id = number.to_string();
            grants.keep(one, Granted { request_id: "q".into(), decision: Decision::AllowOnce }, 0);
        }
        assert_eq!(grants.kept().len(), MAX_GRANTS);
    }
}
