//! Probing real files, and noticing what became of them.

use super::*;
use countersign_commands::analysis::analyze_argv;
use countersign_policy::facts::FileIdentity;
use pretty_assertions::assert_eq;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder with a search path, a home and a working directory in it.
struct Site {
    folder: TempDir,
    path: OsString,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bin", "late", "home", "work", "work/bin"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let path = std::env::join_paths([folder.path().join("bin"), folder.path().join("late")]).unwrap();
        Self { folder, path }
    }

    fn at(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(name)
    }

    fn file(&self, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn gather(&self, argv: &[&str]) -> Facts {
        let argv: Vec<String> = argv.iter().map(|argument| (*argument).to_owned()).collect();
        let (cwd, home) = (self.at("work"), self.at("home"));
        gather(&argv, &analyze_argv(&argv), Places { path: &self.path, cwd: &cwd, home: &home })
    }

    fn found(&self, name: &str) -> Option<PathBuf> {
        self.gather(&[name]).programs.remove(name).unwrap().path
    }

    fn script(&self, argv: &[&str]) -> Option<usize> {
        self.gather(argv).script.map(|script| script.index)
    }
}

#[test]
fn the_first_executable_regular_file_on_the_path_is_the_program() {
    let site = Site::new();
    fs::create_dir(site.at("bin/tool")).unwrap();
    site.file("late/tool", "", 0o755);
    site.file("bin/plain", "", 0o644);
    site.file("late/plain", "", 0o755);
    assert_eq!(site.found("tool"), Some(site.at("late/tool")));
    assert_eq!(site.found("plain"), Some(site.at("late/plain")));
    for missing in ["missing", "", "a\0b", " tool", "tool "] {
        assert_eq!(site.found(missing), None, "{missing:?}");
    }
}

#[test]
fn a_search_path_that_leads_into_the_work_is_noticed() {
    let mut site = Site::new();
    let strays = |site: &Site| site.gather(&["true"]).reached.strays;
    assert!(!strays(&site));
    let inside = site.at("work/bin").display().to_string();
    for path in ["node_modules/.bin:/usr/bin", "/usr/bin:", "/usr/bin:.", &format!("/usr/bin:{inside}")] {
        site.path = path.into();
        assert!(strays(&site), "{path}");
    }
    symlink(site.at("work/bin"), site.at("late/link")).unwrap();
    site.path = site.at("late/link").into();
    assert!(strays(&site), "a link that leads there");
}

#[test]
fn empty_and_relative_search_folders_start_at_the_working_directory() {
    let mut site = Site::new();
    site.file("work/here", "", 0o755);
    site.file("work/bin/below", "", 0o755);
    assert_eq!((site.found("here"), site.found("below")), (None, None));
    site.path = ":bin".into();
    assert_eq!(site.found("here"), Some(site.at("work/here")));
    assert_eq!(site.found("below"), Some(site.at("work/bin/below")));
}

#[test]
fn names_with_a_slash_or_a_tilde_are_paths() {
    let site = Site::new();
    site.file("work/bin/tool", "", 0o755);
    site.file("home/mine", "", 0o755);
    site.file("work/a\\b", "", 0o755);
    site.file("bin/~other", "", 0o755);
    assert_eq!(site.found("bin/tool"), Some(site.at("work/bin/tool")));
    assert_eq!(site.found("./bin/tool"), Some(site.at("work/./bin/tool")));
    assert_eq!(site.found("a\\b"), Some(site.at("work/a\\b")));
    assert_eq!(site.found("~/mine"), Some(site.at("home/mine")));
    assert_eq!(site.found("~other"), Some(site.at("bin/~other")));
    for missing in ["~", "~other/mine", "bin", "bin/", "/nowhere/tool"] {
        assert_eq!(site.found(missing), None, "{missing}");
    }
}

#[test]
fn a_program_is_known_by_its_real_file() {
    let site = Site::new();
    let real = site.file("late/real", "x", 0o755);
    symlink(&real, site.at("bin/tool")).unwrap();
    let program = site.gather(&["tool"]).programs.remove("tool").unwrap();
    assert_eq!((program.path, program.real_path), (Some(site.at("bin/tool")), Some(real.clone())));
    let (identity, stat) = (program.identity.unwrap(), fs::metadata(&real).unwrap());
    assert_eq!((identity.dev, identity.ino, identity.size), (stat.dev(), stat.ino(), 1));
    assert_eq!(identity.mtime_ns, i128::from(stat.mtime()) * 1_000_000_000 + i128::from(stat.mtime_nsec()));
}

#[test]
fn what_this_user_could_rewrite_is_hashed() {
    let site = Site::new();
    site.file("bin/open", "abc", 0o777);
    let program = site.gather(&["open"]).programs.remove("open").unwrap();
    assert!(program.writable);
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let digest: String =
        program.identity.unwrap().sha256.unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, expected);

    let system = site.gather(&["/bin/true"]).programs.remove("/bin/true").unwrap();
    assert_eq!((system.writable, system.identity.unwrap().sha256), (false, None));
}

