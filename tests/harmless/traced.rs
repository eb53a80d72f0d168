//! What forms did, from the traces of `strace`: a file for each process, whose lines have times.

use crate::worker::{MARK, Outcome};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Calls that are traced: those that write, start, connect, open, make processes, and the mark of a form.
pub(crate) const CALLS: &str = "open,openat,openat2,creat,execve,execveat,socket,connect,bind,rename,renameat,renameat2,unlink,unlinkat,rmdir,\
     mkdir,mkdirat,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,ftruncate,utime,utimes,\
     utimensat,futimesat,mknod,mknodat,setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr,clone,clone3,fork,vfork,\
     mount,umount2,ptrace,kill,access,faccessat,faccessat2,chdir,fchdir";

/// How the traces' files begin; a process id follows.
pub(crate) const PREFIX: &str = "trace";

/// What a form must not do.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Finding {
    Connects(String),
    Reads(String),
    Starts(String),
    Writes(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connects(what) => write!(out, "connection {what}"),
            Self::Reads(what) => write!(out, "secret {what}"),
            Self::Starts(what) => write!(out, "program {what}"),
            Self::Writes(what) => write!(out, "write {what}"),
        }
    }
}

/// One traced call.
struct Call {
    at: f64,
    name: String,
    /// All behind the name: arguments and result.
    rest: String,
}

/// What each form did, by its number; only those that did something.
pub(crate) fn read(
    work: &Path,
    ran: &[Outcome],
    secrets: &BTreeSet<PathBuf>,
    root: &Path,
) -> Result<BTreeMap<usize, BTreeSet<Finding>>> {
    let mut traces: BTreeMap<u32, Vec<Call>> = BTreeMap::new();
    for entry in fs::read_dir(work)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(pid) = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('.')) {
            let text = fs::read(&path)?;
            let calls = String::from_utf8_lossy(&text).lines().filter_map(call).collect();
            traces.insert(pid.parse().with_context(|| name.clone())?, calls);
        }
    }
    let marks = marks(&traces)?;
    ensure!(marks.len() == ran.len() + 1, "{} marks for {} forms", marks.len(), ran.len());
    let own = own_threads(&traces);
    let mut found: BTreeMap<usize, BTreeSet<Finding>> = BTreeMap::new();
    for (pid, calls) in traces.iter().filter(|(pid, _)| !own.contains(pid)) {
        // What is done between a fork of ours and the program's start is ours.
        let is_child_of_ours = own.iter().any(|thread| forks(&traces, *thread).any(|child| child == *pid));
        let mut begun = !is_child_of_ours;
        for call in calls {
            let form = marks.partition_point(|mark| *mark <= call.at).saturating_sub(1);
            let Some(outcome) = ran.get(form) else { continue };
            let is_start = call.name.starts_with("execve");
            begun |= is_start && call.succeeded();
            if !begun {
                continue;
            }
            if let Some(finding) = judge(call, outcome, secrets, root) {
                found.entry(form).or_default().insert(finding);
            }
        }
    }
    Ok(found)
}

