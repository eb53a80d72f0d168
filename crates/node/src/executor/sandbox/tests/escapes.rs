//! What a program in a sandbox would do to get out. Each attempt works outside, where that can be shown: a
//! test that cannot fail tells nothing.

use super::*;
use pretty_assertions::assert_eq;
use rustix::io::FdFlags;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};

/// A file beside the folder, with something that must stay there.
fn secret(rig: &Rig) -> PathBuf {
    let outside = rig.bench.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    let path = outside.join("secret");
    fs::write(&path, "secret\n").unwrap();
    path
}

#[tokio::test]
async fn files_outside_of_the_folder_cannot_be_written() {
    let rig = Rig::new();
    let secret = secret(&rig);
    let folder = secret.parent().unwrap().display().to_string();
    rig.fails(&format!("echo x > {folder}/new")).await;
    rig.fails(&format!("echo x >> {folder}/secret")).await;
    // Its parent is there, and is not the one outside.
    assert!(rig.shell("echo x > ../beside").await.success);
    assert!(!rig.bench.folder.path().join("beside").exists());
    symlink(&folder, rig.bench.work().join("way")).unwrap();
    rig.fails("echo x > way/new").await;
    rig.fails(&format!("ln {folder}/secret stolen")).await;
    again_as_nobody("escapes::files_outside_of_the_folder_cannot_be_written");
}

#[tokio::test]
async fn the_system_cannot_be_written() {
    let rig = Rig::new();
    for folder in ["/usr", "/usr/bin", "/etc", "/", "/proc", "/dev", "/usr/lib", "/etc/ssl/certs"] {
        let text = format!("file=$(mktemp {folder}/countersign.XXXXXXXX) && rm $file");
        match folder {
            // Nobody can, not even outside.
            "/proc" => assert!(!rig.shell(&text).await.success, "{folder}"),
            _ if is_root() => rig.fails(&text).await,
            _ => assert!(!rig.shell(&text).await.success, "{folder}"),
        }
    }
    // The very program that runs.
    let program = rig.shell("test -w /usr/bin/dash || test -w /bin/sh || test -w /run/countersign/sh").await;
    assert!(!program.success);
    again_as_nobody("escapes::the_system_cannot_be_written");
}

#[tokio::test]
async fn files_outside_of_the_folder_cannot_be_read() {
    let rig = Rig::new();
    let secret = secret(&rig);
    rig.fails(&format!("cat {}", secret.display())).await;
    symlink(&secret, rig.bench.work().join("way")).unwrap();
    rig.fails("cat way").await;
    rig.fails("cat /etc/login.defs").await;
    let home = rig.grounds.home.join("private");
    fs::write(&home, "mine\n").unwrap();
    rig.fails(&format!("cat {}", home.display())).await;
    if is_root() {
        rig.fails("cat /etc/shadow").await;
    }
    again_as_nobody("escapes::files_outside_of_the_folder_cannot_be_read");
}

#[tokio::test]
async fn another_users_files_in_the_folder_stay_theirs_even_for_root() {
    if !is_root() {
        return;
    }
    let rig = Rig::new();
    let theirs = rig.bench.write("theirs", "theirs\n");
    chown(&theirs, Some(65_534), Some(65_534)).unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o600)).unwrap();
    rig.fails("cat theirs").await;
    rig.fails("echo x >> theirs").await;
    rig.fails("chown root theirs && chown nobody theirs").await;
}

#[tokio::test]
async fn proc_leads_nowhere() {
    let rig = Rig::new();
    let secret = secret(&rig).display().to_string();
    for way in ["root", "cwd/../..", "root/proc/1/root"] {
        let text = format!(
            "for process in /proc/[0-9]* /proc/self /proc/thread-self; do cat $process/{way}{secret} && exit; done; exit 1"
        );
        match way {
            "root" => rig.fails(&text).await,
            _ => assert!(!rig.shell(&text).await.success, "{way}"),
        }
    }
    // Only the sandbox's own processes are there.
    let me = std::process::id();
    rig.fails(&format!("test -d /proc/{me}")).await;
    let payload = rig.shell("tr '\\0' ' ' < /proc/1/cmdline; ls -d /proc/[0-9]* | wc -l").await;
    let (first, count) = payload.stdout.trim().rsplit_once(' ').unwrap_or_default();
    assert!(first.contains("bwrap"), "{payload:?}");
    assert!(count.trim().parse::<u32>().unwrap() <= 5, "{payload:?}");
    again_as_nobody("escapes::proc_leads_nowhere");
}

