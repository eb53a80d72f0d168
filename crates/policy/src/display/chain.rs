//! The text of `sh -c TEXT` as its parts, so that those which nobody allowed can be marked. Every character
//! of the text is in a part, in a box, or in an operator between parts.

use super::{lines, segment_view};
use countersign_commands::analysis::{Analysis, Form, Operator, Segment, Transport};
use countersign_protocol::shown::{ArgRole, ArgView, SegmentView};
use std::ops::Range;

/// The parts of the text in `argv`, which `analysis` looked through. `None` when it did not, or when parts of
/// it do not follow one another.
pub(super) fn parts(argv: &[String], analysis: &Analysis, missed: &[usize]) -> Option<Vec<SegmentView>> {
    let [_, _, text] = argv else { return None };
    let looked_through = analysis.form == Form::Text
        && analysis.transport == Transport::Direct
        && analysis.opaque.is_none()
        && analysis.source == *text;
    if !looked_through || analysis.segments.is_empty() {
        return None;
    }
    let places = places(text, &analysis.segments)?;
    let views = analysis.segments.iter().zip(places).enumerate().map(|(index, (segment, place))| {
        let missed = missed.contains(&index);
        if words_say_it_all(text, segment, &place) {
            let words: Vec<String> = segment.words.iter().map(|word| word.text.clone()).collect();
            return Some(segment_view(&words, segment.operator, missed));
        }
        let part = ArgView { role: ArgRole::Text, shown: lines(text.get(place)?), missed };
        let operator = segment.operator.map(|operator| operator.as_str().to_owned());
        Some(SegmentView { operator, args: vec![part], missed })
    });
    views.collect()
}

/// The text that a shell would run, where the list is a shell's call and nothing else.
pub(super) fn text(argv: &[String]) -> Option<&str> {
    let [shell, flags, text] = argv else { return None };
    let name = shell.rsplit('/').next().unwrap_or(shell);
    (SHELLS.contains(&name) && TEXT_FOLLOWS.contains(&flags.as_str())).then_some(text)
}

/// The bytes of each part. What stands between two and is more than the operator belongs to
/// the first of them.
fn places(text: &str, segments: &[Segment]) -> Option<Vec<Range<usize>>> {
    let mut places: Vec<Range<usize>> = Vec::with_capacity(segments.len());
    for segment in segments {
        let Range { mut start, end } = segment.span;
        if let Some(before) = places.last_mut() {
            if !is_operator(text.get(before.end..start)?, segment.operator) {
                before.end = start;
            }
        } else if !is_blank(text.get(..start)?) {
            start = 0;
        }
        text.get(start..end)?;
        places.push(start..end);
    }
    let last = places.last_mut()?;
    let rest = text.get(last.end..)?;
    if !is_blank(rest) && rest.trim_matches(BLANKS) != ";" {
        last.end = text.len();
    }
    Some(places)
}

/// Whether boxes show all of a part: its words and blanks between them, and nothing that a
/// shell would expand.
fn words_say_it_all(text: &str, segment: &Segment, place: &Range<usize>) -> bool {
    let mut at = place.start;
    let mut only_blanks = |until: usize, next: usize| {
        let gap = text.get(at..until);
        at = next;
        gap.is_some_and(is_blank)
    };
    !segment.negated
        && segment.assignments.is_empty()
        && segment.words.iter().all(|word| !word.expands && only_blanks(word.span.start, word.span.end))
        && only_blanks(place.end, place.end)
}

fn is_operator(between: &str, operator: Option<Operator>) -> bool {
    let between = between.trim_matches(BLANKS);
    match operator {
        Some(Operator::Then) => between.is_empty() || between == ";",
        Some(operator) => between == operator.as_str(),
        None => false,
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_matches(BLANKS).is_empty()
}

/// The words in front of the text.
pub(super) fn shell(argv: &[String]) -> Vec<ArgView> {
    let words = argv.get(..argv.len().saturating_sub(1)).unwrap_or_default();
    segment_view(words, None, false).args
}

const BLANKS: [char; 3] = [' ', '\t', '\n'];

/// Shells that read a text the same way, as far as a reader of it is concerned.
const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// Flags after which the next argument is the text.
const TEXT_FOLLOWS: [&str; 4] = ["-c", "-ec", "-lc", "-ic"];

#[cfg(test)]
mod tests {
    use super::super::{command_view, original};
    use countersign_protocol::shown::{ArgRole, CommandForm};
    use pretty_assertions::assert_eq;

    /// The parts as text: boxes in brackets, missed parts with a mark in front.
    fn check(text: &str, missed: &[usize], expected: &[&str]) {
        let argv = ["sh", "-c", text].map(str::to_owned);
        let view = command_view(&argv, missed);
        let parts: Vec<String> = view
            .segments
            .iter()
            .map(|segment| {
                let args = segment.args.iter().map(|arg| {
                    let text = original(&arg.shown).unwrap();
                    if arg.role == ArgRole::Text { text } else { format!("[{text}]") }
                });
                let mark = if segment.missed { "!" } else { "" };
                assert_eq!(
                    segment.missed, segment.args[0].missed,
                    "the mark is on the part and on its beginning"
                );
                format!(
                    "{mark}{}{}",
                    segment.operator.as_deref().unwrap_or_default(),
                    args.collect::<String>()
                )
            })
            .collect();
        assert_eq!(parts, expected, "{text:?}");
        assert_eq!(view.form, CommandForm::Argv);
        assert!(view.copy.starts_with("sh -c "), "{}", view.copy);
        let shell: Vec<_> = view.shell.iter().map(|arg| original(&arg.shown).unwrap()).collect();
        assert_eq!(shell, ["sh", "-c"]);
    }

    #[test]
    fn each_part_of_a_chain_is_shown_and_every_missed_one_is_marked() {
        check("cd src && npm test | tail -n 5", &[1], &["[cd][src]", "!&&[npm][test]", "|[tail][-n][5]"]);
        check(
            "git status\ngit  push origin 'a  b';",
            &[1],
            &["[git][status]", "!;[git][push][origin][a  b]"],
        );
        check("ls", &[0], &["![ls]"]);
        check("make && ls | tee a", &[0, 2], &["![make]", "&&[ls]", "!|[tee][a]"]);
    }

    #[test]
    fn what_is_more_than_words_is_shown_as_it_is_written() {
        check("npm test 2>&1 | tail -5", &[0], &["!npm test 2>&1", "|[tail][-5]"]);
        check("ls *.rs && wc -l", &[1], &["ls *.rs", "!&&[wc][-l]"]);
        check("! test -d src # why", &[0], &["!! test -d src # why"]);
        check("echo 'a  b' \"$?\"; FOO=1 npm test", &[1], &["echo 'a  b' \"$?\"", "!;FOO=1 npm test"]);
        check("(cd src && make) | tail -3", &[1], &["(cd src", "!&&make) | ", "|[tail][-3]"]);
    }
}
