use super::*;
use crate::facts::{FileIdentity, ProgramFacts};
use countersign_commands::analysis::{analyze_argv, analyze_text};
use proptest::prelude::*;

/// Facts in which every program of the command is an ordinary file of somebody else's.
fn found(analysis: &Analysis, argv: &[String], mode: u32) -> Facts {
    let identity = FileIdentity { dev: 1, ino: 1, size: 1, mtime_ns: 0, ctime_ns: 0, mode, sha256: None };
    let program = |name: &str| {
        let path = Some(format!("/usr/bin/{}", name.rsplit('/').next().unwrap_or(name)).into());
        let identity = Some(identity.clone());
        (
            name.to_owned(),
            ProgramFacts {
                path: path.clone(),
                real_path: path,
                identity,
                writable: false,
                ..ProgramFacts::default()
            },
        )
    };
    let names = analysis.programs();
    let first = argv.first().map(String::as_str);
    Facts {
        programs: names.iter().map(AsRef::as_ref).chain(first).map(program).collect(),
        ..Facts::default()
    }
}

fn of_argv(argv: &[&str]) -> Powers {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let analysis = analyze_argv(&argv);
    powers(&analysis, &argv, &found(&analysis, &argv, 0o755))
}

fn of_text(text: &str) -> Powers {
    let analysis = analyze_text(text);
    powers(&analysis, &[], &found(&analysis, &[], 0o755))
}

#[track_caller]
fn check(text: &str, elevation: &[&str], network: &[&str]) {
    let found = of_text(text);
    assert_eq!(found.elevation, elevation, "elevation of {text:?}");
    assert_eq!(found.network, network, "network of {text:?}");
    // The same text behind a shell says the same.
    let shell = of_argv(&["bash", "-c", text]);
    assert_eq!((shell.elevation, shell.network), (found.elevation, found.network), "bash -c {text:?}");
    assert_eq!(shell.seen, Seen::Part);
}

#[test]
fn a_container_with_the_root_folder_of_the_machine_is_elevation() {
    let argv = ["docker", "run", "-v", "/:/host", "alpine", "chroot", "/host", "sh", "-c", "id"];
    let found = of_argv(&argv);
    assert_eq!(found.elevation, ["docker run"]);
    assert_eq!(found.seen, Seen::Part);
    check("docker -H tcp://x container exec -u 0 web sh", &["docker exec"], &[]);
    check("docker ps -a", &[], &[]);
    check("docker run --network none img", &["docker run"], &[]);
}

#[test]
fn every_command_of_a_request_is_looked_at() {
    check("cd src && git pull && sudo make install", &["sudo"], &["git pull"]);
    check("tail -f log | nc host 99", &[], &["nc"]);
    check("make; pkexec true || doas -u root curl -s u", &["pkexec", "doas"], &["curl"]);
}

#[test]
fn programs_behind_others_are_found() {
    check("timeout -k 1 5 nice -n 3 wget u", &[], &["wget"]);
    check("sudo -u web env A=1 ssh -p 22 host 'sudo reboot'", &["sudo"], &["ssh"]);
    check("find . -name x -exec sudo rm {} ';'", &["sudo"], &[]);
    check("ls | xargs -n 1 curl", &[], &["curl"]);
    check("python3 -m pip install x", &[], &["pip install"]);
    check("npm exec -- curl u", &[], &["npm exec", "curl"]);
    check("sh -c 'su -c \"scp a b\"'", &["su"], &["scp"]);
    check("watch 'sudo id'", &["sudo"], &[]);
    check("systemd-run --user id", &[], &[]);
    check("systemd-run id", &["systemd-run"], &[]);
}

#[test]
fn other_rights_are_found_behind_every_carrier() {
    for text in [
        "env sudo id",
        "env A=1 sudo id",
        "env -S 'sudo id'",
        "sh -c 'sudo id'",
        "timeout 5 sudo id",
        "strace -f -o log sudo id",
        "prlimit --nofile=5 sudo id",
        "systemd-cat -t x sudo id",
        "hyperfine -w 3 'sudo id'",
        "trap 'sudo id' EXIT",
        "eval 'sudo id'",
        "coproc sudo id",
        "watch -n 2 'sudo id'",
        "parallel -j 4 sudo id ::: a",
        "direnv exec . sudo id",
        "perf stat -e cycles sudo id",
        "nix-shell -p hello --run 'sudo id'",
        "gdb --args sudo id",
        "xterm -e sudo id",
        "script -c 'sudo id' out",
        "/lib64/ld-linux-x86-64.so.2 --library-path . /usr/bin/sudo id",
        "start-stop-daemon --start --exec /usr/bin/sudo -- id",
        "fd -x sudo id",
        "busybox sudo id",
    ] {
        check(text, &["sudo"], &[]);
    }
    check("uv run sudo id", &["sudo"], &["uv run"]);
    check("timeout 5 run0 id", &["run0"], &[]);
    check("nohup setsid systemd-run id", &["systemd-run"], &[]);
}