#[test]
fn a_program_in_a_folder_that_others_can_write_could_be_replaced() {
    let site = Site::new();
    site.file("bin/tool", "", 0o555);
    fs::set_permissions(site.at("bin"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(site.gather(&["tool"]).programs["tool"].writable);
}

#[test]
fn only_a_folder_that_can_be_entered_is_a_working_directory() {
    let site = Site::new();
    symlink(site.at("work"), site.at("link")).unwrap();
    site.file("plain", "", 0o755);
    let probed = |cwd: &Path| {
        let places = Places { path: &site.path, cwd, home: Path::new("/") };
        gather(&[], &analyze_argv(&[]), places).cwd
    };
    let folder = probed(&site.at("link")).unwrap();
    assert_eq!((folder.given, folder.real_path), (site.at("link"), site.at("work")));
    assert_eq!(folder.ino, fs::metadata(site.at("work")).unwrap().ino());
    for bad in [site.at("missing"), site.at("plain"), PathBuf::from("work"), PathBuf::new()] {
        assert_eq!(probed(&bad), None, "{}", bad.display());
    }
}

#[test]
fn the_first_argument_that_is_no_option_is_the_script() {
    let site = Site::new();
    site.file("work/task", "one\ntwo", 0o644);
    for (argv, index) in [
        (&["python3", "task", "task"][..], Some(1)),
        (&["/usr/bin/python3.11", "-u", "-B", "task"], Some(3)),
        (&["bash", "-eu", "--", "task"], Some(3)),
        (&["sh", "+e", "task"], Some(2)),
        (&["node", "--no-warnings", "task"], Some(2)),
        (&["deno", "run", "--allow-net", "task"], Some(3)),
        (&["bun", "task"], Some(1)),
        (&["perl", "-w", "task"], Some(2)),
        (&["sh", "-c", "task"], None),
        (&["bash", "-lc", "task"], None),
        (&["sh", "-s", "task"], None),
        (&["python3", "-m", "task"], None),
        (&["python3", "-Bc", "pass", "task"], None),
        (&["node", "--eval=1", "task"], None),
        (&["perl", "-ne", "print", "task"], None),
        (&["python3", "missing", "task"], None),
        (&["python3", "-", "task"], None),
        (&["python3", "bin"], None),
        (&["python3"], None),
        (&["cat", "task"], None),
        (&["pythonic", "task"], None),
    ] {
        assert_eq!(site.script(argv), index, "{argv:?}");
    }
}

#[test]
fn a_script_is_shown_from_its_beginning_and_hashed_to_its_end() {
    let site = Site::new();
    let facts = |content: &str| {
        site.file("work/task", content, 0o644);
        site.gather(&["sh", "task"]).script.unwrap()
    };
    let short = facts("one\ntwo");
    assert_eq!((short.head.as_str(), short.complete, short.lines), ("one\ntwo", true, 2));
    assert_eq!((facts("").lines, facts("a\n").lines), (0, 1));
    let beginning = "# 4567 abcdef\n".repeat(2_000);
    let (one, other) = (facts(&format!("{beginning}true\n")), facts(&format!("{beginning}evil\n")));
    assert_eq!((one.head.len(), one.complete, one.lines), (16_384, false, 2_001));
    assert_eq!(one.head, other.head);
    assert!(one.identity.sha256.is_some() && one.identity.sha256 != other.identity.sha256);
}

#[test]
fn a_fifo_is_no_script_and_does_not_hang() {
    let site = Site::new();
    rustix::fs::mknodat(CWD, site.at("work/task"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert_eq!(site.script(&["sh", "task"]), None);
}

#[test]
fn t14_a_change_that_leaves_no_trace_in_the_times_is_noticed_by_content() {
    let site = Site::new();
    let path = site.file("work/task", "shown", 0o644);
    let shown = identity::identify(&path, Content::Hashed).unwrap();
    fs::write(&path, "other").unwrap();
    let found = identity::identify(&path, Content::Hashed).unwrap();
    let mut same_times = shown.clone();
    same_times.sha256 = found.sha256;
    let text = identity::difference(&shown, &same_times).unwrap();
    assert!(text.starts_with("sha256: expected ") && !text.contains(';'), "{text}");
    assert_eq!(identity::difference(&shown, &shown), None);
}

#[test]
fn every_part_of_an_identity_counts() {
    let shown = FileIdentity {
        dev: 1,
        ino: 2,
        size: 3,
        mtime_ns: 4,
        ctime_ns: 5,
        mode: 0o100_755,
        sha256: Some([6; 32]),
    };
    for (found, start) in [
        (FileIdentity { dev: 9, ..shown.clone() }, "inode: expected 2 on device 1, found 2 on device 9"),
        (FileIdentity { ino: 9, ..shown.clone() }, "inode: expected 2 on device 1, found 9 on device 1"),
        (FileIdentity { size: 9, ..shown.clone() }, "size: expected 3 bytes, found 9 bytes"),
        (FileIdentity { mtime_ns: 9, ..shown.clone() }, "content changed: expected 0.000000004 s, found "),
        (FileIdentity { ctime_ns: 9, ..shown.clone() }, "inode changed: expected 0.000000005 s, found "),
        (
            FileIdentity { mode: 0o104_755, ..shown.clone() },
            "type and permissions: expected 100755, found 104755",
        ),
        (FileIdentity { sha256: None, ..shown.clone() }, "sha256: expected 0606"),
    ] {
        let text = identity::difference(&shown, &found).unwrap_or_default();
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn all_that_one_command_names_is_hashed_as_far_as_one_file_may_be_long() {
    let mut room = Room::default();
    let most = identity::HASH_BYTES;
    assert!(room.take(most + 1), "what is too long for a digest takes no room");
    assert!(room.take(most - 10) && room.take(10) && room.take(0));
    assert!(!room.take(1) && room.take(0));
}
