//! Changes to settings in TOML that leave every other byte as it is, comments included.

use crate::error::Unfit;
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

/// What a text says.
pub(crate) fn parse(text: &str) -> Result<DocumentMut, Unfit> {
    text.parse().map_err(|error| Unfit::NotToml(Box::new(error)))
}

/// The settings with `entry` as the table `name` below `way`.
pub(crate) fn put(text: &str, way: &[&str], name: &str, entry: &Value) -> Result<String, Unfit> {
    let mut document = unchanged(text)?;
    let table = table_at(&mut document, way)?;
    let fresh = Item::Table(table_of(entry));
    match table.get_mut(name) {
        Some(there) if !there.is_table_like() => {
            return Err(shape(&[way, &[name]].concat(), there));
        }
        Some(there) if as_json(there) == *entry => return Ok(text.to_owned()),
        Some(there) => {
            // Where it stands, with the comments in front of it.
            match (there.as_table_mut(), &fresh) {
                (Some(old), Item::Table(new)) => {
                    let decor = old.decor().clone();
                    let position = old.position();
                    *old = new.clone();
                    *old.decor_mut() = decor;
                    old.set_position(position);
                }
                _ => *there = inline(entry),
            }
        }
        None => {
            let is_inline = table.is_inline();
            table.insert(name, if is_inline { inline(entry) } else { fresh });
        }
    }
    Ok(written(&document, text))
}

/// The table `name` below `way`, as JSON.
pub(crate) fn get(text: &str, way: &[&str]) -> Result<Option<Value>, Unfit> {
    let document = parse(text)?;
    let found = way.iter().try_fold(document.as_item(), |item, name| item.get(name));
    Ok(found.map(as_json))
}

/// The settings without the table `name` below `way`, and without what is empty by that.
pub(crate) fn take_out(text: &str, way: &[&str], name: &str) -> Result<String, Unfit> {
    let mut document = unchanged(text)?;
    if get(text, &[way, &[name]].concat())?.is_none() {
        return Ok(text.to_owned());
    }
    let table = table_at(&mut document, way)?;
    table.remove(name);
    let is_empty = table.is_empty();
    if let ([single], true) = (way, is_empty) {
        document.remove(single);
    }
    Ok(written(&document, text))
}

/// A text that comes back as it was when it is written again.
fn unchanged(text: &str) -> Result<DocumentMut, Unfit> {
    let document = parse(text)?;
    let again = written(&document, text);
    // A last line without an end gets one.
    if again == text || again.strip_suffix(newline(text)) == Some(text) {
        Ok(document)
    } else {
        Err(Unfit::Tangled)
    }
}

/// A document with the line breaks of `before`.
fn written(document: &DocumentMut, before: &str) -> String {
    let text = document.to_string().replace("\r\n", "\n");
    text.replace('\n', newline(before))
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn table_at<'a>(document: &'a mut DocumentMut, way: &[&str]) -> Result<&'a mut dyn Inline, Unfit> {
    let mut item = document.as_item_mut();
    for (depth, name) in way.iter().enumerate() {
        let wrong =
            item.get(name).filter(|there| !there.is_table_like()).map(|there| shape(&way[..=depth], there));
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let table = item.as_table_like_mut().ok_or(Unfit::Tangled)?;
        item = table.entry(name).or_insert_with(|| {
            let mut between = Table::new();
            // Only what is in it needs a heading.
            between.set_implicit(true);
            Item::Table(between)
        });
    }
    match item {
        Item::Table(table) => Ok(table),
        Item::Value(toml_edit::Value::InlineTable(table)) => Ok(table),
        _ => Err(Unfit::Tangled),
    }
}

/// A table in either writing.
trait Inline: TableLike {
    fn is_inline(&self) -> bool;
}

impl Inline for Table {
    fn is_inline(&self) -> bool {
        false
    }
}

impl Inline for toml_edit::InlineTable {
    fn is_inline(&self) -> bool {
        true
    }
}

fn table_of(entry: &Value) -> Table {
    let mut table = Table::new();
    for (name, member) in entry.as_object().into_iter().flatten() {
        table.insert(name, item_of(member));
    }
    table
}

fn inline(entry: &Value) -> Item {
    let mut table = toml_edit::InlineTable::new();
    for (name, member) in entry.as_object().into_iter().flatten() {
        if let Item::Value(member) = item_of(member) {
            table.insert(name, member);
        }
    }
    Item::Value(toml_edit::Value::InlineTable(table))
}

/// What entries of ours are made of.
fn item_of(member: &Value) -> Item {
    match member {
        Value::Bool(yes) => value(*yes),
        Value::Number(number) => value(number.as_i64().unwrap_or(i64::MAX)),
        Value::String(text) => value(text.as_str()),
        Value::Array(list) => value(list.iter().filter_map(Value::as_str).collect::<Array>()),
        Value::Null | Value::Object(_) => Item::None,
    }
}

/// What stands there, as far as it is compared: dates are texts.
fn as_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table
            .iter()
            .map(|(name, item)| (name.to_owned(), as_json(item)))
            .collect::<serde_json::Map<_, _>>()
            .into();
    }
    if let Some(list) = item.as_array() {
        return list.iter().map(|element| as_json(&Item::Value(element.clone()))).collect::<Vec<_>>().into();
    }
    let Some(single) = item.as_value() else { return Value::Null };
    match single {
        toml_edit::Value::Boolean(yes) => (*yes.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::String(text) => text.value().as_str().into(),
        other => other.to_string().into(),
    }
}

fn shape(way: &[&str], there: &Item) -> Unfit {
    Unfit::Shape { place: way.join("."), expected: "a table", got: there.type_name() }
}
