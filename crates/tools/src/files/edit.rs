//! `edit_file`: texts replaced by others, each found exactly once, or everywhere where that is said.

use super::error::FileError;
use super::limits;
use super::params::{EDITS, EVERYWHERE, FROM, PATH, Params, TO};
use super::pinned::Purpose;
use super::tool::{FileTool, changes};
use super::workspace::Workspace;
use crate::changes::ChangeKind;
use crate::tool::{Plan, ToolError};
use serde_json::json;

/// Replaces texts in a file. Several edits are all looked for in the file as it is, and may not overlap: what
/// comes of them does not depend on their order.
pub fn edit_file() -> FileTool {
    let edit = json!({
        "old_text": { "type": "string", "description": "Text that is there exactly once, to the letter." },
        "new_text": { "type": "string", "description": "What replaces it." },
        "replace_all": { "type": "boolean", "description": "Replace it wherever it is." },
    });
    let mut properties = edit.clone();
    properties["path"] = json!({ "type": "string", "description": "The file, beneath the workspace." });
    properties["edits"] = json!({
        "type": "array",
        "description": "Several edits instead of one, each found in the file as it is now.",
        "items": { "type": "object", "properties": edit, "required": ["old_text", "new_text"] },
    });
    let parameters = json!({
        "type": "object",
        "properties": properties,
        "required": ["path"],
        "additionalProperties": false,
    });
    let description = "Replace text in a file beneath the workspace: either old_text and new_text, or edits. \
                       Each old text must occur exactly once unless replace_all is set. A person may be asked \
                       first, and sees what differs.";
    FileTool::new("edit_file", description, parameters, plan)
}

/// One replacement.
struct Edit<'a> {
    from: &'a str,
    to: &'a str,
    is_everywhere: bool,
}

fn plan(params: Params<'_>, workspace: Workspace) -> Result<Plan, ToolError> {
    let path = params.required(PATH)?;
    let edits = edits(params)?;
    changes(workspace, |planner| {
        let found = planner.find_existing(path, Purpose::Replace)?;
        let text = replaced(found.text()?, &edits)
            .map_err(|problem| FileError::content(&found.place.real_path, problem.to_string()))?;
        Ok(planner.write(found, ChangeKind::Edit, text)?)
    })
}

