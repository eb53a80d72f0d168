//! What runs in a sandbox is what was approved, and it ends as runs end.

use super::*;
use crate::testing::{LIMIT, PATIENCE, limit_between, wait_for_file, wait_until_gone};
use pretty_assertions::assert_eq;
use std::os::unix::fs::{MetadataExt, symlink};

#[tokio::test]
async fn a_command_runs_with_its_arguments_folder_and_environment() {
    let mut rig = Rig::new();
    rig.bench.env.insert("GREETING".into(), "a b".into());
    rig.env.insert("SSH_AUTH_SOCK".into(), "/run/agent".into());
    let odd = ["", " a", "$HOME", "*", "--", "-x", "é\n"];
    let mut argv = vec!["printf", "%s\\0"];
    argv.extend(odd);
    let payload = rig.run(&argv).await;
    assert_eq!(payload.stdout.split_terminator('\0').collect::<Vec<_>>(), odd);
    let payload = rig.shell("pwd; echo $PWD; echo $GREETING; echo ${SSH_AUTH_SOCK-none}; cat; id -un").await;
    let work = fs::canonicalize(rig.bench.work()).unwrap().display().to_string();
    let me = if is_root() { "root" } else { "user" };
    assert_eq!(payload.stdout.lines().collect::<Vec<_>>(), [&work, &work, "a b", "none", me], "{payload:?}");
    again_as_nobody("runs::a_command_runs_with_its_arguments_folder_and_environment");
}

#[tokio::test]
async fn what_is_written_in_the_folder_stays_and_the_rest_is_gone() {
    let rig = Rig::new();
    let text =
        "echo kept > kept && echo scratch > /tmp/scratch && echo home > ~/home && cat /tmp/scratch ~/home";
    let payload = rig.shell(text).await;
    assert_eq!(payload.stdout, "scratch\nhome\n", "{payload:?}");
    assert_eq!(fs::read_to_string(rig.bench.work().join("kept")).unwrap(), "kept\n");
    assert!(!rig.grounds.home.join("home").exists());
    let owner = fs::metadata(rig.bench.work().join("kept")).unwrap().uid();
    assert_eq!(owner, rustix::process::geteuid().as_raw());
    again_as_nobody("runs::what_is_written_in_the_folder_stays_and_the_rest_is_gone");
}

#[tokio::test]
async fn exit_codes_output_and_signals_are_told() {
    let rig = Rig::new();
    let payload = rig.shell("echo out; echo err >&2; exit 3").await;
    let told =
        (payload.exit_code, payload.stdout.as_str(), payload.stderr.as_str(), payload.error.as_deref());
    assert_eq!(told, (Some(3), "out\n", "err\n", Some("exit 3")));
    assert_eq!(rig.shell("kill -9 $$").await.exit_code, Some(128 + 9));
    let payload = rig.shell("head -c 1000000 /dev/zero | tr '\\0' a").await;
    assert!(payload.stdout.ends_with("a\n... (truncated)") && payload.success, "{}", payload.stdout.len());
}

#[tokio::test]
async fn a_limit_ends_the_run_gently_first_and_then_with_all_it_started() {
    let mut rig = Rig::new();
    rig.bench.timeout = Some(LIMIT);
    let text = "trap 'echo asked; : > asked; exit 0' TERM; (trap '' TERM; setsid sh -c 'while :; do date > alive; sleep .01; done') & \
                echo begun; : > begun; while :; do sleep .02; done";
    let [begun, asked] = ["begun", "asked"].map(|name| rig.bench.work().join(name));
    let limit = limit_between(wait_for_file(&begun), wait_for_file(&asked));
    let (payload, ()) = tokio::join!(rig.shell(text), limit);
    let told = (payload.timed_out, payload.exit_code, payload.stdout.as_str(), payload.error.as_deref());
    assert_eq!(told, (true, None, "begun\nasked\n", Some("timeout")), "{payload:?}");
    assert_still(&rig.bench.work().join("alive")).await;
    again_as_nobody("runs::a_limit_ends_the_run_gently_first_and_then_with_all_it_started");
}

