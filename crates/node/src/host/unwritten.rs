//! What a command in a box could not write, told to its agent and to the person: the kernel says
//! it to nobody else.

use super::crossings::ASK_OUTSIDE;
use crate::executor::sandbox::{Grounds, Workspace, may_have};
use countersign_policy::display;
use countersign_protocol::history::UnwrittenView;
use countersign_protocol::rules::{PlaceAccess, WorkspacePlace};
use countersign_protocol::socket::ExecPayload;
use std::path::Path;

/// What a run in the box around `workspace` could not write: what is said to the agent at the end of the
/// output, and what the history says to the person. `None` where the output does not tell of anything, or
/// where the command went well and may only have printed it. Blocking for a moment.
pub(super) fn told(
    ran: &ExecPayload,
    workspace: &Workspace,
    grounds: &Grounds,
) -> Option<(String, UnwrittenView)> {
    let from_output = if ran.success { "" } else { &ran.stdout };
    let line = [ran.stderr.as_str(), from_output].into_iter().find_map(line)?;
    let shown = |path: &Path| display::escape(&path.to_string_lossy());
    let path = named(line);
    let what = path.map(|path| format!(" {}", shown(Path::new(path)))).unwrap_or_default();
    let all = std::iter::once(&workspace.folder).chain(&workspace.writable);
    let all: Vec<String> = all.map(|path| shown(path)).collect();
    let mut said = format!(
        "countersign: the box refused to write{what}: only {} can be written in it; {ASK_OUTSIDE}",
        all.join(" and ")
    );
    let place = path.and_then(|path| offered(Path::new(path), workspace, grounds));
    if let Some(place) = &place {
        let words = ["countersign", "box", "place", place.as_str(), "--write"].map(str::to_owned);
        let command = display::shell_quoted(&words);
        said.push_str(&format!(", or for that place from now on with `{command}`"));
    }
    let lapsed = path
        .and_then(|path| workspace.lapsed.iter().find(|problem| Path::new(path).starts_with(problem.path())));
    if let Some(problem) = lapsed {
        let why = display::escape(&problem.to_string());
        said.push_str(&format!("; the rule that opens the folder names it, which is not in force: {why}"));
    }
    said.push('\n');
    Some((said, UnwrittenView { path: path.map(display::escape), place }))
}

/// The line that says so.
fn line(text: &str) -> Option<&str> {
    text.lines().find(|line| READ_ONLY.iter().any(|words| line.contains(words)))
}

/// The path that it is about: most programs say it before the reason, and after their own name.
fn named(line: &str) -> Option<&str> {
    let at = READ_ONLY.iter().filter_map(|words| line.find(words)).min()?;
    let (before, after) = line.split_at(at);
    let word = |word: &&str| word.len() > 1 && word.starts_with('/');
    let bare = |text| str::split_whitespace(text).map(|word| word.trim_matches(AROUND));
    bare(before).rfind(word).or_else(|| bare(after).find(word))
}

/// What a person could open for writing instead: the place, or the nearest folder around it that is there.
/// None whose name has something in it that is not seen as it is.
fn offered(path: &Path, workspace: &Workspace, grounds: &Grounds) -> Option<String> {
    let there = path.ancestors().find(|path| path.exists())?;
    let place = WorkspacePlace { path: there.to_str()?.to_owned(), access: PlaceAccess::Write };
    let is_plain = display::escape(&place.path) == place.path;
    (is_plain && may_have(&place, &workspace.folder, grounds).is_ok()).then_some(place.path)
}

/// How programs say that a file system cannot be written, in C, Go, Node and Rust.
const READ_ONLY: &[&str] = &["Read-only file system", "read-only file system", "EROFS"];

