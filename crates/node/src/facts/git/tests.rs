use super::*;
use crate::facts::{Places, gather, real_folders, recheck};
use countersign_commands::analysis::analyze_argv;
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::approved::Pins;
use countersign_policy::effective::{BUILT_IN, Effective, Layered};
use countersign_policy::evaluate::{LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate};
use countersign_policy::rules::{Moment, PRESETS, RuleIndex, visited};
use countersign_protocol::rules::ArgumentRule;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::Security;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A folder with repositories that a real git makes and reads.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        fs::create_dir(site.at("home")).unwrap();
        site
    }

    fn at(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn append(&self, name: &str, text: &str) {
        let old = fs::read_to_string(self.at(name)).unwrap_or_default();
        self.write(name, &format!("{old}{text}"));
    }

    /// Runs git in a folder, whether it likes that or not.
    #[expect(clippy::disallowed_methods, reason = "what is judged is what the real git does")]
    fn run(&self, folder: &str, words: &[&str]) -> bool {
        let output = Command::new("git")
            .args(words)
            .current_dir(self.at(folder))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.at("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ALLOW_PROTOCOL", "file")
            .env("GIT_AUTHOR_DATE", "2020-01-01T00:00:00Z")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        output.status.success()
    }

    #[track_caller]
    fn git(&self, folder: &str, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        assert!(self.run(folder, &words), "{words:?}");
    }

    /// A repository with two commits and a change that is not committed.
    fn repository(&self, name: &str) {
        self.write(
            "home/.gitconfig",
            "[user]\nname = A\nemail = a@example.invalid\n[init]\ndefaultBranch = main\n",
        );
        self.write(&format!("{name}/a.txt"), "one\n");
        self.git(name, "init -q");
        self.git(name, "add .");
        self.git(name, "commit -qm one");
        self.write(&format!("{name}/a.txt"), "two\n");
        self.git(name, "commit -qam two");
        self.git(name, "tag v1");
        self.write(&format!("{name}/a.txt"), "three\n");
    }

    #[track_caller]
    fn check_plain(&self, folder: &str) {
        assert_eq!(look(&self.at(folder)), Repository::Plain, "{folder}");
    }

    #[track_caller]
    fn check_doubtful(&self, folder: &str, why: &str) {
        let Repository::Doubtful(found) = look(&self.at(folder)) else {
            panic!("{folder} counts as harmless")
        };
        assert!(found.starts_with(why), "{folder}: {found}");
    }

    /// Whether the ready-made rules for reading git let a command run unasked.
    fn allows(&self, folder: &str, words: &[&str]) -> bool {
        let argv: Vec<String> = std::iter::once(&"git").chain(words).map(|word| (*word).to_owned()).collect();
        let analysis = analyze_argv(&argv);
        let (cwd, home) = (self.at(folder), self.at("home"));
        let path = std::env::var_os("PATH").unwrap();
        let facts = gather(&argv, &analysis, Places { path: OsStr::new(&path), cwd: &cwd, home: &home });
        let preset = PRESETS.iter().find(|preset| preset.name == "git-history").unwrap();
        let rules = RuleIndex::new(preset.rules(0));
        let folders = real_folders(visited(&analysis, &facts));
        let uses = HashMap::new();
        let moment = Moment { agent: "main", session: None, now_ms: 0, uses: &uses };
        let policy = Effective {
            security: Layered { value: Security::Allowlist, layer: PolicyLayer::Defaults },
            ..BUILT_IN
        };
        let subject = Subject {
            argv: &argv,
            analysis: &analysis,
            facts: &facts,
            policy: &policy,
            entries: &EntryIndex::default(),
            local: LocalRules::Known { rules: &rules, folders: &folders, moment, unclear: None },
            trust: &Trust::default(),
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        matches!(evaluate(&subject, None).verdict, Verdict::Allow(_))
    }
}

/// Every subcommand that the ready-made rules let run, as it is and with what makes it read more.
fn readings() -> Vec<Vec<String>> {
    let preset = PRESETS.iter().find(|preset| preset.name == "git-history").unwrap();
    let mut all = Vec::new();
    for rule in preset.rules(0) {
        let ArgumentRule::Shape(shape) = rule.arguments else { panic!("{}", rule.id) };
        let plain = shape.subcommand;
        for more in MORE {
            all.push(plain.iter().cloned().chain(more.iter().map(|word| (*word).to_owned())).collect());
        }
        all.push(plain);
    }
    all
}

/// Words that have a subcommand read more; those that do not fit one are refused by the rules
/// or by git itself.
const MORE: &[&[&str]] = &[
    &["HEAD"],
    &["-p"],
    &["-p", "HEAD"],
    &["-m"],
    &["--dirty"],
    &["a.txt"],
    &["--remerge-diff"],
    &["--show-signature"],
    &["--format=%G?"],
    &["--format=%(signature)"],
    &["--pretty=mine"],
];

/// What a repository says, and a command that shows that git obeys it. The marker is what the program of
/// the project makes.
const HOSTILE: &[(&str, &str, &[&str])] = &[
    ("[core]\nfsmonitor = ./evil\n", "", &["status"]),
    ("[core]\nfsmonitor = ./evil\n", "", &["ls-files", "-m"]),
    ("[diff]\nexternal = ./evil\n", "", &["diff"]),
    ("[diff \"e\"]\ntextconv = ./evil\n", "* diff=e\n", &["log", "-p"]),
    ("[diff \"e\"]\ncommand = ./evil\n", "* diff=e\n", &["diff"]),
    ("[filter \"e\"]\nclean = ./evil\n", "* filter=e\n", &["diff"]),
    ("[filter \"e\"]\nprocess = ./evil\n", "* filter=e\n", &["diff"]),
    ("[include]\npath = ../included\n", "", &["status"]),
    ("[includeIf \"gitdir:/\"]\npath = ../included\n", "", &["status"]),
    ("[log]\nshowSignature = true\n[gpg]\nprogram = ./evil\n", "", &["log"]),
    ("[format]\npretty = %G?\n[gpg]\nprogram = ./evil\n", "", &["log"]),
    ("[pretty]\nmine = %G?\n[gpg]\nprogram = ./evil\n", "", &["log", "--pretty=mine"]),
    ("[core]\nhooksPath = hooks\n", "", &["status"]),
];

fn hostile(site: &Site, config: &str, attributes: &str) {
    site.repository("w");
    site.write("w/evil", "#!/bin/sh\n: >\"$(dirname \"$0\")/PWNED\"\ncat\n");
    site.write("w/included", "[core]\nfsmonitor = ./evil\n");
    site.write("w/hooks/post-index-change", "#!/bin/sh\n: >PWNED\n");
    if !attributes.is_empty() {
        site.write("w/.gitattributes", attributes);
    }
    sign(site);
    site.append("w/.git/config", config);
}

/// Makes the last commit one that claims to be signed, so that somebody would look.
fn sign(site: &Site) {
    site.write("home/gpg", "#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n");
    let gpg = format!("gpg.program={}", site.at("home/gpg").display());
    assert!(site.run("w", &["-c", &gpg, "commit", "-q", "--allow-empty", "-S", "-m", "signed"]));
}

/// Puts the tree into a state in which git has to look at the files again.
fn stir(site: &Site) {
    site.write("w/a.txt", "three\n");
    let _ = fs::remove_file(site.at("w/PWNED"));
}

#[test]
fn what_a_hostile_clone_says_starts_nothing_unasked_whatever_is_read() {
    for (config, attributes, shown) in HOSTILE {
        let site = Site::new();
        hostile(&site, config, attributes);
        stir(&site);
        site.run("w", shown);
        assert!(site.at("w/PWNED").exists(), "git does not obey {config:?} for {shown:?}");
        for words in readings() {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if site.allows("w", &words) {
                stir(&site);
                site.run("w", &words);
                assert!(!site.at("w/PWNED").exists(), "{words:?} obeys {config:?}");
            }
        }
    }
}

#[test]
fn in_a_plain_clone_every_subcommand_is_allowed_in_some_form_and_starts_nothing() {
    let site = Site::new();
    hostile(&site, "", "");
    let mut allowed = 0;
    for words in readings() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if site.allows("w", &words) {
            allowed += 1;
            stir(&site);
            site.run("w", &words);
            assert!(!site.at("w/PWNED").exists(), "{words:?}");
        }
    }
    assert!(allowed > 100, "{allowed}");
    for words in ["status", "log -p", "diff HEAD", "show", "describe --dirty", "blame a.txt", "tag -l"] {
        assert!(site.allows("w", &words.split(' ').collect::<Vec<_>>()), "{words}");
    }
    for words in ["log --show-signature", "log --format=%G?", "log --pretty=mine"] {
        assert!(!site.allows("w", &words.split(' ').collect::<Vec<_>>()), "{words}");
    }
}

