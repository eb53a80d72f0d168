//! Destinations and registries as a person names them in a rule, at the command line and in the window.

use super::net_place;
use countersign_gate::{Destination, NotADestination, Place, groups};
use countersign_protocol::ui::{NamedDestination, RegistryKind};

/// What `HOST:PORT` says; `*.` in front stands for any host below. Where it lies is told by the words alone:
/// a name of this machine's or of this house's is meant there. Nothing is looked up.
pub fn named_destination(text: &str) -> Result<NamedDestination, NotNamed> {
    let (below, rest) = text.strip_prefix("*.").map_or(("", text), |rest| ("*.", rest));
    let destination = Destination::parse(rest, None).map_err(|why| NotNamed { got: text.to_owned(), why })?;
    let host = destination.host.to_string();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let place = net_place(Place::promised_by(&destination.host));
    Ok(NamedDestination { host: format!("{below}{host}"), port: destination.port, place })
}

/// A text that names no destination.
#[derive(Debug, thiserror::Error)]
#[error("expected HOST:PORT, got {got:?}: {why}")]
pub struct NotNamed {
    got: String,
    // In the words already: as a source it would be told twice.
    why: NotADestination,
}

/// The kinds of package registries that there are, each with its hosts.
pub fn registry_kinds() -> Vec<RegistryKind> {
    let hosts = |group: &countersign_gate::Group| {
        group.hosts.iter().map(|pattern| format!("{}:{}", pattern.host, pattern.port)).collect()
    };
    groups().iter().map(|group| RegistryKind { group: group.id.to_owned(), hosts: hosts(group) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::rules::NetPlace;
    use pretty_assertions::assert_eq;

    fn check(text: &str, expected: Option<(&str, u16, NetPlace)>) {
        let found = named_destination(text).ok();
        let expected =
            expected.map(|(host, port, place)| NamedDestination { host: host.to_owned(), port, place });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_destination_is_a_host_with_a_port_and_lies_where_its_words_say() {
        check("docs.rs:443", Some(("docs.rs", 443, NetPlace::Internet)));
        check("*.Example.org:8443", Some(("*.example.org", 8443, NetPlace::Internet)));
        check("localhost:5432", Some(("localhost", 5432, NetPlace::ThisMachine)));
        check("[::1]:80", Some(("::1", 80, NetPlace::ThisMachine)));
        check("10.0.0.5:22", Some(("10.0.0.5", 22, NetPlace::Private)));
        for text in
            ["docs.rs", "docs.rs:", "docs.rs:0x50", ":443", "", "https://docs.rs", "a b:443", "docs.rs:70000"]
        {
            check(text, None);
        }
    }

    #[test]
    fn every_kind_of_registry_has_a_name_and_hosts() {
        let kinds = registry_kinds();
        assert!(kinds.iter().any(|kind| kind.group == "npm"));
        assert!(kinds.iter().all(|kind| !kind.hosts.is_empty()));
    }
}
