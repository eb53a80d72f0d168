//! What the command line says: who or what refused, what was wrong with what was typed, whom it waits for,
//! and which file of the person's stands in the way.

use crate::rig::App;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// Runs the command line, which has to end so, and say all of this.
pub(crate) fn said(app: &App, arguments: &[&str], code: i32, words: &[&str]) -> Result<String> {
    let ended = app.countersign(arguments)?;
    let said = [ended.stdout.as_str(), &ended.stderr].concat();
    ensure!(ended.code == code, "{arguments:?}: expected exit code {code}: {ended:?}");
    for word in words {
        ensure!(said.contains(word), "{arguments:?}: expected {word:?} in {ended:?}");
    }
    Ok(said)
}

#[test]
fn what_is_asked_about_because_of_a_refusal_names_it() -> Result<()> {
    let app = App::start("full", "off")?;
    app.done(&["rules", "deny", "--program", "mkfifo"])?;
    app.done(&["rules", "deny", "--program", "touch", "--note", "never on Fridays"])?;
    let test = |text: &str| said(&app, &["allowlist", "test", "--", "sh", "-c", text], 1, &[]);
    let told = test("echo a | mkfif$X b")?;
    ensure!(told.contains("may refuse that: refuse mkfifo with any arguments (*)"), "{told}");
    let told = test("x='touch a'; $Y -c \"$x\" 'touch b'")?;
    ensure!(told.contains("(*)") && !told.contains("nobody could be asked"), "{told}");
    app.done(&["rules", "deny", "--changes", "in"])?;
    let told = test("rm \"$X\"")?;
    ensure!(
        told.contains(&format!("may refuse that: refuse changes of files below {}", app.at("in"))),
        "{told}"
    );
    Ok(())
}

#[test]
fn a_refusal_is_named_by_its_sentence_and_its_note() -> Result<()> {
    let app = App::start("full", "off")?;
    app.done(&["rules", "deny", "--program", "mkfifo"])?;
    app.done(&["rules", "deny", "--program", "touch", "--note", "never on Fridays"])?;
    app.done(&["rules", "deny", "--changes", "in"])?;
    let rows: Value = serde_json::from_str(&app.done(&["--json", "rules", "list"])?)?;
    let ids: Vec<&str> =
        rows.as_array().into_iter().flatten().filter_map(|row| row["rule"]["id"].as_str()).collect();
    ensure!(ids.len() == 3, "{rows}");
    let changed = format!("refuse changes of files below {}", app.at("in"));
    let edit = json!({ "file_path": app.at("in/a"), "content": "x" });
    let mut heard = Vec::new();
    for (command, sentence) in [
        (["mkfifo", "a"], "refuse mkfifo with any arguments"),
        (["touch", "a"], "never on Fridays (refuse touch with any arguments)"),
    ] {
        let said = app.exec(&[], &command)?.1;
        ensure!(said.stderr.contains(&format!("refused by a rule: {sentence}")), "{said:?}");
        let input = json!({ "command": command.join(" ") });
        let hooked = app.hook("claude-code Bash", &input, "")?.1;
        ensure!(hooked.stdout.contains(sentence), "{hooked:?}");
        let tested = app.countersign(&["allowlist", "test", &command.join(" ")])?;
        ensure!(tested.stdout.contains(&sentence[sentence.len() - 20..sentence.len() - 1]), "{tested:?}");
        heard.extend([said.stderr, hooked.stdout, tested.stdout]);
    }
    let hooked = app.hook("claude-code Write", &edit, "")?.1;
    ensure!(hooked.stdout.contains(&changed), "{hooked:?}");
    let history = app.done(&["history"])?;
    for sentence in ["rule refuse mkfifo with any arguments", "rule never on Fridays (refuse touch", &changed]
    {
        ensure!(history.contains(sentence), "{sentence}: {history}");
    }
    heard.extend([hooked.stdout, history]);
    ensure!(heard.iter().all(|said| ids.iter().all(|id| !said.contains(id))), "an id is told: {heard:?}");
    Ok(())
}

#[test]
fn what_is_wrong_is_said_once_with_its_option_and_what_was_expected() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    fs::write(app.work().join("a.txt"), "")?;
    for (arguments, words) in [
        (
            &["rules", "add", "--changes", "src"][..],
            &["--changes", "expected a folder that is there", "\"src\""][..],
        ),
        (&["rules", "deny", "--changes", "a.txt"], &["--changes", "expected a folder", "a file"]),
        (
            &["rules", "add", "--program", "ls", "--folder", "src"],
            &["--folder", "expected a folder that is there"],
        ),
        (
            &["rules", "add", "--host", "https://docs.rs/x"],
            &["--host \"https://docs.rs/x\"", "expected one host"],
        ),
        (&["rules", "deny", "--host", "docs.rs:443"], &["--host", "without a scheme, a port or a path"]),
        (&["rules", "add", "--reach", "docs.rs"], &["--reach", "expected HOST:PORT", "it needs a port"]),
        (&["rules", "preset", "disable", "nosuch"], &["no preset \"nosuch\"", "everyday", "files"]),
        (&["rules", "preset", "enable", "nosuch"], &["no preset \"nosuch\"", "everyday", "files"]),
        (&["allowlist", "add", ""], &["expected a pattern"]),
        (&["allowlist", "add", "=command:x"], &["expected a pattern", "=command:x"]),
    ] {
        let said = said(&app, arguments, 1, words)?;
        let twice = words.iter().find(|word| said.matches(*word).count() > 1);
        ensure!(twice.is_none(), "{arguments:?} says {twice:?} twice: {said}");
    }
    Ok(())
}

