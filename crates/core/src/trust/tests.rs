//! What is trusted, and what counts for nothing.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn trusted(exec: Value) -> Trusted {
    Trusted::of_text(&json!({ "tools": { "exec": exec } }).to_string())
}

fn is_strict(kept: &Kept) -> bool {
    kept.trust.inline_eval == InlineEval::NeedsApproval
}

/// Names that count, and whether something was told.
#[track_caller]
fn check(exec: Value, names: &[&str], problem: Option<&str>) {
    let trusted = trusted(exec.clone());
    assert_eq!(trusted.global.names, names, "{exec}");
    match problem {
        None => assert_eq!(trusted.problems(), [""; 0], "{exec}"),
        Some(part) => assert!(
            trusted.problems().iter().any(|told| told.contains(part)),
            "{exec}: {:?}",
            trusted.problems()
        ),
    }
}

#[test]
fn t18_what_is_dangerous_counts_for_nothing_and_is_told() {
    let built_in = ["cut", "head", "tail", "tr", "uniq", "wc"];
    check(json!({}), &built_in, None);
    check(json!({ "safeBins": [] }), &[], None);
    check(json!({ "safeBins": ["Sort", " head "] }), &["head", "sort"], None);
    check(json!({ "safeBins": ["rm"] }), &[], Some("rm counts for nothing"));
    check(json!({ "safeBins": ["jq", "wc"] }), &["wc"], Some("jq runs programs of its own language"));
    let one = json!({ "maxPositional": 1 });
    for name in ["rm", "tee", "python3", "xargs", "bash", "busybox", "curl", "make"] {
        let exec = json!({ "safeBins": [name], "safeBinProfiles": { name: one } });
        check(exec, &[], Some("is no filter"));
    }
    check(json!({ "safeBins": ["mytool"], "safeBinProfiles": { "mytool": one } }), &["mytool"], None);
    for folder in ["/tmp", "bin", "/nowhere/at/all", "/proc/self/exe"] {
        let trusted = trusted(json!({ "safeBinTrustedDirs": [folder] }));
        assert_eq!(trusted.global.folders, [Path::new("/bin"), Path::new("/usr/bin")], "{folder}");
        assert!(trusted.problems()[0].contains("is not trusted"), "{folder}: {:?}", trusted.problems());
    }
    let sbin = trusted(json!({ "safeBinTrustedDirs": ["/usr/sbin"] }));
    assert!(sbin.global.folders.contains(&PathBuf::from("/usr/sbin")) && sbin.problems().is_empty());
}

#[test]
fn what_is_not_understood_trusts_nothing() {
    for (text, part) in [
        ("[]", "expected a JSON object"),
        ("{", "expected a JSON object"),
        (
            r#"{"tools":{"exec":{"safeBins":"head"}}}"#,
            "tools.exec.safeBins: expected a list of texts, got a text",
        ),
        (r#"{"tools":{"exec":{"safeBins":[1]}}}"#, "tools.exec.safeBins: expected a list of texts"),
        (
            r#"{"tools":{"exec":{"strictInlineEval":1}}}"#,
            "strictInlineEval: expected true or false, got a number",
        ),
        (r#"{"tools":{"exec":{"safeBinProfiles":{"x":{"maxPositonal":1}}}}}"#, "got \"maxPositonal\""),
        (r#"{"tools":{"exec":{"extensions":{"groups":false}}}}"#, "got \"groups\""),
        (
            r#"{"agents":{"list":[{"id":"a","tools":{"exec":{"safeBins":1}}}]}}"#,
            "agents.list[0].tools.exec.safeBins",
        ),
    ] {
        let trusted = Trusted::of_text(text);
        assert_eq!(trusted.global.names, [""; 0], "{text}");
        assert!(is_strict(trusted.of("a")), "{text}");
        assert!(trusted.problems()[0].contains(part), "{text}: {:?}", trusted.problems());
    }
}

#[test]
fn an_agents_own_word_comes_before_everybodys() {
    let text = json!({
        "tools": { "exec": { "safeBins": ["head"], "strictInlineEval": true, "extensions": { "group": false } } },
        "agents": { "entries": { "a": { "tools": { "exec": { "safeBins": ["wc"] } } }, "b": {} } },
    });
    let trusted = Trusted::of_text(&text.to_string());
    assert_eq!(trusted.of("a").names, ["wc"]);
    assert_eq!(trusted.of("b").names, ["head"]);
    assert!(is_strict(trusted.of("a")));
    assert_eq!(trusted.agents.keys().collect::<Vec<_>>(), ["a"]);
    let group = Extension::named("group").unwrap();
    assert!(!trusted.of("a").trust.profile.understands(group));
}

#[test]
fn a_change_of_the_file_counts_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.json");
    let file = TrustFile::new(path.clone());
    assert!(file.now().global.names.contains(&"head".to_owned()));
    private::write(&path, br#"{"tools":{"exec":{"safeBins":[]}}}"#).unwrap();
    assert_eq!(file.now().global.names, [""; 0]);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert!(is_strict(&file.now().global));
}
