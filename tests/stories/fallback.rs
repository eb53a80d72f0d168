//! Nobody can be asked, so the fallback decides.

use crate::Story;
use countersign_protocol::question::Outcome;
use countersign_tests::cli::Running;
use countersign_tests::home::Home;
use serde_json::json;
use std::fs;
use std::path::Path;

/// Runs `touch` on a file under a policy that asks: its exit code, and whether the file is there afterwards.
fn check(security: &str, ask_fallback: &str, expected: i32) -> anyhow::Result<Home> {
    let home = Home::with_defaults(security, "always", ask_fallback)?;
    let file = home.file("made");
    let finished = home.exec(&["touch", &file])?.finish()?.expect_code(expected)?;
    assert!(finished.stderr.contains("app is not running"), "{finished:?}");
    assert_eq!(Path::new(&file).exists(), expected == 0, "{finished:?}");
    Ok(home)
}

#[test]
fn a_fallback_of_deny_runs_nothing_and_says_why() -> Story {
    let home = check("full", "deny", 202)?;
    assert_eq!(home.outcomes()?, [Outcome::NotShown]);
    Ok(())
}

#[test]
fn a_fallback_of_full_runs_what_would_have_been_asked() -> Story {
    let home = check("full", "full", 0)?;
    assert_eq!(home.outcomes()?, [Outcome::AllowedByFallback]);
    Ok(())
}

#[test]
fn a_fallback_never_allows_more_than_the_policy_itself() -> Story {
    check("allowlist", "full", 202).map(|_| ())
}

#[test]
fn a_fallback_of_allowlist_runs_only_what_an_entry_covers() -> Story {
    check("full", "allowlist", 202)?;
    check("allowlist", "allowlist", 202)?;
    let home = Home::with_defaults("allowlist", "always", "allowlist")?;
    home.edit_document(|document| {
        document["agents"]["main"]["allowlist"] = json!([{ "pattern": "/usr/bin/touch" }]);
    })?;
    let file = home.file("made");
    home.exec(&["touch", &file])?.finish()?.expect_code(0)?;
    assert!(Path::new(&file).exists());
    home.exec(&["rm", &file])?.finish()?.expect_code(202)?;
    assert!(Path::new(&file).exists());
    Ok(())
}

#[test]
fn what_a_box_holds_runs_in_one_without_the_app_too_and_what_reaches_further_does_not() -> Story {
    let home = Home::asking()?;
    let folder = home.work().join("project");
    fs::create_dir(&folder)?;
    home.open_folder("*", &folder)?;
    let run =
        |text: &str| home.countersign(&["exec", "--cwd", &folder.to_string_lossy(), "--", "sh", "-c", text]);
    let ran = run("for x in made; do echo $x > $x; done; echo out > ../beside")?;
    assert!(ran.stderr.contains("the box refused to write"), "{ran:?}");
    assert!(folder.join("made").exists() && !home.work().join("beside").exists(), "{ran:?}");
    run("git push")?.expect_code(202)?;
    assert_eq!(home.outcomes()?, [Outcome::Contained, Outcome::NotShown]);
    Ok(())
}

#[test]
fn what_an_entry_covers_runs_without_the_app_and_anything_else_does_not() -> Story {
    let home = Home::asking()?;
    home.edit_document(|document| {
        document["agents"]["main"]["allowlist"] = json!([{ "pattern": "/usr/bin/printf" }]);
    })?;
    let printed = home.exec(&["printf", "%s", "a b\n"])?.finish()?.expect_code(0)?;
    assert_eq!(printed.stdout, "a b\n");
    home.start(&["exec", "--agent", "other", "--", "printf", "x"])?.finish()?.expect_code(202)?;
    Ok(())
}

#[test]
fn security_deny_runs_nothing_whatever_the_fallback_says() -> Story {
    let home = Home::with_defaults("deny", "off", "full")?;
    home.exec(&["true"])?.finish()?.expect_code(200)?;
    Ok(())
}

#[test]
fn without_a_document_everything_is_denied() -> Story {
    let home = Home::empty()?;
    home.exec(&["true"])?.finish()?.expect_code(200)?;
    home.countersign(&["ask", "--", "true"])?.expect_code(202)?;
    Ok(())
}

#[test]
fn an_unusable_document_denies_everything_and_stays_as_it_is() -> Story {
    for bytes in [
        b"{broken".as_slice(),
        b"{\"version\":2}",
        b"[]",
        b"",
        b"{\"version\":1,\"defaults\":{\"security\":\"none\"}}",
    ] {
        let home = Home::empty()?;
        home.write_private(&home.document_path(), bytes)?;
        home.exec(&["true"])?.finish()?.expect_code(200)?;
        let set = home.countersign(&["policy", "set", "security", "full"])?;
        assert_ne!(set.code, 0, "{set:?}");
        assert_eq!(std::fs::read(home.document_path())?, bytes);
    }
    Ok(())
}

#[test]
fn a_command_keeps_its_output_and_its_exit_code() -> Story {
    let home = Home::with_defaults("full", "off", "deny")?;
    let finished =
        home.exec(&["sh", "-c", "printf out; printf err >&2; exit 42"])?.finish()?.expect_code(42)?;
    assert_eq!(finished.stdout, "out");
    assert!(finished.stderr.ends_with("\nerr"), "{finished:?}");
    Ok(())
}

#[test]
fn a_command_that_takes_too_long_is_ended_and_says_so() -> Story {
    let home = Home::with_defaults("full", "off", "deny")?;
    home.start(&["exec", "--timeout", "0.3", "--", "sleep", "60"])?.finish()?.expect_code(204)?;
    Ok(())
}

#[test]
fn a_command_gets_the_usual_number_of_open_files_back() -> Story {
    let home = Home::with_defaults("full", "off", "deny")?;
    let countersign = countersign_tests::process::countersign()?;
    // It waits for its own limit, and then tells the one of whoever started it.
    let command = "until [ \"$(ulimit -Sn)\" = 256 ]; do :; done; grep 'open files' /proc/$PPID/limits";
    let script = "ulimit -Sn 256; exec \"$0\" exec --timeout 100 -- sh -c \"$1\"";
    let mut shell = home.command("sh");
    let finished = Running::start(shell.arg("-c").arg(script).arg(countersign).arg(command))?.finish()?;
    let limits = finished.expect_code(0)?.stdout;
    let soft = limits.split_ascii_whitespace().nth(3).and_then(|soft| soft.parse::<u64>().ok());
    assert!(soft.is_some_and(|soft| soft > 256), "{limits}");
    Ok(())
}
