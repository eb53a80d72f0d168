//! A scripted model: a server on loopback that speaks as much of each vendor's interface as the agents need,
//! and thinks nothing.
//!
//! A prompt holds a marker, and the marker names a script: calls of tools, one answer after the other.
//! Whatever has no script is answered with a text, since agents also ask for titles, summaries and the like
//! beside the conversation.

mod anthropic;
mod chat;
mod google;
mod responses;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// The server. It is ended when dropped.
#[derive(Debug)]
pub(crate) struct Model {
    port: u16,
    state: Arc<Mutex<Memory>>,
    held: watch::Sender<Option<usize>>,
    _runtime: Runtime,
}

/// What the server's tasks share.
#[derive(Clone)]
struct Shared {
    state: Arc<Mutex<Memory>>,
    held: watch::Receiver<Option<usize>>,
}

/// One call of a tool, as the model makes it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The group that the agent lists the tool in, where it has such groups.
    pub(crate) namespace: Option<&'static str>,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    /// Whether the arguments are a plain text, for tools that take no JSON.
    pub(crate) is_plain: bool,
}

impl Call {
    pub(crate) fn new(tool: &str, arguments: Value) -> Self {
        Self { namespace: None, tool: tool.to_owned(), arguments, is_plain: false }
    }
}

/// What an agent sent, whoever's interface it speaks.
#[derive(Debug, Default)]
struct Question {
    said: Vec<Said>,
    /// Names of the tools that the model may call.
    tools: Vec<String>,
}

/// One part of a conversation that the model did not say itself.
#[derive(Debug)]
enum Said {
    Person(String),
    Tool(String),
}

/// What the model says to it.
#[derive(Debug)]
enum Answer {
    Calls(Vec<(String, Call)>),
    Text(&'static str),
}

/// The conversation of one marker.
#[derive(Debug)]
struct Script {
    marker: String,
    turns: Vec<Vec<Call>>,
    /// What tools came to, in the order in which the model was told.
    heard: Vec<String>,
    /// Names of the tools that were offered last.
    tools: Vec<String>,
    /// How many questions there were.
    questions: usize,
}

#[derive(Debug, Default)]
struct Memory {
    scripts: Vec<Script>,
    calls: usize,
    /// Requests that nobody here understands, for whoever looks at a story that failed.
    strange: Vec<String>,
}

impl Model {
    /// Starts one on a free port of loopback.
    pub(crate) fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let state = Arc::<Mutex<Memory>>::default();
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let port = listener.local_addr()?.port();
        let (held, is_held) = watch::channel(None);
        let shared = Shared { state: Arc::clone(&state), held: is_held };
        let router = Router::new().fallback(answer).with_state(shared);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { port, state, held, _runtime: runtime })
    }

    /// Its base address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From now on a prompt with the marker that is returned leads to these calls, those of one turn at once.
    pub(crate) fn script(&self, turns: Vec<Vec<Call>>) -> String {
        let mut memory = lock(&self.state);
        let marker = format!("[[task {}]]", memory.scripts.len() + 1);
        let script =
            Script { marker: marker.clone(), turns, heard: Vec::new(), tools: Vec::new(), questions: 0 };
        memory.scripts.push(script);
        marker
    }

    /// Once it was told what so many calls came to, it says nothing until it is let go on.
    pub(crate) fn hold_after(&self, results: usize) {
        self.held.send_replace(Some(results));
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        self.held.send_replace(None);
    }

    /// What tools came to after this marker, as the model was told it.
    pub(crate) fn heard(&self, marker: &str) -> String {
        self.of(marker, |script| script.heard.join("\n"))
    }

    /// Waits until the model was told what so many calls came to.
    pub(crate) fn wait_until_heard(&self, marker: &str, results: usize) -> Result<String> {
        wait_for(&format!("the model hears of {results} calls"), PATIENCE, || {
            Ok(self.of(marker, |script| (script.heard.len() >= results).then(|| script.heard.join("\n"))))
        })
    }

    /// Names of the tools that were offered with this marker.
    pub(crate) fn tools(&self, marker: &str) -> Vec<String> {
        self.of(marker, |script| script.tools.clone())
    }

    /// What is worth knowing about a story that failed.
    pub(crate) fn log(&self) -> String {
        let memory = lock(&self.state);
        let scripts = memory.scripts.iter().map(|script| {
            let Script { marker, questions, heard, tools, .. } = script;
            format!("{marker}: {questions} questions, tools {tools:?}, heard {heard:#?}")
        });
        let strange = memory.strange.iter().map(|path| format!("not understood: {path}"));
        scripts.chain(strange).collect::<Vec<_>>().join("\n")
    }

    fn of<T: Default>(&self, marker: &str, read: impl FnOnce(&Script) -> T) -> T {
        lock(&self.state).scripts.iter().find(|script| script.marker == marker).map(read).unwrap_or_default()
    }
}

