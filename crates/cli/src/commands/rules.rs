//! `countersign rules`: structured, temporary and refusing rules, and presets. What tightens is written at
//! once; what loosens needs a person in the app's window.

use super::output::Output;
use super::{Asked, Exit, absent, counting};
use countersign_companion::agents::ids_in_rule_edits;
use countersign_companion::alone;
use countersign_companion::control::ControlError;
use countersign_companion::desk::{rules_view as view, tell_lapsed};

use anyhow::Context;
use clap::{Args, Subcommand};
use countersign_approvals::rules::RuleStore;
use countersign_core::paths::Paths;
use countersign_node::executor::sandbox::{Environs, Lapsed};
use countersign_node::host::named_destination;
use countersign_policy::{calls, display};
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::rule_edits::{
    CallRuleView, PresetSwitch, PresetView, RuleEdit, RuleState, RuleView, RulesState, RulesView,
    WorkspaceView,
};
use countersign_protocol::rules::{
    ArgumentRule, CallRuleDraft, CallSubject, FileContents, RuleDraft, RuleEffect, RuleLimits, StoredRule,
};
use countersign_protocol::ui::NamedDestination;
use serde::Serialize;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RulesCommand {
    /// List the rules and whether each still counts.
    List {
        /// Only this agent's; `*` for those of all agents.
        #[arg(long, short, value_parser = super::agent_id)]
        agent: Option<String>,
    },
    /// Show one rule as it is stored.
    Show {
        /// The rule's id, or the beginning of it.
        id: String,
    },
    /// Add a rule that allows; takes effect after a confirmation in the app's window.
    Add(AddArgs),
    /// Add a rule that refuses, whatever else allows it; takes effect at once.
    Deny(DenyArgs),
    /// Remove a rule. One that refuses goes only after a confirmation in the app's window.
    Remove {
        /// The rule's id, or the beginning of it.
        id: String,
    },
    /// List presets, or switch them on and off.
    #[command(subcommand)]
    Preset(PresetCommand),
}

#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum PresetCommand {
    /// List the presets and whether each is on.
    List,
    /// Switch one on; takes effect after a confirmation in the app's window.
    Enable {
        /// Its name.
        name: String,
    },
    /// Switch one off.
    Disable {
        /// Its name.
        name: String,
    },
}

// Arguments of `rules add`.
#[derive(Args, Clone, Debug)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    about: AboutArgs,
    /// What the arguments must begin with, such as `remote show`: any flags and operands may follow, but no
    /// word that looks like a secret's place or an order to destroy, publish or run something.
    #[arg(long, value_name = "WORDS", conflicts_with = "exact")]
    subcommand: Option<String>,
    /// Exactly these arguments, in this folder: everything behind it, so that it comes last.
    #[arg(long, num_args = 0.., allow_hyphen_values = true, value_name = "ARG")]
    exact: Option<Vec<String>>,
    /// How many runs it lets through in all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    uses: Option<u32>,
}

// Arguments of `rules deny`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    about: AboutArgs,
    /// Only when the arguments begin with these words, such as `push`.
    #[arg(long, value_name = "WORDS")]
    subcommand: Option<String>,
}

// What a rule is about: one of these.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct SubjectArgs {
    /// A program's path, with `*`, `**` and `?` as wildcards, or a bare name for what is typed as one.
    #[arg(long)]
    program: Option<String>,
    /// Changes of files below this folder, by tools of agents; what runs or is obeyed by itself is
    /// still asked about.
    #[arg(long, value_name = "FOLDER")]
    changes: Option<PathBuf>,
    /// What tools of agents fetch from this host, and for a refusal what commands say that they reach there;
    /// `*.` in front stands for any below it.
    #[arg(long)]
    host: Option<String>,
    /// Connections out of boxes to this host and port, such as `docs.rs:443`; `*.` in front stands for
    /// any host below it.
    #[arg(long, value_name = "HOST:PORT")]
    reach: Option<String>,
    /// Connections out of boxes to where packages of this kind are fetched from, such as `npm`,
    /// `pypi` or `cargo`.
    #[arg(long, value_name = "KIND", value_parser = registries())]
    registries: Option<String>,
    /// Calls of a tool of an agent's own, by its name, with `*` and `?` as wildcards. A rule that allows is
    /// about tools that neither run commands nor change files; one that refuses is about any.
    #[arg(long)]
    tool: Option<String>,
    /// A rule as JSON instead of the other options; `-` reads it from standard input.
    #[arg(long, value_name = "RULE.JSON", conflicts_with_all = ["agent", "folder", "names", "lasting", "session", "note"])]
    file: Option<PathBuf>,
}

