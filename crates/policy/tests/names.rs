//! Names of files in place of patterns: only where a shell would look before anything ran, and then they are
//! what is judged and what runs.

use crate::support::World;
use countersign_commands::analysis::{Analysis, analyze_text, analyze_text_as};
use countersign_commands::profile::{Extension, Extensions, Profile};
use countersign_commands::shell;
use countersign_policy::bind::{Bound, Unbound, bind};
use countersign_policy::names::{self, insert_names};
use countersign_protocol::vocabulary::{Ask, Security};
use pretty_assertions::assert_eq;

fn patterns(analysis: &Analysis) -> Vec<String> {
    names::patterns(analysis).into_iter().map(|pattern| pattern.text).collect()
}

/// A command after each of its patterns became these names, and what runs then.
fn check(text: &str, names: &[&str], expected: Result<&str, Unbound>) {
    let world = World::new(&["sh", "-c", text], Security::Allowlist, Ask::OnMiss);
    let mut analysis = analyze_text(text);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let found = names::patterns(&analysis).into_iter().map(|pattern| (pattern, names.clone())).collect();
    insert_names(&mut analysis, found);
    let bound = match bind(&analysis, &world.facts) {
        Ok(Bound::Argv { path, argv }) => Ok([&[path][..], &argv[1..]].concat().join("|")),
        Ok(Bound::Shell { text, .. }) => Ok(text),
        Err(unbound) => Err(unbound),
    };
    assert_eq!(bound, expected.map(str::to_owned), "{text}");
}

#[test]
fn names_run_as_they_are() {
    check("scan *.rs", &["a.rs", "b.rs"], Ok("/usr/bin/scan|a.rs|b.rs"));
    check("scan -v ~/notes/* end", &["/home/u/notes/x y"], Ok("/usr/bin/scan|-v|/home/u/notes/x y|end"));
    check("scan *", &["-rf", "it's", "$(id)", "a;b"], Ok("/usr/bin/scan|-rf|it's|$(id)|a;b"));
    check("cd ~/src && scan *", &["a b"], Ok("'cd' 'a b' && '/usr/bin/scan' 'a b'"));
    check("scan * | wc -l", &["a", "$(id)"], Ok("'/usr/bin/scan' 'a' '$(id)' | '/usr/bin/wc' '-l'"));
    check("scan *.rs", &[], Err(Unbound::Expansion));
    check("sudo ~/bin/x", &["/home/u/bin/x"], Err(Unbound::Carrier));
    check("env ~/bin/sh -c id", &["/home/u/bin/sh"], Err(Unbound::Carrier));
}

#[test]
fn patterns_are_looked_up_only_where_shells_agree_about_them() {
    for (text, expected) in [
        ("scan *.rs ~/x ~ src/?", ["*.rs", "~/x", "~", "src/?"].as_slice()),
        ("cd /tmp && scan *", &["*"]),
        ("echo a; scan *", &["*"]),
        ("wc a | scan *", &["*"]),
        ("~/bin/scan", &["~/bin/scan"]),
        // Quotes decide which of its characters are patterns.
        ("scan 'a'*", &[]),
        ("scan a\\ b*", &[]),
        ("scan '*'", &[]),
        ("scan [ab]*", &[]),
        ("scan {a,b}", &[]),
        ("scan ~other/x", &[]),
        ("scan a=~/x", &[]),
        // What ran before could have made other files.
        ("make && scan *", &[]),
        ("make; scan *", &[]),
        ("make | wc; scan *", &[]),
        ("make && wc a | scan *", &[]),
        ("sh -c 'scan *'", &[]),
        ("scan * > out", &[]),
    ] {
        assert_eq!(patterns(&analyze_text(text)), expected, "{text}");
    }
}

#[test]
fn the_extension_has_a_switch() {
    let path_names = Extension::Text(shell::Extension::PathNames);
    let without = Profile::Attentive(Extensions::ALL.without(path_names));
    assert_eq!(patterns(&analyze_text_as("scan *", without)), [] as [&str; 0]);
    assert_eq!(patterns(&analyze_text_as("scan *", Profile::Reference)), [] as [&str; 0]);
}

#[test]
fn a_name_is_put_in_once_and_only_where_a_pattern_stands() {
    let mut analysis = analyze_text("scan * literal");
    let [pattern] = names::patterns(&analysis).try_into().unwrap();
    insert_names(&mut analysis, vec![(pattern.clone(), vec!["a".to_owned(), "b".to_owned()])]);
    let once = analysis.clone();
    insert_names(&mut analysis, vec![(pattern, vec!["c".to_owned()])]);
    assert_eq!(analysis, once);
    assert_eq!(patterns(&analysis), [] as [&str; 0]);
}
