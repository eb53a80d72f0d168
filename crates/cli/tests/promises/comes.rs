//! What the command line says of what it just stored: what stands before it, why it never counts, and what it
//! names and nobody has.

use crate::rig::{App, Told};
use crate::told::said;
use anyhow::{Result, ensure};
use std::fs;

#[test]
fn what_a_refusal_names_and_nobody_has_is_said() -> Result<()> {
    let app = App::start("full", "off")?;
    for (arguments, word) in [
        (&["rules", "deny", "--program", "rmm"][..], Some("no program rmm is found on this machine now")),
        (&["rules", "deny", "--program", "/opt/no/such/tool"], Some("no program /opt/no/such/tool is found")),
        (&["rules", "deny", "--program", "git", "--subcommand", "pusj"], Some("git has no command pusj")),
        (
            &["rules", "deny", "--program", "/usr/bin/git", "--subcommand", "pusj x"],
            Some("git has no command pusj"),
        ),
        (&["rules", "deny", "--program", "git", "--subcommand", "push"], None),
        (&["rules", "deny", "--program", "git", "--subcommand", "send-pack"], None),
        (&["rules", "deny", "--program", "mkfifo"], None),
        (&["rules", "deny", "--program", "source"], None),
        (&["rules", "deny", "--tool", "Bahs"], Some("no agent is known to have a tool called Bahs")),
        (&["rules", "deny", "--tool", "bash"], None),
        (&["rules", "deny", "--tool", "todowrite"], None),
        (&["rules", "deny", "--tool", "mcp__mail"], None),
        (&["rules", "deny", "--program", "/usr/bin/rm*"], None),
    ] {
        let ended = app.countersign(arguments)?;
        ensure!(ended.code == 0 && ended.stdout == "Done.\n", "{arguments:?}: {ended:?}");
        match word {
            Some(word) => {
                ensure!(ended.stderr.contains(word) && ended.stderr.contains("is stored"), "{ended:?}")
            }
            None => ensure!(ended.stderr.is_empty(), "{arguments:?}: {ended:?}"),
        }
    }
    // What is told is stored, and holds.
    app.runs(&[], &["git", "pusj"], Told::Refused)?;
    Ok(())
}

#[test]
fn a_place_that_is_hidden_and_not_there_is_said() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    app.applied(&["box", "open", ".", "--hide", "nosuch"])?;
    for (place, is_said) in [("in", false), ("inn", true)] {
        let ended = app.countersign(&["box", "place", place, "--hide"])?;
        let told = ended.stderr.contains(&format!("nothing is at {} now", app.at(place)));
        ensure!(ended.code == 0 && told == is_said, "{place}: {ended:?}");
    }
    Ok(())
}