// What every rule may say.
#[derive(Args, Clone, Debug)]
struct AboutArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Agent id [default: * for all agents].
    #[arg(long, short, value_parser = super::agent_id)]
    agent: Option<String>,
    /// Only in this folder and below it.
    #[arg(long, conflicts_with_all = ["changes", "host", "tool"])]
    folder: Option<PathBuf>,
    /// Only files with such names, with `*` and `?` as wildcards.
    #[arg(long, value_name = "PATTERN", requires = "changes",
        conflicts_with_all = ["program", "host", "reach", "registries", "tool"])]
    names: Option<String>,
    /// How long it counts: `90s`, `15m`, `1h`, `7d`.
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    lasting: Option<Duration>,
    /// Only in this session.
    #[arg(long)]
    session: Option<String>,
    /// Why, in your own words.
    #[arg(long)]
    note: Option<String>,
}

pub(super) async fn rules(paths: &Paths, command: RulesCommand, output: &Output) -> anyhow::Result<Exit> {
    match command {
        RulesCommand::List { agent } => {
            let rules = told(paths);
            list(&rules, rows(&rules), agent.as_deref(), "No rules.", output)
        }
        RulesCommand::Show { id } => {
            let rules = told(paths);
            let row = find(&rules, &id)?;
            output.result(&row, |out| {
                let json = row.stored()?;
                writeln!(out, "{}", row.described())?;
                if let Some(why) = row.uncounted() {
                    writeln!(out, "{why}")?;
                }
                // Escaped in JSON's own way, and again for what JSON leaves as it is.
                json.lines().try_for_each(|line| writeln!(out, "{}", display::escape(line)))?;
                row.say_lapsed(out)
            })?;
            Ok(Exit::Ok)
        }
        RulesCommand::Add(args) => add(paths, added(args)?, output).await,
        RulesCommand::Deny(args) => add(paths, denied(args)?, output).await,
        RulesCommand::Remove { id } => {
            let id = find(&read(paths), &id)?.id().to_owned();
            edit(paths, vec![RuleEdit::RemoveRule { id }], output).await
        }
        RulesCommand::Preset(PresetCommand::List) => {
            let presets = read(paths).presets;
            output.result(&presets, |out| presets.iter().try_for_each(|preset| preset_line(preset, out)))?;
            Ok(Exit::Ok)
        }
        RulesCommand::Preset(PresetCommand::Enable { name }) => {
            edit(paths, vec![RuleEdit::SwitchPreset { name, to: PresetSwitch::On }], output).await
        }
        RulesCommand::Preset(PresetCommand::Disable { name }) => {
            let off = RuleEdit::SwitchPreset { name: name.clone(), to: PresetSwitch::Off };
            let exit = edit(paths, vec![off], output).await?;
            let presets = read(paths).presets;
            let covers =
                |preset: &&PresetView| preset.switch == PresetSwitch::On && preset.includes.contains(&name);
            for preset in presets.iter().filter(covers) {
                output.note(&format!("{} is on and still lets run what {name} does", preset.name));
            }
            Ok(exit)
        }
    }
}

/// Stores a new rule, and says what of it nobody has.
async fn add(paths: &Paths, rule: RuleEdit, output: &Output) -> anyhow::Result<Exit> {
    let exit = edit(paths, vec![rule.clone()], output).await?;
    if exit == Exit::Ok {
        absent::say_of_rule(paths, &rule, output);
    }
    Ok(exit)
}

