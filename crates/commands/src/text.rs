//! Texts as such: what the peers call white space.

/// What JavaScript trims: white space and the byte order mark, but not the next-line control.
pub fn is_js_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}
