//! Which program of the box opened a connection: the socket's number from the kernel, its owner from the open
//! files of processes, and the owner's parents. What cannot be seen, or is too much to look
//! through, is not said.

use crate::diag::{Asked, SOCK_DIAG_BY_FAMILY, Which};
use crate::said::CHAIN;
use std::fs;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Open files that are looked at, a microsecond each: a connection is not made to wait for a name.
const FILES: usize = 1024;

/// Looks for the programs of one box. Remembers the last one: most programs that connect do so several times.
#[derive(Default)]
pub(crate) struct Who(Mutex<Option<Seen>>);

/// A program that was seen.
#[derive(Clone)]
struct Seen {
    process: u32,
    /// What the kernel told of it then: its name, its parent and when it began, so that a number that is used
    /// again, and a program that became another, are not taken for it.
    mark: Mark,
    chain: Vec<String>,
}

impl Who {
    /// Names from the first program of the box to the one whose socket is bound to `client` and
    /// connected to `gate`.
    pub(crate) fn opened(&self, client: SocketAddr, gate: SocketAddr) -> Option<Vec<String>> {
        let socket = format!("socket:[{}]", socket(client, gate)?);
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let process = owner(&socket, last.as_ref().map(|seen| seen.process))?;
        let mark = mark(process)?;
        if let Some(seen) = last
            && (seen.process, &seen.mark) == (process, &mark)
        {
            return Some(seen.chain);
        }
        let chain = chain(process);
        let seen = Seen { process, mark, chain: chain.clone() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
        Some(chain)
    }
}

/// Whether nobody has the socket at `client` any more that is connected to `gate`. A program that only has
/// said all still has it. False too where the kernel may not be asked.
pub(crate) fn is_left_by_all(client: SocketAddr, gate: SocketAddr) -> bool {
    // The gate's own end shows whether it may be asked.
    asked(gate, client).is_some() && asked(client, gate).is_none()
}

/// The process that has `socket` open: the last one, or else young ones first, since most connections are
/// made by what was just started.
fn owner(socket: &str, last: Option<u32>) -> Option<u32> {
    let own = std::process::id();
    let is_it = |(_, file): &(u32, PathBuf)| is_link_to(file, socket);
    let open = |id| open_files(id).map(move |file| (id, file));
    if let Some((id, _)) = last.into_iter().flat_map(open).take(FILES).find(is_it) {
        return Some(id);
    }
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut ids: Vec<u32> = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.retain(|id| *id != own && Some(*id) != last);
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids.into_iter().flat_map(open).take(FILES).find(is_it).map(|(id, _)| id)
}

/// The number of the socket at `client`'s end. The kernel is asked for this one; where that is not allowed,
/// its table is read, which holds every connection of the last minute.
fn socket(client: SocketAddr, gate: SocketAddr) -> Option<u64> {
    asked(client, gate).or_else(|| {
        let path = if client.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
        let mut table = String::new();
        fs::File::open(path).ok()?.take(TABLE).read_to_string(&mut table).ok()?;
        inode(&table, &hex(client), &hex(gate))
    })
}

/// Bytes of the kernel's table that are read: 150 a connection, a few microseconds each.
const TABLE: u64 = 64 * 1024;

/// The kernel's answer about one socket: a `nlmsghdr` and an `inet_diag_msg`.
fn asked(client: SocketAddr, gate: SocketAddr) -> Option<u64> {
    const ANSWER: usize = 88;
    let mut room = [0; 512];
    let kernel = Asked::about(Which::One(client, gate))?;
    let answer = kernel.next(&mut room)?;
    let is_socket = answer.get(4..6)? == SOCK_DIAG_BY_FAMILY.to_ne_bytes();
    let number = u32::from_ne_bytes(answer.get(ANSWER - 4..ANSWER)?.try_into().ok()?);
    (is_socket && number != 0).then_some(number.into())
}

/// The socket's number in a table of the kernel: `sl local_address rem_address st queues timer retransmits
/// uid timeout inode`.
fn inode(table: &str, local: &str, remote: &str) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        if fields.next() != Some(local) || fields.next() != Some(remote) {
            return None;
        }
        // A socket that was closed has none.
        fields.nth(6)?.parse().ok().filter(|number| *number != 0)
    })
}

/// An address as the kernel's tables write it: words in the machine's order.
fn hex(address: SocketAddr) -> String {
    let port = address.port();
    match address.ip() {
        IpAddr::V4(address) => format!("{:08X}:{port:04X}", u32::from_ne_bytes(address.octets())),
        IpAddr::V6(address) => {
            let octets = address.octets();
            let (words, _) = octets.as_chunks::<4>();
            let words: String =
                words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect();
            format!("{words}:{port:04X}")
        }
    }
}

/// The open files of a process, if they may be seen.
fn open_files(process: u32) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten();
    files.filter_map(|file| Some(file.ok()?.path()))
}

