//! Real links, hard links, processes and folders, judged by the ready-made group that people turn on.

use super::super::{folder, name_files, reached, real_folders};
use super::*;
use crate::facts::Places;
use countersign_commands::analysis::analyze_argv;
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::effective::{BUILT_IN, Effective, Layered, Requested};
use countersign_policy::evaluate::{LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate};
use countersign_policy::facts::{Facts, FileIdentity, ProgramFacts};
use countersign_policy::rules::{Moment, PRESETS, RuleIndex, visited};
use countersign_protocol::rules::CommandRule;
use countersign_protocol::vocabulary::{Ask, Security};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

/// A home with secrets, a project with secrets and links to them, and one without.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        for file in [
            "home/.aws/config",
            "home/.claude.json",
            "home/.config/tool/db",
            "home/.ssh/id_ed25519",
            "home/notes/todo.md",
            "plain/.git/HEAD",
            "plain/.github/ci.yml",
            "plain/README.md",
            "plain/docs/guide.md",
            "plain/src/main.rs",
            "plain/src/util/a.rs",
            "proj/.env",
            "proj/.git/HEAD",
            "proj/keys/server.pem",
            "proj/main.py",
            "proj/secrets/prod.json",
            "proj/src/a.py",
            "proj/sub/.env",
            "proj/sub/x.py",
            "empty/.keep",
            "linked/docs/x.md",
            "ignored/.git/HEAD",
            "ignored/.ignored-by-nobody",
            "ignored/a.rs",
            "ignored/certs/server.pem",
            "ignored/dist/x.key",
        ] {
            let path = site.at(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "fixture\n").unwrap();
        }
        for project in ["plain", "proj", "ignored"] {
            let git = site.at(project).join(".git");
            for folder in ["objects", "refs"] {
                fs::create_dir(git.join(folder)).unwrap();
            }
            fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n").unwrap();
        }
        fs::write(site.at("ignored/.gitignore"), "/certs/\n*.key\n").unwrap();
        let home = site.at("home");
        for (link, target) in [
            ("proj/notes.txt", PathBuf::from(".env")),
            ("proj/chain.txt", "notes.txt".into()),
            ("proj/cfg", home.join(".aws")),
            ("proj/share", home.clone()),
            ("proj/here", ".".into()),
            ("proj/e.txt", "/proc/self/environ".into()),
            ("proj/loop", "loop".into()),
            ("plain/latest.md", "docs/guide.md".into()),
            ("plain/out", "../empty".into()),
            ("plain/up", "..".into()),
            ("plain/hooks", ".git".into()),
        ] {
            symlink(target, site.at(link)).unwrap();
        }
        fs::hard_link(site.at("proj/.env"), site.at("proj/hard.txt")).unwrap();
        fs::hard_link(site.at("proj/keys/server.pem"), site.at("proj/src/hard.py")).unwrap();
        fs::hard_link(home.join(".ssh/id_ed25519"), site.at("linked/docs/key.md")).unwrap();
        fs::hard_link(site.at("plain/docs/guide.md"), site.at("plain/docs/same.md")).unwrap();
        site
    }

    fn at(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(name)
    }

    /// Facts about a text that is run in `project`, with every program installed.
    fn facts(
        &self,
        project: &str,
        text: &str,
    ) -> (Vec<String>, countersign_commands::analysis::Analysis, Facts) {
        let (cwd, home) = (self.at(project), self.at("home"));
        let text = text.replace("$R", self.at("").to_str().unwrap().trim_end_matches('/'));
        let argv = vec!["sh".to_owned(), "-c".to_owned(), text];
        let mut analysis = analyze_argv(&argv);
        name_files(&mut analysis, Places { path: "".as_ref(), cwd: &cwd, home: &home });
        let installed = |name: &str| {
            let path = Some(Path::new("/usr/bin").join(name));
            let identity = FileIdentity {
                dev: 1,
                ino: 1,
                size: 1,
                mtime_ns: 1,
                ctime_ns: 1,
                mode: 0o100_755,
                sha256: None,
            };
            ProgramFacts {
                path: path.clone(),
                real_path: path,
                identity: Some(identity),
                writable: false,
                ..ProgramFacts::default()
            }
        };
        let programs =
            analysis.programs().into_iter().map(|name| (name.to_string(), installed(&name))).collect();
        let mut facts = Facts { programs, cwd: folder(&cwd), home, ..Facts::default() };
        facts.reached = reached(&analysis, &facts, Depth::Trees);
        facts.surroundings = crate::facts::around(&analysis, &facts);
        (argv, analysis, facts)
    }

    fn runs_unasked(&self, rules: &[CommandRule], project: &str, text: &str) -> bool {
        let (argv, analysis, facts) = self.facts(project, text);
        let folders = real_folders(visited(&analysis, &facts));
        let policy = BUILT_IN.hardened(Requested::default());
        let policy = Effective {
            security: Layered { value: Security::Allowlist, ..policy.security },
            ask: Layered { value: Ask::OnMiss, ..policy.ask },
            ..policy
        };
        let uses = HashMap::new();
        let subject = Subject {
            argv: &argv,
            analysis: &analysis,
            facts: &facts,
            policy: &policy,
            entries: &EntryIndex::default(),
            local: LocalRules::Known {
                rules: &RuleIndex::new(rules.to_vec()),
                folders: &folders,
                moment: Moment { agent: "main", session: None, now_ms: 1, uses: &uses },
                unclear: None,
            },
            trust: &Trust::default(),
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        matches!(evaluate(&subject, None).verdict, Verdict::Allow(_))
    }

    #[track_caller]
    fn check(&self, project: &str, expected: bool, texts: &[&str]) {
        let rules = PRESETS[0].rules(0);
        for text in texts {
            assert_eq!(self.runs_unasked(&rules, project, text), expected, "{project}: {text}");
        }
    }

    fn allows(&self, project: &str, text: &str) -> bool {
        self.runs_unasked(&PRESETS[0].rules(0), project, text)
    }
}

