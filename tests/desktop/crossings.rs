//! A command in a box wants to reach something outside: its connection is held until a person answered, and
//! what was answered counts.

use crate::{Story, asking, story};
use anyhow::ensure;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{Outcome, QuestionKind};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::cli::Running;
use countersign_tests::hello::hello;
use countersign_tests::home::Home;
use countersign_tests::process::{Background, PATIENCE, wait_for};
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

/// Has an agent fetch from there in its open folder.
pub(crate) fn fetching(app: &App, server: SocketAddr, more: &[&str]) -> anyhow::Result<Running> {
    // Loopback of the box is the box's own: whoever means this machine's says so.
    let text = format!("for x in got; do curl -fsS --noproxy '' -o $x http://{server}/; done");
    let folder = app.home.file("project");
    let line = [&["exec", "--agent", "coder", "--cwd", &folder][..], more, &["--", "sh", "-c", &text]];
    app.home.start(&line.concat())
}

/// Opens the project for everybody.
pub(crate) fn open(app: &App) -> anyhow::Result<()> {
    let folder = app.home.file("project");
    fs::create_dir(&folder)?;
    let opening = app.home.start(&["box", "open", &folder, "--for", "1h"])?;
    app.wait_for_element(Window::Main, "[data-testid=\"confirmation\"]")?;
    app.click_armed(Window::Main, "confirmation-apply")?;
    opening.finish()?.expect_code(0)?;
    Ok(())
}

#[test]
fn what_a_boxed_command_wants_to_reach_is_asked_about_and_remembered() -> Story {
    asking(|app| {
        let home = &app.home;
        open(app)?;
        let (server, got) = (hello()?, home.work().join("project/got"));

        let denied = fetching(app, server, &[])?;
        app.wait_for_card(&server.to_string())?;
        let (waiting, _) = home.pending()?;
        ensure!(waiting.iter().any(|card| card.kind == QuestionKind::Crossing), "{waiting:?}");
        app.shoot(Window::Prompt, "prompt-crossing-machine")?;
        app.deny()?;
        let denied = denied.finish()?.expect_code(22)?;
        ensure!(
            denied.stderr.contains(&format!("refused to reach {server}: the person denied it")),
            "{denied:?}"
        );
        ensure!(!got.exists(), "what was denied came in");

        let once = fetching(app, server, &[])?;
        app.wait_for_card(&server.to_string())?;
        app.allow_once()?;
        once.finish()?.expect_code(0)?;
        ensure!(fs::read_to_string(&got)? == "hello\n");
        fs::remove_file(&got)?;

        let always = fetching(app, server, &[])?;
        app.wait_for_card(&server.to_string())?;
        app.open_sheet("destination")?;
        app.shoot(Window::Prompt, "prompt-crossing-always")?;
        app.click_armed(Window::Prompt, "allow-always-confirm")?;
        always.finish()?.expect_code(0)?;
        fs::remove_file(&got)?;

        // Nobody is asked any more.
        fetching(app, server, &[])?.finish()?.expect_code(0)?;
        ensure!(got.exists() && app.pending_ids()?.is_empty());
        let listed = home.countersign(&["rules", "list"])?.expect_code(0)?.stdout;
        ensure!(listed.contains(&format!("connections to {server}")), "{listed}");
        let expected = [
            Outcome::Contained,
            Outcome::Denied,
            Outcome::Contained,
            Outcome::AllowedOnce,
            Outcome::Contained,
            Outcome::AllowedAlways,
            Outcome::Contained,
            Outcome::AllowedByRule,
        ];
        ensure!(home.outcomes()? == expected, "{:?}", home.outcomes()?);
        let reached: Vec<String> = home
            .history()?
            .into_iter()
            .filter_map(|entry| match entry.event {
                HistoryEvent::Run { run } => Some(run.reached),
                _ => None,
            })
            .flatten()
            .filter(|reached| reached.up > 0 && reached.down > 0)
            .map(|reached| reached.destination)
            .collect();
        ensure!(reached == vec![server.to_string(); 3], "{reached:?}");
        app.click(Window::Main, "nav-rules")?;
        app.shoot(Window::Main, "rules-crossing")?;
        app.click(Window::Main, "nav-history")?;
        app.shoot(Window::Main, "history-crossing")?;
        Ok(())
    })
}

