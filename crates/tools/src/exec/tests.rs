//! Commands that end while their call waits, and those that do not.

use super::*;
use crate::gate::Gating;
use crate::registry::{Parts, Selection};
use crate::runs::{Ear, Heard};
use crate::testing::{self, everything, params, unheard};
use crate::tool::Channel;
use countersign_protocol::socket::{ExecError, ExecRequest};
use countersign_protocol::vocabulary::{self, Security};
use countersign_routing::route;
use pretty_assertions::assert_eq;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

type Running =
    dyn Fn(HostRun, Ear, CancellationToken) -> BoxFuture<'static, Result<Ran, ExecError>> + Send + Sync;

/// A place for commands.
struct Host(Box<Running>);

impl Host {
    fn new<F: Future<Output = Result<Ran, ExecError>> + Send + 'static>(
        run: impl Fn(HostRun, Ear, CancellationToken) -> F + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(move |host_run, ear, abort| Box::pin(run(host_run, ear, abort))))
    }
}

impl ExecHost for Host {
    fn run<'a>(
        &'a self,
        run: HostRun,
        ear: Ear,
        abort: CancellationToken,
    ) -> BoxFuture<'a, Result<Ran, ExecError>> {
        (self.0)(run, ear, abort)
    }
}

/// `exec` at this place, and `process`.
fn tools(host: Host) -> Selection {
    let next = AtomicUsize::new(0);
    let ids = Arc::new(move || format!("r{}", next.fetch_add(1, Ordering::SeqCst)));
    let runs = Runs::new(ids, TaskTracker::new(), CancellationToken::new());
    let exec = Exec::new(Arc::new(host), runs.clone(), Settings::default());
    everything(Parts { tools: vec![Arc::new(exec), Arc::new(Process::new(runs))], ..testing::parts() })
}

async fn call(tools: &Selection, tool: &str, given: Value) -> Result<Output, String> {
    let call = Call { params: params(given), ..testing::call(tool, "1") };
    tools.call(call, unheard(), CancellationToken::new()).await.map_err(|error| error.to_string())
}

fn exited(code: i32, stdout: &str, stderr: &str) -> ExecPayload {
    ExecPayload {
        exit_code: Some(code),
        success: code == 0,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        error: (code != 0).then(|| format!("exit {code}")),
        ..ExecPayload::default()
    }
}

/// What an agent is told of a command that came to this.
async fn check(payload: ExecPayload, text: &str, details: Value) {
    let ran = Ran { host: Some(vocabulary::ExecHost::Sandbox), node: None, payload };
    let tools = tools(Host::new(move |_, _, _| ready(Ok(ran.clone()))));
    let output = call(&tools, "exec", json!({"command": "ls"})).await.unwrap();
    assert_eq!((output.text.as_str(), output.details), (text, Some(details)));
    let list = call(&tools, "process", json!({"action": "list"})).await.unwrap();
    assert_eq!(list.text, "Nothing runs in this session.");
}

#[tokio::test]
async fn an_agent_is_told_what_its_command_printed_and_how_it_ended() {
    let details = |status: &str, code: Value, timed_out: bool| json!({"exitCode": code, "timedOut": timed_out, "host": "sandbox", "status": status});
    let done = details("completed", json!(0), false);
    check(exited(0, "a\nb\n", ""), "a\nb\n", done.clone()).await;
    check(exited(0, "", ""), "(no output)", done.clone()).await;
    check(exited(0, "out\n", "err\n"), "out\nerr\n", done.clone()).await;
    check(exited(0, "out", "err"), "out\nerr", done.clone()).await;
    check(exited(0, "", "err"), "err", done).await;
    let failed = |code: Value| details("failed", code, false);
    check(exited(3, "out\n", ""), "out\n\n(exit 3)", failed(json!(3))).await;
    check(exited(3, "", ""), "(no output)\n\n(exit 3)", failed(json!(3))).await;
    let late = ExecPayload { timed_out: true, error: Some("timeout".to_owned()), ..ExecPayload::default() };
    check(late, "(no output)\n\n(ended by its time limit)", details("failed", Value::Null, true)).await;
    let gone = ExecPayload { error: Some("failed to start: x".to_owned()), ..ExecPayload::default() };
    check(gone, "(no output)\n\n(failed to start: x)", failed(Value::Null)).await;
}

#[tokio::test]
async fn the_place_is_told_what_the_call_said_and_of_no_grant() {
    let seen = Arc::new(Mutex::new(None));
    let told = Arc::clone(&seen);
    let tools = tools(Host::new(move |run, _, _| {
        *told.lock().unwrap() = Some(run);
        ready(Ok(Ran::default()))
    }));
    call(&tools, "bash", json!({"command": "git status", "security": "deny"})).await.unwrap();
    let HostRun { exec, tool, caller, .. } = seen.lock().unwrap().take().unwrap();
    let expected = ExecRequest {
        command: vec!["git".to_owned(), "status".to_owned()],
        cwd: Some("/work/space".to_owned()),
        timeout_ms: Some(1_800_000),
        agent_id: Some("coder".to_owned()),
        session_key: Some("s1".to_owned()),
        ..ExecRequest::default()
    };
    assert_eq!(exec, expected);
    assert_eq!(tool, route::Tool { security: Some(Security::Deny), ..route::Tool::default() });
    assert_eq!(caller, testing::call("exec", "1").caller);
}

