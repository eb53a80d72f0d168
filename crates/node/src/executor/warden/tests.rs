//! Real processes: an app that is killed with its runs of every shape, and its warden too.

use super::super::program::{Limits, Program};
use super::super::tests::Bench;
use super::super::{Controls, run};
use super::*;
use crate::testing::PATIENCE;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Set for the process of this test that plays the app: where its warden writes, and its runs
/// say who they are.
const FOLDER: &str = "COUNTERSIGN_TEST_DIR";

/// A first process, one in the background, one that left its group, and one whose parents are gone: each says
/// who it is and stays.
const TREE: &str = "\
me='echo $$ >> pids; exec sleep 600'
sh -c \"$me\" &
setsid sh -c \"$me\" &
(setsid sh -c \"$me\" &)
echo $$ >> pids; wait; sleep 600";

/// Processes of [`TREE`].
const OF_TREE: usize = 4;

#[test]
#[ignore = "other tests start it as a process of its own"]
fn plays_the_warden() {
    let file = PathBuf::from(std::env::var_os(VARIABLE).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    // What was left stays written down for whoever started this.
    serve(&file).unwrap();
}

#[tokio::test]
#[ignore = "other tests start it as a process of its own"]
async fn plays_the_app() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let arguments = arguments("plays_the_warden");
    start(&folder.join("runs"), arguments).unwrap();
    let told_of = folder.clone();
    std::thread::spawn(move || says_who_is_told(&told_of));
    let bench = Bench::new();
    fs::write(folder.join("bench"), bench.folder.path().display().to_string()).unwrap();
    let pids = folder.join("pids");
    let text = TREE.replace("pids", pids.to_str().unwrap());
    let argv: Vec<String> = ["sh", "-c", &text].map(str::to_owned).to_vec();
    let ended = bench.approve(&["true".to_owned()]);
    let name = |name: &str| Controls { name: Some(name.to_owned()), ..Controls::default() };
    let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    run(ended, &env, name("has ended")).await.unwrap();
    let hook = folder.join("hook");
    let hook = Program::parse(vec![hook.display().to_string()]).unwrap();
    let limits = Limits { time: Duration::from_secs(600), output: 1_000 };
    let (run, call) = (
        run(bench.approve(&argv), &env, name("still runs")),
        hook.call(b"", &env, limits, CancellationToken::new()),
    );
    let (run, call) = tokio::join!(run, call);
    panic!("{run:?} {call:?}");
}

/// Writes down which warden knows all that runs, as often as that changes. One that has begun and was told
/// nothing yet is of no use to an app that is killed.
fn says_who_is_told(folder: &Path) {
    let mut last = None;
    loop {
        let pid = told().warden.as_ref().and_then(|warden| {
            let pidfd = std::os::fd::AsRawFd::as_raw_fd(&warden.process);
            let info = fs::read_to_string(format!("/proc/self/fdinfo/{pidfd}")).ok()?;
            info.lines()
                .find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<i32>().ok())
                .filter(|pid| *pid > 0)
        });
        if pid.is_some() && pid != last {
            last = pid;
            let new = folder.join("told.new");
            fs::write(&new, pid.unwrap_or_default().to_string()).unwrap();
            fs::rename(new, folder.join("told")).unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn arguments(role: &str) -> Vec<OsString> {
    let module = module_path!().split_once("::").unwrap().1;
    [&format!("{module}::{role}"), "--exact", "--ignored"].map(OsString::from).to_vec()
}

/// A program of this text, written by another process, so that no fork of this one holds it open for writing
/// while it starts.
#[expect(clippy::disallowed_methods, reason = "the test writes a program")]
fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("hook");
    let made = Command::new("/bin/sh")
        .args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", text])
        .arg(&path)
        .status();
    assert!(made.unwrap().success());
    path
}

/// A process that plays the app, with its runs under way.
struct Rig {
    folder: TempDir,
    app: Child,
    pids: Vec<i32>,
}

impl Rig {
    #[expect(clippy::disallowed_methods, reason = "a test starts itself, to kill it")]
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pids");
        script(folder.path(), &format!("#!/bin/sh\n{}", TREE.replace("pids", file.to_str().unwrap())));
        let app = Command::new(std::env::current_exe().unwrap())
            .args(arguments("plays_the_app"))
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pids = wait_for("the runs say who they are", || {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
            (pids.len() == 2 * OF_TREE).then_some(pids)
        });
        Self { folder, app, pids }
    }

    fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    /// The warden of this rig that is none of `not`, once it was told of all that runs.
    fn warden(&self, not: Option<i32>) -> i32 {
        wait_for("a warden", || {
            let pid = fs::read_to_string(self.folder.path().join("told")).ok()?.parse().ok()?;
            (Some(pid) != not).then_some(pid)
        })
    }

    /// Kills the app and waits for the end of all that it started.
    fn kill_app(&mut self) {
        self.app.kill().unwrap();
        self.app.wait().unwrap();
    }

    fn all_end(&self) {
        wait_for("everything has ended", || (!self.pids.iter().any(|pid| is_alive(*pid))).then_some(()));
    }

    fn left(&self) -> Vec<(String, End)> {
        let left = left_behind(&self.runs());
        left.iter().flat_map(|left| left.runs.iter().map(|run| (run.name.clone(), run.end))).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for pid in &self.pids {
            kill(*pid);
        }
        if let Ok(bench) = fs::read_to_string(self.folder.path().join("bench")) {
            fs::remove_dir_all(bench).ok();
        }
    }
}

fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).and_then(ProcessIdentity::of).is_some_and(ProcessIdentity::is_alive)
}

