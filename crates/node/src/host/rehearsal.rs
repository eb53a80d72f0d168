//! What would come of a command, with the real evaluator and real facts. Nothing runs and nobody is asked.

use super::Host;
use super::own_rules::Ruled;
use super::placement::Placement;
use crate::facts;
use countersign_commands::analysis;
use countersign_policy::calls::CallFacts;
use countersign_policy::display;
use countersign_policy::evaluate::{
    Answer, AskReason, DenyReason, Evidence, Origin, Subject, Verdict, evaluate,
};
use countersign_policy::facts::ProgramFacts;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::state::{TestParams, TestResult};
use countersign_protocol::trace::{RuleStanding, TestVerdict, TraceStep, VerdictCause};
use countersign_protocol::vocabulary::{Ask, Security};
use std::path::{Path, PathBuf};

impl Host {
    /// What the policy says about a command text, with the real evaluator and real facts. Nothing runs.
    pub async fn test(&self, params: &TestParams) -> TestResult {
        let agent = AgentId::of(Some(&params.agent));
        // What runs here is an argument list: one plain command is judged as that list, whatever needs a
        // shell as the shell's.
        let list = analysis::analyze_text(&params.command).as_list();
        let argv = list.unwrap_or_else(|| vec!["sh".to_owned(), "-c".to_owned(), params.command.clone()]);
        let verdict = |verdict: &Verdict| match verdict {
            Verdict::Allow(_) => TestVerdict::Allow,
            Verdict::Contain(_) => TestVerdict::Contain,
            Verdict::Ask(_) => TestVerdict::Ask,
            Verdict::Deny(_) => TestVerdict::Deny,
        };
        self.rehearse((&agent, None), &argv, params.cwd.as_deref(), |subject, refused| {
            let evaluation = evaluate(subject, None);
            let mut trace = evaluation.trace(subject);
            let Some(rule) = refused else {
                return TestResult { verdict: verdict(&evaluation.verdict), trace };
            };
            // What came of everything else does not matter any more.
            trace.retain(|step| !matches!(step, TraceStep::Verdict { .. }));
            let verdict = TestVerdict::Deny;
            trace.push(TraceStep::Rule { standing: RuleStanding::Refuses, rule: Some(rule) });
            trace.push(TraceStep::Verdict { verdict, cause: VerdictCause::RuleRefuses });
            TestResult { verdict, trace }
        })
        .await
    }

    /// Whether the fallback lets `argv` run when nobody can be asked. Nothing runs.
    pub async fn fallback_allows(&self, agent: &AgentId, argv: &[String], cwd: Option<&str>) -> bool {
        self.rehearse((agent, None), argv, cwd, |subject, refused| {
            let verdict = match evaluate(subject, None).verdict {
                Verdict::Ask(_) | Verdict::Contain(_) => evaluate(subject, Some(&Answer::Nobody)).verdict,
                decided => decided,
            };
            refused.is_none() && matches!(verdict, Verdict::Allow(_))
        })
        .await
    }

    /// What follows for `argv` before anybody is asked. Nothing runs.
    pub async fn verdict(
        &self,
        agent: &AgentId,
        session: Option<&SessionKey>,
        argv: &[String],
        cwd: Option<&str>,
    ) -> Verdict {
        self.rehearse((agent, session), argv, cwd, |subject, refused| match refused {
            Some(_) => Verdict::Deny(DenyReason::Rule),
            None => evaluate(subject, None).verdict,
        })
        .await
    }

    /// The same for a call that is no command, or a connection out of a box.
    pub async fn verdict_of_call(
        &self,
        agent: &AgentId,
        session: Option<&SessionKey>,
        call: &CallFacts,
    ) -> Verdict {
        let policy = Placement::default().policy(&*self.in_force(agent).await);
        let ruling = self.call_ruling(agent, session, call).await;
        match (ruling, policy.security.value, policy.ask.value) {
            (Ruled::Deny(_), ..) => Verdict::Deny(DenyReason::Rule),
            (Ruled::Unknown, ..) => Verdict::Ask(AskReason::RulesUnreadable),
            (_, Security::Deny, _) => Verdict::Deny(DenyReason::SecurityDeny),
            (_, _, Ask::Always) => Verdict::Ask(AskReason::Always),
            (Ruled::Allow(_), ..) => Verdict::Allow(Evidence::Entries),
            (Ruled::Nothing, Security::Full, _) if call.crossing.is_none() => {
                Verdict::Allow(Evidence::Policy)
            }
            (Ruled::Nothing, ..) => Verdict::Ask(AskReason::Miss),
        }
    }

    /// The folders in which programs are looked for by their names, as commands find them here.
    pub fn search_path(&self) -> Vec<PathBuf> {
        std::env::split_paths(&self.path).filter(|folder| folder.is_absolute()).collect()
    }

    /// Where a program is, by a name or a path, as commands find it here. Blocking, a few system calls.
    pub fn located(&self, name: &str) -> ProgramFacts {
        let home = self.parts.home.to_string_lossy();
        facts::located(name, self.places(&home))
    }

    /// Home directory of whose commands these are.
    pub fn home(&self) -> &Path {
        &self.parts.home
    }

    /// Hands `look` the list as a request of `agent` in its session would be judged now, in `cwd` or the home
    /// folder, and the rule about calls that refuses what it is seen to do.
    async fn rehearse<R>(
        &self,
        (agent, session): (&AgentId, Option<&SessionKey>),
        argv: &[String],
        cwd: Option<&str>,
        look: impl FnOnce(&Subject<'_>, Option<String>) -> R,
    ) -> R {
        let in_force = self.in_force(agent).await;
        let trust = self.parts.trusts.of(agent);
        let home = self.parts.home.to_string_lossy();
        let (analysis, facts) = self.probe(argv, cwd.unwrap_or(&home), trust.profile);
        let own = self.own_rules((agent, session), argv, &analysis, &facts).await;
        let attendance = in_force.policy.attendance();
        let around = self.around((&Placement::default(), None), &facts, &own, attendance).await;
        let refused = own.refuses_what_it_does().map(|rule| display::escape(&rule.0));
        let subject = Subject {
            walls: around.walls(),
            argv,
            analysis: &analysis,
            facts: &facts,
            policy: &in_force.policy,
            entries: &in_force.entries,
            local: own.local(),
            trust: &trust,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        look(&subject, refused)
    }
}
