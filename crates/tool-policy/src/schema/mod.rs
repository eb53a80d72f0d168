//! Parameter schemas as providers take them (docs/protocol/tools.md, "Schemas"): an object at the root and no
//! union there, references inlined, `nullable` in JSON Schema's own words, and for Gemini nothing that it
//! refuses.
//!
//! What comes out tells a model what a tool takes. It may let through more than the schema that came in, as a
//! union at the root cannot be said; so whoever runs the tool checks its parameters against the original.
//!
//! Normalising what came out changes nothing more. Schemas come from whoever brings the tool: depth and size
//! are looked at before anything else is, without recursion.

mod declaration;
mod gemini;
mod inline;
mod measure;
mod places;
mod plain;
mod root;

pub use declaration::{Cleaning, Declaration, Dialect, Shape};
pub use measure::{MAX_BYTES, MAX_DEPTH, MAX_NODES};

use super::read::kind_of;
use serde_json::{Map, Value};

/// Why a schema cannot be told to a model. The tool is of no use then.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is none of an object's.
    #[error("parameters: expected an object, got {got}")]
    NotAnObject {
        /// What it is.
        got: &'static str,
    },
    /// Nested deeper than any model reads; counted with what references add.
    #[error("parameters: expected at most {most} levels")]
    TooDeep {
        /// How many there may be.
        most: usize,
    },
    /// More than is sent with every request; counted with what references add.
    #[error("parameters: expected at most {most} {what}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
}

/// The schema as a provider takes it. Without one, and with an empty one, the tool takes an object
/// without any property.
///
/// # Errors
///
/// Where it is no object, too deep or too large, before or after references are inlined.
pub fn normalised(schema: Option<&Value>, cleaning: Cleaning) -> Result<Value, SchemaError> {
    let empty = Value::Object(Map::new());
    let schema = match schema {
        None | Some(Value::Null) => &empty,
        Some(schema @ Value::Object(_)) => schema,
        Some(other) => return Err(SchemaError::NotAnObject { got: kind_of(other) }),
    };
    // Everything below is recursive, cloning too: nothing may be deep from here on.
    measure::check(schema)?;
    let mut members = match plain::normalised(inline::inlined(schema)?) {
        Value::Object(members) => members,
        // A reference to something else than an object.
        other => return Err(SchemaError::NotAnObject { got: kind_of(&other) }),
    };
    members = root::flattened(members);
    if cleaning == Cleaning::Gemini {
        members = gemini::cleaned(members);
    }
    root::complete(&mut members);
    let schema = Value::Object(members);
    // What came out is measured as what comes in, so that it can come in again.
    measure::check(&schema)?;
    Ok(schema)
}

#[cfg(test)]
mod tests;