fn is_link_to(file: &Path, socket: &str) -> bool {
    fs::read_link(file).is_ok_and(|to| to.as_os_str().as_bytes() == socket.as_bytes())
}

/// The names of `process` and its parents, the oldest first. The first process of the box is its
/// frame and not named.
fn chain(mut process: u32) -> Vec<String> {
    let mut names = Vec::new();
    while process > 1 && names.len() < CHAIN {
        let Some((name, parent)) = status(process) else { break };
        names.push(name);
        process = parent;
    }
    names.reverse();
    names
}

/// A process's name and its parent's id.
fn status(process: u32) -> Option<(String, u32)> {
    let status = told(process, "stat").ok()?;
    let status = String::from_utf8_lossy(&status);
    let (comm, parent) = parsed(&status)?;
    let line = told(process, "cmdline").unwrap_or_default();
    let called = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let called = Path::new(std::ffi::OsStr::from_bytes(called)).file_name().unwrap_or_default();
    Some((name(comm, &called.to_string_lossy()), parent))
}

/// The beginning of what the kernel tells of a process, read at once: reading to the end begins with 32
/// bytes and asks often.
fn told(process: u32, what: &str) -> io::Result<Vec<u8>> {
    let mut told = vec![0; TOLD];
    let length = fs::File::open(format!("/proc/{process}/{what}"))?.read(&mut told)?;
    told.truncate(length);
    Ok(told)
}

/// Bytes of it. A status has 400; of a command line only the program's name is wanted.
const TOLD: usize = 4096;

/// What tells a program from what was or will be under its number.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Mark {
    comm: String,
    parent: u32,
    /// In ticks of the kernel since it started.
    began: u64,
}

fn mark(process: u32) -> Option<Mark> {
    let status = told(process, "stat").ok()?;
    let status = String::from_utf8_lossy(&status);
    let (comm, parent) = parsed(&status)?;
    // The 22nd field, and the 20th behind the name.
    let began = status.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some(Mark { comm: comm.to_owned(), parent, began })
}

/// The name and the parent in `PID (NAME) STATE PARENT …`. The name can have brackets itself.
fn parsed(status: &str) -> Option<(&str, u32)> {
    let (front, back) = status.rsplit_once(')')?;
    let (_, comm) = front.split_once('(')?;
    Some((comm, back.split_ascii_whitespace().nth(1)?.parse().ok()?))
}

/// One name of two: threads and interpreters call themselves otherwise than they were called, and the
/// kernel cuts names.
fn name(comm: &str, called: &str) -> String {
    if called.is_empty() || called == comm {
        comm.to_owned()
    } else if called.starts_with(comm) {
        called.to_owned()
    } else {
        format!("{comm} ({called})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn tables_of_the_kernel_are_read() {
        const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0\n\
            \x20  1: 0100007F:C001 0100007F:0016 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0\n\
            \x20  2: 0100007F:C002 0100007F:0016 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0\n";
        for (local, remote, expected) in [
            ("0100007F:C001", "0100007F:0016", Some(12)),
            ("0100007F:0016", "0100007F:C001", None),
            ("0100007F:C002", "0100007F:0016", None),
        ] {
            assert_eq!(inode(TABLE, local, remote), expected, "{local}");
        }
        assert_eq!(inode("", "a", "b"), None);
    }

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        assert_eq!(parsed("12 (a) b (c)) S 7 12 0"), Some(("a) b (c)", 7)));
        assert_eq!(parsed("12 (cargo) S"), None);
        for (comm, called, expected) in [
            ("cargo", "cargo", "cargo"),
            ("git-remote-http", "git-remote-https", "git-remote-https"),
            ("node", "npm install", "node (npm install)"),
            ("kthread", "", "kthread"),
        ] {
            assert_eq!(name(comm, called), expected);
        }
    }

    #[test]
    fn the_socket_of_a_connection_is_found_for_ipv4_and_ipv6() {
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)] {
            let Ok(listener) = TcpListener::bind((address, 0)) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let ends = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            let found = asked(ends.0, ends.1).expect("the kernel tells");
            assert_ne!(asked(ends.1, ends.0), Some(found));
            let name = format!("socket:[{found}]");
            assert!(open_files(std::process::id()).any(|file| is_link_to(&file, &name)), "{address}");
        }
    }

    #[test]
    fn a_program_that_is_remembered_is_known_by_more_than_its_number() {
        let own = mark(std::process::id()).unwrap();
        assert_eq!(own, mark(std::process::id()).unwrap());
        // The first process of this machine began earlier.
        assert!(own.began > mark(1).unwrap().began, "{own:?}");
    }

    #[test]
    fn a_chain_ends_with_the_program_itself() {
        let chain = chain(std::process::id());
        let own = std::env::current_exe().unwrap();
        let own = own.file_name().unwrap().to_string_lossy();
        assert!(chain.last().unwrap().contains(&*own), "{chain:?}");
    }
}
