//! In what two gateways differ, and which of that is known.

use super::Exchange;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::{self, Display};

/// One place in which they differ.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Difference {
    /// The exchange.
    pub exchange: String,
    /// JSON pointer into what came.
    pub at: String,
    /// What theirs is there.
    pub theirs: String,
    /// What ours is there.
    pub ours: String,
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {}\n    theirs: {}\n    ours:   {}", self.exchange, self.at, self.theirs, self.ours)
    }
}

/// Differences that are meant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Why.
    pub reason: String,
    /// Where, as `VERSION | EXCHANGE | POINTER`. `*` at the end of an exchange or a pointer
    /// stands for any rest.
    pub places: Vec<String>,
}

/// Everything in which `ours` differs from `theirs`. What they do not have is nothing to compare with.
pub fn differences(theirs: &[Exchange], ours: &[Exchange]) -> Vec<Difference> {
    let mut found = Vec::new();
    for exchange in theirs {
        let our = ours.iter().find(|our| our.name == exchange.name);
        let our = our.map_or(Value::Null, |our| Value::Array(our.came.clone()));
        compare(&exchange.name, &Value::Array(exchange.came.clone()), &our, String::new(), &mut found);
    }
    found
}

fn compare(exchange: &str, theirs: &Value, ours: &Value, at: String, found: &mut Vec<Difference>) {
    match (theirs, ours) {
        (Value::Object(their), Value::Object(our)) => {
            let names: BTreeSet<&String> = their.keys().chain(our.keys()).collect();
            for name in names {
                match (their.get(name), our.get(name)) {
                    (Some(their), Some(our)) => compare(exchange, their, our, format!("{at}/{name}"), found),
                    (their, our) => push(exchange, their, our, format!("{at}/{name}"), found),
                }
            }
        }
        (Value::Array(their), Value::Array(our)) => {
            for index in 0..their.len().max(our.len()) {
                match (their.get(index), our.get(index)) {
                    (Some(their), Some(our)) => compare(exchange, their, our, format!("{at}/{index}"), found),
                    (their, our) => push(exchange, their, our, format!("{at}/{index}"), found),
                }
            }
        }
        (theirs, ours) if theirs == ours => {}
        (theirs, ours) => push(exchange, Some(theirs), Some(ours), at, found),
    }
}

fn push(
    exchange: &str,
    theirs: Option<&Value>,
    ours: Option<&Value>,
    at: String,
    found: &mut Vec<Difference>,
) {
    let text = |value: Option<&Value>| value.map_or("(nothing)".to_owned(), Value::to_string);
    found.push(Difference { exchange: exchange.to_owned(), at, theirs: text(theirs), ours: text(ours) });
}

/// Differences from a release that are not known, and known ones that are none any more.
pub fn unexplained(version: &str, found: &[Difference], known: &[Known]) -> (Vec<Difference>, Vec<String>) {
    let places = || known.iter().flat_map(|known| &known.places);
    let explained = |difference: &Difference| places().any(|place| fits(place, version, difference));
    let unknown = found.iter().filter(|difference| !explained(difference)).cloned().collect();
    let gone = places()
        .filter(|place| place.starts_with(&format!("{version} |")))
        .filter(|place| !found.iter().any(|difference| fits(place, version, difference)))
        .cloned()
        .collect();
    (unknown, gone)
}

fn fits(place: &str, version: &str, difference: &Difference) -> bool {
    let mut parts = place.split(" | ");
    let (Some(of), Some(exchange), Some(at), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let matches = |pattern: &str, text: &str| match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    };
    of == version && matches(exchange, &difference.exchange) && matches(at, &difference.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn exchange(name: &str, came: Value) -> Exchange {
        Exchange { name: name.to_owned(), request: None, came: vec![came] }
    }

    #[test]
    fn a_difference_is_found_where_it_is_and_a_known_one_must_be_one() {
        let theirs = [exchange("a", json!({"x": 1, "y": [1]})), exchange("b", json!(1))];
        let ours = [exchange("a", json!({"x": 2, "y": [1, 2], "z": 0})), exchange("c", json!(1))];
        let found = differences(&theirs, &ours);
        let at: Vec<(&str, &str)> =
            found.iter().map(|found| (found.exchange.as_str(), found.at.as_str())).collect();
        assert_eq!(at, [("a", "/0/x"), ("a", "/0/y/1"), ("a", "/0/z"), ("b", "")]);
        let known = |places: &[&str]| {
            vec![Known {
                reason: "because".to_owned(),
                places: places.iter().map(|place| (*place).to_owned()).collect(),
            }]
        };
        let check = |places: &[&str], unknown: usize, gone: usize| {
            let (left, none) = unexplained("1", &found, &known(places));
            assert_eq!((left.len(), none.len()), (unknown, gone), "{places:?}: {left:?} {none:?}");
        };
        check(&[], 4, 0);
        check(&["1 | a | /0/x", "1 | a | /0/y*", "1 | a | /0/z", "1 | b | "], 0, 0);
        check(&["1 | * | *"], 0, 0);
        check(&["1 | a | /0/q", "2 | a | /0/x"], 4, 1);
    }
}
