//! Work that needs no question goes on as outside.

use super::*;
use crate::testing::wait_for_file;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn what_agents_do_all_day_works() {
    let place = Place::new();
    let work = place.work().display().to_string();
    let home = place.home().display();
    place.check("pwd; echo $HOME; echo $PATH", &format!("{work}\n{home}\n/usr/bin:/bin\n")).await;
    place.check("cc -o main main.c && ./main && echo built", "built\n").await;
    place
        .check("seq 3 | sort -r | tr '\\n' ' '; echo x > /dev/null; head -c 2 /dev/zero | wc -c", "3 2 1 2\n")
        .await;
    place
        .check("t=$(mktemp) && echo a > $t && cat $t && echo $TMPDIR && df /dev/shm > /dev/null", "a\n/tmp\n")
        .await;
    place.check("mkdir -p a/b && mv a c && ln -s c d && ln main.c e && rm -r c d e && echo ok", "ok\n").await;
    place.check("sed -i 's/0/1/' main.c && cat main.c", "int main(void) { return 1; }\n").await;
    let seen = "~/.cargo/bin/tool; cat ~/outside/file; head -1 cert.pem";
    place.check(seen, "tool\nplain\n-----BEGIN CERTIFICATE-----\n").await;
    place.check("nproc > /dev/null && test -r /etc/passwd && test -r /usr/bin/env && echo ok", "ok\n").await;
    let written = fs::read_to_string(place.work().join("main.c")).unwrap();
    assert_eq!(written, "int main(void) { return 1; }\n");
    again_as_nobody("boxed::ordinary::what_agents_do_all_day_works");
}

#[tokio::test]
async fn git_works_but_for_its_settings() {
    let place = Place::new();
    place
        .check("git status --short | sort", "?? .env\n?? .vscode/\n?? cert.pem\n?? key.pem\n?? vendor/\n")
        .await;
    let text = "echo b > b && git add b && git commit --quiet -m two && git checkout --quiet -b topic && \
                git stash list && git log --format=%s && git gc --quiet && git diff --stat main";
    place.check(text, "two\none\n").await;
    place.check("git tag v1 && git rev-parse --abbrev-ref v1", "v1\n").await;
    assert!(!place.shell("git config core.pager evil").await.success);
    git(place.work(), place.home(), &["fsck", "--strict"]);
    again_as_nobody("boxed::ordinary::git_works_but_for_its_settings");
}

#[tokio::test]
async fn a_further_work_tree_brings_its_repository_in() {
    let place = Place::new();
    let top = fs::canonicalize(place.rig.bench.folder.path()).unwrap();
    let main = top.join("main");
    fs::rename(place.work(), &main).unwrap();
    // The run's own folder is the further work tree.
    let tree = place.work().to_str().unwrap();
    git(&main, place.home(), &["worktree", "add", "--quiet", "-b", "tree", tree]);
    let text = "echo c > c && git add c && git commit --quiet -m tree && git log -1 --format=%s";
    place.check(text, "tree\n").await;
    assert!(!place.shell("git config core.pager evil").await.success);
    for name in ["config", "hooks/pre-commit", "worktrees/work/commondir", "worktrees/work/gitdir"] {
        let payload = place.shell(&format!("echo evil > $TOP/main/.git/{name}")).await;
        assert_eq!(payload.exit_code, Some(2), "{name}: {payload:?}");
    }
    for name in ["commondir", "worktrees/work/config.worktree"] {
        let payload = place.shell(&format!("echo evil > $TOP/main/.git/{name}; sleep 60")).await;
        assert!(payload.error.unwrap().contains("was made"));
        assert!(!main.join(".git").join(name).exists(), "{name}");
    }
    again_as_nobody("boxed::ordinary::a_further_work_tree_brings_its_repository_in");
}

