//! What an agent says on standard input: one JSON document, bounded in size and time, whose members are
//! checked. What is not known is ignored, since agents add members from release to release; what is known has
//! to be of its type.

use super::Event;
use countersign_core::json;
use countersign_protocol::limits::CONTROL_LINE_BYTES;
use countersign_protocol::tools::SubAgent;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::net::{RecvFlags, recv};
use serde_json::{Map, Value};
use std::io::{self, IoSliceMut};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// A document that came.
#[derive(Debug)]
pub(crate) struct Document {
    members: Map<String, Value>,
}

/// A call as an agent describes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Called {
    /// When the agent says it.
    pub(crate) event: Event,
    /// The tool, as the agent names it.
    pub(crate) tool: String,
    /// Its parameters.
    pub(crate) params: Map<String, Value>,
    /// Absolute folder that the agent works in.
    pub(crate) workspace: String,
    /// The agent's session.
    pub(crate) session: Option<String>,
    /// The agent, where the document names one.
    pub(crate) agent: Option<String>,
    /// The agent that calls, where it works for another one.
    pub(crate) sub_agent: Option<SubAgent>,
    /// The model, where the document names one.
    pub(crate) model: Option<String>,
    /// The agent's id of the call, where it is to hear it again.
    pub(crate) id: Option<String>,
    /// The same as it stands in what the agent says.
    pub(crate) own_id: Option<String>,
    /// Whether the tool is not the agent's own, so that its name says nothing of what it does.
    pub(crate) foreign: bool,
}

/// Why nothing can be said about a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum BadInput {
    /// Nothing came.
    #[error("expected a JSON object on standard input, got nothing")]
    Empty,
    /// No JSON, or more than one document.
    #[error("expected a JSON object on standard input: {0}")]
    NotJson(#[source] serde_json::Error),
    /// JSON, and no object.
    #[error("expected a JSON object on standard input, got {got}")]
    NoObject {
        /// What came.
        got: &'static str,
    },
    /// A member is missing, or is not what it has to be.
    #[error("{member}: expected {expected}, got {got}")]
    Member {
        /// Its name.
        member: &'static str,
        /// What it has to be.
        expected: &'static str,
        /// What it is.
        got: String,
    },
    /// It does not end.
    #[error("expected standard input to end within {} s", .0.as_secs_f32())]
    Slow(Duration),
    /// More than could be asked about.
    #[error("expected at most {INPUT_BYTES} bytes on standard input, got more")]
    TooLong,
    /// The system refused.
    #[error("standard input cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// Reads standard input to its end, for at most `wait`.
pub(crate) fn of_stdin(wait: Duration) -> Result<Vec<u8>, BadInput> {
    read(&io::stdin(), wait)
}

/// Waits in this thread, where nothing else is to be done yet: starting another one takes about as long
/// as asking the app.
fn read(input: &impl AsFd, wait: Duration) -> Result<Vec<u8>, BadInput> {
    let until = Instant::now() + wait;
    let (mut bytes, mut piece) = (Vec::new(), [0; 8 * 1024]);
    while bytes.len() <= INPUT_BYTES {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| BadInput::Slow(wait))?;
        let read = match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&left)) {
            Ok(0) => return Err(BadInput::Slow(wait)),
            Ok(_) => read_now(input, &mut piece),
            Err(error) => Err(error),
        };
        match read {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    Err(BadInput::TooLong)
}

/// Reads what is there. Whoever else reads the same pipe may have been quicker, and the wait for
/// more has an end.
fn read_now(input: &impl AsFd, piece: &mut [u8]) -> Result<usize, Errno> {
    match FileType::from_raw_mode(fstat(input)?.st_mode) {
        FileType::Socket => recv(input, piece, RecvFlags::DONTWAIT).map(|(_, read)| read),
        FileType::Fifo => {
            let current = u64::MAX;
            match preadv2(input, &mut [IoSliceMut::new(piece)], current, ReadWriteFlags::NOWAIT) {
                // A kernel from before 6.4.
                Err(Errno::OPNOTSUPP) => rustix::io::read(input, piece),
                read => read,
            }
        }
        _ => rustix::io::read(input, piece),
    }
}

