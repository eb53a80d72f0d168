//! An open folder: what its agent would be asked about runs in a box, without anybody.

use crate::kinds::{Agent, Deed};
use crate::rig::{Rig, Tie, expect_word};
use crate::{NoSuchThing, Story};
use anyhow::{Context as _, ensure};
use countersign_protocol::question::Outcome;
use serde_json::json;
use std::fs;

pub(crate) fn twenty_calls_in_an_open_folder_run_in_a_box_unasked(agent: &Agent) -> Story {
    if agent.kind.name() != "claude-code" {
        return Err(NoSuchThing("its hook cannot change what it runs".to_owned()).into());
    }
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    fs::create_dir_all(rig.app.home.work().join("deep"))?;
    let folder = fs::canonicalize(rig.app.home.work())?;
    let document = json!({ "version": 1, "rules": [], "workspaces": [{
        "id": "w-1", "agent": "claude-code", "folder": folder, "createdAtMs": 0, "from": "typed",
    }] });
    rig.app.home.write_rules(&document.to_string())?;
    let run = |text: &str| Deed::Run(text.to_owned());
    // Nothing that a rule could know: loops, here-documents, redirections, scripts of the moment.
    let mut deeds = vec![
        run("cd deep && for x in a b; do echo $x > made-$x; done"),
        run("pwd > where; cat where"),
        run("cd .. && python3 - <<'E'\nopen('script', 'w').write('by python')\nE"),
        run(
            "python3 - <<'E'\ntry: open('../beside', 'w')\nexcept OSError as e: print('the write', e.strerror)\nE",
        ),
        run("python3 - <<'E'\nimport os\nprint('seen', os.listdir(os.path.dirname(os.getcwd())))\nE"),
        run("python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)' 2>&1 | tail -n 1"),
    ];
    deeds.extend((deeds.len()..20).map(|at| run(&format!("echo {at} >> counted; wc -l < counted"))));
    let talk = rig.tell(&deeds)?;
    let heard = rig.heard(talk)?;
    ensure!(rig.app.pending_ids()?.is_empty(), "somebody is asked");
    rig.expect_outcomes(&[const { Outcome::Contained }; 20]).with_context(|| heard.clone())?;
    for made in ["deep/made-a", "deep/made-b", "deep/where", "script", "counted"] {
        ensure!(rig.has(made), "{made} should be made; heard {heard}");
    }
    let moved = fs::read_to_string(rig.app.home.work().join("deep/where"))?;
    ensure!(moved.trim().ends_with("/deep"), "the folder should be kept, and was {moved:?}");
    ensure!(!rig.has("../beside"), "a file was written beside the folder");
    expect_word(&heard, &["the write read-only file system", "the write permission denied"])?;
    ensure!(!heard.contains(".claude"), "the agent's own settings should be hidden; heard {heard}");
    expect_word(&heard, &["unreachable"])
}
