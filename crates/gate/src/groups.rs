//! Package registries by ecosystem: what a person opens with one switch. The list is data, `groups.txt`.

use crate::destination::{Destination, Host};
use std::sync::LazyLock;

/// Hosts that belong together.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Group {
    /// Its name in settings: `cargo`. Does not change.
    pub id: &'static str,
    /// Its name for people: `crates.io`.
    pub name: &'static str,
    /// What it is for: `Rust`.
    pub ecosystem: &'static str,
    /// Its hosts.
    pub hosts: Vec<Pattern>,
}

/// A host, or all names below one, at one port.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Pattern {
    /// The name as [`Host`] spells it, or `*.` and a name that it must end with.
    pub host: &'static str,
    /// The port.
    pub port: u16,
    /// Whether people publish through the same host, so that what is sent there is worth a question.
    pub takes_uploads: bool,
}

/// All groups, in the order of the list.
pub fn groups() -> &'static [Group] {
    static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| parse(include_str!("groups.txt")).collect());
    &GROUPS
}

impl Group {
    /// Whether `destination` is one of its hosts. Addresses never are.
    pub fn covers(&self, destination: &Destination) -> bool {
        self.pattern(destination).is_some()
    }

    /// What covers `destination`.
    pub fn pattern(&self, destination: &Destination) -> Option<&Pattern> {
        self.hosts.iter().find(|pattern| pattern.covers(destination))
    }
}

impl Pattern {
    /// Whether `destination` is meant.
    pub fn covers(&self, destination: &Destination) -> bool {
        let Host::Name(name) = &destination.host else { return false };
        self.port == destination.port
            && match self.host.strip_prefix('*') {
                Some(end) => name.len() > end.len() && name.ends_with(end),
                None => name == self.host,
            }
    }
}

/// Port of HTTPS.
const HTTPS: u16 = 443;

/// Reads the list. A test holds every line of it against what is read: a line that does not
/// fit is passed over.
fn parse(text: &'static str) -> impl Iterator<Item = Group> {
    text.split("\n[").skip(1).filter_map(|section| {
        let mut lines = section.lines().map(str::trim);
        let (id, title) = lines.next()?.split_once(']')?;
        let (name, ecosystem) = title.split_once('|')?;
        let hosts =
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).filter_map(pattern).collect();
        Some(Group { id, name: name.trim(), ecosystem: ecosystem.trim(), hosts })
    })
}

fn pattern(line: &'static str) -> Option<Pattern> {
    let (place, takes_uploads) = match line.split_once(' ') {
        Some((place, "uploads")) => (place, true),
        Some(_) => return None,
        None => (line, false),
    };
    let (host, port) = match place.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (place, HTTPS),
    };
    Some(Pattern { host, port, takes_uploads })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeSet;

    fn check(destination: &str, expected: Option<(&str, bool)>) {
        let destination = Destination::parse(destination, None).unwrap();
        let found =
            groups().iter().find_map(|group| Some((group.id, group.pattern(&destination)?.takes_uploads)));
        assert_eq!(found, expected, "{destination}");
    }

    #[test]
    fn every_line_of_the_list_is_read_and_covers_what_it_says() {
        let mut group = "";
        let mut lines = 0;
        let mut seen = BTreeSet::new();
        for line in include_str!("groups.txt").lines().skip_while(|line| !line.starts_with('[')) {
            if let Some(title) = line.strip_prefix('[') {
                group = title.split_once(']').unwrap().0;
            } else if !line.is_empty() && !line.starts_with('#') {
                let (place, uploads) = line.split_once(' ').map_or((line, ""), |found| found);
                assert!(["", "uploads"].contains(&uploads), "{line}");
                let place = place.replacen('*', "any", 1);
                let place = if place.contains(':') { place } else { format!("{place}:443") };
                assert!(seen.insert(place.clone()), "{line} is there twice");
                assert_eq!(Destination::parse(&place, None).unwrap().to_string(), place, "{line}");
                check(&place, Some((group, uploads == "uploads")));
                lines += 1;
            }
        }
        assert_eq!(groups().iter().map(|group| group.hosts.len()).sum::<usize>(), lines);
        let ids: BTreeSet<&str> = groups().iter().map(|group| group.id).collect();
        assert_eq!(ids.len(), groups().len());
        assert!(groups().iter().all(|group| !group.name.is_empty() && !group.ecosystem.is_empty()));
    }

    #[test]
    fn t22_what_only_looks_like_a_registry_is_in_no_group() {
        for place in [
            "static.crates.io:80",
            "static.crates.io.evil.example:443",
            "evilstatic.crates.io:443",
            "crates.io:443",
            "upload.pypi.org:443",
            "api.github.com:443",
            "uploads.github.com:443",
            "gist.github.com:443",
            "evilarchive.ubuntu.com:443",
            "1.1.1.1:443",
        ] {
            check(place, None);
        }
    }
}