/// The edit that adds an allowing rule.
fn added(args: AddArgs) -> anyhow::Result<RuleEdit> {
    let AddArgs { about, subcommand, exact, uses } = args;
    let has_words = subcommand.is_some() || exact.is_some();
    if let Some(file) = about.subject.file.as_deref() {
        anyhow::ensure!(!has_words && uses.is_none(), "{WHOLE_RULE}");
        return Ok(match from_file(file)? {
            FromFile::Command(rule) => RuleEdit::AddRule { rule },
            FromFile::Call(rule) => RuleEdit::AddCallRule { rule },
        });
    }
    if let Some(call) = about.call()? {
        anyhow::ensure!(!has_words, "{ONLY_PROGRAMS}");
        return Ok(RuleEdit::AddCallRule { rule: about.call_draft(RuleEffect::Allow, call, uses) });
    }
    let arguments = match exact {
        Some(args) => {
            let folder = about.folder.as_deref().map(|folder| of_option("--folder", folder));
            ArgumentRule::Exact { args, folder: folder.unwrap_or_else(|| here(None))? }
        }
        None => about_words(subcommand.as_deref()),
    };
    Ok(RuleEdit::AddRule { rule: about.draft(RuleEffect::Allow, arguments, uses)? })
}

/// The edit that adds a refusing rule.
fn denied(args: DenyArgs) -> anyhow::Result<RuleEdit> {
    let DenyArgs { about, subcommand } = args;
    if let Some(file) = about.subject.file.as_deref() {
        anyhow::ensure!(subcommand.is_none(), "{WHOLE_RULE}");
        return Ok(match from_file(file)? {
            FromFile::Command(RuleDraft { effect: RuleEffect::Allow, .. })
            | FromFile::Call(CallRuleDraft { effect: RuleEffect::Allow, .. }) => {
                anyhow::bail!("{}: the rule allows; `countersign rules add --file` adds it", file.display())
            }
            FromFile::Command(rule) => RuleEdit::AddRule { rule },
            FromFile::Call(rule) => RuleEdit::AddCallRule { rule },
        });
    }
    if let Some(call) = about.call()? {
        anyhow::ensure!(subcommand.is_none(), "{ONLY_PROGRAMS}");
        return Ok(RuleEdit::AddCallRule { rule: about.call_draft(RuleEffect::Deny, call, None) });
    }
    let arguments = about_words(subcommand.as_deref());
    Ok(RuleEdit::AddRule { rule: about.draft(RuleEffect::Deny, arguments, None)? })
}

impl AboutArgs {
    /// What the rule is about where that is no program.
    fn call(&self) -> anyhow::Result<Option<CallSubject>> {
        let SubjectArgs { changes, host, tool, reach, registries, program: _, file: _ } = &self.subject;
        let within = || self.folder.as_deref().map(|folder| of_option("--folder", folder)).transpose();
        if let Some(folder) = changes {
            let below = of_option("--changes", folder)?;
            return Ok(Some(CallSubject::Files { below, names: self.names.clone() }));
        }
        if let Some(reach) = reach {
            return Ok(Some(crossing(reach, within()?)?));
        }
        if let Some(group) = registries {
            return Ok(Some(CallSubject::Registries { group: group.clone(), within: within()? }));
        }
        let host = host.as_deref().map(named_host).transpose()?;
        Ok(host.or_else(|| tool.as_ref().map(|tool| CallSubject::Tool { name: tool.clone() })))
    }

    fn call_draft(self, effect: RuleEffect, about: CallSubject, uses: Option<u32>) -> CallRuleDraft {
        let limits = self.limits(uses);
        let agent = self.agent.unwrap_or_else(|| "*".to_owned());
        CallRuleDraft { agent, effect, about, limits, note: self.note }
    }

    fn draft(
        self,
        effect: RuleEffect,
        arguments: ArgumentRule,
        uses: Option<u32>,
    ) -> anyhow::Result<RuleDraft> {
        let limits = self.limits(uses);
        let program = self.subject.program.context("--program is missing")?;
        let folder = self.folder.as_deref().map(|folder| of_option("--folder", folder)).transpose()?;
        Ok(RuleDraft {
            agent: self.agent.unwrap_or_else(|| "*".to_owned()),
            effect,
            program,
            arguments,
            folder,
            contents: FileContents::default(),
            limits,
            note: self.note,
        })
    }

    fn limits(&self, uses: Option<u32>) -> RuleLimits {
        RuleLimits { until_ms: self.lasting.map(until_ms), uses, session: self.session.clone() }
    }
}

/// Kinds of packages that are known.
fn registries() -> clap::builder::PossibleValuesParser {
    countersign_gate::groups().iter().map(|group| group.id).collect::<Vec<_>>().into()
}

