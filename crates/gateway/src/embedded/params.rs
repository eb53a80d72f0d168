//! Parameters of a method, and what is wrong with them in the words of the peers' validator.

use countersign_protocol::gateway::ErrorShape;
use serde_json::{Map, Value};

/// The parameters of one call. Members that are not asked for are ignored.
pub(super) struct Params {
    method: String,
    members: Map<String, Value>,
}

impl Params {
    /// An object; none at all counts as an empty one.
    pub(super) fn of(method: &str, params: Value) -> Result<Self, ErrorShape> {
        let method = method.to_owned();
        match params {
            Value::Null => Ok(Self { method, members: Map::new() }),
            Value::Object(members) => Ok(Self { method, members }),
            _ => Err(ErrorShape::invalid(format!("invalid {method} params: must be object"))),
        }
    }

    /// Whose they are.
    pub(super) fn method(&self) -> &str {
        &self.method
    }

    /// A member as it is.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// A text that has to be there and is not empty.
    pub(super) fn string(&self, name: &str) -> Result<&str, ErrorShape> {
        self.optional_string(name)?
            .ok_or_else(|| self.invalid(&format!("must have required property '{name}'")))
    }

    /// A text that has to be there and is not blank; blanks around it are no part of it.
    pub(super) fn text(&self, name: &str) -> Result<&str, ErrorShape> {
        let text = self.string(name)?.trim();
        if text.is_empty() {
            return Err(ErrorShape::invalid(format!("{name} required")));
        }
        Ok(text)
    }

    /// A text that is not empty, if it is there.
    pub(super) fn optional_string(&self, name: &str) -> Result<Option<&str>, ErrorShape> {
        match self.members.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => {
                Err(self.invalid(&format!("at /{name}: must NOT have fewer than 1 characters")))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.invalid(&format!("at /{name}: must be string"))),
        }
    }

    /// An object that has to be there.
    pub(super) fn object(&self, name: &str) -> Result<&Map<String, Value>, ErrorShape> {
        match self.members.get(name) {
            None => Err(self.invalid(&format!("must have required property '{name}'"))),
            Some(Value::Object(members)) => Ok(members),
            Some(_) => Err(self.invalid(&format!("at /{name}: must be object"))),
        }
    }

    /// What is wrong with them.
    pub(super) fn invalid(&self, why: &str) -> ErrorShape {
        ErrorShape::invalid(format!("invalid {} params: {why}", self.method))
    }
}
