//! What a person sees. Lossless: what is shown can be parsed back to exactly what runs. For the eye only:
//! nothing shown here ever feeds matching or execution.

mod chain;
mod hidden;
mod line;
pub mod peer;
pub(crate) mod secrets;
mod spans;

pub use line::{
    argv_line, escape, masked_argv_line, masked_text, output_tail, parse_argv_line, parse_shell_quoted,
    shell_quoted, unescape,
};

use countersign_commands::analysis::{Analysis, Operator, analyze_argv};
use countersign_protocol::limits::{DISPLAY_ARGUMENTS, DISPLAY_INPUT_UNITS};
use countersign_protocol::question::AllowBlocked;
use countersign_protocol::shown::{ArgRole, ArgView, CommandForm, CommandView, SegmentView, Shown, SpanKind};
use spans::Reading;

/// Whether look-alike secrets are covered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Secrets {
    /// Masked, with the value kept beside the mask.
    Mask,
    /// Shown.
    Show,
}

/// Any text (agent, path, environment value) as spans: hidden, control and bidirectional characters as codes,
/// look-alike letters marked, blanks plain.
pub fn shown(text: &str, secrets: Secrets) -> Shown {
    let secrets = match secrets {
        Secrets::Mask => secrets::in_text(text),
        Secrets::Show => Vec::new(),
    };
    spans::spans(text, &secrets, Reading::Plain)
}

/// A text of several lines, with secrets masked: ends of lines and tabs are what they are, and not hidden.
fn lines(text: &str) -> Shown {
    spans::spans(text, &secrets::in_text(text), Reading::Text)
}

/// The original of shown spans.
pub fn original(shown: &Shown) -> Option<String> {
    spans::original(shown)
}

/// An argument list as boxes. `missed` are the indexes of segments that no rule covers.
pub fn argv_view(argv: &[String], missed: &[usize]) -> CommandView {
    let segment = segment_view(argv, None, missed.contains(&0));
    view(CommandForm::Argv, vec![segment], shell_quoted(argv))
}

/// An argument list that runs here: as boxes, or, when it hands a text to a shell, that text: in its parts
/// where it could be taken apart.
pub fn command_view(argv: &[String], missed: &[usize]) -> CommandView {
    // Taken apart again as it is written: in what was judged, names of files may stand in place of patterns.
    let parts = chain::parts(argv, &analyze_argv(argv), missed);
    match parts.or_else(|| chain::text(argv).map(|text| vec![text_segment(text, missed.contains(&0))])) {
        Some(segments) => {
            CommandView { shell: chain::shell(argv), ..view(CommandForm::Argv, segments, shell_quoted(argv)) }
        }
        None => argv_view(argv, missed),
    }
}

/// A command text that somebody else interprets, as boxes when it could be taken apart, else as one text.
pub fn text_view(text: &str, analysis: &Analysis) -> CommandView {
    let segments = if analysis.source == text && analysis.words_say_it_all() {
        let boxes = analysis.segments.iter().map(|segment| {
            let words: Vec<String> = segment.words.iter().map(|word| word.text.clone()).collect();
            segment_view(&words, segment.operator, false)
        });
        boxes.collect()
    } else {
        vec![text_segment(text, false)]
    };
    view(CommandForm::Text, segments, text.to_owned())
}

/// Words that are no command, each text for itself.
pub fn words_view(texts: &[&str]) -> CommandView {
    let segments = texts.iter().map(|text| text_segment(text, false));
    view(CommandForm::Text, segments.collect(), texts.join("\n"))
}

/// Why a command of this size cannot be allowed.
pub fn allow_blocked(view: &CommandView) -> Option<AllowBlocked> {
    let args = || view.segments.iter().flat_map(|segment| &segment.args);
    if args().count() > DISPLAY_ARGUMENTS {
        return Some(AllowBlocked::TooManyArguments);
    }
    let spans = args().flat_map(|arg| &arg.shown.spans);
    let units: usize =
        spans.map(|span| span.raw.as_deref().unwrap_or(&span.text).encode_utf16().count()).sum();
    (units > DISPLAY_INPUT_UNITS).then_some(AllowBlocked::TooLong)
}

fn segment_view(words: &[String], operator: Option<Operator>, missed: bool) -> SegmentView {
    let args = words.iter().zip(secrets::in_argv(words)).enumerate().map(|(index, (word, secrets))| {
        let (role, reading) = match index {
            0 => (ArgRole::Executable, Reading::Name),
            _ => (ArgRole::Argument, Reading::of_argument(word)),
        };
        ArgView { role, shown: spans::spans(word, &secrets, reading), missed: missed && index == 0 }
    });
    let operator = operator.map(|operator| operator.as_str().to_owned());
    SegmentView { operator, args: args.collect(), missed }
}

fn text_segment(text: &str, missed: bool) -> SegmentView {
    let whole = ArgView { role: ArgRole::Text, shown: lines(text), missed };
    SegmentView { operator: None, args: vec![whole], missed }
}

fn view(form: CommandForm, segments: Vec<SegmentView>, copy: String) -> CommandView {
    let args = || segments.iter().flat_map(|segment| &segment.args);
    let count = |kind: SpanKind, of: fn(&str) -> usize| {
        let spans = args().flat_map(|arg| &arg.shown.spans).filter(|span| span.kind == kind);
        saturated(spans.map(|span| of(&span.text)).sum())
    };
    let arguments = saturated(args().filter(|arg| arg.role == ArgRole::Argument).count());
    let hidden = count(SpanKind::Escape, |_| 1);
    let lookalikes = count(SpanKind::Lookalike, |letters| letters.chars().count());
    let secrets = count(SpanKind::Secret, |_| 1);
    CommandView { form, shell: Vec::new(), segments, copy, arguments, hidden, lookalikes, secrets }
}

fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
