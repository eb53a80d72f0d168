//! What a run would be, said before anybody is asked about it, and whether it still is that
//! (docs/protocol/nodes.md, "Preparing").
//!
//! The gateway keeps what is said and sends it back with the run. It has room for one script's digest; what
//! else was looked at, programs, folder and environment, is remembered here.

use super::placement::Placement;
use super::request::{Checked, check};
use super::{Host, Refusal};
use crate::facts;
use countersign_commands::profile::Profile;
use countersign_policy::always;
use countersign_policy::effective::Requested;
use countersign_policy::facts::Facts;
use countersign_protocol::digits::hex;
use countersign_protocol::gateway::approval::Plan;
use countersign_protocol::gateway::node::{
    Coverage, CoveredPattern, ExecPolicy, FileOperand, PrepareParams, Prepared,
};
use countersign_protocol::settings::ForwardedGrants;
use countersign_protocol::socket::ExecRequest;
use countersign_protocol::vocabulary::{Ask, Security};
use std::collections::{BTreeMap, VecDeque};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// What was prepared and may still be run.
#[derive(Debug, Default)]
pub(super) struct PreparedRuns {
    kept: Mutex<VecDeque<KeptPlan>>,
}

#[derive(Debug)]
struct KeptPlan {
    plan: Plan,
    env: BTreeMap<String, String>,
    facts: Facts,
    /// By the steady clock.
    until_ms: i64,
}

impl Host {
    /// Says what a run would be: its list, folder, script and policy, and what an allow-always would store.
    /// Nothing runs and nobody is asked.
    pub async fn prepare(&self, params: PrepareParams) -> Result<Prepared, Refusal> {
        let requested = Requested {
            security: named::<Security>("security", params.security.as_deref())?,
            ask: named::<Ask>("ask", params.ask.as_deref())?,
        };
        let raw_command = params.raw_command.clone();
        let request = ExecRequest {
            command: params.command,
            raw_command: params.raw_command,
            cwd: params.cwd.clone(),
            env: params.env,
            agent_id: params.agent_id.clone(),
            session_key: params.session_key.clone(),
            ..ExecRequest::default()
        };
        let env = request.env.clone().unwrap_or_default();
        let checked = check(request, Placement::default(), &self.parts.home, ForwardedGrants::Never)?;
        let judged = self.judge(&checked).await?;
        let policy = judged.policy.clone().hardened(requested);
        let proposals = always::proposals(&judged.analysis, &judged.facts, &judged.policy);
        let patterns: Vec<CoveredPattern> =
            proposals.unwrap_or_default().first().map_or_else(Vec::new, |one| {
                vec![CoveredPattern { pattern: one.pattern.clone(), arg_pattern: one.arg_pattern.clone() }]
            });
        let plan = Plan {
            argv: checked.argv.clone(),
            cwd: params.cwd,
            command_text: checked.command_text.clone(),
            agent_id: params.agent_id,
            session_key: params.session_key,
            command_preview: raw_command.filter(|raw| raw.trim() != checked.command_text.trim()),
            policy_snapshot: Some(judged.in_force.snapshot()),
            mutable_file_operand: operand(&checked, &judged.facts),
        };
        self.prepared.keep(
            KeptPlan {
                plan: plan.clone(),
                env,
                facts: judged.facts,
                until_ms: self.steady_ms().saturating_add(KEPT_MS),
            },
            self.steady_ms(),
        );
        Ok(Prepared {
            plan,
            exec_policy: ExecPolicy { security: policy.security.value, ask: policy.ask.value },
            allow_always_coverage: Coverage { complete: !patterns.is_empty(), patterns },
        })
    }

