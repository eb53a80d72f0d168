//! A server that a command started in its box: the next command reaches it, and so does the person who
//! wants to see it.

use crate::crossings::open;
use crate::{Story, asking};
use anyhow::ensure;
use countersign_protocol::question::Outcome;
use countersign_tests::app::{App, Window};
use countersign_tests::cli::Running;
use countersign_tests::hello::SERVER;
use countersign_tests::process::{PATIENCE, countersign, wait_for};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Has an agent run something in its open folder.
fn run(app: &App, line: &[&str]) -> anyhow::Result<Running> {
    let folder = app.home.file("project");
    app.home.start(&[&["exec", "--agent", "coder", "--cwd", &folder, "--"], line].concat())
}

/// What is answered there.
fn fetched(at: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

#[test]
fn a_server_in_a_box_is_there_for_the_next_command_and_for_the_person_who_wants_it() -> Story {
    asking(|app| {
        let home = &app.home;
        open(app)?;
        let project = home.work().join("project");
        fs::write(project.join("server.pl"), SERVER)?;
        // Free on this machine, so that it is shown under its own number.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let at = SocketAddr::from(([127, 0, 0, 1], port));
        // As an agent starts it that looks into a file for what it prints.
        let printed = home.work().join("printed");
        let mut server = home.command(countersign()?);
        server.args(["exec", "--agent", "coder", "--cwd", &home.file("project"), "--"]);
        server.args(["perl", "server.pl", &port.to_string()]).stdout(fs::File::create(&printed)?);
        let mut server = server.spawn()?;
        let says_ready = || Ok((fs::read_to_string(&printed)? == "ready\n").then_some(()));
        wait_for("the server says that it is up", PATIENCE, says_ready)?;
        let address = format!("http://localhost:{port}/");
        let fetch = "until curl -fsS $0 > got; do sleep 0.1; done; cat got";
        let next = run(app, &["sh", "-c", fetch, &address])?.finish()?.expect_code(0)?;
        ensure!(next.stdout == "hello\n" && app.pending_ids()?.is_empty(), "{next:?}");
        ensure!(fetched(at).is_err(), "nobody wanted it on this machine");

        app.start_again(&[])?;
        app.click(Window::Main, "nav-history")?;
        app.click(Window::Main, "show-server")?;
        app.wait_for_element(Window::Main, "[data-testid=\"hide-server\"]")?;
        app.shoot(Window::Main, "history-serving")?;
        let said = fetched(at)?;
        ensure!(said.ends_with("hello\n"), "{said}");
        app.click(Window::Main, "hide-server")?;
        app.wait_for_element(Window::Main, "[data-testid=\"show-server\"]")?;
        ensure!(fetched(at).is_err(), "it is hidden again");
        app.click(Window::Main, "show-server")?;
        app.wait_for_element(Window::Main, "[data-testid=\"hide-server\"]")?;
        app.click(Window::Main, "stop-run")?;
        wait_for("the end of the server", PATIENCE, || Ok(server.try_wait()?))?;
        ensure!(fetched(at).is_err(), "it ends with its run");
        ensure!(home.outcomes()? == [Outcome::Contained, Outcome::Contained], "{:?}", home.outcomes()?);
        Ok(())
    })
}
