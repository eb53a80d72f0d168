//! Boxes of an app whose files an update has replaced while it runs.

use super::*;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn boxes_are_made_also_after_an_update_replaced_our_files() {
    let own = std::env::current_exe().unwrap();
    if own.file_name().unwrap() != INSTALLED {
        return in_a_folder_of_its_own(&own);
    }
    let place = Place::new().with_gate();
    let check = async |when: &str| {
        let standing = place.ready().await.expect("boxes can wait here");
        let payload = place.order(standing, "echo $0").await.unwrap();
        assert_eq!(
            (payload.exit_code, payload.stdout.as_str()),
            (Some(0), "sh\n"),
            "{when}, ready: {payload:?}"
        );
        let command = place.rig.bench.approve(&owned(&["sh", "-c", "echo $0"]));
        let payload = place.start(command, Controls::default()).await.unwrap();
        assert_eq!((payload.exit_code, payload.stdout.as_str()), (Some(0), "sh\n"), "{when}: {payload:?}");
    };
    check("before").await;
    let waiting = place.ready().await.unwrap();
    for name in [SMALL, INSTALLED] {
        let (new, old) = (own.with_file_name("new"), own.with_file_name(name));
        fs::write(&new, "another release\n").unwrap();
        fs::rename(new, old).unwrap();
    }
    check("after").await;
    assert_eq!(place.order(waiting, "true").await.unwrap_err(), NotTaken::Outdated);
}

/// Runs the test once more, from files that may be replaced.
#[expect(clippy::disallowed_methods, reason = "a test starts itself from another place")]
fn in_a_folder_of_its_own(own: &Path) {
    let folder = beside_the_tests();
    let small = own.ancestors().nth(2).unwrap().join(SMALL);
    for (from, name) in [(own, INSTALLED), (small.as_path(), SMALL)] {
        fs::hard_link(from, folder.path().join(name)).unwrap();
    }
    let ran = std::process::Command::new(folder.path().join(INSTALLED))
        .args(["boxes_are_made_also_after_an_update_replaced_our_files", "--nocapture"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "no such test: {said}");
}

/// What the tests are called there.
const INSTALLED: &str = "installed-tests";

const SMALL: &str = "countersign-box";