impl Document {
    /// What one consists of.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, BadInput> {
        if bytes.trim_ascii().is_empty() {
            return Err(BadInput::Empty);
        }
        match serde_json::from_slice(bytes).map_err(BadInput::NotJson)? {
            Value::Object(members) => Ok(Self { members }),
            other => Err(BadInput::NoObject { got: json::kind(&other) }),
        }
    }

    /// Which of an agent's events it is about, if any.
    pub(super) fn event(&self, events: &[(&str, Event)]) -> Option<Event> {
        let name = self.either("hook_event_name", "hookEventName").ok()?;
        events.iter().find(|(known, _)| *known == name).map(|(_, event)| *event)
    }

    /// The call, in the members that agents share. `events` are the names that an
    /// agent's events have.
    pub(super) fn call(
        &self,
        event_names: &'static str,
        events: &[(&str, Event)],
    ) -> Result<Called, BadInput> {
        let event = self.event(events).ok_or_else(|| self.unfit("hook_event_name", event_names))?;
        Ok(Called {
            event,
            tool: self.text("tool_name")?.to_owned(),
            params: self.object("tool_input")?.clone(),
            workspace: self.folder("cwd")?.to_owned(),
            session: Some(self.either("session_id", "sessionId")?.to_owned()),
            agent: None,
            sub_agent: self.sub_agent(),
            model: None,
            id: None,
            own_id: self.optional_text("tool_use_id")?.map(str::to_owned),
            foreign: false,
        })
    }

    /// A member that has to be there under one of two names.
    fn either(&self, member: &'static str, other: &'static str) -> Result<&str, BadInput> {
        match self.optional_text(other) {
            Ok(Some(text)) if !self.has(member) => Ok(text),
            _ => self.text(member),
        }
    }

    /// A member that has to be there.
    pub(super) fn text(&self, member: &'static str) -> Result<&str, BadInput> {
        self.optional_text(member)?.ok_or_else(|| self.unfit(member, TEXT))
    }

    /// A member that may be absent or null.
    pub(super) fn optional_text(&self, member: &'static str) -> Result<Option<&str>, BadInput> {
        match self.members.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(_) => Err(self.unfit(member, TEXT)),
        }
    }

    /// Who really calls. Nothing depends on it, so what it is not is no reason to refuse a call.
    fn sub_agent(&self) -> Option<SubAgent> {
        let said = |member| self.optional_text(member).ok().flatten().map(str::to_owned);
        // The kind alone is also said of an agent that nobody made for anything.
        Some(SubAgent { id: said("agent_id")?, kind: said("agent_type") })
    }

    /// A member that has to be an object.
    pub(super) fn object(&self, member: &'static str) -> Result<&Map<String, Value>, BadInput> {
        self.members.get(member).and_then(Value::as_object).ok_or_else(|| self.unfit(member, "an object"))
    }

    /// Whether a member is there and says anything.
    pub(super) fn has(&self, member: &str) -> bool {
        self.members.get(member).is_some_and(|value| !value.is_null())
    }

    fn folder(&self, member: &'static str) -> Result<&str, BadInput> {
        self.optional_folder(member)?.ok_or_else(|| self.unfit(member, FOLDER))
    }

    /// A member that may be absent or null, and is an absolute path else.
    pub(super) fn optional_folder(&self, member: &'static str) -> Result<Option<&str>, BadInput> {
        match self.optional_text(member) {
            Ok(Some(path)) if !Path::new(path).is_absolute() => Err(self.unfit(member, FOLDER)),
            Err(_) => Err(self.unfit(member, FOLDER)),
            found => found,
        }
    }

    fn unfit(&self, member: &'static str, expected: &'static str) -> BadInput {
        let got = match self.members.get(member) {
            Some(Value::String(text)) => format!("{:?}", text.chars().take(SHOWN_CHARS).collect::<String>()),
            Some(other) => json::kind(other).to_owned(),
            None => "nothing".to_owned(),
        };
        BadInput::Member { member, expected, got }
    }
}

const TEXT: &str = "a text";
const FOLDER: &str = "an absolute path";

/// Longest document, in bytes: the call has to fit into a line of the control channel, and is
/// about as long there.
const INPUT_BYTES: usize = CONTROL_LINE_BYTES;

