//! A scripted model: a server that speaks as much of the OpenAI chat protocol as a release's agents need, and
//! thinks nothing. A message with a scripted word is answered with a call of the `exec` tool, everything
//! else with a text.

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The server. It is ended when dropped.
#[derive(Debug)]
pub struct Model {
    port: u16,
    script: Arc<Mutex<Script>>,
    _runtime: Runtime,
}

#[derive(Debug, Default)]
struct Script {
    /// Words and the arguments of the tool call that each one leads to.
    calls: Vec<(String, Value)>,
    /// The messages of each question, oldest question first.
    heard: VecDeque<Vec<Value>>,
}

impl Model {
    /// Starts one on a free port of loopback.
    pub fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let script = Arc::<Mutex<Script>>::default();
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let port = listener.local_addr()?.port();
        let router =
            Router::new().route("/v1/chat/completions", post(answer)).with_state(Arc::clone(&script));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { port, script, _runtime: runtime })
    }

    /// Its base address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// From now on a message with this word makes the agent call the `exec` tool with these arguments, as far
    /// as the tool that it is offered has them: releases name some of them differently.
    pub fn script(&self, word: &str, arguments: Value) {
        lock(&self.script).calls.push((word.to_owned(), arguments));
    }

    /// Everything that agents said after a message with this word, in all questions since: what tools came
    /// to, and what the gateway told them.
    pub fn heard_after(&self, word: &str) -> Vec<String> {
        let script = lock(&self.script);
        let mut texts: Vec<String> = Vec::new();
        for messages in &script.heard {
            let Some(at) = messages.iter().position(|message| text(message).contains(word)) else { continue };
            for message in &messages[at..] {
                let text = text(message);
                if message["role"] != "assistant" && !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        texts
    }
}

/// The messages of one question and the answer to it.
async fn answer(State(script): State<Arc<Mutex<Script>>>, body: Bytes) -> Response {
    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
    let messages = question["messages"].as_array().cloned().unwrap_or_default();
    let (delta, reason) = lock(&script).next(messages, &parameters(&question));
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let frame = |object: &str, choice: Value| {
        json!({
            "id": "scripted", "object": object, "created": 0, "model": "scripted", "choices": [choice],
            "usage": usage,
        })
    };
    if question["stream"] != true {
        let choice = json!({ "index": 0, "message": delta, "finish_reason": reason });
        let answer = frame("chat.completion", choice).to_string();
        return ([(CONTENT_TYPE, "application/json")], answer).into_response();
    }
    let first = json!({ "index": 0, "delta": delta, "finish_reason": null });
    let last = json!({ "index": 0, "delta": {}, "finish_reason": reason });
    let mut stream = String::new();
    for choice in [first, last] {
        stream.push_str(&format!("data: {}\n\n", frame("chat.completion.chunk", choice)));
    }
    stream.push_str("data: [DONE]\n\n");
    ([(CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

impl Script {
    /// What comes after these messages, and why it ends there.
    fn next(&mut self, messages: Vec<Value>, known: &[String]) -> (Value, &'static str) {
        let scripted = |message: &Value| {
            let text = text(message);
            self.calls.iter().rev().find(|(word, _)| message["role"] == "user" && text.contains(word))
        };
        let last = messages.iter().enumerate().rev().find_map(|(at, message)| Some((at, scripted(message)?)));
        let answer = match last {
            Some((at, (word, arguments)))
                if !messages[at..].iter().any(|message| message["role"] == "tool") =>
            {
                let mut arguments = arguments.clone();
                if let Some(arguments) = arguments.as_object_mut() {
                    arguments.retain(|name, _| known.is_empty() || known.contains(name));
                }
                let call = json!({
                    "index": 0, "id": format!("call-{word}-{}", self.heard.len()), "type": "function",
                    "function": { "name": "exec", "arguments": arguments.to_string() },
                });
                (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
            }
            _ => (json!({ "role": "assistant", "content": "Understood." }), "stop"),
        };
        if self.heard.len() == QUESTIONS_KEPT {
            self.heard.pop_front();
        }
        self.heard.push_back(messages);
        answer
    }
}

/// The parameters of the `exec` tool that a question offers; none when it offers no such tool.
fn parameters(question: &Value) -> Vec<String> {
    let tools = question["tools"].as_array().into_iter().flatten();
    let exec = tools.map(|tool| &tool["function"]).find(|function| function["name"] == "exec");
    let properties = exec.and_then(|exec| exec["parameters"]["properties"].as_object());
    properties.into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// The text of a message, whose content is one text or a list of parts.
fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Questions that are kept for a story to look at: far more than one asks.
const QUESTIONS_KEPT: usize = 1_000;