#[tokio::test]
async fn the_kernels_settings_cannot_be_changed() {
    let rig = Rig::new();
    let text = "find /proc -maxdepth 5 -path '/proc/[0-9]*' -prune -o -type f -writable -print 2>/dev/null | grep -m 1 .";
    match is_root() {
        true => rig.fails(text).await,
        false => assert!(!rig.shell(text).await.success),
    }
    rig.fails("echo 500 > /proc/self/oom_score_adj").await;
    assert!(!rig.shell("ls /sys/kernel").await.success);
    again_as_nobody("escapes::the_kernels_settings_cannot_be_changed");
}

/// Connects where it is told and says so.
const CONNECT: &str = "import socket, sys
kind, where = sys.argv[1:]
if kind == 'tcp':
    end = socket.create_connection(('127.0.0.1', int(where)), 5)
else:
    end = socket.socket(socket.AF_UNIX)
    end.connect('\\0' + where if kind == 'abstract' else where)
print('connected')";

/// Text that connects.
fn connect(rig: &Rig, kind: &str, to: &str) -> String {
    rig.bench.write("connect.py", CONNECT);
    format!("python3 connect.py {kind} {to}")
}

#[tokio::test]
async fn without_the_network_nobody_can_be_talked_to() {
    let rig = Rig::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    rig.fails(&connect(&rig, "tcp", &port)).await;
    let name = format!("countersign-{}-{port}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    rig.fails(&connect(&rig, "abstract", &name)).await;
    rig.fails("grep -q : /proc/net/unix").await;
    again_as_nobody("escapes::without_the_network_nobody_can_be_talked_to");
}

#[tokio::test]
async fn with_the_network_the_desktops_sockets_are_still_out_of_reach() {
    let rig = Rig::networked();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let payload = rig.shell(&connect(&rig, "tcp", &port)).await;
    assert_eq!(payload.stdout, "connected\n", "{payload:?}");
    let name = format!("countersign-n-{}-{port}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    rig.fails(&connect(&rig, "abstract", &name)).await;
    again_as_nobody("escapes::with_the_network_the_desktops_sockets_are_still_out_of_reach");
}

#[tokio::test]
async fn the_session_bus_and_our_own_sockets_are_out_of_reach() {
    for mut rig in [Rig::new(), Rig::networked()] {
        let state = rig.grounds.private.first().unwrap().clone();
        let runtime = rig.bench.folder.path().join("run");
        fs::create_dir(&runtime).unwrap();
        let openclaw = state.join("openclaw");
        fs::create_dir(&openclaw).unwrap();
        rig.env.insert("DBUS_SESSION_BUS_ADDRESS".into(), format!("unix:path={}/bus", runtime.display()));
        let sockets = [runtime.join("bus"), state.join("control.sock"), openclaw.join("exec-approvals.sock")];
        for socket in sockets {
            let _listener = UnixListener::bind(&socket).unwrap();
            rig.fails(&connect(&rig, "path", socket.to_str().unwrap())).await;
        }
        rig.fails("test -n \"$DBUS_SESSION_BUS_ADDRESS\"").await;
    }
    again_as_nobody("escapes::the_session_bus_and_our_own_sockets_are_out_of_reach");
}

/// Lets anybody of the same user look into it, says so, and waits for its end.
const TARGET: &str = "import ctypes, sys
ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1 & (2 ** 64 - 1)), 0, 0, 0)
print('ready', flush=True)
sys.stdin.read()";

/// Attaches to a process, or lets itself be attached to.
const TRACE: &str = "import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
request, pid = int(sys.argv[1]), int(sys.argv[2])
if c.ptrace(request, pid, None, None) != 0:
    sys.exit(1)
