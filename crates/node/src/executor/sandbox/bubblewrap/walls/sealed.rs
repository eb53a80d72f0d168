//! The walls of a sealed sandbox: its folder, the system to read, and nothing else.

use super::super::super::Network;
use super::{ALONE, Walls};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

impl Walls {
    /// Everything but the run's own folder and programs. `env` tells the user's name.
    pub(in super::super) fn sealed(
        network: Network,
        home: &Path,
        env: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let mut walls = Self::none();
        walls.words(ALONE);
        if network == Network::None {
            walls.words(&["--unshare-net"]);
        }
        walls.filter(network)?;
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
}

/// Whether a path is the system's or in `folder`, so that the sandbox shows it anyway.
pub(in super::super) fn is_shown(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) || is_system(path)
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
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

/// Programs and libraries.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Public settings that programs read. Private keys lie beside some of the certificates, so folders are
/// named to the last.
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

/// Number of whoever is nobody, as everywhere on Linux.
const NOBODY: u32 = 65_534;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_named_plainly_whatever_the_environment_says() {
        let env = BTreeMap::from([("USER".to_owned(), "a:0:0\nroot2".to_owned())]);
        let (users, groups) = names(Path::new("/home/a:b"), &env);
        assert!(!users.contains("root2") && !groups.contains("root2"), "{users}{groups}");
        assert!(users.lines().all(|line| line.split(':').count() == 7), "{users}");
    }
}
