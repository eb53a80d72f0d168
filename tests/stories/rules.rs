//! Our own rules from the command line, without the app: refusals at once, allowances never, and what rules
//! do to a command.

use crate::Story;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::Outcome;
use countersign_tests::home::Home;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

/// A home whose rule document is this.
fn with_rules(home: Home, document: &Value) -> anyhow::Result<Home> {
    home.write_rules(&document.to_string())?;
    Ok(home)
}

/// A rule that allows `touch`, changed by `more`.
fn touching(more: Value) -> Value {
    let mut rule = json!({
        "id": ID, "agent": "*", "effect": "allow", "program": "touch", "arguments": "any",
        "createdAtMs": 0, "from": "typed",
    });
    if let (Some(members), Value::Object(more)) = (rule.as_object_mut(), more) {
        members.extend(more);
    }
    json!({ "version": 1, "rules": [rule] })
}

/// Runs `touch NAME`; whether the file was made must be what the exit code says.
fn touch(home: &Home, name: &str, code: i32) -> Story {
    let file = home.file(name);
    home.exec(&["touch", &file])?.finish()?.expect_code(code)?;
    anyhow::ensure!(Path::new(&file).exists() == (code == 0), "{name} with exit code {code}");
    Ok(())
}

#[test]
fn a_rule_that_refuses_wins_over_full_security() -> Story {
    let home = Home::with_defaults("full", "off", "full")?;
    touch(&home, "before", 0)?;
    home.countersign(&["rules", "deny", "--program", "touch", "--note", "not here"])?.expect_code(0)?;
    touch(&home, "after", 200)?;
    home.exec(&["sh", "-c", &format!("true && touch {}", home.file("hidden"))])?
        .finish()?
        .expect_code(200)?;
    assert!(!Path::new(&home.file("hidden")).exists());
    home.exec(&["true"])?.finish()?.expect_code(0)?;
    let outcomes = home.outcomes()?;
    assert!(
        outcomes.iter().any(|outcome| {
            matches!(outcome, Outcome::DeniedByPolicy { reason } if reason.starts_with("rule "))
        }),
        "{outcomes:?}"
    );
    let writers: Vec<String> = home
        .history()?
        .into_iter()
        .filter_map(|entry| match entry.event {
            HistoryEvent::Rules { writer, loosenings, .. } if loosenings.is_empty() => Some(writer),
            _ => None,
        })
        .collect();
    assert_eq!(writers, ["command-line"]);
    Ok(())
}

#[test]
fn a_rule_with_one_use_lets_one_run_through() -> Story {
    let home = with_rules(Home::asking()?, &touching(json!({ "limits": { "uses": 1 } })))?;
    touch(&home, "first", 0)?;
    touch(&home, "second", 202)?;
    let rows = home.countersign(&["--json", "rules", "list"])?.expect_code(0)?.json()?;
    assert_eq!((&rows[0]["state"], &rows[0]["uses"]), (&json!("spent"), &json!(1)));
    Ok(())
}

#[test]
fn a_rule_whose_time_is_over_lets_nothing_through() -> Story {
    let home = with_rules(Home::asking()?, &touching(json!({ "limits": { "untilMs": i64::MAX } })))?;
    touch(&home, "in-time", 0)?;
    // The moment of what just happened is over.
    let just_now_ms = home.history()?.last().map(|entry| entry.at_ms);
    let home = with_rules(home, &touching(json!({ "limits": { "untilMs": just_now_ms } })))?;
    touch(&home, "too-late", 202)?;
    let listed = home.countersign(&["rules", "list"])?.expect_code(0)?.stdout;
    assert!(listed.contains("expired") && listed.contains(" UTC"), "{listed}");
    Ok(())
}

