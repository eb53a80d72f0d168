//! What a question says about the programs of a command, found on this machine.

use crate::facts::{Places, gather};
use crate::host::claimed_place;
use countersign_approvals::question::{Finding, Looked, Place};
use countersign_commands::analysis::analyze_argv;
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn found(argv: &[&str]) -> Vec<Finding> {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let analysis = analyze_argv(&argv);
    let folder = tempfile::tempdir().unwrap();
    for program in ["docker", "git", "make", "sudo", "tail"] {
        let path = folder.path().join(program);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let places = Places { path: folder.path().as_os_str(), cwd: folder.path(), home: Path::new("/home/u") };
    let facts = gather(&argv, &analysis, places);
    Looked { argv: &argv, analysis: &analysis, facts: &facts }.findings()
}

fn programs(found: &[Finding]) -> Vec<String> {
    let name = |finding: &Finding| match finding {
        Finding::Program { name, path, .. } => {
            let mark = if path.is_none() { "?" } else { "" };
            Some(format!("{name}{mark}"))
        }
        _ => None,
    };
    found.iter().filter_map(name).collect()
}

#[test]
fn facts_are_about_every_command_of_a_request() {
    let found = found(&["sh", "-c", "cd src && git push && make install | tail -n 5; nothing"]);
    assert_eq!(programs(&found), ["git", "make", "tail", "nothing?"]);
    assert!(found.contains(&Finding::Network { program: "git push".to_owned() }), "{found:?}");
    assert!(!found.contains(&Finding::OwnRights), "make starts others: {found:?}");
}

#[test]
fn what_a_shell_does_by_itself_is_no_program_that_was_not_found() {
    let text = "set -e; . ./env; builtin umask 022; command ulimit -n 5; exec git push; trap 'make' EXIT";
    assert_eq!(programs(&found(&["sh", "-c", text])), ["git"]);
    // Without a shell a program of that name would be started.
    assert_eq!(programs(&found(&["set", "-e"])), ["set?"]);
}

#[test]
fn t03_a_container_with_the_machines_root_folder_is_shown_as_elevation() {
    let argv = ["docker", "run", "-v", "/:/host", "alpine", "chroot", "/host", "sh"];
    let container = found(&argv);
    assert!(container.contains(&Finding::Elevation { program: "docker run".to_owned() }), "{container:?}");
    let shell = found(&["sh", "-c", "git status && sudo make install > log"]);
    assert!(shell.contains(&Finding::Elevation { program: "sudo".to_owned() }), "{shell:?}");
}

#[test]
fn t04_another_machine_is_never_called_this_one() {
    assert_eq!(claimed_place(None), Place::ThisMachine);
    assert_eq!(claimed_place(Some("node")), Place::ThisMachine);
    assert_eq!(claimed_place(Some("build-02")), Place::Remote(Some("build-02".to_owned())));
    assert_eq!(claimed_place(Some("sandbox")), Place::Sandbox);
}
