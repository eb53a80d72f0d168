//! What rules would have met among past requests: asked of the evaluator that decides, with programs and
//! folders as they are now. Nothing runs, and no file is looked into but what git would obey.

use super::Host;
use crate::facts;
use countersign_approvals::rules::Current;
use countersign_commands::analysis::{self, Analysis};
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::allowlist::bound_parts;
use countersign_policy::always::Choice;
use countersign_policy::document::resolve;
use countersign_policy::effective::{Effective, Requested};
use countersign_policy::evaluate::{Evidence, LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate};
use countersign_policy::facts::Facts;
use countersign_policy::rules::{Folders, Moment, RuleIndex, folders_of, matches, visited, with_invocations};
use countersign_protocol::document::{Document, WILDCARD_AGENT};
use countersign_protocol::ids::AgentId;
use countersign_protocol::remember::{Breadth, RuleBreadth, RungBreadth};
use countersign_protocol::rules::{CommandRule, FileContents, RuleOrigin};
use std::collections::HashMap;
use std::sync::Arc;

/// A request of the past.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Past {
    /// Agent id.
    pub agent: AgentId,
    /// Its argument list; secrets in it may be masked.
    pub argv: Vec<String>,
    /// Working directory as given; `None` means the home directory.
    pub cwd: Option<String>,
    /// Whether a person denied it.
    pub denied: bool,
}

/// A request of the past as it would be judged now.
struct Recalled<'a> {
    past: &'a Past,
    analysis: Analysis,
    facts: Facts,
    folders: Folders,
}

impl Host {
    /// For each rung that is offered, the past requests of this agent that its rules would have let run.
    /// Blocking, a few system calls for each request.
    pub async fn breadth_of_choices(
        &self,
        agent: &AgentId,
        choices: &[Choice],
        past: &[Past],
    ) -> Vec<RungBreadth> {
        let in_force = self.in_force(agent).await;
        let trust = self.parts.trusts.of(agent);
        let current = self.parts.rules.refresh().await;
        let uses = HashMap::new();
        let now_ms = self.parts.ports.clock.now_ms();
        let moment = Moment { agent: agent.as_str(), session: None, now_ms, uses: &uses };
        let recalled: Vec<Recalled<'_>> =
            past.iter().filter(|past| past.agent == *agent).map(|past| self.recall(past)).collect();
        let of_rung = |choice: &Choice| {
            let (rules, new) = with_first(choice, agent, now_ms, &current)?;
            let lets_run = |recalled: &Recalled<'_>| {
                let evaluation = evaluate(
                    &Subject {
                        argv: &recalled.past.argv,
                        analysis: &recalled.analysis,
                        facts: &recalled.facts,
                        policy: &in_force.policy,
                        entries: &in_force.entries,
                        local: LocalRules::Known {
                            rules: &rules,
                            folders: &recalled.folders,
                            moment,
                            unclear: None,
                        },
                        trust: &trust,
                        walls: Walls::None,
                        unusual_env: &[],
                        origin: Origin::Fresh,
                    },
                    None,
                );
                matches!(evaluation.verdict, Verdict::Allow(Evidence::Entries))
                    && evaluation.spends.iter().any(|index| *index < new)
            };
            Some(RungBreadth { rung: choice.rung, breadth: breadth(&recalled, lets_run) })
        };
        choices.iter().filter_map(of_rung).collect()
    }

    /// For each stored rule, the past requests that it is about. Blocking, a few system calls
    /// for each request.
    pub async fn breadth_of_rules(&self, past: &[Past]) -> Vec<RuleBreadth> {
        let current = self.parts.rules.refresh().await;
        let recalled: Vec<Recalled<'_>> = past.iter().map(|past| self.recall(past)).collect();
        let stored = current.document.as_ref().map(|document| document.rules.as_slice()).unwrap_or_default();
        let of_rule = |rule: &CommandRule| RuleBreadth {
            id: rule.id.clone(),
            breadth: breadth(&recalled, |recalled| recalled.is_met_by(rule)),
        };
        stored.iter().map(of_rule).collect()
    }

    /// What argument patterns that bind folder and arguments by a digest stand for, as far as these requests
    /// tell: by pattern, arguments and folder. Blocking, a few system calls for each request.
    pub fn bound_by(&self, past: &[Past]) -> HashMap<String, (Vec<String>, String)> {
        let mut known = HashMap::new();
        for past in past {
            let Recalled { analysis, facts, .. } = self.recall(past);
            let Some(folder) = &facts.cwd else { continue };
            for folder in [&folder.real_path, &folder.given].map(|path| path.to_string_lossy()) {
                for (pattern, arguments) in bound_parts(&analysis, &folder) {
                    known.entry(pattern).or_insert_with(|| (arguments, folder.clone().into_owned()));
                }
            }
        }
        known
    }

    /// How many past requests would run unasked under `after` and not under `before`, beside the rules as
    /// they are. Blocking, a few system calls for each request.
    pub async fn would_run_more(&self, past: &[Past], before: &Document, after: &Document) -> u32 {
        let current = self.parts.rules.refresh().await;
        let now_ms = self.parts.ports.clock.now_ms();
        let mut more = 0;
        let mut known: HashMap<(&AgentId, bool), (Effective, EntryIndex)> = HashMap::new();
        let mut trusts: HashMap<&AgentId, Arc<Trust>> = HashMap::new();
        for past in past {
            let recalled = self.recall(past);
            let trust = match trusts.get(&past.agent) {
                Some(trust) => Arc::clone(trust),
                None => {
                    let trust = self.parts.trusts.of(&past.agent);
                    trusts.insert(&past.agent, Arc::clone(&trust));
                    trust
                }
            };
            let mut runs = |document: &Document, is_after| {
                let (policy, rules) = known.entry((&past.agent, is_after)).or_insert_with(|| {
                    let (policy, rules) = resolve(document, Some(past.agent.as_str()), Requested::default());
                    (policy, EntryIndex::new(rules))
                });
                let moment =
                    Moment { agent: past.agent.as_str(), session: None, now_ms, uses: &current.uses };
                let local = match current.is_known() {
                    true => LocalRules::Known {
                        rules: &current.index,
                        folders: &recalled.folders,
                        moment,
                        unclear: None,
                    },
                    false => LocalRules::Unreadable,
                };
                let evaluation = evaluate(
                    &Subject {
                        argv: &past.argv,
                        analysis: &recalled.analysis,
                        facts: &recalled.facts,
                        policy,
                        entries: rules,
                        local,
                        trust: &trust,
                        walls: Walls::None,
                        unusual_env: &[],
                        origin: Origin::Fresh,
                    },
                    None,
                );
                matches!(evaluation.verdict, Verdict::Allow(_))
            };
            more += u32::from(!runs(before, false) && runs(after, true));
        }
        more
    }

    fn recall<'a>(&self, past: &'a Past) -> Recalled<'a> {
        let home = self.parts.home.to_string_lossy();
        let places = self.places(past.cwd.as_deref().unwrap_or(&home));
        let mut analysis = analysis::analyze_argv(&past.argv);
        facts::name_files(&mut analysis, places);
        let facts = facts::locate(&analysis, places);
        let folders = facts::real_folders(visited(&analysis, &facts));
        Recalled { past, analysis, facts, folders }
    }
}

