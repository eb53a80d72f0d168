//! Ways out of the workspace, and files that are none.

use super::*;
use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener;

/// What an attempt may come to. Outside, nothing ever changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// No tool does anything.
    Refused,
    /// The path is an odd name in the workspace: what is outside is not read, and a file of that
    /// name may be made.
    Inside,
}

#[tokio::test]
async fn t16_no_path_leads_out_of_the_workspace() {
    let world = World::with(&[
        ("inside.txt", "inside\n"),
        ("sub/deep/file.txt", "file\n"),
        ("source.txt", "source\n"),
    ]);
    let (ws, outside) = (world.ws(""), world.outside(""));
    let ws = ws.to_str().unwrap().trim_end_matches('/');
    let outside = outside.to_str().unwrap().trim_end_matches('/');
    fs::create_dir(format!("{ws}-evil")).unwrap();
    fs::write(format!("{ws}-evil/secret.txt"), "secret\n").unwrap();
    let opened = fs::File::open(world.outside("secret.txt")).unwrap();
    let magic = format!("/proc/self/fd/{}", opened.as_raw_fd());
    let link = |name: &str, target: &str| symlink(target, world.ws(name)).unwrap();
    link("relative", "../outside/secret.txt");
    link("absolute", &format!("{outside}/secret.txt"));
    link("folder", "../outside");
    link("absolute-folder", outside);
    link("chain", "sub/chain");
    link("sub/chain", "../relative");
    link("up", "..");
    link("within", "sub/deep");
    link("root", "/");
    link("proc-root", "/proc/self/root");
    link("proc-cwd", "/proc/self/cwd");
    link("magic", &magic);
    link("loop", "pool");
    link("pool", "loop");
    link("dangling", "../outside/made.txt");
    link("dangling-folder", "../outside/made");
    link("null", "/dev/null");
    link("self", &format!("{ws}/inside.txt"));
    mknodat(CWD, world.ws("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _listener = UnixListener::bind(world.ws("socket")).unwrap();

    use End::{Inside, Refused};
    let long = format!("{}/x.txt", "d".repeat(256));
    let longest = "d/".repeat(2_100) + "x.txt";
    let attempts: Vec<(String, End)> = [
        ("../outside/secret.txt", Refused),
        ("./../outside/secret.txt", Refused),
        ("sub/../../outside/secret.txt", Refused),
        ("sub/deep/../../../outside/secret.txt", Refused),
        ("missing/../../outside/secret.txt", Refused),
        ("sub/missing/../../../outside/secret.txt", Refused),
        ("inside.txt/../../outside/secret.txt", Refused),
        (&format!("{outside}/secret.txt"), Refused),
        (&format!("/{outside}/secret.txt"), Refused),
        (&format!("{outside}/made.txt"), Refused),
        (&format!("{ws}/../outside/secret.txt"), Refused),
        (&format!("{ws}-evil/secret.txt"), Refused),
        (&format!("{}/inside.txt", ws.to_uppercase()), Refused),
        ("relative", Refused),
        ("absolute", Refused),
        ("folder/secret.txt", Refused),
        ("folder/made.txt", Refused),
        ("folder/made/made.txt", Refused),
        ("absolute-folder/secret.txt", Refused),
        ("chain", Refused),
        ("sub/chain", Refused),
        ("up/outside/secret.txt", Refused),
        ("up/ws/inside.txt", Refused),
        ("within/../../../outside/secret.txt", Refused),
        (&format!("root{outside}/secret.txt"), Refused),
        (&format!("proc-root{outside}/secret.txt"), Refused),
        ("proc-cwd/Cargo.toml", Refused),
        (&format!("/proc/self/root{outside}/secret.txt"), Refused),
        ("magic", Refused),
        (&magic, Refused),
        (&format!("/dev/fd/{}", opened.as_raw_fd()), Refused),
        ("loop", Refused),
        ("loop/secret.txt", Refused),
        ("dangling", Refused),
        ("dangling-folder/made.txt", Refused),
        ("null", Refused),
        ("/dev/null", Refused),
        // Absolute links lead out, wherever they lead.
        ("self", Refused),
        ("~/secret.txt", Refused),
        ("~root/secret.txt", Refused),
        ("~", Refused),
        ("", Refused),
        (".", Refused),
        ("..", Refused),
        ("/", Refused),
        (ws, Refused),
        ("sub", Refused),
        ("sub/", Refused),
        ("sub/deep/..", Refused),
        ("inside.txt/", Refused),
        ("inside.txt/.", Refused),
        ("inside.txt/x", Refused),
        ("inside.txt\0", Refused),
        ("sub\0/../../outside/secret.txt", Refused),
        ("fifo", Refused),
        ("socket", Refused),
        (&long, Refused),
        (&longest, Refused),
        ("\u{2025}/outside/secret.txt", Refused),
        ("\u{ff0e}\u{ff0e}/outside/secret.txt", Refused),
        ("\u{2024}\u{2024}/outside/secret.txt", Refused),
        (".../outside/secret.txt", Refused),
        ("a\u{202e}txt.terces", Refused),
        ("a\n../outside/secret.txt", Refused),
        ("..\\outside\\secret.txt", Inside),
        ("..\u{ff0f}outside\u{ff0f}secret.txt", Inside),
        ("%2e%2e/outside/secret.txt", Inside),
        ("file:///outside/secret.txt", Inside),
        ("$HOME/secret.txt", Inside),
    ]
    .map(|(path, end)| (path.to_owned(), end))
    .into();
    assert!(attempts.iter().filter(|(_, end)| *end == Refused).count() > 30);

    let before = snapshot(&world.real());
    for (path, end) in &attempts {
        let read = world.call(&read_file(), json!({ "path": path })).await;
        assert!(read.is_err(), "{path:?} was read: {read:?}");
        for (tool, params) in all_changes(path, "secret\n").into_iter().chain(all_creations(path)) {
            let called = world.call(&tool, params.clone()).await;
            assert!(*end == Inside || called.is_err(), "{params}: {called:?}");
        }
        let after = snapshot(&world.real());
        if *end == Refused {
            assert_eq!(after, before, "{path:?}");
        } else {
            let odd = |path: &Path| path.starts_with(ws) && !before.contains_key(path);
            assert!(
                after.iter().all(|(path, found)| odd(path) || before.get(path) == Some(found)),
                "{path:?}"
            );
            // A move takes its source along.
            for (path, _) in after.iter().filter(|(path, _)| odd(path)) {
                let _ = fs::remove_file(path);
            }
            for path in after.keys().rev().filter(|path| odd(path)) {
                let _ = fs::remove_dir(path);
            }
            fs::write(world.ws("source.txt"), "source\n").unwrap();
        }
    }
    assert_eq!(fs::read_to_string(world.outside("secret.txt")).unwrap(), "secret\n");
}

/// What each refusal says to the agent.
#[tokio::test]
async fn t16_a_refusal_names_its_reason() {
    let world = World::with(&[("a.txt", "a\n"), ("sub/b.txt", "b\n")]);
    symlink("a.txt", world.ws("link")).unwrap();
    symlink("nowhere", world.ws("dead")).unwrap();
    mknodat(CWD, world.ws("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for (path, reason) in [
        ("../x", "leads out of the workspace"),
        ("/etc/passwd", "not beneath the workspace"),
        ("~/x", "`~` is not expanded"),
        ("", "the path is empty"),
        ("a\0", "NUL"),
        ("sub", "it is a folder"),
        ("sub/", "names a folder"),
        ("fifo", "it is a FIFO"),
        ("a.txt/x", "is no folder"),
        ("link", "it is a symbolic link to a.txt"),
        ("dead", "it is a symbolic link to nowhere"),
        ("dead/x", "leads nowhere"),
        ("x/../y", "goes up from a folder that does not exist"),
        ("a\u{200b}b", "it cannot be shown as it is"),
        ("\u{2025}/x", "looks like `.` or `..`"),
        (&"n".repeat(256), "too long"),
        (&"d/".repeat(40), "names a folder"),
        (&("d/".repeat(40) + "x"), "too many folders"),
    ] {
        let problem = world.problem(&write_file(), json!({ "path": path, "content": "x" })).await;
        assert!(problem.contains(reason), "{path:?}: {problem}");
    }
    let hidden = world.problem(&read_file(), json!({ "path": "../\u{1b}[2J\u{202e}" })).await;
    assert!(hidden.starts_with("../\\u{1B}[2J\\u{202E}: "), "{hidden}");
    let long = world.problem(&read_file(), json!({ "path": "../".to_owned() + &"x".repeat(4_000) })).await;
    assert!(long.len() < 500, "{long}");
}

#[tokio::test]
async fn t16_links_that_stay_beneath_are_followed_and_the_real_path_is_shown() {
    let world = World::with(&[("real/a.txt", "a\n"), ("b.txt", "b\n")]);
    symlink("real", world.ws("folder")).unwrap();
    symlink("../b.txt", world.ws("real/link")).unwrap();
    let read = world.call(&read_file(), json!({ "path": "folder/link" })).await.unwrap();
    assert_eq!(read.text, "b\n");
    assert_eq!(read.details.unwrap()["path"], world.ws("b.txt").to_str().unwrap());

    let (changes, plan) =
        world.changes(&write_file(), json!({ "path": "folder/new/x.txt", "content": "x" })).await;
    assert_eq!(changes[0].path, world.ws("real/new/x.txt"));
    assert_eq!(changes[0].named, "folder/new/x.txt");
    assert_eq!(changes[0].new_folders, [world.ws("real/new")]);
    run(plan).await.unwrap();
    assert_eq!(world.read("real/new/x.txt").as_deref(), Some("x"));

    // Paths through the workspace's own links are paths of the workspace.
    symlink(world.ws(""), world.real().join("alias")).unwrap();
    let call = Call {
        id: "1".to_owned(),
        run_id: None,
        tool: "read_file".to_owned(),
        params: json!({ "path": world.real().join("alias/b.txt") }).as_object().unwrap().clone(),
        caller: Caller::default(),
        workspace: world.real().join("alias"),
    };
    assert_eq!(run(read_file().plan(&call).await.unwrap()).await.unwrap().text, "b\n");
    let absolute = world.call(&read_file(), json!({ "path": world.ws("b.txt") })).await.unwrap();
    assert_eq!(absolute.text, "b\n");
}

#[tokio::test]
async fn t16_a_hard_link_is_not_read_and_never_written_through() {
    let world = World::new();
    for (tool, params) in all_changes("hard.txt", "secret\n") {
        fs::hard_link(world.outside("secret.txt"), world.ws("hard.txt")).unwrap();
        let read = world.call(&read_file(), json!({ "path": "hard.txt" })).await.unwrap_err().to_string();
        assert!(read.contains("the file has another name"), "{read}");
        let (changes, plan) = world.changes(&tool, params.clone()).await;
        assert_eq!(changes[0].before.as_ref().unwrap().links, 2);
        run(plan).await.unwrap();
        assert_eq!(fs::read_to_string(world.outside("secret.txt")).unwrap(), "secret\n", "{params}");
        fs::remove_dir_all(world.ws("")).unwrap();
        fs::create_dir(world.ws("")).unwrap();
    }
}

#[test]
fn t16_devices_are_not_opened() {
    let devices = Workspace::open(Path::new("/dev")).unwrap();
    let problem = devices.read("null").unwrap_err().to_string();
    assert!(problem.contains("it is a device"), "{problem}");
    assert!(devices.place("null").is_ok(), "the place is one, what stands there is looked at later");
    let change =
        planned::Planner::new(&devices).find("null", pinned::Purpose::Replace).unwrap_err().to_string();
    assert!(change.contains("it is a device"), "{change}");
}

#[test]
fn t16_the_whole_machine_is_no_workspace() {
    let world = World::with(&[("a.txt", "a\n")]);
    let check = |path: &Path, reason: &str| {
        let problem = Workspace::open(path).unwrap_err().to_string();
        assert!(problem.contains(reason), "{problem}");
    };
    check(Path::new("/"), "whole file system");
    check(Path::new("/tmp/.."), "whole file system");
    check(Path::new("ws"), "expected an absolute path");
    check(&world.ws("missing"), "opening the workspace failed");
    check(&world.ws("a.txt"), "it is no folder");
}
