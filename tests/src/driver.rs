//! The W3C WebDriver calls that stories need, over plain HTTP on loopback.

use crate::process::{Background, PATIENCE, free_port, wait_for};
use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A running WebKitWebDriver.
#[derive(Debug)]
pub struct Driver {
    port: u16,
    _process: Background,
}

/// One session of a driver. It is ended when dropped, and the app with it.
#[derive(Debug)]
pub struct Browser {
    port: u16,
    id: String,
    clicks: AtomicU32,
}

/// A key or a button, pressed or released, or a pointer movement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Key {
    /// A character key.
    Char(char),
    /// Control.
    Control,
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// Shift.
    Shift,
    /// Tabulator.
    Tab,
    /// End.
    End,
}

impl Key {
    /// The code point that WebDriver gives the key.
    fn value(self) -> String {
        match self {
            Self::Char(char) => char,
            Self::Control => '\u{E009}',
            Self::Enter => '\u{E007}',
            Self::Escape => '\u{E00C}',
            Self::Shift => '\u{E008}',
            Self::Tab => '\u{E004}',
            Self::End => '\u{E010}',
        }
        .to_string()
    }
}

impl Driver {
    /// Starts a driver. `enter` puts it, and so the app that it starts, into a home and a session.
    pub fn start(enter: impl FnOnce(&mut Command)) -> Result<Self> {
        let port = free_port()?;
        let mut server = crate::process::command("WebKitWebDriver");
        enter(&mut server);
        server.arg(format!("--port={port}")).env("TAURI_WEBVIEW_AUTOMATION", "true");
        let mut process = Background::start(&mut server)?;
        wait_for("the driver listens", PATIENCE, || {
            anyhow::ensure!(process.ended()?.is_none(), "the driver ended early");
            Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok().map(|_| ()))
        })?;
        Ok(Self { port, _process: process })
    }

    /// Its port, for [`Browser::open`].
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Browser {
    /// Starts the app and a session. Blocks until the app shows its first web view.
    pub fn open(port: u16, binary: &str, arguments: &[&str]) -> Result<Self> {
        let options = json!({ "binary": binary, "args": arguments });
        let body = json!({ "capabilities": { "alwaysMatch": { "webkitgtk:browserOptions": options } } });
        let session = call(port, "POST", "/session", Some(&body))?;
        let id = session["sessionId"].as_str().context("the driver named no session")?.to_owned();
        Ok(Self { port, id, clicks: AtomicU32::new(0) })
    }

    /// Handles of the windows that there are.
    pub fn handles(&self) -> Result<Vec<String>> {
        Ok(serde_json::from_value(self.get("window/handles")?)?)
    }

    /// Makes a window the one that everything else is about.
    pub fn switch(&self, handle: &str) -> Result<()> {
        self.post("window", &json!({ "handle": handle })).map(|_| ())
    }

    /// Address of the page.
    pub fn url(&self) -> Result<String> {
        Ok(self.get("url")?.as_str().unwrap_or_default().to_owned())
    }

    /// Runs the body of a function in the page and returns what it returns.
    pub fn run<T: DeserializeOwned>(&self, script: &str, arguments: Value) -> Result<T> {
        let value = self.post("execute/sync", &json!({ "script": script, "args": arguments }))?;
        serde_json::from_value(value.clone()).with_context(|| format!("the page returned {value}"))
    }

    /// The same for a body that calls the function in its last argument with its result.
    pub fn run_async(&self, script: &str, arguments: Value) -> Result<Value> {
        self.post("execute/async", &json!({ "script": script, "args": arguments }))
    }

    /// Moves the pointer onto the middle of the element and presses and releases its first button there.
    /// False when the element, or its window, went away meanwhile.
    pub fn click(&self, selector: &str) -> Result<bool> {
        let clicked = self.pointer(selector, &[PRESS, RELEASE])?;
        self.clicks.fetch_add(u32::from(clicked), Ordering::Relaxed);
        Ok(clicked)
    }

    /// Single clicks so far: what a person does, however long the machine takes for the rest.
    pub fn clicks(&self) -> u32 {
        self.clicks.load(Ordering::Relaxed)
    }

    /// Two clicks in a row, as fast as a person's double click.
    pub fn double_click(&self, selector: &str) -> Result<bool> {
        self.pointer(selector, &[PRESS, RELEASE, PRESS, RELEASE])
    }

    /// Moves the pointer onto the middle of the element.
    pub fn hover(&self, selector: &str) -> Result<bool> {
        self.pointer(selector, &[])
    }

    fn pointer(&self, selector: &str, buttons: &[&str]) -> Result<bool> {
        let done = wait_for(&format!("{selector} can be pointed at"), PATIENCE, || {
            let place: Value = self.run(POINT_AT, json!([selector]))?;
            if place.is_null() {
                return Ok(None);
            }
            if place == json!(false) {
                return Ok(Some(false));
            }
            let mut actions = vec![json!({
                "type": "pointerMove", "duration": 0, "x": place["x"], "y": place["y"], "origin": "viewport",
            })];
            actions.extend(buttons.iter().map(|kind| json!({ "type": kind, "button": 0 })));
            match self.act(&json!({ "type": "pointer", "id": "mouse", "actions": actions })) {
                // The window got smaller meanwhile. Nothing was pressed: the pointer moves first.
                Err(error) if error.root_cause().to_string().starts_with(OUT_OF_BOUNDS) => Ok(None),
                done => done.map(Some),
            }
        });
        match done {
            Err(error) if is_absence(error.root_cause()) => Ok(false),
            done => done,
        }
    }

    /// Presses these keys in order, holding each until the last is down, then releases them. False when the
    /// window went away meanwhile.
    pub fn press(&self, keys: &[Key]) -> Result<bool> {
        let down = keys.iter().map(|key| json!({ "type": "keyDown", "value": key.value() }));
        let up = keys.iter().rev().map(|key| json!({ "type": "keyUp", "value": key.value() }));
        let actions: Vec<Value> = down.chain(up).collect();
        self.act(&json!({ "type": "key", "id": "keyboard", "actions": actions }))
    }

    /// Turns the wheel over the element by so many pixels.
    pub fn wheel(&self, selector: &str, pixels: i32) -> Result<bool> {
        let element = self.post("element", &json!({ "using": "css selector", "value": selector }))?;
        let scroll = json!({
            "type": "scroll", "x": 0, "y": 0, "deltaX": 0, "deltaY": pixels, "duration": 0, "origin": element,
        });
        self.act(&json!({ "type": "wheel", "id": "wheel", "actions": [scroll] }))
    }

    fn act(&self, source: &Value) -> Result<bool> {
        match self.post("actions", &json!({ "actions": [source] })) {
            Ok(_) => Ok(true),
            Err(error) if is_absence(error.root_cause()) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives the window this size of its outside, in pixels.
    pub fn resize(&self, width: u32, height: u32) -> Result<()> {
        self.post("window/rect", &json!({ "width": width, "height": height })).map(|_| ())
    }

    /// What the page shows, as base64 of a PNG, after two more frames: a picture taken at once shows
    /// the frame before.
    pub fn screenshot(&self) -> Result<String> {
        let frames =
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)))";
        self.run_async(frames, json!([]))?;
        // The driver waits for a picture that is painted after it was asked, and a page at rest paints none.
        let paint = "let left = 100;
            const timer = setInterval(() => {
                document.body.style.outline = left % 2 ? '' : '1px solid transparent';
                if (--left === 0) clearInterval(timer);
            }, 50)";
        self.run::<Value>(paint, json!([]))?;
        Ok(self.get("screenshot")?.as_str().context("no picture")?.to_owned())
    }

    fn get(&self, what: &str) -> Result<Value> {
        call(self.port, "GET", &format!("/session/{}/{what}", self.id), None)
    }

    fn post(&self, what: &str, body: &Value) -> Result<Value> {
        call(self.port, "POST", &format!("/session/{}/{what}", self.id), Some(body))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A session that is gone already is what was wanted.
        call(self.port, "DELETE", &format!("/session/{}", self.id), None).ok();
    }
}