impl Recalled<'_> {
    fn is_met_by(&self, rule: &CommandRule) -> bool {
        if rule.agent != WILDCARD_AGENT && rule.agent != self.past.agent.as_str() {
            return false;
        }
        let places = folders_of(&self.analysis, &self.facts, &self.folders);
        let rule = whatever_files_contain(rule.clone());
        places.iter().enumerate().any(|(at, places)| {
            let meets = |invocation: countersign_policy::rules::Invocation<'_>| matches(&rule, invocation);
            with_invocations(&self.analysis, at, places, &self.facts, meets).contains(&true)
        })
    }
}

/// The rules of a choice in front of all others, and how many they are.
fn with_first(
    choice: &Choice,
    agent: &AgentId,
    now_ms: i64,
    current: &Current,
) -> Option<(RuleIndex, usize)> {
    let offers = choice.rules.as_ref().ok()?;
    let id = |index: usize| format!("offer {index}");
    let new = offers.iter().enumerate();
    let new = new.map(|(index, offer)| {
        whatever_files_contain(offer.clone().into_rule(id(index), agent.as_str().to_owned(), now_ms))
    });
    let rules = new.chain(current.index.rules().iter().cloned()).collect();
    Some((RuleIndex::new(rules), offers.len()))
}

/// Nobody knows what files contained back then: the past is compared as if they had been as they are.
fn whatever_files_contain(mut rule: CommandRule) -> CommandRule {
    if !rule.contents.is_empty() {
        // Without its file it would be no answer that anybody could have given.
        rule.from = RuleOrigin::Typed;
    }
    rule.contents = FileContents::default();
    rule
}

fn breadth(recalled: &[Recalled<'_>], is_met: impl Fn(&Recalled<'_>) -> bool) -> Breadth {
    let mut breadth = Breadth { of: u32::try_from(recalled.len()).unwrap_or(u32::MAX), ..Breadth::default() };
    for recalled in recalled.iter().filter(|recalled| is_met(recalled)) {
        breadth.matched += 1;
        breadth.denied += u32::from(recalled.past.denied);
    }
    breadth
}
