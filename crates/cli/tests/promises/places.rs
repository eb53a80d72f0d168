//! What boxes of an open folder have otherwise: `countersign box open --write …` and `countersign box place`.

use crate::beside::beside_the_command;
use crate::rig::{App, Told};
use anyhow::{Result, ensure};
use std::fs;
use std::path::PathBuf;

/// A home with notes, a diary, and a folder `in` with a secret.
struct Place {
    app: App,
    notes: PathBuf,
    secret: PathBuf,
    diary: PathBuf,
}

impl Place {
    fn new() -> Result<Self> {
        let app = App::start("allowlist", "on-miss")?;
        let (notes, diary) = (app.home().join("notes"), app.home().join("diary"));
        let secret = app.work().join("in/.env");
        for folder in [&notes, &diary] {
            fs::create_dir_all(folder)?;
        }
        fs::write(&secret, "KEY=1\n")?;
        fs::write(diary.join("page"), "dear\n")?;
        Ok(Self { app, notes, secret, diary })
    }

    /// Whether an agent's command in the folder writes notes, reads the secret, and sees the diary.
    fn seen(&self, agent: &str) -> Result<[bool; 3]> {
        let made = self.notes.join("made");
        let text = format!("echo x > {}; cat .env {}/page; true", made.display(), self.diary.display());
        // From a file, so that what it opens is not read off the command.
        fs::write(self.app.work().join("in/look.sh"), text)?;
        let (told, ended) = self.app.exec(&["--cwd", "in", "--agent", agent], &["sh", "look.sh"])?;
        ensure!(told == Told::Runs, "{ended:?}");
        let wrote = made.exists();
        fs::remove_file(made).ok();
        Ok([wrote, ended.stdout.contains("KEY=1"), ended.stdout.contains("dear")])
    }

    fn text(path: &std::path::Path) -> String {
        path.display().to_string()
    }
}

#[test]
fn a_folder_is_opened_with_what_its_boxes_write_read_and_do_not_see() -> Result<()> {
    beside_the_command("places::a_folder_is_opened_with_what_its_boxes_write_read_and_do_not_see", || {
        let place = Place::new()?;
        let [notes, secret, diary] =
            [&place.notes, &place.secret, &place.diary].map(|path| Place::text(path));
        place.app.confirmed(&["box", "open", "in", "--agent", "plain"])?;
        ensure!(place.seen("plain")? == [false, false, true], "{:?}", place.seen("plain"));
        let more = ["--write", &notes, "--read", &secret, "--hide", &diary];
        place.app.confirmed(&[&["box", "open", "in", "--agent", "coder"], &more[..]].concat())?;
        ensure!(place.seen("coder")? == [true, true, false], "{:?}", place.seen("coder"));
        ensure!(place.seen("plain")? == [false, false, true], "{:?}", place.seen("plain"));
        place.app.done(&["box", "close", "in", "--agent", "coder"])?;
        Ok(())
    })
}

#[test]
fn what_gives_boxes_more_waits_for_a_click_and_what_takes_it_holds_at_once() -> Result<()> {
    beside_the_command(
        "places::what_gives_boxes_more_waits_for_a_click_and_what_takes_it_holds_at_once",
        || {
            let place = Place::new()?;
            let [notes, secret, diary] =
                [&place.notes, &place.secret, &place.diary].map(|path| Place::text(path));
            place.app.confirmed(&["box", "open", "in"])?;
            let (inside, there) = (["--cwd", "in"], place.notes.join("x").display().to_string());
            let runs = |command: &[&str], expected: Told| place.app.runs(&inside, command, expected);
            let says = |path: &str, access: &str| {
                ["box", "place", path, access, "--folder", "in"].map(str::to_owned)
            };
            // What is said, whether it waits for a click, and what a box does then.
            for (path, access, waits, expected) in [
                (&notes, "--write", true, [true, false, true]),
                (&secret, "--read", true, [true, true, true]),
                (&diary, "--hide", false, [true, true, false]),
                (&notes, "--forget", false, [false, true, false]),
                (&secret, "--forget", false, [false, false, false]),
                (&diary, "--forget", true, [false, false, true]),
            ] {
                let words = says(path, access);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                match waits {
                    true => place.app.confirmed(&words)?,
                    false => drop(place.app.done(&words)?),
                }
                let seen = place.seen("coder")?;
                ensure!(seen == expected, "{words:?}: {seen:?}, not {expected:?}");
                // A command that names what may be written there is not asked about because of that.
                if seen[0] {
                    runs(&["cp", "look.sh", &there], Told::Runs)?;
                }
            }
            Ok(())
        },
    )
}

