//! What the command line takes and prints: help for everything, JSON that programs can read, and nothing that
//! an argument can break.

use crate::Story;
use countersign_tests::home::Home;
use serde_json::Value;

#[test]
fn every_command_explains_itself() -> Story {
    let home = Home::empty()?;
    for command in COMMANDS {
        let help = home.countersign(&[command, &["--help"]].concat())?.expect_code(0)?;
        assert!(help.stdout.contains("Usage: countersign"), "{command:?}: {help:?}");
    }
    let help = home.countersign(&["--help"])?.stdout;
    for code in ["200", "201", "202", "203", "204"] {
        assert!(help.contains(code), "exit code {code} is not explained");
    }
    Ok(())
}

#[test]
fn there_is_no_word_that_allows() -> Story {
    let home = Home::asking()?;
    for word in ["allow", "approve", "accept", "yes", "grant", "resolve"] {
        home.countersign(&[word, "--all"])?.expect_code(2)?;
        home.countersign(&["exec", &format!("--{word}"), "--", "true"])?.expect_code(2)?;
    }
    Ok(())
}

#[test]
fn json_is_json_whatever_happens() -> Story {
    let home = Home::asking()?;
    for arguments in [
        &["policy", "show"][..],
        &["policy", "set", "security", "full"],
        &["policy", "set", "security", "bogus"],
        &["allowlist", "list"],
        &["allowlist", "add", "/usr/bin/id"],
        &["allowlist", "remove", "nothing"],
        &["allowlist", "test", "--", "id"],
        &["rules", "list"],
        &["rules", "show", "nothing"],
        &["rules", "add", "--program", "id"],
        &["rules", "deny", "--program", "dd"],
        &["rules", "preset", "list"],
        &["rules", "preset", "enable", "everyday"],
        &["pending"],
        &["deny", "--all"],
        &["doctor"],
        &["history", "verify"],
        &["ask", "--", "id"],
        &["exec", "--", "id"],
        &["exec", "--cwd", "/does/not/exist", "--", "id"],
        &["policy", "set", "security", "deny"],
        &["exec", "--", "id"],
    ] {
        home.countersign(&[&["--json"], arguments].concat())?.json()?;
        home.edit_document(|_| ())?;
    }
    for line in home.countersign(&["--json", "history"])?.stdout.lines() {
        serde_json::from_str::<Value>(line)?;
    }
    Ok(())
}

#[test]
fn arguments_arrive_as_they_were_given() -> Story {
    let home = Home::with_defaults("full", "off", "deny")?;
    let hostile = [
        "",
        " ",
        "-",
        "--",
        "--json",
        "-rf",
        "$HOME",
        "`id`",
        "$(id)",
        "a\nb",
        "a\tb",
        "'",
        "\"",
        "\\",
        "*",
        "~",
        "{a,b}",
        "\u{202E}",
        "\u{200B}",
        "\u{1B}[31m",
        "é",
        "e\u{301}",
        "日本",
        "!!",
        "%s",
        "a=b",
        ";",
        "&&",
        "|",
        ">",
        "#",
    ];
    let mut argv = vec!["printf", "%s\\0"];
    argv.extend(hostile);
    let printed = home.exec(&argv)?.finish()?.expect_code(0)?.stdout;
    assert_eq!(printed.split_terminator('\0').collect::<Vec<_>>(), hostile);
    Ok(())
}

#[test]
fn names_from_elsewhere_cannot_write_control_characters_to_the_terminal() -> Story {
    let home = Home::asking()?;
    let agent = "evil\u{1B}[2J\u{202E}\n\r";
    home.edit_document(|document| {
        document["agents"][agent]["allowlist"] =
            serde_json::json!([{ "pattern": "/bin/\u{1B}[31m\u{200B}x" }]);
    })?;
    let deny = ["rules", "deny", "--agent", agent, "--program", "\u{1B}c31m", "--note", "a\u{202E}b"];
    home.countersign(&deny)?.expect_code(0)?;
    home.start(&["exec", "--agent", agent, "--", "echo", "\u{1B}]0;title\u{7}"])?
        .finish()?
        .expect_code(202)?;
    for arguments in [
        &["policy", "show"][..],
        &["allowlist", "list"],
        &["history"],
        &["rules", "list"],
        &["doctor"],
        &["pending"],
    ] {
        let finished = home.countersign(arguments)?;
        let text = finished.stdout + &finished.stderr;
        let control = text
            .chars()
            .find(|char| *char != '\n' && (char.is_control() || "\u{202E}\u{200B}".contains(*char)));
        assert_eq!(control, None, "{arguments:?}: {text:?}");
    }
    Ok(())
}

#[test]
fn wrong_usage_is_told_apart_from_everything_else() -> Story {
    let home = Home::asking()?;
    for arguments in [
        &["exec"][..],
        &["exec", "true"],
        &["exec", "--timeout", "0", "--", "true"],
        &["exec", "--wait", "-1", "--", "true"],
        &["exec", "--wait", "1e9", "--", "true"],
        &["deny"],
        &["deny", "--all", "id"],
        &["history", "-n", "x"],
        &["policy"],
        &["nonsense"],
    ] {
        home.countersign(arguments)?.expect_code(2)?;
    }
    Ok(())
}

const COMMANDS: [&[&str]; 36] = [
    &[],
    &["exec"],
    &["ask"],
    &["pending"],
    &["deny"],
    &["policy"],
    &["policy", "show"],
    &["policy", "set"],
    &["allowlist"],
    &["allowlist", "list"],
    &["allowlist", "add"],
    &["allowlist", "remove"],
    &["allowlist", "test"],
    &["history", "verify"],
    &["rules"],
    &["rules", "list"],
    &["rules", "show"],
    &["rules", "add"],
    &["rules", "deny"],
    &["rules", "remove"],
    &["rules", "preset"],
    &["rules", "preset", "enable"],
    &["rules", "preset", "disable"],
    &["gateway"],
    &["run"],
    &["service"],
    &["service", "install"],
    &["service", "status"],
    &["service", "uninstall"],
    &["hook"],
    &["hook", "claude-code"],
    &["hook", "codex"],
    &["hook", "gemini"],
    &["hook", "generic"],
    &["hook", "install"],
    &["doctor"],
];