/// What stands around a path in what programs say.
const AROUND: &[char] = &['\'', '"', '`', '‘', '’', ':', ',', '(', ')'];

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_path_is_found_in_what_programs_say() {
        for (said, expected) in [
            ("bash: line 1: /etc/x: Read-only file system", Some("/etc/x")),
            ("/usr/bin/bash: line 1: /etc/x: Read-only file system", Some("/etc/x")),
            ("sh: 1: cannot create /etc/x: Read-only file system", Some("/etc/x")),
            ("touch: cannot touch '/etc/x': Read-only file system", Some("/etc/x")),
            ("mkdir: cannot create directory ‘/a/b’: Read-only file system", Some("/a/b")),
            ("Error: EROFS: read-only file system, open '/etc/x'", Some("/etc/x")),
            ("open /etc/x: read-only file system", Some("/etc/x")),
            ("OSError: [Errno 30] Read-only file system: '/etc/x'", Some("/etc/x")),
            ("bash: ../x: Read-only file system", None),
            ("Error: Read-only file system (os error 30)", None),
            ("fine / Read-only file system", None),
        ] {
            assert_eq!(named(line(&format!("one\n{said}\n")).unwrap()), expected, "{said}");
        }
        assert_eq!(line("all is well\n"), None);
    }

    #[test]
    fn a_place_that_may_be_written_is_offered_and_another_is_not() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let home = std::fs::canonicalize(folder.path()).unwrap();
        for name in ["src", "notes", "b\u{202e}r", ".config/foo", ".ssh"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        let grounds = Grounds { openclaw: home.join(".openclaw"), home: home.clone(), ..Grounds::default() };
        let workspace = Workspace::around(home.join("src"));
        let escaped = |path: &Path| display::escape(path.to_str().unwrap());
        let check = |path: &str, success: bool, expected: Option<&str>| {
            let stderr =
                format!("touch: cannot touch '{}': Read-only file system\n", home.join(path).display());
            let ran = ExecPayload { success, stderr, ..ExecPayload::default() };
            let (said, view) = told(&ran, &workspace, &grounds).unwrap();
            let refused = format!(
                "refused to write {}: only {} can",
                escaped(&home.join(path)),
                home.join("src").display()
            );
            assert!(said.contains(&refused) && said.contains("--outside") && said.ends_with('\n'), "{said}");
            let place = expected.map(|place| format!("box place {} --write`", home.join(place).display()));
            assert_eq!(said.contains("box place"), place.is_some(), "{said}");
            assert!(place.is_none_or(|place| said.contains(&place)), "{said}");
            let place = expected.map(|place| home.join(place).to_str().unwrap().to_owned());
            assert_eq!(view, UnwrittenView { path: Some(escaped(&home.join(path))), place });
        };
        check("notes/new", false, Some("notes"));
        check("notes", true, Some("notes"));
        check("notes/\u{202e}new", false, Some("notes"));
        check("b\u{202e}r/new", false, None);
        check(".config/foo/new", false, None);
        check(".ssh/config", false, None);
        check(".bashrc", false, None);
        let stored = WorkspacePlace {
            path: home.join(".config/foo").to_str().unwrap().to_owned(),
            access: PlaceAccess::Write,
        };
        let mut older = workspace.clone();
        older.lapsed.push(may_have(&stored, &workspace.folder, &grounds).unwrap_err());
        let stderr = format!("touch: cannot touch '{}/new': Read-only file system\n", stored.path);
        let (said, _) = told(&ExecPayload { stderr, ..ExecPayload::default() }, &older, &grounds).unwrap();
        assert!(said.contains("names it, which is not in force: a box cannot write"), "{said}");
        let printed =
            ExecPayload { success: true, stdout: "Read-only file system\n".into(), ..ExecPayload::default() };
        assert!(told(&printed, &workspace, &grounds).is_none());
        let pathless =
            ExecPayload { stderr: "sh: ../x: Read-only file system\n".into(), ..ExecPayload::default() };
        let (said, view) = told(&pathless, &workspace, &grounds).unwrap();
        assert!(said.contains("the box refused to write: only") && !said.contains("box place"), "{said}");
        assert_eq!(view, UnwrittenView { path: None, place: None });
    }
}
