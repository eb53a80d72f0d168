//! What of an event is written: every text up to a bound, counted as it is written, which
//! escaping makes longer.

use countersign_protocol::digits::hex;
use countersign_protocol::edits::Loosening;
use countersign_protocol::history::{
    CutText, HistoryEvent, PutBack, PutBackSession, RecordNote, UnwrittenView,
};
use countersign_protocol::question::Outcome;
use sha2::{Digest, Sha256};

/// Longest line that is written, in bytes, newline included: the texts below, each at its bound, and what is
/// around them. A page of the window holds dozens of such lines.
pub(super) const MAX_WRITTEN_BYTES: usize = 64 * 1024;

/// Of a command, in bytes as written: several screens of it. Its hash is in the line, whatever its length.
const COMMAND_BYTES: usize = 8 * 1024;

/// Of the end of an output, in bytes as written; the end is what counts there, and it is cut to
/// characters before.
const OUTPUT_BYTES: usize = 8 * 1024;

/// Of a folder, in bytes as written: the longest path that the system takes.
const PATH_BYTES: usize = 4 * 1024;

/// Of names, reasons and hashes, in bytes as written.
const NAME_BYTES: usize = 1024;

/// Of all that got looser in one change, in bytes as written.
const LOOSENINGS_BYTES: usize = 32 * 1024;

/// Cuts what is longer than its bound, and says of each such text how long it was and what its hash is.
pub(super) fn bound(event: &mut HistoryEvent) -> Vec<CutText> {
    let mut cuts = Cuts(Vec::new());
    match event {
        HistoryEvent::Request { agent, session, command, command_sha256, cwd, outcome, by, .. } => {
            cuts.text("agent", agent, NAME_BYTES);
            cuts.option("session", session.as_mut(), NAME_BYTES);
            cuts.text("command", command, COMMAND_BYTES);
            cuts.text("commandSha256", command_sha256, NAME_BYTES);
            cuts.option("cwd", cwd.as_mut(), PATH_BYTES);
            cuts.option("by", by.as_mut(), NAME_BYTES);
            if let Outcome::DeniedByPolicy { reason } | Outcome::Refused { reason } = outcome {
                cuts.text("reason", reason, NAME_BYTES);
            }
        }
        HistoryEvent::Run { run } => {
            cuts.option("error", run.error.as_mut(), PATH_BYTES);
            cuts.text("outputTail", &mut run.output_tail, OUTPUT_BYTES);
            cuts.option("within", run.within.as_mut(), PATH_BYTES);
            if let Some(UnwrittenView { path, place }) = &mut run.unwritten {
                cuts.option("path", path.as_mut(), PATH_BYTES);
                // A path that is cut is another one, which nobody may be offered a rule for.
                place.take_if(|place| fitting(place, PATH_BYTES) < place.len());
            }
        }
        HistoryEvent::Document { writer, store, before, after, loosenings } => {
            cuts.text("writer", writer, NAME_BYTES);
            cuts.option("store", store.as_mut(), NAME_BYTES);
            cuts.text("before", before, NAME_BYTES);
            cuts.text("after", after, NAME_BYTES);
            cuts.loosenings(loosenings);
        }
        HistoryEvent::Rules { writer, before, after, loosenings } => {
            cuts.text("writer", writer, NAME_BYTES);
            cuts.text("before", before, NAME_BYTES);
            cuts.text("after", after, NAME_BYTES);
            cuts.loosenings(loosenings);
        }
        HistoryEvent::Changes { changes, put_back } => {
            cuts.text("folder", &mut changes.folder, PATH_BYTES);
            cuts.option("problem", changes.problem.as_mut(), NAME_BYTES);
            if let Some(PutBack { by, request_id, session, .. }) = put_back {
                cuts.text("by", by, NAME_BYTES);
                cuts.option("requestId", request_id.as_mut(), NAME_BYTES);
                if let Some(PutBackSession { agent, session, .. }) = session {
                    cuts.text("agent", agent, NAME_BYTES);
                    cuts.text("session", session, NAME_BYTES);
                }
            }
        }
        HistoryEvent::Page { .. } | HistoryEvent::Socket { .. } => {}
        HistoryEvent::Record { note } => match note {
            RecordNote::Unrecorded { problem, .. } | RecordNote::Damaged { problem, .. } => {
                cuts.text("problem", problem, NAME_BYTES);
            }
            RecordNote::Folded { source, .. } => cuts.text("source", source, NAME_BYTES),
            RecordNote::Adopted { .. } | RecordNote::Rotated { .. } | RecordNote::PowerLost { .. } => {}
        },
    }
    cuts.0
}

struct Cuts(Vec<CutText>);

impl Cuts {
    fn option(&mut self, field: &str, text: Option<&mut String>, most: usize) {
        if let Some(text) = text {
            self.text(field, text, most);
        }
    }

