//! The table of docs/agents.md: what came of each story with each agent.

use super::Release;
use crate::workspace::root;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;

/// Puts the rows of this agent in, in place of those before. Rows of others stay, and so do those of stories
/// that were not told this time with the same release.
pub(super) fn write(release: &Release, told: &[Value]) -> Result<()> {
    let page = root().join(PAGE);
    let text = fs::read_to_string(&page)?;
    Ok(fs::write(&page, with_rows(&text, release, told)?)?)
}

/// What is otherwise than the table says, a line each.
pub(super) fn changes(release: &Release, told: &[Value]) -> Result<String> {
    compare(&fs::read_to_string(root().join(PAGE))?, release, told)
}

/// One line of the table.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Row {
    agent: String,
    version: String,
    case: String,
    result: String,
}

fn with_rows(page: &str, release: &Release, told: &[Value]) -> Result<String> {
    let (before, rows, after) = parts(page)?;
    let fresh: Vec<Row> = told.iter().map(|story| row(release, story)).collect();
    let is_kept = |row: &Row| {
        let is_ours = row.agent == release.name.title();
        !is_ours || row.version == release.version && !fresh.iter().any(|fresh| fresh.case == row.case)
    };
    let (mut all, own): (Vec<Row>, Vec<Row>) =
        rows.into_iter().filter(is_kept).partition(|row| row.agent != release.name.title());
    all.extend(fresh);
    all.extend(own);
    // A stable sort: stories stay in the order in which they are told.
    all.sort_by(|a, b| a.agent.cmp(&b.agent));
    let lines: String = all.iter().map(Row::line).collect();
    Ok(format!("{before}{BEGIN}\n\n{HEAD}\n{lines}\n{END}{after}"))
}

fn compare(page: &str, release: &Release, told: &[Value]) -> Result<String> {
    let (_, rows, _) = parts(page)?;
    let known: Vec<Row> = rows.into_iter().filter(|row| row.agent == release.name.title()).collect();
    let versions = known.first().map_or("no release", |row| row.version.as_str());
    let mut lines = vec![format!("{release} beside {versions} in {PAGE}:")];
    for fresh in told.iter().map(|story| row(release, story)) {
        match known.iter().find(|row| row.case == fresh.case) {
            Some(row) if word(&row.result) == word(&fresh.result) => {}
            Some(row) => lines.push(format!("  {}: {} before, now {}", fresh.case, row.result, fresh.result)),
            None => lines.push(format!("  {}: not there before, now {}", fresh.case, fresh.result)),
        }
    }
    if lines.len() == 1 {
        lines.push("  nothing changed".to_owned());
    }
    Ok(lines.join("\n"))
}

/// What is before the table, its rows, and what is after it.
fn parts(page: &str) -> Result<(&str, Vec<Row>, &str)> {
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("{PAGE} has no line {BEGIN}"))?;
    let (table, after) = rest.split_once(END).with_context(|| format!("{PAGE} has no line {END}"))?;
    Ok((
        before,
        table.lines().skip_while(|line| !line.starts_with("| ---")).skip(1).filter_map(Row::read).collect(),
        after,
    ))
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.splitn(4, " | ").map(str::to_owned);
        Some(Self {
            agent: cells.next()?,
            version: cells.next()?,
            case: cells.next()?,
            result: cells.next()?,
        })
    }

    fn line(&self) -> String {
        format!("| {} | {} | {} | {} |\n", self.agent, self.version, self.case, self.result)
    }
}

fn row(release: &Release, story: &Value) -> Row {
    let path = story["story"].as_str().unwrap_or_default();
    let case = path.rsplit("::").next().unwrap_or(path).replace('_', " ");
    let why = plain(story["why"].as_str().unwrap_or_default());
    let result = match story["outcome"].as_str() {
        Some("passed") => "passes".to_owned(),
        Some("absent") => format!("absent: {why}"),
        _ => format!("**fails**: {why}"),
    };
    Row { agent: release.name.title().to_owned(), version: release.version.clone(), case, result }
}

fn word(result: &str) -> &str {
    result.split(':').next().unwrap_or(result)
}

