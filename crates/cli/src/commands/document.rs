//! `countersign policy` and `countersign allowlist`. What tightens is written at once; what loosens needs a
//! person in the app's window.

use super::counting;
use super::explain;
use super::output::Output;
use super::policy_eval::{self, EvalArgs};
use super::{AgentArg, Asked, Exit};
use clap::{Args, Subcommand};
use countersign_approvals::ports::Ports;
use countersign_approvals::rules::{self, RuleStore};
use countersign_approvals::store::{Current, Store};
use countersign_companion::agents::ids_in_document_edits;
use countersign_companion::alone;
use countersign_companion::control::ControlError;
use countersign_companion::desk::{mark_entries, policy_views};
use countersign_companion::sentences::{self, Language};
use countersign_core::Core;
use countersign_core::paths::Paths;
use countersign_core::trust::TrustFile;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::edits::{
    BesideEntries, DocumentEdit, DocumentView, EntryView, PolicyField, ScopeView,
};
use countersign_protocol::question::Via;
use countersign_protocol::shown::Shown;
use countersign_protocol::state::{StoreState, TestParams};
use countersign_protocol::trace::{PolicyLayer, TestVerdict};
use serde::Serialize;

#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum PolicyCommand {
    /// Show what is in force for every agent, and which layer says so.
    Show,
    /// Set one value, or clear it so that the layer below decides.
    Set(SetArgs),
    /// Answer cases about commands and policies in bulk, for tests. Nothing runs and nothing is written.
    Eval(EvalArgs),
}

// Arguments of `policy set`.
#[derive(Args, Clone, Debug)]
pub(crate) struct SetArgs {
    /// `defaults`, `*` for all agents, or an agent: its id, or the name that the app shows.
    #[arg(long, default_value = "defaults")]
    scope: String,
    /// Which value.
    #[arg(value_enum)]
    field: Field,
    /// deny|allowlist|full, off|on-miss|always, true|false; `unset` clears it.
    value: String,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Field {
    /// What may run at all.
    Security,
    /// When a person is asked.
    Ask,
    /// What may run when nobody can be asked.
    AskFallback,
    /// Whether programs of skills run without an entry.
    AutoAllowSkills,
}

#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum AllowlistCommand {
    /// List the entries.
    List {
        /// Only this agent's; `*` for those of all agents.
        #[arg(long, short, value_parser = super::agent_id)]
        agent: Option<String>,
    },
    /// Add an entry; takes effect after a confirmation in the app's window.
    Add {
        #[command(flatten)]
        agent: AgentArg,
        /// Path of a program, with `*`, `**` and `?` as wildcards.
        pattern: String,
    },
    /// Remove an entry.
    Remove {
        /// Agent id as the document has it, or another name of it; `*` means all agents.
        #[arg(long, short, default_value = "main")]
        agent: String,
        /// The entry's id or its exact pattern.
        entry: String,
    },
    /// Say what would happen to a command, and why. Nothing runs.
    Test {
        #[command(flatten)]
        agent: AgentArg,
        #[command(flatten)]
        cwd: super::CwdArg,
        /// One argument: a command text as a shell would read it. Several, after `--`: a program
        /// and its arguments.
        #[arg(required = true, value_name = "CMD")]
        command: Vec<String>,
    },
}

#[derive(Serialize)]
struct ListReport<'a> {
    agent: &'a str,
    entry: &'a EntryView,
}

/// Where a value of the policy comes from.
const fn layer_word(layer: PolicyLayer) -> &'static str {
    match layer {
        PolicyLayer::Requested => "of the request",
        PolicyLayer::Agent => "the agent's own",
        PolicyLayer::Wildcard => "of every agent",
        PolicyLayer::Defaults => "the document's default",
        PolicyLayer::BuiltIn => "built in",
    }
}

