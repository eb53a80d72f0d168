//! Segments from texts and argument lists.

use super::complete::is_whole;
use super::peer::{self, Disputed, Reading, is_dynamic_to_the_peer, is_prelude};
use super::{Analysis, Form, Opaque, OpaqueReason, Segment, Transport, Word};
use crate::command::{self, Candidate, Divided, Mode, PromptReason, ShellUse};
use crate::environment;
use crate::profile::{Extension, Profile};
use crate::raw_command::canonical_word;
use crate::shell::{self, Dialect, Script, SimpleCommand};
use std::ops::Range;

/// A text taken apart, and the text of a shell that is all of it.
pub(super) fn text(text: &str, profile: Profile) -> Analysis {
    let reading = parse(text, profile).and_then(|reading| {
        within(&reading.script, text, profile).or_else(|opaque| torn_inside(&reading.script, opaque))?;
        Ok(reading)
    });
    match reading {
        Ok(reading) => from_reading(text, reading, profile),
        Err(opaque) if opaque.reason == OpaqueReason::Empty && is_only_comments(text, profile) => {
            from_reading(text, nothing(text), profile)
        }
        Err(opaque) => Analysis::opaque(text.to_owned(), Form::Text, profile, opaque),
    }
}

/// Whether the text has comments, the profile understands them alone, and there is nothing else in it.
fn is_only_comments(text: &str, profile: Profile) -> bool {
    let mut lines =
        text.split('\n').map(|line| line.trim_matches([' ', '\t'])).filter(|line| !line.is_empty());
    profile.understands(Extension::Text(shell::Extension::Comments))
        && text.contains('#')
        && lines.all(|line| line.starts_with('#'))
}

/// The command that does nothing, in the place of a whole text.
fn nothing(text: &str) -> Reading {
    let span = 0..text.len();
    let word = Word { text: ":".to_owned(), span: span.clone(), expands: false, quoted: false };
    let command = SimpleCommand {
        operator: None,
        negated: false,
        assignments: Vec::new(),
        words: vec![word],
        span: span.clone(),
    };
    let script = Script {
        commands: vec![command],
        extensions: vec![(shell::Extension::Comments, span)],
        dialect: Dialect::Posix,
    };
    Reading { script, divided: Vec::new() }
}

/// An argument list taken apart.
pub(super) fn arguments(argv: &[String], profile: Profile) -> Analysis {
    let mut source = String::new();
    let mut words = Vec::with_capacity(argv.len());
    for argument in argv {
        // The newest peer drops blank elements before it looks; the program would still get them.
        let dropped = profile == Profile::Reference && is_blank(argument);
        if !source.is_empty() {
            source.push(' ');
        }
        let start = source.len();
        source.push_str(&canonical_word(argument));
        if !dropped {
            let span = start..source.len();
            words.push(Word { text: argument.clone(), span, expands: false, quoted: true });
        }
    }
    let span = 0..source.len();
    if words.first().is_none_or(|executable| is_blank(&executable.text)) {
        return Analysis::opaque(
            source,
            Form::Arguments,
            profile,
            Opaque { reason: OpaqueReason::Empty, span },
        );
    }
    if source.len() > ARGUMENT_BYTES || words.len() > ARGUMENTS {
        return Analysis::opaque(
            source,
            Form::Arguments,
            profile,
            Opaque { reason: OpaqueReason::TooLong, span },
        );
    }
    let candidate = command::resolve(&words);
    let segment = Segment { operator: None, negated: false, assignments: Vec::new(), words, span, candidate };
    Analysis {
        source,
        segments: vec![segment],
        opaque: None,
        form: Form::Arguments,
        transport: Transport::Direct,
        dialect: Dialect::Posix,
        profile,
        extensions: Vec::new(),
    }
}

fn parse(text: &str, profile: Profile) -> Result<Reading, Opaque> {
    match profile {
        Profile::Reference => peer::parse(text),
        Profile::Attentive(_) => shell::parse(text).map(|script| Reading { script, divided: Vec::new() }),
    }
}

/// Whether the profile understands all of a text.
fn within(script: &Script, text: &str, profile: Profile) -> Result<(), Opaque> {
    let beyond = script.extensions.iter().find(|(used, _)| !profile.understands(Extension::Text(*used)));
    if let Some((extension, span)) = beyond {
        return Err(Opaque { reason: extension.reason(), span: span.clone() });
    }
    let mut words = script.commands.iter().flat_map(|command| &command.words);
    if profile == Profile::Reference {
        let dynamic = words.find(|word| text.get(word.span.clone()).is_some_and(is_dynamic_to_the_peer));
        return match dynamic {
            Some(word) => Err(Opaque { reason: OpaqueReason::DynamicArgument, span: word.span.clone() }),
            None => Ok(()),
        };
    }
    if words.count() > ARGUMENTS || script.commands.len() > COMMANDS || script.extensions.len() > EXTENSIONS {
        return Err(Opaque { reason: OpaqueReason::TooLong, span: 0..text.len() });
    }
    Ok(())
}

