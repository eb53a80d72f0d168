//! Where commands run, without the app: only it knows, so nothing runs.

use crate::Story;
use countersign_tests::home::Home;

#[test]
fn a_command_that_is_to_go_somewhere_goes_nowhere_without_the_app() -> Story {
    let home = Home::with_defaults("full", "off", "full")?;
    let file = home.file("made");
    for route in [
        &["--host", "gateway"][..],
        &["--host", "auto"],
        &["--node", "n"],
        &["--security", "full"],
        &["--ask", "off"],
    ] {
        let finished = home.countersign(&[&["exec"], route, &["--", "touch", &file]].concat())?;
        assert!(finished.stderr.contains("the Countersign app is not running"), "{finished:?}");
        assert_eq!(finished.code, 202, "{route:?}");
    }
    assert!(!std::path::Path::new(&file).exists());
    let report =
        home.countersign(&["--json", "exec", "--host", "node", "--", "true"])?.expect_code(202)?.json()?;
    assert_eq!((&report["ran"], &report["error"]["reason"]), (&false.into(), &"no-app".into()));
    home.countersign(&["exec", "--", "touch", &file])?.expect_code(0)?;
    Ok(())
}

#[test]
fn words_that_no_release_knows_are_refused_before_anything_is_asked() -> Story {
    let home = Home::asking()?;
    for route in [["--host", "moon"], ["--security", "none"], ["--ask", "never"]] {
        let finished =
            home.countersign(&[&["exec"], &route[..], &["--", "true"]].concat())?.expect_code(2)?;
        assert!(finished.stderr.contains("expected one of"), "{finished:?}");
    }
    Ok(())
}

#[test]
fn sessions_say_nothing_without_the_app() -> Story {
    let home = Home::asking()?;
    for command in [&["list"][..], &["say", "s", "/exec host=gateway"], &["clear", "s"]] {
        let finished = home.countersign(&[&["session"], command].concat())?.expect_code(202)?;
        assert!(finished.stderr.contains("the Countersign app is not running"), "{finished:?}");
    }
    let finished = home.countersign(&["--json", "session", "list"])?.expect_code(202)?;
    assert!(finished.json()?["error"].is_string());
    Ok(())
}