#[test]
fn what_git_itself_makes_is_harmless() {
    let site = Site::new();
    site.repository("origin");
    site.repository("library");
    site.repository("inner");
    site.git("library", "-c protocol.file.allow=always submodule add -q ../inner deep/inner");
    site.git("library", "commit -qm inner");
    site.git("", "clone -q origin w");
    site.git("w", "checkout -qb topic");
    site.git("w", "-c protocol.file.allow=always submodule add -q ../library lib");
    site.git("w", "-c protocol.file.allow=always submodule update -q --init --recursive");
    site.git("w", "commit -qm lib");
    site.git("w", "worktree add -q ../tree");
    site.git("tree", "-c protocol.file.allow=always submodule update -q --init --recursive");
    site.git("w", "config extensions.worktreeConfig true");
    site.git("", "clone -q --bare origin bare.git");
    site.git("bare.git", "worktree add -q ../of-bare");
    site.write("w/src/x", "x");
    for folder in [
        "w",
        "w/src",
        "w/lib",
        "w/lib/deep/inner",
        "tree",
        "tree/lib",
        "tree/lib/deep/inner",
        "of-bare",
        "origin",
        "home",
    ] {
        site.check_plain(folder);
    }
    for version in ["3", "4"] {
        site.git("w", &format!("update-index --index-version {version}"));
        site.check_plain("w");
    }
    site.git("", "init -q --object-format=sha256 long");
    site.write("long/a.txt", "one\n");
    site.git("long", "add .");
    site.check_plain("long");
}