/// A line torn inside the text of the one shell that is all of `script` is that text's own business.
fn torn_inside(script: &Script, opaque: Opaque) -> Result<(), Opaque> {
    let [command] = script.commands.as_slice() else { return Err(opaque) };
    let candidate = command::resolve(&command.words);
    let Some(ShellUse::Inline { payload, .. }) = candidate.shell.filter(|_| candidate.wrappers.is_empty())
    else {
        return Err(opaque);
    };
    // At its end nothing is left that it could be a part of.
    let inside = command.words.get(payload).is_some_and(|word| {
        word.span.start <= opaque.span.start
            && opaque.span.end <= word.span.end
            && !word.text.trim_end_matches([' ', '\t', '\n']).ends_with('\\')
    });
    if inside && opaque.reason == OpaqueReason::LineContinuation { Ok(()) } else { Err(opaque) }
}

fn from_reading(text: &str, reading: Reading, profile: Profile) -> Analysis {
    let Reading { script: Script { commands, extensions, dialect }, divided } = reading;
    let mut segments = segments(commands, &divided, text, profile);
    if segments.is_empty() {
        let opaque = Opaque { reason: OpaqueReason::Empty, span: 0..text.len() };
        return Analysis::opaque(text.to_owned(), Form::Text, profile, opaque);
    }
    if let Some(renamed) = segments.iter().find(|segment| is_renamed(segment)) {
        let opaque = Opaque { reason: OpaqueReason::Carrier, span: renamed.span.clone() };
        return Analysis::opaque(text.to_owned(), Form::Text, profile, opaque);
    }
    let mut transport = Transport::Direct;
    match payload_of_all(&segments, profile) {
        Payload::None => {}
        Payload::Segments(inner) => {
            segments = inner;
            transport = Transport::ShellWrapper;
        }
        Payload::Opaque(opaque) => return Analysis::opaque(text.to_owned(), Form::Text, profile, opaque),
    }
    let source = text.to_owned();
    let dialect = if divided.is_empty() { dialect } else { Dialect::Divided };
    let mut analysis = Analysis {
        source,
        segments,
        opaque: None,
        form: Form::Text,
        transport,
        dialect,
        profile,
        extensions,
    };
    if let Some(span) = analysis.told_to_a_program() {
        let opaque = Opaque { reason: OpaqueReason::DynamicArgument, span };
        return Analysis::opaque(analysis.source, Form::Text, profile, opaque);
    }
    if let Some(span) = analysis.moved_by_an_input() {
        let opaque = Opaque { reason: OpaqueReason::Redirect, span };
        return Analysis::opaque(analysis.source, Form::Text, profile, opaque);
    }
    analysis.mark_builtins();
    analysis
}

fn segments(
    commands: Vec<SimpleCommand>,
    divided: &[Disputed],
    text: &str,
    profile: Profile,
) -> Vec<Segment> {
    // To the newest peer these are no commands.
    let is_none = |command: &SimpleCommand| {
        profile == Profile::Reference
            && command.words.first().is_some_and(|word| ["unset", "unsetenv"].contains(&word.text.as_str()))
    };
    commands
        .into_iter()
        .filter(|command| !is_none(command))
        .map(|command| {
            let mut segment = segment(command, profile);
            segment.candidate.divided = divided
                .iter()
                .filter(|place| is_part(&segment, &place.span, text))
                .map(|place| depends(&segment, place))
                .fold(segment.candidate.divided, Ord::max);
            segment
        })
        .collect()
}

fn segment(command: SimpleCommand, profile: Profile) -> Segment {
    let SimpleCommand { operator, negated, assignments, words, span } = command;
    let answers =
        profile.understands(Extension::ShellAnswers) && assignments.is_empty() && command::only_asks(&words);
    // A shell that reads this starts nothing, whatever stands behind.
    let mut candidate = if answers { Candidate::itself() } else { command::resolve(&words) };
    let harmless = profile.understands(Extension::PlainAssignments) && assignments.iter().all(is_harmless);
    let assigns = match profile {
        Profile::Reference => is_prelude(&assignments),
        Profile::Attentive(_) => !assignments.is_empty(),
    };
    if assigns && !harmless {
        candidate.mode = Mode::PromptOnly(PromptReason::Assignment);
    }
    if profile == Profile::Reference {
        peer::read_option_as_text(&words, &mut candidate);
    }
    if profile == Profile::Reference && peer::asks_about_shell(&words, &candidate) {
        candidate.mode = Mode::PromptOnly(PromptReason::ShellThroughCarrier);
    }
    Segment { operator, negated, assignments, words, span, candidate }
}