/// What `HOST:PORT` says.
fn crossing(text: &str, within: Option<String>) -> anyhow::Result<CallSubject> {
    let NamedDestination { host, port, place } = named_destination(text).context("--reach")?;
    Ok(CallSubject::Crossing { host, port, place, within })
}

/// What a host says, which is nothing but that.
fn named_host(text: &str) -> anyhow::Result<CallSubject> {
    let host = CallSubject::Host { host: text.to_owned() };
    calls::about_as_stored(&host, |_| None)
        .and_then(|host| calls::check(&host).map(|()| host))
        .with_context(|| format!("--host {text:?}"))
}

/// When something ends that counts from now on, in Unix milliseconds.
pub(super) fn until_ms(lasting: Duration) -> i64 {
    let now_ms = jiff::Timestamp::now().as_millisecond();
    now_ms.saturating_add(i64::try_from(lasting.as_millis()).unwrap_or(i64::MAX))
}

/// Rules compare real paths, so a link is followed now and not when the rule is used.
pub(super) fn here(folder: Option<&Path>) -> anyhow::Result<String> {
    let folder = folder.unwrap_or(Path::new("."));
    let expected = || format!("expected a folder that is there, got {:?}", folder.display().to_string());
    let real = std::fs::canonicalize(folder).with_context(expected)?;
    anyhow::ensure!(real.is_dir(), "{}, which is a file", expected());
    real.into_os_string()
        .into_string()
        .map_err(|path| anyhow::anyhow!("the folder must be UTF-8, got {path:?}"))
}

/// The same of an option, which is named where the folder is not there.
fn of_option(option: &'static str, folder: &Path) -> anyhow::Result<String> {
    here(Some(folder)).context(option)
}

fn about_words(subcommand: Option<&str>) -> ArgumentRule {
    ArgumentRule::beginning_with(subcommand.unwrap_or_default())
}

/// A rule from a file: one about calls has a member `about`.
enum FromFile {
    Command(RuleDraft),
    Call(CallRuleDraft),
}

fn from_file(path: &Path) -> anyhow::Result<FromFile> {
    let mut text = String::new();
    if path == Path::new("-") {
        io::stdin().take(FILE_BYTES).read_to_string(&mut text).context("standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
        file.take(FILE_BYTES).read_to_string(&mut text).with_context(|| path.display().to_string())?;
    }
    let is_no_rule = || format!("{} is no rule", path.display());
    let mut value: serde_json::Value = serde_json::from_str(&text).with_context(is_no_rule)?;
    if let Some(draft) = shown_rule(&mut value) {
        text = serde_json::to_string(&draft)?;
        value = draft;
    }
    anyhow::ensure!(
        value.get("folder").is_none() || value.get("standing").is_none() && value.get("places").is_none(),
        "{} is about an open folder; `countersign box open` opens one",
        path.display()
    );
    // From the text again, so that what is wrong is told with its place.
    Ok(match value.get("about") {
        Some(_) => FromFile::Call(serde_json::from_str(&text).with_context(is_no_rule)?),
        None => FromFile::Command(serde_json::from_str(&text).with_context(is_no_rule)?),
    })
}

/// What `rules show` printed of a stored rule, without what its store gave it.
fn shown_rule(value: &mut serde_json::Value) -> Option<serde_json::Value> {
    let is_view = value.get("shown").is_some();
    let mut rule = if is_view { value.get_mut("rule")?.take() } else { value.clone() };
    let members = rule.as_object_mut()?;
    let mut is_stored = false;
    for name in ["id", "createdAtMs", "from"] {
        is_stored |= members.remove(name).is_some();
    }
    (is_view || is_stored).then_some(rule)
}

/// A text that does not say how long.
#[derive(Debug, thiserror::Error)]
#[error("expected a number and s, m, h or d, such as 15m, got {got:?}")]
pub(super) struct NotLasting {
    got: String,
}

pub(super) fn lasting(text: &str) -> Result<Duration, NotLasting> {
    let expected = || NotLasting { got: text.to_owned() };
    let unit = text.chars().last().ok_or_else(expected)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(expected()),
    };
    let number: u64 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| expected())?;
    number.checked_mul(seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs).ok_or_else(expected)
}

pub(super) fn read(paths: &Paths) -> RulesView {
    let (rules, now_ms) = (RuleStore::read(&paths.rules()), jiff::Timestamp::now().as_millisecond());
    counting::on_this_machine(paths, |machine| view(&rules, now_ms, machine))
}

