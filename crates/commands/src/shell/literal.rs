//! `"$(cat <<'EOF' … EOF)"`: a substitution whose output stands in the text itself. It is how agents write
//! words of many lines. Nothing but `cat` may stand in it and the delimiter must be quoted, so that no shell
//! expands anything in the lines between.

use super::Extension;
use super::lexer::Lexer;

impl Lexer<'_> {
    /// Takes such a substitution, which begins here in double quotes, and adds what it stands for; without
    /// one nothing is taken.
    pub(super) fn literal_substitution(&mut self, value: &mut String) -> bool {
        let Some((literal, length)) = literal_substitution(self.rest()) else { return false };
        value.push_str(literal);
        self.extend(Extension::LiteralSubstitution, self.at..self.at + length);
        self.at += length;
        true
    }
}

/// What a substitution at the beginning of `text` stands for, and how long it is.
fn literal_substitution(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix("$(")?.trim_start_matches(BLANKS);
    let rest = rest.strip_prefix("cat")?.trim_start_matches(BLANKS);
    let rest = rest.strip_prefix("<<")?.trim_start_matches(BLANKS);
    let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let (delimiter, rest) = rest[1..].split_once(quote)?;
    let named = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if delimiter.is_empty() || delimiter.len() > DELIMITER_BYTES || !delimiter.bytes().all(named) {
        return None;
    }
    let body = rest.trim_start_matches(BLANKS).strip_prefix('\n')?;
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        if line.strip_suffix('\n') == Some(delimiter) {
            let literal = &body[..end];
            let rest = body[end + line.len()..].trim_start_matches([' ', '\t', '\n']).strip_prefix(')')?;
            // Shells lose these, each in its own way.
            let kept = !literal.contains(['\0', '\r']);
            return kept.then(|| (literal.trim_end_matches('\n'), text.len() - rest.len()));
        }
        end += line.len();
    }
    None
}

/// What may stand between the words of a line.
const BLANKS: [char; 2] = [' ', '\t'];

/// Longest delimiter, in bytes; they are words such as `EOF`.
const DELIMITER_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let found = literal_substitution(text);
        assert_eq!(found.map(|(literal, _)| literal), expected, "{text:?}");
        if let Some((_, length)) = found {
            assert!(text[..length].ends_with(')'), "{text:?}");
        }
    }

    #[test]
    fn the_lines_between_the_delimiters_are_the_value() {
        check("$(cat <<'EOF'\none\n\n  it's $two `x`\nEOF\n)\" more)", Some("one\n\n  it's $two `x`"));
        check("$(cat << \"A_1\" \nx\n\n\nA_1\n  )", Some("x"));
        check("$( cat<<'E'\n EOF\nEE\nE\n)", Some(" EOF\nEE"));
        check("$(cat <<'E'\nE\n)", Some(""));
        check("$(cat <<'E'\na)\nE\n)", Some("a)"));
        check("$(cat <<'E'\na \\\nE\n)", Some("a \\"));
    }

    #[test]
    fn anything_else_in_it_makes_it_another_substitution() {
        for text in [
            "$(cat <<EOF\nx\nEOF\n)",
            "$(cat <<\\EOF\nx\nEOF\n)",
            "$(cat <<-'EOF'\nx\nEOF\n)",
            "$(cat <<<'EOF'\nx\nEOF\n)",
            "$(cat x <<'EOF'\nx\nEOF\n)",
            "$(cat <<'EOF' x\nx\nEOF\n)",
            "$(cat <<'EOF'; id\nx\nEOF\n)",
            "$(cat <<'EOF' | sh\nx\nEOF\n)",
            "$(cat <<'EOF' >x\nx\nEOF\n)",
            "$(cat <<'EOF'\nx\nEOF\nid)",
            "$(cat <<'EOF'\nx\nEOF; id\n)",
            "$(cat <<'EOF'\nx\nEOF)",
            "$(cat <<'EOF'\nx\n EOF\n)",
            "$(cat <<'EOF'\nx\nEOF\r\n)",
            "$(cat <<'EOF'\nx\r\nEOF\n)",
            "$(cat <<'E F'\nx\nE F\n)",
            "$(cat <<''\nx\n\n)",
            "$(cat <<'EO'F\nx\nEOF\n)",
            "$(concat <<'EOF'\nx\nEOF\n)",
            "$(catx <<'EOF'\nx\nEOF\n)",
            "$(cat <<'EOF'\nx",
            "$(cat <<'EOF'\nx\nEOF",
            "$(cat <<'EOF'\nx\nEOF\n",
            "`cat <<'EOF'\nx\nEOF\n`",
        ] {
            check(text, None);
        }
    }
}
