//! What a sandbox shows of this machine, as bubblewrap's arguments.

use super::super::{Network, seccomp};
use rustix::fs::{MemfdFlags, SeekFrom};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Component, Path, PathBuf};

/// Arguments, and the open files that they name by number.
#[derive(Debug)]
pub(super) struct Walls {
    list: Vec<OsString>,
    handed: Vec<OwnedFd>,
}

/// How a program gets the name by which it was called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Named {
    /// Exactly as typed; bubblewrap has an option for it.
    AsTyped,
    /// As the end of the path by which it is started.
    ByPath,
}

impl Walls {
    /// Everything but the run's own folder and programs. `env` tells the user's name.
    pub(super) fn new(network: Network, home: &Path, env: &BTreeMap<String, String>) -> io::Result<Self> {
        let mut walls = Self { list: Vec::new(), handed: Vec::new() };
        walls.words(ALONE);
        if network == Network::None {
            walls.words(&["--unshare-net"]);
        }
        let filter = seccomp::filter(network);
        if !filter.is_empty() {
            let filter = walls.hand(written("seccomp", &filter)?);
            walls.words(&["--seccomp", &filter]);
        }
        walls.system();
        walls.settings(network, home, env)?;
        // Nothing of /proc is to be written: to the kernel, root in a sandbox owns what root outside owns.
        walls.words(&["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]);
        walls.scratch("/dev/shm", "1777");
        walls.words(&["--remount-ro", "/dev"]);
        for (folder, mode) in [("/tmp", "1777"), ("/var/tmp", "1777"), ("/run", "755")] {
            walls.scratch(folder, mode);
        }
        if let Some(home) = home.to_str().filter(|name| *name != "/" && !is_system(home)) {
            walls.scratch(home, "700");
        }
        Ok(walls)
    }

    /// The run's own folder at its path, from where it was opened.
    pub(super) fn folder(&mut self, path: &Path, folder: OwnedFd) {
        self.bind("--bind-fd", path, folder);
    }

    /// A file at its path, from where it was opened, not to be written.
    pub(super) fn file(&mut self, path: &Path, file: OwnedFd) {
        self.bind("--ro-bind-fd", path, file);
    }

    /// The path that starts `program`, which is `file`, so that it knows itself by the name `typed`.
    pub(super) fn program(
        &mut self,
        program: &Path,
        typed: &str,
        named: Named,
        file: &OwnedFd,
    ) -> io::Result<PathBuf> {
        if named == Named::AsTyped {
            self.words(&["--argv0", typed]);
            return Ok(program.to_owned());
        }
        let name = Path::new(typed).file_name().unwrap_or_default();
        // A script hears only its path, whatever it was called by.
        if program.file_name() == Some(name) || name.is_empty() || is_script(program) {
            return Ok(program.to_owned());
        }
        // Programs that are many, such as busybox, and shells look at what they are called.
        let path = Path::new(CALLED).join(name);
        self.file(&path, file.try_clone()?);
        Ok(path)
    }

    /// Nothing more is added to what it shows.
    pub(super) fn close(&mut self) {
        self.words(&["--remount-ro", "/"]);
    }

    /// Where the command starts.
    pub(super) fn start_in(&mut self, folder: &Path) {
        self.list.extend(["--chdir".into(), folder.into()]);
    }

    /// Who hears of the run.
    pub(super) fn report_to(&mut self, writer: OwnedFd) {
        let writer = self.hand(writer);
        self.words(&["--json-status-fd", &writer]);
    }

    /// Arguments, and what is handed over under the numbers from [`FIRST_HANDED`] on.
    pub(super) fn into_parts(self) -> (Vec<OsString>, Vec<OwnedFd>) {
        (self.list, self.handed)
    }

    /// Programs and libraries, to read.
    fn system(&mut self) {
        for folder in SYSTEM {
            let path = Path::new(folder);
            let Ok(found) = path.symlink_metadata() else { continue };
            if !found.is_symlink() {
                self.words(&["--ro-bind", folder, folder]);
            } else if let Ok(target) = std::fs::read_link(path) {
                self.list.extend(["--symlink".into(), target.into(), folder.into()]);
            }
        }
    }

    /// The part of `/etc` without which programs do not start or do not know who and where they are.
    fn settings(&mut self, network: Network, home: &Path, env: &BTreeMap<String, String>) -> io::Result<()> {
        let networked: &[&str] = match network {
            Network::None => &[],
            Network::Shared => NETWORK_SETTINGS,
        };
        for path in SETTINGS.iter().chain(networked) {
            self.words(&["--ro-bind-try", path, path]);
        }
        let (users, groups) = names(home, env);
        self.text("/etc/passwd", &users)?;
        self.text("/etc/group", &groups)?;
        if network == Network::None {
            self.text("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")?;
        }
        Ok(())
    }

    fn text(&mut self, path: &str, text: &str) -> io::Result<()> {
        let file = self.hand(written("text", text.as_bytes())?);
        self.words(&["--ro-bind-data", &file, path]);
        Ok(())
    }

    /// A folder of the sandbox's own, gone with it.
    fn scratch(&mut self, folder: &str, mode: &str) {
        self.words(&["--perms", mode, "--size", SCRATCH_BYTES, "--tmpfs", folder]);
    }

    fn bind(&mut self, how: &str, path: &Path, file: OwnedFd) {
        let file = self.hand(file);
        self.list.extend([how.into(), file.into(), path.into()]);
    }

    fn hand(&mut self, file: OwnedFd) -> String {
        let number = FIRST_HANDED as usize + self.handed.len();
        self.handed.push(file);
        number.to_string()
    }

    fn words(&mut self, words: &[&str]) {
        self.list.extend(words.iter().map(OsString::from));
    }
}

/// Whether a path is the system's or in `folder`, so that the sandbox shows it anyway.
pub(super) fn is_shown(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) || is_system(path)
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// An absolute path without `.` and `..`, as far as that can be told without a look.
pub(super) fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// Lines of `/etc/passwd` and `/etc/group`: this user, root and nobody. Other users' names are not told.
fn names(home: &Path, env: &BTreeMap<String, String>) -> (String, String) {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let plain = |name: &&String| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let name = env.get("USER").or(env.get("LOGNAME")).filter(plain).map_or("user", String::as_str);
    let home = home.to_str().filter(|home| !home.contains([':', '\n'])).unwrap_or("/");
    let mut users = String::new();
    let mut groups = String::new();
    for (known, number) in [("root", 0), ("nobody", NOBODY)] {
        if user != number {
            users.push_str(&format!("{known}:x:{number}:{number}::/:/usr/sbin/nologin\n"));
        }
        if group != number {
            let known = if number == NOBODY { "nogroup" } else { known };
            groups.push_str(&format!("{known}:x:{number}:\n"));
        }
    }
    let name = if user == 0 { "root" } else { name };
    users.push_str(&format!("{name}:x:{user}:{group}::{home}:/bin/sh\n"));
    groups.push_str(&format!("{name}:x:{group}:\n"));
    (users, groups)
}

/// Whether the kernel would start another program for it.
fn is_script(program: &Path) -> bool {
    let mut start = [0; 2];
    let read = File::open(program).and_then(|mut file| io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start == *b"#!"
}

/// A file in memory with this content, to be read from its beginning.
fn written(name: &str, content: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?;
    let mut file = File::from(file);
    file.write_all(content)?;
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}

/// Name spaces, rights and ties of every sandbox. A session of its own has no terminal to type into.
const ALONE: &[&str] = &[
    "--unshare-user",
    "--disable-userns",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup",
    "--hostname",
    "sandbox",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
];

/// Programs and libraries.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Public settings that programs read. Private keys lie beside some of the certificates, so folders are named to the last.
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
];

/// With the network only.
const NETWORK_SETTINGS: &[&str] = &["/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf"];

/// Where a program lies under the name by which it was called.
const CALLED: &str = "/run/countersign";

/// Most that a run may keep in each of its scratch folders, in bytes: they are in memory.
const SCRATCH_BYTES: &str = "1073741824";

/// Number of whoever is nobody, as everywhere on Linux.
const NOBODY: u32 = 65_534;

/// The first descriptor that is not standard input, output or error.
pub(super) const AFTER_STANDARD: RawFd = 3;

/// The first number under which something is handed over.
pub(super) const FIRST_HANDED: RawFd = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// What starts a program, and the end of the arguments for it.
    fn check(program: &str, typed: &str, named: Named, path: &str, arguments: &[&str]) {
        let mut walls = Walls { list: Vec::new(), handed: Vec::new() };
        let file = written("program", b"").unwrap();
        let started = walls.program(Path::new(program), typed, named, &file).unwrap();
        assert_eq!(started, Path::new(path), "{program} {typed} {named:?}");
        assert_eq!(walls.list, arguments, "{program} {typed} {named:?}");
    }

    #[test]
    fn a_program_gets_the_name_that_was_typed() {
        let dash = "/usr/bin/dash";
        check(dash, "./sh", Named::AsTyped, dash, &["--argv0", "./sh"]);
        check(
            dash,
            "sh",
            Named::ByPath,
            "/run/countersign/sh",
            &["--ro-bind-fd", "3", "/run/countersign/sh"],
        );
        check(dash, "/bin/dash", Named::ByPath, dash, &[]);
        check(dash, "..", Named::ByPath, dash, &[]);
    }

    #[test]
    fn a_path_is_made_plain_without_a_look() {
        for (path, plain) in [("/a/./b/../c", "/a/c"), ("/../a", "/a"), ("/a/b", "/a/b"), ("/", "/")] {
            assert_eq!(plain_path(Path::new(path)), Path::new(plain), "{path}");
        }
    }

    #[test]
    fn users_are_named_plainly_whatever_the_environment_says() {
        let env = BTreeMap::from([("USER".to_owned(), "a:0:0\nroot2".to_owned())]);
        let (users, groups) = names(Path::new("/home/a:b"), &env);
        assert!(!users.contains("root2") && !groups.contains("root2"), "{users}{groups}");
        assert!(users.lines().all(|line| line.split(':').count() == 7), "{users}");
    }
}
