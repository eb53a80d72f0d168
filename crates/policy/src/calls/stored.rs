//! What doors do with a rule about calls before it is stored: its normal form, and whether a refusal
//! refuses what it says.

use super::{CallFacts, CallNature, CallProblem, CallRuling, Crossing, TouchedFile, ruling};
use crate::rules::{Moment, Unproven};
use core::net::{Ipv4Addr, Ipv6Addr};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::rules::{CallRule, CallSubject, NetPlace, RuleEffect};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What a rule is about as rules store it: hosts as addresses name them, folders without links. `real`
/// follows every link of a path that is there.
///
/// # Errors
/// [`CallProblem::Host`] for more than a host, [`CallProblem::Pattern`] for a pattern of another kind.
pub fn about_as_stored(
    about: &CallSubject,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<CallSubject, CallProblem> {
    let real = |folder: &String| {
        let found = real(Path::new(folder)).and_then(|path| path.to_str().map(str::to_owned));
        found.unwrap_or_else(|| folder.clone())
    };
    Ok(match about.clone() {
        CallSubject::Files { below, names } => {
            if names.as_ref().is_some_and(|names| names.contains(CLASSES) || names.starts_with('!')) {
                return Err(CallProblem::Pattern);
            }
            CallSubject::Files { below: real(&below), names }
        }
        CallSubject::Host { host } => CallSubject::Host { host: host_as_stored(&host)? },
        CallSubject::Crossing { host, port, place, within } => {
            let within = within.as_ref().map(real);
            CallSubject::Crossing { host: host_as_stored(&host)?, port, place, within }
        }
        CallSubject::Registries { group, within } => {
            CallSubject::Registries { group, within: within.as_ref().map(real) }
        }
        CallSubject::Tool { name } => {
            if name.contains(CLASSES) || name.starts_with('!') {
                return Err(CallProblem::Pattern);
            }
            // What agents write for a tool with some parameters, or for one of several tools.
            if name.contains(['(', ')', '|', ';', '&', '"', '\'', '\\']) || name.starts_with(['/', '-']) {
                return Err(CallProblem::Parameters);
            }
            CallSubject::Tool { name }
        }
    })
}

/// A host in lower case without a dot at its end; an address as it is usually written, without brackets.
fn host_as_stored(host: &str) -> Result<String, CallProblem> {
    let host = host.trim().to_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    let address = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = address.parse::<Ipv6Addr>() {
        return Ok(address.to_string());
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Ok(address.to_string());
    }
    // A port, a path or a user is more than a host.
    if host.contains([':', '/', '@', '[', ']']) || host.starts_with('-') {
        Err(CallProblem::Host)
    } else {
        Ok(host.to_owned())
    }
}

/// Judges by a refusing rule what it is about. A rule that allows has nothing to prove here.
///
/// # Errors
/// What gets through.
pub fn prove(rule: &CallRule) -> Result<(), Unproven> {
    if rule.effect == RuleEffect::Allow {
        return Ok(());
    }
    let uses = HashMap::new();
    let agent = if rule.agent == WILDCARD_AGENT { "agent" } else { &rule.agent };
    let moment =
        Moment { agent, session: rule.limits.session.as_deref(), now_ms: rule.created_at_ms, uses: &uses };
    for (text, call) in own(&rule.about) {
        let found = ruling(std::slice::from_ref(rule), &call, moment);
        if !matches!(found, Some(CallRuling::Deny(_))) {
            return Err(Unproven { text });
        }
    }
    Ok(())
}

/// Calls that a rule is about.
pub(crate) fn own_calls(about: &CallSubject) -> Vec<CallFacts> {
    own(about).into_iter().map(|(_, call)| call).collect()
}

/// Calls that a rule is about, in words and as they are judged.
fn own(about: &CallSubject) -> Vec<(String, CallFacts)> {
    let some = |pattern: &str| pattern.replace("**", "a").replace(['*', '?'], "a");
    let host_in =
        |host: &str| host.strip_prefix("*.").map_or_else(|| host.to_owned(), |above| format!("a.{above}"));
    let crossing = |host: String, port, place, within: &Option<String>, groups| {
        let folder = within.clone().unwrap_or_else(|| "/a".to_owned());
        let crossing = Crossing { host, port, place, folder, groups };
        CallFacts { crossing: Some(crossing), ..CallFacts::default() }
    };
    match about {
        CallSubject::Files { below, names } => {
            let name = names.as_deref().map_or_else(|| "a".to_owned(), some);
            ["", "a/"]
                .map(|inner| format!("{}/{inner}{name}", below.trim_end_matches('/')))
                .into_iter()
                .flat_map(|path| {
                    let planned = CallFacts {
                        files: vec![TouchedFile { paths: vec![path.clone()], ..TouchedFile::default() }],
                        ..CallFacts::default()
                    };
                    let named = CallFacts {
                        named: vec![path.clone()],
                        nature: CallNature::Unknown,
                        ..CallFacts::default()
                    };
                    [(path.clone(), planned), (path, named)]
                })
                .collect()
        }
        CallSubject::Host { host } => {
            let host = host_in(host);
            let fetched =
                CallFacts { hosts: vec![host.clone()], nature: CallNature::Fetches, ..CallFacts::default() };
            let crossed = crossing(host.clone(), 443, NetPlace::Internet, &None, Vec::new());
            vec![(host.clone(), fetched), (host, crossed)]
        }
        CallSubject::Crossing { host, port, place, within } => {
            let host = host_in(host);
            vec![(host.clone(), crossing(host, *port, *place, within, Vec::new()))]
        }
        CallSubject::Registries { group, within } => {
            let host = "a.example".to_owned();
            vec![(group.clone(), crossing(host, 443, NetPlace::Internet, within, vec![group.clone()]))]
        }
        CallSubject::Tool { name } => {
            let tool = some(name);
            vec![(tool.clone(), CallFacts { tool, ..CallFacts::default() })]
        }
    }
}

/// Characters of patterns that mean something elsewhere and nothing here.
const CLASSES: &[char] = &['[', ']', '{', '}', ','];

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::rules::{CallRuleDraft, RuleOrigin};

    fn stored(about: CallSubject) -> Result<CallSubject, CallProblem> {
        about_as_stored(&about, |path| (path == Path::new("/link")).then(|| PathBuf::from("/real")))
    }

    fn host(host: &str) -> CallSubject {
        CallSubject::Host { host: host.to_owned() }
    }

    fn files(below: &str, names: Option<&str>) -> CallSubject {
        CallSubject::Files { below: below.to_owned(), names: names.map(str::to_owned) }
    }

    #[test]
    fn a_host_and_a_folder_have_one_form_however_they_are_written() {
        for (written, form) in [
            ("docs.rs", "docs.rs"),
            ("Docs.RS.", "docs.rs"),
            ("*.Docs.rs", "*.docs.rs"),
            ("[::1]", "::1"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(stored(host(written)), Ok(host(form)), "{written}");
        }
        for written in ["docs.rs:443", "https://docs.rs", "docs.rs/x", "a@docs.rs", "-x"] {
            assert_eq!(stored(host(written)), Err(CallProblem::Host), "{written}");
        }
        assert_eq!(stored(files("/link", Some("*.rs"))), Ok(files("/real", Some("*.rs"))));
        for names in ["*.{a,b}", "*.a,*.b", "[ab].x", "!a.ts"] {
            assert_eq!(stored(files("/src", Some(names))), Err(CallProblem::Pattern), "{names}");
        }
        let tool = |name: &str| stored(CallSubject::Tool { name: name.to_owned() });
        for name in ["Bash(git push*)", "Bash(rm:*)", "Bash|Read", "/Bash/", "-x"] {
            assert_eq!(tool(name), Err(CallProblem::Parameters), "{name}");
        }
        for name in ["!Bash", "{Bash,Read}"] {
            assert_eq!(tool(name), Err(CallProblem::Pattern), "{name}");
        }
        for name in ["Bash", "mcp__mail__*", "mcp__a.b__c-d", "*", "functions.exec_command"] {
            assert!(tool(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_is_stored_refuses_what_it_says() {
        let crossing = |host: &str, within: Option<&str>| CallSubject::Crossing {
            host: host.to_owned(),
            port: 443,
            place: NetPlace::Internet,
            within: within.map(str::to_owned),
        };
        let tool = |name: &str| CallSubject::Tool { name: name.to_owned() };
        let group = "npm".to_owned();
        for about in [
            host("docs.rs"),
            host("*.docs.rs"),
            host("localhost"),
            files("/src", None),
            files("/", Some("*.?s")),
            crossing("docs.rs", None),
            crossing("*.docs.rs", Some("/src")),
            CallSubject::Registries { group, within: None },
            tool("Bash"),
            tool("*"),
            tool("mcp__*__write?"),
        ] {
            let draft = CallRuleDraft {
                agent: "coder".to_owned(),
                effect: RuleEffect::Deny,
                about: about.clone(),
                limits: Default::default(),
                note: None,
            };
            assert_eq!(prove(&draft.into_rule("1".to_owned(), 0, RuleOrigin::Typed)), Ok(()), "{about:?}");
        }
    }
}
