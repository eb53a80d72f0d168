//! An app that is there and says nothing is not absent: the fallback does not hold.

use crate::Story;
use countersign_node::socket::listener::Listener;
use countersign_tests::home::Home;
use std::path::Path;
use tokio::runtime::Runtime;

/// Everything would run if nobody could be asked.
fn home() -> anyhow::Result<Home> {
    Home::with_defaults("full", "always", "full")
}

/// Takes the sockets and their locks as an app does, and then does nothing, as one that was stopped. Callers
/// wait in the kernel's queue.
fn stopped(home: &Home, sockets: &[&Path]) -> anyhow::Result<(Vec<Listener>, Runtime)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let listeners = sockets.iter().map(|path| Listener::bind(path)).collect::<Result<_, _>>()?;
    drop(entered);
    assert!(home.outcomes()?.is_empty());
    Ok((listeners, runtime))
}

/// Runs `touch` on a file, which must not happen, and says why not.
fn is_denied(home: &Home, arguments: &[&str]) -> anyhow::Result<String> {
    let file = home.file("made");
    let mut all = vec!["exec", "--wait", "1"];
    all.extend(arguments);
    all.extend(["--", "touch", &file]);
    let finished = home.start(&all)?.finish()?.expect_code(201)?;
    assert!(!Path::new(&file).exists(), "{finished:?}");
    let said = format!("the Countersign app runs (process {}) and did not answer", std::process::id());
    assert!(finished.stderr.contains(&said), "{finished:?}");
    Ok(finished.stderr)
}

#[test]
fn a_stopped_app_is_a_denial_soon_after_the_persons_time_and_never_the_fallback() -> Story {
    let home = home()?;
    let _app = stopped(&home, &[&home.control_socket(), &home.socket()])?;
    assert!(is_denied(&home, &[])?.contains("nothing came within 6 s"));
    assert!(is_denied(&home, &["--host", "gateway"])?.contains("nothing came within 6 s"));
    Ok(())
}

#[test]
fn a_socket_that_refuses_or_is_gone_is_a_denial_while_the_app_is_there() -> Story {
    let home = home()?;
    let _app = stopped(&home, &[&home.control_socket()])?;
    is_denied(&home, &[])?;
    drop(std::os::unix::net::UnixListener::bind(home.socket())?);
    is_denied(&home, &[])?;
    std::fs::remove_file(home.control_socket())?;
    is_denied(&home, &["--host", "gateway"])?;
    let asked = home.countersign(&["ask", "--wait", "1", "--", "true"])?.expect_code(201)?;
    assert!(asked.stderr.contains("did not answer"), "{asked:?}");
    // Neither does anybody write beside it.
    let set = home.countersign(&["policy", "set", "security", "deny"])?;
    assert_ne!(set.code, 0, "{set:?}");
    Ok(())
}

#[test]
fn an_app_that_ended_however_leaves_the_fallback_to_hold() -> Story {
    let home = home()?;
    drop(stopped(&home, &[&home.control_socket(), &home.socket()])?);
    // What a killed app leaves behind.
    drop(std::os::unix::net::UnixListener::bind(home.socket())?);
    let file = home.file("made");
    home.exec(&["touch", &file])?.finish()?.expect_code(0)?;
    assert!(Path::new(&file).exists());
    Ok(())
}

#[test]
fn the_doctor_says_who_answers_in_the_apps_place() -> Story {
    let home = home()?;
    let other = std::os::unix::net::UnixListener::bind(home.control_socket())?;
    // It takes callers and hangs up, for as long as this process lives.
    std::thread::spawn(move || other.incoming().for_each(drop));
    let findings = home.countersign(&["--json", "doctor"])?.json()?;
    let channel =
        findings.as_array().and_then(|all| all.iter().find(|one| one["check"] == "control channel"));
    let channel = channel.unwrap_or_else(|| panic!("{findings}"));
    let message = channel["message"].as_str().unwrap_or_default();
    let said = format!("process {} answers", std::process::id());
    assert!(message.starts_with(&said) && message.ends_with("so it is not the app"), "{channel}");
    Ok(())
}
