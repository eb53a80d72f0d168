//! Real boxes: ordinary work in them, what they leave behind, and what they cost.

use super::*;
use crate::executor::sandbox::order::NotTaken;
use crate::executor::sandbox::workspace::{Wall, run_inside};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

mod attempts;
mod hidden;
mod leftovers;
mod ordinary;
mod replaced;
mod standing;

/// A person's home with a workspace in it, and what an agent must not get at.
struct Place {
    rig: Rig,
    workspace: Workspace,
    /// Kept while attempts go on.
    _listeners: (TcpListener, UdpSocket, UnixListener, UnixListener),
    _shared: tempfile::NamedTempFile,
    _scratch: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let mut rig = Rig::with(Bench::within(beside_the_tests()));
        let scratch = tempfile::tempdir_in("/tmp").unwrap();
        fs::write(scratch.path().join("state"), "secret\n").unwrap();
        let top = fs::canonicalize(rig.bench.folder.path()).unwrap();
        let home = top.join("home");
        rig.grounds.home = home.clone();
        let write = |name: &str, text: &str| {
            let path = home.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        for name in
            [".ssh/id_ed25519", ".netrc", ".bash_history", ".docker/config.json", ".mozilla/logins.json"]
        {
            write(name, "secret\n");
        }
        for name in [".cargo/credentials.toml", ".cache/mozilla/pages", "other/notes", ".config/gh/hosts.yml"]
        {
            write(name, "secret\n");
        }
        symlink("dotfiles/aws", home.join(".aws")).unwrap();
        write("dotfiles/aws/credentials", "secret\n");
        write("outside/file", "plain\n");
        write(".cache/pkg/wheel", "clean\n");
        write(".npm/index", "clean\n");
        write(".cargo/bin/tool", "#!/bin/sh\necho tool\n");
        write(
            ".gitconfig",
            "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n",
        );
        fs::set_permissions(home.join(".cargo/bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        let work = fs::canonicalize(rig.bench.work()).unwrap();
        fs::write(work.join("main.c"), "int main(void) { return 0; }\n").unwrap();
        fs::write(work.join(".env"), "secret\n").unwrap();
        fs::write(work.join("key.pem"), "-----BEGIN PRIVATE KEY-----\nsecret\n").unwrap();
        fs::write(work.join("cert.pem"), "-----BEGIN CERTIFICATE-----\npublic\n").unwrap();
        fs::create_dir_all(work.join(".vscode")).unwrap();
        fs::write(work.join(".vscode/tasks.json"), "{}\n").unwrap();
        fs::create_dir_all(work.join("vendor/lib")).unwrap();
        let text = "git init -q . && git add main.c && git commit -qm one && git init -q vendor/lib";
        outside(&work, &home, "sh", &["-c", text]);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let name = format!("countersign-box-{}", uuid::Uuid::new_v4().simple());
        let abstracted = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let socket = scratch.path().join("bus");
        let named = UnixListener::bind(&socket).unwrap();
        let caches = top.join("state/caches");
        let said = [
            ("HOME", home.display().to_string()),
            ("OUT", home.join("outside").display().to_string()),
            ("OTHER", home.join("other").display().to_string()),
            ("TOP", top.display().to_string()),
            ("SCRATCH", scratch.path().display().to_string()),
            ("PORT", tcp.local_addr().unwrap().port().to_string()),
            ("UDP", udp.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", name),
            ("SOCK", socket.display().to_string()),
            ("PID", std::process::id().to_string()),
            ("CACHES", caches.display().to_string()),
        ];
        for (name, value) in said {
            rig.env.insert(name.into(), value);
        }
        for space in ["ipc", "net", "pid", "mnt", "user", "uts"] {
            let outside = fs::read_link(format!("/proc/self/ns/{space}")).unwrap();
            rig.env.insert(format!("NS_{}", space.to_uppercase()), outside.display().to_string());
        }
        let shared = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let name = shared.path().file_name().unwrap().to_str().unwrap();
        rig.env.insert("SHM".into(), name.into());
        rig.env.insert("SSH_AUTH_SOCK".into(), socket.display().to_string());
        let workspace = Workspace {
            folder: work,
            scratch: Some(Scratch::new(&caches).unwrap()),
            caches,
            hidden: vec![home.join("other")],
            ..Workspace::default()
        };
        let _listeners = (tcp, udp, abstracted, named);
        Self { rig, workspace, _listeners, _shared: shared, _scratch: scratch }
    }

    fn without(walls: &[Wall]) -> Self {
        let mut place = Self::new();
        place.workspace.without = walls.to_vec();
        place
    }

    /// With a way out, as the app makes it: a program of ours is the first in the box, and puts up
    /// its second wall.
    fn with_gate(mut self) -> Self {
        let socket = self.rig.env.get("SOCK").unwrap().into();
        self.workspace.way_out = Some(WayOut { socket, keys: None });
        self
    }

    fn work(&self) -> &Path {
        &self.workspace.folder
    }

    fn home(&self) -> &Path {
        &self.rig.grounds.home
    }

    async fn start(&self, command: ApprovedCommand, controls: Controls) -> Result<ExecPayload, NotStarted> {
        let Rig { env, grounds, .. } = &self.rig;
        let ready = CancellationToken::new();
        ready.cancel();
        let ran = run_inside(&command, env, &self.workspace, grounds, controls, &ready, None).await;
        ran.map(|output| output.payload)
    }

    /// A box that stands ready, if one can.
    async fn ready(&self) -> Option<Standing> {
        Standing::make(&self.workspace, &self.rig.grounds).await.unwrap()
    }

    /// Runs the text of a shell in a box that stood ready.
    async fn order(&self, standing: Standing, text: &str) -> Result<ExecPayload, NotTaken> {
        let command = self.rig.bench.approve(&owned(&["sh", "-c", text]));
        let (ready, controls) = (CancellationToken::new(), Controls::from(self.rig.bench.cancel.clone()));
        ready.cancel();
        let Rig { env, grounds, .. } = &self.rig;
        assert!(standing.fits(&command, &self.workspace, &controls));
        let ran = standing.run(&command, env, &self.workspace, grounds, controls, &ready).await?;
        Ok(ran.unwrap().payload)
    }

    /// Runs the text of a shell in the box: in one that stood ready, where there is one and nothing changed
    /// on this machine since, else in a new one, as the host does.
    async fn shell(&self, text: &str) -> ExecPayload {
        if let Some(standing) = self.ready().await {
            match self.order(standing, text).await {
                Err(NotTaken::Outdated) => {}
                ran => return ran.unwrap(),
            }
        }
        let command = self.rig.bench.approve(&owned(&["sh", "-c", text]));
        self.start(command, Controls::from(self.rig.bench.cancel.clone())).await.unwrap()
    }

    /// Runs it, and expects that it prints this.
    async fn check(&self, text: &str, printed: &str) {
        let payload = self.shell(text).await;
        assert_eq!((payload.exit_code, payload.stdout.as_str()), (Some(0), printed), "{text}: {payload:?}");
    }

    /// Everything that no boxed run may change, by its path: what it is, and what is in it.
    fn kept(&self) -> BTreeMap<PathBuf, String> {
        let mut kept = BTreeMap::new();
        see(self.home(), &mut kept);
        for name in
            [".vscode", ".idea", ".claude", ".envrc", ".mcp.json", ".husky", ".env", ".GIT", ".Vscode"]
        {
            see(&self.work().join(name), &mut kept);
        }
        for repository in [".git", "vendor/lib/.git"] {
            for name in ["config", "config.worktree", "hooks", "info", "commondir", "modules"] {
                see(&self.work().join(repository).join(name), &mut kept);
            }
        }
        kept
    }
}

fn see(path: &Path, kept: &mut BTreeMap<PathBuf, String>) {
    let Ok(found) = path.symlink_metadata() else { return };
    let content = match found.file_type() {
        kind if kind.is_symlink() => format!("-> {}", fs::read_link(path).unwrap().display()),
        kind if kind.is_dir() => String::new(),
        kind if kind.is_file() => fs::read_to_string(path).unwrap_or_default(),
        _ => "special".into(),
    };
    kept.insert(path.to_owned(), format!("{:o} {content}", found.permissions().mode()));
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            see(&entry.path(), kept);
        }
    }
}

fn git(folder: &Path, home: &Path, arguments: &[&str]) {
    outside(folder, home, "git", arguments);
}

#[expect(clippy::disallowed_methods, reason = "a test makes a repository")]
fn outside(folder: &Path, home: &Path, program: &str, arguments: &[&str]) {
    let ran = std::process::Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
