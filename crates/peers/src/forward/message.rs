//! What a target is told: JSON of a bounded size, with what a person sees of a request and nothing more. The
//! shape is documented in `docs/forwarder.md`.

use countersign_approvals::book::{Ending, Record};
use countersign_approvals::question::{Folder, Place, Question, Subject};
use countersign_policy::display;
use countersign_protocol::question::{CancelCause, HostKind, QuestionKind, Via};
use countersign_protocol::shown::{CommandView, SpanKind};
use countersign_protocol::vocabulary::Decision;
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;

/// A message, written once and delivered as it is.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Tells it from every other one, also when it arrives twice.
    pub(super) delivery: String,
    /// The JSON.
    pub(super) body: Arc<[u8]>,
}

/// What happened to a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum What<'a> {
    /// It waits.
    Requested,
    /// It ended.
    Ended(&'a Ending),
    /// It ended, and nobody knows how any more.
    Lost,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    version: u32,
    r#type: &'static str,
    delivery_id: &'a str,
    at_ms: i64,
    sample: bool,
    request: RequestBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<EndingBody>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestBody {
    id: String,
    kind: QuestionKind,
    via: Via,
    command: String,
    exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    host: HostKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
    agent_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_key: Option<String>,
    environment_names: Vec<String>,
    decisions: Vec<Decision>,
    created_at_ms: i64,
    expires_at_ms: i64,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct EndingBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
}

/// A command as it is told elsewhere.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct CommandText {
    /// One line or a text of several, at most [`MAX_COMMAND`] bytes.
    pub(super) text: String,
    /// Whether the text is the command itself, an argument list quoted for a POSIX shell. Otherwise something
    /// in it is masked, written as a code, or left out, and it is for the eye only.
    pub(super) exact: bool,
}

/// Whether this is a sample and not a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sample {
    No,
    Yes,
}

impl Message {
    /// Words for what happened to `record`.
    pub(super) fn new(record: &Record, what: What<'_>, delivery: String, at_ms: i64, sample: Sample) -> Self {
        let (r#type, ending) = match what {
            What::Requested => ("requested", None),
            What::Ended(ending) => of_ending(ending),
            What::Lost => ("cancelled", Some(cause("unknown"))),
        };
        let body = Body {
            version: VERSION,
            r#type,
            delivery_id: &delivery,
            at_ms,
            sample: sample == Sample::Yes,
            request: of_request(record),
            ending,
        };
        // Only texts, numbers and lists: there is nothing that JSON could not hold.
        let body = serde_json::to_vec(&body).unwrap_or_default();
        Self { delivery, body: body.into() }
    }
}

/// What a request is about as it may be told elsewhere: secrets masked, nothing hidden, nothing endless.
pub(super) fn told(question: &Question) -> CommandText {
    let view = question.subject.view();
    let (copy, open, masked) = match &question.subject {
        Subject::Command(command) => match &command.argv {
            Some(argv) => of_list(argv),
            None => of_text(&command.text),
        },
        Subject::Tool(call) => of_list(&call.words),
        Subject::Plugin(_) | Subject::Proposal(_) | Subject::Crossing(_) => of_text(&question.subject.line()),
    };
    let is_plain = open == masked && view.hidden == 0 && view.lookalikes == 0 && !has_lines(view);
    // Line ends and tabs are seen for what they are; every other character that is not must have been
    // counted as hidden.
    let is_clean = !copy.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    if is_plain && is_clean && copy.len() <= MAX_COMMAND {
        return CommandText { text: copy, exact: true };
    }
    CommandText { text: cut(masked, MAX_COMMAND), exact: false }
}

/// Whether a word has lines or tabs of its own. The windows draw them; elsewhere nobody could tell them from
/// the breaks of a message.
fn has_lines(view: &CommandView) -> bool {
    let args = view.segments.iter().flat_map(|segment| &segment.args);
    args.flat_map(|arg| &arg.shown.spans).any(|span| span.kind == SpanKind::Layout)
}

/// A list quoted for a shell, in one line with every secret, and with secrets masked.
fn of_list(argv: &[String]) -> (String, String, String) {
    (display::shell_quoted(argv), display::argv_line(argv), display::masked_argv_line(argv))
}