pub(super) async fn policy(paths: &Paths, command: PolicyCommand, output: &Output) -> anyhow::Result<Exit> {
    match command {
        PolicyCommand::Show => {
            let beside = TrustFile::new(paths.tools()).now().view();
            let (store, rules) = (Store::read(&paths.openclaw_state), RuleStore::read(&paths.rules()));
            let view = view(paths, &store, &rules, Some(beside));
            let language = Language::of_process();
            output.result(&view, |out| {
                writeln!(out, "{}: {}", view.path, state_word(&view.state))?;
                for row in &view.effective {
                    let agent = if row.agent == "*" {
                        "any other agent".to_owned()
                    } else {
                        display::escape(&row.agent)
                    };
                    writeln!(
                        out,
                        "{agent}: security {} ({}), ask {} ({}), fallback {} ({})",
                        row.security,
                        layer_word(row.security_layer),
                        row.ask,
                        layer_word(row.ask_layer),
                        row.ask_fallback,
                        layer_word(row.ask_fallback_layer)
                    )?;
                    for sentence in sentences::meaning(row.meaning, language) {
                        writeln!(out, "  {sentence}")?;
                    }
                }
                view.beside.iter().try_for_each(|beside| beside_entries(out, beside))
            })?;
            Ok(Exit::Ok)
        }
        PolicyCommand::Set(args) => {
            let field = match args.field {
                Field::Security => PolicyField::Security,
                Field::Ask => PolicyField::Ask,
                Field::AskFallback => PolicyField::AskFallback,
                Field::AutoAllowSkills => PolicyField::AutoAllowSkills,
            };
            let value = (args.value != "unset").then_some(args.value);
            edit(paths, vec![DocumentEdit::SetPolicy { scope: args.scope, field, value }], output).await
        }
        PolicyCommand::Eval(args) => policy_eval::eval(&args, output),
    }
}

pub(super) async fn allowlist(
    paths: &Paths,
    command: AllowlistCommand,
    output: &Output,
) -> anyhow::Result<Exit> {
    match command {
        AllowlistCommand::List { agent } => {
            let view =
                view(paths, &Store::read(&paths.openclaw_state), &RuleStore::read(&paths.rules()), None);
            let wanted = |scope: &&ScopeView| agent.as_ref().is_none_or(|agent| *agent == scope.scope);
            let rows: Vec<ListReport<'_>> = view
                .scopes
                .iter()
                .filter(wanted)
                .flat_map(|scope| scope.entries.iter().map(|entry| ListReport { agent: &scope.scope, entry }))
                .collect();
            output.result(&rows, |out| {
                for row in &rows {
                    let agent = display::escape(row.agent);
                    let bound = if row.entry.arg_pattern.is_some() { "  (bound arguments)" } else { "" };
                    writeln!(
                        out,
                        "{}  {agent}  {}{bound}",
                        row.entry.id,
                        display::escape(&row.entry.pattern)
                    )?;
                    if let Some(uncounted) = &row.entry.uncounted {
                        writeln!(out, "    {}", counting::why(uncounted))?;
                    }
                }
                if rows.is_empty() && !matches!(view.state, StoreState::Unreadable { .. }) {
                    writeln!(out, "No entries.")?;
                }
                Ok(())
            })?;
            Ok(unless_unusable(&view.path, &view.state, output).unwrap_or(Exit::Ok))
        }
        AllowlistCommand::Add { agent, pattern } => {
            let add = DocumentEdit::AddEntry { agent: agent.agent, pattern, arg_pattern: None, source: None };
            edit(paths, vec![add], output).await
        }
        AllowlistCommand::Remove { agent, entry } => {
            let view =
                view(paths, &Store::read(&paths.openclaw_state), &RuleStore::read(&paths.rules()), None);
            let stands = view.scopes.iter().any(|scope| scope.scope == agent);
            let agent = if stands { agent } else { countersign_agents::id_of(&agent).to_owned() };
            let found: Vec<DocumentEdit> = view
                .scopes
                .iter()
                .filter(|scope| scope.scope == agent)
                .flat_map(|scope| scope.entries.iter())
                .filter(|candidate| candidate.id == entry || candidate.pattern == entry)
                .map(|candidate| DocumentEdit::DeleteEntry {
                    agent: agent.clone(),
                    entry: candidate.id.clone(),
                })
                .collect();
            anyhow::ensure!(!found.is_empty(), "agent {agent} has no entry {entry:?}");
            edit(paths, found, output).await
        }
        AllowlistCommand::Test { agent, cwd, command } => {
            let core = Core::start(paths, Via::CommandLine)?;
            let params = TestParams {
                agent: agent.agent,
                // One argument is a command text as a shell would read it; several are an argument list.
                command: match command.as_slice() {
                    [text] => text.clone(),
                    list => display::shell_quoted(list),
                },
                cwd: Some(cwd.absolute()?),
            };
            let result = core.host.test(&params).await;
            let current = core.store.current();
            core.stop().await;
            output.result(&result, |out| {
                for step in &result.trace {
                    writeln!(out, "{}", explain::line(step, Language::of_process()))?;
                }
                Ok(())
            })?;
            if let Some(exit) = unless_unusable(&current.path.display().to_string(), &current.state, output) {
                return Ok(exit);
            }
            Ok(match result.verdict {
                TestVerdict::Allow | TestVerdict::Contain => Exit::Ok,
                TestVerdict::Ask => Exit::Failed,
                TestVerdict::Deny => Exit::Denied,
            })
        }
    }
}