#[tokio::test]
async fn a_refusal_is_told_in_its_own_words_and_leaves_nothing() {
    for given in [json!({"command": "ls"}), json!({"command": "ls", "background": true})] {
        let tools = tools(Host::new(|_, _, _| {
            ready(Err(ExecError {
                code: "UNAVAILABLE".to_owned(),
                message: "SYSTEM_RUN_DENIED: user denied".to_owned(),
                reason: Some("user-denied".to_owned()),
            }))
        }));
        assert_eq!(call(&tools, "exec", given).await, Err("SYSTEM_RUN_DENIED: user denied".to_owned()));
        let list = call(&tools, "process", json!({"action": "list"})).await.unwrap();
        assert_eq!(list.details, Some(json!({"sessions": []})));
    }
}

#[tokio::test]
async fn the_pet_channel_is_asked_before_the_place_is() {
    let started = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&started);
    let tools = tools(Host::new(move |_, _, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        ready(Ok(Ran::default()))
    }));
    let mut pet = Call { params: params(json!({"command": "ls"})), ..testing::call("exec", "1") };
    pet.caller.channel = Channel::Pet { session_id: "p".to_owned() };
    assert!(Gating::default().pet.contains("exec"));
    let refused = tools.call(pet, unheard(), CancellationToken::new()).await;
    assert_eq!(refused.unwrap_err().to_string(), "nobody is there");
    assert_eq!(started.load(Ordering::SeqCst), 0);
    call(&tools, "exec", json!({"command": "ls"})).await.unwrap();
    assert_eq!(started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_a_command_prints_is_progress() {
    let tools = tools(Host::new(|_, ear: Ear, _| async move {
        ear.hear(Heard::Started);
        for text in ["one\n", "two\n", "three\n"] {
            ear.hear(Heard::Printed(text));
        }
        Ok(Ran { payload: exited(0, "one\ntwo\nthree\n", ""), ..Ran::default() })
    }));
    let (progress, mut heard) = tokio::sync::mpsc::channel(2);
    let call = Call { params: params(json!({"command": "ls"})), ..testing::call("exec", "1") };
    tools.call(call, progress, CancellationToken::new()).await.unwrap();
    let got: Vec<String> = std::iter::from_fn(|| heard.try_recv().ok()).collect();
    // A full channel makes nobody wait.
    assert_eq!(got, ["one\n", "two\n"]);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_goes_on_alone_is_no_progress_of_its_call() {
    let tools = tools(long());
    let (progress, mut heard) = tokio::sync::mpsc::channel(8);
    let call = Call { params: params(json!({"command": "make"})), ..testing::call("exec", "1") };
    tools.call(call, progress, CancellationToken::new()).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(heard.recv().await.as_deref(), Some("started\n"));
    assert_eq!(heard.recv().await, None, "nobody holds it any more");
}

/// Asks for an hour, prints, goes on until it is stopped.
fn long() -> Host {
    Host::new(|_, ear: Ear, abort: CancellationToken| async move {
        sleep(Duration::from_secs(3_600)).await;
        ear.hear(Heard::Started);
        ear.hear(Heard::Printed("started\n"));
        if tokio::time::timeout(Duration::from_secs(15), abort.cancelled()).await.is_err() {
            ear.hear(Heard::Printed("working\n"));
        }
        abort.cancelled().await;
        let payload =
            ExecPayload { error: Some("cancelled".to_owned()), ..exited(1, "started\nworking\n", "") };
        Ok(Ran { payload: ExecPayload { exit_code: None, ..payload }, ..Ran::default() })
    })
}

#[tokio::test(start_paused = true)]
async fn a_long_command_goes_on_in_the_background_and_is_followed_there() {
    for (given, waits) in [
        (json!({"command": "make", "yieldMs": 2_000}), 2),
        (json!({"command": "make"}), 10),
        (json!({"command": "make", "background": true}), 0),
    ] {
        let (tools, began) = (tools(long()), Instant::now());
        let output = call(&tools, "exec", given).await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 3_600 + waits, "whoever may still refuse it is waited for");
        // A command that is left at once may have said nothing yet.
        assert!(output.text.ends_with(
            "Still running (session r0). Follow it with process: list, poll, log, write, kill, remove, clear."
        ));
        assert_eq!(output.details, Some(json!({"status": "running", "sessionId": "r0"})));
        let process = |given: Value| {
            let tools = &tools;
            async move { call(tools, "process", given).await.unwrap() }
        };
        let list = process(json!({"action": "list"})).await;
        assert!(list.text.starts_with("r0  running  36") && list.text.ends_with(" s  make"), "{}", list.text);
        let poll = process(json!({"action": "poll", "sessionId": "r0", "timeout": 60_000})).await;
        assert!(poll.text.ends_with("\n\nStill running."), "{}", poll.text);
        sleep(Duration::from_secs(20)).await;
        let log = process(json!({"action": "log", "sessionId": "r0", "offset": 1})).await;
        assert_eq!(log.text, "working");
        assert_eq!(log.details, Some(json!({"status": "running", "sessionId": "r0", "totalLines": 2})));
        let kill = process(json!({"action": "kill", "sessionId": "r0"})).await;
        assert_eq!(kill.text, "(no new output)\n\nEnded: cancelled.");
        let details = json!({"status": "failed", "sessionId": "r0", "exitCode": null, "timedOut": false});
        assert_eq!(kill.details, Some(details));
        let log = process(json!({"action": "log", "sessionId": "r0", "limit": 1})).await;
        assert_eq!(log.text, "working", "the last lines");
        assert_eq!(process(json!({"action": "clear"})).await.text, "Cleared 1.");
        let gone = call(&tools, "process", json!({"action": "poll", "sessionId": "r0"})).await;
        assert_eq!(gone, Err("there is no run \"r0\" of this session".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn calling_off_ends_a_command_as_long_as_its_call_waits() {
    let tools = tools(long());
    let abort = CancellationToken::new();
    let exec = Call { params: params(json!({"command": "make"})), ..testing::call("exec", "1") };
    let calling = tools.call(exec, unheard(), abort.clone());
    let (result, ()) = tokio::join!(calling, async {
        sleep(Duration::from_secs(3_605)).await;
        abort.cancel();
    });
    assert!(matches!(result, Err(ToolError::Aborted)));
    let list = call(&tools, "process", json!({"action": "list"})).await.unwrap();
    assert_eq!(list.text, "Nothing runs in this session.");
}

#[tokio::test(start_paused = true)]
async fn a_poll_can_be_called_off() {
    let tools = tools(long());
    call(&tools, "exec", json!({"command": "make"})).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    call(&tools, "process", json!({"action": "poll", "sessionId": "r0"})).await.unwrap();
    let given = params(json!({"action": "poll", "sessionId": "r0", "timeout": 60_000}));
    let (abort, began) = (CancellationToken::new(), Instant::now());
    let polling = Call { params: given, ..testing::call("process", "2") };
    let (result, ()) = tokio::join!(tools.call(polling, unheard(), abort.clone()), async {
        sleep(Duration::from_secs(1)).await;
        abort.cancel();
    });
    assert!(matches!(result, Err(ToolError::Aborted)));
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

#[tokio::test]
async fn wrong_actions_are_refused() {
    let tools = tools(Host::new(|_, _, _| ready(Ok(Ran::default()))));
    for (given, problem) in [
        (json!({}), "process: action: expected a text that is not blank, got none"),
        (
            json!({"action": "type"}),
            "process: action: expected one of list, poll, log, write, kill, remove, clear, got \"type\"",
        ),
        (json!({"action": "write", "sessionId": "r9"}), "process: data: expected what to type, got nothing"),
        (
            json!({"action": "write", "sessionId": "r9", "data": "a".repeat(4_096)}),
            "process: data: expected at most 4095 bytes, got 4096",
        ),
        (
            json!({"action": "write", "sessionId": "r9", "eof": true}),
            "there is no run \"r9\" of this session",
        ),
        (json!({"action": "kill"}), "process: sessionId: expected a text that is not blank, got none"),
        (json!({"action": "poll", "sessionId": "r9"}), "there is no run \"r9\" of this session"),
        (
            json!({"action": "list", "id": "r9"}),
            "process: expected action, sessionId, timeout, offset, limit, data, eof, got \"id\"",
        ),
    ] {
        assert_eq!(call(&tools, "process", given).await, Err(problem.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_of_what_goes_on_is_told_than_the_person_lets_be_returned() {
    let much = Host::new(|_, ear: Ear, abort: CancellationToken| {
        Box::pin(async move {
            ear.hear(Heard::Started);
            (0..2_000).for_each(|number| ear.hear(Heard::Printed(&format!("line {number}\n"))));
            abort.cancelled().await;
            Ok(Ran::default())
        })
    });
    let runs = Runs::new(Arc::new(|| "r0".to_owned()), TaskTracker::new(), CancellationToken::new())
        .telling(Arc::new(|_| {}), Arc::new(|| 4_000));
    let exec = Exec::new(Arc::new(much), runs.clone(), Settings::default());
    let tools =
        everything(Parts { tools: vec![Arc::new(exec), Arc::new(Process::new(runs))], ..testing::parts() });
    call(&tools, "exec", json!({"command": "make", "background": true})).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let given = json!({"action": "log", "sessionId": "r0", "limit": 10_000});
    let output = call(&tools, "process", given).await.unwrap().text;
    assert!((3_900..=4_000).contains(&output.len()) && output.ends_with("line 1999"), "{}", output.len());
}
