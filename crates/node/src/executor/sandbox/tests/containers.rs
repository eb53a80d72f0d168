//! What Docker and Podman are told. A script stands in for them: it writes down what it was called with and
//! runs the command.

use super::super::container::{Container, arguments};
use super::*;
use crate::testing::{LIMIT, limit_after, wait_for_file, wait_until_gone};
use pretty_assertions::assert_eq;

/// Records each call, and runs what stands after the image.
const PROGRAM: &str = "#!/bin/sh
folder=${0%/*}
printf '%s\\n' \"$@\" > \"$folder/$1.tmp\"
mv \"$folder/$1.tmp\" \"$folder/$1\"
case $1 in
kill) kill -9 \"$(cat \"$folder/container\")\"; exit ;;
esac
while [ \"$1\" != debian:12 ]; do
    [ \"$1\" = --workdir ] && cd \"$2\"
    shift
done
shift
# As the service's, so no child of the client's group.
setsid \"$@\" &
echo $! > \"$folder/container\"
wait $!
";

struct Fake {
    rig: Rig,
    folder: PathBuf,
}

impl Fake {
    fn new(name: &str) -> Self {
        let mut rig = Rig::new();
        let folder = rig.bench.folder.path().join("program");
        fs::create_dir(&folder).unwrap();
        let program = rig.bench.program(name, PROGRAM);
        fs::rename(&program, folder.join(name)).unwrap();
        let backend = Backend::Container { program: folder.join(name), image: "debian:12".into() };
        rig.sandbox = Sandbox { backend, network: false };
        Self { rig, folder }
    }

    /// The arguments of a call.
    fn called(&self, what: &str) -> Vec<String> {
        fs::read_to_string(self.folder.join(what)).unwrap().lines().map(str::to_owned).collect()
    }

    fn name(&self) -> String {
        let list = self.called("run");
        let at = list.iter().position(|argument| argument == "--name").unwrap();
        list[at + 1].clone()
    }
}

fn list_of(program: &str, network: Network, command: &ApprovedCommand) -> Vec<String> {
    let container = Container { program: Path::new(program), image: "debian:12", network };
    let list = arguments(command, &container, "countersign-1").unwrap();
    list.into_iter().map(|argument| argument.into_string().unwrap()).collect()
}

#[test]
fn a_container_has_nothing_but_its_folder_and_what_was_pinned() {
    let mut bench = Bench::new();
    bench.env.insert("LANG".into(), "C".into());
    bench.write("task.sh", "echo x\n");
    let work = fs::canonicalize(bench.work()).unwrap().display().to_string();
    let command = bench.approve(&owned(&["sh", "task.sh", "a b", "--rm"]));
    let user = format!("{}:{}", rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mount = format!("type=bind,source={work},target={work}");
    let script = format!("type=bind,source={work}/task.sh,target={work}/task.sh,readonly");
    let expected = [
        "run",
        "--rm",
        "--interactive",
        "--pull",
        "never",
        "--read-only",
        "--tmpfs",
        "/tmp:rw,nosuid,nodev,size=1g",
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--pids-limit",
        "512",
        "--log-driver",
        "none",
        "--no-healthcheck",
        "--name",
        "countersign-1",
        "--network",
        "none",
        "--user",
        &user,
        "--mount",
        &mount,
        "--workdir",
        &work,
        "--mount",
        &script,
        "--env",
        "LANG=C",
        "--env",
        "OPENCLAW_CLI=1",
        "--entrypoint",
        "",
        "debian:12",
        "sh",
        "task.sh",
        "a b",
        "--rm",
    ];
    assert_eq!(list_of("/usr/bin/docker", Network::None, &command), expected);
    let networked = list_of("/usr/bin/docker", Network::Shared, &command);
    assert!(!networked.contains(&"--network".to_owned()));
    let podman = list_of("/usr/bin/podman", Network::None, &command);
    let keeps = podman.windows(2).any(|pair| pair == ["--userns", "keep-id"]);
    assert_eq!(keeps, user != "0:0");
}

#[test]
fn a_program_that_is_no_part_of_the_system_is_mounted_and_one_that_is_is_the_images() {
    let bench = Bench::new();
    let tool = bench.program("tool", "#!/bin/sh\n").canonicalize().unwrap().display().to_string();
    let mounts = |argv: &[&str]| {
        let list = list_of("/usr/bin/docker", Network::None, &bench.approve(&owned(argv)));
        list.iter().filter(|argument| argument.ends_with(",readonly")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(mounts(&[&tool]), [format!("type=bind,source={tool},target={tool},readonly")]);
    assert_eq!(mounts(&["printf", "x"]), Vec::<String>::new());
}

#[tokio::test]
async fn a_command_runs_and_its_end_is_told() {
    let fake = Fake::new("docker");
    let payload = fake.rig.shell("echo out; echo err >&2; exit 3").await;
    let told = (payload.exit_code, payload.stdout.as_str(), payload.stderr.as_str());
    assert_eq!(told, (Some(3), "out\n", "err\n"), "{payload:?}");
    assert!(fake.name().starts_with("countersign-"));
    assert!(!fake.folder.join("kill").exists(), "what ended by itself is not killed");
    let payload = fake.rig.shell("exit 125").await;
    assert!(payload.error.unwrap().contains("could not run the container"));
}

#[tokio::test]
async fn the_limit_and_cancelling_kill_the_container_by_its_name() {
    let mut fake = Fake::new("podman");
    fake.rig.bench.timeout = Some(LIMIT);
    let begun = fake.rig.bench.work().join("begun");
    let (payload, ()) = tokio::join!(
        fake.rig.shell("echo begun; : > begun; exec sleep 600"),
        limit_after(wait_for_file(&begun))
    );
    assert_eq!((payload.timed_out, payload.stdout.as_str()), (true, "begun\n"));
    assert_eq!(fake.called("kill"), ["kill".to_owned(), fake.name()]);
    wait_until_gone(container(&fake)).await;
    let fake = Fake::new("docker");
    let begun = fake.rig.bench.work().join("begun");
    let cancel = fake.rig.bench.cancel.clone();
    let (payload, ()) = tokio::join!(fake.rig.shell(": > begun; exec sleep 600"), async {
        wait_for_file(&begun).await;
        cancel.cancel();
    });
    assert_eq!(payload.error.as_deref(), Some("cancelled"));
    assert_eq!(fake.called("kill"), ["kill".to_owned(), fake.name()]);
    wait_until_gone(container(&fake)).await;
}

#[tokio::test]
async fn dropping_a_run_kills_the_container_too() {
    let fake = Fake::new("docker");
    let begun = fake.rig.bench.work().join("begun");
    tokio::select! {
        payload = fake.rig.shell(": > begun; exec sleep 600") => panic!("ended: {payload:?}"),
        () = wait_for_file(&begun) => {}
    }
    wait_for_file(&fake.folder.join("kill")).await;
    assert_eq!(fake.called("kill"), ["kill".to_owned(), fake.name()]);
    wait_until_gone(container(&fake)).await;
}

fn container(fake: &Fake) -> i32 {
    fs::read_to_string(fake.folder.join("container")).unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn t14_what_changed_after_it_was_shown_does_not_run_in_a_container_either() {
    let fake = Fake::new("docker");
    let script = fake.rig.bench.write("task.sh", "echo shown\n");
    assert_eq!(fake.rig.run(&["sh", "task.sh"]).await.stdout, "shown\n");
    let drift = fake.rig.drift(&["sh", "task.sh"], || fs::write(&script, "echo other\n").unwrap()).await;
    assert_eq!(drift.what, "script");
}

#[tokio::test]
async fn what_cannot_be_a_container_is_refused_with_a_reason() {
    let fake = Fake::new("docker");
    let (work, grounds) = (fake.rig.bench.work().canonicalize().unwrap(), &fake.rig.grounds);
    let good = fake.folder.join("docker");
    let with = |program: &Path, image: &str| Sandbox {
        backend: Backend::Container { program: program.to_owned(), image: image.to_owned() },
        network: false,
    };
    assert_eq!(check(&with(&good, "registry.example:5000/a/b@sha256:0a"), &work, grounds).await, Ok(()));
    for (sandbox, expected) in [
        (with(Path::new("docker"), "debian:12"), "absolute path"),
        (with(Path::new("/nowhere/docker"), "debian:12"), "executable file"),
        (with(&good, ""), "name of an image"),
        (with(&good, "--privileged"), "name of an image"),
        (with(&good, "a b"), "name of an image"),
    ] {
        let why = check(&sandbox, &work, grounds).await.unwrap_err().to_string();
        assert!(why.contains(expected), "{sandbox:?}: {why}");
    }
    let odd = work.join("a,readonly");
    fs::create_dir(&odd).unwrap();
    let why = check(&with(&good, "debian:12"), &odd, grounds).await.unwrap_err().to_string();
    assert!(why.contains("comma"), "{why}");
}