/// Whether a place of the text belongs to a segment: to the one that it is in or follows, else to the next.
fn is_part(segment: &Segment, place: &Range<usize>, text: &str) -> bool {
    let joins =
        |from: usize, to: usize| text.get(from..to).is_some_and(|gap| !gap.contains(['\n', ';', '|', '&']));
    let (start, end) = (segment.span.start, segment.span.end);
    if place.end <= start { joins(place.end, start) } else { place.start < end || joins(end, place.start) }
}

/// What depends on how a place of a segment is read.
fn depends(segment: &Segment, place: &Disputed) -> Divided {
    let Candidate { execution, policy, arguments, shell, .. } = &segment.candidate;
    let program = segment.words.get(*execution.max(policy).max(arguments));
    match program {
        Some(program) if shell.is_none() && program.span.end < place.span.start => place.behind,
        _ => place.at_program,
    }
}

/// What would run under another name than its own is nothing that its words say.
fn is_renamed(segment: &Segment) -> bool {
    segment.candidate.mode == Mode::PromptOnly(PromptReason::Renamed)
}

/// Names that change at most how output looks, with a plain word as value.
fn is_harmless(word: &Word) -> bool {
    let Some((name, value)) = word.text.split_once('=') else { return false };
    !word.expands && environment::is_harmless(name, value)
}

/// What the texts of shells in a text come to.
enum Payload {
    /// Nothing that would change the segments.
    None,
    /// The text is one shell, and these are what its text runs.
    Segments(Vec<Segment>),
    /// One of them makes the whole text opaque.
    Opaque(Opaque),
}

/// Looks into the texts of all shells. One shell alone is replaced by what it runs, or stays one command that
/// only an entry for the very call covers; among other commands a text that cannot be taken apart makes
/// all of it opaque.
fn payload_of_all(segments: &[Segment], profile: Profile) -> Payload {
    let alone = match segments {
        [only] if only.candidate.wrappers.is_empty() => Some(only),
        _ => None,
    };
    let stays = alone.is_some_and(|alone| profile != Profile::Reference || peer::is_shell(&alone.words));
    for segment in segments {
        match payload(segment, profile, 0) {
            Ok(_) => {}
            // Alone it is one command that only an entry for the very call covers.
            Err(opaque) if stays && opaque.reason != OpaqueReason::SyntaxError => {
                return Payload::None;
            }
            Err(opaque) => return Payload::Opaque(opaque),
        }
    }
    let Some(shell) = alone.filter(|shell| is_plain(shell)) else { return Payload::None };
    match payload(shell, profile, 0) {
        Ok(Some(Inner { segments: inner, at }))
            if inner.iter().all(is_looked_up) && inner.first().is_some_and(is_named) =>
        {
            let divided = shell.candidate.divided;
            let within = |mut segment: Segment| {
                if profile == Profile::Reference && asks_within(&segment, profile) {
                    segment.candidate.mode = Mode::PromptOnly(PromptReason::ShellThroughCarrier);
                }
                moved(segment, &at, divided)
            };
            Payload::Segments(inner.into_iter().map(within).collect())
        }
        _ => Payload::None,
    }
}

/// Whether the newest peer asks about a shell within a shell's text: behind a wrapper, or with a text of its
/// own that has something to ask about.
fn asks_within(segment: &Segment, profile: Profile) -> bool {
    let Some(ShellUse::Inline { .. }) = segment.candidate.shell else { return false };
    let is_hidden = |segment: &Segment| {
        matches!(segment.candidate.shell, Some(ShellUse::Inline { .. }))
            && !segment.candidate.wrappers.is_empty()
    };
    let asks = |segment: &Segment| match segment.candidate.mode {
        Mode::PromptOnly(reason) => reason != PromptReason::Assignment,
        Mode::Executable | Mode::ExactCommand => is_hidden(segment),
    };
    is_hidden(segment)
        || matches!(payload(segment, profile, 1), Ok(Some(inner)) if inner.segments.iter().any(asks))
}

/// What a shell's text runs, and where it stands.
struct Inner {
    segments: Vec<Segment>,
    at: Range<usize>,
}

