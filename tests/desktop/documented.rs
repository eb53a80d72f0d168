//! What the documents tell people to type, typed beside the running app, and what they show as settings, put
//! where it belongs.

use crate::{Story, asking};
use anyhow::{Context, Result, ensure};
use countersign_tests::app::App;
use countersign_tests::cli::Running;
use countersign_tests::documents::{Block, blocks};
use countersign_tests::home::Home;
use countersign_tests::process::{PATIENCE, countersign, wait_for};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::{env, fs};

/// What comes of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Then {
    /// It does what it says.
    Done,
    /// It does what it says, and its code says what it found.
    Told,
    /// A person is asked, and nothing is done without an answer.
    Asked,
    /// The same, and the answer is data that says so.
    Heard,
    /// It goes on until somebody ends it, or clicks in the window, after it has said something.
    Stays,
    /// The same, and it has nothing to say yet.
    Listens,
    /// It stands for something that each reader has to put in, and says what is wrong with this.
    Refused,
    /// It would change this machine outside of the story's home: its words are understood.
    Understood,
}

/// Lines that do something else than to be done, by what is in them.
const OTHERWISE: &[(&str, Then)] = &[
    ("countersign service ", Then::Understood),
    ("curl ", Then::Heard),
    ("countersign exec ", Then::Asked),
    ("countersign ask ", Then::Asked),
    ("countersign hook generic", Then::Asked),
    ("countersign events ", Then::Listens),
    ("--follow", Then::Stays),
    ("…", Then::Refused),
    ("--url wss://host", Then::Refused),
    // Only a person's click loosens anything.
    ("countersign allowlist add ", Then::Stays),
    ("countersign rules add ", Then::Stays),
    ("countersign box open ", Then::Stays),
    // No run changed anything here.
    (" 4711", Then::Refused),
    // Nobody clicked, so nothing is open.
    ("countersign box close ", Then::Refused),
    ("countersign box place ", Then::Refused),
    ("countersign session clear ", Then::Stays),
    ("countersign gateway --port", Then::Stays),
    ("countersign run ", Then::Stays),
    ("countersign doctor", Then::Told),
    ("countersign allowlist test ", Then::Told),
];

