//! What rules about hosts and changes say of commands.

use super::*;
use crate::facts::{Facts, FolderFacts};
use countersign_commands::analysis::analyze_text;
use pretty_assertions::assert_eq;
use std::path::PathBuf;

fn refuses(about: &CallSubject, text: &str) -> bool {
    let folder = FolderFacts { given: WORK.into(), real_path: WORK.into(), dev: 0, ino: 0 };
    let facts = Facts { cwd: Some(folder), home: PathBuf::from(HOME), ..Facts::default() };
    let rules = [rule(RuleEffect::Deny, about.clone())];
    let uses = HashMap::new();
    let moment = Moment { agent: "coder", session: None, now_ms: 0, uses: &uses };
    refusing_command(&rules, (&analyze_text(text), &[], &facts), moment, Path::to_owned).is_some()
}

fn check(about: &CallSubject, expected: bool, texts: &[&str]) {
    let wrong: Vec<_> = texts.iter().filter(|text| refuses(about, text) != expected).collect();
    assert!(wrong.is_empty(), "{about:?}: not {expected} for {wrong:#?}");
}

#[test]
fn a_refusal_of_changes_reaches_whatever_a_command_is_known_to_write() {
    let locks = files(WORK, Some("*.lock"));
    check(
        &locks,
        true,
        &[
            "echo x > a.lock",
            "echo x | tee -a sub/a.lock",
            "cp other a.lock",
            "cp x/a.lock .",
            "cp -t sub a.lock",
            "mv a.lock b",
            "mv b a.lock",
            "sed -i s/a/b/ a.lock",
            "perl -pi -e s/a/b/ a.lock",
            "dd if=/dev/zero of=a.lock",
            "rm -f a.lock",
            "truncate -s 0 a.lock",
            "cd sub && touch a.lock",
            "sh -c 'cd sub; rm a.lock'",
            "sudo rm a.lock",
            "curl -o a.lock https://a.example/",
            "git checkout -- a.lock",
            "git rm a.lock",
            "ln -s b a.lock",
            "touch /proc/self/cwd/a.lock",
            "touch /proc/self/root/home/u/src/web/a.lock",
            "touch ~/src/web/a.lock",
            "apply_patch '*** Begin Patch\n*** Update File: a.lock\n@@\n-a\n+b\n*** End Patch'",
            "cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.lock\n+b\n*** End Patch\nEOF\n",
            "patch -p1 <<'EOF'\n--- a/a.lock\n+++ b/a.lock\n@@ -1 +1 @@\n-a\n+b\nEOF\n",
        ],
    );
    check(
        &locks,
        false,
        &[
            "cat a.lock",
            "grep -o a.lock a.lock",
            "cp a.lock /tmp/x",
            "git add a.lock",
            "git log -- a.lock",
            "cargo build --locked",
            "echo x > a.txt",
            "rm /tmp/a.lock",
            "sed -n 1p a.lock",
            "touch /proc/self/cwd/../a.lock",
        ],
    );
    let source = files("/home/u/src/web/src", None);
    check(&source, true, &["rm -r src", "echo x > src/a", "mv src/a b", "prettier --write src/a.ts"]);
    check(&source, false, &["node src/a.js", "pytest src/x.py", "eslint src", "rm -r target", "ls src"]);
}

#[test]
fn a_refusal_of_a_host_reaches_it_however_a_command_writes_it() {
    check(
        &host("docs.rs"),
        true,
        &[
            "curl https://docs.rs/x",
            "curl https:docs.rs",
            "curl docs.rs",
            "curl 'https://do\tcs.rs/'",
            "curl HTTPS://DOCS.RS.",
            "psql -h docs.rs",
            "psql -hdocs.rs",
            "psql --host=docs.rs x",
            "socat - TCP:docs.rs:80",
            "nc docs.rs 80",
            "ssh me@docs.rs",
            "git clone git@docs.rs:a/b",
            "mytool --to docs.rs",
            "bash -c 'cat < /dev/tcp/docs.rs/80'",
        ],
    );
    check(
        &host("docs.rs"),
        false,
        &[
            "cat docs.rs",
            "grep -r https://docs.rs .",
            "curl https://mydocs.rs",
            "curl https://docs.rs.example",
            "curl https://x.example/docs.rs",
            "curl -d 'see docs.rs' x.example",
        ],
    );
    check(
        &host("localhost"),
        true,
        &[
            "curl 127.1:8080",
            "curl http://0x7f000001/",
            "curl http://2130706433/",
            "curl http://0177.0.0.1/",
            "curl http://0/",
            "curl http://[::1]:80/",
            "curl http://[::ffff:127.0.0.1]/",
            "curl http://a.localhost/",
            "nc 0 80",
            "nc 127.0.0.2 80",
            "curl http://0.0.0.0:1/",
            "bash -c 'exec 3<>/dev/tcp/localhost/80'",
        ],
    );
    check(&host("127.0.0.1"), true, &["curl localhost:80", "curl http://127.1/"]);
    check(
        &host("localhost"),
        false,
        &[
            "curl --retry 0 https://a.example/",
            "curl https://1.2.3.4/",
            "curl https://a.example/127",
            "sleep 0",
            "cargo test rules::rm",
            "tool a::b",
        ],
    );
}

#[test]
fn a_file_that_has_other_names_is_asked_about_where_changes_are_refused() {
    let linked = TouchedFile { has_other_names: true, ..file("/home/u/src/web/a", Some("/")) };
    let call = changes(vec![linked]);
    let allowed = rule(RuleEffect::Allow, files(WORK, None));
    assert_eq!(says(std::slice::from_ref(&allowed), &call), Some(CallRuling::Allow(vec![0])));
    let refused = rule(RuleEffect::Deny, files("/home/u/other", None));
    assert_eq!(says(&[allowed, refused], &call), Some(CallRuling::Unclear));
}