#[test]
fn a_repository_that_came_with_the_files_is_doubtful() {
    let site = Site::new();
    site.repository("w");
    site.git("", "init -q --bare w/tests/fixture");
    site.write("w/tests/fixture/in/here", "x");
    site.write("w/sub/.git", "gitdir: ../tests/fixture\n");
    fs::create_dir_all(site.at("w/linked")).unwrap();
    symlink("../tests/fixture", site.at("w/linked/.git")).unwrap();
    fs::create_dir_all(site.at("w/empty/.git")).unwrap();
    site.check_plain("w");
    site.check_plain("w/tests");
    site.check_doubtful("w/tests/fixture", "bare repository");
    site.check_doubtful("w/tests/fixture/in", "bare repository");
    site.check_doubtful("w/.git", "bare repository");
    site.check_doubtful("w/sub", "gitdir");
    site.check_doubtful("w/linked", "link");
    site.check_doubtful("w/empty", "missing");
    site.check_doubtful("w/nowhere", "no folder");
}

#[test]
fn what_a_submodule_says_counts_where_it_is_visited() {
    let site = Site::new();
    site.repository("w");
    site.repository("library");
    site.git("w", "-c protocol.file.allow=always submodule add -q ../library lib");
    site.check_plain("w");
    let config = fs::read_to_string(site.at("w/.git/modules/lib/config")).unwrap();
    site.append("w/.git/modules/lib/config", "[core]\nfsmonitor = ./evil\n");
    site.check_doubtful("w", "core.fsmonitor");
    site.check_doubtful("w/lib", "core.fsmonitor");
    site.write("w/.git/modules/lib/config", &config.replace("../../../lib", "../../../../w"));
    site.check_doubtful("w/lib", "core.worktree");
    // One that is only in the index, with a repository of its own inside.
    let site = Site::new();
    site.repository("w");
    site.repository("w/vendor");
    site.git("w", "add vendor");
    site.check_plain("w");
    site.append("w/vendor/.git/config", "[core]\nfsmonitor = ./evil\n");
    site.check_doubtful("w", "core.fsmonitor");
    for version in ["4", "2"] {
        site.git("w", &format!("-c core.fsmonitor=false update-index --index-version {version}"));
        site.check_doubtful("w", "core.fsmonitor");
    }
}

