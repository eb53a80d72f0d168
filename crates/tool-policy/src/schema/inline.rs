//! References within a schema, put in place of what they refer to.
//!
//! One that leads back to itself becomes `{}`, and of one that leads nowhere only its description is left.
//! How often something is inlined is bounded by what comes out: a few lines can stand for more
//! than fits anywhere.

use super::SchemaError;
use super::measure::{Budget, check_depth};
use super::places::{KeywordValue, METADATA, place};
use serde_json::{Map, Value};

/// The schema without references, and without what was there to be referred to.
pub(super) fn inlined(schema: &Value) -> Result<Value, SchemaError> {
    // The root is being put in place already: a reference to it is a circle.
    Inliner { root: schema, budget: Budget::default(), open: vec!["#"] }.schema(schema, 1)
}

struct Inliner<'a> {
    root: &'a Value,
    budget: Budget,
    /// The root, and references that are being followed.
    open: Vec<&'a str>,
}

impl<'a> Inliner<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Result<Value, SchemaError> {
        let Value::Object(members) = schema else { return self.data(schema, depth) };
        // Following counts as a level: a chain of references is as deep to whoever follows it. The root
        // was not followed.
        check_depth(depth + self.open.len() - 1)?;
        if let Some(Value::String(reference)) = members.get("$ref") {
            return self.follow(reference, members, depth);
        }
        self.budget.take(members.keys().map(String::len).sum())?;
        let mut inlined = Map::with_capacity(members.len());
        for (keyword, value) in members.iter().filter(|(keyword, _)| !REFERRED_TO.contains(&keyword.as_str()))
        {
            let value = match (place(keyword), value) {
                (KeywordValue::Schemas, Value::Array(schemas)) => {
                    self.budget.take(0)?;
                    let schemas = schemas.iter().map(|schema| self.schema(schema, depth + 2));
                    Value::Array(schemas.collect::<Result<_, _>>()?)
                }
                (KeywordValue::Schemas, schema) => self.schema(schema, depth + 1)?,
                (KeywordValue::Named, Value::Object(schemas)) => {
                    self.budget.take(schemas.keys().map(String::len).sum())?;
                    let schemas = schemas.iter();
                    let schemas =
                        schemas.map(|(name, schema)| Ok((name.clone(), self.schema(schema, depth + 2)?)));
                    Value::Object(schemas.collect::<Result<_, SchemaError>>()?)
                }
                (KeywordValue::Data | KeywordValue::Named, value) => self.data(value, depth + 1)?,
            };
            inlined.insert(keyword.clone(), value);
        }
        Ok(Value::Object(inlined))
    }

    fn follow(
        &mut self,
        reference: &'a str,
        holder: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Value, SchemaError> {
        if self.open.contains(&reference) {
            self.budget.take(0)?;
            return Ok(Value::Object(Map::new()));
        }
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let mut schema = match target {
            Some(target) => {
                self.open.push(reference);
                let schema = self.schema(target, depth)?;
                self.open.pop();
                schema
            }
            None => Value::Object(Map::new()),
        };
        // What is said beside a reference is about this place.
        if let Value::Object(members) = &mut schema {
            for keyword in METADATA.iter().chain(target.map(|_| &NULLABLE)) {
                if let Some(value) = holder.get(*keyword) {
                    members.insert((*keyword).to_owned(), self.data(value, depth + 1)?);
                }
            }
        }
        Ok(schema)
    }

    fn data(&mut self, value: &Value, depth: usize) -> Result<Value, SchemaError> {
        self.budget.take_all(value, depth)?;
        Ok(value.clone())
    }
}

/// Where schemas stand that are referred to.
const REFERRED_TO: [&str; 2] = ["$defs", "definitions"];

/// OpenAPI's word for a value that may be missing.
const NULLABLE: &str = "nullable";