/// What a shell's text runs, `None` when there is none that could be taken apart.
fn payload(segment: &Segment, profile: Profile, depth: usize) -> Result<Option<Inner>, Opaque> {
    if profile == Profile::Reference && segment.candidate.divided == Divided::Words {
        unseen(segment)?;
    }
    let Some(ShellUse::Inline { payload: at, language: command::Language::Posix, .. }) =
        segment.candidate.shell
    else {
        return match profile {
            Profile::Reference => unseen(segment).map(|()| None),
            Profile::Attentive(_) => Ok(None),
        };
    };
    if depth >= PAYLOAD_DEPTH || segment.candidate.mode == Mode::PromptOnly(PromptReason::ShellThroughCarrier)
    {
        return Ok(None);
    }
    let Some(word) = segment.effective().get(at).filter(|word| !word.expands) else { return Ok(None) };
    if profile == Profile::Reference && !peer::parses_text(segment.effective()) {
        return Ok(None);
    }
    let at = word.span.clone();
    let text = match profile {
        Profile::Reference => word.text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}'),
        Profile::Attentive(_) => &word.text,
    };
    let parsed =
        parse(text, profile).and_then(|reading| within(&reading.script, text, profile).map(|()| reading));
    let Reading { script, divided } = match parsed {
        Ok(reading) => reading,
        Err(opaque) if opaque.reason == OpaqueReason::Empty => return Ok(None),
        Err(opaque) if is_whole(text) => return Err(Opaque { reason: opaque.reason, span: at }),
        Err(_) => return Err(Opaque { reason: OpaqueReason::SyntaxError, span: at }),
    };
    // What the outer text may do with streams and groups, an inner one says in words that are not shown.
    if let Some((extension, _)) = script.extensions.first() {
        return Err(Opaque { reason: extension.reason(), span: at });
    }
    let inner = segments(script.commands, &divided, text, profile);
    if inner.is_empty() {
        return Ok(None);
    }
    for segment in &inner {
        // About a shell behind a wrapper the newest peer asks whatever its text is, so nothing may cover it.
        let hidden = profile == Profile::Reference && !segment.candidate.wrappers.is_empty();
        payload(segment, profile, depth + 1).map_err(|opaque| Opaque {
            reason: if hidden { OpaqueReason::SyntaxError } else { opaque.reason },
            span: at.clone(),
        })?;
    }
    Ok(Some(Inner { segments: inner, at }))
}

/// Whether the newest peer can take the text apart that it alone sees in a segment.
fn unseen(segment: &Segment) -> Result<(), Opaque> {
    let Some(text) = peer::unseen_text(&segment.words) else { return Ok(()) };
    let profile = Profile::Reference;
    match parse(&text, profile).and_then(|reading| within(&reading.script, &text, profile)) {
        Ok(()) => Ok(()),
        Err(opaque) if opaque.reason == OpaqueReason::Empty => Ok(()),
        Err(opaque) if is_whole(&text) => Err(Opaque { span: segment.span.clone(), ..opaque }),
        Err(_) => Err(Opaque { reason: OpaqueReason::SyntaxError, span: segment.span.clone() }),
    }
}

/// Whether a shell does nothing but run its text: found by name, without start-up files or assignments.
fn is_plain(segment: &Segment) -> bool {
    let typed_name = segment.words.first().is_some_and(|word| !word.text.contains(['/', '\\']));
    typed_name && segment.assignments.is_empty() && segment.candidate.mode == Mode::ExactCommand
}

/// Whether a command inside a shell's text is found by name. The newest peer keeps its hands off others, and
/// off whatever calls itself a wrapper.
fn is_looked_up(segment: &Segment) -> bool {
    segment.words.first().is_some_and(|word| {
        !word.text.contains(['/', '\\']) && !command::base_name(&word.text).ends_with("-wrapper")
    })
}

/// Whether its program has a name at all; of the first one the newest peer wants to see it.
fn is_named(segment: &Segment) -> bool {
    segment.words.first().is_some_and(|word| !word.text.trim().is_empty())
}

/// A segment of an inner text, painted as the whole of that text.
fn moved(mut segment: Segment, at: &Range<usize>, divided: Divided) -> Segment {
    segment.span = at.clone();
    segment.candidate.divided = segment.candidate.divided.max(divided);
    for word in segment.words.iter_mut().chain(&mut segment.assignments) {
        word.span = at.clone();
    }
    segment
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\u{feff}')
}

/// How many shells inside shells have their texts taken apart.
const PAYLOAD_DEPTH: usize = 2;

/// Longest canonical text of an argument list that is taken apart, in bytes: the peers' limit
/// for command texts.
const ARGUMENT_BYTES: usize = 131_072;

/// Most commands of one text that are taken apart: each of them has to be looked up, and people read
/// no longer lists.
const COMMANDS: usize = 128;

/// Most redirections, groups and the like of one text: each word is held against them.
const EXTENSIONS: usize = 256;

/// Most arguments that are taken apart: what cannot be shown one by one is not remembered or
/// run unasked either.
const ARGUMENTS: usize = countersign_protocol::limits::DISPLAY_ARGUMENTS;