/// What the driver calls a place outside of the page.
const OUT_OF_BOUNDS: &str = "move target out of bounds:";

/// Whether what was looked for is not there (any more): pages and windows of a prompt come and go.
pub fn is_absence(error: &(dyn std::error::Error + 'static)) -> bool {
    let text = error.to_string();
    ["no such element", "stale element reference", "no such window"]
        .iter()
        .any(|code| text.starts_with(&format!("{code}:")))
}

/// One exchange. A WebDriver error becomes an error whose text starts with its code.
fn call(port: u16, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
    let body = body.map_or_else(String::new, Value::to_string);
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let answer =
        read_body(stream).with_context(|| format!("the driver did not answer {method} {path} {body}"))?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let value = answer.get("value").cloned().unwrap_or_default();
    if let Some(code) = value.get("error").and_then(Value::as_str) {
        bail!("{code}: {}", value["message"].as_str().unwrap_or_default());
    }
    Ok(value)
}

/// The body of a response that carries its length, as every WebDriver response does.
fn read_body(stream: impl Read) -> Result<Vec<u8>> {
    let mut reader = BufReader::new(stream.take(RESPONSE_BYTES));
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            bail!("the driver closed the connection inside its headers");
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse::<usize>()?);
        }
    }
    let mut body = vec![0; length.context("the driver named no length")?];
    reader.read_exact(&mut body)?;
    Ok(body)
}

/// Where to point at an element: false when there is none, `null` while something lies over it or it moves.
/// What is only half in view is scrolled into it, as a person does; what is in view stays where it is.
const POINT_AT: &str = r#"
    const element = document.querySelector(arguments[0]);
    if (!element) return false;
    element.scrollIntoView({ block: 'nearest' });
    const { left, top, width, height } = element.getBoundingClientRect();
    const [x, y] = [Math.round(left + width / 2), Math.round(top + height / 2)];
    const hit = document.elementFromPoint(x, y);
    return hit && element.contains(hit) ? { x, y } : null;
"#;

const PRESS: &str = "pointerDown";
const RELEASE: &str = "pointerUp";

/// Longest wait for one answer. The first one takes as long as the app needs to show a window
/// on a busy machine.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Longest response, in bytes: far above a page's text, far below this machine's memory.
const RESPONSE_BYTES: u64 = 64 * 1024 * 1024;