fn edits(params: Params<'_>) -> Result<Vec<Edit<'_>>, ToolError> {
    let single = params.text(FROM)?.is_some() || params.text(TO)?.is_some();
    let list = params.objects(EDITS)?.unwrap_or_default();
    if single && !list.is_empty() {
        return Err(params.wrong("`old_text` and `edits` exclude each other"));
    }
    if list.len() > limits::EDITS {
        return Err(params.wrong(format!("{} edits; expected at most {}", list.len(), limits::EDITS)));
    }
    let list = if list.is_empty() { vec![params] } else { list };
    let edits = list.into_iter().map(|params| {
        let edit = Edit {
            from: params.required(FROM)?,
            to: params.required(TO)?,
            is_everywhere: params.flag(EVERYWHERE)?,
        };
        match edit {
            Edit { from: "", .. } => {
                Err(params.wrong("`old_text` is empty; expected a text that is in the file"))
            }
            Edit { from, to, .. } if from == to => {
                Err(params.wrong("`old_text` and `new_text` are the same"))
            }
            edit => Ok(edit),
        }
    });
    edits.collect()
}

/// Why edits are not made.
#[derive(Debug, PartialEq, thiserror::Error)]
enum NotEdited {
    #[error("{which} occurs too often; at most {} places are replaced", limits::REPLACED)]
    TooOften { which: String },
    #[error("{which} does not occur{hint}; expected it exactly once")]
    Missing { which: String, hint: &'static str },
    #[error(
        "{which} occurs {times}{more} times (lines {lines}); expected it exactly once: take more of the text around it, or set \
         replace_all"
    )]
    Ambiguous { which: String, times: usize, more: &'static str, lines: String },
    #[error("two edits overlap in line {line}; expected each to replace a text of its own")]
    Overlap { line: usize },
    #[error("it would have more than {} bytes", limits::CHANGED_BYTES)]
    TooLarge,
    #[error("the edits together change nothing")]
    Nothing,
}

/// The text with every edit made; what is wrong otherwise.
fn replaced(text: &str, edits: &[Edit<'_>]) -> Result<String, NotEdited> {
    let mut places = Vec::new();
    for (edit, number) in edits.iter().zip(1..) {
        let which =
            if edits.len() == 1 { "old_text".to_owned() } else { format!("the old_text of edit {number}") };
        if edit.is_everywhere {
            places.extend(text.match_indices(edit.from).take(limits::REPLACED + 1).map(|(at, _)| (at, edit)));
            if places.len() > limits::REPLACED {
                return Err(NotEdited::TooOften { which });
            }
        } else if let [at] = *occurrences(text, edit.from, 2) {
            places.push((at, edit));
        }
        match occurrences(text, edit.from, COUNTED).as_slice() {
            [] => {
                let hint = if text.contains("\r\n") {
                    " (its lines end with a carriage return and a line feed)"
                } else {
                    ""
                };
                return Err(NotEdited::Missing { which, hint });
            }
            [_] => {}
            _ if edit.is_everywhere => {}
            many => {
                let more = if many.len() == COUNTED { " or more" } else { "" };
                let lines: Vec<String> =
                    many.iter().take(NAMED).map(|at| line_of(text, *at).to_string()).collect();
                let lines = lines.join(", ");
                return Err(NotEdited::Ambiguous { which, times: many.len(), more, lines });
            }
        }
    }
    places.sort_by_key(|(at, _)| *at);
    let mut result = String::with_capacity(text.len());
    let mut end = 0;
    for (at, edit) in places {
        let between = text.get(end..at).ok_or_else(|| NotEdited::Overlap { line: line_of(text, at) })?;
        result.push_str(between);
        result.push_str(edit.to);
        end = at + edit.from.len();
        if result.len() > limits::CHANGED_BYTES {
            return Err(NotEdited::TooLarge);
        }
    }
    result.push_str(text.get(end..).unwrap_or_default());
    if result == text {
        return Err(NotEdited::Nothing);
    }
    Ok(result)
}

/// Where `wanted` begins in `text`, overlaps included, at most `most` times.
fn occurrences(text: &str, wanted: &str, most: usize) -> Vec<usize> {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < most
        && let Some(at) = text.get(from..).and_then(|rest| rest.find(wanted))
    {
        found.push(from + at);
        from += at + step;
    }
    found
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Most occurrences that are counted: an agent needs no more to see that its text is too short.
const COUNTED: usize = 1_000;

/// Most of them whose lines are named.
const NAMED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, edits: &[(&str, &str, bool)], expected: Result<&str, &str>) {
        let edits: Vec<Edit<'_>> =
            edits.iter().map(|(from, to, all)| Edit { from, to, is_everywhere: *all }).collect();
        let found = replaced(text, &edits);
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{found}"),
            _ => panic!("{text:?}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn an_edit_needs_exactly_one_place() {
        check("a b a", &[("b", "c", false)], Ok("a c a"));
        check("a b a", &[("a", "c", false)], Err("occurs 2 times (lines 1, 1)"));
        check("a\nb\na", &[("a", "c", false)], Err("(lines 1, 3)"));
        check("a b a", &[("a", "c", true)], Ok("c b c"));
        check("a b a", &[("A", "c", false)], Err("does not occur;"));
        check("a b a", &[("A", "c", true)], Err("does not occur;"));
        check("aaa", &[("aa", "c", false)], Err("occurs 2 times"));
        check("aaa", &[("aa", "c", true)], Ok("ca"));
        check("a\r\nb", &[("a\nb", "c", false)], Err("carriage return"));
        check("ää", &[("ä", "b", false)], Err("occurs 2 times"));
        check(&"x".repeat(2_000), &[("x", "y", false)], Err("occurs 1000 or more times"));
    }

    #[test]
    fn several_edits_are_found_in_the_text_as_it_is() {
        check("one two", &[("two", "one", false), ("one", "two", false)], Ok("two one"));
        check("one two", &[("one t", "x", false), ("two", "y", false)], Err("two edits overlap in line 1"));
        check("one two", &[("one", "two", false), ("two two", "x", false)], Err("of edit 2 does not occur"));
        check("ab", &[("ab", "x", false), ("ab", "y", false)], Err("overlap"));
        check("a a", &[("a", "b", true), (" ", "", false)], Ok("bb"));
        check("ab", &[("a", "", false), ("b", "ab", false)], Err("change nothing"));
    }
}
