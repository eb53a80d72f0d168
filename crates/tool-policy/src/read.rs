//! Reading an object that somebody wrote, with errors that name the place.

use super::ConfigError;
use serde_json::{Map, Value};

/// An object and where it is; one that is not there has no members.
pub(super) struct At<'a> {
    path: String,
    members: Option<&'a Map<String, Value>>,
}

impl<'a> At<'a> {
    /// The whole document.
    pub(super) fn root(members: &'a Map<String, Value>) -> Self {
        Self { path: String::new(), members: Some(members) }
    }

    /// An object that stands elsewhere.
    pub(super) fn value(value: &'a Value, path: &str) -> Result<Self, ConfigError> {
        match value {
            Value::Object(members) => Ok(Self { path: path.to_owned(), members: Some(members) }),
            other => Err(kind(path.to_owned(), "an object", other)),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn object(&self, key: &str) -> Result<Self, ConfigError> {
        match self.get(key) {
            None => Ok(Self { path: self.below(key), members: None }),
            Some(value) => Self::value(value, &self.below(key)),
        }
    }

    /// Its members, each of which is an object.
    pub(super) fn objects(&self) -> Result<Vec<(&'a str, Self)>, ConfigError> {
        let members = self.members.into_iter().flatten();
        members.map(|(key, _)| Ok((key.as_str(), self.object(key)?))).collect()
    }

    pub(super) fn list(&self, key: &str) -> Result<Vec<Self>, ConfigError> {
        let path = self.below(key);
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(entries)) => {
                let entries = entries.iter().enumerate();
                entries.map(|(at, entry)| Self::value(entry, &format!("{path}[{at}]"))).collect()
            }
            Some(other) => Err(kind(path, "a list", other)),
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => {
                let got = text.chars().count();
                if got > MAX_TEXT {
                    return Err(ConfigError::TooLong { path: self.below(key), most: MAX_TEXT, got });
                }
                Ok(Some(text))
            }
            Some(other) => Err(kind(self.below(key), "a text", other)),
        }
    }

    pub(super) fn count(&self, key: &str) -> Result<Option<u32>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
                Some(count) => Ok(Some(count)),
                None => Err(kind(self.below(key), "a whole number", value)),
            },
        }
    }

    /// Texts, however many and however long.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>, ConfigError> {
        let path = self.below(key);
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(entries)) => {
                let text = |(at, entry): (usize, &'a Value)| {
                    entry.as_str().ok_or_else(|| kind(format!("{path}[{at}]"), "a text", entry))
                };
                entries.iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
            }
            Some(other) => Err(kind(path, "a list of texts", other)),
        }
    }

    pub(super) fn truth(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(other) => Err(kind(self.below(key), "true or false", other)),
        }
    }

    /// Refuses members of other names; there are at least two of them.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ConfigError> {
        let mut members = self.members.into_iter().flatten();
        let Some((got, _)) = members.find(|(key, _)| !known.contains(&key.as_str())) else { return Ok(()) };
        let (last, others) = known.split_last().unwrap_or((&"", &[]));
        let expected = format!("{} or {last}", others.join(", "));
        Err(ConfigError::Unknown { path: self.path.clone(), expected, got: got.clone() })
    }

    pub(super) fn at_most(&self, most: usize, what: &'static str, got: usize) -> Result<(), ConfigError> {
        if got <= most {
            return Ok(());
        }
        Err(ConfigError::TooMany { path: self.path.clone(), what, most, got })
    }

    /// What to say of a member that is missing or wrong.
    pub(super) fn wrong(&self, key: &str, expected: &'static str, got: &str) -> ConfigError {
        ConfigError::Kind { path: self.below(key), expected, got: got.to_owned() }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.members?.get(key)
    }
}

fn kind(path: String, expected: &'static str, value: &Value) -> ConfigError {
    ConfigError::Kind { path, expected, got: kind_of(value).to_owned() }
}

/// What a value is, for "expected …, got …".
pub(super) const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Longest id or profile, in characters: as long as ids elsewhere may be.
const MAX_TEXT: usize = 200;