/// Through the app when it runs, so that a person can confirm; else directly, tightening only.
async fn edit(paths: &Paths, mut edits: Vec<DocumentEdit>, output: &Output) -> anyhow::Result<Exit> {
    // Also where the app that runs is of an older release.
    ids_in_document_edits(&mut edits, Store::read(&paths.openclaw_state).document.as_ref());
    let about = edits.iter().filter_map(|edit| match edit {
        DocumentEdit::SetPolicy { scope, value: Some(_), .. } => Some(scope.as_str()),
        DocumentEdit::AddEntry { agent, .. } => Some(agent.as_str()),
        _ => None,
    });
    super::tell_nobody(paths, about, output);
    let request = ControlRequest::Edit { base_hash: None, edits: edits.clone() };
    let (result, asked) = match super::confirmed(paths, &request, output).await {
        Ok(ControlResponse::Edited { result }) => (result, Asked::InVain),
        Ok(ControlResponse::Error { message }) => anyhow::bail!(message),
        Ok(other) => anyhow::bail!("expected the outcome of an edit, got {other:?}"),
        Err(ControlError::NotRunning) => (alone::edit_document(paths, edits).await?, Asked::Nobody),
        Err(error) => return Err(error.into()),
    };
    counting::tell(&result.comes, output);
    output.result(&result, |out| {
        if result.applied {
            return writeln!(out, "Done.");
        }
        if result.loosenings.is_empty() {
            return writeln!(out, "Nothing to change.");
        }
        writeln!(out, "{}", asked.not_changed())?;
        for loosening in &result.loosenings {
            let field = loosening.field.map(|field| format!(" {field:?}")).unwrap_or_default();
            let scope = display::escape(&loosening.scope);
            writeln!(out, "  {scope}{field}: {} -> {}", loosening.from, display::escape(&loosening.to))?;
        }
        Ok(())
    })?;
    Ok(if result.applied || result.loosenings.is_empty() { Exit::Ok } else { Exit::Denied })
}

/// What `tools.json` says beside the document.
fn beside_entries(out: &mut dyn std::io::Write, beside: &BesideEntries) -> std::io::Result<()> {
    let words = |all: &[Shown]| {
        let all: Vec<String> = all.iter().map(|one| display::original(one).unwrap_or_default()).collect();
        if all.is_empty() { "none".to_owned() } else { display::escape(&all.join(", ")) }
    };
    for scope in &beside.scopes {
        let whose = match &scope.agent {
            Some(agent) => format!("{} runs", display::escape(&display::original(agent).unwrap_or_default())),
            None => "tools.json: runs".to_owned(),
        };
        let strict = if scope.strict { "asked about" } else { "covered by its interpreter's entry" };
        writeln!(
            out,
            "{whose} as filters without an entry: {}, from {}; code on a command line: {strict}",
            words(&scope.programs),
            words(&scope.folders)
        )?;
    }
    beside.problems.iter().try_for_each(|problem| writeln!(out, "  not trusted: {problem}"))
}

fn view(
    paths: &Paths,
    current: &Current,
    rules: &rules::Current,
    beside: Option<BesideEntries>,
) -> DocumentView {
    let (mut scopes, effective) = policy_views(current, rules, Ports::system().clock.now_ms());
    counting::on_this_machine(paths, |machine| mark_entries(&mut scopes, machine));
    DocumentView {
        path: current.path.display().to_string(),
        state: current.state.clone(),
        hash: current.hash.clone(),
        scopes,
        effective,
        beside,
    }
}

/// Says that a document cannot be used, where that is so; what is said beside it is not what it says.
fn unless_unusable(path: &str, state: &StoreState, output: &Output) -> Option<Exit> {
    if !matches!(state, StoreState::Unreadable { .. }) {
        return None;
    }
    output.note(&format!("{path}: {}", state_word(state)));
    Some(Exit::Failed)
}

fn state_word(state: &StoreState) -> String {
    match state {
        StoreState::Ready => "in force".to_owned(),
        StoreState::Missing => "not there yet, so the built-in values apply".to_owned(),
        StoreState::Unreadable { problem } => format!("not usable, so everything is denied: {problem}"),
        StoreState::Sqlite { database } => {
            format!("OpenClaw keeps approvals in {database}; edit them through its gateway")
        }
    }
}