mod handed;

#[test]
fn reading_a_project_without_secrets_stays_unasked() {
    Site::new().check(
        "plain",
        true,
        &[
            "cat README.md docs/guide.md",
            "cat docs/../README.md",
            "cat latest.md",
            "cat docs/same.md",
            "cat nothere.txt",
            "cat .github/ci.yml",
            "head -n 3 src/*.rs",
            "cd src && ls -la && cat main.rs",
            "cd src; ls",
            "cd -- src && cat main.rs",
            "cd $R/plain && git status",
            "cd ../plain/src && rg main",
            "cd .. && ls",
            "grep -rn main src",
            "grep -rn token README.md src",
            "grep -rn main --include='*.rs' .",
            "rg main",
            "rg --hidden main src",
            "rg -g '*.rs' main",
            "ls; find src -name '*.rs' -exec grep -n main {} +",
            "ls; find . -type f -exec ls -l {} +",
            "diff -r src src/util",
            "git diff --no-index README.md latest.md",
            "git diff HEAD -- src docs",
            "git grep main -- src",
            "ls -R up",
            "ls -la /proc/self",
            "cat /proc/self/status /proc/cpuinfo",
            "cat /dev/null",
            "tree -a",
        ],
    );
}

#[test]
fn a_link_is_as_secret_as_what_it_leads_to() {
    let site = Site::new();
    site.check(
        "proj",
        false,
        &[
            "cat notes.txt",
            "cat chain.txt",
            "cat hard.txt",
            "cat src/hard.py",
            "cat cfg/config",
            "ls cfg",
            "cat share/.claude.json",
            "cat here/here/notes.txt",
            "cat e.txt",
            "cat loop",
            "cat *.txt",
            "head src/*",
            "grep -f notes.txt main.py",
            "grep -nfnotes.txt main.py",
            "jq -Rs . notes.txt",
            "git diff --no-index /dev/null notes.txt",
            "git diff /dev/null hard.txt",
            "cat secrets",
            "cat /proc/self/cwd/main.py",
            "cat /proc/self/root$R/home/.claude.json",
            "cat /proc/thread-self/root/etc/passwd",
            "cat /proc/1/root/etc/passwd",
            "cat src/../../home/.claude.json",
            "cat $R/proj/../home/.claude.json",
            "cat /dev/fd/../environ",
        ],
    );
    site.check("linked", false, &["cat docs/key.md", "cat docs/*.md", "grep -r x docs"]);
    site.check(
        "proj",
        true,
        &["cat main.py src/a.py", "cat sub/x.py", "cat here/main.py", "ls secrets keys"],
    );
}