impl Memory {
    /// What comes next in the conversation, and what it told so far is remembered.
    fn next(&mut self, question: &Question) -> Answer {
        let newest = question.said.iter().enumerate().rev().find_map(|(at, said)| {
            let Said::Person(text) = said else { return None };
            Some((at, self.scripts.iter().position(|script| text.contains(&script.marker))?))
        });
        let Some((at, script)) = newest else { return Answer::Text(DONE) };
        let heard: Vec<_> = question.said[at..].iter().filter_map(Said::result).collect();
        // Questions for a title or the like offer no tools, and are none of the conversation.
        if question.tools.is_empty() {
            return Answer::Text(DONE);
        }
        let script = &mut self.scripts[script];
        script.questions += 1;
        script.tools.clone_from(&question.tools);
        let mut before = 0;
        let turn = script.turns.iter().find(|turn| {
            let is_next = before == heard.len();
            before += turn.len();
            is_next
        });
        let last = heard.last().and_then(|text| agent_in(text));
        if heard.len() >= script.heard.len() {
            script.heard = heard;
        }
        let Some(turn) = turn.cloned() else { return Answer::Text(DONE) };
        let calls = turn.into_iter().map(|mut call| {
            self.calls += 1;
            if let Some(id) = &last {
                name_agent(&mut call.arguments, id);
            }
            (format!("call_{}", self.calls), call)
        });
        Answer::Calls(calls.collect())
    }
}

impl Memory {
    fn most_heard(&self) -> usize {
        self.scripts.iter().map(|script| script.heard.len()).max().unwrap_or_default()
    }
}

impl Said {
    fn result(&self) -> Option<String> {
        match self {
            Self::Person(_) => None,
            Self::Tool(text) => Some(text.clone()),
        }
    }
}

/// The id of an agent below, as a tool that starts one tells it.
fn agent_in(heard: &str) -> Option<String> {
    let told: Value = serde_json::from_str(heard).ok()?;
    told["agent_id"].as_str().map(str::to_owned)
}

fn name_agent(arguments: &mut Value, id: &str) {
    match arguments {
        Value::String(text) if text == LAST_AGENT => id.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| name_agent(item, id)),
        Value::Object(members) => members.values_mut().for_each(|member| name_agent(member, id)),
        _ => {}
    }
}

async fn answer(State(shared): State<Shared>, uri: Uri, body: Bytes) -> Response {
    let response = think(&shared.state, uri.path(), &body);
    let mut held = shared.held;
    // Nobody holds it any more when the model is gone.
    held.wait_for(|held| held.is_none_or(|results| lock(&shared.state).most_heard() < results)).await.ok();
    response
}

fn think(state: &Mutex<Memory>, path: &str, body: &Bytes) -> Response {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let reply = |read: fn(&Value) -> Question| lock(state).next(&read(&body));
    if path.ends_with("/count_tokens") {
        return axum_json(&json!({ "input_tokens": 10 }));
    }
    if path.ends_with(":countTokens") {
        return axum_json(&json!({ "totalTokens": 10 }));
    }
    if path.ends_with("/messages") {
        return stream(anthropic::events(&reply(anthropic::question)));
    }
    if path.ends_with("/responses") {
        return stream(responses::events(&reply(responses::question)));
    }
    if path.ends_with(":streamGenerateContent") {
        return stream(google::events(&reply(google::question)));
    }
    if path.ends_with(":generateContent") {
        return axum_json(&google::document(&reply(google::question)));
    }
    if path.ends_with("/chat/completions") {
        let answer = reply(chat::question);
        return if body["stream"] == true {
            stream(chat::events(&answer))
        } else {
            axum_json(&chat::document(&answer))
        };
    }
    lock(state).strange.push(path.to_owned());
    StatusCode::NOT_FOUND.into_response()
}

/// A stream of events: each with its type in front, where it has one.
fn stream(events: Vec<Value>) -> Response {
    let mut text = String::new();
    for event in events {
        if let Some(kind) = event["type"].as_str() {
            text.push_str(&format!("event: {kind}\n"));
        }
        text.push_str(&format!("data: {event}\n\n"));
    }
    ([(CONTENT_TYPE, "text/event-stream")], Body::from(text)).into_response()
}

fn axum_json(document: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

/// The text of a content, which is one text or a list of parts, or parts below parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => match (part.get("text"), part.get("content")) {
            (Some(Value::String(text)), _) => text.clone(),
            (_, Some(content)) => text(content),
            _ => content.to_string(),
        },
        _ => String::new(),
    }
}

fn names<'a>(tools: &'a Value, name: impl Fn(&'a Value) -> &'a Value) -> Vec<String> {
    let tools = tools.as_array().into_iter().flatten();
    tools.filter_map(|tool| name(tool).as_str().map(str::to_owned)).collect()
}

/// The arguments as the text that most interfaces carry them in.
fn arguments(call: &Call) -> Result<String> {
    if call.is_plain {
        return call.arguments.as_str().map(str::to_owned).context("a plain text");
    }
    Ok(call.arguments.to_string())
}

fn lock(state: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the model says when there is nothing to do.
const DONE: &str = "Understood.";

/// Stands in arguments for the agent that was started last.
pub(crate) const LAST_AGENT: &str = "{last agent}";