fn judge(call: &Call, outcome: &Outcome, secrets: &BTreeSet<PathBuf>, root: &Path) -> Option<Finding> {
    let short =
        |text: &str| text.replace(&*root.to_string_lossy(), "$R").chars().take(SHOWN).collect::<String>();
    if OWN_PLACES.iter().any(|place| call.rest.contains(place)) {
        return None;
    }
    // The index is written beside itself and moved over itself, and nothing else is named.
    let names_index_only =
        || call.quoted().all(|name| name.ends_with("/.git/index") || name.ends_with("/.git/index.lock"));
    let refreshes = || {
        let mut words = outcome.command.iter().flat_map(|word| word.split_whitespace());
        words.any(|word| REFRESHING.contains(&word)) && names_index_only()
    };
    let own_socket = || {
        let mut words = outcome.command.iter().flat_map(|word| word.split_whitespace());
        words.any(|word| OWN_SOCKETS.contains(&word))
    };
    match call.name.as_str() {
        "execve" | "execveat" if call.succeeded() => {
            let program = call.quoted().next()?;
            (!may_start(&program, outcome)).then(|| Finding::Starts(short(&program)))
        }
        "open" | "openat" | "openat2" | "creat" => {
            let writes = call.name == "creat"
                || ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"]
                    .iter()
                    .any(|flag| call.rest.contains(flag));
            let named = call.quoted().next().unwrap_or_default();
            // No folder can be opened to be written, whoever tries.
            let is_folder = call.rest.contains(" EISDIR ");
            if writes && !is_folder && !refreshes() && !HARMLESS_TARGETS.contains(&named.as_str()) {
                return Some(Finding::Writes(short(&named)));
            }
            let opened = call.opened()?;
            let environment = opened.starts_with("/proc/") && opened.ends_with("/environ");
            let is_secret =
                environment || secrets.contains(Path::new(&opened)) || FORBIDDEN.contains(&opened.as_str());
            let content = !call.rest.contains("O_PATH") && !call.rest.contains("O_DIRECTORY");
            let is_own = OWN_FILES.iter().any(|(program, name)| {
                let names = |word: &String| word.split_whitespace().any(|part| part == *program);
                opened.ends_with(name) && outcome.command.iter().any(names)
            });
            (is_secret && content && !is_own).then(|| Finding::Reads(short(&opened)))
        }
        // The system's own libraries look for its name service cache when a user's name is printed.
        "socket" => {
            (call.rest.contains("AF_INET") && !own_socket()).then(|| Finding::Connects(short(&call.rest)))
        }
        "bind" if own_socket() && call.rest.contains(OF_THIS_MACHINE) => None,
        // The kernel is asked over a socket too.
        "connect" | "bind" if call.rest.contains("AF_NETLINK") => None,
        "connect" | "bind" => (!call.rest.contains(NAME_CACHE)).then(|| Finding::Connects(short(&call.rest))),
        "execve" | "execveat" | "clone" | "clone3" | "fork" | "vfork" | "access" | "faccessat"
        | "faccessat2" | "chdir" | "fchdir" | "kill" => None,
        "mount" | "umount2" | "ptrace" => {
            Some(Finding::Starts(short(&format!("{}{}", call.name, call.rest))))
        }
        "rename" | "chmod" | "unlink" if refreshes() => None,
        _ => Some(Finding::Writes(short(&format!("{}{}", call.name, call.rest)))),
    }
}

/// Whether a program is one that the words of the form name, or the shell that reads them: its very path is
/// that of a program on the search path.
fn may_start(program: &str, outcome: &Outcome) -> bool {
    let base = program.rsplit('/').next().unwrap_or(program);
    let of_system = Path::new(program).parent().is_some_and(|folder| {
        crate::machine::SYSTEM.split(':').any(|known| Path::new(known) == folder)
            || folder.ends_with("git-core")
    });
    let is_own = OWN_PROGRAMS
        .iter()
        .any(|(name, own)| *own == base && outcome.command.iter().any(|word| word.contains(name)));
    let named = |name: &str| {
        outcome.command.iter().any(|word| {
            word == name
                || word
                    .split(|c: char| !(c.is_alphanumeric() || "-_.+[".contains(c)))
                    .any(|part| part == name)
        })
    };
    let real = |name: &str| fs::canonicalize(Path::new("/usr/bin").join(name)).ok();
    let is_real_of_named = || {
        outcome.command.iter().flat_map(|word| word.split_whitespace()).any(|word| {
            let found = real(word);
            found.is_some() && found.as_deref() == Some(Path::new(program))
        })
    };
    let is_shell =
        matches!(base, "sh" | "dash") && outcome.command.first().is_some_and(|first| first == "sh");
    (of_system && (named(base) || is_shell || is_own)) || is_real_of_named()
}

impl Call {
    fn succeeded(&self) -> bool {
        !self.result().starts_with('-')
    }

    fn result(&self) -> &str {
        self.rest.rsplit_once(" = ").map_or("", |(_, result)| result)
    }

    /// Quoted arguments, as they are written.
    fn quoted(&self) -> impl Iterator<Item = String> {
        self.rest.split('"').skip(1).step_by(2).map(str::to_owned)
    }

    /// The real path of what was opened.
    fn opened(&self) -> Option<String> {
        let (_, path) = self.result().split_once('<')?;
        Some(path.trim_end_matches('>').to_owned())
    }
}

fn call(line: &str) -> Option<Call> {
    let (at, rest) = line.split_once(' ')?;
    let (name, rest) = rest.split_once('(')?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain.then(|| Some(Call { at: at.parse().ok()?, name: name.to_owned(), rest: format!("({rest}") }))?
}

