//! An open folder: what its agent would be asked about runs in a box, without anybody.

use crate::kinds::{Agent, Deed};
use crate::rig::{Rig, Tie, expect_word};
use crate::{NoSuchThing, Story};
use anyhow::{Context as _, Result, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::Outcome;
use countersign_tests::app::Window;
use countersign_tests::hello::{SERVER, hello};
use countersign_tests::process::{PATIENCE, wait_for};
use std::fs;

pub(crate) fn twenty_calls_in_an_open_folder_run_in_a_box_unasked(agent: &Agent) -> Story {
    let rig = in_an_open_folder(agent)?;
    fs::create_dir_all(rig.app.home.work().join("deep"))?;
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

pub(crate) fn what_an_open_folder_does_not_give_is_asked_for_and_what_was_done_is_put_back(
    agent: &Agent,
) -> Story {
    let rig = in_an_open_folder(agent)?;
    let (app, home) = (&rig.app, &rig.app.home);
    let precious = home.work().join("precious");
    fs::write(&precious, "a day of work\n")?;
    let server = hello()?;
    let run = |text: String| Deed::Run(text);
    let talk = rig.tell(&[
        // Loopback of the box is the box's own: whoever means this machine's says so.
        run(format!("for x in got; do curl -fsS --noproxy '' -o $x http://{server}/; done; cat got")),
        run("for x in ../beside; do echo $x > $x; done".to_owned()),
        run("for x in precious; do rm $x; done".to_owned()),
    ])?;
    app.wait_for_card(&server.to_string())?;
    app.allow_once()?;
    let heard = rig.heard(talk)?;
    let expected = [Outcome::Contained, Outcome::AllowedOnce, Outcome::Contained, Outcome::Contained];
    rig.expect_outcomes(&expected).with_context(|| heard.clone())?;
    ensure!(rig.has("got") && !precious.exists() && !rig.has("../beside"), "{heard}");
    expect_word(&heard, &["hello"])?;
    expect_word(&heard, &["the box refused to write"])?;
    wait_for("the history says what was deleted", PATIENCE, || {
        let deletes = |event: &HistoryEvent| matches!(event, HistoryEvent::Changes { changes, .. } if changes.deleted == 1);
        Ok(home.history()?.iter().any(|entry| deletes(&entry.event)).then_some(()))
    })?;
    app.start_again(&[])?;
    app.click(Window::Main, "nav-history")?;
    // The newest comes first.
    app.click(Window::Main, "changes-open")?;
    app.click(Window::Main, "changes-put-back-all")?;
    app.click_armed(Window::Main, "changes-put-back-confirm")?;
    app.wait_for_element(Window::Main, "[data-testid=\"put-back-result\"]")?;
    ensure!(fs::read_to_string(&precious)? == "a day of work\n", "what was deleted should be back");
    Ok(())
}

pub(crate) fn a_server_that_is_started_in_the_background_is_fetched_from_by_the_next_call(
    agent: &Agent,
) -> Story {
    let rig = in_an_open_folder(agent)?;
    fs::write(rig.app.home.work().join("server.pl"), SERVER)?;
    let talk = rig.tell(&[
        // It ends with its first answer: without a person Claude Code waits for what it has started.
        Deed::Background("perl server.pl 3000 1".to_owned()),
        // As an agent that polls until its server is there.
        Deed::Run("until curl -fsS http://localhost:3000/ > got; do sleep 0.2; done; cat got".to_owned()),
    ])?;
    let heard = rig.heard(talk)?;
    ensure!(rig.app.pending_ids()?.is_empty(), "somebody is asked");
    rig.expect_outcomes(&[Outcome::Contained, Outcome::Contained]).with_context(|| heard.clone())?;
    ensure!(rig.has("up") && rig.has("got"), "{heard}");
    expect_word(&heard, &["hello"])
}

/// A machine on which the folder that the agent works in is open for it.
fn in_an_open_folder(agent: &Agent) -> Result<Rig<'_>> {
    if agent.kind.name() != "claude-code" {
        return Err(NoSuchThing("its hook cannot change what it runs".to_owned()).into());
    }
    let rig = Rig::start(agent, Tie::Hook(&[]))?;
    rig.app.home.open_folder("claude-code", &rig.app.home.work())?;
    Ok(rig)
}