    fn text(&mut self, field: &str, text: &mut String, most: usize) {
        let kept = fitting(text, most);
        if kept < text.len() {
            self.note(field, text.as_bytes());
            text.truncate(kept);
        }
    }

    /// The first ones that fit; of one that does not fit alone nothing is kept but its hash
    /// among the others'.
    fn loosenings(&mut self, loosenings: &mut Vec<Loosening>) {
        let written = |loosening: &Loosening| serde_json::to_string(loosening).unwrap_or_default().len() + 1;
        if loosenings.iter().map(written).sum::<usize>() > LOOSENINGS_BYTES {
            // The texts say the same.
            for loosening in loosenings.iter_mut() {
                (loosening.was, loosening.becomes) = (None, None);
            }
        }
        let mut bytes = 0;
        let kept = loosenings.iter().take_while(|loosening| {
            bytes += written(loosening);
            bytes <= LOOSENINGS_BYTES
        });
        let kept = kept.count();
        if kept < loosenings.len() {
            self.note("loosenings", serde_json::to_string(&*loosenings).unwrap_or_default().as_bytes());
            loosenings.truncate(kept);
        }
    }

    fn note(&mut self, field: &str, whole: &[u8]) {
        let sha256 = hex(Sha256::digest(whole));
        self.0.push(CutText { field: field.to_owned(), bytes: whole.len() as u64, sha256 });
    }
}

/// How much of a text fits when it is written in a JSON string.
pub(super) fn fitting(text: &str, most: usize) -> usize {
    // No character gets longer than six times its bytes.
    if text.len() <= most / 6 {
        return text.len();
    }
    let mut written = 0;
    for (at, char) in text.char_indices() {
        written += match char {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            char if u32::from(char) < 0x20 => 6,
            char => char.len_utf8(),
        };
        if written > most {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::history::{HistoryEntry, RunView};
    use countersign_protocol::question::{QuestionKind, Via};
    use proptest::prelude::*;

    fn request(text: &str) -> HistoryEvent {
        HistoryEvent::Request {
            agent: text.to_owned(),
            session: Some(text.to_owned()),
            via: Via::Socket,
            card: QuestionKind::Exec,
            host: None,
            command: text.to_owned(),
            command_sha256: text.to_owned(),
            cwd: Some(text.to_owned()),
            outcome: Outcome::Refused { reason: text.to_owned() },
            by: Some(text.to_owned()),
            answered_after_ms: Some(u64::MAX),
        }
    }

    fn events(text: &str) -> Vec<HistoryEvent> {
        let loosening = Loosening {
            scope: text.to_owned(),
            from: text.to_owned(),
            to: text.to_owned(),
            ..Loosening::default()
        };
        let run = RunView {
            exit_code: None,
            timed_out: false,
            duration_ms: u64::MAX,
            error: Some(text.to_owned()),
            output_tail: text.to_owned(),
            within: Some(text.to_owned()),
            reached: Vec::new(),
            unwritten: Some(UnwrittenView { path: Some(text.to_owned()), place: Some(text.to_owned()) }),
        };
        vec![
            request(text),
            HistoryEvent::Run { run },
            HistoryEvent::Document {
                writer: text.to_owned(),
                store: Some(text.to_owned()),
                before: text.to_owned(),
                after: text.to_owned(),
                loosenings: vec![loosening.clone(); 9],
            },
            HistoryEvent::Rules {
                writer: text.to_owned(),
                before: text.to_owned(),
                after: text.to_owned(),
                loosenings: vec![loosening; 9],
            },
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_event_makes_a_line_longer_than_the_bound(text in "[\\x00-\\x20\"\\\\a-cé🦀]{0,400}", times in 1usize..600) {
            for mut event in events(&text.repeat(times)) {
                let cut = bound(&mut event);
                let entry = HistoryEntry { seq: u64::MAX, at_ms: i64::MIN, request_id: Some("r".repeat(36)), event, cut };
                let (line, _) = super::super::chain::seal(&entry, super::super::chain::GENESIS).unwrap();
                prop_assert!(line.len() <= MAX_WRITTEN_BYTES, "{}", line.len());
            }
        }
    }

    #[test]
    fn what_is_cut_says_how_long_it_was_and_its_hash() {
        let whole = "\u{1}\\".repeat(60_000);
        let mut event = request(&whole);
        let cut = bound(&mut event);
        let HistoryEvent::Request { command, .. } = &event else { panic!("a request stays one") };
        assert!(whole.starts_with(command.as_str()) && !command.is_empty());
        assert!(serde_json::to_string(command).unwrap().len() <= COMMAND_BYTES + 2);
        let of = cut.iter().find(|cut| cut.field == "command").unwrap();
        assert_eq!(of.bytes, 120_000);
        let hash: String = Sha256::digest(&whole).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(of.sha256, hash);
        let mut short = request("git status");
        assert_eq!(bound(&mut short), []);
        assert_eq!(short, request("git status"));
    }
}
