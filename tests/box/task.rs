//! What a task is, and how it is written.
//!
//! ```text
//! # A comment, at the beginning of a line.
//! [name-of-task] One line for people.
//! needs: git npm                      programs, separated by spaces
//! groups: npm                         registries that it may reach, by the gate's name for them
//! reach: this-machine 127.0.0.1:5432  another destination that it may reach, and where that lies
//! denied: *.example.org               hosts that its programs want by themselves, and must do without
//! setup:
//!     what a shell does in the folder before, outside of the box
//! run:
//!     what `sh -c` gets in the box
//! says: words that the run has to print, on a line of their own or in one
//! check:
//!     what a shell has to find in the folder afterwards, outside of the box
//! ```
//!
//! The shells end at the first command that fails. `$BESIDE` is a folder of the task's own outside of the
//! one that is open.

use countersign_gate::{Destination, groups};
use countersign_protocol::rules::NetPlace;
use std::collections::BTreeSet;
use thiserror::Error;

/// Something that agents do every day.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Task {
    /// What it is about: the file's name.
    pub(crate) kind: &'static str,
    /// Its name, and that of its folder.
    pub(crate) name: String,
    /// One line for people.
    pub(crate) about: String,
    /// Programs without which it cannot be tried.
    pub(crate) needs: Vec<String>,
    /// Groups of registries that it may reach.
    pub(crate) groups: Vec<String>,
    /// Whatever else it may reach.
    pub(crate) reaches: Vec<Reach>,
    /// Hosts that are refused to whatever asks for them.
    pub(crate) denied: Vec<String>,
    /// What happens before, outside.
    pub(crate) setup: String,
    /// The command's text.
    pub(crate) run: String,
    /// What it has to print.
    pub(crate) says: Vec<String>,
    /// What has to hold afterwards, outside.
    pub(crate) check: String,
}

/// A destination that a task may reach.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Reach {
    /// Where it lies.
    pub(crate) place: NetPlace,
    /// Host and port.
    pub(crate) destination: Destination,
}

/// A file of tasks that cannot be read.
#[derive(Debug, Eq, Error, PartialEq)]
#[error("tasks/{file}.txt, line {line}: {what}")]
pub(crate) struct Unreadable {
    file: &'static str,
    line: usize,
    what: Fault,
}

/// What is wrong with a line, or with the task that begins there.
#[derive(Debug, Eq, Error, PartialEq)]
pub(crate) enum Fault {
    #[error("a task begins with [name] and a line for people")]
    Header,
    #[error("a name is of small letters, digits and dashes")]
    Name,
    #[error("another task has this name")]
    Taken,
    #[error("this is before the first task")]
    BeforeTasks,
    #[error("expected needs:, groups:, reach:, denied:, setup:, run:, says: or check:")]
    Unknown,
    #[error("this was said before")]
    Again,
    #[error("expected something behind the colon, or lines with four spaces in front below it")]
    Empty,
    #[error("no group of registries is called {0}")]
    Group(String),
    #[error("expected this-machine, private or internet, and HOST:PORT")]
    Reach,
    #[error("the task runs nothing")]
    RunsNothing,
    #[error("the task shows nothing: it has neither says: nor check:")]
    ShowsNothing,
}

/// Every task, in the order of the files.
pub(crate) fn all() -> Result<Vec<Task>, Unreadable> {
    let mut tasks = Vec::new();
    let mut names = BTreeSet::new();
    for (kind, text) in FILES {
        read(kind, text, &mut names, &mut tasks)?;
    }
    Ok(tasks)
}