    /// Whether `request` is what `plan` says, and nothing that it names changed since. A plan that this
    /// program does not remember is compared as far as it goes.
    pub fn still_planned(&self, request: &ExecRequest, plan: &Plan) -> Result<(), Refusal> {
        let differs = |what: &str| Err(Refusal::changed(&format!("another {what} than was prepared")));
        let filled = |text: &Option<String>| text.as_deref().map(str::trim).unwrap_or_default().to_owned();
        let checked = check(request.clone(), Placement::default(), &self.parts.home, ForwardedGrants::Never)?;
        let texts = [Some(&checked.command_text), request.raw_command.as_ref()];
        if plan.argv != request.command {
            return differs("command");
        }
        if !texts.iter().flatten().any(|text| text.trim() == plan.command_text.trim()) {
            return differs("command text");
        }
        if filled(&plan.cwd) != filled(&request.cwd) {
            return differs("working directory");
        }
        if filled(&plan.agent_id) != filled(&request.agent_id) {
            return differs("agent");
        }
        if filled(&plan.session_key) != filled(&request.session_key) {
            return differs("session");
        }
        let (_, now) = self.probe(&checked.argv, &checked.cwd, Profile::ATTENTIVE);
        if plan.mutable_file_operand != operand(&checked, &now) {
            return Err(Refusal::changed("approval script operand changed before execution"));
        }
        match self.prepared.find(plan, self.steady_ms()) {
            Some((env, _)) if env != request.env.clone().unwrap_or_default() => differs("environment"),
            Some((_, then)) => {
                facts::unchanged(&then, &now).map_err(|drift| Refusal::changed(&drift.to_string()))
            }
            None => Ok(()),
        }
    }

    /// Where programs of these names are; those with a slash or backslash, and those that are not
    /// found, are left out.
    pub fn which(&self, names: &[String]) -> BTreeMap<String, String> {
        let places = self.places("/");
        let found = names.iter().map(|name| name.trim()).filter(|name| !name.contains(['/', '\\']));
        found
            .filter(|name| !name.is_empty())
            .take(MOST_NAMES)
            .filter_map(|name| Some((name.to_owned(), facts::which(name, places)?.to_str()?.to_owned())))
            .collect()
    }

    fn steady_ms(&self) -> i64 {
        self.parts.ports.clock.steady_ms()
    }
}

impl PreparedRuns {
    fn keep(&self, run: KeptPlan, now_ms: i64) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|known| known.until_ms > now_ms && known.plan != run.plan);
        while kept.len() >= MOST_KEPT {
            kept.pop_front();
        }
        kept.push_back(run);
    }

    fn find(&self, plan: &Plan, now_ms: i64) -> Option<(BTreeMap<String, String>, Facts)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // The last one: what was prepared twice was looked at twice.
        let known = kept.iter().rev().find(|known| known.until_ms > now_ms && same(&known.plan, plan))?;
        Some((known.env.clone(), known.facts.clone()))
    }
}

/// Whether two plans are about the same run; a gateway may leave out what it does not know.
fn same(one: &Plan, other: &Plan) -> bool {
    one.argv == other.argv
        && one.cwd == other.cwd
        && one.agent_id == other.agent_id
        && one.session_key == other.session_key
}

/// The one script among the arguments that an interpreter would read.
fn operand(checked: &Checked, facts: &Facts) -> Option<FileOperand> {
    let script = facts.script.as_ref()?;
    // Inside a shell's text there is no argument that names it; the text's facts are compared all the same.
    checked.argv.get(script.index)?;
    let sha256 = hex(script.identity.sha256?);
    Some(FileOperand { argv_index: script.index, path: script.real_path.to_str()?.to_owned(), sha256 })
}

fn named<T: FromStr>(what: &str, text: Option<&str>) -> Result<Option<T>, Refusal> {
    let parsed = text.map(|text| text.trim().parse().map_err(|_| text));
    parsed.transpose().map_err(|text| {
        Refusal::invalid(&format!(
            "{what}: expected a known value, got {:?}",
            countersign_policy::display::escape(text)
        ))
    })
}

/// Plans that are remembered at a time.
const MOST_KEPT: usize = 256;

/// How long a plan is remembered, in milliseconds: as long as a person may take, and the run after that.
const KEPT_MS: i64 = 40 * 60 * 1_000;

/// Names that are looked up at a time.
const MOST_NAMES: usize = 256;
