//! Parameters as agents write them: the peers' spellings of a name are taken too, and contradictions are not.

use crate::tool::ToolError;
use serde_json::{Map, Value};

/// Ways to write one parameter; the first is the one that agents are told.
pub(super) type Spellings = &'static [&'static str];

/// Of a file.
pub(super) const PATH: Spellings = &["path", "file_path", "filePath", "file"];
/// What is written.
pub(super) const CONTENT: Spellings = &["content", "file_text"];
/// What is replaced.
pub(super) const FROM: Spellings = &["old_text", "old_string", "oldText", "oldString", "old_str"];
/// By what.
pub(super) const TO: Spellings = &["new_text", "new_string", "newText", "newString", "new_str"];
/// Wherever it is.
pub(super) const EVERYWHERE: Spellings = &["replace_all", "replaceAll"];
/// Several replacements.
pub(super) const EDITS: Spellings = &["edits"];
/// A patch.
pub(super) const PATCH: Spellings = &["input", "patch"];
/// The first line that is read.
pub(super) const OFFSET: Spellings = &["offset"];
/// How many lines are read.
pub(super) const LIMIT: Spellings = &["limit"];

/// The parameters of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params<'a> {
    tool: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Params<'a> {
    /// Of a call of `tool`.
    pub(super) fn new(tool: &'a str, map: &'a Map<String, Value>) -> Self {
        Self { tool, map }
    }

    /// A parameter that is a text.
    pub(super) fn text(self, spellings: Spellings) -> Result<Option<&'a str>, ToolError> {
        self.one(spellings, "a text", Value::as_str)
    }

    /// The same, which has to be there.
    pub(super) fn required(self, spellings: Spellings) -> Result<&'a str, ToolError> {
        let name = spellings.first().copied().unwrap_or_default();
        self.text(spellings)?.ok_or_else(|| self.wrong(format!("`{name}` is missing; expected a text")))
    }

    /// A parameter that is a number from 1.
    pub(super) fn count(self, spellings: Spellings) -> Result<Option<usize>, ToolError> {
        let count =
            |value: &Value| value.as_u64().filter(|count| *count > 0).and_then(|n| usize::try_from(n).ok());
        self.one(spellings, "a whole number from 1", count)
    }

    /// A parameter that is true or false; false when it is not there.
    pub(super) fn flag(self, spellings: Spellings) -> Result<bool, ToolError> {
        Ok(self.one(spellings, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    /// A parameter that is a list of objects.
    pub(super) fn objects(self, spellings: Spellings) -> Result<Option<Vec<Params<'a>>>, ToolError> {
        let Some(items) = self.one(spellings, "a list", |value| value.as_array())? else { return Ok(None) };
        let objects = items.iter().zip(1..).map(|(item, number)| match item {
            Value::Object(map) => Ok(Self { tool: self.tool, map }),
            other => {
                Err(self.wrong(format!("`edits`: entry {number}: expected an object, found {}", kind(other))))
            }
        });
        objects.collect::<Result<_, _>>().map(Some)
    }

    /// An error about them.
    pub(super) fn wrong(self, problem: impl Into<String>) -> ToolError {
        ToolError::Params { tool: self.tool.to_owned(), problem: problem.into() }
    }

    /// Null counts as not being there.
    fn one<T: PartialEq>(
        self,
        spellings: Spellings,
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ToolError> {
        let mut known: Option<(&str, T)> = None;
        for name in spellings {
            let Some(value) = self.map.get(*name).filter(|value| !value.is_null()) else { continue };
            let Some(read) = read(value) else {
                return Err(self.wrong(format!("`{name}`: expected {expected}, found {}", kind(value))));
            };
            match &known {
                Some((other, first)) if *first != read => {
                    return Err(self.wrong(format!("`{other}` and `{name}` mean the same and differ")));
                }
                _ => known = Some((name, read)),
            }
        }
        Ok(known.map(|(_, value)| value))
    }
}

/// What a value is, for a message: never what is in it.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(params: Value, expected: Result<Option<&str>, &str>) {
        let Value::Object(map) = params else { panic!("an object") };
        let found = Params::new("write_file", &map).text(PATH).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(|problem| format!("write_file: {problem}")), "{map:?}");
    }

    #[test]
    fn the_peers_spellings_are_taken_and_contradictions_are_not() {
        check(json!({}), Ok(None));
        check(json!({ "path": null }), Ok(None));
        check(json!({ "path": "a" }), Ok(Some("a")));
        check(json!({ "file_path": "a", "path": null }), Ok(Some("a")));
        check(json!({ "file_path": "a", "path": "a" }), Ok(Some("a")));
        check(
            json!({ "file_path": "b", "path": "a" }),
            Err("`path` and `file_path` mean the same and differ"),
        );
        check(json!({ "path": ["a"] }), Err("`path`: expected a text, found a list"));
        check(json!({ "path": "a", "filePath": 1 }), Err("`filePath`: expected a text, found a number"));
    }

    #[test]
    fn numbers_and_lists_are_what_they_should_be() {
        let params = json!({ "offset": 0, "limit": 1.5, "edits": [{}, 1], "replace_all": "yes" });
        let Value::Object(map) = params else { panic!("an object") };
        let params = Params::new("t", &map);
        let problems = [
            params.count(OFFSET).map(|_| ()),
            params.count(LIMIT).map(|_| ()),
            params.objects(EDITS).map(|_| ()),
            params.flag(EVERYWHERE).map(|_| ()),
            params.required(PATCH).map(|_| ()),
        ];
        let problems: Vec<String> =
            problems.into_iter().map(|problem| problem.unwrap_err().to_string()).collect();
        assert_eq!(
            problems,
            [
                "t: `offset`: expected a whole number from 1, found a number",
                "t: `limit`: expected a whole number from 1, found a number",
                "t: `edits`: entry 2: expected an object, found a number",
                "t: `replace_all`: expected true or false, found a text",
                "t: `input` is missing; expected a text",
            ]
        );
    }
}
