//! Rules about connections out of a box.

use super::*;
use pretty_assertions::assert_eq;

const ENGINE: &str = "/home/u/src/engine";

fn crossing(host: &str, port: u16, place: NetPlace) -> CallFacts {
    let groups = if host.ends_with("crates.io") { vec!["cargo".to_owned()] } else { Vec::new() };
    let crossing = Crossing { host: host.to_owned(), port, place, folder: ENGINE.to_owned(), groups };
    CallFacts { crossing: Some(crossing), ..CallFacts::default() }
}

fn to(host: &str, port: u16, place: NetPlace, within: Option<&str>) -> CallSubject {
    CallSubject::Crossing { host: host.to_owned(), port, place, within: within.map(str::to_owned) }
}

fn registries(group: &str, within: Option<&str>) -> CallSubject {
    CallSubject::Registries { group: group.to_owned(), within: within.map(str::to_owned) }
}

#[test]
fn a_connection_is_allowed_by_a_rule_about_its_destination() {
    use NetPlace::{Internet, Private, ThisMachine};
    let crates = crossing("static.crates.io", 443, Internet);
    check(to("static.crates.io", 443, Internet, Some(ENGINE)), &crates, true);
    check(to("static.crates.io", 443, Internet, None), &crates, true);
    check(to("*.crates.io", 443, Internet, None), &crates, true);
    check(registries("cargo", None), &crates, true);
    check(registries("cargo", Some(ENGINE)), &crates, true);
    let database = crossing("127.0.0.1", 5432, ThisMachine);
    check(to("127.0.0.1", 5432, ThisMachine, Some(ENGINE)), &database, true);

    check(to("static.crates.io", 80, Internet, None), &crates, false);
    check(to("crates.io", 443, Internet, None), &crates, false);
    check(to("static.crates.io", 443, Internet, Some("/home/u/src")), &crates, false);
    check(registries("npm", None), &crates, false);
    check(registries("cargo", Some(HOME)), &crates, false);
    check(to("127.0.0.1", 5433, ThisMachine, None), &database, false);
    check(to("127.0.0.1", 5432, Private, None), &database, false);
}

#[test]
fn t22_a_name_that_leads_elsewhere_by_now_is_another_destination() {
    for place in [NetPlace::Private, NetPlace::ThisMachine, NetPlace::LinkLocal, NetPlace::Metadata] {
        let rebound = crossing("static.crates.io", 443, place);
        check(to("static.crates.io", 443, NetPlace::Internet, None), &rebound, false);
        check(registries("cargo", None), &rebound, false);
    }
}

#[test]
fn no_other_rule_lets_anything_out_of_a_box() {
    let crates = crossing("static.crates.io", 443, NetPlace::Internet);
    check(host("static.crates.io"), &crates, false);
    check(named("*"), &crates, false);
    check(named(""), &crates, false);
    check(files("/", None), &crates, false);
    // Nor does one about connections let anything else happen.
    check(to("docs.rs", 443, NetPlace::Internet, None), &fetch(&["docs.rs"]), false);
}

#[test]
fn a_refusal_reaches_a_connection_wherever_it_leads() {
    let refuses = |about: CallSubject, call: &CallFacts| {
        let rules = [
            rule(RuleEffect::Allow, to("*.crates.io", 443, NetPlace::Internet, None)),
            rule(RuleEffect::Deny, about),
        ];
        says(&rules, call) == Some(CallRuling::Deny(1))
    };
    let crates = crossing("static.crates.io", 443, NetPlace::Internet);
    let rebound = crossing("static.crates.io", 443, NetPlace::ThisMachine);
    for call in [&crates, &rebound] {
        assert!(refuses(to("static.crates.io", 443, NetPlace::Internet, None), call));
        assert!(refuses(host("static.crates.io"), call), "what must not be fetched is not reached");
        assert!(refuses(registries("cargo", Some(ENGINE)), call));
        assert!(!refuses(registries("cargo", Some(HOME)), call));
        assert!(!refuses(named("*"), call));
        assert!(!refuses(to("static.crates.io", 80, NetPlace::Internet, None), call));
    }
}

#[test]
fn the_narrowest_that_is_offered_is_the_destination_from_this_folder() {
    let offered = |call: &CallFacts| -> Vec<(Rung, Longest)> {
        choices(call).unwrap().into_iter().map(|choice| (choice.rung, choice.longest)).collect()
    };
    let crates = crossing("static.crates.io", 443, NetPlace::Internet);
    assert_eq!(offered(&crates), [(Rung::Destination, Longest::Always), (Rung::Registries, Longest::Always)]);
    let (database, link) =
        (crossing("::1", 5432, NetPlace::ThisMachine), crossing("fe80::1", 80, NetPlace::LinkLocal));
    assert_eq!(offered(&database), [(Rung::Destination, Longest::Always)]);
    assert_eq!(offered(&link), [(Rung::Destination, Longest::Session)]);
    for place in [NetPlace::Metadata, NetPlace::Unroutable] {
        assert_eq!(choices(&crossing("169.254.169.254", 80, place)), Err(AlwaysUnavailable::Perilous));
    }
    for call in [&crates, &database, &link] {
        for choice in choices(call).unwrap() {
            for about in choice.about {
                assert_eq!(super::super::check(&about), Ok(()), "{about:?}");
                check(about, call, true);
            }
        }
    }
}

#[test]
fn what_names_no_destination_is_not_stored() {
    for (about, problem) in [
        (to("docs.rs", 0, NetPlace::Internet, None), CallProblem::Port),
        (to("", 443, NetPlace::Internet, None), CallProblem::Host),
        (to("Docs.rs", 443, NetPlace::Internet, None), CallProblem::Host),
        (to("docs.rs", 443, NetPlace::Internet, Some("src")), CallProblem::Folder),
        (registries(" ", None), CallProblem::Group),
        (registries("npm", Some("/a/../b")), CallProblem::Folder),
    ] {
        assert_eq!(super::super::check(&about), Err(problem), "{about:?}");
    }
}

#[test]
fn a_rule_about_connections_is_described_in_a_line() {
    for (about, line) in [
        (to("docs.rs", 443, NetPlace::Internet, None), "allow connections to docs.rs:443 from any box"),
        (
            to("::1", 5432, NetPlace::ThisMachine, Some(ENGINE)),
            "allow connections to [::1]:5432 from boxes around /home/u/src/engine",
        ),
        (registries("npm", None), "allow connections to registries of npm from any box"),
    ] {
        assert_eq!(describe(&rule(RuleEffect::Allow, about)), line);
    }
}