#[test]
fn hooks_and_odd_files_are_doubtful() {
    let site = Site::new();
    site.repository("w");
    site.write("w/.husky/pre-commit", "#!/bin/sh\n");
    site.git("w", "config core.hooksPath .husky");
    site.check_plain("w");
    site.write("w/.husky/post-index-change", "#!/bin/sh\n");
    site.check_doubtful("w", "hook");
    fs::remove_file(site.at("w/.husky/post-index-change")).unwrap();
    site.append("w/.git/config", "[core]\nabbrev = 7 \\\n");
    site.check_doubtful("w", "line");
    fs::remove_file(site.at("w/.git/config")).unwrap();
    symlink("../config", site.at("w/.git/config")).unwrap();
    site.check_doubtful("w", "no regular file");
    fs::remove_file(site.at("w/.git/config")).unwrap();
    site.check_plain("w");
    for told in TOLD {
        let file = site.at(&format!("w/.git/{told}"));
        let _ = fs::remove_file(&file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        symlink("/etc/passwd", &file).unwrap();
        site.check_doubtful("w", "no regular file");
        fs::remove_file(file).unwrap();
        site.check_plain("w");
    }
    site.write("w/.git/config.worktree", "[diff]\nexternal = ./evil\n");
    site.check_doubtful("w", "diff.external");
    fs::remove_file(site.at("w/.git/config.worktree")).unwrap();
    site.write("w/.git/index", "DIRC");
    site.check_doubtful("w", "an index");
    site.write("w/.git/config", &"#\n".repeat(usize::try_from(TEXT_BYTES).unwrap()));
    site.check_doubtful("w", "too large");
}

#[test]
fn what_was_silent_when_it_was_judged_must_be_at_the_start() {
    let site = Site::new();
    site.repository("w");
    let pins = |words: &[&str]| {
        let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let analysis = analyze_argv(&argv);
        let (cwd, home) = (site.at("w"), site.at("home"));
        let path = std::env::var_os("PATH").unwrap();
        let facts = gather(&argv, &analysis, Places { path: OsStr::new(&path), cwd: &cwd, home: &home });
        Pins {
            programs: Vec::new(),
            links: Vec::new(),
            surroundings: facts.surroundings,
            cwd: facts.cwd.unwrap(),
            scripts: Vec::new(),
            reached: facts.reached,
            home: facts.home,
        }
    };
    let git = pins(&["git", "-C", ".", "status"]);
    assert_eq!(git.surroundings.len(), 1);
    assert_eq!(recheck(&git), Ok(()));
    site.git("w", "config user.name B");
    assert_eq!(recheck(&git), Ok(()));
    site.git("w", "config core.fsmonitor ./evil");
    assert!(recheck(&git).unwrap_err().to_string().contains("core.fsmonitor"));
    let cargo = pins(&["cargo", "--version"]);
    assert_eq!((cargo.surroundings.len(), recheck(&cargo)), (1, Ok(())));
    site.write("rust-toolchain", "x");
    assert!(recheck(&cargo).unwrap_err().to_string().contains("rust-toolchain"));
}

#[test]
fn settings_tell_a_password_where_an_address_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let git = folder.path().join(".git");
    std::fs::create_dir_all(git.join("worktrees/w")).unwrap();
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(git.join("worktrees/w/commondir"), "../..\n").unwrap();
    let tree = folder.path().join("w");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join(".git"), format!("gitdir: {}\n", git.join("worktrees/w").display())).unwrap();
    for (address, tells) in [
        ("https://example.invalid/a.git", false),
        ("ssh://git@example.invalid/a.git", false),
        ("https://ann:pass@example.invalid/a.git", true),
        ("https://x-access-token:ghp_fixture@example.invalid/a.git", true),
        ("https://ghp_0123456789abcdef0123@example.invalid/a.git", true),
        ("git@example.invalid:a.git", false),
    ] {
        let settings = format!("[remote \"origin\"]\n\turl = {address}\n");
        std::fs::write(git.join("config"), settings).unwrap();
        assert_eq!(tells_a_password(&git.join("config")), tells, "{address}");
        for from in [folder.path(), &tree, &git] {
            let found = addresses_have_passwords(from);
            assert_eq!(found, tells, "{address} from {}", from.display());
        }
    }
    // Another file of that name says nothing of the kind.
    std::fs::write(folder.path().join("config"), "https://ann:pass@example.invalid").unwrap();
    assert!(!tells_a_password(&folder.path().join("config")));
}
