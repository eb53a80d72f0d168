//! Ways out of a box, each tried for real: it must fail, leave everything as it was, and succeed where the
//! wall that stops it is left out. A wall that nothing gets through without is not tested.

mod table;

use super::*;
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;
use table::{Attempt, Held, attempts};

/// What an attempt came to.
#[derive(Debug)]
struct Came {
    payload: ExecPayload,
    changed: Vec<PathBuf>,
}

impl Came {
    /// Whether it says that it got out, or something is not as it was.
    fn out(&self) -> bool {
        self.payload.success || !self.changed.is_empty()
    }
}

async fn attempt(place: &Place, text: &str) -> Came {
    let before = place.kept();
    let payload = place.shell(text).await;
    let after = place.kept();
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).cloned();
    let changed: Vec<PathBuf> = changed.collect();
    Came { payload, changed }
}

/// Tries every line of the table that begins with one of these letters. As a whole it would keep one
/// thread too long.
async fn check(topic: &str) {
    let mut wrong = Vec::new();
    let lines: Vec<&Attempt> = attempts().filter(|attempt| attempt.name.starts_with(topic)).collect();
    assert!(!lines.is_empty(), "{topic}");
    for Attempt { name, held, text } in lines {
        // Root has no gate in the box and others do, so that both are tried.
        let place = if is_root() { Place::new() } else { Place::new().with_gate() };
        let came = attempt(&place, text).await;
        if came.out() {
            wrong.push(format!("{name}: got out: {came:?}"));
        }
        let started = came.payload.exit_code.is_some()
            || came.payload.error.as_deref().is_some_and(|error| error.contains("the box ended it"));
        if !started {
            wrong.push(format!("{name}: did not start: {came:?}"));
        }
        match held {
            Held::By(walls) => {
                let came = attempt(&Place::without(walls), text).await;
                if !came.out() {
                    wrong.push(format!("{name}: stays in without {walls:?}: {came:?}"));
                }
            }
            Held::ByRoots(walls) if is_root() => {
                let came = attempt(&Place::without(walls), text).await;
                if !came.out() {
                    wrong.push(format!("{name}: stays in without {walls:?}: {came:?}"));
                }
            }
            Held::Deeply | Held::ByRoots(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

macro_rules! topics {
    ($($name:ident: $topic:literal,)*) => {$(
        #[tokio::test]
        async fn $name() {
            check($topic).await;
            again_as_nobody(concat!("boxed::attempts::", stringify!($name)));
        }
    )*};
}

topics! {
    reading_what_is_hidden: "read ",
    writing_what_is_to_be_read: "write ",
    changing_what_is_protected: "protected ",
    leading_git_elsewhere: "git ",
    talking_to_others: "talk ",
    reaching_processes: "process ",
    reaching_the_kernel: "kernel ",
    poisoning_caches: "cache ",
    sharing_memory: "share ",
}

#[test]
fn every_line_has_a_name_of_its_own_and_a_topic_that_is_tried() {
    let names: BTreeSet<&str> = attempts().map(|attempt| attempt.name).collect();
    assert_eq!(names.len(), attempts().count());
    assert!(attempts().count() >= 100, "{}", attempts().count());
    let topics = ["read", "write", "protected", "git", "talk", "process", "kernel", "cache", "share"];
    for name in names {
        assert!(name.split(' ').next().is_some_and(|topic| topics.contains(&topic)), "{name}");
    }
}

/// Every line of the list of what is hidden in a home: a file there is not read, and would be
/// without the wall.
#[tokio::test]
async fn t22_every_hidden_path_of_a_home_is_hidden() {
    for without in [&[][..], &[Wall::Hidden, Wall::Caches][..]] {
        let place = Place::without(without);
        let mut made = 0;
        for parts in &crate::executor::sandbox::workspace::HIDDEN.of_home {
            let path = place.home().join(parts.join("/").replace('*', "x"));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if made % 2 == 0 {
                fs::write(&path, "HIDE-AND-SEEK\n").unwrap();
            } else {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("file"), "HIDE-AND-SEEK\n").unwrap();
            }
            made += 1;
        }
        assert!(made > 150, "{made}");
        let payload = place.shell("grep -rs HIDE-AND-SEEK ~ | wc -l").await;
        let expected = if without.is_empty() { "0\n".to_owned() } else { format!("{made}\n") };
        assert_eq!(payload.stdout, expected, "{without:?}: {payload:?}");
    }
    again_as_nobody("boxed::attempts::t22_every_hidden_path_of_a_home_is_hidden");
}

/// Where something could be written by what is mounted, Landlock still says no: for each line, with one
/// wall and with none.
#[tokio::test]
async fn t22_either_of_two_walls_keeps_writing_in() {
    let mut wrong = Vec::new();
    for text in [
        r#"echo changed > "$OUT/file""#,
        r#"echo more >> "$OUT/file""#,
        r#"truncate -s 0 "$OUT/file""#,
        r#"touch "$OUT/new""#,
        r#"mkdir "$OUT/new""#,
        r#"mkfifo "$OUT/new""#,
        r#"ln -s elsewhere "$OUT/new""#,
        r#"rm "$OUT/file""#,
        r#"mv "$OUT/file" "$OUT/other""#,
        r#"mv "$OUT/file" ."#,
        r#"ln "$OUT/file" "$OUT/twin""#,
        r#"(umask 0; exec 3> "$OUT/file"; echo deep >&3)"#,
        r#"python3 -c 'import os; os.rename(os.environ["OUT"] + "/file", os.environ["OUT"] + "/moved")'"#,
    ] {
        for (walls, is_out) in [
            (&[Wall::Landlock][..], false),
            (&[Wall::ReadOnly], false),
            (&[Wall::ReadOnly, Wall::Landlock], true),
        ] {
            let out = beside_the_tests();
            fs::write(out.path().join("file"), "plain\n").unwrap();
            let mut place = Place::without(walls).with_gate();
            place.rig.env.insert("OUT".into(), out.path().display().to_string());
            let came = attempt(&place, text).await;
            if came.out() != is_out || came.payload.exit_code.is_none() {
                wrong.push(format!("{text} without {walls:?}: {came:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