#[tokio::test]
async fn servers_inside_are_reached_from_inside() {
    let place = Place::new();
    let text = "python3 -c '
import socket, threading
for family, host in ((socket.AF_INET, \"127.0.0.1\"), (socket.AF_INET6, \"::1\")):
    server = socket.create_server((host, 0), family=family)
    threading.Thread(target=lambda: server.accept()[0].sendall(b\"hi\")).start()
    print(socket.create_connection(server.getsockname()[:2]).recv(2).decode())
'";
    place.check(text, "hi\nhi\n").await;
}

#[tokio::test]
async fn it_gets_a_terminal_and_controls_like_any_run() {
    let place = Place::new();
    let text = "test -t 0 && test -t 1 && echo yes; stty size";
    let command = place.rig.bench.approve(&owned(&["sh", "-c", text]));
    let controls = Controls { terminal: Some(Typing::Nobody), ..Controls::default() };
    let payload = place.start(command, controls).await.unwrap();
    assert_eq!((payload.exit_code, payload.stdout.as_str()), (Some(0), "yes\r\n30 120\r\n"), "{payload:?}");
    assert_eq!(place.shell("kill -9 $$").await.exit_code, Some(128 + 9));
    again_as_nobody("boxed::ordinary::it_gets_a_terminal_and_controls_like_any_run");
}

#[tokio::test]
async fn caches_are_seen_and_changed_for_this_workspace_only() {
    let mut place = Place::new();
    place.check("cat ~/.cache/pkg/wheel ~/.npm/index", "clean\nclean\n").await;
    let text =
        "echo mine > ~/.cache/pkg/wheel && rm ~/.npm/index && echo new > ~/.npm/new && mkdir -p ~/go/pkg/mod";
    place.check(text, "").await;
    place.check("cat ~/.cache/pkg/wheel; ls ~/.npm; ls ~/go/pkg", "mine\nnew\nmod\n").await;
    assert_eq!(fs::read_to_string(place.home().join(".cache/pkg/wheel")).unwrap(), "clean\n");
    assert!(!place.home().join(".npm/new").exists() && !place.home().join("go").exists());
    place.workspace.caches = place.rig.bench.folder.path().join("state/others");
    place.check("cat ~/.cache/pkg/wheel", "clean\n").await;
    again_as_nobody("boxed::ordinary::caches_are_seen_and_changed_for_this_workspace_only");
}

#[tokio::test]
async fn a_cache_that_is_missing_beside_others_things_can_be_made() {
    let place = Place::new();
    fs::create_dir_all(place.home().join(".local/share/app")).unwrap();
    fs::write(place.home().join(".local/share/app/file"), "plain\n").unwrap();
    place
        .check(
            "mkdir -p ~/.local/share/uv/tools ~/.cargo/registry/index && cat ~/.local/share/app/file",
            "plain\n",
        )
        .await;
    place.check("ls ~/.local/share/uv/ ~/.cargo/registry/ | grep -v : | xargs", "index tools\n").await;
    place.check("touch ~/.local/share/new ~/.local/share/app/new 2>&1 | grep -c 'Read-only'", "2\n").await;
    assert!(!place.home().join(".local/share/uv").exists() && !place.home().join(".cargo/registry").exists());
    again_as_nobody("boxed::ordinary::a_cache_that_is_missing_beside_others_things_can_be_made");
}

#[tokio::test]
async fn two_runs_at_once_do_not_share_a_layer() {
    let place = Place::new();
    let text =
        "echo first > ~/.npm/first; touch ready; while [ ! -e go ]; do sleep .01; done; ls ~/.npm | xargs";
    let second = async {
        wait_for_file(&place.work().join("ready")).await;
        place.check("echo second > ~/.npm/second; touch go; ls ~/.npm | xargs", "first index second\n").await;
    };
    let (first, ()) = tokio::join!(place.shell(text), second);
    assert_eq!(first.stdout, "first index\n", "{first:?}");
    place.check("ls ~/.npm | xargs", "first index\n").await;
    let left = fs::read_dir(&place.workspace.caches).unwrap().flatten().map(|entry| entry.file_name());
    assert!(
        left.into_iter().all(|name| !name.to_string_lossy().starts_with("run-")),
        "a run's folder is left"
    );
    again_as_nobody("boxed::ordinary::two_runs_at_once_do_not_share_a_layer");
}

#[tokio::test]
async fn what_a_person_opened_is_open() {
    let mut place = Place::new();
    let home = place.home().to_owned();
    place.workspace.shown = vec![home.join(".docker"), place.work().join(".env")];
    place.workspace.writable = vec![home.join("outside"), home.join("not there")];
    let text = "cat ~/.docker/config.json .env; echo x > ~/outside/new; cat ~/outside/new";
    place.check(text, "secret\nsecret\nx\n").await;
    assert!(home.join("outside/new").exists());
    again_as_nobody("boxed::ordinary::what_a_person_opened_is_open");
}

#[tokio::test]
async fn the_way_out_is_a_socket_inside() {
    let mut place = Place::new().with_gate();
    let text = "python3 -c 'import socket
socket.socket(socket.AF_UNIX).connect(\"/run/countersign/gate.sock\")
print(\"open\")'";
    place.check(text, "open\n").await;
    place.workspace.way_out = Some(WayOut { socket: place.home().join("no socket"), keys: None });
    let command = place.rig.bench.approve(&owned(&["true"]));
    let refused = place.start(command, Controls::default()).await;
    assert!(matches!(refused, Err(NotStarted::Sandbox(Unavailable::Forbidden { .. }))), "{refused:?}");
    again_as_nobody("boxed::ordinary::the_way_out_is_a_socket_inside");
}

#[tokio::test]
async fn limits_are_those_of_the_run() {
    let mut place = Place::new();
    place.workspace.limits = Limits { processes: Some(64), memory: Some(1 << 29), time: None };
    place
        .check(
            "python3 -c 'import resource as r; print(r.getrlimit(r.RLIMIT_DATA))'",
            "(536870912, 536870912)\n",
        )
        .await;
    let payload = place.shell("python3 -c 'bytearray(1 << 30)'").await;
    assert!(payload.stderr.contains("MemoryError"), "{payload:?}");
    if !is_root() {
        let payload = place.shell("for i in $(seq 100); do sleep 60 & done; true").await;
        assert!(payload.stderr.contains("ork"), "{payload:?}");
    }
    place.workspace.limits.time = Some(Duration::from_millis(200));
    let payload = place.shell("sleep 60").await;
    assert!(payload.timed_out, "{payload:?}");
    again_as_nobody("boxed::ordinary::limits_are_those_of_the_run");
}

#[tokio::test]
async fn a_folder_that_is_no_workspace_is_refused() {
    async fn refused(place: &Place, command: ApprovedCommand) {
        let refused = place.start(command, Controls::default()).await;
        assert!(matches!(refused, Err(NotStarted::Sandbox(Unavailable::Folder { .. }))), "{refused:?}");
    }
    let mut place = Place::new();
    let command = || place.rig.bench.approve(&owned(&["true"]));
    let commands = (command(), command(), command());
    place.workspace.folder = place.home().to_owned();
    refused(&place, commands.0).await;
    place.workspace.folder = place.home().join("outside");
    refused(&place, commands.1).await;
    // One that was replaced by a link since.
    place.workspace.folder = fs::canonicalize(place.rig.bench.work()).unwrap();
    let moved = place.rig.bench.folder.path().join("moved");
    fs::rename(place.work(), &moved).unwrap();
    symlink(&moved, place.work()).unwrap();
    refused(&place, commands.2).await;
}
