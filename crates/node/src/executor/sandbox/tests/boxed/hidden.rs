//! What a person hid in a folder stays hidden whatever becomes of its name.

use super::*;
use crate::executor::sandbox::remember_hidden;
use crate::testing::wait_for_file;
use pretty_assertions::assert_eq;

/// Hidden: a file and a folder at the top, and the same in a folder of a folder.
const HIDDEN: [&str; 4] = ["plan", "diary", "a/b/plan", "a/b/diary"];

/// What is in each of these.
const CONTENT: &str = "nobody-s-business";

/// Says whether anything of it is read anywhere, by whatever name.
const READS: &str = "grep -rs nobody-s-business . ; echo looked";

/// A place with all that hidden.
fn place() -> Place {
    let mut place = Place::new();
    for name in HIDDEN {
        let path = place.work().join(name);
        if name.ends_with("diary") {
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("page"), CONTENT).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, CONTENT).unwrap();
        }
        place.workspace.hidden.push(path);
    }
    fs::write(place.work().join("a/b/plain"), "plain\n").unwrap();
    place
}

#[tokio::test]
async fn t22_a_box_cannot_move_what_is_hidden_nor_what_leads_to_it() {
    let place = place();
    for text in [
        "mv plan other",
        "mv diary other",
        "mv a other",
        "mv a/b other",
        "mv a/b/plan other",
        "mv a/b/diary other",
        "ln plan other",
        "ln a/b/plan other",
        "python3 -c 'import os; os.rename(\"a\", \"other\")'",
        "python3 -c 'import os; os.rename(\"vendor\", \"diary\")'",
        "rm -r diary",
        "rm -f plan",
        "echo new > new && mv -f new plan",
    ] {
        let payload = place.shell(text).await;
        assert!(!payload.success, "{text}: {payload:?}");
        place.check(READS, "looked\n").await;
    }
    // Work beside it goes on.
    place.check("mv a/b/plain moved && mkdir a/c && mv a/c a/d && rmdir a/d && cat moved", "plain\n").await;
    for name in HIDDEN {
        let path = place.work().join(name);
        let path = if path.is_dir() { path.join("page") } else { path };
        assert_eq!(fs::read_to_string(path).unwrap(), CONTENT, "{name}");
    }
    again_as_nobody("boxed::hidden::t22_a_box_cannot_move_what_is_hidden_nor_what_leads_to_it");
}

/// Something happens outside after a first run, and what is hidden is not read in the next ones.
async fn check(what: &str, change: impl FnOnce(&Path)) {
    let place = place();
    place.check(READS, "looked\n").await;
    change(place.work());
    let seen = outside_finds(place.work());
    assert!(seen, "{what}: there is nothing to be found");
    place.check(READS, "looked\n").await;
    // As if the app had begun anew: nothing of this is in its memory alone.
    place.check(READS, "looked\n").await;
    assert!(!place.shell("mv r s").await.success, "{what}: what leads there now can be moved");
    place.check(READS, "looked\n").await;
}

/// Whether somebody outside reads it by a name that is not hidden.
fn outside_finds(work: &Path) -> bool {
    let mut seen = BTreeMap::new();
    see(work, &mut seen);
    let is_hidden = |path: &Path| HIDDEN.iter().any(|name| path.starts_with(work.join(name)));
    seen.iter().any(|(path, content)| content.contains(CONTENT) && !is_hidden(path))
}

#[tokio::test]
async fn t22_what_is_hidden_is_hidden_under_the_name_that_others_gave_it() {
    let to = |from: &'static str, to: &'static str| {
        move |work: &Path| {
            fs::create_dir_all(work.join(to).parent().unwrap()).unwrap();
            fs::rename(work.join(from), work.join(to)).unwrap();
        }
    };
    check("a file", to("plan", "r/other")).await;
    check("a folder", to("diary", "r/other")).await;
    check("what leads there", to("a", "r")).await;
    check("what leads there, deeper", to("a/b", "r/x/y")).await;
    check("where nobody looks for secrets", to("a/b/plan", "r/node_modules/x/y")).await;
    check("another is in its place", |work| {
        fs::rename(work.join("a"), work.join("r")).unwrap();
        fs::create_dir_all(work.join("a/b/diary")).unwrap();
        fs::write(work.join("a/b/plan"), "new").unwrap();
    })
    .await;
    check("a link is in its place", |work| {
        fs::rename(work.join("a"), work.join("r")).unwrap();
        symlink("r", work.join("a")).unwrap();
        fs::rename(work.join("plan"), work.join("r/plan")).unwrap();
        symlink("plan", work.join("plan")).unwrap();
    })
    .await;
    check("a second name", |work| {
        fs::create_dir(work.join("r")).unwrap();
        fs::hard_link(work.join("plan"), work.join("r/other")).unwrap();
    })
    .await;
    again_as_nobody("boxed::hidden::t22_what_is_hidden_is_hidden_under_the_name_that_others_gave_it");
}

