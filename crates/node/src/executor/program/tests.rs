//! Real programs: good ones, and every way to be a bad one.

use super::*;
use crate::testing::{LIMIT, limit_after, wait_until};
use pretty_assertions::assert_eq;
use std::fs;
use tempfile::TempDir;

/// Nothing here reaches the time but what is to reach it.
const LIMITS: Limits = Limits { time: LIMIT, output: 4_096 };

/// A program of this text in a folder of its own.
#[expect(clippy::disallowed_methods, reason = "the test writes a program")]
fn script(text: &str) -> (TempDir, Program) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    // Written by another process, so that no fork of this one holds it open for writing while it starts.
    let made = std::process::Command::new("/bin/sh")
        .args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", text])
        .arg(&path)
        .status();
    assert!(made.unwrap().success());
    let program = Program::parse(vec![path.display().to_string(), "one two".to_owned(), "$HOME".to_owned()]);
    (folder, program.unwrap())
}

async fn call(text: &str, input: &[u8], limits: Limits) -> Result<Printed, CallError> {
    let (_folder, program) = script(text);
    let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    program.call(input, &env, limits, CancellationToken::new()).await
}

async fn check(text: &str, input: &[u8], expected: Result<&str, &str>) {
    let result = call(text, input, LIMITS).await;
    let got = result.as_ref().map(|answer| answer.stdout.trim_end()).map_err(ToString::to_string);
    assert_eq!(got.as_ref().copied().map_err(String::as_str), expected, "{text}: {result:?}");
}

#[tokio::test]
async fn a_program_is_told_on_stdin_and_answers_on_stdout() {
    check("#!/bin/sh\ncat", b"{\"a\":1}", Ok("{\"a\":1}")).await;
    check("#!/bin/sh\nprintf '%s|%s|%s' \"$#\" \"$1\" \"$2\"", b"", Ok("2|one two|$HOME")).await;
    check(
        "#!/bin/sh\npwd; env | sort | grep -v '^_=' | grep -v SHLVL",
        b"",
        Ok("/\nPATH=/usr/bin:/bin\nPWD=/"),
    )
    .await;
    check("#!/bin/sh\nps -o pgid= -p $$ | tr -d ' ' | grep -qx $$ && echo own group", b"", Ok("own group"))
        .await;
}

#[tokio::test]
async fn a_failure_says_what_the_program_said() {
    let failed = call("#!/bin/sh\necho out; echo no such channel >&2; exit 3", b"", LIMITS).await;
    let expected = CallError::Failed { text: "exit 3".to_owned(), said: "no such channel\n".to_owned() };
    assert_eq!(failed, Err(expected));
    check(
        "#!/nowhere/interpreter\n",
        b"",
        Err("it could not be started: No such file or directory (os error 2)"),
    )
    .await;
}

#[tokio::test]
async fn a_program_that_reads_nothing_or_closes_its_end_is_no_trouble() {
    let much = vec![b'x'; 1_024 * 1_024];
    check("#!/bin/sh\necho done", &much, Ok("done")).await;
    check("#!/bin/sh\nexec <&-\necho done", &much, Ok("done")).await;
    check("#!/bin/sh\nwc -c", &much, Ok("1048576")).await;
}

#[tokio::test]
async fn a_gigabyte_is_read_and_thrown_away() {
    let answer = call("#!/bin/sh\nhead -c 1000000000 /dev/zero", b"", LIMITS).await.unwrap();
    assert!(answer.stdout.len() + answer.stderr.len() <= LIMITS.output, "{}", answer.stdout.len());
}

#[tokio::test]
async fn one_that_hangs_is_ended_with_its_children_even_if_it_ignores_that() {
    for hangs in [
        "#!/bin/sh\necho $$ > \"$0.pid\"; sleep 1000",
        "#!/bin/sh\necho $$ > \"$0.pid\"; trap '' TERM; while :; do sleep 1000; done",
        "#!/bin/sh\necho $$ > \"$0.pid\"; sleep 1000 & wait",
    ] {
        let (_folder, program) = script(hangs);
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let mut group = String::new();
        let begun = wait_until("it says who it is", || {
            group = fs::read_to_string(format!("{}.pid", program.path())).unwrap_or_default();
            group.ends_with('\n')
        });
        let called = program.call(b"{}", &env, LIMITS, CancellationToken::new());
        let (result, ()) = tokio::join!(called, limit_after(begun));
        assert_eq!(result, Err(CallError::TimedOut(LIMIT)), "{hangs}");
        let group = rustix::process::Pid::from_raw(group.trim().parse().unwrap()).unwrap();
        // Whoever adopts what was killed takes a moment to bury it.
        wait_until(hangs, || rustix::process::test_kill_process_group(group).is_err()).await;
    }
}

#[tokio::test]
async fn cancelling_ends_it_and_starts_no_other() {
    let (_folder, program) = script("#!/bin/sh\nsleep 1000");
    let (env, cancel) = (BTreeMap::new(), CancellationToken::new());
    let running = program.call(b"", &env, LIMITS, cancel.clone());
    let stopping = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(running, stopping);
    assert_eq!(result, Err(CallError::Cancelled));
    assert_eq!(program.call(b"", &env, LIMITS, cancel).await, Err(CallError::Cancelled));
}

#[test]
fn only_an_absolute_path_names_a_program() {
    let parse = |argv: &[&str]| Program::parse(argv.iter().map(|text| (*text).to_owned()).collect());
    assert!(parse(&["/bin/echo", "", "; rm"]).is_ok());
    for bad in [&[][..], &[""], &["echo"], &["./echo"], &["~/echo"], &[" /bin/echo"]] {
        assert!(matches!(parse(bad), Err(BadProgram::NotAbsolute(_))), "{bad:?}");
    }
    assert_eq!(parse(&["/bin/echo", "a\0b"]), Err(BadProgram::Arguments));
    assert_eq!(parse(&["/bin/echo"; MAX_ARGUMENTS + 1]), Err(BadProgram::Arguments));
    assert_eq!(parse(&["/bin/echo", &"x".repeat(MAX_BYTES)]), Err(BadProgram::Arguments));
}

#[test]
fn a_file_that_anybody_could_replace_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let check = |mode: Option<u32>, expected: &str| {
        if let Some(mode) = mode {
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let program = Program::parse(vec![path.display().to_string()]).unwrap();
        let text = program.check_file().map_or_else(|error| error.to_string(), |()| "fine".to_owned());
        assert!(text.contains(expected), "{text}");
    };
    check(None, "No such file");
    check(Some(0o644), "may not be executed");
    check(Some(0o757), "every user of this machine may change it");
    check(Some(0o700), "fine");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    check(None, "no file");
}
