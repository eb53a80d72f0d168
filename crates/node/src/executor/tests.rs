//! Runs of real programs, and what was changed before them.

use super::*;
use crate::facts::{Places, gather};
use crate::testing::{LIMIT, limit_after, wait_for_file, wait_until, wait_until_gone};
use countersign_commands::analysis::analyze_argv;
use countersign_policy::allowlist::{Entry, EntryIndex};
use countersign_policy::approved::Plan;
use countersign_policy::effective::{BUILT_IN, Effective, Layered, Requested};
use countersign_policy::evaluate::{Answer, LocalRules, Origin, Subject, Trust, Walls, evaluate};
use countersign_policy::rules::{Folders, Moment, RuleIndex};
use countersign_protocol::limits::OUTPUT_BYTES;
use countersign_protocol::vocabulary::{Decision, Security};
use pretty_assertions::assert_eq;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// A folder with commands that are approved there.
pub(super) struct Bench {
    pub(super) folder: TempDir,
    pub(super) env: BTreeMap<String, String>,
    pub(super) timeout: Option<Duration>,
    pub(super) cancel: CancellationToken,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    pub(super) fn within(folder: TempDir) -> Self {
        fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder, env: BTreeMap::new(), timeout: None, cancel: CancellationToken::new() }
    }

    pub(super) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(super) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.work().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(super) fn program(&self, name: &str, content: &str) -> PathBuf {
        let path = self.write(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// What a person allowed, pinned as it is now.
    pub(super) fn approve(&self, argv: &[String]) -> ApprovedCommand {
        let analysis = analyze_argv(argv);
        let work = self.work();
        let places = Places { path: OsStr::new("/usr/bin:/bin"), cwd: &work, home: Path::new("/nowhere") };
        let facts = gather(argv, &analysis, places);
        let policy = BUILT_IN.hardened(Requested::default());
        let policy =
            Effective { security: Layered { value: Security::Allowlist, ..policy.security }, ..policy };
        let subject = Subject {
            argv,
            analysis: &analysis,
            facts: &facts,
            policy: &policy,
            local: LocalRules::None,
            entries: &EntryIndex::default(),
            trust: &Trust::default(),
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        let answer = Answer::Person { request_id: "1".into(), decision: Decision::AllowOnce };
        let plan = Plan { argv: argv.to_vec(), env: self.env.clone(), timeout: self.timeout };
        ApprovedCommand::new(evaluate(&subject, Some(&answer)), &facts, plan).unwrap()
    }

    /// What entries for every program in the folder allow, for a text that a shell would read.
    pub(super) fn covered(&self, text: &str) -> ApprovedCommand {
        let argv = owned(&["sh", "-c", text]);
        let analysis = analyze_argv(&argv);
        let work = self.work();
        let path = format!("{}:/usr/bin:/bin", work.display());
        let places = Places { path: OsStr::new(&path), cwd: &work, home: Path::new("/nowhere") };
        let facts = gather(&argv, &analysis, places);
        let entry = Entry {
            agent: "main".into(),
            id: "1".into(),
            pattern: format!("{}/*", work.display()),
            arg_pattern: None,
            generated: false,
        };
        let policy = BUILT_IN.hardened(Requested::default());
        let policy =
            Effective { security: Layered { value: Security::Allowlist, ..policy.security }, ..policy };
        let subject = Subject {
            argv: &argv,
            analysis: &analysis,
            facts: &facts,
            policy: &policy,
            local: LocalRules::None,
            entries: &EntryIndex::new(vec![entry]),
            trust: &Trust::default(),
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        let plan = Plan { argv: argv.clone(), env: self.env.clone(), timeout: self.timeout };
        ApprovedCommand::new(evaluate(&subject, None), &facts, plan).unwrap()
    }

    async fn start(&self, command: ApprovedCommand) -> Result<RunOutput, NotStarted> {
        run(command, &base_env(), self.cancel.clone()).await
    }

    async fn run(&self, argv: &[&str]) -> ExecPayload {
        self.start(self.approve(&owned(argv))).await.unwrap().payload
    }

    async fn drift(&self, argv: &[&str], change: impl FnOnce()) -> Drift {
        let command = self.approve(&owned(argv));
        change();
        match self.start(command).await {
            Err(NotStarted::Drift(drift)) => drift,
            other => panic!("expected a drift, got {other:?}"),
        }
    }
}

pub(super) fn base_env() -> BTreeMap<String, String> {
    BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())])
}

