//! Policy and allowlist from the command line, without the app: stricter at once, looser never.

use crate::Story;
use anyhow::Context as _;
use countersign_tests::cli::Running;
use countersign_tests::home::Home;
use countersign_tests::process::countersign;
use serde_json::{Value, json};

#[test]
fn the_policy_in_force_is_shown_with_the_layer_that_says_so() -> Story {
    let home = Home::asking()?;
    home.edit_document(|document| document["agents"]["strict"] = json!({ "security": "deny" }))?;
    let view = home.countersign(&["--json", "policy", "show"])?.expect_code(0)?.json()?;
    let row = |agent: &str| {
        let rows = view["effective"].as_array().cloned().unwrap_or_default();
        rows.into_iter().find(|row| row["agent"] == agent).unwrap_or_default()
    };
    assert_eq!(
        (&row("strict")["security"], &row("strict")["securityLayer"]),
        (&json!("deny"), &json!("agent"))
    );
    assert_eq!(
        (&row("*")["security"], &row("*")["securityLayer"]),
        (&json!("allowlist"), &json!("defaults"))
    );
    let text = home.countersign(&["policy", "show"])?.expect_code(0)?.stdout;
    assert!(text.contains("strict: security deny (the agent's own), ask "), "{text}");
    assert!(text.contains("any other agent: security allowlist (the document's default)"), "{text}");
    Ok(())
}

#[test]
fn without_the_app_the_policy_gets_stricter_and_never_looser() -> Story {
    let home = Home::asking()?;
    for (field, value, code) in [
        ("security", "full", 200),
        ("ask", "off", 200),
        ("ask-fallback", "full", 200),
        ("ask-fallback", "allowlist", 200),
        ("ask", "always", 0),
        ("security", "deny", 0),
        ("security", "allowlist", 200),
    ] {
        let finished = home.countersign(&["policy", "set", field, value])?;
        assert_eq!(finished.code, code, "{field}={value}: {finished:?}");
    }
    let defaults = home.document()?["defaults"].clone();
    assert_eq!(defaults, json!({ "security": "deny", "ask": "always", "askFallback": "deny" }));
    Ok(())
}

#[test]
fn values_that_mean_nothing_are_refused_and_change_nothing() -> Story {
    let home = Home::asking()?;
    let before = home.document()?;
    for (field, value) in
        [("security", "none"), ("ask", "ON-MISS"), ("ask-fallback", " full "), ("auto-allow-skills", "yes")]
    {
        home.countersign(&["policy", "set", field, value])?.expect_code(1)?;
    }
    home.countersign(&["policy", "set", "armDelay", "0"])?.expect_code(2)?;
    assert_eq!(home.document()?, before);
    Ok(())
}

#[test]
fn entries_are_listed_and_removed_but_not_added_without_a_person() -> Story {
    let home = Home::asking()?;
    home.edit_document(|document| {
        document["agents"]["main"]["allowlist"] =
            json!([{ "id": ID, "pattern": "/usr/bin/id", "note": "kept" }, { "pattern": "/usr/bin/env" }]);
        document["unknown"] = json!({ "kept": true });
    })?;
    let rows = home.countersign(&["--json", "allowlist", "list"])?.expect_code(0)?.json()?;
    let patterns: Vec<&Value> =
        rows.as_array().into_iter().flatten().map(|row| &row["entry"]["pattern"]).collect();
    assert_eq!(patterns, ["/usr/bin/id", "/usr/bin/env"]);

    home.countersign(&["allowlist", "add", "/usr/bin/*"])?.expect_code(200)?;
    home.countersign(&["allowlist", "remove", "/usr/bin/*"])?.expect_code(1)?;
    assert_eq!(home.entries("main")?.len(), 2);
    home.countersign(&["allowlist", "remove", "/usr/bin/env"])?.expect_code(0)?;
    assert_eq!(home.entries("main")?, [json!({ "id": ID, "pattern": "/usr/bin/id", "note": "kept" })]);
    assert_eq!(home.document()?["unknown"], json!({ "kept": true }));
    home.countersign(&["allowlist", "remove", ID])?.expect_code(0)?;
    assert_eq!(home.entries("main")?.len(), 0);
    Ok(())
}

#[test]
fn a_command_can_be_tried_without_running_it() -> Story {
    let home = Home::asking()?;
    home.edit_document(|document| {
        document["agents"]["main"]["allowlist"] = json!([{ "pattern": "/usr/bin/touch" }]);
    })?;
    let file = home.file("made");
    let check = |command: &[&str], code: i32, verdict: &str| {
        let arguments = [&["--json", "allowlist", "test", "--"], command].concat();
        let result = home.countersign(&arguments)?.expect_code(code)?.json()?;
        assert_eq!(result["verdict"], verdict, "{result}");
        assert!(result["trace"].as_array().is_some_and(|trace| !trace.is_empty()), "{result}");
        anyhow::Ok(())
    };
    check(&["touch", &file], 0, "allow")?;
    check(&["rm", "-rf", &file], 1, "ask")?;
    check(&["sh", "-c", "touch x; rm y"], 1, "ask")?;
    home.edit_document(|document| document["defaults"]["security"] = json!("deny"))?;
    check(&["touch", &file], 200, "deny")?;
    assert!(!std::path::Path::new(&file).exists());
    Ok(())
}

