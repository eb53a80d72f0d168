//! Agents of a machine are found, connected, looked at and left as they were, through the real command.

use crate::Story;
use anyhow::{Context, Result};
use countersign_tests::home::Home;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// Settings of three agents as people have them: plain, with comments, broken.
const SETTINGS: [(&str, &str); 3] = [
    (".claude/settings.json", "{\n  \"model\": \"opus\"\n}"),
    (".gemini/settings.json", "{ // mine\n  \"theme\": \"dark\", // at night\n}\n"),
    (".qwen/settings.json", "{ broken"),
];

fn populated() -> Result<(Home, Vec<PathBuf>)> {
    let home = Home::empty()?;
    let mut paths = Vec::new();
    for (below, text) in SETTINGS {
        let path = home.path().join(below);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(&path, text)?;
        paths.push(path);
    }
    Ok((home, paths))
}

fn of<'a>(reports: &'a Value, agent: &str) -> &'a Value {
    let all = reports.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().find(|report| report["agent"] == agent).unwrap_or(&Value::Null)
}

#[test]
fn a_machine_without_agents_is_told_so() -> Story {
    let home = Home::empty()?.with_variable("PATH", "/nowhere");
    for (words, told) in [
        (&["connect"][..], "No agent was found here"),
        (&["connect", "--all"], "No agent was found here"),
        (&["connect", "--all", "--undo"], "No agent is connected"),
        (&["status"], "No agent was found here"),
    ] {
        let finished = home.countersign(words)?.expect_code(0)?;
        assert!(finished.stdout.contains(told), "{words:?}: {finished:?}");
        let json = [&["--json"], words].concat();
        assert_eq!(home.countersign(&json)?.expect_code(0)?.json()?, json!([]), "{words:?}");
    }
    let named = home.countersign(&["connect", "codex"])?.expect_code(1)?;
    assert!(named.stdout.contains("expected Codex to be here"), "{named:?}");
    let unknown = home.countersign(&["connect", "nobody"])?.expect_code(2)?;
    assert!(unknown.stderr.contains("expected one of claude-code"), "{unknown:?}");
    home.countersign(&["connect", "--undo"])?.expect_code(1)?;
    home.countersign(&["connect", "codex", "--all"])?.expect_code(2)?;
    Ok(())
}

#[test]
fn what_is_found_is_listed_and_nothing_is_written_before_it_is_wanted() -> Story {
    let (home, paths) = populated()?;
    for words in [&["connect"][..], &["connect", "--all", "--dry-run"], &["--json", "connect"]] {
        let shown = home.countersign(words)?;
        assert!(shown.stdout.contains("Claude Code") && shown.stdout.contains("expected JSON"), "{shown:?}");
        for (path, (_, text)) in paths.iter().zip(SETTINGS) {
            assert_eq!(fs::read_to_string(path)?, text, "{words:?}");
        }
    }
    Ok(())
}

#[test]
fn all_are_connected_but_what_is_broken_and_taken_back_byte_for_byte() -> Story {
    let (home, paths) = populated()?;
    let connect = ["--json", "connect", "--all", "--by", "both"];
    let reports = home.countersign(&connect)?.expect_code(1)?.json()?;
    for agent in ["claude-code", "gemini"] {
        assert_eq!(of(&reports, agent)["applied"], true, "{reports}");
    }
    assert!(
        of(&reports, "qwen")["error"].is_string() && of(&reports, "qwen")["byHand"].is_string(),
        "{reports}"
    );
    let again = home.countersign(&connect)?.expect_code(1)?.json()?;
    assert_eq!(of(&again, "claude-code")["changes"], false, "{again}");
    let status = home.countersign(&["--json", "status"])?.expect_code(0)?.json()?;
    let claude = of(&status, "claude-code");
    assert_eq!(claude["connected"][0]["by"], "hook", "{status}");
    assert_eq!(claude["connected"][1]["by"], "mcp", "{status}");
    assert!(claude["connected"][0]["sinceMs"].as_i64().is_some_and(|at| at > 0), "{status}");
    assert_eq!(claude["connected"][0]["programIsThere"], true, "{status}");
    assert_eq!(claude["lastSeen"], json!({ "kind": "never" }), "{status}");
    assert!(of(&status, "qwen")["unread"][0].is_string(), "{status}");
    let doctor = home.countersign(&["doctor"])?.stdout;
    assert!(!doctor.contains("codex-mcp-client"), "{doctor}");
    home.write_document(&json!({ "version": 1, "agents": { "codex-mcp-client": { "security": "deny" } } }))?;
    let misnamed = home.countersign(&["doctor"])?.stdout;
    assert!(misnamed.contains("Codex is called codex here"), "{misnamed}");
    assert!(doctor.contains("Claude Code asks by hook") && doctor.contains("Qwen Code"), "{doctor}");
    home.countersign(&["connect", "claude-code", "gemini", "--undo"])?.expect_code(0)?;
    for (path, (_, text)) in paths.iter().zip(SETTINGS) {
        assert_eq!(fs::read_to_string(path)?, text);
    }
    assert!(!home.path().join(".claude.json").exists());
    Ok(())
}