pub(super) fn owned(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|argument| (*argument).to_owned()).collect()
}

#[tokio::test]
async fn t07_arguments_arrive_byte_for_byte() {
    let bench = Bench::new();
    let odd = [
        " lead",
        "trail ",
        "",
        "a\tb\nc",
        "$HOME `id` $(id)",
        "*",
        "~",
        "\"'\\",
        "é\u{202E}\u{200B}",
        "-n",
        "A=b",
    ];
    let mut argv = vec!["/usr/bin/printf", "%s\\0"];
    argv.extend(odd);
    let payload = bench.run(&argv).await;
    assert_eq!(payload.stdout.split_terminator('\0').collect::<Vec<_>>(), odd);
}

#[tokio::test]
async fn t07_the_program_sees_its_typed_name_and_the_shown_folder() {
    let bench = Bench::new();
    let payload = bench.run(&["sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline; echo; pwd; echo $PWD"]).await;
    let real = fs::canonicalize(bench.work()).unwrap();
    let lines: Vec<_> = payload.stdout.lines().collect();
    assert!(lines[0].starts_with("sh -c "), "{payload:?}");
    assert_eq!(lines[1..], [real.to_str().unwrap(), real.to_str().unwrap()]);
}

#[tokio::test]
async fn the_environment_is_the_base_with_overrides_and_the_marker() {
    let mut bench = Bench::new();
    bench.env.insert("LANG".into(), "C".into());
    let payload = bench.run(&["env"]).await;
    let mut lines: Vec<_> = payload.stdout.lines().collect();
    lines.sort_unstable();
    let pwd = format!("PWD={}", fs::canonicalize(bench.work()).unwrap().display());
    assert_eq!(lines, ["LANG=C", "OPENCLAW_CLI=1", "PATH=/usr/bin:/bin", &pwd]);
}