#[test]
fn nothing_is_denied_of_what_is_not_known() {
    for text in [
        "mytool sudo id",
        "mytool",
        "hyperfine ls",
        "strace ls",
        "xargs",
        "find . -exec ls {} \\;",
        "docker ps",
    ] {
        assert_eq!(of_text(text).seen, Seen::Part, "{text}");
    }
}

#[test]
fn texts_that_cannot_be_taken_apart_are_read_roughly() {
    check("curl -s u > out && sudo tee /etc/x < out", &["sudo"], &["curl"]);
    check("for f in *; do sudo rm \"$f\"; done", &["sudo"], &[]);
    check("echo \"now $(doas id)\" `curl u`", &["doas"], &["curl"]);
    check("if true; then { git fetch & }; fi", &[], &["git fetch"]);
    check("bash <<E\nsudo id\nE", &["sudo"], &[]);
    check("cat > notes <<'E'\nsudo id\nE\nwget u 2>&1", &[], &["wget"]);
}

#[test]
fn words_that_only_look_like_programs_are_none() {
    for text in [
        "git commit -m push",
        "grep sudo /etc/group",
        "echo 'sudo id; curl u' > notes",
        "rm /usr/bin/curl",
        "git clone ./other copy",
        "git remote -v",
        "npm run build",
        "apt-get --version",
        "# sudo id\nls",
    ] {
        check(text, &[], &[]);
    }
}

#[test]
fn subcommands_of_the_usual_tools_talk_to_other_machines() {
    check("git push --force origin main", &[], &["git push"]);
    check("git -C /src -c a=b push", &[], &["git push"]);
    check("git submodule update --init", &[], &["git submodule"]);
    check("npm install", &[], &["npm install"]);
    check("yarn", &[], &["yarn"]);
    check("cargo +nightly install x", &[], &["cargo install"]);
}

#[test]
fn only_what_was_wholly_seen_is_said_to_have_no_other_rights() {
    for text in ["git status", "ls -l | grep x", "cd src && wc -l a", "rm -rf build", "cp a b; mv b c"] {
        assert_eq!(of_text(text).seen, Seen::All, "{text}");
    }
    for text in [
        "make",
        "npm test",
        "python3 x.py",
        "sh x.sh",
        "env ls",
        "cargo test",
        "ls > x",
        "$x",
        "systemctl stop a",
    ] {
        assert_eq!(of_text(text).seen, Seen::Part, "{text}");
    }
}

#[test]
fn a_program_that_runs_as_its_owner_is_elevation() {
    let argv = ["mount".to_owned(), "/data".to_owned()];
    let analysis = analyze_argv(&argv);
    let mut facts = found(&analysis, &argv, 0o104_755);
    assert_eq!(powers(&analysis, &argv, &facts).elevation, ["mount"]);
    facts.programs.clear();
    assert_eq!(powers(&analysis, &argv, &facts).seen, Seen::Part, "what is not found may be anything");
    facts = found(&analysis, &argv, 0o755);
    facts.programs.values_mut().for_each(|program| program.writable = true);
    assert_eq!(powers(&analysis, &argv, &facts).seen, Seen::Part, "what this user can write may be anything");
}

proptest! {
    #[test]
    fn any_text_is_read_to_its_end(text in "[ -~\n]{0,80}") {
        of_text(&text);
        rough::commands(&text);
    }

    #[test]
    fn a_program_with_other_rights_is_found_wherever_it_stands(
        before in "[a-z]{1,6}( [a-z]{1,4}){0,2}", joint in "( && | \\|\\| |; |\n| \\| |\\$\\()", after in "( > x)?",
    ) {
        let text = format!("{before}{joint}sudo id{after}");
        prop_assert!(of_text(&text).elevation.contains(&"sudo".to_owned()), "{text}");
    }
}
