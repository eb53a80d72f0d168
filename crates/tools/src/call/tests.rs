//! The way of a call: its order, what ends it early, how it is called off, and how many there can be.

use super::*;
use crate::hooks::{AfterCall, BeforeCall, Context, Hook, HookAnswer, HookError, Hooks, Merge};
use crate::registry::Parts;
use crate::room::{MAX_CALLS, MAX_WAITING};
use crate::testing::{self, Judge, Log, Scripted, everything, output, params, unheard};
use crate::tool::{Preview, Tool};
use futures_util::future::{BoxFuture, join_all, ready};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Notes both moments and rewrites parameters, or whatever `answer` says.
struct Noting {
    log: Log,
    answer: fn() -> BoxFuture<'static, Result<HookAnswer, HookError>>,
}

impl Noting {
    fn new(log: &Log) -> Self {
        Self {
            log: log.clone(),
            answer: || {
                let params = Some(params(json!({"by": "hook"})));
                Box::pin(ready(Ok(HookAnswer { params, ..HookAnswer::default() })))
            },
        }
    }
}

impl Hook for Noting {
    fn name(&self) -> &str {
        "noting"
    }

    fn before(&self, event: BeforeCall, _context: Context) -> BoxFuture<'_, Result<HookAnswer, HookError>> {
        self.log.note(format!("before {} {}", event.tool_name, Value::Object(event.params)));
        (self.answer)()
    }

    fn after(&self, event: AfterCall, _context: Context) -> BoxFuture<'_, Result<(), HookError>> {
        let AfterCall { params, result, error, duration_ms, .. } = event;
        let came = result.map(|output| output.text).or(error).unwrap_or_default();
        let timed = if duration_ms.is_some() { "" } else { ", not carried out" };
        self.log.note(format!("after {}: {came}{timed}", Value::Object(params)));
        Box::pin(ready(Ok(())))
    }
}

/// One tool `t` that changes files, a hook and a gate that allows, all noting what they do.
struct Around {
    log: Log,
    tracker: TaskTracker,
    hook: Noting,
    gate: Arc<Judge>,
    tool: Scripted,
}

impl Around {
    fn new() -> Self {
        let log = Log::default();
        Self {
            tracker: TaskTracker::new(),
            hook: Noting::new(&log),
            gate: Judge::allowing(&log),
            tool: Scripted::named("t").previewing(Preview::Changes(Vec::new())).logging(&log),
            log,
        }
    }

    fn gate(
        mut self,
        judging: impl Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static,
    ) -> Self {
        let log = self.log.clone();
        self.gate = Arc::new(Judge::new(move |_, _| {
            log.note("gate");
            judging()
        }));
        self
    }

    fn tool(mut self, change: impl FnOnce(Scripted) -> Scripted) -> Self {
        self.tool = change(self.tool);
        self
    }

    fn answer(mut self, answer: fn() -> BoxFuture<'static, Result<HookAnswer, HookError>>) -> Self {
        self.hook.answer = answer;
        self
    }

    fn build(self) -> (Selection, Log, TaskTracker) {
        let hooks = Hooks::new(vec![Arc::new(self.hook)], Merge::LastWins, self.tracker.clone()).unwrap();
        let parts = Parts {
            tools: vec![Arc::new(self.tool)],
            hooks,
            gate: self.gate,
            tracker: self.tracker.clone(),
            ..testing::parts()
        };
        (everything(parts), self.log, self.tracker)
    }

    /// What a call comes to, and what happened until nothing runs any more.
    async fn calling(self, abort: impl Into<Abort>) -> (Result<Output, String>, Vec<String>) {
        let (selection, log, tracker) = self.build();
        let result = selection.call(call(), unheard(), abort).await;
        tracker.close();
        tracker.wait().await;
        (result.map_err(|error| error.to_string()), log.take())
    }
}

fn call() -> Call {
    Call { params: params(json!({"by": "agent"})), ..testing::call("T", "1") }
}

/// What a call that nobody calls off comes to, and what happens.
async fn check(around: Around, expected: Result<&str, &str>, happened: &[&str]) {
    let (result, log) = around.calling(Abort::default()).await;
    assert_eq!(result.map(|output| output.text), expected.map(str::to_owned).map_err(str::to_owned));
    assert_eq!(log, happened);
}

const BEFORE: &str = r#"before t {"by":"agent"}"#;
const PLAN: &str = r#"plan {"by":"hook"}"#;
const GATE: &str = r#"gate {"by":"hook"}"#;

