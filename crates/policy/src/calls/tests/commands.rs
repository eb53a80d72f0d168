//! What rules about hosts and changes say of commands.

use super::*;
use crate::facts::{Facts, FolderFacts};
use countersign_commands::analysis::analyze_text;
use pretty_assertions::assert_eq;
use std::path::PathBuf;

/// Folders are what has no dot in its name; `linked` has another name, and the work is all of a repository.
struct Paper;

impl Disk for Paper {
    fn real(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.extension().is_none()
    }

    fn has_other_names(&self, path: &Path) -> bool {
        path.ends_with("linked")
    }

    fn repository(&self, folder: &Path) -> PathBuf {
        if folder.starts_with(WORK) { WORK.into() } else { folder.to_owned() }
    }
}

#[track_caller]
fn judge(about: &CallSubject, text: &str) -> Effects {
    let folder = FolderFacts { given: WORK.into(), real_path: WORK.into(), dev: 0, ino: 0 };
    let facts = Facts { cwd: Some(folder), home: PathBuf::from(HOME), ..Facts::default() };
    let rules = [rule(RuleEffect::Deny, about.clone())];
    let uses = HashMap::new();
    let moment = Moment { agent: "coder", session: None, now_ms: 0, uses: &uses };
    effects_of_command(&rules, (&analyze_text(text), &[], &facts), moment, &Paper)
}

#[track_caller]
fn comes(about: &CallSubject, expected: Effects, texts: &[&str]) {
    let wrong: Vec<_> =
        texts.iter().map(|text| (judge(about, text), text)).filter(|(found, _)| *found != expected).collect();
    assert!(wrong.is_empty(), "{about:?}: not {expected:?} for {wrong:#?}");
}

/// Whether it is refused; what is not is free, and nothing is asked about.
#[track_caller]
fn check(about: &CallSubject, expected: bool, texts: &[&str]) {
    comes(about, if expected { Effects::Refused(0) } else { Effects::Free }, texts);
}