#[test]
fn what_is_shown_of_a_rule_can_be_added_again() -> Result<()> {
    let app = App::start("full", "off")?;
    for rule in [
        &["--program", "mkfifo", "--subcommand", "a", "--note", "why"][..],
        &["--changes", "in", "--names", "*.ts"],
        &["--tool", "mcp__db__*"],
    ] {
        app.done(&[&["rules", "deny"], rule].concat())?;
        let one = || -> Result<Value> {
            Ok(serde_json::from_str::<Value>(&app.done(&["--json", "rules", "list"])?)?[0].clone())
        };
        let before = one()?;
        let id = before["rule"]["id"].as_str().unwrap_or_default().to_owned();
        let shown = app.done(&["rules", "show", &id])?;
        let shown = shown.split_once('\n').map(|(_, json)| json.to_owned()).unwrap_or_default();
        for text in [app.done(&["--json", "rules", "show", &id])?, shown] {
            let id = one()?["rule"]["id"].as_str().unwrap_or_default().to_owned();
            app.applied(&["rules", "remove", &id])?;
            let added = app.fed(&["rules", "add", "--file", "-"], &text)?;
            ensure!(added.code == 0, "{rule:?}: {added:?}");
            ensure!(
                one()?["shown"] == before["shown"] && one()?["note"] == before["note"],
                "{rule:?}: {}",
                one()?
            );
        }
        app.applied(&["rules", "remove", one()?["rule"]["id"].as_str().unwrap_or_default()])?;
    }
    Ok(())
}

#[test]
fn without_the_app_what_loosens_is_told_that_nobody_can_confirm() -> Result<()> {
    let mut app = App::start("allowlist", "on-miss")?;
    app.quit();
    for loosens in [
        &["rules", "add", "--program", "ls"][..],
        &["allowlist", "add", "/usr/bin/ls"],
        &["policy", "set", "security", "full"],
    ] {
        said(&app, loosens, 200, &["the app is not running, so nobody can confirm", "Start it"])?;
    }
    Ok(())
}

#[test]
fn what_tightens_is_done_on_a_machine_where_nothing_was_set() -> Result<()> {
    let mut app = App::start("allowlist", "on-miss")?;
    app.quit();
    for tightens in [
        &["policy", "set", "security", "deny"][..],
        &["policy", "set", "ask", "always"],
        &["policy", "set", "ask-fallback", "deny"],
        &["policy", "set", "--scope", "coder", "security", "deny"],
    ] {
        fs::remove_file(app.paths.document())?;
        said(&app, tightens, 0, &["Done."])?;
        // Nothing runs that did not before.
        said(&app, &["policy", "show"], 0, &["security deny"])?;
        ensure!(app.countersign(&["exec", "--", "true"])?.code == 200, "{tightens:?} lets a command run");
    }
    fs::remove_file(app.paths.document())?;
    said(&app, &["policy", "set", "security", "allowlist"], 200, &["nobody can confirm"])?;
    Ok(())
}

#[test]
fn a_document_that_cannot_be_used_is_no_empty_allowlist() -> Result<()> {
    let mut app = App::start("allowlist", "on-miss")?;
    app.quit();
    for broken in
        [r#"{"version":1,"agents":{"main":{"allowlist":[{"pattern":"/a","lastUsedAt":"x"}]}}}"#, "{"]
    {
        fs::write(app.paths.document(), broken)?;
        for look in [&["allowlist", "list"][..], &["allowlist", "test", "ls"]] {
            let told = said(&app, look, 1, &["not usable, so everything is denied"])?;
            ensure!(!told.contains("No entries"), "{told}");
        }
    }
    let nulls = r#"{"version":1,"defaults":{"security":"allowlist"},"agents":{"main":{"allowlist":[
        {"pattern":"/usr/bin/true","lastUsedAt":null,"lastUsedCommand":null}]}}}"#;
    fs::write(app.paths.document(), nulls)?;
    said(&app, &["allowlist", "list"], 0, &["/usr/bin/true"])?;
    said(&app, &["allowlist", "test", "true"], 0, &[])?;
    Ok(())
}