#[test]
fn where_a_cd_may_lead_is_where_files_are_read() {
    let site = Site::new();
    site.check(
        "proj",
        false,
        &[
            "cd && cat .claude.json",
            "cd; cat .claude.json",
            "cd --; cat .claude.json",
            "cd -- $R/home/.aws && cat config",
            "cd -P $R/home/.aws; cat config",
            "cd -L -e $R/home/.aws; cat config",
            "cd '' $R/home/.aws; cat config",
            "cd - && cat main.py",
            "cd cfg && cat config",
            "cd share && cat .claude.json",
            "cd here/../../home; cat .claude.json",
            "cd a || cd b || cd c || cd d || cd $R/home/.aws; cat config",
            "cd 1; cd 2; cd 3; cd 4; cd 5; cd $R/home/.aws && cat config",
            "pushd $R/home/.aws && cat config",
            "command cd $R/home/.aws && cat config",
            "{ cd $R/home/.aws; }; cat config",
            "! cd $R/home/.aws; cat config",
            "cd secrets && cat prod.json",
            "cd /proc/self/root$R/home && cat .claude.json",
            "cd /proc/self && cat environ",
            "cd; rg --hidden x",
            "cd nowhere; cat main.py",
        ],
    );
    site.check(
        "proj",
        true,
        &["cd src && cat a.py", "(cd sub && cat x.py); cat main.py", "cd sub; cd ..; ls"],
    );
}

#[test]
fn a_folder_is_as_secret_as_what_is_read_in_it() {
    let site = Site::new();
    site.check(
        "proj",
        false,
        &[
            "grep -rh x .",
            "grep -rh x --include='.[e]*' .",
            "grep -r x keys",
            "grep -rh x sub",
            "grep -rh x src",
            "grep -r x",
            "rg x keys",
            "rg x",
            "rg --hidden x sub",
            "rg -g '.e*' x sub",
            "rg -L x",
            "rg x notes.txt",
            "diff -rN sub ../empty",
            "diff ../empty .",
            "git diff --no-index ../empty sub",
            "git diff ../empty sub",
            "git -C .. diff --no-index empty proj",
            "git grep --untracked x",
            "git grep --no-ind x",
            "true; find . -exec cat {} +",
            "true; find . -name '.e?v' -exec cat {} +",
            "true; find sub -type f -exec head {} +",
            "true; find . -name main.py -o -exec cat {} +",
            "true; find . -type l -exec cat {} +",
            "true; find src -name '*.py' -exec cat {} +",
            "true; find cfg/ -type f -exec cat {} +",
            "true; find /proc/self -name 'enviro*' -exec cat {} +",
            "grep -r x /proc/self/root$R/home",
            "grep -r x $R/home/",
        ],
    );
    site.check(
        "proj",
        true,
        &[
            "rg x sub",
            "rg -t py x sub",
            "grep -r x --include='*.py' sub",
            "grep x main.py",
            "ls -laR .",
            "tree -a",
            "find . -name '.e*'",
            "true; find . -type f -exec ls -l {} +",
            "true; find sub -name '*.py' -exec cat {} +",
            "git grep x",
            "git diff HEAD",
            "rg --files --hidden",
        ],
    );
}

#[test]
fn what_git_ignores_is_left_out_only_by_who_leaves_it_out() {
    let site = Site::new();
    site.check("ignored", true, &["rg x", "git grep --untracked x"]);
    site.check(
        "ignored",
        false,
        &["grep -r x .", "rg --no-ignore x", "rg -uu x", "rg -g '*.pem' x", "git grep --no-index x"],
    );
    fs::write(site.at("ignored/.ignore"), "!*.pem\n!certs\n").unwrap();
    site.check("ignored", false, &["rg x"]);
}