/// Reads a file behind those whose names were seen.
fn read(
    kind: &'static str,
    text: &str,
    names: &mut BTreeSet<String>,
    tasks: &mut Vec<Task>,
) -> Result<(), Unreadable> {
    let at = |line: usize, what: Fault| Unreadable { file: kind, line: line + 1, what };
    let lines: Vec<&str> = text.lines().collect();
    let mut begun: Option<(usize, Task)> = None;
    let mut line = 0;
    while let Some(now) = lines.get(line) {
        let from = line;
        line += 1;
        if now.trim().is_empty() || now.starts_with('#') {
            continue;
        }
        if let Some(header) = now.strip_prefix('[') {
            if let Some((from, task)) = begun.take() {
                tasks.push(whole(task).map_err(|what| at(from, what))?);
            }
            let task = titled(kind, header).map_err(|what| at(from, what))?;
            if !names.insert(task.name.clone()) {
                return Err(at(from, Fault::Taken));
            }
            begun = Some((from, task));
            continue;
        }
        let Some((_, task)) = &mut begun else { return Err(at(from, Fault::BeforeTasks)) };
        let Some((key, value)) = now.split_once(':') else { return Err(at(from, Fault::Unknown)) };
        let mut below = String::new();
        while let Some(next) = lines.get(line).filter(|next| next.is_empty() || next.starts_with(INDENT)) {
            below.push_str(next.strip_prefix(INDENT).unwrap_or_default());
            below.push('\n');
            line += 1;
        }
        said(task, key, value.trim(), below.trim_end()).map_err(|what| at(from, what))?;
    }
    if let Some((from, task)) = begun {
        tasks.push(whole(task).map_err(|what| at(from, what))?);
    }
    Ok(())
}

fn titled(kind: &'static str, header: &str) -> Result<Task, Fault> {
    let (name, about) = header.split_once(']').ok_or(Fault::Header)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Fault::Name);
    }
    if about.trim().is_empty() {
        return Err(Fault::Header);
    }
    Ok(Task { kind, name: name.to_owned(), about: about.trim().to_owned(), ..Task::default() })
}

/// Takes one line of a task, with the lines below it.
fn said(task: &mut Task, key: &str, value: &str, below: &str) -> Result<(), Fault> {
    let words = || value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (list, text) = match key {
        "needs" => (Some(&mut task.needs), None),
        "groups" => (Some(&mut task.groups), None),
        "denied" => (Some(&mut task.denied), None),
        "setup" => (None, Some(&mut task.setup)),
        "run" => (None, Some(&mut task.run)),
        "check" => (None, Some(&mut task.check)),
        "says" | "reach" => (None, None),
        _ => return Err(Fault::Unknown),
    };
    let is_text = text.is_some();
    if value.is_empty() != is_text || below.is_empty() == is_text {
        return Err(Fault::Empty);
    }
    if let Some(text) = text {
        if !text.is_empty() {
            return Err(Fault::Again);
        }
        below.clone_into(text);
    } else if let Some(list) = list {
        if !list.is_empty() {
            return Err(Fault::Again);
        }
        *list = words();
        let known = |id: &String| groups().iter().any(|group| group.id == id);
        if let Some(wrong) = task.groups.iter().find(|id| !known(id)) {
            return Err(Fault::Group(wrong.clone()));
        }
    } else if key == "says" {
        task.says.push(value.to_owned());
    } else {
        task.reaches.push(reach(value)?);
    }
    Ok(())
}

fn reach(value: &str) -> Result<Reach, Fault> {
    let (place, destination) = value.split_once(' ').ok_or(Fault::Reach)?;
    let place = match place {
        "this-machine" => NetPlace::ThisMachine,
        "private" => NetPlace::Private,
        "internet" => NetPlace::Internet,
        _ => return Err(Fault::Reach),
    };
    let destination = Destination::parse(destination.trim(), None).map_err(|_| Fault::Reach)?;
    Ok(Reach { place, destination })
}

fn whole(task: Task) -> Result<Task, Fault> {
    if task.run.is_empty() {
        return Err(Fault::RunsNothing);
    }
    if task.says.is_empty() && task.check.is_empty() {
        return Err(Fault::ShowsNothing);
    }
    Ok(task)
}

/// In front of the lines of a text.
const INDENT: &str = "    ";

