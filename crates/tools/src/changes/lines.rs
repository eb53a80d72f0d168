//! Texts as lines, losing nothing: a line and how it ends.

/// How a line ends.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Ending {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// Not at all: the last line of a text without a final line feed.
    Missing,
}

impl Ending {
    /// The bytes that end the line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Missing => "",
        }
    }
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineEndings {
    /// No line ends.
    None,
    /// All with a line feed.
    Lf,
    /// All with a carriage return and a line feed.
    CrLf,
    /// Some so and some so.
    Mixed,
}

impl LineEndings {
    /// How those of `text` end.
    pub(crate) fn of(text: &str) -> Self {
        let all = text.bytes().filter(|byte| *byte == b'\n').count();
        let with_return = text.matches("\r\n").count();
        match (all, with_return) {
            (0, _) => Self::None,
            (_, 0) => Self::Lf,
            (all, with_return) if all == with_return => Self::CrLf,
            _ => Self::Mixed,
        }
    }
}

/// One line of a text.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Line<'a> {
    /// Without its end.
    pub(crate) text: &'a str,
    pub(crate) ending: Ending,
}

impl Line<'_> {
    /// Bytes of it in the text.
    pub(crate) fn bytes(self) -> usize {
        self.text.len() + self.ending.as_str().len()
    }
}

/// The lines of `text`; none where it is empty. Put together again they are the text.
pub(crate) fn lines(text: &str) -> impl DoubleEndedIterator<Item = Line<'_>> {
    text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        None => Line { text: line, ending: Ending::Missing },
        Some(line) => match line.strip_suffix('\r') {
            Some(text) => Line { text, ending: Ending::CrLf },
            None => Line { text: line, ending: Ending::Lf },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Ending)], endings: LineEndings) {
        let found: Vec<_> = lines(text).map(|line| (line.text, line.ending)).collect();
        assert_eq!(found, expected, "{text:?}");
        assert_eq!(LineEndings::of(text), endings, "{text:?}");
        let again: String = lines(text).flat_map(|line| [line.text, line.ending.as_str()]).collect();
        assert_eq!(again, text);
    }

    #[test]
    fn a_text_is_its_lines() {
        use Ending::{CrLf, Lf, Missing};
        check("", &[], LineEndings::None);
        check("a", &[("a", Missing)], LineEndings::None);
        check("a\n", &[("a", Lf)], LineEndings::Lf);
        check("\n\n", &[("", Lf), ("", Lf)], LineEndings::Lf);
        check("a\r\nb", &[("a", CrLf), ("b", Missing)], LineEndings::CrLf);
        check("a\r\nb\n\rc\r", &[("a", CrLf), ("b", Lf), ("\rc\r", Missing)], LineEndings::Mixed);
    }
}