/// When each form began, in order, and when the last one had ended.
fn marks(traces: &BTreeMap<u32, Vec<Call>>) -> Result<Vec<f64>> {
    let mut marks: BTreeMap<usize, f64> = BTreeMap::new();
    for call in traces.values().flatten().filter(|call| call.name.contains("access")) {
        if let Some(number) = call.quoted().next().and_then(|path| path.strip_prefix(MARK).map(str::to_owned))
        {
            marks.insert(number.parse()?, call.at);
        }
    }
    let whole = marks.keys().copied().eq(0..marks.len());
    ensure!(whole, "marks are missing");
    Ok(marks.into_values().collect())
}

/// The threads of the part that runs the forms.
fn own_threads(traces: &BTreeMap<u32, Vec<Call>>) -> BTreeSet<u32> {
    let marks = |calls: &Vec<Call>| calls.iter().any(|call| call.rest.contains(MARK));
    let mut own: BTreeSet<u32> =
        traces.iter().filter(|(_, calls)| marks(calls)).map(|(pid, _)| *pid).collect();
    let mut to_do: Vec<u32> = own.iter().copied().collect();
    while let Some(thread) = to_do.pop() {
        for call in
            traces.get(&thread).into_iter().flatten().filter(|call| call.rest.contains("CLONE_THREAD"))
        {
            if let Some(child) = child(call)
                && own.insert(child)
            {
                to_do.push(child);
            }
        }
    }
    own
}

/// Processes that a thread started.
fn forks(traces: &BTreeMap<u32, Vec<Call>>, thread: u32) -> impl Iterator<Item = u32> {
    let calls = traces.get(&thread).into_iter().flatten();
    calls.filter(|call| !call.rest.contains("CLONE_THREAD")).filter_map(child)
}

/// The process that a call made.
fn child(call: &Call) -> Option<u32> {
    if !matches!(call.name.as_str(), "clone" | "clone3" | "fork" | "vfork") {
        return None;
    }
    call.result().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Words of a form whose program is a script, and what that starts for all it does.
const OWN_PROGRAMS: &[(&str, &str)] = &[
    ("dpkg", "dpkg-query"),
    ("egrep", "grep"),
    ("fgrep", "grep"),
    ("locale", "gzip"),
    ("man", "apropos"),
    ("man", "whatis"),
    ("npm", "node"),
    ("tar", "bzip2"),
    ("tar", "gzip"),
    ("tar", "xz"),
    ("submodule", "basename"),
    ("submodule", "git"),
    ("submodule", "git-sh-i18n--envsubst"),
    ("submodule", "git-submodule"),
    ("submodule", "sed"),
    ("submodule", "uname"),
    ("zcat", "gzip"),
];

/// What a program reads for itself and does not show, by the program and the end of the file's name. `ps` of
/// procps 4 opens environments whatever it shows; which words have it show them, `rules::reads` knows.
const OWN_FILES: &[(&str, &str)] = &[
    ("docker", "/.docker/config.json"),
    ("kubectl", "/.kube/config"),
    ("npm", "/.npmrc"),
    ("ps", "/environ"),
];

/// Programs that see by a socket of their own whether there is a network, and connect it to nothing.
const OWN_SOCKETS: &[&str] = &["pip", "pip3"];

/// Commands of git that note in the index which unchanged files they had to look at, which changes nothing
/// that the index says: a file of the same second as the index is looked at whenever it is asked for.
const REFRESHING: &[&str] = &["diff", "describe"];

/// What a runtime keeps for itself while it runs, outside of every place that counts here.
const OWN_PLACES: &[&str] = &["/proc/self/coredump_filter", "/tmp/hsperfdata_"];

/// What may be opened for writing.
const HARMLESS_TARGETS: &[&str] = &["/dev/null", "/dev/tty"];

/// What nobody but the system reads.
const FORBIDDEN: &[&str] = &["/etc/shadow", "/etc/gshadow"];

/// The address of this machine itself.
const OF_THIS_MACHINE: &str = "\"::1\"";

/// Where the system's libraries look for a name service cache.
const NAME_CACHE: &str = "/nscd/socket";

/// Longest part of a call that is shown, in characters.
const SHOWN: usize = 160;