/// Characters of a text that a complaint about it repeats.
const SHOWN_CHARS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    fn complaint(text: &str) -> String {
        let parsed = Document::parse(text.as_bytes());
        parsed
            .and_then(|document| document.call("PreToolUse", &[("PreToolUse", Event::BeforeTool)]))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_no_object_is_named() {
        for (text, expected) in [
            ("", "got nothing"),
            (" \n", "got nothing"),
            ("null", "got nothing"),
            ("[]", "got a list"),
            ("\"{}\"", "got a text"),
            ("7", "got a number"),
            ("{", "EOF while parsing"),
            ("{}{}", "trailing characters"),
            ("\u{feff}{}", "expected value"),
            ("plain words", "expected value"),
        ] {
            let complaint = complaint(text);
            assert!(
                complaint.starts_with("expected a JSON object on standard input"),
                "{text:?}: {complaint}"
            );
            assert!(complaint.contains(expected), "{text:?}: {complaint}");
        }
        assert!(Document::parse(&[0xff, 0xfe]).is_err());
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(complaint(&deep).contains("recursion limit"));
    }

    #[test]
    fn every_member_has_to_be_there_and_of_its_type() {
        let whole = serde_json::json!({
            "session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {},
            "something_new": [1],
        });
        let parse = |value: &Value| {
            Document::parse(value.to_string().as_bytes())
                .unwrap()
                .call("PreToolUse", &[("PreToolUse", Event::BeforeTool)])
        };
        let called = parse(&whole).unwrap();
        assert_eq!((called.tool.as_str(), called.session.as_deref()), ("Bash", Some("s")));
        assert_eq!(called.sub_agent, None);
        for (id, kind, expected) in [
            (serde_json::json!("a2"), serde_json::json!("explorer"), Some(("a2", Some("explorer")))),
            (serde_json::json!("a2"), serde_json::json!(7), Some(("a2", None))),
            (serde_json::json!(""), serde_json::json!("explorer"), None),
            (serde_json::json!(null), serde_json::json!("explorer"), None),
        ] {
            let mut by = whole.clone();
            (by["agent_id"], by["agent_type"]) = (id, kind);
            let found = parse(&by).unwrap().sub_agent;
            let found = found.as_ref().map(|agent| (agent.id.as_str(), agent.kind.as_deref()));
            assert_eq!(found, expected);
        }
        for (member, unfit, got) in [
            ("session_id", serde_json::json!(7), "a number"),
            ("session_id", serde_json::json!(" "), "\" \""),
            ("cwd", serde_json::json!("relative"), "\"relative\""),
            ("cwd", serde_json::json!(true), "true or false"),
            ("hook_event_name", serde_json::json!("PostToolUse"), "\"PostToolUse\""),
            ("hook_event_name", serde_json::json!({}), "an object"),
            ("tool_name", serde_json::json!(["Bash"]), "a list"),
            ("tool_name", serde_json::json!(""), "\"\""),
            ("tool_input", serde_json::json!("ls"), "\"ls\""),
            ("tool_input", serde_json::json!(null), "nothing"),
            ("tool_input", serde_json::json!([]), "a list"),
        ] {
            let mut changed = whole.clone();
            changed[member] = unfit;
            let complaint = parse(&changed).unwrap_err().to_string();
            assert!(complaint.starts_with(&format!("{member}: expected")), "{complaint}");
            assert!(complaint.ends_with(&format!("got {got}")), "{complaint}");
            changed.as_object_mut().unwrap().remove(member);
            let complaint = parse(&changed).unwrap_err().to_string();
            assert!(complaint.ends_with("got nothing"), "{complaint}");
        }
    }

    /// What comes of what is written into each kind of end that an agent may hand to a hook.
    fn check(written: &[u8], ends: bool, wait: Duration) -> Vec<Result<Vec<u8>, String>> {
        let piped = {
            let (reader, writer) = io::pipe().unwrap();
            spread(written, ends, wait, reader.into(), writer.into())
        };
        let sent = {
            let (reader, writer) = UnixStream::pair().unwrap();
            spread(written, ends, wait, reader.into(), writer.into())
        };
        vec![piped, sent]
    }

    fn spread(
        written: &[u8],
        ends: bool,
        wait: Duration,
        reader: OwnedFd,
        writer: OwnedFd,
    ) -> Result<Vec<u8>, String> {
        std::thread::scope(|scope| {
            let mut writer = File::from(writer);
            let kept = scope.spawn(move || {
                // Whoever reads may have had enough.
                let _ = writer.write_all(written);
                (!ends).then_some(writer)
            });
            let read = read(&reader, wait).map_err(|error| error.to_string());
            drop(reader);
            drop(kept.join().unwrap());
            read
        })
    }

    #[test]
    fn what_does_not_end_is_not_waited_for() {
        for written in ["", "{}"] {
            for read in check(written.as_bytes(), false, Duration::from_millis(30)) {
                assert_eq!(read.unwrap_err(), "expected standard input to end within 0.03 s");
            }
        }
    }

    #[test]
    fn only_so_much_is_read() {
        let fits = format!("{{\"a\":\"{}\"}}", "x".repeat(INPUT_BYTES - 8));
        assert_eq!(fits.len(), INPUT_BYTES);
        for read in check(fits.as_bytes(), true, PATIENCE) {
            assert!(Document::parse(&read.unwrap()).unwrap().has("a"));
        }
        let long = format!("{fits}  ");
        for ends in [true, false] {
            for read in check(long.as_bytes(), ends, PATIENCE) {
                assert!(read.unwrap_err().starts_with("expected at most"));
            }
        }
    }

    #[test]
    fn files_are_read_too() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"{}").unwrap();
        file.rewind().unwrap();
        assert_eq!(read(&file, PATIENCE).unwrap(), b"{}");
        assert_eq!(read(&File::open("/dev/null").unwrap(), PATIENCE).unwrap(), b"");
        let refused = read(&File::open("/").unwrap(), PATIENCE).unwrap_err();
        assert!(refused.to_string().starts_with("standard input cannot be read"), "{refused}");
    }

    #[test]
    fn what_another_reader_took_is_not_waited_for() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"{}").unwrap();
        reader.read_exact(&mut [0; 2]).unwrap();
        assert_eq!(read_now(&reader, &mut [0; 8]).unwrap_err(), Errno::AGAIN);
        let (mut reader, mut writer) = UnixStream::pair().unwrap();
        writer.write_all(b"{}").unwrap();
        reader.read_exact(&mut [0; 2]).unwrap();
        assert_eq!(read_now(&reader, &mut [0; 8]).unwrap_err(), Errno::AGAIN);
    }

    /// Longest wait for input that has to end. It says that a test fails, and never how fast the machine is.
    const PATIENCE: Duration = Duration::from_secs(120);
}