#[test]
fn a_preset_that_is_on_lets_harmless_commands_run_unasked() -> Story {
    let home = Home::asking()?;
    home.exec(&["ls"])?.finish()?.expect_code(202)?;
    let home = with_rules(home, &json!({ "version": 1, "presets": ["everyday"], "rules": [] }))?;
    home.exec(&["ls"])?.finish()?.expect_code(0)?;
    std::fs::write(home.file("a.txt"), "one\ntwo\n")?;
    let find =
        |action: &str| home.exec(&["sh", "-c", &format!("find . -name '*.txt' -exec {action}")])?.finish();
    assert_eq!(find("wc -l {} + | head -n 1")?.expect_code(0)?.stdout, "2 ./a.txt\n");
    find("rm {} +")?.expect_code(202)?;
    touch(&home, "written", 202)?;
    home.countersign(&["rules", "preset", "disable", "everyday"])?.expect_code(0)?;
    home.exec(&["ls"])?.finish()?.expect_code(202)?;
    home.countersign(&["rules", "preset", "enable", "everyday"])?.expect_code(200)?;
    home.countersign(&["rules", "preset", "enable", "nothing"])?.expect_code(1)?;
    let presets = home.countersign(&["--json", "rules", "preset", "list"])?.expect_code(0)?.json()?;
    let on = presets.as_array().into_iter().flatten().filter(|preset| preset["switch"] == "on").count();
    assert_eq!(on, 0, "{presets}");
    Ok(())
}

#[test]
fn rules_that_cannot_be_read_leave_everything_to_a_person() -> Story {
    let home = Home::with_defaults("full", "off", "full")?;
    home.write_rules("{\"version\":1,\"rules\":[{}]}")?;
    touch(&home, "made", 202)?;
    let result = home
        .countersign(&["--json", "allowlist", "test", "--", "touch", &home.file("made")])?
        .expect_code(1)?
        .json()?;
    assert_eq!(result["verdict"], "ask");
    let listed = home.countersign(&["rules", "list"])?.expect_code(1)?;
    assert!(listed.stderr.contains("everything is asked about"), "{listed:?}");
    home.countersign(&["rules", "deny", "--program", "rm"])?.expect_code(1)?;
    let findings = home.countersign(&["--json", "doctor"])?.json()?;
    let finding = findings.as_array().into_iter().flatten().find(|finding| finding["check"] == "rules");
    assert_eq!(finding.map(|finding| &finding["level"]), Some(&json!("problem")), "{findings}");
    Ok(())
}

