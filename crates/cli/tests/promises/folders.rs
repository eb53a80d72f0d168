//! `countersign box open` and `close`, and the walls of `countersign exec`: where what would be asked about
//! runs, for whom and for how long.

use crate::beside::beside_the_command;
use crate::rig::{App, Told, until};
use Told::{Asked, Refused, Runs};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::fs;

/// Has an agent run what no rule can know in the folder `cwd`, with these options of `countersign exec`, and
/// fails unless this comes of it, in a box if it runs.
fn works(app: &App, cwd: &str, options: &[&str], expected: Told) -> Result<()> {
    let (made, beside) = (app.work().join(cwd).join("made"), app.home().join("beside"));
    let text = format!("for x in made; do echo $x > $x; done; echo out > {}; true", beside.display());
    let (told, ended) = app.exec(&[&["--cwd", cwd], options].concat(), &["sh", "-c", &text])?;
    ensure!(told == expected, "{cwd} {options:?}: {told:?}, not {expected:?}: {ended:?}");
    ensure!(made.exists() == (told == Runs), "{cwd} {options:?}: {ended:?}");
    ensure!(!beside.exists(), "it wrote beside its folder: {ended:?}");
    fs::remove_file(made).ok();
    Ok(())
}

/// An app whose document says this, with folders in folders.
fn app(security: &str, ask: &str) -> Result<App> {
    let app = App::start(security, ask)?;
    fs::create_dir_all(app.work().join("in/deeper"))?;
    fs::create_dir_all(app.work().join("other"))?;
    Ok(app)
}

#[test]
fn a_folder_is_open_for_whom_and_as_long_as_was_said() -> Result<()> {
    beside_the_command("folders::a_folder_is_open_for_whom_and_as_long_as_was_said", || {
        for (opened, tried) in [
            (
                &[][..],
                &[("in", &[][..], Runs), ("in/deeper", &["--agent", "coder"], Runs), ("other", &[], Asked)][..],
            ),
            (
                &["--agent", "coder"],
                &[
                    ("in", &["--agent", "coder"], Runs),
                    ("in", &["--agent", "other"], Asked),
                    ("in", &[], Asked),
                ],
            ),
            (
                &["--session", "s", "--note", "for the day"],
                &[("in", &["--session", "s"], Runs), ("in", &["--session", "t"], Asked), ("in", &[], Asked)],
            ),
        ] {
            let app = app("allowlist", "on-miss")?;
            works(&app, "in", &[], Asked)?;
            app.confirmed(&[&["box", "open", "in"], opened].concat())?;
            for (cwd, options, expected) in tried {
                works(&app, cwd, options, *expected).with_context(|| format!("box open in {opened:?}"))?;
            }
            let listed: Value = serde_json::from_str(&app.done(&["--json", "box", "list"])?)?;
            let rule = &listed[0]["rule"];
            ensure!(rule["folder"] == app.at("in") && listed[0]["state"] == "live", "{listed}");
        }
        let app = app("allowlist", "on-miss")?;
        app.confirmed(&["box", "open", "in", "--for", "5s"])?;
        works(&app, "in", &[], Runs)?;
        app.until_over(&["box", "list"])?;
        works(&app, "in", &[], Asked)
    })
}

#[test]
fn a_folder_that_is_closed_is_closed_whatever_else_opens_it() -> Result<()> {
    beside_the_command("folders::a_folder_that_is_closed_is_closed_whatever_else_opens_it", || {
        // How folders are opened, what closes one, and who is asked about again where.
        for (opened, closed, tried) in [
            (&["in"][..], &["in"][..], &[("in", "coder", Asked), ("in/deeper", "coder", Asked)][..]),
            (
                &["in", "in --agent coder"],
                &["in", "--agent", "coder"],
                &[("in", "coder", Asked), ("in", "other", Runs)],
            ),
            (&["in"], &["in", "--agent", "other"], &[("in", "other", Asked), ("in", "coder", Runs)]),
            (&["in"], &["in/deeper"], &[("in/deeper", "coder", Asked), ("in", "coder", Runs)]),
            (
                &["in", "in/deeper --for 1h"],
                &["in/deeper"],
                &[("in/deeper", "coder", Asked), ("in", "coder", Runs)],
            ),
            (
                &["in", "in/deeper --for 1h"],
                &["in"],
                &[("in/deeper", "coder", Asked), ("in", "coder", Asked)],
            ),
        ] {
            let app = app("allowlist", "on-miss")?;
            for words in opened {
                let words: Vec<&str> = ["box", "open"].into_iter().chain(words.split(' ')).collect();
                app.applied(&words)?;
            }
            for (cwd, agent, _) in tried {
                works(&app, cwd, &["--agent", agent], Runs)?;
            }
            app.done(&[&["box", "close"], closed].concat())?;
            for (cwd, agent, expected) in tried {
                works(&app, cwd, &["--agent", agent], *expected)
                    .with_context(|| format!("open {opened:?}, box close {closed:?}"))?;
            }
        }
        // What was closed so is opened again by a person alone.
        let app = app("allowlist", "on-miss")?;
        app.confirmed(&["box", "open", "in"])?;
        app.done(&["box", "close", "in/deeper"])?;
        app.confirmed(&["box", "open", "in/deeper"])?;
        works(&app, "in/deeper", &[], Runs)
    })
}

