//! `countersign rules add` and `deny` with `--reach` and `--registries`: what boxes reach without a question,
//! and what they do not reach.

use crate::beside::beside_the_command;
use crate::rig::App;
use anyhow::{Context as _, Result, ensure};
use countersign_protocol::question::Outcome;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// A server of this machine that answers whoever asks, until the test ends.
fn server() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nyes";
            (&stream).write_all(answer).ok();
        }
    });
    Ok(address)
}

/// What came of a wish to reach something: whether it was reached, and whether the person was asked.
fn reached(app: &App, cwd: &str, url: &str) -> Result<(bool, bool, String)> {
    let before = app.questions().len();
    let got = app.work().join(cwd).join("got");
    let text = format!("for x in got; do curl -fsS --noproxy '' -o $x {url}; done");
    let ended = app.countersign(&["exec", "--cwd", cwd, "--", "sh", "-c", &text])?;
    let was_reached = got.exists();
    fs::remove_file(got).ok();
    Ok((was_reached, app.questions().len() != before, format!("{ended:?}")))
}

fn check(app: &App, cwd: &str, url: &str, expected: (bool, bool)) -> Result<()> {
    let (was_reached, was_asked, ended) = reached(app, cwd, url)?;
    let told = (was_reached, was_asked);
    ensure!(told == expected, "{cwd} {url}: reached and asked {told:?}, not {expected:?}: {ended}");
    Ok(())
}

/// An app with two open folders.
fn app() -> Result<App> {
    let app = App::start("allowlist", "on-miss")?;
    fs::create_dir(app.work().join("other"))?;
    for folder in ["in", "other"] {
        app.confirmed(&["box", "open", folder])?;
    }
    Ok(app)
}

#[test]
fn a_destination_is_reached_from_where_and_on_which_port_was_said() -> Result<()> {
    beside_the_command("connections::a_destination_is_reached_from_where_and_on_which_port_was_said", || {
        let app = app()?;
        let (one, two) = (server()?, server()?);
        check(&app, "in", &format!("http://{one}/"), (false, true))?;
        app.confirmed(&["rules", "add", "--reach", &one.to_string(), "--folder", "in"])?;
        check(&app, "in", &format!("http://{one}/"), (true, false))?;
        check(&app, "in", &format!("http://localhost:{}/", one.port()), (true, false))?;
        check(&app, "other", &format!("http://{one}/"), (false, true))?;
        check(&app, "in", &format!("http://{two}/"), (false, true))
    })
}

#[test]
fn a_refused_destination_is_reached_by_no_name_and_nobody_is_asked() -> Result<()> {
    beside_the_command("connections::a_refused_destination_is_reached_by_no_name_and_nobody_is_asked", || {
        let address = server()?;
        let port = address.port();
        for rule in [
            &["--reach", &*address.to_string()][..],
            &["--reach", &format!("localhost:{port}")],
            &["--host", "localhost"],
            &["--host", "127.0.0.1"],
        ] {
            let app = app()?;
            // What allows it does not help.
            app.confirmed(&["rules", "add", "--reach", &address.to_string()])?;
            app.done(&[&["rules", "deny"], rule].concat())?;
            for host in ["127.0.0.1", "localhost"] {
                check(&app, "in", &format!("http://{host}:{port}/"), (false, false))
                    .with_context(|| format!("rules deny {rule:?}"))?;
            }
        }
        Ok(())
    })
}

#[test]
fn a_kind_of_registries_is_reached_or_not_as_was_said() -> Result<()> {
    beside_the_command("connections::a_kind_of_registries_is_reached_or_not_as_was_said", || {
        let groups = countersign_gate::groups();
        let group = groups.iter().find(|group| group.id == "cargo").context("no such kind")?;
        let host =
            &group.hosts.iter().find(|pattern| !pattern.host.contains('*')).context("no host of it")?.host;
        let url = format!("https://{host}/");
        let app = app()?;
        check(&app, "in", &url, (false, true))?;
        app.confirmed(&["rules", "add", "--registries", "cargo", "--folder", "in"])?;
        // It is let out, to a proxy that is not there. Where names of registries lead to a place nearby, as
        // they do behind a mirror, that is asked about as what it is.
        let before = app.questions().len();
        reached(&app, "in", &url)?;
        let asked = app.questions().split_off(before);
        ensure!(!asked.iter().any(|card| card.contains(IN_THE_WORLD)), "{asked:?}");
        check(&app, "other", &url, (false, true))?;
        ensure!(app.questions().last().is_some_and(|card| card.contains(IN_THE_WORLD)), "asked as at first");
        app.done(&["rules", "deny", "--registries", "cargo"])?;
        check(&app, "in", &url, (false, false))?;
        ensure!(
            matches!(app.outcomes()?.last(), Some(Outcome::DeniedByPolicy { .. })),
            "{:?}",
            app.outcomes()?
        );
        Ok(())
    })
}

/// How a card says that a destination is on the internet.
const IN_THE_WORLD: &str = "\"place\":\"internet\"";
