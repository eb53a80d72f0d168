//! A tool as it is told to a model.

use super::{MAX_BYTES, SchemaError, normalised};
use serde_json::{Value, json};

/// What is told of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Declaration<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What it does, in words.
    pub description: &'a str,
    /// The schema of what it takes, as it was written.
    pub parameters: Option<&'a Value>,
}

/// How a provider takes tools.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dialect {
    /// Where the parts stand.
    pub shape: Shape,
    /// What schemas may say.
    pub cleaning: Cleaning,
}

/// Where the parts of a declaration stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// `{name, description, input_schema}`.
    Anthropic,
    /// `{name, description, parameters}`.
    Gemini,
    /// `{type: function, function: {name, description, parameters}}`.
    OpenAi,
}

/// What schemas may say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cleaning {
    /// All that JSON Schema has, below the root.
    None,
    /// What Gemini takes.
    Gemini,
}

impl Dialect {
    /// How a provider takes tools, by its name. Gemini's models have their words behind other providers too;
    /// a provider of Anthropic's never has, whatever else it is called.
    #[must_use]
    pub fn of(provider: &str, model: Option<&str>) -> Self {
        let (provider, model) = (provider.to_lowercase(), model.unwrap_or_default().to_lowercase());
        if provider.contains("anthropic") {
            return Self { shape: Shape::Anthropic, cleaning: Cleaning::None };
        }
        let is_gemini = provider.contains("google") || provider.contains("gemini");
        let shape = if is_gemini { Shape::Gemini } else { Shape::OpenAi };
        let cleaning = if is_gemini || model.contains("gemini") { Cleaning::Gemini } else { Cleaning::None };
        Self { shape, cleaning }
    }
}

impl Declaration<'_> {
    /// The declaration as a provider takes it, its parameters normalised.
    ///
    /// # Errors
    ///
    /// Where the schema has none, or the description is longer than [`MAX_BYTES`].
    pub fn render(&self, dialect: Dialect) -> Result<Value, SchemaError> {
        let Self { name, description, parameters } = self;
        if description.len() > MAX_BYTES {
            return Err(SchemaError::TooLarge { what: "bytes of text", most: MAX_BYTES });
        }
        let schema = normalised(*parameters, dialect.cleaning)?;
        Ok(match dialect.shape {
            Shape::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
            Shape::Gemini => json!({"name": name, "description": description, "parameters": schema}),
            Shape::OpenAi => json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": schema},
            }),
        })
    }
}