#[test]
fn where_the_policy_asks_nobody_only_what_was_opened_for_that_runs() -> Result<()> {
    beside_the_command("folders::where_the_policy_asks_nobody_only_what_was_opened_for_that_runs", || {
        let app = app("allowlist", "off")?;
        app.confirmed(&["box", "open", "in"])?;
        works(&app, "in", &[], Refused)?;
        app.confirmed(&["box", "open", "other", "--unattended"])?;
        works(&app, "other", &[], Runs)?;
        works(&app, "in", &[], Refused)
    })
}

#[test]
fn an_open_folder_opens_nothing_that_is_refused_and_nothing_that_reaches_further() -> Result<()> {
    beside_the_command(
        "folders::an_open_folder_opens_nothing_that_is_refused_and_nothing_that_reaches_further",
        || {
            let app = app("allowlist", "on-miss")?;
            app.confirmed(&["box", "open", "in"])?;
            app.done(&["rules", "deny", "--program", "mkfifo"])?;
            let inside = ["--cwd", "in"];
            app.runs(&inside, &["mkfifo", "a"], Refused)?;
            for asked in
                [&["git", "push"][..], &["git", "reset", "--hard"], &["rm", "-rf", "."], &["printenv"]]
            {
                app.runs(&inside, asked, Asked)?;
            }
            app.runs(&inside, &["cp", "/etc/hostname", "name"], Runs)?;
            let tested = app.countersign(&["allowlist", "test", "--cwd", "in", "--", "cp", "a", "b"])?;
            ensure!(tested.stdout.contains("box"), "{tested:?}");
            app.done(&["policy", "set", "ask", "always"])?;
            works(&app, "in", &[], Asked)?;
            app.done(&["policy", "set", "security", "deny"])?;
            works(&app, "in", &[], Refused)
        },
    )
}

#[test]
fn whoever_names_walls_gets_them_or_nothing() -> Result<()> {
    beside_the_command("folders::whoever_names_walls_gets_them_or_nothing", || {
        let app = app("full", "off")?;
        let exec = |walls: &str, text: &str| {
            app.countersign(&["exec", "--cwd", "in", walls, "--", "sh", "-c", text])
        };
        let beside = app.home().join("beside");
        let writes = format!("echo x > made; echo x > {}; true", beside.display());
        let refused = exec("--box", &writes)?;
        ensure!(refused.code == 203 && refused.stderr.contains("not open"), "{refused:?}");
        let made = app.work().join("in/made");
        ensure!(!made.exists() && !beside.exists(), "it ran outside");
        app.confirmed(&["box", "open", "in"])?;
        ensure!(exec("--box", &writes)?.code == 0 && made.exists() && !beside.exists(), "it runs in a box");
        fs::remove_file(&made)?;
        fs::write(app.home().join("secret"), "told\n")?;
        app.route_unasked()?;
        let reads = format!("echo x > made; cat {}; true", app.home().join("secret").display());
        let sealed = exec("--sealed", &reads)?;
        ensure!(sealed.code == 0 && made.exists() && !sealed.stdout.contains("told"), "{sealed:?}");
        ensure!(
            exec("--outside", &writes)?.code == 0 && beside.exists(),
            "it runs outside where the policy lets it"
        );
        app.done(&["policy", "set", "security", "allowlist"])?;
        app.done(&["policy", "set", "ask", "always"])?;
        let (told, ended) = app.exec(&["--cwd", "in", "--outside"], &["sh", "-c", &writes])?;
        ensure!(told == Asked, "{ended:?}");
        Ok(())
    })
}