#[test]
fn what_cannot_be_looked_through_is_asked_about_where_it_may_be_hidden() {
    let site = Site::new();
    for at in 0..200 {
        let folder = site.at(&format!("plain/big/{at}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..110 {
            fs::write(folder.join(file.to_string()), "").unwrap();
        }
    }
    site.check("plain", false, &["grep -r x big", "rg --hidden x big", "true; find big -exec cat {} +"]);
    site.check("plain", true, &["rg x big", "grep -r x --include='*.rs' big", "ls -R big"]);
}

fn below(site: &Site, program: &str, flags: &serde_json::Value, kind: &str) -> Vec<CommandRule> {
    let rule = serde_json::json!({
        "id": "r", "agent": "*", "effect": "allow", "program": program, "createdAtMs": 0, "from": "typed",
        "folder": site.at("plain"),
        "arguments": {"shape": {
            "style": "words", "flags": {"listed": flags},
            "operands": {"min": 0, "max": 9, "kinds": [{kind: {"below": [site.at("plain")]}}]},
        }},
    });
    vec![serde_json::from_value(rule).unwrap()]
}

#[test]
fn t16_only_below_a_folder_is_meant_of_what_paths_lead_to() {
    let site = Site::new();
    let output = serde_json::json!([{"names": ["-o"], "value": {"path": {"below": [site.at("plain")]}}}]);
    let rules = below(&site, "mk", &output, "plain-path");
    for (text, expected) in [
        ("mk src/main.rs", true),
        ("mk src/new.rs", true),
        ("mk latest.md", true),
        ("mk -o src/new ./src", true),
        ("mk out/x.rs", false),
        ("mk out/new/x.rs", false),
        ("mk up/empty/.keep", false),
        ("mk ./up", false),
        ("mk -o out/new ./src", false),
        ("mk -o up ./src", false),
        ("cd src && mk ../out/x.rs", false),
    ] {
        assert_eq!(site.runs_unasked(&rules, "plain", text), expected, "{text}");
    }
    let visible = below(&site, "mk", &serde_json::json!([]), "visible-path");
    assert!(site.runs_unasked(&visible, "plain", "mk src/main.rs"));
    assert!(!site.runs_unasked(&visible, "plain", "mk hooks/pre-commit"));
}

#[test]
fn t16_a_path_that_leads_elsewhere_by_the_start_is_noticed() {
    let site = Site::new();
    let folder = site.at("plain");
    let pinned = |text: &str| site.facts("plain", text).2.reached;
    let drifts = |pins: &Reached| changed(pins, &folder, &site.at("home")).is_some();
    let [named, tree, new] = ["cat docs/guide.md", "grep -r x src", "mk src/new.rs"].map(pinned);
    assert!(!drifts(&named) && !drifts(&tree) && !drifts(&new));
    // What is made where nothing was is no drift, unless it leads elsewhere.
    fs::write(site.at("plain/src/new.rs"), "").unwrap();
    assert!(!drifts(&new));
    fs::remove_file(site.at("plain/src/new.rs")).unwrap();
    symlink("../../empty/.keep", site.at("plain/src/new.rs")).unwrap();
    assert!(drifts(&new));
    fs::remove_file(site.at("plain/docs/guide.md")).unwrap();
    symlink(site.at("home/.claude.json"), site.at("plain/docs/guide.md")).unwrap();
    assert!(drifts(&named));
    fs::write(site.at("plain/src/.env"), "").unwrap();
    assert!(drifts(&tree));
}

#[test]
fn paths_are_followed_as_the_kernel_does() {
    let site = Site::new();
    let from = site.at("proj");
    let mut walk = Walk::new(Some(&from), &site.at("home"));
    let mut lead = |path: &str| leads(from.to_str().unwrap(), path, &mut walk);
    let at = |name: &str| site.at(name).to_str().unwrap().to_owned();
    for (path, expected) in [
        ("here/here/main.py", "proj/main.py"),
        ("cfg/../.claude.json", "home/.claude.json"),
        ("./share/notes//todo.md", "home/notes/todo.md"),
        ("../proj/chain.txt", "proj/.env"),
    ] {
        assert!(matches!(lead(path), Leads::To { real, .. } if real == at(expected)), "{path}");
    }
    assert_eq!(lead("loop"), Leads::Unknown);
    assert_eq!(lead("cfg/new/x"), Leads::Nowhere { last: at("home/.aws"), real: at("home/.aws/new/x") });
    for inside in ["/proc/self/cwd/..", "/dev/fd/9", "/proc/7/root/x"] {
        let Leads::To { real, .. } = lead(inside) else { panic!("{inside}") };
        assert!(real.starts_with("/proc/"), "{inside}: {real}");
    }
}
