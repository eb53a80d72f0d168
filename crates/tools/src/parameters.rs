//! Parameters of a call, read strictly: a member that nobody knows or of the wrong kind is an error, because
//! a misspelt one that was to harden a call would be passed over.

use crate::tool::ToolError;
use countersign_protocol::vocabulary::UnknownWord;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The parameters of a call as they arrived: absent and null are none, anything but an object is an error.
pub fn object(tool: &str, value: Option<Value>) -> Result<Map<String, Value>, ToolError> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(params)) => Ok(params),
        Some(other) => Err(ToolError::Params {
            tool: tool.to_owned(),
            problem: format!("parameters: expected an object, got {}", kind(&other)),
        }),
    }
}

/// Reads the parameters of one call.
pub(crate) struct Parameters<'a> {
    tool: &'a str,
    params: &'a Map<String, Value>,
}

impl<'a> Parameters<'a> {
    /// Refuses members that are none of `known`.
    pub(crate) fn new(
        tool: &'a str,
        params: &'a Map<String, Value>,
        known: &[&str],
    ) -> Result<Self, ToolError> {
        let this = Self { tool, params };
        match params.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(this),
            Some(name) => Err(this.bad(format!("expected {}, got {name:?}", known.join(", ")))),
        }
    }

    /// A parameter that is not what it has to be.
    pub(crate) fn bad(&self, problem: String) -> ToolError {
        ToolError::Params { tool: self.tool.to_owned(), problem }
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a text", other)),
        }
    }

    /// A text that has to be there and is not blank.
    pub(crate) fn needed_text(&self, name: &str) -> Result<&'a str, ToolError> {
        let text = self.text(name)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| self.bad(format!("{name}: expected a text that is not blank, got none")))
    }

    /// One of the words of the field, as exactly as everywhere.
    pub(crate) fn word<T: FromStr<Err = UnknownWord>>(&self, name: &str) -> Result<Option<T>, ToolError> {
        let word = self.text(name)?.map(str::parse).transpose();
        word.map_err(|error: UnknownWord| self.bad(format!("{name}: {error}")))
    }

    /// True or false.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, ToolError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.wrong(name, "true or false", other)),
        }
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&self, name: &str) -> Result<Option<u64>, ToolError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(count) => Ok(Some(count)),
                None => Err(self.wrong(name, "a whole number, 0 or more", value)),
            },
        }
    }

    /// An object whose members are texts.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, ToolError> {
        let members = match self.get(name) {
            None => return Ok(None),
            Some(Value::Object(members)) => members,
            Some(other) => return Err(self.wrong(name, "an object of texts", other)),
        };
        let text = |(key, value): (&String, &Value)| match value {
            Value::String(text) => Ok((key.clone(), text.clone())),
            other => Err(self.wrong(&format!("{name}.{key}"), "a text", other)),
        };
        members.iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.params.get(name).filter(|value| !value.is_null())
    }

    fn wrong(&self, name: &str, expected: &str, got: &Value) -> ToolError {
        self.bad(format!("{name}: expected {expected}, got {}", kind(got)))
    }
}

/// What a value is, without saying what is in it.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn check<T: std::fmt::Debug + PartialEq>(
        params: Value,
        read: impl Fn(&Parameters<'_>) -> Result<T, ToolError>,
        expected: Result<T, &str>,
    ) {
        let params = object("t", Some(params)).unwrap();
        let got = Parameters::new("t", &params, &["a", "b"]).and_then(|parameters| read(&parameters));
        assert_eq!(got.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{params:?}");
    }

    #[test]
    fn absent_and_null_are_no_parameters_and_other_kinds_are_refused() {
        for none in [None, Some(Value::Null), Some(json!({}))] {
            assert_eq!(object("t", none).unwrap(), Map::new());
        }
        for (bad, got) in [(json!([]), "an array"), (json!("{}"), "a text"), (json!(7), "7")] {
            let error = object("t", Some(bad)).unwrap_err().to_string();
            assert_eq!(error, format!("t: parameters: expected an object, got {got}"));
        }
    }

    #[test]
    fn members_are_read_by_their_kind() {
        check(json!({"a": " x "}), |from| from.needed_text("a").map(str::to_owned), Ok(" x ".to_owned()));
        check(json!({"a": null}), |from| from.text("a").map(|text| text.map(str::to_owned)), Ok(None));
        check(json!({"a": true}), |from| from.flag("a"), Ok(Some(true)));
        check(json!({"a": 7}), |from| from.count("a"), Ok(Some(7)));
        check(
            json!({"a": "on-miss"}),
            |from| from.word("a"),
            Ok(Some(countersign_protocol::vocabulary::Ask::OnMiss)),
        );
        let env = BTreeMap::from([("X".to_owned(), "1".to_owned())]);
        check(json!({"a": {"X": "1"}}), |from| from.texts("a"), Ok(Some(env)));
    }

    #[test]
    fn what_is_unknown_or_of_another_kind_is_refused_and_named() {
        check(
            json!({"c": 1}),
            |from| from.text("a").map(|text| text.map(str::to_owned)),
            Err("t: expected a, b, got \"c\""),
        );
        check(
            json!({"a": " "}),
            |from| from.needed_text("a").map(str::to_owned),
            Err("t: a: expected a text that is not blank, got none"),
        );
        check(
            json!({"a": ["x"]}),
            |from| from.text("a").map(|text| text.map(str::to_owned)),
            Err("t: a: expected a text, got an array"),
        );
        check(json!({"a": "yes"}), |from| from.flag("a"), Err("t: a: expected true or false, got a text"));
        check(
            json!({"a": -1}),
            |from| from.count("a"),
            Err("t: a: expected a whole number, 0 or more, got -1"),
        );
        check(
            json!({"a": 1.5}),
            |from| from.count("a"),
            Err("t: a: expected a whole number, 0 or more, got 1.5"),
        );
        check(json!({"a": {"X": 1}}), |from| from.texts("a"), Err("t: a.X: expected a text, got 1"));
        check(
            json!({"a": "Off"}),
            |from| from.word::<countersign_protocol::vocabulary::Ask>("a"),
            Err("t: a: expected one of off, on-miss, always, got \"Off\""),
        );
    }
}