#[test]
fn an_end_that_is_said_of_an_open_folder_holds_and_what_outlasts_it_is_named() -> Result<()> {
    beside_the_command(
        "places::an_end_that_is_said_of_an_open_folder_holds_and_what_outlasts_it_is_named",
        || {
            let place = Place::new()?;
            place.app.confirmed(&["box", "open", "in", "--agent", "coder"])?;
            let said = place.app.countersign(&["box", "open", "in", "--agent", "coder", "--for", "1h"])?;
            ensure!(said.code == 0 && !said.stderr.contains("stays open"), "less needs nobody: {said:?}");
            let open = || place.app.done(&["--json", "box", "list"]);
            let rules: serde_json::Value = serde_json::from_str(&open()?)?;
            let ends = |at: usize| rules[at]["rule"]["limits"]["untilMs"].is_number();
            ensure!(rules.as_array().is_some_and(|rules| rules.len() == 1) && ends(0), "{rules}");
            // For all it stays open, and that is said.
            place.app.applied(&["box", "open", "in"])?;
            let said = place.app.countersign(&["box", "open", "in", "--agent", "coder", "--for", "2m"])?;
            ensure!(said.code == 0 && said.stderr.contains("stays open after that by the rule"), "{said:?}");
            Ok(())
        },
    )
}

#[test]
fn what_one_rule_hides_from_an_agent_stays_hidden_whatever_else_opens_the_folder() -> Result<()> {
    beside_the_command(
        "places::what_one_rule_hides_from_an_agent_stays_hidden_whatever_else_opens_the_folder",
        || {
            let place = Place::new()?;
            let diary = Place::text(&place.diary);
            place.app.confirmed(&["box", "open", "in"])?;
            // For one agent, where the folder is open for all.
            place.app.done(&["box", "place", &diary, "--hide", "--folder", "in", "--agent", "coder"])?;
            ensure!(!place.seen("coder")?[2] && place.seen("other")?[2], "hidden from coder alone");
            place.app.applied(&["box", "open", "in", "--for", "1h"])?;
            ensure!(!place.seen("coder")?[2], "open twice, and it is seen");
            // What would show it again waits for a click, whichever way it is said.
            for words in [
                &["box", "place", &*diary, "--forget", "--folder", "in", "--agent", "coder"][..],
                &["box", "open", "in", "--agent", "coder"],
            ] {
                let kept = place.app.countersign(words)?;
                ensure!(!place.seen("coder")?[2], "{words:?} showed it without a person: {kept:?}");
            }
            Ok(())
        },
    )
}

#[test]
fn no_box_gets_what_programs_outside_run_or_what_is_ours() -> Result<()> {
    beside_the_command("places::no_box_gets_what_programs_outside_run_or_what_is_ours", || {
        let place = Place::new()?;
        let home = place.app.home();
        for name in [".bashrc", ".config/autostart/a", ".local/bin/a"] {
            fs::create_dir_all(home.join(name).parent().unwrap_or(&home))?;
            fs::write(home.join(name), "")?;
        }
        place.app.confirmed(&["box", "open", "in"])?;
        let before = fs::read(place.app.rules())?;
        for (path, access) in [
            (PathBuf::from("/etc"), "--write"),
            (home.clone(), "--write"),
            (home.join("own"), "--write"),
            (home.join("openclaw"), "--write"),
            (home.join(".bashrc"), "--write"),
            (home.join(".config/autostart"), "--write"),
            (home.join(".local/bin"), "--write"),
            (home.join("gone"), "--write"),
            (home.clone(), "--read"),
            (home.join("own"), "--read"),
            (home.join("openclaw"), "--read"),
        ] {
            let path = Place::text(&path);
            let refused = place.app.countersign(&["box", "place", &path, access, "--folder", "in"])?;
            ensure!(
                refused.code == 1 && fs::read(place.app.rules())? == before,
                "{path} {access}: {refused:?}"
            );
        }
        Ok(())
    })
}