#[test]
fn a_question_about_a_connection_ends_with_whoever_waits_for_it() -> Story {
    asking(|app| {
        open(app)?;
        let server = hello()?;
        // A machine that needs longer to show it gets longer.
        for seconds in ["10", "100", "1000"] {
            let mut fetch = fetching(app, server, &["--timeout", seconds])?;
            let is_shown = app.is_shown_in_time(&server.to_string(), &mut fetch)?;
            // Its run ends, and nobody waits for the answer any more.
            let fetched = fetch.finish_within(LONGEST)?;
            ensure!(fetched.code != 0, "{fetched:?}");
            app.wait_for_pending(0)?;
            ensure!(!app.home.work().join("project/got").exists());
            if is_shown {
                return Ok(());
            }
        }
        anyhow::bail!("it was never shown in time")
    })
}

/// An SSH agent with a key, and the folder of both.
struct Agent {
    folder: tempfile::TempDir,
    _process: Background,
}

impl Agent {
    fn start(home: &Home) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("agent");
        let agent = Background::start(home.command("ssh-agent").args(["-D", "-a"]).arg(&socket))?;
        wait_for("the agent listens", PATIENCE, || Ok(socket.exists().then_some(())))?;
        for line in ["ssh-keygen -q -t ed25519 -N '' -f id", "ssh-add -q id"] {
            let mut shell = home.command("sh");
            shell.args(["-c", line]).current_dir(folder.path()).env("SSH_AUTH_SOCK", &socket);
            ensure!(shell.status()?.success(), "{line}");
        }
        Ok(Self { folder, _process: agent })
    }
}

#[test]
fn a_signature_by_the_persons_ssh_key_is_lent_to_a_box_once_and_the_key_never() -> Story {
    let home = Home::asking()?;
    let agent = Agent::start(&home)?;
    let socket = agent.folder.path().join("agent");
    let home = home.with_variable("SSH_AUTH_SOCK", &socket.to_string_lossy());
    story(Ok(home), Shell::Bare, |app| {
        let home = &app.home;
        open(app)?;
        let project = home.work().join("project");
        fs::copy(agent.folder.path().join("id.pub"), project.join("id.pub"))?;
        fs::write(project.join("note"), "signed\n")?;
        fs::write(project.join("sign.sh"), "ssh-keygen -q -Y sign -f id.pub -n file note\n")?;
        let folder = project.to_string_lossy();
        let line = ["exec", "--agent", "coder", "--cwd", &folder, "--", "sh", "sign.sh"];
        let lent = home.start(&line)?;
        app.wait_for_card("ssh-agent")?;
        app.wait_for_element(Window::Prompt, "[data-testid=\"crossing-keys\"]")?;
        app.shoot(Window::Prompt, "prompt-crossing-keys")?;
        app.allow_once()?;
        lent.finish()?.expect_code(0)?;
        fs::remove_file(project.join("note.sig"))?;

        let refused = home.start(&line)?;
        app.wait_for_card("ssh-agent")?;
        app.deny()?;
        let refused = refused.finish()?;
        ensure!(refused.code != 0 && refused.stderr.contains("refused to use your SSH keys"), "{refused:?}");
        ensure!(!project.join("note.sig").exists(), "nothing is signed after a no");
        let expected = [Outcome::AllowedOnce, Outcome::Contained, Outcome::Denied, Outcome::Contained];
        let outcomes = home.outcomes()?;
        ensure!(
            outcomes.iter().all(|outcome| expected.contains(outcome)) && outcomes.len() == 4,
            "{outcomes:?}"
        );
        Ok(())
    })
}

/// Longest wait for what ends by a limit of its own that is as long as a slow machine needs.
const LONGEST: Duration = Duration::from_secs(1_800);