#[tokio::test]
async fn t22_what_is_hidden_is_hidden_when_it_was_renamed_before_the_first_box() {
    let place = place();
    remember_hidden(&place.workspace).unwrap();
    fs::rename(place.work().join("plan"), place.work().join("other")).unwrap();
    fs::rename(place.work().join("a"), place.work().join("r")).unwrap();
    place.check(READS, "looked\n").await;
    again_as_nobody("boxed::hidden::t22_what_is_hidden_is_hidden_when_it_was_renamed_before_the_first_box");
}

#[tokio::test]
async fn what_is_gone_hides_nothing_and_what_is_written_anew_is_hidden() {
    let place = place();
    let at = |name: &str| place.work().join(name);
    place.check(READS, "looked\n").await;
    // As editors save.
    fs::write(at("saved"), CONTENT).unwrap();
    fs::rename(at("saved"), at("plan")).unwrap();
    fs::remove_dir_all(at("diary")).unwrap();
    fs::remove_dir_all(at("a")).unwrap();
    place.check(READS, "looked\n").await;
    let known = fs::read_to_string(place.workspace.caches.join("hidden.json")).unwrap();
    assert!(known.contains("/plan\"") && !known.contains("/a/") && !known.contains("diary"), "{known}");
    fs::rename(at("plan"), at("other")).unwrap();
    place.check(READS, "looked\n").await;
    fs::remove_file(at("other")).unwrap();
    place.check("mkdir -p a/b; echo new > a/b/plan; cat a/b/plan", "new\n").await;
    place.check("cat a/b/plan 2> /dev/null; echo looked", "looked\n").await;
}

#[tokio::test]
async fn t22_there_is_no_box_where_what_is_hidden_cannot_be_looked_for() {
    let place = place();
    place.check(READS, "looked\n").await;
    let said = async || {
        let command = place.rig.bench.approve(&owned(&["sh", "-c", READS]));
        place.start(command, Controls::default()).await.unwrap_err().to_string()
    };
    let known = place.workspace.caches.join("hidden.json");
    let kept = fs::read(&known).unwrap();
    fs::write(&known, "{").unwrap();
    assert!(said().await.contains("cannot be used"));
    fs::write(&known, kept).unwrap();
    if !is_root() {
        fs::rename(place.work().join("plan"), place.work().join("a/plan")).unwrap();
        fs::set_permissions(place.work().join("a"), fs::Permissions::from_mode(0o000)).unwrap();
        let said = said().await;
        fs::set_permissions(place.work().join("a"), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(said.contains("what is hidden in the folder may be in"), "{said}");
    }
    place.check(READS, "looked\n").await;
    again_as_nobody("boxed::hidden::t22_there_is_no_box_where_what_is_hidden_cannot_be_looked_for");
}

#[tokio::test]
async fn t22_a_run_ends_when_what_it_must_not_see_is_replaced_from_outside() {
    for name in ["plan", "a/b/diary", "a"] {
        let place = place();
        let text = "echo > ready; while :; do grep -rs in-its-place . ; sleep .01; done";
        let (payload, ()) = tokio::join!(place.shell(text), async {
            wait_for_file(&place.work().join("ready")).await;
            let new = place.work().join("new");
            fs::rename(place.work().join(name), &new).unwrap();
            fs::write(place.work().join(name), "in-its-place\n").unwrap();
        });
        assert!(payload.error.unwrap_or_default().contains("replaced while it ran"), "{name}");
        assert_eq!(fs::read_to_string(place.work().join(name)).unwrap(), "in-its-place\n", "{name}");
    }
    again_as_nobody("boxed::hidden::t22_a_run_ends_when_what_it_must_not_see_is_replaced_from_outside");
}
