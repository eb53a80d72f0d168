//! Where things stand in a JSON text, so that a change leaves every other byte as it is. Comments count as
//! blanks, and a comma may follow the last part. The text must have been parsed before: here nothing is
//! checked any more.

use std::ops::Range;

/// A member of an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Member {
    /// Its name.
    pub(super) name: String,
    /// From its name to the end of its value.
    pub(super) whole: Range<usize>,
    /// Its value.
    pub(super) value: Range<usize>,
}

/// The one value of a text.
pub(super) fn root(text: &str) -> Range<usize> {
    let start = skip_blank(text, 0);
    start..end_of(text, start)
}

/// The members of the object that stands there, in their order.
pub(super) fn members(text: &str, object: &Range<usize>) -> Vec<Member> {
    let mut members = Vec::new();
    for part in parts(text, object) {
        let colon = skip_blank(text, end_of(text, part.start));
        let value = skip_blank(text, colon + 1);
        let name = serde_json::from_str(&text[part.start..end_of(text, part.start)]).unwrap_or_default();
        members.push(Member { name, whole: part.clone(), value: value..part.end });
    }
    members
}

/// The elements of the list that stands there, in their order.
pub(super) fn elements(text: &str, list: &Range<usize>) -> Vec<Range<usize>> {
    parts(text, list)
}

/// What the commas of an object or a list part, without the blanks around it.
fn parts(text: &str, container: &Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = skip_blank(text, container.start + 1);
    while at + 1 < container.end {
        let mut end = end_of(text, at);
        let next = skip_blank(text, end);
        // A name: its value belongs to it.
        if text[next..].starts_with(':') {
            end = end_of(text, skip_blank(text, next + 1));
        }
        parts.push(at..end);
        let comma = skip_blank(text, end);
        if !text[comma..].starts_with(',') {
            break;
        }
        at = skip_blank(text, comma + 1);
    }
    parts
}

/// The end of the value that begins at `start`.
fn end_of(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b'/' => {
                at = end_of_comment(bytes, at);
                continue;
            }
            _ if depth == 0 => {
                return bytes[at..].iter().position(|byte| !is_scalar(*byte)).map_or(bytes.len(), |n| at + n);
            }
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Of numbers and words.
const fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Where the next thing stands that is neither blank nor comment.
pub(super) fn skip_blank(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = at;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'/' => at = end_of_comment(bytes, at),
            _ => break,
        }
    }
    at
}

/// The end of the comment that begins at `start`; a line break is not part of it. A single
/// stroke is passed over.
fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let length = match rest.get(1) {
        Some(b'/') => rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len()),
        Some(b'*') => {
            let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
            end.map_or(rest.len(), |end| end + 4)
        }
        _ => 1,
    };
    start + length
}

/// The text with blanks in the place of comments and of commas behind last parts: everything else
/// stands where it stood.
pub(super) fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut comma = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let end = match byte {
            b'"' => end_of_string(&bytes, at).min(bytes.len()),
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                let end = end_of_comment(&bytes, at);
                bytes[at..end]
                    .iter_mut()
                    .filter(|byte| !matches!(byte, b'\n' | b'\r'))
                    .for_each(|byte| *byte = b' ');
                at = end;
                continue;
            }
            _ => at + 1,
        };
        match byte {
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => comma = None,
        }
        at = end;
    }
    // Blanks took the place of whole comments, so it is text as before.
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn members_and_elements_are_found_where_they_stand() {
        let text = " { \"a\\\"}\" : [1 , \"]\",{\"x\":[]}, -1.5e+3,true ] ,\n\t\"b\":{} ,\"c\":\"\\\\\" }\n";
        let members = members(text, &root(text));
        let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["a\"}", "b", "c"]);
        let values: Vec<_> = members.iter().map(|member| &text[member.value.clone()]).collect();
        assert_eq!(values, ["[1 , \"]\",{\"x\":[]}, -1.5e+3,true ]", "{}", "\"\\\\\""]);
        let elements: Vec<_> =
            elements(text, &members[0].value).into_iter().map(|element| &text[element]).collect();
        assert_eq!(elements, ["1", "\"]\"", "{\"x\":[]}", "-1.5e+3", "true"]);
        assert_eq!(elements_of("[ ]"), Vec::<String>::new());
        assert_eq!(elements_of("[\n]"), Vec::<String>::new());
    }

    fn elements_of(text: &str) -> Vec<String> {
        elements(text, &root(text)).into_iter().map(|element| text[element].to_owned()).collect()
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<i32>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
            "[ -~\\n\\té{}\\[\\]\\\\\"]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a-z\"\\\\]{1,3}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_a_parser_finds(value in json(), pretty in any::<bool>()) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            check(&text, &root(&text), &value);
        }
    }

    fn check(text: &str, span: &Range<usize>, value: &Value) {
        assert_eq!(&serde_json::from_str::<Value>(&text[span.clone()]).unwrap(), value);
        match value {
            Value::Object(expected) => {
                let found = members(text, span);
                assert_eq!(found.len(), expected.len());
                for (member, (name, value)) in found.iter().zip(expected) {
                    assert_eq!(&member.name, name);
                    check(text, &member.value, value);
                }
            }
            Value::Array(expected) => {
                let found = elements(text, span);
                assert_eq!(found.len(), expected.len());
                found.iter().zip(expected).for_each(|(element, value)| check(text, element, value));
            }
            _ => {}
        }
    }
}
