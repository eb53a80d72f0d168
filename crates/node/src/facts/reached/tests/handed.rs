//! `xargs` with programs that only read, fed by real searches in real folders.

use super::*;
use proptest::prelude::*;
use std::process::{Command, Stdio};

#[test]
fn names_that_a_search_prints_are_read_where_each_stays_one_name() {
    let site = Site::new();
    site.check(
        "plain",
        true,
        &[
            "find . -type f -name '*.rs' | xargs wc -l",
            "find . -name '*.rs' -type f | xargs -n 1 head -n 3",
            "find src -type f -print0 | xargs -0 grep -n main",
            "find . -type f -maxdepth 2 -print0 | xargs -0r cat",
            "rg -l main | xargs head -n 3",
            "rg --files src | xargs wc -l",
            "grep -rl main src | xargs wc -l",
            "grep -rlZ main src | xargs -0 wc -l | tail -n 1",
        ],
    );
}

#[test]
fn nothing_else_is_handed_on_unasked() {
    let site = Site::new();
    site.check(
        "plain",
        false,
        &[
            // What is read again is not what was printed.
            "find src -print0 | xargs cat",
            "find src | xargs -0 cat",
            "grep -rlZ main src | xargs cat",
            // Other programs, other ways, other texts.
            "find src | xargs rm",
            "find src | xargs sh -c 'x'",
            "find src | xargs",
            "find src | xargs -I x cat x",
            "find src | xargs -a README.md cat",
            "find src | xargs sed -n",
            "find src | xargs grep",
            "find src | xargs sort -o",
            "find src -exec cat {} + | xargs cat",
            "find src -printf '%p' | xargs cat",
            "find src -ls | xargs cat",
            "find -L src | xargs cat",
            "cat README.md | xargs cat",
            "echo .env | xargs cat",
            "grep -r main src | xargs cat",
            "grep -l main README.md | xargs cat",
            "rg main | xargs cat",
            "rg -l --pre x main | xargs cat",
            "find src | sort | xargs cat",
            "git ls-files | xargs cat",
            "xargs cat < README.md",
        ],
    );
    site.check(
        "proj",
        false,
        &[
            "find . -type f | xargs cat",
            "find . -type f -print0 | xargs -0 cat",
            "find . -name '*.txt' | xargs cat",
            "rg -l --hidden x | xargs cat",
            "grep -rl x . | xargs head",
            "cd sub && find . | xargs cat",
            "find /proc/self -name environ | xargs cat",
        ],
    );
}

#[test]
fn a_terminal_behind_a_name_is_read_by_nobody_unasked() {
    let site = Site::new();
    let texts = [
        "find src -name '*.txt' | xargs head -n 1",
        "find src -name '*.txt' -exec head {} +",
        "grep -R x src",
    ];
    for device in ["/dev/tty", "/dev/ptmx"] {
        symlink(device, site.at("plain/src/l.txt")).unwrap();
        site.check("plain", false, &texts);
        fs::remove_file(site.at("plain/src/l.txt")).unwrap();
    }
}

#[test]
fn a_name_that_is_read_as_another_keeps_the_reader_from_running() {
    let site = Site::new();
    let source = site.at("plain/src");
    // The second part of each is there, from where the program runs.
    for name in ["x README.md", "x .git", "-v", "a'b", "a\"b", "a\\b", "x  y", "x ", "a\nb"] {
        fs::write(source.join(name), "").unwrap();
        site.check("plain", false, &["find src -type f | xargs cat", "rg -l main | xargs cat"]);
        site.check("plain", true, &["find src -name '*.rs' | xargs cat", "find src -print0 | xargs -0 cat"]);
        fs::remove_file(source.join(name)).unwrap();
    }
    fs::write(source.join("x nothing"), "").unwrap();
    site.check("plain", true, &["find src -type f | xargs cat"]);
    for name in ["x ", "x y", "-z"] {
        fs::create_dir(source.join(name)).unwrap();
        site.check("plain", false, &["find src -type f | xargs cat"]);
        fs::remove_dir(source.join(name)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever a folder is full of: where the rules let `xargs` read it, each word that the real one hands
    /// on is a file of that folder or none at all.
    #[test]
    fn what_is_handed_on_unasked_lies_in_the_folder(
        names in prop::collection::btree_set("[ab.~'\"\\\\ -]{1,5}", 1..4),
        inner in "[ab -]{1,3}",
    ) {
        let site = Site::new();
        let folder = site.at("plain/src/made");
        fs::create_dir_all(folder.join(&inner)).unwrap();
        for name in names.iter().filter(|name| !matches!(name.as_str(), "." | "..")) {
            let _ = fs::write(folder.join(name), "");
            let _ = fs::write(folder.join(&inner).join(name), "");
            // What a part of a name could be taken for.
            let _ = fs::write(site.at("plain").join(name.trim_start_matches('b')), "");
        }
        if site.allows("plain", "find src/made -type f | xargs cat") {
            #[allow(clippy::disallowed_methods, reason = "the oracle of this test is the real program")]
            let printed = Command::new("sh")
                .args(["-c", "find src/made -type f | xargs -r printf '%s\\0'"])
                .current_dir(site.at("plain"))
                .stdin(Stdio::null())
                .output()
                .unwrap();
            for word in String::from_utf8(printed.stdout).unwrap().split_terminator('\0') {
                let is_there = site.at("plain").join(word).exists();
                prop_assert!(!is_there || word.starts_with("src/made/"), "{word:?} of {names:?} in {inner:?}");
            }
        }
    }
}
