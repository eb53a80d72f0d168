//! The figures for people and for programs.

use crate::replay::Outcome;
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
    fn of(outcome: &Outcome, commands: &BTreeMap<String, usize>) -> Self {
        let share = |prompts: usize, commands: usize| 100.0 * prompts as f64 / commands.max(1) as f64;
        let of_source = |(source, commands): (&String, &usize)| {
            let prompts = outcome.prompts.get(source).copied().unwrap_or_default();
            (source.clone(), share(prompts, *commands))
        };
        let mut causes: Vec<(String, usize)> = outcome.causes.clone().into_iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        causes.truncate(CAUSES);
        Self {
            name: outcome.name,
            per_hundred: commands.iter().map(of_source).collect(),
            all: share(outcome.prompts.values().sum(), commands.values().sum()),
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

/// Causes that are named.
const CAUSES: usize = 24;

/// Commands that are shown.
const SHOWN: usize = 20;