#[test]
fn every_command_in_the_documents_does_what_they_say() -> Story {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for block in blocks()?.into_iter().filter(|block| block.language == "sh") {
        let ours = block.lines().into_iter().filter(|line| is_ours(line));
        lines.entry(block.file).or_default().extend(ours);
    }
    let count: usize = lines.values().map(Vec::len).sum();
    ensure!(count > 40, "only {count} commands were found");
    for (file, lines) in lines.iter().filter(|(_, lines)| !lines.is_empty()) {
        asking(|app| {
            settle(&app.home)?;
            for line in lines {
                typed(app, line).with_context(|| format!("{file}: {line}"))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn every_setting_in_the_documents_is_taken() -> Story {
    let (mut shown, mut servers, mut ours) = (0, 0, 0);
    for Block { file, language, text } in blocks()? {
        let settings: Vec<Value> = match language.as_str() {
            "json" => serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<_, _>>(),
            "toml" => {
                Ok(vec![serde_json::to_value(toml_edit::de::from_str::<BTreeMap<String, Value>>(&text)?)?])
            }
            _ => continue,
        }
        .with_context(|| format!("{file}: {text}"))?;
        shown += settings.len();
        for setting in &settings {
            for server in servers_in(setting) {
                let words = words_of(server).with_context(|| format!("{file}: {server}"))?;
                let home = Home::asking()?;
                home.countersign(
                    &[&words.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--help"]].concat(),
                )?
                .expect_code(0)
                .with_context(|| format!("{file}: {words:?}"))?;
                servers += 1;
            }
            // Those of agents are theirs.
            if setting.get("tools").is_some() && ["docs/tools.md", "docs/routing.md"].contains(&file.as_str())
            {
                taken(setting).with_context(|| format!("{file}: {setting:#}"))?;
                ours += 1;
            }
        }
    }
    ensure!(shown > 12 && servers >= 6 && ours == 2, "{shown} settings, {servers} servers, {ours} of ours");
    Ok(())
}

/// Every server in an agent's settings that is called like ours and started by the agent.
fn servers_in(settings: &Value) -> Vec<&Value> {
    let lists = ["mcpServers", "mcp", "mcp_servers", "servers", "context_servers"];
    let servers = lists.iter().filter_map(|list| settings.get(*list)?.get("countersign"));
    servers.filter(|server| server.get("command").is_some()).collect()
}

/// What comes behind the program's name.
fn words_of(server: &Value) -> Option<Vec<String>> {
    let (name, mut words): (&Value, Vec<&Value>) = match &server["command"] {
        Value::Array(words) => (words.first()?, words.iter().skip(1).collect()),
        name => (name, Vec::new()),
    };
    words.extend(server["args"].as_array().into_iter().flatten());
    let words = words.into_iter().map(|word| word.as_str().map(str::to_owned)).collect();
    (name == "countersign").then_some(words)?
}

/// Puts the settings of tools where they belong, and fails when anything in them is not taken.
fn taken(settings: &Value) -> Story {
    asking(|app| {
        let home = &app.home;
        home.write_private(&home.state().join("tools.json"), settings.to_string().as_bytes())?;
        for words in [&["tool-policy", "explain", "--agent", "reviewer"][..], &["policy", "show"]] {
            let told = home.countersign(words)?.expect_code(0)?;
            ensure!(told.stderr.is_empty(), "{}", told.stderr);
        }
        Ok(())
    })
}

/// Whether a line is about this program; what agents and the project's own runner are told is
/// tried where they are.
fn is_ours(line: &str) -> bool {
    let ours = ["countersign ", "curl "].iter().any(|name| line.starts_with(name));
    ours || line.contains("| countersign ") || line.contains("|   countersign ")
}

/// What the lines take for granted.
fn settle(home: &Home) -> Story {
    fs::create_dir_all(home.work().join("src"))?;
    fs::create_dir_all(home.path().join("src/engine"))?;
    fs::create_dir_all(home.path().join(".claude"))?;
    fs::create_dir_all(home.path().join(".codex"))?;
    let case = json!({ "id": "1", "op": "analyze-shell", "input": { "command": "scan x" } });
    Ok(fs::write(home.work().join("cases.jsonl"), format!("{case}\n"))?)
}

/// Types a line, answers no to whatever is asked, and fails unless it comes to what it should.
fn typed(app: &App, line: &str) -> Story {
    let then = OTHERWISE.iter().find(|(word, _)| line.contains(word)).map_or(Then::Done, |(_, then)| *then);
    let (out, err) = (app.home.path().join("out"), app.home.path().join("err"));
    let line = here(app, line.split(" #").next().unwrap_or_default().trim())?;
    let more = if then == Then::Understood { "--help" } else { "" };
    let script = format!("{{ {line} {more}\n}} >{} 2>{}", out.display(), err.display());
    let mut shell = app.command("/bin/sh");
    let ours = countersign()?;
    let folders = ours.parent().into_iter().map(ToOwned::to_owned);
    let rest = env::var_os("PATH").unwrap_or_default();
    shell.env("PATH", env::join_paths(folders.chain(env::split_paths(&rest)))?);
    shell.env("TOKEN", app.home.gateway_token()?);
    shell.args(["-c", &script]).process_group(0);
    // Looked at before the shell has made them.
    for file in [&out, &err] {
        fs::write(file, "")?;
    }
    let mut running = Running::start(&mut shell)?;
    let said = || -> Result<String> { Ok([fs::read_to_string(&out)?, fs::read_to_string(&err)?].concat()) };
    let (mut was_asked, mut stayed) = (false, false);
    let ended = wait_for("it ends, asks or stays", PATIENCE, || {
        if !running.runs()? {
            return Ok(Some(()));
        }
        if !app.pending_ids()?.is_empty() {
            was_asked = true;
            app.home.countersign(&["deny", "--all"])?.expect_code(0)?;
        } else if !stayed {
            stayed = match then {
                Then::Stays => !said()?.trim().is_empty(),
                // The app has answered another one meanwhile.
                Then::Listens => app.home.status()?.is_some(),
                _ => false,
            };
            if stayed {
                end(&running)?;
            }
        }
        Ok(None)
    });
    ended.with_context(|| said().unwrap_or_default())?;
    let code = running.finish()?.code;
    let fits = match then {
        Then::Done | Then::Understood => code == 0 && !was_asked,
        Then::Told => [0, 1, 200].contains(&code) && !was_asked,
        Then::Asked => code != 0 && was_asked,
        Then::Heard => code == 0 && was_asked && said()?.contains("denied"),
        Then::Stays | Then::Listens => stayed,
        Then::Refused => code != 0 && !was_asked,
    };
    let said = said()?;
    ensure!(fits && !said.contains("unexpected argument"), "{then:?}, and it ended with {code}: {said}");
    Ok(())
}

/// A line with the gateway's port and the folder of this home in the place of those that the documents name.
fn here(app: &App, line: &str) -> Result<String> {
    let url = app.home.gateway_url()?;
    let (_, port) = url.rsplit_once(':').with_context(|| format!("a port should be in {url}"))?;
    let work = app.home.work();
    Ok(line.replace(":18790/", &format!(":{port}/")).replace("/home/me/project", &work.to_string_lossy()))
}

fn end(running: &Running) -> Story {
    let pid = i32::try_from(running.pid()).ok().and_then(Pid::from_raw).context("a process id")?;
    Ok(kill_process_group(pid, Signal::TERM)?)
}