fn kill(pid: i32) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).ok();
}

fn wait_for<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "did not happen: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_app_that_is_killed_leaves_nothing_of_its_runs_and_they_are_written_down() {
    let mut rig = Rig::start();
    rig.kill_app();
    rig.all_end();
    let left = rig.left();
    let [(name, End::ByWarden(_))] = &left[..] else { panic!("{left:?}") };
    assert_eq!(name, "still runs");
    for left in left_behind(&rig.runs()) {
        left.settled().unwrap();
    }
    assert_eq!(rig.left(), []);
}

#[test]
fn a_warden_that_is_killed_is_replaced_by_one_that_knows_the_same() {
    let mut rig = Rig::start();
    let first = rig.warden(None);
    kill(first);
    rig.warden(Some(first));
    rig.kill_app();
    rig.all_end();
    let left = rig.left();
    assert!(matches!(&left[..], [(name, End::ByWarden(_))] if name == "still runs"), "{left:?}");
}

#[test]
fn what_is_left_when_both_are_killed_is_ended_by_the_next_start() {
    let mut rig = Rig::start();
    let warden = rig.warden(None);
    // It cannot do anything between the two.
    rustix::process::kill_process(Pid::from_raw(warden).unwrap(), Signal::STOP).unwrap();
    rig.kill_app();
    kill(warden);
    let left = rig.left();
    rig.all_end();
    assert_eq!(left, [("still runs".to_owned(), End::AtNextStart)]);
}

#[test]
fn a_warden_outlives_what_tells_programs_to_end_and_bears_no_secret() {
    let mut rig = Rig::start();
    let warden = rig.warden(None);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        rustix::process::kill_process(Pid::from_raw(warden).unwrap(), signal).unwrap();
    }
    let environ = fs::read(format!("/proc/{warden}/environ")).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let ours: Vec<&str> = environ.split('\0').filter(|entry| entry.starts_with("COUNTERSIGN_")).collect();
    assert!(matches!(&ours[..], [only] if only.starts_with(VARIABLE)), "{ours:?}");
    rig.kill_app();
    rig.all_end();
    assert!(matches!(rig.left()[..], [(_, End::ByWarden(_))]));
}

#[test]
fn a_container_is_ended_by_what_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("told");
    let program = script(folder.path(), &format!("#!/bin/sh\necho \"$@\" > {}", file.display()));
    assert!(end_all(&[Run::in_container(program, "countersign-1")]));
    assert_eq!(fs::read_to_string(file).unwrap(), "kill countersign-1\n");
}

#[test]
fn only_a_command_beside_the_app_that_nobody_else_may_write_is_its_warden() {
    let folder = TempDir::new().unwrap();
    let [app, command] = ["countersign-desktop", "countersign"].map(|name| folder.path().join(name));
    let mode = |mode: u32| fs::set_permissions(&command, fs::Permissions::from_mode(mode)).unwrap();
    fs::write(&app, "").unwrap();
    assert_eq!(lighter(&app), None, "there is none");
    fs::write(&command, "").unwrap();
    mode(0o755);
    assert_eq!(lighter(&app), Some(command.clone()));
    assert_eq!(lighter(&command), None, "it is this very program");
    for open in [0o775, 0o757] {
        mode(open);
        assert_eq!(lighter(&app), None, "{open:o}");
    }
    fs::remove_file(&command).unwrap();
    fs::create_dir(&command).unwrap();
    assert_eq!(lighter(&app), None, "a folder");
}
