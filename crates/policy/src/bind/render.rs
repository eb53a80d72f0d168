//! The text for the shell: every word quoted anew, every program by its path, what stands between them only
//! if it is an operator, a group or a redirection that every shell reads alike. The result is read again and
//! must say the same.

use super::{Step, Unbound};
use countersign_commands::analysis::{Analysis, Segment, Word};
use countersign_commands::shell::{self, Dialect, Extension};
use std::ops::Range;

/// The text that runs `steps` as `analysis` joins them.
pub(super) fn text(analysis: &Analysis, steps: &[Step]) -> Result<String, Unbound> {
    let mut pieces = pieces(analysis, steps)?;
    pieces.sort_by_key(|(span, _)| span.start);
    let source = analysis.source.as_str();
    let mut text = String::with_capacity(source.len() + EXTRA_BYTES);
    let mut at = 0;
    for (span, piece) in pieces {
        gap(&mut text, source.get(at..span.start).ok_or(Unbound::NotStatic)?)?;
        text.push_str(&piece);
        at = span.end;
    }
    gap(&mut text, source.get(at..).ok_or(Unbound::NotStatic)?)?;
    if text.len() > TEXT_BYTES || !says_the_same(&text, analysis, steps) {
        return Err(Unbound::NotStatic);
    }
    Ok(text)
}

type Piece = (Range<usize>, String);

/// What replaces what in the source.
fn pieces(analysis: &Analysis, steps: &[Step]) -> Result<Vec<Piece>, Unbound> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (segment, step) in analysis.segments.iter().zip(steps) {
        for word in &segment.assignments {
            let (name, value) = word.text.split_once('=').ok_or(Unbound::NotStatic)?;
            pieces.push((word.span.clone(), format!("{name}={}", quoted(value))));
        }
        if analysis.is_input(segment) {
            let file = segment.words.last().ok_or(Unbound::NotStatic)?;
            pieces.push((file.span.clone(), format!("< {}", file.text)));
            continue;
        }
        let first = step.first();
        for (index, word) in segment.words.iter().enumerate() {
            let piece = match step {
                _ if index < first => String::new(),
                // `for NAME in`
                Step::Builtin if index < HEAD && analysis.is_loop_head(segment) => word.text.clone(),
                // Some shells look for the very character.
                Step::Builtin if is_closing_bracket(segment, index) => "]".to_owned(),
                _ => match step.path_at(index) {
                    Some(path) => quoted(path),
                    None => argument(analysis, word)?,
                },
            };
            match pieces.last_mut() {
                // Several names in place of one pattern.
                Some((span, names)) if *span == word.span => {
                    names.push(' ');
                    names.push_str(&piece);
                }
                _ => pieces.push((word.span.clone(), piece)),
            }
        }
    }
    for (extension, span) in &analysis.extensions {
        let source = analysis.source.get(span.clone()).ok_or(Unbound::NotStatic)?;
        match extension {
            Extension::StreamDuplicate => pieces.push((span.clone(), source.to_owned())),
            // To a plain shell `&>` is an ampersand, which would let the command run on its own.
            Extension::NullDevice if source.starts_with('&') => {
                pieces.push((span.clone(), ">/dev/null 2>&1".to_owned()));
            }
            // The first word of what a loop goes through is written with the others.
            Extension::Loop if source == "for" => {}
            Extension::NullDevice | Extension::Conditional | Extension::Loop => {
                pieces.push((span.clone(), source.to_owned()));
            }
            // Words and gaps are written anew anyway.
            Extension::LineContinuation
            | Extension::ExitStatus
            | Extension::LiteralSubstitution
            | Extension::PathNames
            | Extension::Comments
            | Extension::KnownVariable
            | Extension::DoubleBracket
            | Extension::InputFile
            | Extension::Group => {}
        }
    }
    Ok(pieces)
}

/// Whether the word at `index` closes a `[`.
fn is_closing_bracket(segment: &Segment, index: usize) -> bool {
    let opens = segment.words.first().is_some_and(|word| word.text == "[");
    let closes = segment.words.get(index).is_some_and(|word| word.text == "]");
    opens && closes && index + 1 == segment.words.len()
}

