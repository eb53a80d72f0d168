//! `countersign rules`: structured, temporary and refusing rules, and presets. What tightens is written at once; what
//! loosens needs a person in the app's window.

use super::Exit;
use super::output::Output;
use countersign_companion::alone;
use countersign_companion::control::{self, ControlError};
use countersign_companion::desk::rules_view as view;

use anyhow::Context;
use clap::{Args, Subcommand};
use countersign_approvals::rules::RuleStore;
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::rule_edits::{
    PresetSwitch, PresetView, RuleEdit, RuleState, RuleView, RulesState, RulesView,
};
use countersign_protocol::rules::{
    ArgumentRule, ArgumentShape, CommandRule, FileContents, FlagSet, FlagStyle, OperandKind, OperandRule,
    OrderWords, RuleDraft, RuleEffect, RuleLimits, SecretPlaces,
};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List the rules and whether each still counts.
    List {
        /// Only this agent's; `*` for those of all agents.
        #[arg(long, short)]
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

/// Arguments of `rules add`.
#[derive(Args, Clone, Debug)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    about: AboutArgs,
    /// What the arguments must begin with, such as `remote show`: any flags and operands may follow, but no word that
    /// looks like a secret's place or an order to destroy, publish or run something.
    #[arg(long, value_name = "WORDS", conflicts_with = "exact")]
    subcommand: Option<String>,
    /// Exactly these arguments, in this folder.
    #[arg(long, num_args = 0.., allow_hyphen_values = true, value_name = "ARG")]
    exact: Option<Vec<String>>,
    /// How many runs it lets through in all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    uses: Option<u32>,
}

/// Arguments of `rules deny`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    about: AboutArgs,
    /// Only when the arguments begin with these words, such as `push`.
    #[arg(long, value_name = "WORDS")]
    subcommand: Option<String>,
}

/// What every rule may say.
#[derive(Args, Clone, Debug)]
struct AboutArgs {
    /// A program's path, with `*`, `**` and `?` as wildcards, or a bare name for what is typed as one.
    #[arg(long, required_unless_present = "file")]
    program: Option<String>,
    /// A rule as JSON instead of the other options; `-` reads it from standard input.
    #[arg(long, value_name = "RULE.JSON", conflicts_with_all = ["program", "agent", "folder", "lasting", "session", "note"])]
    file: Option<PathBuf>,
    /// Agent id [default: * for all agents].
    #[arg(long, short)]
    agent: Option<String>,
    /// Only in this folder and below it.
    #[arg(long)]
    folder: Option<PathBuf>,
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
        RulesCommand::List { agent } => list(&read(paths), agent.as_deref(), output),
        RulesCommand::Show { id } => {
            let rules = read(paths);
            let rule = find(&rules, &id)?;
            output.result(rule, |out| {
                let json = serde_json::to_string_pretty(&rule.rule)?;
                writeln!(out, "{}", described(rule))?;
                // Escaped in JSON's own way, and again for what JSON leaves as it is.
                json.lines().try_for_each(|line| writeln!(out, "{}", display::escape(line)))
            })?;
            Ok(Exit::Ok)
        }
        RulesCommand::Add(args) => {
            let AddArgs { about, subcommand, exact, uses } = args;
            let draft = match about.file.as_deref() {
                Some(file) => {
                    anyhow::ensure!(
                        subcommand.is_none() && exact.is_none() && uses.is_none(),
                        "--file holds the whole rule; leave the other options out"
                    );
                    from_file(file)?
                }
                None => {
                    let arguments = match exact {
                        Some(args) => ArgumentRule::Exact { args, folder: here(about.folder.as_deref())? },
                        None => about_words(subcommand.as_deref()),
                    };
                    about.draft(RuleEffect::Allow, arguments, uses)?
                }
            };
            edit(paths, vec![RuleEdit::AddRule { rule: draft }], output).await
        }
        RulesCommand::Deny(args) => {
            let DenyArgs { about, subcommand } = args;
            let draft = match about.file.as_deref() {
                Some(file) => {
                    anyhow::ensure!(
                        subcommand.is_none(),
                        "--file holds the whole rule; leave the other options out"
                    );
                    RuleDraft { effect: RuleEffect::Deny, ..from_file(file)? }
                }
                None => about.draft(RuleEffect::Deny, about_words(subcommand.as_deref()), None)?,
            };
            edit(paths, vec![RuleEdit::AddRule { rule: draft }], output).await
        }
        RulesCommand::Remove { id } => {
            let id = find(&read(paths), &id)?.rule.id.clone();
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
            edit(paths, vec![RuleEdit::SwitchPreset { name, to: PresetSwitch::Off }], output).await
        }
    }
}

impl AboutArgs {
    fn draft(
        self,
        effect: RuleEffect,
        arguments: ArgumentRule,
        uses: Option<u32>,
    ) -> anyhow::Result<RuleDraft> {
        let program = self.program.context("--program is missing")?;
        let until_ms = match self.lasting {
            Some(lasting) => {
                let now_ms = jiff::Timestamp::now().as_millisecond();
                Some(now_ms.saturating_add(i64::try_from(lasting.as_millis()).unwrap_or(i64::MAX)))
            }
            None => None,
        };
        let folder = match &self.folder {
            Some(folder) => Some(here(Some(folder))?),
            None => None,
        };
        Ok(RuleDraft {
            agent: self.agent.unwrap_or_else(|| "*".to_owned()),
            effect,
            program,
            arguments,
            folder,
            contents: FileContents::default(),
            limits: RuleLimits { until_ms, uses, session: self.session },
            note: self.note,
        })
    }
}