#[test]
fn a_text_that_cannot_be_taken_apart_is_tried_with_the_reason_and_what_would_help() -> Story {
    let home = Home::asking()?;
    let result = home.countersign(&["allowlist", "test", "id > out", "--json"])?.expect_code(1)?.json()?;
    let steps = result["trace"].as_array().context("no trace")?;
    let has = |wanted: Value| {
        steps.iter().any(|step| {
            wanted.as_object().is_some_and(|wanted| wanted.iter().all(|(name, value)| step[name] == *value))
        })
    };
    assert!(has(json!({ "kind": "opaque", "cause": "redirect", "text": ">" })), "{result}");
    assert!(has(json!({ "kind": "advice", "advice": "drop-redirection" })), "{result}");
    Ok(())
}

const ID: &str = "7a1f3c9e-0000-4000-8000-000000000001";

/// A command, and the exit code that it ends with.
type Ends<'a> = (&'a [&'a str], i32);

#[test]
fn what_the_tools_file_says_of_filters_and_code_holds_for_every_command() -> Story {
    let home = Home::with_defaults("allowlist", "off", "deny")?;
    home.edit_document(|document| {
        document["agents"] = json!({ "*": { "allowlist": [{ "pattern": "/usr/bin/perl" }] } });
    })?;
    let tools = |exec: Value| -> Story {
        let text = json!({ "tools": { "exec": exec } }).to_string();
        home.write_private(&home.state().join("tools.json"), text.as_bytes())
    };
    let ends = |command: &[&str], code: i32| -> Story {
        let finished = home.exec(command)?.finish()?;
        assert_eq!(finished.code, code, "{command:?}: {finished:?}");
        Ok(())
    };
    let code = ["perl", "-e", "print 1"];
    let table: [(Value, &[Ends<'_>]); 6] = [
        (json!({}), &[(&["head", "-n", "1"], 0), (&["sort", "-k", "1"], 200), (&code, 0)]),
        (json!({ "safeBins": [] }), &[(&["head", "-n", "1"], 200)]),
        (json!({ "safeBins": ["sort"] }), &[(&["sort", "-k", "1"], 0), (&["head", "-n", "1"], 200)]),
        (json!({ "safeBins": ["rm", "head"] }), &[(&["rm", "-r"], 200), (&["head", "-n", "1"], 0)]),
        (json!({ "strictInlineEval": true }), &[(&code, 200)]),
        // What is not understood trusts nothing.
        (json!({ "safeBins": "head" }), &[(&["head", "-n", "1"], 200), (&code, 200)]),
    ];
    for (exec, commands) in table {
        tools(exec)?;
        for (command, code) in commands {
            ends(command, *code)?;
        }
    }

    tools(json!({ "safeBins": ["rm", "head"], "safeBinTrustedDirs": ["/tmp"] }))?;
    let text = home.countersign(&["policy", "show"])?.expect_code(0)?.stdout;
    assert!(text.contains("runs as filters without an entry: head, from /bin, /usr/bin"), "{text}");
    assert!(text.contains("not trusted: tools.exec.safeBins: rm counts for nothing"), "{text}");
    let text = home.countersign(&["doctor"])?.stdout;
    assert!(text.contains("rm counts for nothing") && text.contains("/tmp is not trusted"), "{text}");
    Ok(())
}

#[test]
fn a_switch_that_only_peers_obey_cannot_be_set_and_is_named_where_it_is() -> Story {
    let home = Home::asking()?;
    let refused = home.countersign(&["policy", "set", "auto-allow-skills", "true"])?.expect_code(1)?;
    assert!(refused.stderr.contains("it would have no effect here"), "{refused:?}");
    home.edit_document(|document| document["agents"]["coder"] = json!({ "autoAllowSkills": true }))?;
    let text = home.countersign(&["doctor"])?.stdout;
    assert!(text.contains("agents.coder.autoAllowSkills: it has no effect here"), "{text}");
    Ok(())
}

#[test]
fn keys_and_variables_that_nothing_obeys_are_named() -> Story {
    let home = Home::asking()?;
    let quiet = home.countersign(&["doctor"])?.stdout;
    assert!(!quiet.contains("nothing here knows such a key"), "{quiet}");
    home.edit_document(|document| document["agents"]["coder"] = json!({ "securty": "deny" }))?;
    home.write_settings(&json!({ "armDelayMS": 9_000 }))?;
    let tools = json!({ "tools": { "exec": { "hots": "node", "host": "auto" } } }).to_string();
    home.write_private(&home.state().join("tools.json"), tools.as_bytes())?;
    let mut doctor = home.command(countersign()?);
    doctor.arg("doctor").env("COUNTERSIGN_STATEDIR", "/x");
    let text = Running::start(&mut doctor)?.finish()?.stdout;
    for named in [
        "exec-approvals.json: agents.coder.securty: nothing here knows such a key",
        "settings.json: armDelayMS: nothing here knows such a key",
        "tools.json: tools.exec.hots: nothing here knows such a key",
        "COUNTERSIGN_STATEDIR: nothing reads such a variable",
    ] {
        assert!(text.contains(named), "expected {named:?} in {text}");
    }
    Ok(())
}