#[tokio::test]
async fn standard_input_is_empty() {
    let payload = Bench::new().run(&["cat"]).await;
    assert_eq!((payload.exit_code, payload.stdout.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn l402_an_exit_code_is_reported() {
    let payload = Bench::new().run(&["sh", "-c", "echo out; echo err >&2; exit 3"]).await;
    assert_eq!(
        payload,
        ExecPayload {
            exit_code: Some(3),
            timed_out: false,
            success: false,
            stdout: "out\n".into(),
            stderr: "err\n".into(),
            error: Some("exit 3".into()),
        }
    );
}

#[tokio::test]
async fn a_signalled_command_exits_with_the_signals_number() {
    let payload = Bench::new().run(&["sh", "-c", "kill -9 $$"]).await;
    assert_eq!((payload.exit_code, payload.error.as_deref()), (Some(9), Some("exit 9")));
}

#[tokio::test]
async fn l403_a_run_limit_ends_the_command_and_keeps_its_output() {
    let mut bench = Bench::new();
    bench.timeout = Some(LIMIT);
    let begun = bench.work().join("begun");
    let (payload, ()) = tokio::join!(
        bench.run(&["sh", "-c", "echo begun; : > begun; exec sleep 600"]),
        limit_after(wait_for_file(&begun))
    );
    assert_eq!(
        payload,
        ExecPayload {
            exit_code: None,
            timed_out: true,
            success: false,
            stdout: "begun\n".into(),
            stderr: String::new(),
            error: Some("timeout".into()),
        }
    );
}

#[tokio::test]
async fn a_run_limit_ends_the_whole_group_even_if_it_ignores_the_signal() {
    let mut bench = Bench::new();
    bench.timeout = Some(LIMIT);
    let begun = bench.work().join("begun");
    let text = "trap '' TERM; (trap '' TERM; sleep 600) & echo $!; : > begun; while :; do sleep 600; done";
    let argv = ["sh", "-c", text];
    let (payload, ()) = tokio::join!(bench.run(&argv), limit_after(wait_for_file(&begun)));
    assert!(payload.timed_out);
    let inner: i32 = payload.stdout.trim().parse().unwrap();
    wait_until_gone(inner).await;
}

#[tokio::test]
async fn cancelling_ends_the_command_and_keeps_its_output() {
    let bench = Bench::new();
    let marker = bench.work().join("begun");
    let cancel = bench.cancel.clone();
    let (payload, ()) = tokio::join!(bench.run(&["sh", "-c", "echo one; : > begun; sleep 30"]), async {
        wait_for_file(&marker).await;
        cancel.cancel();
    });
    assert_eq!((payload.stdout.as_str(), payload.error.as_deref()), ("one\n", Some("cancelled")));
    assert_eq!((payload.exit_code, payload.timed_out, payload.success), (None, false, false));
}

#[tokio::test]
async fn a_cancelled_command_is_not_started() {
    let bench = Bench::new();
    bench.cancel.cancel();
    let command = bench.approve(&owned(&["sh", "-c", ": > begun"]));
    assert!(matches!(bench.start(command).await, Err(NotStarted::Cancelled)));
    assert!(!bench.work().join("begun").exists());
}

#[tokio::test]
async fn dropping_a_run_kills_the_group() {
    let bench = Bench::new();
    let pid_file = bench.work().join("pid");
    {
        let run = bench.run(&["sh", "-c", "sleep 30 & echo $! > tmp; mv tmp pid; wait"]);
        tokio::select! {
            payload = run => panic!("ended: {payload:?}"),
            () = wait_for_file(&pid_file) => {}
        }
    }
    wait_until_gone(fs::read_to_string(pid_file).unwrap().trim().parse().unwrap()).await;
}

#[tokio::test]
async fn a_daemon_that_keeps_the_pipes_is_not_waited_for() {
    let bench = Bench::new();
    let payload = bench.run(&["sh", "-c", "echo done; setsid sleep 600 & echo $! >&2"]).await;
    assert_eq!((payload.exit_code, payload.stdout.as_str()), (Some(0), "done\n"));
    // It is still there, so nobody waited for its end.
    let daemon = rustix::process::Pid::from_raw(payload.stderr.trim().parse().unwrap()).unwrap();
    assert!(tree::ProcessIdentity::of(daemon).is_some_and(tree::ProcessIdentity::is_alive));
    rustix::process::kill_process(daemon, Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_gigabyte_of_output_is_read_and_mostly_thrown_away() {
    let before = peak_memory();
    let payload = Bench::new().run(&["sh", "-c", "head -c 1000000000 /dev/zero; echo end >&2"]).await;
    assert_eq!(payload.exit_code, Some(0));
    assert!(payload.stdout.len() + payload.stderr.len() <= OUTPUT_BYTES);
    assert!(payload.stdout.ends_with("... (truncated)"), "{}", payload.stdout.len());
    assert!(peak_memory() - before < 64 * 1_024, "{before} kB before, {} kB after", peak_memory());
}

#[tokio::test]
async fn output_is_cut_at_a_character_and_marked_on_standard_error_if_there_is_any() {
    let text = "printf 'warning' >&2; yes é | head -c 3145728";
    let payload = Bench::new().run(&["sh", "-c", text]).await;
    assert!(payload.stderr.ends_with("warning\n... (truncated)"), "{:?}", payload.stderr);
    assert!(payload.stdout.starts_with("é\né\n"));
    let total = payload.stdout.len() + payload.stderr.len();
    assert!((OUTPUT_BYTES - 2..=OUTPUT_BYTES).contains(&total), "{total}");
}

#[tokio::test]
async fn invalid_utf8_is_replaced_and_still_bounded() {
    let payload = Bench::new().run(&["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' '\\377'"]).await;
    assert!(payload.stdout.starts_with("\u{FFFD}\u{FFFD}"));
    assert!(payload.stdout.len() <= OUTPUT_BYTES && payload.stdout.ends_with("... (truncated)"));
}

#[tokio::test]
async fn what_cannot_start_is_a_result_without_an_exit_code() {
    let bench = Bench::new();
    let path = bench.program("broken", "#!/nowhere/interpreter\n");
    let payload = bench.run(&[path.to_str().unwrap()]).await;
    assert_eq!(payload.exit_code, None);
    assert!(!payload.success && !payload.timed_out);
    assert!(payload.error.as_deref().unwrap().starts_with("failed to start: "), "{payload:?}");
}

#[tokio::test]
async fn what_no_program_can_receive_is_refused() {
    let mut bench = Bench::new();
    let command = bench.approve(&owned(&["true", "a\0b"]));
    assert!(matches!(bench.start(command).await, Err(NotStarted::Unpassable(_))));
    for (name, value) in [("A=B", "c"), ("", "c"), ("A", "b\0")] {
        bench.env = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let refused = bench.start(bench.approve(&owned(&["true"]))).await;
        assert!(matches!(refused, Err(NotStarted::Unpassable(_))), "{name:?}={value:?}");
    }
}

#[tokio::test]
async fn t14_a_script_edited_after_it_was_shown_does_not_run() {
    let bench = Bench::new();
    let script = bench.write("task.sh", "echo shown\n");
    assert_eq!(bench.run(&["sh", "task.sh"]).await.stdout, "shown\n");
    let drift = bench.drift(&["sh", "task.sh"], || fs::write(&script, "echo other\n").unwrap()).await;
    assert_eq!(drift.what, "script");
    assert!(drift.difference.contains("sha256: expected "), "{drift}");
}

#[tokio::test]
async fn t14_each_script_of_a_text_must_be_what_it_was() {
    let bench = Bench::new();
    let first = bench.write("a.sh", "echo one\n");
    let second = bench.write("b.sh", "echo two\n");
    let text = &["sh", "-c", "cd . && bash a.sh && bash ./b.sh"];
    assert_eq!(bench.run(text).await.stdout, "one\ntwo\n");
    for script in [first, second] {
        let drift = bench.drift(text, || fs::write(&script, "echo evil\n").unwrap()).await;
        assert_eq!((drift.what, Path::new(&drift.path)), ("script", script.as_path()));
    }
}

#[tokio::test]
async fn t14_whatever_happens_to_a_script_after_it_was_shown_it_does_not_run() {
    type Attack = fn(&Path);
    let attacks: [(&str, Attack); 6] = [
        ("edited in place, same length", |script| fs::write(script, "echo wrong\n").unwrap()),
        ("appended to", |script| fs::write(script, "echo shown\nrm x\n").unwrap()),
        ("emptied", |script| fs::write(script, "").unwrap()),
        ("another file moved over it", |script| {
            let other = script.with_extension("other");
            fs::write(&other, "echo wrong\n").unwrap();
            fs::rename(other, script).unwrap();
        }),
        ("a link put in its place", |script| {
            let other = script.with_extension("other");
            fs::write(&other, "echo wrong\n").unwrap();
            fs::remove_file(script).unwrap();
            symlink(other, script).unwrap();
        }),
        ("removed", |script| fs::remove_file(script).unwrap()),
    ];
    for (name, attack) in attacks {
        let bench = Bench::new();
        let script = bench.write("task.sh", "echo shown\n");
        let drift = bench.drift(&["sh", "task.sh"], || attack(&script)).await;
        assert_eq!(drift.what, "script", "{name}");
    }
}

/// Puts two files in the place of each other until it is dropped.
struct Swapping {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Swapping {
    fn start(script: &Path, other: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (script, told) = (script.to_owned(), Arc::clone(&stop));
        let (shown, evil) = (fs::read(&script).unwrap(), other.as_bytes().to_vec());
        let kept = script.with_extension("kept");
        let thread = std::thread::spawn(move || {
            let modified = fs::metadata(&script).unwrap().modified().unwrap();
            while !told.load(Ordering::Relaxed) {
                // The very file that was pinned goes away and comes back, and now and then it is
                // rewritten in place.
                fs::rename(&script, &kept).unwrap();
                fs::write(&script, &evil).unwrap();
                fs::rename(&kept, &script).unwrap();
                fs::write(&script, &evil).unwrap();
                fs::write(&script, &shown).unwrap();
                fs::File::options().write(true).open(&script).unwrap().set_modified(modified).unwrap();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t14_a_script_that_is_swapped_all_the_time_runs_as_it_was_shown_or_not_at_all() {
    for (interpreter, shown, other) in [
        ("bash", "echo shown\n", "echo other\n"),
        ("dash", "echo shown\n", "echo other\n"),
        ("sh", "echo shown\n", "echo other\n"),
        ("/usr/bin/python3", "print('shown')\n", "print('other')\n"),
    ] {
        if interpreter.starts_with('/') && !Path::new(interpreter).exists() {
            continue;
        }
        let bench = Bench::new();
        let script = bench.write("task", shown);
        let mut ran = 0;
        for _ in 0..150 {
            let command = bench.approve(&owned(&[interpreter, "task"]));
            let swapping = Swapping::start(&script, other);
            let came = bench.start(command).await;
            drop(swapping);
            fs::write(&script, shown).unwrap();
            match came {
                Ok(output) => {
                    assert_eq!(output.payload.stdout, "shown\n", "{interpreter}: {output:?}");
                    ran += 1;
                }
                Err(NotStarted::Drift(drift)) => assert_eq!(drift.what, "script"),
                Err(other) => panic!("{other}"),
            }
        }
        // Without a swap it does run.
        assert_eq!(bench.run(&[interpreter, "task"]).await.stdout, "shown\n", "{interpreter} after {ran}");
    }
}

#[tokio::test]
async fn a_script_that_is_handed_over_cannot_tell() {
    let bench = Bench::new();
    bench.write("beside.py", "NAME = 'beside'\n");
    let shell =
        "#!/bin/sh\necho \"$0 $# $1 $LINENO\"\ntest -e /dev/fd/3 && echo open\nnone-such 2>&1\nexit 7\n";
    let python = "#!/usr/bin/env python3\nimport sys, beside\n\
                  print(__name__, __file__, sys.argv, beside.NAME, sorted(n for n in globals() if n[0] != '_'))\n\
                  if __name__ == '__main__':\n    raise SystemExit(7)\n";
    for (interpreter, script) in [("bash", shell), ("dash", shell), ("/usr/bin/python3", python)] {
        if interpreter.starts_with('/') && !Path::new(interpreter).exists() {
            continue;
        }
        bench.write("task", script);
        // Too long to be handed over, so the interpreter opens this one by its name.
        let padding = format!("#{}\n", "x".repeat(1_024 * 1_024));
        bench.write("plain", &format!("{script}{padding}"));
        let handed = bench.run(&[interpreter, "./task", "a", "b c"]).await;
        let by_name = bench.run(&[interpreter, "./plain", "a", "b c"]).await;
        assert_eq!(handed.exit_code, Some(7), "{handed:?}");
        // Shells name the file that they read in their complaints.
        let lines = |output: &str| {
            let lines = output.lines().filter(|line| !line.contains("none-such"));
            lines.map(|line| line.replace("plain", "task")).collect::<Vec<_>>()
        };
        let (told, named) = (lines(&handed.stdout), lines(&by_name.stdout));
        assert_eq!(told, named, "{interpreter}");
    }
}

#[tokio::test]
async fn t14_a_script_replaced_behind_its_link_does_not_run() {
    let bench = Bench::new();
    let shown = bench.write("shown.sh", "echo shown\n");
    let other = bench.write("other.sh", "echo other\n");
    let link = bench.work().join("task.sh");
    symlink(&shown, &link).unwrap();
    let drift = bench
        .drift(&["sh", "task.sh"], || {
            fs::remove_file(&link).unwrap();
            symlink(&other, &link).unwrap();
        })
        .await;
    assert_eq!(drift.what, "script");
    assert!(
        drift.difference.contains("shown.sh, found ") && drift.difference.ends_with("other.sh"),
        "{drift}"
    );
}

#[tokio::test]
async fn t15_a_program_replaced_after_it_was_shown_does_not_run() {
    let bench = Bench::new();
    let path = bench.program("tool", "#!/bin/sh\necho shown\n");
    let other = bench.program("other", "#!/bin/sh\necho other\n");
    let name = path.to_str().unwrap();
    assert_eq!(bench.run(&[name]).await.stdout, "shown\n");
    let drift = bench.drift(&[name], || fs::rename(&other, &path).unwrap()).await;
    assert_eq!(drift.what, "program");
    assert!(drift.difference.contains("inode: expected "), "{drift}");
    let drift = bench.drift(&[name], || fs::remove_file(&path).unwrap()).await;
    assert!(drift.difference.contains("expected a file, found: "), "{drift}");
}

#[tokio::test]
async fn t15_whatever_happens_to_a_program_after_it_was_shown_it_does_not_run() {
    type Attack = fn(&Path);
    let other = "#!/bin/sh\necho wrong\n";
    let attacks: [(&str, Attack); 6] = [
        ("rewritten in place", |path| fs::write(path, "#!/bin/sh\necho wrong\n").unwrap()),
        ("appended to", |path| fs::write(path, "#!/bin/sh\necho shown\nrm x\n").unwrap()),
        ("another moved over it", |path| fs::rename(path.with_extension("other"), path).unwrap()),
        ("a link put in its place", |path| {
            fs::remove_file(path).unwrap();
            symlink(path.with_extension("other"), path).unwrap();
        }),
        ("given other rights", |path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o4755)).unwrap();
        }),
        ("removed", |path| fs::remove_file(path).unwrap()),
    ];
    for (name, attack) in attacks {
        let bench = Bench::new();
        let path = bench.program("tool", "#!/bin/sh\necho shown\n");
        bench.program("tool.other", other);
        let drift = bench.drift(&[path.to_str().unwrap()], || attack(&path)).await;
        assert_eq!(drift.what, "program", "{name}");
    }
}

#[tokio::test]
async fn t15_a_program_put_earlier_in_the_search_path_does_not_run() {
    let mut bench = Bench::new();
    bench.env.insert("PATH".into(), bench.work().display().to_string());
    let command = bench.approve(&owned(&["printf", "shown"]));
    bench.program("printf", "#!/bin/sh\necho other\n");
    assert_eq!(bench.start(command).await.unwrap().payload.stdout, "shown");
}

#[tokio::test]
async fn t16_a_folder_swapped_for_a_link_after_it_was_shown_is_not_entered() {
    let bench = Bench::new();
    let (work, moved) = (bench.work(), bench.folder.path().join("moved"));
    let drift = bench
        .drift(&["pwd"], || {
            fs::rename(&work, &moved).unwrap();
            symlink(&moved, &work).unwrap();
        })
        .await;
    assert_eq!(
        (drift.what, drift.difference.as_str()),
        ("working directory", "expected a folder, found a link or file")
    );
}

#[tokio::test]
async fn t16_another_folder_behind_the_same_path_is_not_entered() {
    let bench = Bench::new();
    let (work, moved) = (bench.work(), bench.folder.path().join("moved"));
    let drift = bench
        .drift(&["pwd"], || {
            fs::rename(&work, &moved).unwrap();
            fs::create_dir(&work).unwrap();
        })
        .await;
    assert_eq!(drift.what, "working directory");
    assert!(drift.difference.starts_with("inode: expected "), "{drift}");
    let drift = bench.drift(&["pwd"], || fs::remove_dir(&work).unwrap()).await;
    assert_eq!(drift.difference, "expected a folder, found nothing");
}

#[tokio::test]
async fn t16_a_folder_moved_between_check_and_spawn_stays_the_one_that_was_shown() {
    let bench = Bench::new();
    let command = bench.approve(&owned(&["sh", "-c", "pwd -P"]));
    let folder = verify(&command).await.unwrap();
    let moved = bench.folder.path().join("moved");
    fs::rename(bench.work(), &moved).unwrap();
    fs::create_dir(bench.work()).unwrap();
    let (child, _) = spawn(&command, &base_env(), &folder, None, None, None).unwrap();
    let payload =
        Run::of(child, OUTPUT_BYTES, Tap::default()).finish(None, Instant::now(), &bench.cancel).await;
    assert_eq!(Path::new(payload.stdout.trim_end()), fs::canonicalize(moved).unwrap());
}

#[tokio::test]
async fn t16_a_path_that_leads_out_of_its_folder_by_the_start_is_not_handed_over() {
    let bench = Bench::new();
    let show = bench.program("show", "#!/bin/sh\ncat \"$1\"\n");
    let work = fs::canonicalize(bench.work()).unwrap();
    bench.write("data", "mine\n");
    bench.write("../other", "theirs\n");
    let rule = serde_json::json!({
        "id": "r", "agent": "*", "effect": "allow", "program": work.join("show"), "createdAtMs": 0, "from": "typed",
        "arguments": {"shape": {
            "operands": {"min": 1, "max": 1, "kinds": [{"path": {"below": [work]}}]},
        }},
    });
    let rules = RuleIndex::new(vec![serde_json::from_value(rule).unwrap()]);
    let allowed = || {
        let argv = owned(&[show.to_str().unwrap(), "data"]);
        let analysis = analyze_argv(&argv);
        let places = Places { path: OsStr::new("/usr/bin:/bin"), cwd: &work, home: Path::new("/nowhere") };
        let facts = gather(&argv, &analysis, places);
        let policy = BUILT_IN.hardened(Requested::default());
        let policy =
            Effective { security: Layered { value: Security::Allowlist, ..policy.security }, ..policy };
        let (folders, uses) = (Folders::new(), HashMap::new());
        let subject = Subject {
            argv: &argv,
            analysis: &analysis,
            facts: &facts,
            policy: &policy,
            local: LocalRules::Known {
                rules: &rules,
                folders: &folders,
                moment: Moment { agent: "main", session: None, now_ms: 1, uses: &uses },
                unclear: None,
            },
            entries: &EntryIndex::default(),
            trust: &Trust::default(),
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        let plan = Plan { argv: argv.clone(), env: BTreeMap::new(), timeout: None };
        ApprovedCommand::new(evaluate(&subject, None), &facts, plan)
    };
    assert_eq!(bench.start(allowed().unwrap()).await.unwrap().payload.stdout, "mine\n");
    let command = allowed().unwrap();
    fs::remove_file(work.join("data")).unwrap();
    symlink("../other", work.join("data")).unwrap();
    match bench.start(command).await {
        Err(NotStarted::Drift(drift)) => assert_eq!(drift.what, "path"),
        other => panic!("expected a drift, got {other:?}"),
    }
    assert!(allowed().is_err(), "a path that leads out is allowed");
}

/// Highest resident memory of this process so far, in kB.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

const PRINTER: &str = "#!/bin/sh\nprintf '%s,' \"${0##*/}\" \"$@\"; echo; echo err >&2; exit ${STATUS:-0}\n";

#[tokio::test]
async fn a_covered_text_runs_with_its_joints_and_literal_words() {
    let bench = Bench::new();
    for name in ["one", "two"] {
        bench.program(name, PRINTER);
    }
    let run = async |text: &str| bench.start(bench.covered(text)).await.unwrap().payload;
    let payload =
        run("one 'a b' \"\\$HOME\" '*' 2>/dev/null && echo \"status: $?\" && ! nice two it\\'s 2>&1 | two")
            .await;
    assert_eq!(payload.stdout, "one,a b,$HOME,*,\nstatus: 0\ntwo,\n");
    assert_eq!(payload.exit_code, Some(1), "the last status is turned around");
    let payload = run("(cd / && one x) &>/dev/null; [ -d / ] && pwd").await;
    assert_eq!(payload.stdout.trim(), bench.work().canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn every_program_of_a_covered_text_must_be_what_it_was() {
    let bench = Bench::new();
    for name in ["one", "two"] {
        bench.program(name, PRINTER);
    }
    let command = bench.covered("one && two");
    bench.program("two", "#!/bin/sh\necho other\n");
    match bench.start(command).await {
        Err(NotStarted::Drift(drift)) => {
            assert_eq!((drift.what, drift.path.ends_with("/two")), ("program", true))
        }
        other => panic!("expected a drift, got {other:?}"),
    }
}

/// Each says who it is and stays, whatever it is told: the first, one that left the group, and one whose
/// parents and environment are gone too.
const STRAYS: &str = "\
me='trap \"\" TERM; echo $$ >> pids; while :; do sleep 600; done'
setsid sh -c \"$me\" &
(setsid env -i PATH=/usr/bin:/bin sh -c \"$me\" &)
eval \"$me\"";

async fn pids(bench: &Bench, count: usize) -> Vec<tree::ProcessIdentity> {
    let file = bench.work().join("pids");
    let mut pids: Vec<i32> = Vec::new();
    wait_until("all say who they are", || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        pids = text.lines().filter_map(|line| line.parse().ok()).collect();
        pids.len() == count
    })
    .await;
    let known = |pid| rustix::process::Pid::from_raw(pid).and_then(tree::ProcessIdentity::of);
    pids.into_iter().map(|pid| known(pid).unwrap()).collect()
}

#[tokio::test]
async fn what_left_the_group_ends_with_the_run_that_is_called_off() {
    let bench = Bench::new();
    let command = bench.approve(&owned(&["sh", "-c", STRAYS]));
    let called_off = async {
        let pids = pids(&bench, 3).await;
        bench.cancel.cancel();
        pids
    };
    let (ended, pids) = tokio::join!(bench.start(command), called_off);
    assert_eq!(ended.unwrap().payload.error.as_deref(), Some("cancelled"));
    assert_eq!(pids.iter().filter(|known| known.is_alive()).count(), 0);
}

#[tokio::test]
async fn what_left_the_group_ends_with_a_run_at_its_limit_and_with_one_that_is_dropped() {
    for limit in [Some(LIMIT), None] {
        let mut bench = Bench::new();
        bench.timeout = limit;
        let command = bench.approve(&owned(&["sh", "-c", STRAYS]));
        let known = {
            let running = bench.start(command);
            tokio::pin!(running);
            let known = tokio::select! {
                known = pids(&bench, 3) => known,
                ended = &mut running => panic!("{ended:?}"),
            };
            if limit.is_some() {
                let (ended, ()) = tokio::join!(running, limit_after(async {}));
                assert!(ended.unwrap().payload.timed_out);
                assert_eq!(known.iter().filter(|known| known.is_alive()).count(), 0);
            }
            known
        };
        // Whoever drops a run does not wait until all of it has died.
        for known in known {
            wait_until_gone(known.pid).await;
        }
    }
}

#[tokio::test]
async fn t03_nothing_that_is_ours_alone_reaches_a_command() {
    let bench = Bench::new();
    let mut env = base_env();
    let kept_back = ["COUNTERSIGN_GATEWAY_TOKEN", "COUNTERSIGN_ANYTHING_NEW", "countersign_gateway_token"];
    for name in kept_back.into_iter().chain(["COUNTERSIGN_STATE_DIR"]) {
        env.insert(name.to_owned(), "told".to_owned());
    }
    let ran = run(bench.approve(&owned(&["env"])), &env, CancellationToken::new()).await.unwrap();
    let printed = ran.payload.stdout;
    let is_ours = |line: &&str| line.to_ascii_uppercase().starts_with("COUNTERSIGN_");
    let mut ours: Vec<&str> =
        printed.lines().filter(is_ours).filter_map(|line| line.split('=').next()).collect();
    ours.sort_unstable();
    assert_eq!(ours, ["COUNTERSIGN_STATE_DIR"]);
}