/// The rules with what of them does not hold. The environment of this program is not that of the app, which
/// makes the boxes: what only `PATH` or another variable says is told by the app alone.
pub(super) fn told(paths: &Paths) -> RulesView {
    let mut rules = read(paths);
    let grounds = super::boxes::grounds(paths, Environs::default());
    for view in &mut rules.workspaces {
        let lapsed = Lapsed::of(&view.rule, &grounds);
        tell_lapsed(view, &lapsed);
    }
    rules
}

/// A rule of any kind, as it is listed.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Row<'a> {
    Command(&'a RuleView),
    Call(&'a CallRuleView),
    Workspace(&'a WorkspaceView),
}

impl Row<'_> {
    fn rule(&self) -> &dyn StoredRule {
        match self {
            Self::Command(view) => &view.rule,
            Self::Call(view) => &view.rule,
            Self::Workspace(view) => &view.rule,
        }
    }

    fn id(&self) -> &str {
        self.rule().id()
    }

    fn described(&self) -> String {
        display::escape(&match self {
            Self::Command(view) => countersign_policy::rules::describe(&view.rule),
            Self::Call(view) => countersign_policy::calls::describe(&view.rule),
            Self::Workspace(view) => countersign_policy::workspaces::describe(&view.rule),
        })
    }

    fn stored(&self) -> serde_json::Result<String> {
        match self {
            Self::Command(view) => serde_json::to_string_pretty(&view.rule),
            Self::Call(view) => serde_json::to_string_pretty(&view.rule),
            Self::Workspace(view) => serde_json::to_string_pretty(&view.rule),
        }
    }

    /// Why it lets nothing run, if it does not.
    fn uncounted(&self) -> Option<String> {
        match self {
            Self::Command(view) => view.uncounted.as_ref().map(counting::why),
            Self::Call(view) => view.uncounted.as_ref().map(counting::why),
            Self::Workspace(_) => None,
        }
    }

    /// Says what of it is stored and does not hold.
    fn say_lapsed(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self::Workspace(view) = self else { return Ok(()) };
        view.refused.iter().chain(&view.lapsed).try_for_each(|why| {
            writeln!(
                out,
                "    not in force: {}",
                display::escape(&display::original(why).unwrap_or_default())
            )
        })
    }

    fn state_word(&self) -> String {
        let (state, used) = match self {
            Self::Command(view) => (view.state, view.uses),
            Self::Call(view) => (view.state, view.uses),
            Self::Workspace(view) => (view.state, view.uses),
        };
        let word = match state {
            RuleState::Live if matches!(self, Self::Workspace(view) if view.refused.is_some()) => {
                "not in force"
            }
            RuleState::Live => "live",
            RuleState::Expired => "expired",
            RuleState::Spent => "spent",
            RuleState::SessionOver => "session over",
            RuleState::NeverCounts => "never counts",
            RuleState::NotNow => "not now",
        };
        match self.rule().limits().uses {
            Some(uses) => format!("{word} ({} of {uses} used)", used.min(uses)),
            None => word.to_owned(),
        }
    }
}

fn rows(rules: &RulesView) -> impl Iterator<Item = Row<'_>> {
    let commands = rules.rules.iter().map(Row::Command);
    commands.chain(rules.calls.iter().map(Row::Call)).chain(rules.workspaces.iter().map(Row::Workspace))
}

fn find<'a>(rules: &'a RulesView, id: &str) -> anyhow::Result<Row<'a>> {
    let mut found = rows(rules).filter(|row| row.id().starts_with(id));
    let exact = rows(rules).find(|row| row.id() == id);
    match (exact, found.next(), found.next()) {
        (Some(row), ..) | (None, Some(row), None) => Ok(row),
        (None, Some(_), Some(_)) => anyhow::bail!("several rules begin with {id:?}; give more of the id"),
        (None, None, _) => anyhow::bail!("there is no rule {id:?}"),
    }
}

