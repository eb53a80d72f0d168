//! Boxes that are made before their commands come.

use super::*;
use pretty_assertions::assert_eq;

/// What a command sees of itself.
const SEES: &str = "env | sort; pwd; echo \"$0 $#\"; ls -l /proc/self/fd | wc -l; id; cat /proc/1/comm; \
     ls -A / ~ . /run /run/countersign /dev; ulimit -a | grep -v ^locks; cut -d' ' -f5 /proc/self/mountinfo | sort | grep -v ^/usr/bin/ | \
     sed 's/run-[0-9a-f]*/run/'";

#[tokio::test]
async fn a_command_sees_in_a_box_that_stood_ready_what_it_sees_in_any() {
    let place = Place::new().with_gate();
    let command = place.rig.bench.approve(&owned(&["sh", "-c", SEES]));
    let any = place.start(command, Controls::default()).await.unwrap();
    let standing = place.ready().await.expect("boxes can wait here");
    let ready = place.order(standing, SEES).await.unwrap();
    assert_eq!(ready, any);
    assert!(any.success && any.stdout.contains("PWD="), "{any:?}");
    assert!(!any.stdout.contains("\nCOUNTERSIGN_"), "{any:?}");
    let standing = place.ready().await.unwrap();
    let ended = place.order(standing, "echo out; echo err >&2; kill -TERM $$").await.unwrap();
    assert_eq!(
        (ended.exit_code, ended.stdout.as_str(), ended.stderr.as_str()),
        (Some(143), "out\n", "err\n")
    );
    again_as_nobody("boxed::standing::a_command_sees_in_a_box_that_stood_ready_what_it_sees_in_any");
}

/// A box stands ready, `change` happens outside, and the box is used or not.
async fn check(what: &str, expected: Result<(), NotTaken>, change: impl FnOnce(&Place)) {
    let place = Place::new().with_gate();
    let standing = place.ready().await.unwrap();
    change(&place);
    let came = place.order(standing, "echo ran > ran").await;
    assert_eq!(came.map(|_| ()), expected, "{what}");
    assert_eq!(place.work().join("ran").exists(), expected.is_ok(), "{what}");
}

#[tokio::test]
async fn t22_a_box_that_stood_ready_is_not_used_where_another_one_would_be_made_now() {
    let write = |path: PathBuf| fs::write(path, "new\n").unwrap();
    check("nothing", Ok(()), |_| {}).await;
    check("a file of the work", Ok(()), |place| write(place.work().join("notes"))).await;
    let outdated = Err(NotTaken::Outdated);
    check("a secret in the work", outdated, |place| write(place.work().join(".env.local"))).await;
    check("a file of the home", outdated, |place| write(place.home().join(".gitconfig"))).await;
    check("a new folder of the home", outdated, |place| {
        fs::create_dir(place.home().join("new")).unwrap();
    })
    .await;
    check("settings of git, written anew", outdated, |place| {
        let config = place.work().join(".git/config");
        fs::copy(&config, place.work().join("anew")).unwrap();
        fs::rename(place.work().join("anew"), config).unwrap();
    })
    .await;
    check("a name that may not appear", outdated, |place| write(place.work().join(".envrc"))).await;
    check("the work itself", outdated, |place| {
        fs::rename(place.work(), place.work().with_file_name("before")).unwrap();
        fs::create_dir(place.work()).unwrap();
    })
    .await;
}

#[tokio::test]
async fn t22_a_wall_that_fell_while_its_box_stood_ready_is_seen_although_all_looks_as_before() {
    check("the very file was taken away and put back", Err(NotTaken::Outdated), |place| {
        let config = place.work().join(".git/config");
        let (kept, other) = (place.work().join("kept"), place.work().join("other"));
        fs::hard_link(&config, &kept).unwrap();
        fs::write(&other, "").unwrap();
        // What is put over a mount point in another name space takes the mount away.
        fs::rename(&other, &config).unwrap();
        fs::rename(&kept, &config).unwrap();
    })
    .await;
}

#[tokio::test]
async fn what_stood_ready_in_vain_leaves_nothing_behind() {
    let place = Place::new().with_gate();
    let standing = place.ready().await.unwrap();
    let names = || -> Vec<String> {
        let entries = fs::read_dir(&place.workspace.caches).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name.starts_with("run-"));
        names
    };
    assert_eq!(names().len(), 1);
    drop(standing);
    assert_eq!(names(), Vec::<String>::new());
    // Its caches are free again, once no process that another test starts just now holds their lock: a box
    // that finds it held has caches of its own.
    let began = std::time::Instant::now();
    loop {
        place.check("echo mine > ~/.cache/pkg/wheel", "").await;
        if place.shell("cat ~/.cache/pkg/wheel").await.stdout == "mine\n" {
            return;
        }
        assert!(began.elapsed() < crate::testing::PATIENCE, "its caches stay taken");
    }
}
