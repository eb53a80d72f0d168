//! What a target is told: JSON of a bounded size, with what a person sees of a request and nothing more. The shape is documented
//! in `docs/forwarder.md`.

use countersign_approvals::book::{Ending, Record};
use countersign_policy::display;
use countersign_protocol::ui::{CancelCause, CardKind, CommandForm, Fact, HostKind, Shown, Via};
use countersign_protocol::vocabulary::Decision;
use serde::Serialize;
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
    kind: CardKind,
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
pub(super) struct Told {
    /// One line or a text of several, at most [`MAX_COMMAND`] bytes.
    pub(super) text: String,
    /// Whether the text is the command itself, an argument list quoted for a POSIX shell. Otherwise something in it is masked,
    /// written as a code, or left out, and it is for the eye only.
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

/// The command of a request as it may be told elsewhere: secrets masked, nothing hidden, nothing endless.
pub(super) fn told(record: &Record) -> Told {
    let card = &record.request.card;
    let command = &card.command;
    let copy = &command.copy;
    let (open, masked) = match (command.form, display::parse_shell_quoted(copy)) {
        (CommandForm::Argv, Some(argv)) => (display::argv_line(&argv), display::masked_argv_line(&argv)),
        (CommandForm::Argv, None) | (CommandForm::Text, _) => {
            (display::escape(copy), display::masked_text(copy))
        }
    };
    let is_plain = open == masked && command.hidden == 0 && command.lookalikes == 0;
    // Line ends and tabs are seen for what they are; every other character that is not must have been counted as hidden.
    let is_clean = !copy.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    if is_plain && is_clean && copy.len() <= MAX_COMMAND {
        return Told { text: copy.clone(), exact: true };
    }
    Told { text: cut(masked, MAX_COMMAND), exact: false }
}

/// Whether somebody elsewhere who reads [`told`] has read everything that an allow would let run.
pub(super) fn is_told_whole(record: &Record) -> bool {
    let card = &record.request.card;
    let sets_variables = card.facts.iter().any(|fact| {
        matches!(fact, Fact::Environment { .. } | Fact::EnvironmentNames { .. } | Fact::OtherText { .. })
    });
    told(record).exact && card.allow_blocked.is_none() && !sets_variables
}

fn of_request(record: &Record) -> RequestBody {
    let card = &record.request.card;
    let Told { text, exact } = told(record);
    RequestBody {
        id: short(&display::escape(&record.id)),
        kind: card.kind,
        via: card.via,
        command: text,
        exact,
        cwd: cwd(record).map(|cwd| short(&display::escape(&cwd))),
        host: card.host.kind,
        host_name: card.host.name.as_ref().map(plain),
        gateway: card.gateway.as_ref().map(plain),
        agent_id: plain(&card.agent),
        session_key: card.session.as_ref().map(plain),
        environment_names: environment_names(record),
        decisions: card.decisions.clone(),
        created_at_ms: record.created_at_ms,
        expires_at_ms: record.expires_at_ms,
    }
}

/// The folder, as far as the card has it.
pub(super) fn cwd(record: &Record) -> Option<String> {
    record.request.card.facts.iter().find_map(|fact| match fact {
        Fact::Folder { path, .. } => display::original(path),
        _ => None,
    })
}

fn environment_names(record: &Record) -> Vec<String> {
    let names = record.request.card.facts.iter().flat_map(|fact| match fact {
        Fact::Environment { overrides } => overrides.iter().map(|one| &one.name).collect(),
        Fact::EnvironmentNames { names } => names.iter().collect(),
        _ => Vec::new(),
    });
    names.take(MAX_NAMES).map(plain).collect()
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

/// Shown text in one line.
fn plain(shown: &Shown) -> String {
    short(&display::escape(&display::original(shown).unwrap_or_default()))
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