/// A literal word, or one that prints the last status and was written in a way that can only mean that.
fn argument(analysis: &Analysis, word: &Word) -> Result<String, Unbound> {
    if !word.expands {
        return Ok(quoted(&word.text));
    }
    let source = analysis.source.get(word.span.clone()).ok_or(Unbound::NotStatic)?;
    let inner = match source.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').ok_or(Unbound::Expansion)?,
        // What stands bare beside a variable must be the same in quotes.
        None if source.bytes().all(is_plain) => source,
        None => return Err(Unbound::Expansion),
    };
    let told = |at: usize| {
        let at = word.span.start + at + usize::from(source.len() > inner.len());
        let told = [Extension::ExitStatus, Extension::KnownVariable];
        analysis.extensions.iter().any(|(extension, span)| span.start == at && told.contains(extension))
    };
    if inner.contains(['"', '\\', '`']) || !inner.match_indices('$').all(|(at, _)| told(at)) {
        return Err(Unbound::Expansion);
    }
    Ok(format!("\"{inner}\""))
}

/// Whether a letter means itself to every shell, in quotes and without, or belongs to what is told.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"$?{}_./:,+-".contains(&byte)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Writes what stands between two pieces.
fn gap(text: &mut String, gap: &str) -> Result<(), Unbound> {
    let mut rest = gap.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            ' ' | '\t' => text.push(' '),
            '\n' | ';' | '(' | ')' | '{' | '}' | '!' => text.push(next),
            // Some shells would keep it in the word before.
            '\r' if rest.peek() == Some(&'\n') => {}
            '\\' if rest.next_if_eq(&'\n').is_some() => text.push(' '),
            '&' if rest.next_if_eq(&'&').is_some() => text.push_str("&&"),
            '|' if rest.next_if_eq(&'|').is_some() => text.push_str("||"),
            '|' if rest.peek() != Some(&'&') => text.push('|'),
            '#' => while rest.next_if(|next| *next != '\n').is_some() {},
            _ => return Err(Unbound::NotStatic),
        }
    }
    Ok(())
}

/// Reads the text again, as a plain shell would.
fn says_the_same(text: &str, analysis: &Analysis, steps: &[Step]) -> bool {
    let Ok(script) = shell::parse(text) else { return false };
    let groups = |extensions: &[(Extension, Range<usize>)]| {
        extensions.iter().filter(|(extension, _)| *extension == Extension::Group).count()
    };
    let flow = |text: &str, extensions: &[(Extension, Range<usize>)]| -> Vec<Option<String>> {
        let is_flow = |extension: Extension| matches!(extension, Extension::Conditional | Extension::Loop);
        let words = extensions.iter().filter(|(extension, _)| is_flow(*extension));
        words.map(|(_, span)| text.get(span.clone()).map(str::to_owned)).collect()
    };
    script.dialect == Dialect::Posix
        && script.commands.len() == analysis.segments.len()
        && groups(&script.extensions) == groups(&analysis.extensions)
        && flow(text, &script.extensions) == flow(&analysis.source, &analysis.extensions)
        && script.commands.iter().zip(&analysis.segments).zip(steps).all(|((command, segment), step)| {
            let words = segment.words.iter().enumerate().skip(step.first());
            let wanted = words.map(|(index, word)| step.path_at(index).unwrap_or(&word.text));
            wanted.eq(texts(&command.words))
                && command.operator == segment.operator
                && command.negated == segment.negated
                && texts(&command.assignments).eq(texts(&segment.assignments))
        })
}

fn texts(words: &[Word]) -> impl Iterator<Item = &str> {
    words.iter().map(|word| word.text.as_str())
}

/// Words before those that a loop goes through.
const HEAD: usize = 3;

/// Room for quotes and real paths, in bytes.
const EXTRA_BYTES: usize = 256;

/// Longest text, in bytes: one argument of a program is no longer on Linux.
const TEXT_BYTES: usize = 131_071;
