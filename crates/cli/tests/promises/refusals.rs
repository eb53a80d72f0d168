//! `countersign rules deny`: what it says is refused from then on, at every door, and nothing else is.

use crate::rig::{App, Call, Told};
use Told::{Asked, Refused, Runs};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// Options of `countersign exec`, a command, and what comes of it.
type Typed = (&'static str, &'static str, Told);

/// Has each rule refused in an app of its own that asks nobody, and tries commands.
fn refusing(rules: &[(&'static str, &[Typed])]) -> Result<()> {
    for (rule, tried) in rules {
        let app = App::start("full", "off")?;
        let words = |text: &'static str| -> Vec<&'static str> { text.split_whitespace().collect() };
        app.done(&[vec!["rules", "deny"], words(rule)].concat())?;
        for (options, command, expected) in *tried {
            let options = words(options);
            let command = match command.strip_prefix("sh -c ") {
                Some(text) => vec!["sh", "-c", text],
                None => words(command),
            };
            app.runs(&options, &command, *expected).with_context(|| format!("rules deny {rule}"))?;
        }
    }
    Ok(())
}

#[test]
fn a_refused_program_runs_under_no_spelling_and_all_others_do() -> Result<()> {
    let touching: &[Typed] = &[
        ("", "touch a", Refused),
        ("", "/usr/bin/touch a", Refused),
        ("", "sh -c true && touch a", Refused),
        ("", "env touch a", Refused),
        ("", "true", Runs),
    ];
    refusing(&[
        ("--program touch", touching),
        ("--program /usr/bin/touch", touching),
        ("--program /usr/bin/../bin/touch", touching),
        ("--program /usr//bin/touch", touching),
        (
            "--program git --subcommand push",
            &[
                ("", "git push", Refused),
                ("", "git push origin main", Refused),
                ("", "git -C . push", Refused),
                ("", "git -c alias.z=push z", Refused),
                ("", "sh -c git push; true", Refused),
                ("", "git --version", Runs),
            ],
        ),
        ("--program mkfifo --note for-good", &[("", "mkfifo a", Refused), ("", "true", Runs)]),
    ])
}

#[test]
fn what_may_start_a_refused_program_is_asked_about() -> Result<()> {
    refusing(&[
        (
            "--program rm",
            &[
                ("", "sh -c make --eval '$(shell rm x)'", Asked),
                ("", "sh -c cat a | sh", Asked),
                ("", "git clone -u rm . b", Asked),
                ("", "sh -c echo hi > made", Runs),
            ],
        ),
        ("--program git --subcommand push", &[("", "git send-pack", Asked), ("", "git z", Asked)]),
        ("--program npm --subcommand publish", &[("", "npm publi", Asked)]),
    ])
}

#[test]
fn a_refusal_that_says_less_than_it_should_is_not_stored() -> Result<()> {
    let app = App::start("full", "off")?;
    // A push of nothing in particular would pass.
    let shape = json!({ "shape": {
        "subcommand": ["push"], "flags": "any", "operands": { "min": 1, "max": 9, "kinds": ["any"] },
    }});
    let rule = json!({ "agent": "*", "effect": "deny", "program": "git", "arguments": shape });
    fs::write(app.work().join("rule.json"), rule.to_string())?;
    for door in ["add", "deny"] {
        let refused = app.countersign(&["rules", door, "--file", "rule.json"])?;
        ensure!(refused.stderr.contains("it would not refuse what it says"), "{refused:?}");
        ensure!(refused.code == 1 && !app.rules().exists(), "{refused:?}");
    }
    // Words that no command has are no pattern, a folder is no program, and what allows refuses nothing.
    let allowed = json!({ "agent": "*", "effect": "allow", "program": "git", "arguments": "any" });
    fs::write(app.work().join("rule.json"), allowed.to_string())?;
    for (rule, why) in [
        (&["--program", "git", "--subcommand", "pu*"][..], "no wildcards"),
        (&["--program", "git", "--subcommand", "push, pull"], "nothing joins several"),
        (&["--program", "/usr/bin/"], "a folder is no program"),
        (&["--program", "Bash(git:*)"], "no program is called so"),
        (&["--file", "rule.json"], "the rule allows"),
    ] {
        let refused = app.countersign(&[&["rules", "deny"], rule].concat())?;
        ensure!(refused.code == 1 && refused.stderr.contains(why), "{rule:?}: {refused:?}");
        ensure!(!app.rules().exists(), "{rule:?} is stored");
    }
    Ok(())
}

#[test]
fn tools_of_the_server_obey_refusals_and_a_policy_of_deny() -> Result<()> {
    let app = App::start("full", "off")?;
    app.route_unasked()?;
    fs::write(app.work().join("a.txt"), "one\n")?;
    let (touching, reading) = (json!({ "command": "touch made" }), json!({ "path": "a.txt" }));
    let check = |tool: &str, arguments: &Value, is_refused: bool| -> Result<()> {
        let (failed, said) = app.mcp(tool, arguments)?;
        ensure!(failed == is_refused && app.questions().is_empty(), "{tool} {arguments}: {said}");
        Ok(())
    };
    check("exec", &touching, false)?;
    check("read_file", &reading, false)?;
    fs::remove_file(app.work().join("made"))?;
    app.done(&["rules", "deny", "--program", "touch"])?;
    app.done(&["rules", "deny", "--changes", "."])?;
    check("exec", &touching, true)?;
    check("exec", &json!({ "command": "true && touch made" }), true)?;
    check("exec", &json!({ "command": "true" }), false)?;
    check("write_file", &json!({ "path": "made", "content": "x" }), true)?;
    app.done(&["rules", "deny", "--tool", "read_*"])?;
    check("read_file", &reading, true)?;
    app.done(&["policy", "set", "security", "deny"])?;
    check("exec", &json!({ "command": "true" }), true)?;
    ensure!(!app.work().join("made").exists(), "what was refused happened");
    Ok(())
}

#[test]
fn a_refusal_counts_for_the_agent_the_session_the_folder_and_the_time_that_it_says() -> Result<()> {
    refusing(&[
        (
            "--program touch --agent coder",
            &[
                ("--agent coder", "touch a", Refused),
                ("--agent other", "touch b", Runs),
                ("", "touch c", Runs),
            ],
        ),
        (
            "--program touch --session s",
            &[("--session s", "touch a", Refused), ("--session t", "touch b", Runs), ("", "touch c", Runs)],
        ),
        (
            "--program touch --folder in",
            &[
                ("--cwd in", "touch a", Refused),
                ("", "touch b", Runs),
                ("", "sh -c cd in && touch c", Refused),
            ],
        ),
        ("--program touch --for 1h", &[("", "touch a", Refused)]),
    ])?;
    let app = App::start("full", "off")?;
    app.done(&["rules", "deny", "--program", "touch", "--for", "2s"])?;
    app.runs(&[], &["touch", "a"], Refused)?;
    app.until_over(&["rules", "list"])?;
    app.runs(&[], &["touch", "a"], Runs)
}

#[test]
fn what_is_no_program_is_not_stored_as_one() -> Result<()> {
    let app = App::start("full", "off")?;
    for program in ["./rm", "git push", "r[m]"] {
        let ended = app.countersign(&["rules", "deny", "--program", program])?;
        ensure!(ended.code == 1 && !app.rules().exists(), "{program}: {ended:?}");
    }
    Ok(())
}

fn file(path: &str) -> Value {
    json!({ "file_path": path, "content": "x\n" })
}

/// Has each rule refused in an app of its own that asks nobody, and tries calls of agents' hooks.
fn refusing_calls(rules: &[(&[&str], &[Call<'_>])]) -> Result<()> {
    for (rule, tried) in rules {
        let app = App::start("full", "off")?;
        fs::create_dir(app.work().join("src"))?;
        symlink(app.work().join("src"), app.work().join("link"))?;
        app.done(&[&["rules", "deny"], *rule].concat())?;
        for (call, parameters, expected) in *tried {
            app.calls(call, parameters, *expected).with_context(|| format!("rules deny {rule:?}"))?;
        }
    }
    Ok(())
}

#[test]
fn a_refused_tool_is_called_by_no_agent_and_by_no_pattern_missed() -> Result<()> {
    let (command, nothing) = (json!({ "command": "ls" }), json!({}));
    refusing_calls(&[
        (
            &["--tool", "Bash"],
            &[
                ("claude-code Bash", command.clone(), Refused),
                ("qwen Bash", command.clone(), Refused),
                ("claude-code Write", file("a"), Runs),
            ],
        ),
        (&["--tool", "bash"], &[("claude-code Bash", command.clone(), Refused)]),
        (
            &["--tool", "mcp__mail"],
            &[
                ("claude-code mcp__mail__send", nothing.clone(), Refused),
                ("claude-code mcp__mailer__send", nothing.clone(), Runs),
            ],
        ),
        (&["--tool", "exec_command"], &[("codex exec_command", json!({ "cmd": "ls" }), Refused)]),
        (
            &["--tool", "mcp__mail__*", "--note", "Write a draft instead."],
            &[
                ("claude-code mcp__mail__send", nothing.clone(), Refused),
                ("gemini mcp__mail__send", nothing.clone(), Refused),
                ("generic mcp__mail__send", nothing.clone(), Refused),
                ("claude-code mcp__web__get", nothing, Runs),
            ],
        ),
        (
            &["--tool", "*"],
            &[
                ("claude-code Bash", command, Refused),
                ("claude-code Write", file("a"), Refused),
                // Nobody is asked about it, and it is refused all the same.
                ("claude-code Grep", json!({ "pattern": "x" }), Refused),
            ],
        ),
        (
            &["--tool", "Grep", "--agent", "coder"],
            &[("claude-code Grep", json!({ "pattern": "x" }), Told::Left)],
        ),
    ])
}

#[test]
fn the_note_of_a_refusal_is_what_its_agent_reads() -> Result<()> {
    let app = App::start("full", "off")?;
    app.done(&["rules", "deny", "--tool", "mcp__mail__*", "--note", "Write a draft instead."])?;
    let (told, ended) = app.hook("claude-code mcp__mail__send", &json!({}), "")?;
    ensure!(told == Refused && ended.stdout.contains("Write a draft instead."), "{ended:?}");
    Ok(())
}

#[test]
fn a_refused_host_is_reached_by_no_parameter_and_no_command() -> Result<()> {
    let fetched = |url: &str| json!({ "url": url, "prompt": "sum up" });
    let bash = |text: &str| json!({ "command": text });
    let calls: &[Call<'_>] = &[
        ("claude-code WebFetch", fetched("https://docs.rs/x"), Refused),
        ("claude-code WebFetch", fetched("http://DOCS.rs.:8080/x"), Refused),
        ("claude-code mcp__web__get", json!({ "where": { "at": ["ws://docs.rs/x"] } }), Refused),
        ("claude-code mcp__web__get", json!({ "at": "docs.rs/x" }), Refused),
        ("claude-code Bash", bash("curl -s https://docs.rs/x"), Refused),
        ("claude-code WebFetch", fetched("https://other.example/x"), Runs),
        ("claude-code Bash", bash("curl -s https://other.example/x"), Runs),
        ("claude-code Bash", bash("curl -s https://docs%2ers/x"), Asked),
        ("claude-code Bash", bash("curl -K settings"), Asked),
    ];
    let below: &[Call<'_>] = &[
        ("claude-code WebFetch", fetched("https://a.b.evil.example/x"), Refused),
        ("claude-code WebFetch", fetched("https://evil.other/x"), Runs),
    ];
    refusing_calls(&[
        (&["--host", "docs.rs"], calls),
        (&["--host", "Docs.RS."], calls),
        (&["--host", "*.evil.example"], below),
    ])?;
    refusing(&[("--host docs.rs", &[("", "curl -s https://docs.rs/x", Refused)])])
}

#[test]
fn refused_changes_are_made_by_no_tool_and_no_way_to_the_file() -> Result<()> {
    let bash = |text: &str| json!({ "command": text });
    refusing_calls(&[
        (
            &["--changes", "src"],
            &[
                ("claude-code Write", file("src/a.txt"), Refused),
                ("claude-code Write", file("link/a.txt"), Refused),
                ("claude-code Write", file("in/../src/a.txt"), Refused),
                ("claude-code Write", file("~/work/src/a.txt"), Refused),
                (
                    "claude-code Edit",
                    json!({ "file_path": "src/gone", "old_string": "a", "new_string": "b" }),
                    Refused,
                ),
                (
                    "claude-code NotebookEdit",
                    json!({ "notebook_path": "src/a.ipynb", "new_source": "x" }),
                    Refused,
                ),
                ("claude-code mcp__files__write_file", json!({ "path": "src/a", "content": "x" }), Refused),
                ("claude-code mcp__fs__put", json!({ "root": "src", "files": [{ "name": "a" }] }), Refused),
                ("claude-code mcp__fs__put", json!({ "location": "$HOME/work/src/a" }), Refused),
                ("claude-code mcp__fs__put", json!({ "paths": "b.txt,src/a.txt" }), Refused),
                ("claude-code mcp__fs__put", json!({ "glob": "s*/a.txt" }), Refused),
                ("claude-code mcp__fs__put", json!({ "uri": "file:src/a.txt" }), Refused),
                ("claude-code mcp__ide__executeCode", json!({ "code": "open('src/a', 'w')" }), Refused),
                ("claude-code mcp__fs__put", json!({ "paths": "b.txt,in/a.txt" }), Runs),
                ("claude-code Bash", bash("echo x > src/a"), Refused),
                ("claude-code Bash", bash("touch $PWD/src/a"), Asked),
                ("claude-code Bash", bash("rm -rf ."), Asked),
                ("claude-code Bash", bash("git checkout ."), Asked),
                ("claude-code Bash", bash("echo 'touch src/a' | sh"), Asked),
                ("claude-code Bash", bash("ln -s src x && touch x/a"), Asked),
                ("claude-code Bash", bash("python3 - <<E\nopen('s' + 'rc/a', 'w')\nE"), Asked),
                ("claude-code Bash", bash("mytool --to src/a"), Asked),
                ("claude-code Bash", bash("for f in src/*; do wc -l src/a; done"), Runs),
                ("claude-code Bash", bash("touch a.txt && cat src/*"), Runs),
                ("claude-code Write", file("a.txt"), Runs),
            ],
        ),
        (
            &["--changes", ".", "--names", "*.lock"],
            &[
                ("claude-code Write", file("Cargo.lock"), Refused),
                ("claude-code Write", file("src/deep.lock"), Refused),
                ("claude-code Bash", bash("echo x > Cargo.lock"), Refused),
                ("claude-code Write", file("Cargo.toml"), Runs),
            ],
        ),
        (&["--changes", "src", "--agent", "coder"], &[("claude-code Write", file("src/a.txt"), Runs)]),
        (&["--changes", "src", "--session", "s"], &[("claude-code Write", file("src/a.txt"), Refused)]),
        (&["--changes", "src", "--session", "t"], &[("claude-code Write", file("src/a.txt"), Runs)]),
    ])
}

#[test]
fn what_a_person_allows_is_judged_again_after_the_answer() -> Result<()> {
    let fetch = json!({ "url": "https://docs.rs/x", "prompt": "sum up" });
    // A call, and what is refused, or set, while somebody is asked about it.
    for (call, parameters, tightened) in [
        ("claude-code Write", file("a.txt"), &["rules", "deny", "--changes", "."][..]),
        ("claude-code WebFetch", fetch, &["rules", "deny", "--host", "docs.rs"]),
        ("claude-code mcp__mail__send", json!({}), &["rules", "deny", "--tool", "mcp__mail__*"]),
        ("claude-code Bash", json!({ "command": "mkfifo a" }), &["rules", "deny", "--program", "mkfifo"]),
        ("claude-code mcp__mail__send", json!({}), &["policy", "set", "security", "deny"]),
    ] {
        let app = App::start("allowlist", "on-miss")?;
        let call_it = || app.hook(call, &parameters, "");
        let (told, ended) = app.allowed_late(call_it, || Ok(()))?;
        ensure!(told == Runs, "{call} was allowed: {told:?} {ended:?}");
        let (told, ended) = app.allowed_late(call_it, || app.done(tightened).map(drop))?;
        ensure!(told == Refused, "{call}, and then {tightened:?}: {told:?} {ended:?}");
    }
    let app = App::start("allowlist", "on-miss")?;
    let touch = || app.exec(&[], &["touch", "a"]);
    let refuse = || app.done(&["rules", "deny", "--program", "touch"]).map(drop);
    let (told, ended) = app.allowed_late(touch, refuse)?;
    ensure!(told == Refused && !app.work().join("a").exists(), "{told:?} {ended:?}");
    Ok(())
}

#[test]
fn a_policy_of_deny_holds_for_what_nobody_is_asked_about_too() -> Result<()> {
    let app = App::start("deny", "off")?;
    app.runs(&[], &["true"], Refused)?;
    for (call, parameters) in [
        ("claude-code Bash", json!({ "command": "ls" })),
        ("claude-code Read", file("a")),
        ("claude-code TodoWrite", json!({ "todos": [] })),
        ("codex exec_command", json!({ "cmd": "ls" })),
    ] {
        app.calls(call, &parameters, Refused)?;
    }
    Ok(())
}

#[test]
fn no_agent_gets_the_apps_own_files_whatever_the_policy_lets_run() -> Result<()> {
    let app = App::start("full", "off")?;
    let own = app.home().join("own");
    symlink(&own, app.work().join("st"))?;
    for path in
        [own.join("tools.json").display().to_string(), "st/forward.json".into(), "~/own/rules.json".into()]
    {
        let (told, ended) = app.hook("claude-code Write", &file(&path), "")?;
        ensure!([Asked, Refused].contains(&told), "{path}: {ended:?}");
    }
    Ok(())
}
