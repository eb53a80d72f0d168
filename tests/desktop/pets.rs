//! Companion clients and pet servers, over real connections, beside the real prompt.

use crate::Story;
use anyhow::{Context, Result, ensure};
use countersign_protocol::question::{Outcome, QuestionKind, Via};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::Home;
use countersign_tests::mcp::PlainClient;
use countersign_tests::process::{PATIENCE, wait_for};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener as StdListener;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, accept_async, connect_async};

/// One connection at a time needs no more threads.
fn block_on(story: impl Future<Output = Story>) -> Story {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(story)
}

/// The next text that is one of these: a push by its type, or an answer by its action.
async fn next<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    wanted: &str,
) -> Result<Value> {
    let found = async {
        while let Some(message) = socket.next().await {
            let Message::Text(text) = message? else { continue };
            let value: Value = serde_json::from_str(&text)?;
            if value["push_type"] == wanted || value["action"] == wanted {
                return Ok(value);
            }
        }
        anyhow::bail!("the connection ended before {wanted}")
    };
    timeout(PATIENCE, found).await.with_context(|| format!("no {wanted} came"))?
}

/// Connects as soon as it is let in.
async fn connected(request: &Request) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    loop {
        match connect_async(request.clone()).await {
            Ok((socket, _)) => return socket,
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

fn answer(push: &Value, approved: bool) -> Message {
    let data = json!({ "request_id": push["data"]["request_id"], "approved": approved });
    Message::text(json!({ "action": "tool_approval_response", "data": data }).to_string())
}

/// A home whose commands of tools run on this machine, with these settings of the pet channel.
fn home(is_open: bool) -> Result<Home> {
    let home = Home::asking()?;
    let here =
        json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
    home.write_private(&home.state().join("tools.json"), here.to_string().as_bytes())?;
    home.write_settings(&json!({ "pet": { "enabled": is_open } }))?;
    Ok(home)
}

#[test]
fn a_companion_answers_the_calls_of_its_own_session_and_the_prompt_goes() -> Story {
    crate::story(home(true), Shell::Bare, |app| {
        let url = app.home.gateway_url()?;
        // The channel opens a moment after the gateway serves.
        let token = wait_for("the pet channel has its token", PATIENCE, || {
            Ok(fs::read_to_string(app.home.gateway().join("pet-token")).ok())
        })?;
        let workspace = app.home.work().display().to_string();
        let cat = ["--pet-session", "cat", "--workspace", &workspace];
        let mut agent = PlainClient::start(&app.home, &cat)?;
        let mut request = format!("{url}/ws?sessionId=cat").into_client_request()?;
        request.headers_mut().insert("Authorization", format!("Bearer {}", token.trim()).parse()?);
        block_on(async {
            let mut pet =
                timeout(PATIENCE, connected(&request)).await.context("the pet channel is closed")?;
            next(&mut pet, "init_status").await?;
            let id = agent.call("exec", json!({ "command": "touch made" }))?;
            let push = next(&mut pet, "tool_approval").await?;
            ensure!(push["data"]["arguments"]["command"] == "touch made", "{push}");
            app.wait_for_card("made")?;
            pet.send(answer(&push, true)).await?;
            let confirmed = next(&mut pet, "tool_approval_response").await?;
            ensure!(confirmed["status"] == "ok", "{confirmed}");
            let brought = agent.answer(id)?;
            ensure!(brought["result"]["isError"] == false, "{brought}");
            ensure!(app.home.work().join("made").exists());

            let id = agent.call("exec", json!({ "command": "touch other" }))?;
            let push = next(&mut pet, "tool_approval").await?;
            pet.send(answer(&push, false)).await?;
            let brought = agent.answer(id)?;
            ensure!(brought["result"]["isError"] == true, "{brought}");
            ensure!(!app.home.work().join("other").exists());
            Ok(())
        })?;
        app.wait_for_pending(0)?;
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedOnce, Outcome::Denied]);
        Ok(())
    })
}

#[test]
fn what_another_programs_pet_server_asks_is_answered_in_the_prompt_and_runs_nothing_here() -> Story {
    let listener = StdListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let home = home(false)?;
    let server = json!({
        "id": "6c0f3c1e-5b1c-4a53-9d0e-6a1f0f6f2a11",
        "name": "Goose",
        "url": format!("ws://127.0.0.1:{port}/ws"),
        "sessionId": "desk",
        "enabled": true,
        "secret": "none",
    });
    let servers = json!({ "version": 1, "servers": [server] }).to_string();
    home.write_private(&home.state().join("pet-servers.json"), servers.as_bytes())?;
    crate::story(Ok(home), Shell::Bare, |app| block_on(serve(app, listener)))
}

async fn serve(app: &App, listener: StdListener) -> Story {
    let listener = TcpListener::from_std(listener)?;
    let ask = |id: &str, command: &str| {
        let data = json!({ "request_id": id, "tool": "exec", "arguments": { "command": command } });
        let push = json!({ "type": "push", "push_type": "tool_approval", "data": data, "timestamp": 1 });
        Message::text(push.to_string())
    };
    let (stream, _) = timeout(PATIENCE, listener.accept()).await.context("nobody came")??;
    let mut peer = accept_async(stream).await?;
    for (id, approved) in [("tool_approval_1", true), ("tool_approval_2", false)] {
        peer.send(ask(id, "touch made")).await?;
        app.wait_for_pending(1)?;
        let card = app.home.pending()?.0.remove(0);
        ensure!((card.kind, card.via) == (QuestionKind::Tool, Via::Pet), "{card:?}");
        app.wait_for_prompt("the prompt shows it", |prompt| {
            prompt.state == "card" && prompt.painted && prompt.card.as_ref() == Some(&card.id)
        })?;
        app.shoot(Window::Prompt, "prompt-pet-server")?;
        if approved {
            app.allow_once()?
        } else {
            app.deny()?
        }
        let answered = next(&mut peer, "tool_approval_response").await?;
        let told = &answered["data"];
        ensure!(told["request_id"] == id && told["approved"] == approved, "{answered}");
        let confirmed = json!({
            "status": "ok",
            "action": "tool_approval_response",
            "data": told,
            "request_id": answered["request_id"],
        });
        peer.send(Message::text(confirmed.to_string())).await?;
        app.wait_for_pending(0)?;
    }
    ensure!(!app.home.work().join("made").exists(), "something ran here");
    Ok(())
}