#[test]
fn without_the_app_rules_get_stricter_and_never_looser() -> Story {
    let home = Home::asking()?;
    let git = ["--program", "git", "--subcommand", "log", "--folder", ".", "--for", "1h"];
    home.countersign(&[&["rules", "add"], &git[..]].concat())?.expect_code(200)?;
    home.countersign(&["rules", "add", "--program", "git", "--uses", "3", "--exact", "status", "-s"])?
        .expect_code(200)?;
    assert!(!home.rules_path().exists());

    home.countersign(&["rules", "deny", "--program", "git", "--subcommand", "push"])?.expect_code(0)?;
    let rows = home.countersign(&["--json", "rules", "list"])?.expect_code(0)?.json()?;
    let id = rows[0]["rule"]["id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(rows[0]["rule"]["arguments"]["shape"]["subcommand"], json!(["push"]));
    home.countersign(&["rules", "remove", &id])?.expect_code(200)?;
    let shown = home.countersign(&["rules", "show", id.get(..8).unwrap_or_default()])?.expect_code(0)?.stdout;
    assert!(shown.starts_with("refuse git push …\n") && shown.contains("\"program\": \"git\""), "{shown}");

    let home = with_rules(home, &touching(json!({})))?;
    home.countersign(&["rules", "remove", ID])?.expect_code(0)?;
    touch(&home, "made", 202)?;
    assert_eq!(home.countersign(&["--json", "rules", "list"])?.expect_code(0)?.json()?, json!([]));
    Ok(())
}

#[test]
fn a_rule_can_come_from_a_file_and_only_whole() -> Story {
    let home = Home::asking()?;
    let file = home.file("rule.json");
    let rule = |more: &str| {
        std::fs::write(
            &file,
            format!(r#"{{"agent":"*","effect":"deny","program":"rm","arguments":"any"{more}}}"#),
        )
    };
    rule("")?;
    home.countersign(&["rules", "add", "--file", &file])?.expect_code(0)?;
    for more in [r#","only":1"#, r#","limits":{"uses":1}"#, r#","folder":"relative""#] {
        rule(more)?;
        home.countersign(&["rules", "add", "--file", &file])?.expect_code(1)?;
    }
    home.countersign(&["rules", "add", "--file", &file, "--uses", "1"])?.expect_code(1)?;
    for arguments in [
        &["rules", "add"][..],
        &["rules", "add", "--file", "x", "--program", "rm"],
        &["rules", "add", "--program", "rm", "--for", "soon"],
        &["rules", "add", "--program", "rm", "--uses", "0"],
        &["rules", "deny", "--program", "rm", "--uses", "1"],
        &["rules", "preset"],
    ] {
        home.countersign(arguments)?.expect_code(2)?;
    }
    assert_eq!(home.countersign(&["--json", "rules", "list"])?.json()?.as_array().map(Vec::len), Some(1));
    Ok(())
}

const ID: &str = "7a1f3c9e-0000-4000-8000-000000000002";

#[test]
fn a_pattern_runs_for_the_files_that_were_there_when_it_was_judged() -> Story {
    let home = Home::asking()?;
    home.edit_document(|document| {
        let entry = |pattern: &str| json!({ "pattern": pattern });
        document["agents"]["main"]["allowlist"] = json!([entry("/usr/bin/cat"), entry("/usr/bin/touch")]);
    })?;
    for (name, text) in [("b.txt", "two\n"), ("a b.txt", "one\n"), ("c.md", "not this\n")] {
        std::fs::write(home.file(name), text)?;
    }
    let finished = home.exec(&["sh", "-c", "cat *.txt"])?.finish()?.expect_code(0)?;
    assert_eq!(finished.stdout, "one\ntwo\n");
    // What the first command makes, nobody has judged for the second.
    home.exec(&["sh", "-c", "touch d.txt; cat *.txt"])?.finish()?.expect_code(202)?;
    assert!(!Path::new(&home.file("d.txt")).exists());
    // A name that is an option is one to the program, as in every shell.
    std::fs::write(home.file("-n"), "")?;
    let finished = home.exec(&["sh", "-c", "cat * 2>/dev/null"])?.finish()?.expect_code(0)?;
    assert!(finished.stdout.contains("1\tone"), "{finished:?}");
    Ok(())
}

#[test]
fn a_place_that_became_a_link_is_forgotten_by_its_name_and_keeps_no_other_one_away() -> Story {
    let home = Home::asking()?;
    let folder = home.work().join("project");
    fs::create_dir_all(&folder)?;
    let folder = fs::canonicalize(folder)?;
    let (link, diary) = (home.path().join("notes"), home.path().join("diary"));
    symlink(home.work(), &link)?;
    home.write_rules(
        &json!({ "version": 1, "rules": [], "workspaces": [{
            "id": "w-1", "agent": "coder", "folder": folder, "createdAtMs": 0, "from": "typed",
            "places": [{ "path": link, "access": "write" }],
        }] })
        .to_string(),
    )?;
    let place = |path: &Path, what: &str| {
        let (path, folder) = (path.to_string_lossy(), folder.to_string_lossy());
        home.countersign(&["box", "place", &path, what, "--folder", &folder])?.expect_code(0)
    };
    let places = || -> anyhow::Result<Value> {
        let rows = home.countersign(&["--json", "box", "list"])?.expect_code(0)?.json()?;
        Ok(rows[0]["rule"]["places"].clone())
    };
    let hidden = json!({ "path": diary, "access": "hidden" });
    place(&diary, "--hide")?;
    assert_eq!(places()?, json!([{ "path": link, "access": "write" }, hidden]));
    place(&link, "--forget")?;
    assert_eq!(places()?, json!([hidden]));
    Ok(())
}

#[test]
fn a_permission_that_never_counts_is_told_where_it_is_made_and_where_it_is_listed() -> Story {
    let home = Home::asking()?;
    for (arguments, why) in [
        (&["rules", "add", "--program", "sudo"][..], "never counts: it starts other programs"),
        (&["rules", "add", "--program", "bun", "--subcommand", "run"], "name that word too"),
        (&["allowlist", "add", "git *"], "never counts: no program is called so"),
    ] {
        let refused = home.countersign(arguments)?.expect_code(1)?;
        assert!(refused.stderr.contains(why), "{arguments:?}: {refused:?}");
    }
    assert!(!home.rules_path().exists());
    // What is stored already, by an older release or another program.
    home.edit_document(|document| {
        document["agents"] = json!({ "*": { "allowlist": [{ "pattern": "git *" }] } });
    })?;
    let home = with_rules(home, &touching(json!({ "program": "sudo" })))?;
    let rules = home.countersign(&["rules", "list"])?.expect_code(0)?.stdout;
    assert!(rules.contains("never counts  allow sudo") && !rules.contains("live"), "{rules}");
    let rows = home.countersign(&["--json", "rules", "list"])?.expect_code(0)?.json()?;
    assert_eq!(rows[0]["state"], "never-counts");
    assert_eq!(rows[0]["uncounted"], json!({ "cause": "starts-others", "lasts": "ever" }));
    let entries = home.countersign(&["allowlist", "list"])?.expect_code(0)?.stdout;
    assert!(entries.contains("never counts: no program is called so"), "{entries}");
    let entries = home.countersign(&["--json", "allowlist", "list"])?.expect_code(0)?.json()?;
    assert_eq!(entries[0]["entry"]["uncounted"], json!({ "cause": "words", "lasts": "ever" }));
    let doctor = home.countersign(&["doctor"])?.stdout;
    assert_eq!(doctor.matches("never counts").count(), 2, "{doctor}");
    Ok(())
}

/// A program of this name that leaves a file `ran` behind.
fn leaving_a_trace(home: &Home, name: &str) -> anyhow::Result<String> {
    let file = home.file(name);
    std::fs::write(&file, format!("#!/bin/sh\n: > '{}'\n", home.file("ran")))?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
    Ok(std::fs::canonicalize(file)?.display().to_string())
}

#[test]
fn a_package_manager_that_is_allowed_runs_its_own_commands_and_no_program_that_they_name() -> Story {
    let commands: [(&[&str], bool); 5] = [
        (&["run", "build"], true),
        (&["ci", "--ignore-scripts"], true),
        (&["exec", "rm"], false),
        (&["run", "build", "--script-shell=x"], false),
        (&["config", "set", "script-shell", "x"], false),
    ];
    for by_rule in [true, false] {
        let mut home = Home::asking()?;
        let npm = leaving_a_trace(&home, "npm")?;
        if by_rule {
            home = with_rules(home, &touching(json!({ "program": npm })))?;
        } else {
            home.edit_document(|document| {
                document["agents"] = json!({ "*": { "allowlist": [{ "pattern": npm }] } });
            })?;
        }
        for (words, runs) in commands {
            let argv = [&[npm.as_str()], words].concat();
            home.exec(&argv)?.finish()?.expect_code(if runs { 0 } else { 202 })?;
            assert_eq!(Path::new(&home.file("ran")).exists(), runs, "{words:?}, by a rule: {by_rule}");
            if runs {
                std::fs::remove_file(home.file("ran"))?;
            }
        }
    }
    Ok(())
}