/// The same of a text.
fn of_text(text: &str) -> (String, String, String) {
    (text.to_owned(), display::escape(text), display::masked_text(text))
}

/// Whether somebody elsewhere who reads [`told`] has read everything that an allow would let run.
pub(super) fn is_told_whole(question: &Question) -> bool {
    let is_bare = question
        .subject
        .command()
        .is_none_or(|command| command.environment.is_empty() && !command.text_differs);
    // What leaves a box is more than its destination: by whom, for what command, and where that was before.
    let leaves_a_box = matches!(question.subject, Subject::Crossing(_));
    told(question).exact && question.blocked.is_none() && is_bare && !leaves_a_box
}

fn of_request(record: &Record) -> RequestBody {
    let question = &record.question;
    let CommandText { text, exact } = told(question);
    let host_name = match &question.place {
        Place::Remote(name) => name.as_deref(),
        Place::ThisMachine | Place::Sandbox => None,
    };
    RequestBody {
        id: line(record.id.as_str()),
        kind: question.subject.kind(),
        via: question.door.via,
        command: text,
        exact,
        cwd: cwd(question).map(|cwd| line(&cwd)),
        host: question.place.kind(),
        host_name: host_name.map(line),
        gateway: question.door.gateway.as_deref().map(line),
        agent_id: line(question.agent.as_str()),
        session_key: question.session.as_ref().map(|session| line(session.as_str())),
        environment_names: environment_names(question),
        decisions: question.offer.decisions.clone(),
        created_at_ms: record.created_at_ms,
        expires_at_ms: record.expires_at_ms,
    }
}

/// The folder, as far as it is known.
pub(super) fn cwd(question: &Question) -> Option<Cow<'_, str>> {
    question.subject.folder().map(Folder::path)
}

fn environment_names(question: &Question) -> Vec<String> {
    let command = question.subject.command();
    let names = command.into_iter().flat_map(|command| command.environment.names());
    names.take(MAX_NAMES).map(line).collect()
}

fn of_ending(ending: &Ending) -> (&'static str, Option<EndingBody>) {
    match ending {
        Ending::Decided { decision, by } => (
            "resolved",
            Some(EndingBody {
                decision: Some(*decision),
                resolved_by: Some(short(&display::escape(by))),
                elsewhere: Some(false),
                ..EndingBody::default()
            }),
        ),
        Ending::Elsewhere { decision, by } => (
            "resolved",
            Some(EndingBody {
                decision: *decision,
                resolved_by: by.as_deref().map(|by| short(&display::escape(by))),
                elsewhere: Some(true),
                ..EndingBody::default()
            }),
        ),
        Ending::Expired => ("expired", None),
        Ending::Contained => ("cancelled", Some(cause("contained"))),
        Ending::NotShown => ("cancelled", Some(cause("not-shown"))),
        Ending::Cancelled(why) => ("cancelled", Some(cause(word(*why)))),
    }
}

fn cause(word: &str) -> EndingBody {
    EndingBody { cause: Some(word.to_owned()), ..EndingBody::default() }
}

fn word(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::RequesterGone => "requester-gone",
        CancelCause::Shutdown => "shutdown",
        CancelCause::ConnectionLost => "connection-lost",
        CancelCause::Withdrawn => "withdrawn",
    }
}

/// A text in one line.
fn line(text: &str) -> String {
    short(&display::escape(text))
}

fn short(text: &str) -> String {
    cut(text.to_owned(), MAX_TEXT)
}

/// At most so many bytes, with a mark where something is missing.
fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = text.floor_char_boundary(most.saturating_sub(CUT.len()));
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

/// Version of the shape.
const VERSION: u32 = 1;

/// Longest command that is told, in bytes: what peers show of one at most (docs/protocol/commands.md,
/// "Shown text").
pub(super) const MAX_COMMAND: usize = 16_384;

/// Longest of the other texts, in bytes.
const MAX_TEXT: usize = 1_024;

/// Names of environment variables that are told.
const MAX_NAMES: usize = 32;

/// Where something was left out.
const CUT: &str = "…";

#[cfg(test)]
pub(super) mod tests;
