//! Nothing is left behind for the person, and nothing goes on after the end.

use super::*;
use crate::executor::sandbox::tests::runs::assert_still;
use crate::testing::wait_for_file;
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};

/// Every path below the workspace.
fn names(place: &Place) -> Vec<PathBuf> {
    let mut seen = BTreeMap::new();
    see(place.work(), &mut seen);
    seen.into_keys().collect()
}

#[tokio::test]
async fn a_run_leaves_no_file_of_ours_in_the_workspace_or_home() {
    let place = Place::new();
    let (before, kept) = (names(&place), place.kept());
    place.check("ls -a > /dev/null; git status > /dev/null; ls .git > /dev/null", "").await;
    assert_eq!(names(&place), before);
    assert_eq!(place.kept(), kept);
    again_as_nobody("boxed::leftovers::a_run_leaves_no_file_of_ours_in_the_workspace_or_home");
}

#[tokio::test]
async fn nor_does_one_that_is_killed_cancelled_or_dropped() {
    let place = Place::new();
    let (before, kept) = (names(&place), place.kept());
    let text = "echo > ready; while :; do sleep 1; done";
    let ready = place.work().join("ready");
    let end = || fs::remove_file(&ready).unwrap();
    // Bubblewrap itself, outside of the box.
    let mark = format!("COUNTERSIGN_TEST={}", uuid::Uuid::new_v4().simple());
    let marked = format!("{mark}; export COUNTERSIGN_TEST; {text}");
    let (payload, ()) = tokio::join!(place.shell(&marked), async {
        wait_for_file(&ready).await;
        for pid in processes_with(&mark) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    assert!(!payload.success, "{payload:?}");
    end();
    tokio::select! {
        payload = place.shell(text) => panic!("ended: {payload:?}"),
        () = wait_for_file(&ready) => {}
    }
    end();
    let cancel = place.rig.bench.cancel.clone();
    let (payload, ()) = tokio::join!(place.shell(text), async {
        wait_for_file(&ready).await;
        cancel.cancel();
    });
    assert_eq!(payload.error.as_deref(), Some("cancelled"));
    end();
    assert_eq!(names(&place), before);
    assert_eq!(place.kept(), kept);
    again_as_nobody("boxed::leftovers::nor_does_one_that_is_killed_cancelled_or_dropped");
}

/// Processes outside whose command line has this in it.
fn processes_with(text: &str) -> Vec<Pid> {
    let listed = fs::read_dir("/proc").unwrap().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    pids.filter(has).filter_map(Pid::from_raw).collect()
}

#[tokio::test]
async fn t22_what_stays_behind_ends_with_the_run() {
    for daemon in [
        "setsid sh -c 'trap \"\" TERM HUP; while :; do date > alive; sleep .01; done' > /dev/null 2>&1 &",
        "(setsid sh -c '(while :; do date > alive; sleep .01; done) > /dev/null 2>&1 &' &)",
        "nohup sh -c 'while :; do date > alive; sleep .01; done' > /dev/null 2>&1 &",
        "python3 -c 'import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        while True:
            open(\"alive\", \"w\").write(str(time.time()))
            time.sleep(.01)'",
    ] {
        let place = Place::new();
        let text = format!("{daemon}\nwhile [ ! -e alive ]; do sleep .01; done; echo done");
        place.check(&text, "done\n").await;
        assert_still(&place.work().join("alive")).await;
    }
    again_as_nobody("boxed::leftovers::t22_what_stays_behind_ends_with_the_run");
}

#[tokio::test]
async fn t22_a_protected_name_that_is_made_ends_the_run_and_is_put_aside() {
    for (name, text) in [
        (".envrc", "echo evil > .envrc"),
        (".idea", "mkdir -p .idea && echo evil > .idea/x"),
        (".git/commondir", "echo evil > .git/commondir"),
        ("vendor/lib/.git/commondir", "echo evil > vendor/lib/.git/commondir"),
    ] {
        let place = Place::new();
        // Far longer than anybody waits.
        let payload = place.shell(&format!("{text}; sleep 600")).await;
        let error = payload.error.unwrap_or_default();
        assert!(error.contains("the box ended it") && error.contains(name), "{name}: {error}");
        assert!(!place.work().join(name).exists(), "{name}");
        assert!(place.work().join(format!("{name}.put-aside-1")).exists(), "{name}");
    }
    again_as_nobody("boxed::leftovers::t22_a_protected_name_that_is_made_ends_the_run_and_is_put_aside");
}

#[tokio::test]
async fn settings_that_are_replaced_from_outside_end_the_run_and_stay() {
    let place = Place::new();
    let text = "echo > ready; while :; do echo evil >> .git/config; done 2> /dev/null";
    let config = place.work().join(".git/config");
    let (payload, ()) = tokio::join!(place.shell(text), async {
        wait_for_file(&place.work().join("ready")).await;
        git(place.work(), place.home(), &["config", "user.name", "Bob"]);
    });
    assert!(payload.error.unwrap_or_default().contains("replaced"), "the wall was gone");
    assert!(fs::read_to_string(&config).unwrap().contains("Bob"));
    again_as_nobody("boxed::leftovers::settings_that_are_replaced_from_outside_end_the_run_and_stay");
}

#[tokio::test]
async fn a_port_that_is_opened_inside_is_not_there_outside() {
    for (without, reached) in [(&[][..], false), (&[Wall::Network][..], true)] {
        let place = Place::without(without);
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        let text = format!(
            "python3 -c 'import socket, os, time
server = socket.create_server((\"127.0.0.1\", {port}))
open(\"ready\", \"w\")
while not os.path.exists(\"go\"): time.sleep(.01)'"
        );
        let (payload, ()) = tokio::join!(place.shell(&text), async {
            wait_for_file(&place.work().join("ready")).await;
            assert_eq!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok(), reached, "{without:?}");
            fs::write(place.work().join("go"), "").unwrap();
        });
        assert!(payload.success, "{payload:?}");
    }
    again_as_nobody("boxed::leftovers::a_port_that_is_opened_inside_is_not_there_outside");
}

/// Set for the process of this test whose mounts are its own.
const APART: &str = "COUNTERSIGN_TEST_APART";

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test starts itself where it may mount")]
async fn what_is_mounted_outside_meanwhile_does_not_appear() {
    if !is_root() {
        return;
    }
    if std::env::var_os(APART).is_none() {
        let (_, module) = module_path!().split_once("::").unwrap();
        let name = format!("{module}::what_is_mounted_outside_meanwhile_does_not_appear");
        let ran = std::process::Command::new("unshare")
            .args(["--mount", "--propagation", "shared", "--"])
            .arg(std::env::current_exe().unwrap())
            .args([&name, "--exact", "--nocapture"])
            .env(APART, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    for (without, appears) in [(&[][..], false), (&[Wall::Mounts][..], true)] {
        let place = Place::without(without);
        let late = place.home().join("outside/late");
        fs::create_dir(&late).unwrap();
        let text = "touch ready; while [ ! -e go ]; do sleep .01; done; echo x > ~/outside/late/new";
        let (payload, ()) = tokio::join!(place.shell(text), async {
            wait_for_file(&place.work().join("ready")).await;
            outside(Path::new("/"), place.home(), "mount", &["-t", "tmpfs", "none", late.to_str().unwrap()]);
            fs::write(place.work().join("go"), "").unwrap();
        });
        assert_eq!(late.join("new").exists(), appears, "{without:?}: {payload:?}");
        outside(Path::new("/"), place.home(), "umount", &[late.to_str().unwrap()]);
    }
}

#[tokio::test]
async fn boxes_are_laid_out_here_with_caches_over_caches() {
    let place = Place::new();
    let means = crate::executor::sandbox::box_means(&place.workspace.caches).await.unwrap();
    assert_eq!(means, crate::executor::sandbox::Means { apart: true, layers: true, landlock: true });
    again_as_nobody("boxed::leftovers::boxes_are_laid_out_here_with_caches_over_caches");
}