#[tokio::test]
async fn hooks_come_first_then_the_plan_the_gate_the_act_and_the_other_hooks() {
    check(Around::new(), Ok("done"), &[BEFORE, PLAN, GATE, "act", r#"after {"by":"hook"}: done"#]).await;
}

#[tokio::test]
async fn nobody_is_asked_about_what_is_harmless_or_asked_about_elsewhere() {
    for preview in [Preview::Harmless, Preview::AskedThere { exec: Box::default(), types: false }] {
        let around = Around::new().tool(|tool| tool.previewing(preview));
        check(around, Ok("done"), &[BEFORE, PLAN, "act", r#"after {"by":"hook"}: done"#]).await;
    }
}

#[tokio::test]
async fn the_gate_sees_the_plan_and_denies_with_its_reason() {
    let preview = Preview::HandOver { command: vec!["/bin/x".to_owned()], task: "work".to_owned() };
    let shown = preview.clone();
    let mut around = Around::new().tool(|tool| tool.previewing(preview));
    around.gate = Arc::new(Judge::new(move |call, seen| {
        assert_eq!((call.tool.as_str(), &seen), ("t", &shown));
        Box::pin(ready(Err("user denied".to_owned())))
    }));
    let after = r#"after {"by":"hook"}: user denied, not carried out"#;
    check(around, Err("user denied"), &[BEFORE, PLAN, after]).await;
}

#[tokio::test]
async fn hooks_are_told_of_every_failure() {
    let blocks = Around::new()
        .answer(|| Box::pin(ready(Ok(HookAnswer { block: Some(true), ..HookAnswer::default() }))));
    let blocked = "Tool call blocked by plugin hook";
    // What was blocked has no parameters of anybody's but its agent's.
    let after = format!(r#"after {{"by":"agent"}}: {blocked}, not carried out"#);
    check(blocks, Err(blocked), &[BEFORE, &after]).await;

    let unplanned = Around::new().tool(|tool| {
        tool.planning(|| {
            ready(Err(ToolError::Params { tool: "t".to_owned(), problem: "path: none".to_owned() }))
        })
    });
    let after = r#"after {"by":"hook"}: t: path: none, not carried out"#;
    check(unplanned, Err("t: path: none"), &[BEFORE, PLAN, after]).await;

    let fails =
        Around::new().tool(|tool| tool.acting(|_, _| ready(Err(ToolError::Failed("disk full".to_owned())))));
    let after = r#"after {"by":"hook"}: disk full"#;
    check(fails, Err("disk full"), &[BEFORE, PLAN, GATE, "act", after]).await;

    let panics = Around::new().tool(|tool| tool.acting(|_, _| async { panic!("on purpose") }));
    let after = r#"after {"by":"hook"}: the tool ended unexpectedly"#;
    check(panics, Err("the tool ended unexpectedly"), &[BEFORE, PLAN, GATE, "act", after]).await;
}

#[tokio::test]
async fn what_is_not_there_or_was_removed_runs_nothing() {
    let (selection, log, tracker) = Around::new().build();
    let unknown = selection.call(testing::call("x", "1"), unheard(), Abort::default()).await;
    assert_eq!(unknown.unwrap_err().to_string(), "there is no tool \"x\"");
    assert!(log.take().is_empty() && tracker.is_empty());
}

#[tokio::test]
async fn a_call_that_is_called_off_already_runs_nothing() {
    let (over, live) = (CancellationToken::new(), CancellationToken::new());
    over.cancel();
    for abort in [
        Abort::from(over.clone()),
        Abort::any(over.clone(), live.clone()),
        Abort::any(live.clone(), over.clone()),
    ] {
        let (result, log) = Around::new().calling(abort).await;
        assert_eq!((result, log.len()), (Err("Aborted".to_owned()), 0));
    }
}

/// Calls a call off, by either token, when it came so far, and says what happened.
async fn check_abort(around: impl Fn() -> Around, happened: &[&str]) {
    for by_run in [false, true] {
        let (call_token, run_token) = (CancellationToken::new(), CancellationToken::new());
        let abort = Abort::any(call_token.clone(), run_token.clone());
        let (selection, log, tracker) = around().build();
        let began = Instant::now();
        let calling = selection.call(call(), unheard(), abort);
        let stopping = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if by_run { run_token.cancel() } else { call_token.cancel() }
        };
        let (result, ()) = tokio::join!(calling, stopping);
        assert_eq!(result.unwrap_err().to_string(), "Aborted");
        assert_eq!(began.elapsed(), Duration::from_secs(1), "at once");
        tracker.close();
        tracker.wait().await;
        assert_eq!(log.take(), happened, "and no hook is told");
        // Nothing is left of it.
        assert!(selection.inner.seats.take(call().key()).is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_called_off_at_every_stage() {
    check_abort(|| Around::new().answer(|| Box::pin(pending())), &[BEFORE]).await;
    check_abort(|| Around::new().tool(|tool| tool.planning(pending)), &[BEFORE, PLAN]).await;
    check_abort(|| Around::new().gate(|| Box::pin(pending())), &[BEFORE, PLAN, "gate"]).await;
    let stops = || {
        Around::new().tool(|tool| {
            tool.acting(|_, abort: CancellationToken| async move {
                abort.cancelled().await;
                Err(ToolError::Aborted)
            })
        })
    };
    check_abort(stops, &[BEFORE, PLAN, GATE, "act"]).await;
    // One that was done when it heard of it is called off all the same.
    let done = || {
        Around::new().tool(|tool| {
            tool.acting(|_, abort: CancellationToken| async move {
                abort.cancelled().await;
                Ok(output("too late"))
            })
        })
    };
    check_abort(done, &[BEFORE, PLAN, GATE, "act"]).await;
}

#[tokio::test(start_paused = true)]
async fn whoever_calls_off_is_answered_when_the_act_has_stopped() {
    let (selection, log, _tracker) = Around::new()
        .tool(|tool| {
            tool.acting(|_, abort: CancellationToken| async move {
                abort.cancelled().await;
                tokio::time::sleep(ABORT_GRACE - Duration::from_secs(1)).await;
                Err(ToolError::Aborted)
            })
        })
        .build();
    let abort = CancellationToken::new();
    let began = Instant::now();
    let calling = selection.call(call(), unheard(), abort.clone());
    let (result, ()) = tokio::join!(calling, async {
        tokio::task::yield_now().await;
        abort.cancel();
    });
    assert!(matches!(result, Err(ToolError::Aborted)), "{:?}", log.take());
    assert_eq!(began.elapsed(), ABORT_GRACE - Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_its_abort_is_left_and_what_it_brings_is_thrown_away() {
    let open = Arc::new(Semaphore::new(0));
    let ending = Arc::clone(&open);
    let (selection, log, tracker) = Around::new()
        .tool(move |tool| {
            tool.acting(move |_, _| {
                let ending = Arc::clone(&ending);
                async move {
                    let _end = ending.acquire().await;
                    Ok(output("late"))
                }
            })
        })
        .build();
    let abort = CancellationToken::new();
    let began = Instant::now();
    let calling = selection.call(call(), unheard(), abort.clone());
    let (result, ()) = tokio::join!(calling, async {
        tokio::task::yield_now().await;
        abort.cancel();
    });
    assert!(matches!(result, Err(ToolError::Aborted)));
    assert_eq!(began.elapsed(), ABORT_GRACE);
    // It keeps its seat, so that calls which never end cannot pile up.
    let again = selection.call(call(), unheard(), Abort::default());
    let again = timeout(Duration::from_secs(1), again).await.unwrap();
    assert!(matches!(again, Err(ToolError::Duplicate(id)) if id == "1"));
    log.take();
    open.add_permits(1);
    tracker.close();
    tracker.wait().await;
    assert!(log.take().is_empty(), "no hook is told");
    assert!(selection.inner.seats.take(call().key()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_tells_its_act_to_stop() {
    let stopped = Log::default();
    let noted = stopped.clone();
    let (selection, _log, tracker) = Around::new()
        .tool(move |tool| {
            tool.acting(move |_, abort: CancellationToken| {
                let noted = noted.clone();
                async move {
                    abort.cancelled().await;
                    noted.note("stopped");
                    Err(ToolError::Aborted)
                }
            })
        })
        .build();
    let calling = selection.call(call(), unheard(), Abort::default());
    assert!(timeout(Duration::from_secs(1), calling).await.is_err());
    tracker.close();
    timeout(Duration::from_secs(1), tracker.wait()).await.unwrap();
    assert_eq!(stopped.take(), ["stopped"]);
    assert!(selection.inner.seats.take(call().key()).is_ok());
}

#[tokio::test]
async fn an_id_that_is_under_way_is_refused_and_free_again_afterwards() {
    let open = Arc::new(Semaphore::new(0));
    let opening = Arc::clone(&open);
    let (selection, _log, _tracker) = Around::new()
        .gate(move || {
            let opening = Arc::clone(&opening);
            Box::pin(async move {
                opening.acquire().await.unwrap().forget();
                Ok(())
            })
        })
        .build();
    let with = |run: Option<&str>| Call { run_id: run.map(str::to_owned), ..call() };
    let first = selection.call(with(Some("r")), unheard(), Abort::default());
    let others = async {
        let again = selection.call(with(Some("r")), unheard(), Abort::default()).await.unwrap_err();
        let expected =
            "a call with the id \"r:1\" is under way already: expected an id of its own for each call";
        assert_eq!(again.to_string(), expected);
        // The same id in another run is another call.
        open.add_permits(2);
        selection.call(with(None), unheard(), Abort::default()).await.unwrap();
    };
    let (first, ()) = tokio::join!(first, others);
    first.unwrap();
    open.add_permits(1);
    selection.call(with(Some("r")), unheard(), Abort::default()).await.unwrap();
}

#[tokio::test]
async fn ten_thousand_calls_at_once_all_get_an_answer() {
    let open = Arc::new(Semaphore::new(0));
    let opening = Arc::clone(&open);
    let (selection, log, _tracker) = Around::new()
        .gate(move || {
            let opening = Arc::clone(&opening);
            Box::pin(async move {
                let _open = opening.acquire().await;
                Ok(())
            })
        })
        .build();
    let calls: Vec<_> = (0..10_000)
        .map(|id| {
            let selection = selection.clone();
            let call = testing::call("t", &id.to_string());
            tokio::spawn(async move { selection.call(call, unheard(), Abort::default()).await })
        })
        .collect();
    // Every call that is refused is over while the others still wait.
    let mut over = 0;
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
        over = calls.iter().filter(|call| call.is_finished()).count();
        if over >= 10_000 - MAX_WAITING {
            break;
        }
    }
    assert_eq!(over, 10_000 - MAX_WAITING);
    let seen = log.take().iter().filter(|line| *line == "gate").count();
    assert_eq!(seen, MAX_WAITING, "no more are asked about at once");
    open.add_permits(10_000);
    let results: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    let allowed = results.iter().filter(|result| result.is_ok()).count();
    let refused = results.iter().filter_map(|result| result.as_ref().err());
    let expected = [
        "too many calls at once: 1024 are under way; try again when some have ended",
        "too many calls at once: 256 wait to be allowed; try again when some have ended",
    ];
    assert!(refused.map(ToString::to_string).all(|error| expected.contains(&error.as_str())));
    assert_eq!(allowed, MAX_WAITING);
    selection.call(call(), unheard(), Abort::default()).await.unwrap();
}

#[tokio::test]
async fn the_seats_are_bounded_and_those_who_need_no_answer_find_one_while_others_wait() {
    let (selection, _log, _tracker) = Around::new().tool(|tool| tool.previewing(Preview::Harmless)).build();
    let seats = &selection.inner.seats;
    let waiting: Vec<_> = (0..MAX_WAITING).map(|_| seats.wait().unwrap()).collect();
    assert!(matches!(seats.wait(), Err(ToolError::Busy { limit: MAX_WAITING, .. })));
    selection.call(call(), unheard(), Abort::default()).await.unwrap();
    let taken: Vec<_> = (0..MAX_CALLS)
        .map(|id| seats.take(testing::call("t", &format!("taken {id}")).key()).unwrap())
        .collect();
    let refused = selection.call(call(), unheard(), Abort::default()).await;
    assert!(matches!(refused, Err(ToolError::Busy { limit: MAX_CALLS, .. })));
    drop((waiting, taken));
    selection.call(call(), unheard(), Abort::default()).await.unwrap();
}

#[tokio::test]
async fn hooks_run_once_around_a_tool_that_has_them_already() {
    let Around { log, tracker, hook, gate, tool } = Around::new();
    let bare: Arc<dyn Tool> = Arc::new(tool);
    assert!(bare.wrapped().is_none());
    let declaration = bare.declaration().clone();
    let inner = Hooks::new(vec![Arc::new(hook)], Merge::LastWins, tracker.clone()).unwrap();
    let once: Arc<dyn Tool> = Arc::new(Wrapped::around(&bare, declaration.clone(), &inner));
    // Around that, others, which would note what they see too, and a toolbox with others again.
    let others = || Hooks::new(vec![Arc::new(Noting::new(&log))], Merge::LastWins, tracker.clone()).unwrap();
    let twice: Arc<dyn Tool> = Arc::new(Wrapped::around(&once, declaration, &others()));
    assert!(twice.wrapped().is_some());
    let tools = vec![Arc::clone(&twice)];
    let selection =
        everything(Parts { tools, hooks: others(), gate, tracker: tracker.clone(), ..testing::parts() });
    selection.call(call(), unheard(), Abort::default()).await.unwrap();
    tracker.close();
    tracker.wait().await;
    assert_eq!(log.take(), [BEFORE, PLAN, GATE, "act", r#"after {"by":"hook"}: done"#]);
    // Whoever only has it plan something gets them too.
    assert!(twice.plan(&call()).await.is_ok());
    assert_eq!(log.take(), [r#"before T {"by":"agent"}"#, PLAN]);
}
