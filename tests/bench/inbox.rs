//! The inbox in the real window with more requests than a person can answer: ten gateways, a
//! thousand on each.

use crate::figures::Figure;
use crate::memory;
use anyhow::{Context, Result, ensure};
use countersign_protocol::control::ControlRequest;
use countersign_protocol::ui::Page;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::Home;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::Message;

/// Until everything is in the window, one scroll, one answer, and what all of it takes.
pub(crate) fn measure() -> Result<Vec<Figure>> {
    // On threads of its own: this one waits for windows.
    let runtime = Runtime::new()?;
    let addresses: Vec<_> =
        (0..GATEWAYS).map(|_| runtime.block_on(crowded(REQUESTS))).collect::<Result<_>>()?;
    let home = Home::asking()?;
    home.write_settings(&json!({ "notifications": false }))?;
    let app = App::start(home, Shell::Full)?;
    app.home.control(&ControlRequest::Show { page: Page::Connections })?.context("the app is gone")?;
    app.window(Window::Main)?;
    let began = Instant::now();
    connect(&app, &addresses)?;
    app.home.control(&ControlRequest::Show { page: Page::Inbox })?.context("the app is gone")?;
    let all = format!("return document.querySelector('h1')?.textContent.includes('{}')", GATEWAYS * REQUESTS);
    app.wait_in(Window::Main, "every request is in the inbox", &all)?;
    let filled = began.elapsed();
    std::thread::sleep(SETTLE);
    let held = memory::settled(app.pid())?;
    let scrolls = (1..=SAMPLES).map(|step| timed(&app, SCROLL, json!(step as f64 / (SAMPLES + 1) as f64)));
    let scrolls: Vec<f64> = scrolls.collect::<Result<_>>()?;
    let answers: Vec<f64> = (0..SAMPLES).map(|_| timed(&app, DENY, json!(null))).collect::<Result<_>>()?;
    Ok(vec![
        Figure::times("inbox: ten thousand requests of ten gateways", &[filled], ""),
        Figure::new("inbox: scroll somewhere else, painted", "ms", scrolls, "≤ 100"),
        Figure::new("inbox: click on Deny to the row being gone, painted", "ms", answers, "≤ 100"),
        Figure::new("inbox: memory of app and windows, PSS", "MB", vec![held], ""),
    ])
}

/// Has the app connect to these gateways.
pub(crate) fn connect(app: &App, addresses: &[SocketAddr]) -> Result<()> {
    for (at, address) in addresses.iter().enumerate() {
        let edit = json!({
            "name": format!("Gateway {at}"), "url": format!("ws://{address}"), "enabled": true, "seesAgents": false,
            "secretKind": "token", "secret": { "kind": "set", "value": "a token" },
        });
        let saved = app.invoke(Window::Main, "save_gateway", json!({ "edit": edit }))?;
        ensure!(saved.is_ok(), "a gateway could not be added: {saved:?}");
    }
    Ok(())
}

/// Milliseconds that a script in the inbox measured.
pub(crate) fn timed(app: &App, script: &str, argument: Value) -> Result<f64> {
    let answer = app.window(Window::Main)?.run_async(script, json!([argument]))?;
    answer.as_f64().with_context(|| format!("the page measured {answer}"))
}

/// A gateway on which so many requests wait. It takes every answer and says that it was given.
pub(crate) async fn crowded(count: usize) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (tcp, _) = listener.accept().await?;
        serve(tcp, count).await
    });
    Ok(address)
}

async fn serve(tcp: TcpStream, count: usize) -> Result<()> {
    let mut socket = tokio_tungstenite::accept_async(tcp).await?;
    let event = |name: &str, payload: Value| {
        Message::text(json!({ "type": "event", "event": name, "payload": payload }).to_string())
    };
    socket.send(event("connect.challenge", json!({ "nonce": "n", "ts": 1_000 }))).await?;
    while let Some(message) = socket.next().await {
        let Message::Text(text) = message? else { continue };
        let frame: Value = serde_json::from_str(&text)?;
        let payload = match frame["method"].as_str().unwrap_or_default() {
            "connect" => json!({
                "type": "hello-ok", "protocol": 4, "server": { "version": "2026.9.6" }, "snapshot": {},
                "features": { "methods": ["exec.approval.list", "exec.approval.resolve"], "events": [] },
                "auth": { "role": "operator", "scopes": ["operator.approvals", "operator.read"] },
                "policy": { "maxPayload": 1, "maxBufferedBytes": 1, "tickIntervalMs": 30_000 },
            }),
            "exec.approval.list" => (0..count).map(request).collect(),
            _ => json!({ "ok": true }),
        };
        let answer = json!({ "type": "res", "id": frame["id"], "ok": true, "payload": payload });
        socket.send(Message::text(answer.to_string())).await?;
        if frame["method"] == "exec.approval.resolve" {
            let resolved =
                json!({ "id": frame["params"]["id"], "decision": frame["params"]["decision"], "ts": 2_000 });
            socket.send(event("exec.approval.resolved", resolved)).await?;
        }
    }
    Ok(())
}

fn request(at: usize) -> Value {
    let request = json!({
        "command": format!("cargo build --package part-{at} && rm -rf build/{at}"), "cwd": "/srv/work", "host": "gateway",
        "agentId": format!("agent-{}", at % AGENTS), "sessionKey": format!("agent:agent-{}:session-{}", at % AGENTS, at % 7),
    });
    json!({ "id": format!("r-{at}"), "request": request, "createdAtMs": 1_000, "expiresAtMs": 3_601_000 })
}

/// Calls back with the time from a scroll to this share of the list to the second frame after
/// it, which shows it.
const SCROLL: &str = "const [share, done] = arguments;
    const content = document.querySelector('[data-testid=content]');
    const began = performance.now();
    content.scrollTop = content.scrollHeight * share;
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)))";

/// Calls back with the time from a click on the first visible Deny until its row is gone and a
/// frame was painted.
pub(crate) const DENY: &str = "const [, done] = arguments;
    const row = document.querySelector('[data-testid=inbox-row]');
    const gone = () => document.querySelector(`[data-testid=inbox-row][data-id=\"${row.dataset.id}\"]`) === null;
    const began = performance.now();
    row.querySelector('[data-testid=inbox-deny]').click();
    const look = () => requestAnimationFrame(() => (gone() ? done(performance.now() - began) : look()));
    look()";

const GATEWAYS: usize = 10;

/// Agents of each.
const AGENTS: usize = 100;

/// Waiting on each.
const REQUESTS: usize = 1_000;

/// Scrolls, and answers.
const SAMPLES: usize = 40;

/// What was just listed gives some memory back within seconds.
const SETTLE: Duration = Duration::from_secs(5);