#[test]
fn whoever_waits_for_a_person_is_told_so_and_for_how_long() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    for (arguments, printed) in [
        (&["exec", "--wait", "90", "--", "echo", "a b"][..], "a b\n"),
        (&["ask", "--wait", "90", "--", "echo", "a b"], "allow-once\n"),
        (&["exec", "--wait", "90", "--host", "gateway", "--", "echo", "a b"], "a b\n"),
    ] {
        let (line, ended) = app.heard_waiting(arguments)?;
        ensure!(line.contains("waits for a person's answer"), "{arguments:?}: {line}");
        let seconds: u64 = line.split(' ').find_map(|word| word.parse().ok()).unwrap_or_default();
        ensure!((1..=90).contains(&seconds), "{arguments:?}: {line}");
        ensure!(
            ended.code == 0 && ended.stdout == printed && ended.stderr.is_empty(),
            "{arguments:?}: {ended:?}"
        );
    }
    // Nobody waits for a person here.
    let ended = app.countersign(&["--json", "exec", "--", "touch", "a"])?;
    ensure!(ended.code == 200 && ended.stderr.is_empty(), "{ended:?}");
    Ok(())
}

#[test]
fn settings_that_may_not_be_written_are_told_what_to_put_in_by_hand() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    // As a store that makes settings leaves them: a link to what nobody writes.
    let stored = app.home().join("stored.json");
    let settings = app.home().join(".claude/settings.json");
    fs::create_dir(app.home().join(".claude"))?;
    symlink(&stored, &settings)?;
    let store = |text: &str| -> Result<()> {
        fs::remove_file(&stored).ok();
        fs::write(&stored, text)?;
        Ok(fs::set_permissions(&stored, fs::Permissions::from_mode(0o444))?)
    };
    let mut by_hand = String::new();
    for (arguments, code) in [(&["hook", "install", "claude-code"][..], 1), (&["connect", "claude-code"], 1)]
    {
        store("{\"a\": 1}\n")?;
        let told = said(&app, arguments, code, &["is read-only", "To be put in by hand", "|| exit 2"])?;
        let (_, text) = told.split_once("what is there:\n\n").context("nothing to put in")?;
        by_hand = text.split("\n}").next().unwrap_or_default().to_owned() + "\n}\n";
        ensure!(fs::read_to_string(&stored)? == "{\"a\": 1}\n", "it was written");
    }
    let stated = || app.countersign(&["--json", "status"]);
    let before = stated()?.stdout;
    store(&by_hand)?;
    said(&app, &["hook", "install", "claude-code"], 0, &["It is so already"])?;
    ensure!(stated()?.stdout != before, "status does not see what was put in by hand: {before}");
    Ok(())
}

#[test]
fn a_place_of_the_socket_that_cannot_be_served_is_told_with_the_document() -> Result<()> {
    for path in ["/proc/nowhere/approvals.sock", "relative.sock"] {
        let home = App::start_with("allowlist", "on-miss", Some(path))?;
        let doctor = home.countersign(&["doctor"])?;
        let told = doctor.stdout.split("approval socket").nth(1).context("nothing is said")?;
        ensure!(told.contains("socket.path") || told.contains("document"), "{path}: {}", doctor.stdout);
    }
    Ok(())
}

#[test]
fn a_document_that_cannot_be_used_is_named_by_what_it_denies() -> Result<()> {
    let app = App::start("full", "off")?;
    let broken = r#"{"version":1,"agents":{"main":{"allowlist":[{"pattern":"/a","lastUsedAt":"x"}]}}}"#;
    fs::write(app.paths.document(), broken)?;
    let expected = "exec-approvals.json";
    let ended = app.countersign(&["exec", "--", "true"])?;
    ensure!(ended.code != 0 && ended.stderr.contains(expected), "{ended:?}");
    let ended = app.hook("claude-code Bash", &json!({ "command": "true" }), "")?.1;
    ensure!([ended.stdout.as_str(), &ended.stderr].concat().contains(expected), "{ended:?}");
    let ended = app.hook("claude-code Write", &json!({ "file_path": app.at("a"), "content": "x" }), "")?.1;
    ensure!([ended.stdout.as_str(), &ended.stderr].concat().contains(expected), "{ended:?}");
    let (failed, told) = app.mcp("exec", &json!({ "command": "true" }))?;
    ensure!(failed && told.contains(expected), "{told}");
    Ok(())
}

#[test]
fn an_agent_that_is_denied_hears_in_words_not_to_look_for_another_way() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    let (_, ended) = app.exec(&[], &["touch", "a"])?;
    ensure!(
        ended.stderr.contains("user denied: the person denied this; do not try it another way"),
        "{ended:?}"
    );
    let app = App::start("allowlist", "off")?;
    let (_, ended) = app.exec(&[], &["touch", "a"])?;
    ensure!(ended.stderr.contains("allowlist miss: the policy does not allow it"), "{ended:?}");
    Ok(())
}