#[test]
fn what_may_change_a_refused_folder_and_does_not_say_so_is_asked_about() {
    let source = files("/home/u/src/web/src", None);
    comes(
        &source,
        Effects::Unclear(0),
        &[
            // A shell makes the name.
            "touch $PWD/src/a",
            "echo x > \"$D/a\"",
            "touch s?c/a",
            "cp a {src,b}/",
            "rm -rf $(pwd)/src",
            "cd \"$X\" && touch a",
            "touch docs/$X",
            "touch docs/$(x)",
            "touch docs/{../src/a,b}",
            "touch /proc/$$/cwd/src/a",
            "touch /dev/fd/../cwd/src/a",
            "touch /proc/4711/cwd/src/a",
            // The folder is in one that is changed.
            "rm -rf .",
            "rm -rf ../web",
            "chmod -R a-w ../web",
            "mv ../web ../other",
            "find . -delete",
            "find .. -name '*.o' -delete",
            "find . -name x -exec rm {} +",
            "find . -name x | xargs rm",
            "git clean -fdx",
            "git checkout .",
            "git checkout main",
            "git -C docs checkout main",
            "git reset --hard",
            "git stash",
            "git pull",
            "cd docs && git pull",
            "git apply ../x.diff",
            "patch -p1 < ../x.diff",
            "tar xf a.tar",
            "tar -C src -xf a.tar",
            "split a src/x",
            "tar -xzf a.tgz -C .",
            "unzip a.zip",
            "cp -r ../other/. .",
            "rsync -a ../other/ .",
            "prettier --write .",
            "cargo fmt",
            "wget -r https://a.example/",
            // Text that nobody reads does it.
            "echo 'touch src/n' | sh",
            "base64 -d x | bash",
            "cat x | ( cd /; sh )",
            "python3 -c 'open(\"s\" + \"rc/n\", \"w\")'",
            "perl -e 'unlink glob q(s*/a)'",
            "node -e 'x()'",
            "python3 - <<E\nopen('src/a','w')\nE",
            "echo 'x' | python3 -",
            "node - <<E\nx\nE",
            "ed -s a <<E\nw src/a\nE",
            "sqlite3 x.db '.output src/a'",
            "tclsh <<E\nx\nE",
            "awk 'BEGIN { print > F }' F=a",
            "sed -n 'w out' a",
            "sed -i '1e x' a.txt",
            "git notmine",
            "ls | xargs touch",
            "cat list | xargs rm -f",
            "cat list | parallel rm",
            "eval \"$X\"",
            "$EDITOR a",
            // Nobody knows what the program does with it.
            "mytool --to src/a",
            "vim src/a.ts",
            "cd src && mytool a",
            // An option is for an output by its name.
            "tsc --outDir src/x",
            "cargo build --target-dir src/x",
            "npm pack --pack-destination src",
            "pip install -t src/x y",
            "cmake -B src/x",
            "git fast-export --export-marks=src/x HEAD",
            "docker run -v .:/x alpine",
            "docker run -v $PWD:/x alpine",
            "docker run --mount type=bind,source=./src,target=/x alpine",
            "git checkout -- :/",
            "xxd b src/a.ts",
            "uniq b src/a.ts",
            "ffmpeg -i a src/b.mp4",
            "curl -D src/a https://a.example/",
            "curl --trace=src/a https://a.example/",
            "cp --target-dir src b",
            "cp -rtsrc b",
            "mktemp -psrc",
            "strace -fosrc/z ls",
            "ssh-keygen -f src/k",
            "rsync --log-file=src/l a/ b/",
            // A name made by the command.
            "ln -s src x && touch x/n",
            "ln src/a.rs b.rs",
            "cp -l src/a.rs b.rs",
            "echo x > linked",
        ],
    );
    check(
        &source,
        true,
        &[
            "cd src && touch n",
            "env -C src touch n",
            "env --chdir=src sh -c 'touch n'",
            "sudo -D src touch n",
            "git -C src checkout -- a.rs",
            "git -C src rm a.rs",
            "touch ./docs/../src/n",
            "bzip2 src/a.rs",
            "git worktree add src/x",
            "curl -sSLo src/a https://a.example/",
            "tar cf src/a.tar docs",
            "sed -es/a/b/ -i src/a.rs",
            "sed -i -e s/a/b/ src/a.rs",
            "find src -fprint src/list",
        ],
    );
    check(
        &source,
        false,
        &[
            "ls src",
            "cat src/a.rs | grep x",
            "grep -o src/a src/a.rs | tee /tmp/x",
            "cargo build",
            "npm test",
            "gcc -Isrc/include -c src/a.c -o build/a.o",
            "tar czf /tmp/a.tgz --exclude src/x src",
            "rsync -a src/ /tmp/x/",
            "scp src/a.ts host:/tmp/",
            "curl -T src/a.ts https://a.example/",
            "docker build -f src/Dockerfile src",
            "eslint src",
            "npx tsc -p src",
            "pytest -q src",
            "mypy src",
            "node src/a.js",
            "diff -r src /tmp/x",
            "tree src",
            "du -sh src",
            "python3 tool.py src",
            "python3 -m pytest src",
            "make",
            "rm -rf target",
            "rm -rf docs/*",
            "find docs -name '*.bak' -delete",
            "find . -name x -exec grep y {} +",
            "find . -name x | xargs wc -l",
            "git status && git diff | head",
            "git commit -am x",
            "git checkout -- docs/a",
            "cd src && ls",
            "cd src && npm test",
            "less src/a.ts",
            "tail -f src/a.ts",
            "xxd src/a.ts",
            "gzip -c src/a.ts",
            "docker run -v $PWD/docs:/x alpine",
            "docker run -v ./src:/x:ro alpine",
            "cargo test --target x86_64-unknown-linux-gnu",
            "git -C /tmp/x pull",
            "git checkout -b feature",
            "git reset HEAD~1",
            "git stash list",
            "tar czf /tmp/a.tgz src",
            "tar tf a.tar",
            "cp -r src /tmp/x",
            "chmod 755 run.sh",
            "sed -i s/a/b/ docs/a.md",
            "sed -n 1p src/a.rs > /tmp/x",
            "awk '{ print $1 }' src/a.rs",
            "echo a.md | xargs touch",
            "for f in docs/*.md; do wc -l $f; done",
            "if [ -f src/a ]; then cat src/a; fi",
            "bash run.sh",
            "python3 --version",
            "ln -s src/a.rs b.rs",
            "mv docs/a.md docs/b.md",
            "ssh -o BatchMode=yes a.example uptime",
            "curl -O https://a.example/a.tgz",
            "git fetch",
        ],
    );
    let locks = files(WORK, Some("*.lock"));
    comes(&locks, Effects::Unclear(0), &["rm -rf target", "git pull", "touch $X", "cp -r ../a ."]);
    check(
        &source,
        true,
        &[
            "ruff format src",
            "git config -f src/x a.b c",
            "git bundle create src/x HEAD",
            "git checkout HEAD -- src",
            "cd src && touch a",
            "gzip -k src/a.ts",
        ],
    );
    check(&locks, false, &["rm -f target/a.o", "touch a.txt", "cargo build", "git log"]);
}

#[test]
fn what_may_go_to_a_refused_host_and_does_not_say_so_is_asked_about() {
    let docs = host("docs.rs");
    comes(
        &docs,
        Effects::Unclear(0),
        &[
            "curl https://docs%2ers/",
            "curl https://docs。rs/",
            "curl 'https://doc{s,t}.rs/'",
            "curl 'https://doc[r-s].rs/'",
            "curl -K file",
            "curl \"$URL\"",
            "curl https://$HOST/x",
            "wget -i list",
            "cat list | xargs curl",
            "xargs -a list curl -s",
            "curl --conf k",
            "wget -q --input f",
            "echo 'curl -s docs.rs' | sh",
            "cat list | xargs -n1 wget -q",
            "git push",
            "git fetch origin",
            "ssh $(cat host)",
        ],
    );
    check(
        &docs,
        true,
        &["sed '1e curl https://docs.rs/x' f", "git -c core.editor='curl https://docs.rs' commit"],
    );
    check(&docs, true, &["https_proxy=http://docs.rs:80 curl a.example", "tar xf docs.rs:a.tar"]);
    check(
        &docs,
        false,
        &[
            "curl -H \"Authorization: $TOKEN\" https://a.example/",
            "curl -d '{\"a\": 1}' https://a.example/x%20y",
            "curl https://a.example/[1-9]",
            "git status",
            "git clone https://a.example/x",
            "cargo build",
            "npm install",
            "ls $X",
        ],
    );
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
            "echo https://docs.rs >> README.md",
            "git commit -m 'link to https://docs.rs'",
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
