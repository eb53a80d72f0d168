//! The few W3C WebDriver calls that driving one window takes, over plain HTTP on loopback.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// A driver that listens on loopback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver {
    port: u16,
}

/// One browser session of a driver. It is ended when dropped.
#[derive(Debug)]
pub(crate) struct Browser {
    driver: Driver,
    id: String,
}

/// A reference to an element, valid while its page is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Element(Value);

/// What came of a click.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Clicked {
    /// The window is still there.
    WindowStays,
    /// The window went away under the click, as a prompt does when it is answered.
    WindowGone,
}

impl Driver {
    /// The driver at a port.
    pub(crate) const fn at(port: u16) -> Self {
        Self { port }
    }

    /// Whether it accepts connections yet.
    pub(crate) fn listens(self) -> bool {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
    }

    /// Start a session. Blocks until the program it starts shows its first web view.
    pub(crate) fn open(self, capabilities: &Value) -> Result<Browser> {
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let session = self.call("POST", "/session", Some(&body))?;
        let id = session["sessionId"].as_str().context("the driver named no session")?.to_owned();
        Ok(Browser { driver: self, id })
    }

    /// One exchange. A WebDriver error becomes an error whose text starts with its code.
    fn call(self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let body = body.map_or_else(String::new, Value::to_string);
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let body = read_body(stream).with_context(|| format!("no answer to {method} {path}"))?;
        let answer: Value = serde_json::from_slice(&body)?;
        let value = answer.get("value").cloned().unwrap_or_default();
        if let Some(code) = value.get("error").and_then(Value::as_str) {
            bail!("{code}: {}", value["message"].as_str().unwrap_or_default());
        }
        Ok(value)
    }
}

impl Browser {
    /// Make the window with this element the current one; `None` when no window has it yet.
    pub(crate) fn find_in_any_window(&self, selector: &str) -> Result<Option<Element>> {
        for handle in self.get("window/handles")?.as_array().into_iter().flatten() {
            let found = self
                .post("window", &json!({ "handle": handle }))
                .and_then(|_| self.post("element", &json!({ "using": "css selector", "value": selector })));
            match found {
                Ok(element) => return Ok(Some(Element(element))),
                Err(error) if is_absence(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The text that the element shows; `None` when it is gone.
    pub(crate) fn text(&self, element: &Element) -> Result<Option<String>> {
        let id = element.0.as_object().and_then(|map| map.values().next()).and_then(Value::as_str);
        match self.get(&format!("element/{}/text", id.context("the driver named no element")?)) {
            Ok(text) => Ok(text.as_str().map(str::to_owned)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Move the pointer to the element, press and release.
    pub(crate) fn click(&self, element: &Element) -> Result<Clicked> {
        let actions = json!([
            { "type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": element.0 },
            { "type": "pointerDown", "button": 0 },
            { "type": "pointerUp", "button": 0 },
        ]);
        let pointer = json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": actions }] });
        match self.post("actions", &pointer) {
            Ok(_) => Ok(Clicked::WindowStays),
            Err(error) if has_code(&error, "no such window") => Ok(Clicked::WindowGone),
            Err(error) => Err(error),
        }
    }

    fn get(&self, what: &str) -> Result<Value> {
        self.driver.call("GET", &format!("/session/{}/{what}", self.id), None)
    }

    fn post(&self, what: &str, body: &Value) -> Result<Value> {
        self.driver.call("POST", &format!("/session/{}/{what}", self.id), Some(body))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver itself is ended next; a session that is gone already is what was wanted.
        self.driver.call("DELETE", &format!("/session/{}", self.id), None).ok();
    }
}

/// Whether what was looked for is not there (any more): pages and windows of a prompt come and go.
fn is_absence(error: &anyhow::Error) -> bool {
    ["no such element", "stale element reference", "no such window"].iter().any(|code| has_code(error, code))
}

fn has_code(error: &anyhow::Error, code: &str) -> bool {
    error.to_string().starts_with(&format!("{code}:"))
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

/// Longest wait for one answer. The first one takes as long as the app needs to show a window
/// on a busy machine.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Longest response, in bytes: far above a page's text, far below this machine's memory.
const RESPONSE_BYTES: u64 = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_to_its_stated_length() {
        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"value\":null}";
        assert_eq!(read_body(&response[..]).unwrap(), b"{\"value\":null}");
    }

    #[test]
    fn a_response_cut_short_is_an_error() {
        assert!(read_body(&b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"val"[..]).is_err());
        assert!(read_body(&b"HTTP/1.1 200 OK\r\n"[..]).is_err());
        assert!(read_body(&b"HTTP/1.1 200 OK\r\n\r\n{}"[..]).is_err());
    }

    #[test]
    fn only_the_named_errors_mean_that_something_is_absent() {
        assert!(is_absence(&anyhow::anyhow!("no such window: gone")));
        assert!(!is_absence(&anyhow::anyhow!("unknown error: no such window")));
    }
}