if request == 16:
    os.waitpid(pid, 0x40000000)
    c.ptrace(17, pid, None, None)";

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test starts a process to be attacked")]
async fn processes_outside_can_neither_be_traced_nor_signalled() {
    use std::io::{BufRead, BufReader};
    let rig = Rig::new();
    let mut target = std::process::Command::new("python3")
        .args(["-c", TARGET])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(target.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    rig.bench.write("trace.py", TRACE);
    let pid = target.id();
    rig.fails(&format!("python3 trace.py 16 {pid}")).await;
    rig.fails(&format!("kill -0 {pid}")).await;
    rig.fails(&format!("cat /proc/{pid}/environ > /dev/null")).await;
    // Not even its own.
    rig.fails("python3 trace.py 0 0").await;
    // To everybody that it can reach: the attacker is all that ends.
    rig.shell("kill -9 -1").await;
    assert!(target.try_wait().unwrap().is_none(), "it was killed");
    drop(target.stdin.take());
    target.wait().unwrap();
    again_as_nobody("escapes::processes_outside_can_neither_be_traced_nor_signalled");
}

#[tokio::test]
async fn nothing_gives_rights() {
    let rig = Rig::new();
    let bare = "grep -q '^CapEff:.*[1-9a-f]' /proc/self/status";
    match is_root() {
        true => rig.fails(bare).await,
        false => assert!(!rig.shell(bare).await.success),
    }
    assert!(!rig.shell("grep -q '^Cap[^:]*:.*[1-9a-f]' /proc/self/status").await.success);
    rig.fails("grep -q 'NoNewPrivs:.*0' /proc/self/status").await;
    rig.fails("unshare -r true").await;
    if is_root() {
        let tool = rig.bench.work().join("tool");
        fs::copy("/usr/bin/id", &tool).unwrap();
        chown(&tool, Some(65_534), Some(65_534)).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o6755)).unwrap();
        rig.fails("./tool -u | grep -q 65534").await;
    }
    again_as_nobody("escapes::nothing_gives_rights");
}

#[tokio::test]
async fn nothing_can_be_mounted() {
    let rig = Rig::new();
    rig.fails("unshare -rm mount -t tmpfs none .").await;
    rig.fails("unshare -rm mount --rbind / .").await;
    assert!(!rig.shell("mount -o remount,rw /usr").await.success);
    assert!(!rig.shell("umount .").await.success);
    assert!(!rig.shell("umount -l /proc").await.success);
    again_as_nobody("escapes::nothing_can_be_mounted");
}

#[tokio::test]
async fn devices_are_out_of_reach() {
    let rig = Rig::new();
    let known = [
        "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty",
        "urandom", "zero",
    ];
    assert_eq!(rig.shell("ls /dev").await.stdout.lines().collect::<Vec<_>>(), known);
    rig.fails(&format!("ls /dev | grep -qvxE '{}'", known.join("|"))).await;
    let text = "mknod disk b 8 0 && rm disk";
    match is_root() {
        true => rig.fails(text).await,
        false => assert!(!rig.shell(text).await.success),
    }
    again_as_nobody("escapes::devices_are_out_of_reach");
}

#[tokio::test]
async fn what_is_open_here_is_not_open_there() {
    let rig = Rig::new();
    let secret = secret(&rig);
    let folder = fs::File::open(secret.parent().unwrap()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
    let text = format!("cat /proc/self/fd/{number}/secret");
    // Every sandbox closes for all that start here, those of other tests too: so until it was open once.
    let mut tries = 0;
    while !{
        rustix::io::fcntl_setfd(&folder, FdFlags::empty()).unwrap();
        rig.outside(&text).await.success
    } {
        tries += 1;
        assert!(tries < 100, "it cannot leak at all");
    }
    rustix::io::fcntl_setfd(&folder, FdFlags::empty()).unwrap();
    assert!(!rig.shell(&text).await.success);
    let open = rig.run(&["ls", "/proc/self/fd"]).await.stdout;
    assert_eq!(open.lines().collect::<Vec<_>>(), ["0", "1", "2", "3"], "and the folder that is listed");
    again_as_nobody("escapes::what_is_open_here_is_not_open_there");
}