/// Lists rules, all or those of one agent; `none` is said where there are none.
pub(super) fn list<'a>(
    rules: &RulesView,
    rows: impl Iterator<Item = Row<'a>>,
    agent: Option<&str>,
    none: &str,
    output: &Output,
) -> anyhow::Result<Exit> {
    let rows: Vec<Row<'_>> =
        rows.filter(|row| agent.is_none_or(|agent| row.rule().agent() == agent)).collect();
    if let RulesState::Unreadable { problem } = &rules.state {
        output.note(&format!("{} is not usable, so everything is asked about: {problem}", rules.path));
    }
    output.result(&rows, |out| {
        if rows.is_empty() && !matches!(rules.state, RulesState::Unreadable { .. }) {
            writeln!(out, "{none}")?;
        }
        rows.iter().try_for_each(|row| {
            let note = row.rule().note().map(|note| format!("  # {}", display::escape(note)));
            writeln!(
                out,
                "{}  {}  {}  {}{}",
                display::escape(row.id()),
                display::escape(row.rule().agent()),
                row.state_word(),
                row.described(),
                note.unwrap_or_default()
            )?;
            if let Some(why) = row.uncounted() {
                writeln!(out, "    {why}")?;
            }
            row.say_lapsed(out)
        })
    })?;
    Ok(match rules.state {
        RulesState::Ready | RulesState::Missing => Exit::Ok,
        RulesState::Unreadable { .. } => Exit::Failed,
    })
}

fn preset_line(preset: &PresetView, out: &mut dyn Write) -> io::Result<()> {
    let switch = match preset.switch {
        PresetSwitch::On => "on ",
        PresetSwitch::Off => "off",
    };
    let title = if preset.title.is_empty() { "not known to this version" } else { &preset.title };
    writeln!(out, "{switch}  {}  {title} ({} rules)", preset.name, preset.rules)?;
    if !preset.words.is_empty() {
        writeln!(out, "     {}", preset.words)?;
    }
    Ok(())
}

/// Through the app when it runs, so that a person can confirm; else directly, tightening only.
pub(super) async fn edit(paths: &Paths, mut edits: Vec<RuleEdit>, output: &Output) -> anyhow::Result<Exit> {
    // Also where the app that runs is of an older release.
    ids_in_rule_edits(&mut edits);
    let about = edits.iter().filter_map(|edit| match edit {
        RuleEdit::AddRule { rule } => Some(rule.agent.as_str()),
        RuleEdit::AddCallRule { rule } => Some(rule.agent.as_str()),
        RuleEdit::OpenWorkspace { rule } => Some(rule.agent.as_str()),
        _ => None,
    });
    super::tell_nobody(paths, about, output);
    let request = ControlRequest::EditRules { base_hash: None, edits: edits.clone() };
    let (result, asked) = match super::confirmed(paths, &request, output).await {
        Ok(ControlResponse::RulesEdited { result }) => (result, Asked::InVain),
        Ok(ControlResponse::Error { message }) => anyhow::bail!(message),
        Ok(other) => anyhow::bail!("expected the outcome of an edit, got {other:?}"),
        Err(ControlError::NotRunning) => (alone::edit_rules(paths, edits).await?, Asked::Nobody),
        Err(error) => return Err(error.into()),
    };
    counting::tell(&result.comes, output);
    output.result(&result, |out| {
        if result.applied {
            return writeln!(out, "{}", if result.undo.is_empty() { "Nothing to change." } else { "Done." });
        }
        writeln!(out, "{}", asked.not_changed())?;
        result.loosenings.iter().try_for_each(|loosening| {
            let [scope, from, to] =
                [&loosening.scope, &loosening.from, &loosening.to].map(|text| display::escape(text));
            writeln!(out, "  {scope}: {from} -> {to}")
        })
    })?;
    Ok(if result.applied { Exit::Ok } else { Exit::Denied })
}

const WHOLE_RULE: &str = "--file holds the whole rule; leave the other options out";

const ONLY_PROGRAMS: &str = "--subcommand and --exact are for rules about a --program";

/// Largest rule file that is read, in bytes: a rule is a page at most.
const FILE_BYTES: u64 = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn times_are_numbers_with_a_unit() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1h", 3_600), ("7d", 604_800)] {
            assert_eq!(lasting(text).unwrap(), Duration::from_secs(seconds));
        }
        for text in
            ["", "1", "h", "0s", "-1h", "1.5h", "1 h", "1w", "99999999999999999999d", "9999999999999999999h"]
        {
            assert!(lasting(text).is_err(), "{text:?}");
        }
    }
}
