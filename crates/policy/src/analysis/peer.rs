//! Where the newest peer is stricter than a shell: its parser takes some literal words for dynamic ones.

/// Whether the peer would call a word dynamic that shells take literally. `raw` is the word as typed.
///
/// It looks for wildcards and brackets anywhere in a word that is not one quoted string, inside its quotes too, and
/// then for anything that looks like an expansion, escaped or not.
pub(super) fn is_dynamic_to_the_peer(raw: &str) -> bool {
    raw.contains(['$', '`', '(']) && !is_one_string(raw) && has_pattern(raw) && has_expansion(raw)
}

fn is_one_string(raw: &str) -> bool {
    let body = raw.strip_prefix('$').unwrap_or(raw);
    let Some(quote) = body.chars().next().filter(|c| matches!(c, '\'' | '"')) else { return false };
    let escapes = quote == '"' || raw.starts_with('$');
    let mut chars = body.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' && escapes {
            chars.next();
        } else if c == quote {
            return at + 1 == body.len();
        }
    }
    false
}

fn has_pattern(raw: &str) -> bool {
    let mut chars = raw.char_indices();
    while let Some((at, c)) = chars.next() {
        let closed = |close: char| {
            raw.get(at + 1..).and_then(|rest| rest.find(close)).is_some_and(|distance| distance > 0)
        };
        match c {
            '\\' => drop(chars.next()),
            '*' | '?' => return true,
            '[' if closed(']') => return true,
            '{' if closed('}') => return true,
            _ => {}
        }
    }
    false
}

fn has_expansion(raw: &str) -> bool {
    let names =
        |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_@*?#$!-{(".contains(c));
    raw.contains('`')
        || raw.contains("<(")
        || raw.contains(">(")
        || raw.match_indices('$').any(|(at, _)| names(raw.get(at + 1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::is_dynamic_to_the_peer;

    #[test]
    fn mixed_words_with_wildcards_and_escaped_expansions_are_dynamic_to_the_peer() {
        for raw in ["body=\"a\\`b\\` *c*\"", "*\\$HOME", "x'{a}$y'"] {
            assert!(is_dynamic_to_the_peer(raw), "{raw}");
        }
        for raw in ["\"a\\`b\\` *c*\"", "'$x*'", "body='$x'", "a*b", "x\"$\"*", "$'a\\'*$b'"] {
            assert!(!is_dynamic_to_the_peer(raw), "{raw}");
        }
    }
}