/// Rules compare real paths, so a link is followed now and not when the rule is used.
fn here(folder: Option<&Path>) -> anyhow::Result<String> {
    let folder = folder.unwrap_or(Path::new("."));
    let real = std::fs::canonicalize(folder).with_context(|| folder.display().to_string())?;
    anyhow::ensure!(real.is_dir(), "{} is no folder", real.display());
    real.into_os_string()
        .into_string()
        .map_err(|path| anyhow::anyhow!("the folder must be UTF-8, got {path:?}"))
}

fn about_words(subcommand: Option<&str>) -> ArgumentRule {
    let Some(words) = subcommand else { return ArgumentRule::Any };
    ArgumentRule::Shape(ArgumentShape {
        subcommand: words.split_whitespace().map(str::to_owned).collect(),
        style: FlagStyle::Clustered,
        leading: Vec::new(),
        flags: FlagSet::Any,
        operands: OperandRule { min: 0, max: u32::MAX, first: Vec::new(), kinds: vec![OperandKind::Any] },
        secrets: SecretPlaces::Refused,
        orders: OrderWords::Refused,
    })
}

fn from_file(path: &Path) -> anyhow::Result<RuleDraft> {
    let mut text = String::new();
    if path == Path::new("-") {
        io::stdin().take(FILE_BYTES).read_to_string(&mut text).context("standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
        file.take(FILE_BYTES).read_to_string(&mut text).with_context(|| path.display().to_string())?;
    }
    serde_json::from_str(&text).with_context(|| format!("{} is no rule", path.display()))
}

/// A text that does not say how long.
#[derive(Debug, thiserror::Error)]
#[error("expected a number and s, m, h or d, such as 15m, got {got:?}")]
struct NotLasting {
    got: String,
}

fn lasting(text: &str) -> Result<Duration, NotLasting> {
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

fn read(paths: &Paths) -> RulesView {
    view(&RuleStore::read(&paths.rules()), jiff::Timestamp::now().as_millisecond())
}

fn find<'a>(rules: &'a RulesView, id: &str) -> anyhow::Result<&'a RuleView> {
    let mut found = rules.rules.iter().filter(|rule| rule.rule.id.starts_with(id));
    let exact = rules.rules.iter().find(|rule| rule.rule.id == id);
    match (exact, found.next(), found.next()) {
        (Some(rule), ..) | (None, Some(rule), None) => Ok(rule),
        (None, Some(_), Some(_)) => anyhow::bail!("several rules begin with {id:?}; give more of the id"),
        (None, None, _) => anyhow::bail!("there is no rule {id:?}"),
    }
}

fn list(rules: &RulesView, agent: Option<&str>, output: &Output) -> anyhow::Result<Exit> {
    let rows: Vec<&RuleView> =
        rules.rules.iter().filter(|rule| agent.is_none_or(|agent| rule.rule.agent == agent)).collect();
    if let RulesState::Unreadable { problem } = &rules.state {
        output.note(&format!("{} is not usable, so everything is asked about: {problem}", rules.path));
    }
    output.result(&rows, |out| {
        if rows.is_empty() && !matches!(rules.state, RulesState::Unreadable { .. }) {
            writeln!(out, "No rules.")?;
        }
        rows.iter().try_for_each(|row| {
            let CommandRule { id, agent, note, .. } = &row.rule;
            let note = note.as_ref().map(|note| format!("  # {}", display::escape(note))).unwrap_or_default();
            writeln!(
                out,
                "{}  {}  {}  {}{note}",
                display::escape(id),
                display::escape(agent),
                state_word(row),
                described(row)
            )
        })
    })?;
    Ok(match rules.state {
        RulesState::Ready | RulesState::Missing => Exit::Ok,
        RulesState::Unreadable { .. } => Exit::Failed,
    })
}

fn described(rule: &RuleView) -> String {
    display::escape(&countersign_policy::rules::describe(&rule.rule))
}

fn state_word(rule: &RuleView) -> String {
    let word = match rule.state {
        RuleState::Live => "live",
        RuleState::Expired => "expired",
        RuleState::Spent => "spent",
        RuleState::SessionOver => "session over",
    };
    match rule.rule.limits.uses {
        Some(uses) => format!("{word} ({} of {uses} used)", rule.uses.min(uses)),
        None => word.to_owned(),
    }
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
async fn edit(paths: &Paths, edits: Vec<RuleEdit>, output: &Output) -> anyhow::Result<Exit> {
    let request = ControlRequest::EditRules { base_hash: None, edits: edits.clone() };
    let result = match control::call(&paths.control_socket(), &request, super::CONFIRM_WAIT).await {
        Ok(ControlResponse::RulesEdited { result }) => result,
        Ok(ControlResponse::Error { message }) => anyhow::bail!(message),
        Ok(other) => anyhow::bail!("expected the outcome of an edit, got {other:?}"),
        Err(ControlError::NotRunning) => alone::edit_rules(paths, edits).await?,
        Err(error) => return Err(error.into()),
    };
    output.result(&result, |out| {
        if result.applied {
            return writeln!(out, "{}", if result.undo.is_empty() { "Nothing to change." } else { "Done." });
        }
        writeln!(
            out,
            "Not changed: it lets more run than before, and nobody confirmed that in the app's window."
        )?;
        result.loosenings.iter().try_for_each(|loosening| {
            let [scope, from, to] =
                [&loosening.scope, &loosening.from, &loosening.to].map(|text| display::escape(text));
            writeln!(out, "  {scope}: {from} -> {to}")
        })
    })?;
    Ok(if result.applied { Exit::Ok } else { Exit::Denied })
}

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