#[test]
fn whoever_stores_a_permission_hears_what_stands_before_it() -> Result<()> {
    let in_force = &["Done."][..];
    for (security, ask, refused, added, words) in [
        ("allowlist", "on-miss", &[][..], &["allowlist", "add", "/usr/bin/w*"][..], in_force),
        ("allowlist", "on-miss", &[], &["allowlist", "add", "/usr/bin/**"], in_force),
        ("allowlist", "on-miss", &[], &["allowlist", "add", "*"], in_force),
        ("allowlist", "on-miss", &[], &["rules", "add", "--program", "/usr/*in/tou?h"], in_force),
        ("allowlist", "on-miss", &[], &["rules", "add", "--program", "/bin/ls"], in_force),
        ("allowlist", "on-miss", &[], &["rules", "add", "--program", "*"], in_force),
        (
            "allowlist",
            "on-miss",
            &[],
            &["rules", "add", "--program", "git", "--subcommand", "lgo"],
            &["git has no command lgo"],
        ),
        ("allowlist", "on-miss", &[], &["rules", "add", "--tool", "Rea"], &["a tool called Rea"]),
        (
            "allowlist",
            "on-miss",
            &[],
            &["allowlist", "add", "/usr/bin/no-such-*"],
            &["no such program is there now"],
        ),
        (
            "allowlist",
            "on-miss",
            &["--program", "touch"],
            &["rules", "add", "--program", "/usr/bin/tou?h"],
            &["a rule that refuses stands before it"],
        ),
        (
            "allowlist",
            "on-miss",
            &[],
            &["rules", "add", "--program", "ls", "--session", "s", "--agent", "coder"],
            in_force,
        ),
        ("allowlist", "on-miss", &[], &["rules", "add", "--tool", "Read", "--session", "s"], in_force),
        ("allowlist", "on-miss", &[], &["rules", "add", "--changes", "in"], in_force),
        ("allowlist", "on-miss", &[], &["rules", "add", "--changes", "in", "--names", "*.ts"], in_force),
        (
            "allowlist",
            "on-miss",
            &["--changes", "."],
            &["rules", "add", "--changes", "in"],
            &["a rule that refuses stands before it"],
        ),
        ("allowlist", "on-miss", &[], &["rules", "add", "--host", "docs.rs"], in_force),
        (
            "allowlist",
            "on-miss",
            &["--host", "*.rs"],
            &["rules", "add", "--host", "docs.rs"],
            &["a rule that refuses stands before it"],
        ),
        (
            "allowlist",
            "on-miss",
            &["--host", "docs.rs"],
            &["rules", "add", "--reach", "docs.rs:443"],
            &["a rule that refuses stands before it"],
        ),
        ("allowlist", "on-miss", &[], &["rules", "add", "--reach", "docs.rs:443"], in_force),
        ("allowlist", "on-miss", &[], &["rules", "add", "--registries", "npm"], in_force),
        (
            "allowlist",
            "on-miss",
            &["--tool", "mcp__*"],
            &["rules", "add", "--tool", "mcp__db__get_rows"],
            &["a rule that refuses stands before it"],
        ),
        ("allowlist", "on-miss", &[], &["rules", "add", "--tool", "Read"], in_force),
        ("allowlist", "always", &[], &["rules", "add", "--host", "docs.rs"], &["ask is always"]),
        ("deny", "off", &[], &["rules", "add", "--tool", "Read"], &["security is deny"]),
    ] {
        let app = App::start(security, ask)?;
        if !refused.is_empty() {
            app.done(&[&["rules", "deny"], refused].concat())?;
        }
        let told = app.told_applied(added)?;
        ensure!(words.iter().all(|word| told.contains(word)), "{refused:?} {added:?}: {told}");
        ensure!(words != in_force || !told.contains("It is stored"), "{refused:?} {added:?}: {told}");
    }
    Ok(())
}

#[test]
fn a_rule_about_calls_that_can_never_count_is_not_stored_and_says_why() -> Result<()> {
    let app = App::start("allowlist", "on-miss")?;
    for (about, why) in [
        (&["--tool", "Bash"][..], "run commands or to change files"),
        (&["--tool", "run_shell_command"], "run commands or to change files"),
        (&["--tool", "Write"], "the changes of a folder"),
        (&["--tool", "apply_patch"], "the changes of a folder"),
        (&["--tool", "WebFetch"], "allow the host instead"),
        (&["--tool", "mcp__db__*"], "whole name alone"),
        (&["--changes", "in", "--names", ".env"], "where secrets are kept"),
        (&["--changes", "in", "--names", "Makefile"], "runs or obeys by itself"),
    ] {
        said(&app, &[&["rules", "add"], about].concat(), 1, &["never counts", why])?;
        ensure!(!app.rules().exists(), "{about:?} is stored");
    }
    // What another release stored is listed as that.
    app.applied(&["rules", "add", "--tool", "Read"])?;
    let stored = fs::read_to_string(app.rules())?;
    ensure!(stored.contains("\"Read\""), "{stored}");
    fs::write(app.rules(), stored.replace("\"Read\"", "\"Bash\""))?;
    said(&app, &["rules", "list"], 0, &["never counts", "run commands or to change files"])?;
    let doctor = app.countersign(&["doctor"])?.stdout;
    ensure!(doctor.contains("allow calls of the tool Bash never counts"), "{doctor}");
    Ok(())
}
