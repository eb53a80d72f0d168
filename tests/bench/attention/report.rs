//! The figures for people and for programs.

use crate::replay::{Boxed, Outcome};
use crate::stream::Line;
use serde::Serialize;
use std::collections::BTreeMap;

/// All figures.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Commands by source.
    commands: BTreeMap<String, usize>,
    /// Commands in all.
    total: usize,
    /// How many of them are marked sensitive.
    sensitive: usize,
    /// One per setting.
    settings: Vec<Figures>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    name: &'static str,
    /// Prompts per 100 commands by source.
    per_hundred: BTreeMap<String, f64>,
    /// The same by what was asked about: commands, destinations that a box wanted, folders that were opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<BTreeMap<String, Parts>>,
    /// Prompts per 100 commands.
    all: f64,
    /// Sensitive commands that ran without a prompt: must be none.
    sensitive_unasked: Vec<String>,
    /// Rules that answers stored.
    stored: usize,
    /// What caused most prompts.
    causes: Vec<(String, usize)>,
    /// Why the chosen rung was missing.
    withheld: BTreeMap<String, usize>,
}

/// Prompts per 100 commands.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Parts {
    asked: f64,
    crossings: f64,
    openings: f64,
}

impl Report {
    /// Puts the outcomes together.
    pub(crate) fn of(lines: &[Line], outcomes: &[Outcome]) -> Self {
        let mut commands: BTreeMap<String, usize> = BTreeMap::new();
        for line in lines {
            *commands.entry(line.source.clone()).or_default() += 1;
        }
        let settings = outcomes.iter().map(|outcome| Figures::of(outcome, &commands)).collect();
        let sensitive = lines.iter().filter(|line| line.sensitive).count();
        Self { commands, total: lines.len(), sensitive, settings }
    }

    /// A line per source and setting.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("prompts per 100 commands\n{:<32} {:>8}", "source", "commands");
        for figures in &self.settings {
            text.push_str(&format!(" {:>11}", figures.name));
        }
        text.push('\n');
        for (source, commands) in &self.commands {
            text.push_str(&format!("{source:<32} {commands:>8}"));
            for figures in &self.settings {
                text.push_str(&format!(
                    " {:>11.1}",
                    figures.per_hundred.get(source).copied().unwrap_or_default()
                ));
            }
            text.push('\n');
        }
        self.row(&mut text, "all", &self.total.to_string(), |figures| format!("{:.1}", figures.all));
        self.row(&mut text, "sensitive, run unasked", &self.sensitive.to_string(), |figures| {
            figures.sensitive_unasked.len().to_string()
        });
        self.row(&mut text, "rules stored by answers", "", |figures| figures.stored.to_string());
        for figures in &self.settings {
            text.push_str(&figures.parts());
        }
        for figures in &self.settings {
            let causes: Vec<String> =
                figures.causes.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
            text.push_str(&format!("\n{}: most prompts by {}\n", figures.name, causes.join(", ")));
            for command in figures.sensitive_unasked.iter().take(SHOWN) {
                text.push_str(&format!("  RAN UNASKED {command:?}\n"));
            }
        }
        text
    }

    fn row(&self, text: &mut String, name: &str, count: &str, value: impl Fn(&Figures) -> String) {
        text.push_str(&format!("{name:<32} {count:>8}"));
        for figures in &self.settings {
            text.push_str(&format!(" {:>11}", value(figures)));
        }
        text.push('\n');
    }
}

impl Figures {
    /// A line per source with what was asked about, and what was assumed.
    fn parts(&self) -> String {
        let Some(parts) = &self.parts else { return String::new() };
        let mut text = format!("\n{}: what was asked about, per 100 commands\n", self.name);
        text.push_str(ASSUMED);
        text.push_str(&format!(
            "{:<32} {:>9} {:>9} {:>9} {:>9}\n",
            "source", "asked", "crossings", "openings", "all"
        ));
        let (all, sources): (Vec<_>, Vec<_>) = parts.iter().partition(|(source, _)| *source == ALL);
        for (source, Parts { asked, crossings, openings }) in sources.into_iter().chain(all) {
            let sum = asked + crossings + openings;
            text.push_str(&format!(
                "{source:<32} {asked:>9.1} {crossings:>9.1} {openings:>9.1} {sum:>9.1}\n"
            ));
        }
        text
    }

    fn of(outcome: &Outcome, commands: &BTreeMap<String, usize>) -> Self {
        let share = |prompts: usize, commands: usize| 100.0 * prompts as f64 / commands.max(1) as f64;
        let kinds = [&outcome.prompts, &outcome.crossings, &outcome.openings];
        let all = commands.values().sum();
        let of_source = |source: &String| kinds.map(|kind| kind.get(source).copied().unwrap_or_default());
        let parts = |[asked, crossings, openings]: [usize; 3], commands: usize| Parts {
            asked: share(asked, commands),
            crossings: share(crossings, commands),
            openings: share(openings, commands),
        };
        let mut by_source: BTreeMap<String, Parts> = commands
            .iter()
            .map(|(source, commands)| (source.clone(), parts(of_source(source), *commands)))
            .collect();
        by_source.insert(ALL.to_owned(), parts(kinds.map(|kind| kind.values().sum()), all));
        let mut causes: Vec<(String, usize)> = outcome.causes.clone().into_iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        causes.truncate(CAUSES);
        Self {
            name: outcome.name,
            per_hundred: commands
                .iter()
                .map(|(source, commands)| (source.clone(), share(of_source(source).iter().sum(), *commands)))
                .collect(),
            all: share(kinds.iter().flat_map(|kind| kind.values()).sum(), all),
            parts: (outcome.boxed == Boxed::Yes).then_some(by_source),
            sensitive_unasked: outcome.sensitive_unasked.clone(),
            stored: outcome.stored,
            causes,
            withheld: outcome
                .withheld
                .iter()
                .map(|(reason, count)| (format!("{reason:?}"), *count))
                .collect(),
        }
    }
}

/// The line of all sources.
const ALL: &str = "all";

/// What the figures with boxes are built on.
const ASSUMED: &str = "\
assumed: a box can be made; a folder is opened once per source and agent, at the first command that would be asked about in it,
  for good, and is the top of the work; a folder that cannot be opened (none, a home, the system's) asks as before; a destination
  is answered once per source and folder, for good, and a group of registries at once; only what programs are known to reach
  counts as wanted; a command that a rule covers runs outside; a sensitive command counts as asked only when it was asked about
  itself
";

/// Causes that are named.
const CAUSES: usize = 24;

/// Commands that are shown.
const SHOWN: usize = 20;
