//! Tasks that are handed over: gated, told on stdin, waited for or left.

use super::*;
use crate::exec::Process;
use crate::registry::{Parts, Selection};
use crate::testing::{self, Answers, Judge, Log, everything, params, printed, unheard};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::future::ready;
use tokio_util::task::TaskTracker;

fn configured() -> HandOvers {
    let program = |name: &str| Some(vec![format!("/bin/{name}"), "--json".to_owned()]);
    HandOvers { subagent: program("sub"), spawn: program("spawn") }
}

/// The tools that are configured, behind a gate that notes what it sees and allows.
fn tools(hand_overs: HandOvers, programs: &Arc<dyn Programs>, log: &Log) -> Selection {
    let runs = Runs::new(Arc::new(|| "r0".to_owned()), TaskTracker::new(), CancellationToken::new());
    let mut tools = hand_overs.tools(programs, &runs);
    tools.push(Arc::new(Process::new(runs)));
    let seen = log.clone();
    let gate = Judge::new(move |_, preview| {
        seen.note(format!("{preview:?}"));
        Box::pin(ready(Ok(())))
    });
    everything(Parts { tools, gate: Arc::new(gate), ..testing::parts() })
}

async fn call(tools: &Selection, tool: &str, given: Value) -> Result<String, String> {
    let call = Call { params: params(given), run_id: Some("run".to_owned()), ..testing::call(tool, "1") };
    let output = tools.call(call, unheard(), CancellationToken::new()).await;
    output.map(|output| output.text).map_err(|error| error.to_string())
}

#[test]
fn there_is_no_tool_without_a_program() {
    let runs = Runs::new(Arc::new(String::new), TaskTracker::new(), CancellationToken::new());
    let programs = Answers::always(Ok(Printed::default()));
    let names = |hand_overs: HandOvers| -> Vec<String> {
        hand_overs.tools(&programs, &runs).iter().map(|tool| tool.declaration().name.clone()).collect()
    };
    assert_eq!(names(configured()), ["subagent", "spawn"]);
    assert_eq!(names(HandOvers { spawn: None, ..configured() }), ["subagent"]);
    assert_eq!(names(HandOvers { subagent: Some(Vec::new()), ..configured() }), ["spawn"]);
    assert_eq!(names(HandOvers::default()), [""; 0]);
}

#[tokio::test]
async fn the_program_is_told_exactly_what_was_seen() {
    let log = Log::default();
    let told = log.clone();
    let programs = Answers::by(move |argv, input, limits, _| {
        assert_eq!(limits, LIMITS);
        told.note(format!("{argv:?} {input}"));
        Box::pin(ready(Ok(printed("answer", "remark"))))
    });
    let tools = tools(configured(), &programs, &log);
    let task = "mend\n\"it\"; rm -rf /";
    assert_eq!(call(&tools, "subagent", json!({"task": task})).await, Ok("answer".to_owned()));
    let preview = Preview::HandOver {
        command: vec!["/bin/sub".to_owned(), "--json".to_owned()],
        task: task.to_owned(),
    };
    let input = json!({
        "tool": "subagent", "task": task, "callId": "1", "runId": "run", "agentId": "coder", "sessionKey": "s1",
        "workspace": "/work/space",
    });
    assert_eq!(log.take(), [format!("{preview:?}"), format!("[\"/bin/sub\", \"--json\"] {input}")]);
}

#[tokio::test]
async fn nothing_is_started_that_was_not_allowed() {
    let programs = Answers::by(|_, _, _, _| panic!("it was started"));
    let runs = Runs::new(Arc::new(String::new), TaskTracker::new(), CancellationToken::new());
    let tools = configured().tools(&programs, &runs);
    let denying = everything(Parts { tools, ..testing::parts() });
    for tool in ["subagent", "spawn"] {
        assert_eq!(call(&denying, tool, json!({"task": "x"})).await, Err("nobody is there".to_owned()));
    }
}

#[tokio::test]
async fn a_program_that_brings_no_answer_says_why() {
    for (result, expected) in [
        (Ok(Printed::default()), Ok("(no output)")),
        (
            Err(ProgramError::Failed { text: "exit 2".to_owned(), said: "no model\n".to_owned() }),
            Err("the program failed: exit 2: no model"),
        ),
        (
            Err(ProgramError::Failed { text: "exit 2".to_owned(), said: String::new() }),
            Err("the program failed: exit 2"),
        ),
        (
            Err(ProgramError::NotStarted("No such file".to_owned())),
            Err("the program could not be started: No such file"),
        ),
        (Err(ProgramError::TimedOut(LIMITS.time)), Err("the program did not answer within 1800 s")),
    ] {
        let tools = tools(configured(), &Answers::always(result), &Log::default());
        let got = call(&tools, "subagent", json!({"task": "x"})).await;
        assert_eq!(got, expected.map(str::to_owned).map_err(str::to_owned));
    }
}

/// Works until it is told to stop.
fn endless() -> Arc<dyn Programs> {
    Answers::by(|_, _, _, abort| {
        Box::pin(async move {
            abort.cancelled().await;
            Err(ProgramError::Aborted)
        })
    })
}

#[tokio::test]
async fn spawn_goes_on_without_its_call_and_can_be_followed() {
    let tools = tools(configured(), &endless(), &Log::default());
    let left = call(&tools, "spawn", json!({"task": "work"})).await.unwrap();
    assert!(left.starts_with("Still running (session r0)."), "{left}");
    let list = call(&tools, "process", json!({"action": "list"})).await.unwrap();
    assert_eq!(list, "r0  running  0 s  spawn: work");
    let kill = call(&tools, "process", json!({"action": "kill", "sessionId": "r0"})).await;
    assert_eq!(kill, Ok("(no new output)\n\nEnded: Aborted.".to_owned()));
}

#[tokio::test]
async fn calling_off_a_subagent_ends_its_program() {
    let tools = tools(configured(), &endless(), &Log::default());
    let abort = CancellationToken::new();
    let call = Call { params: params(json!({"task": "x"})), ..testing::call("subagent", "1") };
    let (result, ()) = tokio::join!(tools.call(call, unheard(), abort.clone()), async {
        tokio::task::yield_now().await;
        abort.cancel();
    });
    assert!(matches!(result, Err(ToolError::Aborted)));
}

#[tokio::test]
async fn a_task_is_a_text_that_a_person_can_read() {
    let programs = Answers::by(|_, _, _, _| panic!("it was started"));
    let tools = tools(configured(), &programs, &Log::default());
    let long = "x".repeat(MAX_TASK + 1);
    for (given, problem) in [
        (json!({}), "task: expected a text that is not blank, got none"),
        (json!({"task": " "}), "task: expected a text that is not blank, got none"),
        (json!({"task": ["x"]}), "task: expected a text, got an array"),
        (json!({"task": long}), "task: expected at most 65536 bytes, got 65537"),
        // A label would reach the program unseen.
        (json!({"task": "x", "label": "y"}), "expected task, got \"label\""),
    ] {
        assert_eq!(call(&tools, "spawn", given).await, Err(format!("spawn: {problem}")));
    }
}