#[tokio::test]
async fn cancelling_and_dropping_end_everything_in_the_sandbox() {
    let rig = Rig::new();
    let text = "setsid sh -c 'while :; do date > alive; sleep .01; done' & echo one; trap '' TERM; while :; do sleep 1; done";
    let alive = rig.bench.work().join("alive");
    let cancel = rig.bench.cancel.clone();
    let (payload, ()) = tokio::join!(rig.shell(text), async {
        wait_for_file(&alive).await;
        cancel.cancel();
    });
    assert_eq!(
        (payload.stdout.as_str(), payload.error.as_deref()),
        ("one\n", Some("cancelled")),
        "{payload:?}"
    );
    assert_still(&alive).await;
    let rig = Rig::new();
    let alive = rig.bench.work().join("alive");
    tokio::select! {
        payload = rig.shell(text) => panic!("ended: {payload:?}"),
        () = wait_for_file(&alive) => {}
    }
    assert_still(&alive).await;
}

#[tokio::test]
async fn nothing_outlives_the_command() {
    let rig = Rig::new();
    let text = "setsid sh -c 'trap \"\" TERM HUP; while :; do date > alive; sleep .01; done' > /dev/null 2>&1 & \
                while [ ! -e alive ]; do sleep .01; done; echo done";
    assert_eq!(rig.shell(text).await.stdout, "done\n");
    assert_still(&rig.bench.work().join("alive")).await;
    // Outside, a daemon lives on.
    let rig = Rig::new();
    let daemon =
        rig.outside("setsid sleep 60 > /dev/null 2>&1 & echo $!").await.stdout.trim().parse().unwrap();
    let daemon = rustix::process::Pid::from_raw(daemon).unwrap();
    rustix::process::test_kill_process(daemon).unwrap();
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    wait_until_gone(daemon.as_raw_nonzero().get()).await;
    again_as_nobody("runs::nothing_outlives_the_command");
}