#[test]
fn what_a_box_gets_here_is_told_and_nothing_is_opened() -> Result<()> {
    beside_the_command("folders::what_a_box_gets_here_is_told_and_nothing_is_opened", || {
        let app = app("allowlist", "on-miss")?;
        ensure!(app.done(&["box", "test", "in"])?.contains("a box can be made around"), "no box");
        let home = app.countersign(&["box", "test", &app.home().display().to_string()])?;
        ensure!(home.code == 1 && home.stdout.contains("no box can be made"), "{home:?}");
        works(&app, "in", &[], Asked)?;
        for folder in [app.home(), app.home().join("own"), "/etc".into(), "/".into()] {
            let refused = app.countersign(&["box", "open", &folder.display().to_string()])?;
            ensure!(refused.code == 1 && !app.rules().exists(), "{}: {refused:?}", folder.display());
        }
        Ok(())
    })
}

#[test]
fn what_a_run_changed_is_shown_and_put_back_on_the_command_line() -> Result<()> {
    beside_the_command("folders::what_a_run_changed_is_shown_and_put_back_on_the_command_line", || {
        let app = app("allowlist", "on-miss")?;
        let file = app.work().join("in/kept.txt");
        fs::write(&file, "one\n")?;
        app.confirmed(&["box", "open", "in"])?;
        let options = ["--cwd", "in", "--session", "s"];
        let run = |word: &str| {
            let text = format!("for x in {word}; do echo $x >> kept.txt; done");
            app.runs(&options, &["sh", "-c", &text], Runs)
        };
        let number = || -> Result<String> {
            let told = app.done(&["--json", "history"])?;
            let lines = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let is_of_a_run =
                |line: &Value| line["event"]["kind"] == "changes" && line["event"]["putBack"].is_null();
            let seq = lines.filter(is_of_a_run).filter_map(|line| line["seq"].as_u64()).max();
            let seq = seq.with_context(|| told.clone())?;
            Ok(seq.to_string())
        };
        run("two")?;
        let first = until("the change is written down", || Ok(number().ok()))?;
        let shown = app.done(&["history", "changes", &first])?;
        ensure!(shown.contains("kept.txt"), "{shown}");
        app.done(&["history", "put-back", &first])?;
        ensure!(fs::read_to_string(&file)? == "one\n", "it is not as it was");
        run("three")?;
        let last = until("the next one is", || Ok(Some(number()?).filter(|last| *last != first)))?;
        fs::write(&file, "mine\n")?;
        let stays = app.countersign(&["history", "put-back", &last, "--session"])?;
        ensure!(
            stays.code == 1 && [&*stays.stdout, &stays.stderr].concat().contains("kept.txt"),
            "{stays:?}"
        );
        ensure!(fs::read_to_string(&file)? == "mine\n", "what a person changed is gone");
        Ok(())
    })
}

#[test]
fn a_command_of_claude_codes_hook_goes_into_the_box_of_its_folder() -> Result<()> {
    beside_the_command("folders::a_command_of_claude_codes_hook_goes_into_the_box_of_its_folder", || {
        let app = app("allowlist", "on-miss")?;
        let beside = app.home().join("beside");
        let text =
            format!("cd deeper && for x in made; do echo $x > $x; echo $x > {}; done", beside.display());
        let call = json!({ "command": text });
        let hook = |call: &Value, name: &str, cwd: &str| app.hook(name, call, cwd);
        ensure!(hook(&call, "claude-code Bash", "in")?.0 == Asked, "the folder is not open yet");
        app.confirmed(&["box", "open", "in"])?;
        let (told, ended) = hook(&call, "claude-code Bash", "in")?;
        ensure!(told == Runs, "{ended:?}");
        let answer: Value = serde_json::from_str(&ended.stdout)?;
        let inside = &answer["hookSpecificOutput"]["updatedInput"]["command"];
        let inside = inside.as_str().with_context(|| answer.to_string())?;
        ensure!(inside.contains("exec") && inside.contains("--box"), "{inside}");
        let ran = app.shell("in", inside)?;
        ensure!(app.work().join("in/deeper/made").exists() && !beside.exists(), "{inside}: {ran:?}");
        // Where it is not open, and for agents whose hooks cannot change a command.
        ensure!(hook(&call, "claude-code Bash", "other")?.0 == Asked, "it is not open there");
        for (agent, parameters) in [
            ("codex exec_command", json!({ "cmd": text })),
            ("gemini run_shell_command", json!({ "command": text })),
            ("copilot Bash", json!({ "command": text })),
        ] {
            let (told, ended) = hook(&parameters, agent, "in")?;
            ensure!(told == Asked, "{agent}: {told:?} {ended:?}");
        }
        Ok(())
    })
}