/// What there is, by what it is about.
const FILES: &[(&str, &str)] = &[
    ("git", include_str!("tasks/git.txt")),
    ("node", include_str!("tasks/node.txt")),
    ("python", include_str!("tasks/python.txt")),
    ("rust", include_str!("tasks/rust.txt")),
    ("go", include_str!("tasks/go.txt")),
    ("build", include_str!("tasks/build.txt")),
    ("java", include_str!("tasks/java.txt")),
    ("data", include_str!("tasks/data.txt")),
    ("serve", include_str!("tasks/serve.txt")),
    ("browser", include_str!("tasks/browser.txt")),
    ("shell", include_str!("tasks/shell.txt")),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Vec<Task>, (usize, Fault)>) {
        let mut tasks = Vec::new();
        let found = read("file", text, &mut BTreeSet::new(), &mut tasks).map(|()| tasks);
        let expected = expected.map_err(|(line, what)| Unreadable { file: "file", line, what });
        assert_eq!(found, expected, "{text}");
    }

    fn task(name: &str) -> Task {
        Task {
            kind: "file",
            name: name.to_owned(),
            about: "It does.".to_owned(),
            run: "true".to_owned(),
            says: vec!["done".to_owned()],
            ..Task::default()
        }
    }

    #[test]
    fn a_task_is_read_with_everything_that_it_says() {
        check("# Nothing yet.\n\n", Ok(Vec::new()));
        check("[a] It does.\nrun:\n    true\nsays: done\n", Ok(vec![task("a")]));
        check(
            "[a] It does.\nrun:\n    true\nsays: done\n\n[b-2] It does.\nrun:\n    true\nsays: done\n",
            Ok(vec![task("a"), task("b-2")]),
        );
        let text = "[a] It does.\nneeds: git npm\ngroups: npm cargo\nreach: this-machine 127.0.0.1:5432\ndenied: a.example *.b.example\n\
                    setup:\n    one\n\n      two\n# Not in the text.\nrun:\n    true\nsays: done\nsays: a: b\n\
                    check:\n    test -f x\n";
        let destination = Destination::parse("127.0.0.1:5432", None).unwrap();
        let full = Task {
            needs: vec!["git".to_owned(), "npm".to_owned()],
            groups: vec!["npm".to_owned(), "cargo".to_owned()],
            reaches: vec![Reach { place: NetPlace::ThisMachine, destination }],
            denied: vec!["a.example".to_owned(), "*.b.example".to_owned()],
            setup: "one\n\n  two".to_owned(),
            says: vec!["done".to_owned(), "a: b".to_owned()],
            check: "test -f x".to_owned(),
            ..task("a")
        };
        check(text, Ok(vec![full]));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        for (text, line, what) in [
            ("run:\n    true\n", 1, Fault::BeforeTasks),
            ("[a]\nrun:\n    true\n", 1, Fault::Header),
            ("[a It does.\n", 1, Fault::Header),
            ("[A b] It does.\n", 1, Fault::Name),
            ("[../a] It does.\n", 1, Fault::Name),
            ("[] It does.\n", 1, Fault::Name),
            ("\n[a] It does.\nsays: done\n", 2, Fault::RunsNothing),
            ("[a] It does.\nrun:\n    true\n", 1, Fault::ShowsNothing),
            ("[a] It does.\nwhat: ever\n", 2, Fault::Unknown),
            ("[a] It does.\nwhatever\n", 2, Fault::Unknown),
            ("[a] It does.\nrun: true\n", 2, Fault::Empty),
            ("[a] It does.\nrun:\n", 2, Fault::Empty),
            ("[a] It does.\nneeds:\n    git\n", 2, Fault::Empty),
            ("[a] It does.\nneeds: git\n    npm\n", 2, Fault::Empty),
            ("[a] It does.\nneeds: git\nneeds: npm\n", 3, Fault::Again),
            ("[a] It does.\nrun:\n    true\nrun:\n    true\n", 4, Fault::Again),
            ("[a] It does.\ngroups: nobody\n", 2, Fault::Group("nobody".to_owned())),
            ("[a] It does.\nreach: 127.0.0.1:1\n", 2, Fault::Reach),
            ("[a] It does.\nreach: somewhere 127.0.0.1:1\n", 2, Fault::Reach),
            ("[a] It does.\nreach: internet example.org\n", 2, Fault::Reach),
            ("[a] It does.\nrun:\n    true\nsays: x\n[a] It does.\n", 5, Fault::Taken),
        ] {
            check(text, Err((line, what)));
        }
    }

    #[test]
    fn the_list_can_be_read_and_is_as_long_as_was_promised() {
        assert!(all().unwrap().len() >= 80);
    }
}