/// Set for the process of this test that is killed.
const TO_BE_KILLED: &str = "COUNTERSIGN_TEST_TO_BE_KILLED";

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test starts itself, to kill it")]
async fn a_runner_that_is_killed_leaves_nothing_running() {
    use std::io::{BufRead, BufReader};
    const NAME: &str = "runs::a_runner_that_is_killed_leaves_nothing_running";
    if std::env::var_os(TO_BE_KILLED).is_some() {
        let rig = Rig::new();
        println!("\nfolder={}", rig.bench.folder.path().display());
        rig.shell("trap '' TERM HUP; setsid sh -c 'while :; do date > alive; sleep .01; done' & while :; do sleep 1; done").await;
        return;
    }
    let module = module_path!().split_once("::").unwrap().1;
    let mut runner = std::process::Command::new(std::env::current_exe().unwrap())
        .args([&format!("{}::{NAME}", module.strip_suffix("::runs").unwrap()), "--exact", "--nocapture"])
        .env(TO_BE_KILLED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(runner.stdout.take().unwrap()).lines();
    let folder =
        lines.map_while(Result::ok).find_map(|line| Some(PathBuf::from(line.strip_prefix("folder=")?)));
    let folder = folder.unwrap();
    let alive = folder.join("work/alive");
    wait_for_file(&alive).await;
    runner.kill().unwrap();
    runner.wait().unwrap();
    assert_still(&alive).await;
    fs::remove_dir_all(folder).unwrap();
    again_as_nobody(NAME);
}

/// Whoever wrote the file again and again no longer does: its last writing stays the last, though others
/// take their time.
pub(super) async fn assert_still(path: &Path) {
    let written = || fs::metadata(path).ok().map(|found| (found.mtime(), found.mtime_nsec()));
    let mut last = written();
    let mut unchanged = 0;
    let began = std::time::Instant::now();
    while unchanged < 30 {
        // What still writes does so every few milliseconds; another process's start takes as long.
        let rig = Rig::new();
        rig.outside(":").await;
        let now = written();
        unchanged = if now == last { unchanged + 1 } else { 0 };
        last = now;
        assert!(began.elapsed() < PATIENCE, "it is still written");
    }
}

#[tokio::test]
async fn the_program_knows_itself_by_the_name_it_was_called_by() {
    let rig = Rig::new();
    let real = fs::canonicalize("/usr/bin/dash").unwrap();
    symlink(real, rig.bench.work().join("sh")).unwrap();
    let text = "tr '\\0' '\\n' < /proc/$$/cmdline | head -n 1";
    let name = rig.run(&["./sh", "-c", text]).await.stdout;
    assert!(name.trim_end().ends_with("/sh") || name == "./sh\n", "{name:?}");
    let name = rig.run(&["dash", "-c", text]).await.stdout;
    assert!(name.trim_end().ends_with("/dash") || name == "dash\n", "{name:?}");
}

#[tokio::test]
async fn t15_a_program_outside_of_the_folder_is_shown_read_only_and_must_be_what_it_was() {
    let rig = Rig::new();
    let tools = rig.bench.folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    let make = |name: &str, content: &str| {
        let path = rig.bench.program(name, content);
        fs::rename(&path, tools.join(name)).unwrap();
        tools.join(name)
    };
    let tool = make("tool", "#!/bin/sh\necho shown; ls \"${0%/*}\"; echo evil >> \"$0\" || echo kept\n");
    make("neighbour", "#!/bin/sh\n");
    let name = tool.to_str().unwrap();
    let payload = rig.run(&[name]).await;
    assert_eq!(payload.stdout, "shown\ntool\nkept\n", "{payload:?}");
    let other = make("other", "#!/bin/sh\necho other\n");
    let drift = rig.drift(&[name], || fs::rename(&other, &tool).unwrap()).await;
    assert_eq!(drift.what, "program");
    again_as_nobody("runs::t15_a_program_outside_of_the_folder_is_shown_read_only_and_must_be_what_it_was");
}

#[tokio::test]
async fn t14_a_script_is_shown_read_only_and_must_be_what_it_was() {
    let rig = Rig::new();
    let script =
        rig.bench.write("task.sh", "echo shown; { echo echo evil >> task.sh; } 2>/dev/null || echo kept\n");
    assert_eq!(rig.run(&["sh", "task.sh"]).await.stdout, "shown\nkept\n");
    let drift = rig.drift(&["sh", "task.sh"], || fs::write(&script, "echo other\n").unwrap()).await;
    assert_eq!(drift.what, "script");
    // Outside of the folder, behind a link, and by a way that leads out and back in.
    let far = rig.bench.folder.path().join("far");
    fs::create_dir(&far).unwrap();
    fs::write(far.join("real.sh"), "echo far\n").unwrap();
    symlink(far.join("real.sh"), far.join("link.sh")).unwrap();
    symlink(far.join("real.sh"), rig.bench.work().join("near.sh")).unwrap();
    for name in [far.join("link.sh").to_str().unwrap(), "near.sh", "../far/real.sh", "../far/link.sh"] {
        let payload = rig.run(&["sh", name]).await;
        assert_eq!(payload.stdout, "far\n", "{name}: {payload:?}");
    }
    again_as_nobody("runs::t14_a_script_is_shown_read_only_and_must_be_what_it_was");
}

#[tokio::test]
async fn t15_every_program_of_a_covered_text_must_be_what_it_was() {
    let rig = Rig::new();
    for name in ["one", "two"] {
        rig.bench.program(name, "#!/bin/sh\necho ${0##*/}\n");
    }
    assert_eq!(rig.start(rig.bench.covered("one && two")).await.unwrap().stdout, "one\ntwo\n");
    let command = rig.bench.covered("one && two");
    rig.bench.program("two", "#!/bin/sh\necho other\n");
    assert!(matches!(rig.start(command).await, Err(NotStarted::Drift(_))));
}

#[tokio::test]
async fn t16_a_folder_swapped_after_it_was_shown_is_not_entered() {
    let rig = Rig::new();
    let (work, moved) = (rig.bench.work(), rig.bench.folder.path().join("moved"));
    let drift = rig
        .drift(&["pwd"], || {
            fs::rename(&work, &moved).unwrap();
            symlink(&moved, &work).unwrap();
        })
        .await;
    assert_eq!(drift.what, "working directory");
    fs::remove_file(&work).unwrap();
    fs::rename(&moved, &work).unwrap();
    let drift = rig
        .drift(&["pwd"], || {
            fs::rename(&work, &moved).unwrap();
            fs::create_dir(&work).unwrap();
        })
        .await;
    assert_eq!(drift.what, "working directory");
}

#[tokio::test]
async fn t16_the_folder_behind_the_walls_is_the_one_that_was_compared() {
    // As it would be had somebody swapped it after the comparison: what is bound is what was opened.
    let rig = Rig::new();
    rig.bench.write("inside", "");
    let moved = rig.bench.folder.path().join("moved");
    let opened = rustix::fs::open(
        rig.bench.work(),
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    );
    fs::rename(rig.bench.work(), &moved).unwrap();
    fs::create_dir(rig.bench.work()).unwrap();
    let said = bubblewrap::list_of(&rig.bench.work(), opened.unwrap()).await;
    assert_eq!(said, "inside\n");
}

#[tokio::test]
async fn what_cannot_start_behind_the_walls_says_so() {
    let rig = Rig::new();
    let path = rig.bench.program("broken", "#!/nowhere/interpreter\n");
    let payload = rig.run(&[path.to_str().unwrap()]).await;
    assert_eq!((payload.exit_code, payload.success), (None, false));
    assert!(payload.error.as_deref().unwrap().starts_with("failed to start: execvp "), "{payload:?}");
}

#[tokio::test]
async fn a_folder_that_would_make_it_pointless_is_refused_before_anything_starts() {
    let mut rig = Rig::new();
    rig.grounds.home = rig.bench.work().join("below");
    let refused = rig.start(rig.bench.approve(&owned(&["pwd"]))).await;
    match refused {
        Err(NotStarted::Sandbox(Unavailable::Folder { .. })) => {}
        other => panic!("expected a refused folder, got {other:?}"),
    }
}

/// Problem and remedy.
fn said<T: std::fmt::Debug>(found: Result<T, Unavailable>) -> String {
    let why = found.unwrap_err();
    format!("{why}; {}", why.remedy())
}

#[tokio::test]
async fn a_missing_old_or_forbidden_bubblewrap_says_what_to_do() {
    let bench = Bench::new();
    let missing = said(bubblewrap::find(&["/nowhere/bwrap"]).await);
    assert!(missing.contains("/nowhere/bwrap") && missing.contains("install the package"), "{missing}");
    let fake = |name: &str, text: &str| bench.program(name, text).display().to_string();
    let old =
        fake("old", "#!/bin/sh\necho --bind-fd --cap-drop --json-status-fd --ro-bind-fd --seccomp --size\n");
    let old = said(bubblewrap::find(&[&old]).await);
    assert!(old.contains("--disable-userns") && old.contains("update"), "{old}");
    let forbidden = fake(
        "forbidden",
        "#!/bin/sh\n[ \"$1\" = --help ] && exec bwrap --help\n\
         echo 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
    );
    let forbidden = said(bubblewrap::find(&["/nowhere/bwrap", &forbidden]).await);
    assert!(forbidden.contains(": No permissions to create new namespace"), "{forbidden}");
    assert!(forbidden.contains("user namespaces") && forbidden.contains("Docker or Podman"), "{forbidden}");
    assert_eq!(check_bubblewrap().await, Ok(()));
}
