//! Real programs with the variables that they get in a box. One that is not on this machine is named
//! and passed over.

use super::fake::{Answer, House, head, names, telling};
use crate::wish::Because;
use crate::{Limits, WayOut, environment};
use std::path::Path;
use std::process::Stdio;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Where programs of the system are.
const PROGRAMS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// Starts a program with nothing but the way out, and returns everything that it printed.
async fn run(house: &House, program: &str, arguments: &[&str]) -> Option<String> {
    let found = PROGRAMS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists());
    let Some(found) = found else {
        eprintln!("{program} is not on this machine");
        return None;
    };
    let way = WayOut { proxy: house.relay(), connect: vec!["true".to_owned()], known_hosts: String::new() };
    #[expect(clippy::disallowed_methods, reason = "real programs are what is tried here")]
    let output = Command::new(found)
        .args(arguments)
        .env_clear()
        .env("PATH", PROGRAMS.join(":"))
        .envs(environment(&way))
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&printed).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_gets_through_and_says_who_it_is() {
    let server = telling("server").await;
    let url = format!("http://a.example:{}/x", server.port());
    for more in [&[][..], &["--proxytunnel"], &["--proxy", "socks5h"]] {
        let house = House::with(|_| Answer::Open, Limits::default(), names(&[&["127.0.0.1"]]));
        let socks = format!("socks5h://{}", house.relay());
        let more: Vec<&str> =
            more.iter().map(|word| if *word == "socks5h" { &*socks } else { word }).collect();
        let Some(printed) = run(&house, "curl", &[&["-sS", &url], &*more].concat()).await else { return };
        assert!(printed.starts_with("server|GET /x"), "{printed}");
        let client = house.seen().callers[0].clone();
        assert_eq!(client.chain.last().map(String::as_str), Some("curl"), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t22_a_redirect_is_a_wish_of_its_own() {
    let house = House::with(
        |wish| if wish.destination.port == 9 { Answer::No } else { Answer::Open },
        Limits::default(),
        names(&[&["127.0.0.1"]]),
    );
    let server = super::fake::server("127.0.0.1:0", async |mut stream| {
        head(&mut stream).await;
        let answer = "HTTP/1.1 302 Found\r\nLocation: http://evil.example:9/\r\nContent-Length: 0\r\n\r\n";
        let _ = stream.write_all(answer.as_bytes()).await;
    })
    .await;
    let url = format!("http://a.example:{}/", server.port());
    let Some(printed) = run(&house, "curl", &["-sSL", &url]).await else { return };
    assert!(printed.contains("the box refused evil.example:9"), "{printed}");
    assert_eq!(house.seen().questions().last().unwrap(), &("evil.example:9".to_owned(), Because::First));
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_say_at_once_that_they_are_refused() {
    let house = House::open(|_| Answer::No);
    for (program, arguments) in [
        ("curl", &["-sS", "-v", "https://a.example/"][..]),
        ("git", &["ls-remote", "https://a.example/x.git"]),
        ("wget", &["-O-", "https://a.example/"]),
    ] {
        let Some(printed) = run(&house, program, arguments).await else { continue };
        let said = ["403", "the box refused a.example:443"];
        assert!(said.iter().any(|said| printed.contains(said)), "{program}: {printed}");
        assert_eq!(house.seen().asked.last().unwrap().destination.to_string(), "a.example:443", "{program}");
    }
}