/// A reason without what is another one with every run: ids and places of this machine.
fn plain(why: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | ',');
    let mut text = String::new();
    for piece in why.lines().next().unwrap_or_default().split_inclusive(is_end) {
        let (body, end) = match piece.char_indices().last().filter(|(_, last)| is_end(*last)) {
            Some((at, _)) => piece.split_at(at),
            None => (piece, ""),
        };
        let id = body.trim_end_matches(['.', ':', ';']);
        let is_id = id.len() == 36 && id.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
        let is_place = body.contains("/tmp/") || body.contains("/countersign-story-");
        text.push_str(if is_id || is_place { "…" } else { body });
        text.push_str(end);
    }
    let mut short: String = text.chars().take(REASON_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.replace('|', "\\|").replace('<', "&lt;")
}

const PAGE: &str = "docs/agents.md";

const BEGIN: &str = "<!-- written by cargo xtask interop agents -->";

const END: &str = "<!-- end -->";

const HEAD: &str = "| Agent | Version | Case | Result |\n| --- | --- | --- | --- |";

/// Most characters of a reason: a row is one line.
const REASON_CHARS: usize = 300;

#[cfg(test)]
mod tests {
    use super::super::Name;
    use super::*;
    use serde_json::json;

    fn told(outcome: &str, why: Option<&str>) -> Value {
        json!({ "story": "calls::it_runs_once", "outcome": outcome, "why": why })
    }

    fn rows(page: &str) -> Vec<String> {
        parts(page).unwrap().1.iter().map(Row::line).collect()
    }

    #[test]
    fn rows_of_an_agent_take_the_place_of_its_own_and_leave_those_of_others() {
        let page = format!("above\n{BEGIN}\n{END}\nbelow\n");
        let claude = Name::ClaudeCode.tried();
        let codex = Name::Codex.tried();
        let page = with_rows(&page, &codex, &[told("absent", Some("no `a|b`"))]).unwrap();
        let page = with_rows(&page, &claude, &[told("failed", Some("it ran\nlog"))]).unwrap();
        let page = with_rows(&page, &claude, &[told("passed", None)]).unwrap();
        assert_eq!(
            rows(&page),
            [
                format!("| Claude Code | {} | it runs once | passes |\n", claude.version),
                format!("| Codex | {} | it runs once | absent: no `a\\|b` |\n", codex.version),
            ]
        );
        assert!(page.starts_with("above\n") && page.ends_with("below\n"));
        assert!(with_rows("no table", &claude, &[]).is_err());
    }

    #[test]
    fn a_story_that_was_not_told_again_keeps_its_row_only_with_the_same_release() {
        let page = format!("{BEGIN}\n{END}");
        let mut release = Name::Gemini.tried();
        let slow = json!({ "story": "calls::slow", "outcome": "passed" });
        let page = with_rows(&page, &release, &[told("passed", None), slow]).unwrap();
        assert_eq!(rows(&with_rows(&page, &release, &[told("passed", None)]).unwrap()).len(), 2);
        release.version = "99.0.0".to_owned();
        assert_eq!(rows(&with_rows(&page, &release, &[told("passed", None)]).unwrap()).len(), 1);
    }

    #[test]
    fn what_changed_with_a_release_is_named() {
        let page = format!("{BEGIN}\n{END}");
        let release = Name::Codex.tried();
        let page = with_rows(&page, &release, &[told("passed", None)]).unwrap();
        let now = |outcome: &str| compare(&page, &release, &[told(outcome, Some("late"))]).unwrap();
        assert!(now("passed").ends_with("nothing changed"));
        assert!(
            now("failed").ends_with("it runs once: passes before, now **fails**: late"),
            "{}",
            now("failed")
        );
    }

    #[test]
    fn a_reason_names_neither_ids_nor_places() {
        let why =
            "rule 7f9c24e0-2b1d-4f6b-9d3c-0a1b2c3d4e5f. It refused \"/tmp/countersign-story-x/work\" | <b>";
        assert_eq!(plain(why), "rule … It refused \"…\" \\| &lt;b>");
    }
}
