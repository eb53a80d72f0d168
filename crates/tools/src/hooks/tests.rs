//! What runs before and after calls: order, merging, failures, bounds.

use super::external::{Command, External, Moments};
use super::*;
use crate::programs::{Limits, Printed, Programs};
use crate::testing::{self, Answers, Log, params, printed};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;
use tokio::time::Instant;

type Says<T> = dyn Fn() -> BoxFuture<'static, Result<T, HookError>> + Send + Sync;

/// A hook that does what a test says.
struct Scripted {
    name: &'static str,
    priority: i32,
    log: Log,
    before: Box<Says<HookAnswer>>,
    after: Box<Says<()>>,
}

impl Scripted {
    fn new<F: Future<Output = Result<HookAnswer, HookError>> + Send + 'static>(
        name: &'static str,
        before: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            priority: 0,
            log: Log::default(),
            before: Box::new(move || Box::pin(before())),
            after: Box::new(|| Box::pin(ready(Ok(())))),
        }
    }

    /// One that answers with this JSON.
    fn saying(name: &'static str, priority: i32, answer: Value, log: &Log) -> Arc<dyn Hook> {
        let hook = Self::new(name, move || ready(Ok(serde_json::from_value(answer.clone()).unwrap())));
        Arc::new(Self { priority, log: log.clone(), ..hook })
    }

    fn telling<F: Future<Output = Result<(), HookError>> + Send + 'static>(
        name: &'static str,
        log: &Log,
        after: impl Fn() -> F + Send + Sync + 'static,
    ) -> Arc<dyn Hook> {
        let hook = Self::new(name, || ready(Ok(HookAnswer::default())));
        Arc::new(Self { log: log.clone(), after: Box::new(move || Box::pin(after())), ..hook })
    }
}

impl Hook for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn priority(&self) -> i32 {
        self.priority
    }

    fn before(&self, event: BeforeCall, _context: Context) -> BoxFuture<'_, Result<HookAnswer, HookError>> {
        self.log.note(format!("{} {}", self.name, Value::Object(event.params)));
        (self.before)()
    }

    fn after(&self, event: AfterCall, _context: Context) -> BoxFuture<'_, Result<(), HookError>> {
        self.log.note(format!("{} told {}", self.name, serde_json::to_value(&event).unwrap()));
        (self.after)()
    }
}

fn hooks(hooks: Vec<Arc<dyn Hook>>, merge: Merge) -> Hooks {
    Hooks::new(hooks, merge, TaskTracker::new()).unwrap()
}

fn call() -> Call {
    Call { params: params(json!({"a": 1, "b": 2})), ..testing::call("t", "1") }
}

fn blocked(result: Result<Map<String, Value>, ToolError>) -> Result<Value, String> {
    match result {
        Ok(params) => Ok(Value::Object(params)),
        Err(ToolError::Denied(reason)) => Err(reason),
        Err(other) => panic!("expected a denial, got {other:?}"),
    }
}

/// What hooks that answer so, in this order, make of a call with `{"a":1,"b":2}`, and how many of them ran.
async fn check(answers: &[Value], merge: Merge, expected: Result<Value, &str>, ran: usize) {
    let log = Log::default();
    let all = answers.iter().map(|answer| Scripted::saying("h", 0, answer.clone(), &log)).collect();
    let got = blocked(hooks(all, merge).before(&call()).await);
    assert_eq!(got, expected.map_err(str::to_owned), "{merge:?} {answers:?}");
    // None sees what another one made of it.
    assert_eq!(log.take(), vec![r#"h {"a":1,"b":2}"#; ran], "{merge:?} {answers:?}");
}

#[tokio::test]
async fn they_run_by_priority_and_among_equals_in_the_order_given() {
    let log = Log::default();
    let order = [("a", 0), ("b", 7), ("c", -1), ("d", 0), ("e", 7)];
    let all = order.map(|(name, priority)| Scripted::saying(name, priority, json!({}), &log)).into();
    hooks(all, Merge::LastWins).before(&call()).await.unwrap();
    let ran: Vec<String> = log.take().iter().map(|line| line[..1].to_owned()).collect();
    assert_eq!(ran, ["b", "e", "a", "d", "c"]);
}

#[tokio::test]
async fn parameters_are_laid_over_the_original_ones_and_the_last_hook_wins() {
    for merge in [Merge::LastWins, Merge::Strict] {
        check(&[], merge, Ok(json!({"a": 1, "b": 2})), 0).await;
        check(&[json!({})], merge, Ok(json!({"a": 1, "b": 2})), 1).await;
        check(&[json!({"params": {"b": 3, "c": null}})], merge, Ok(json!({"a": 1, "b": 3, "c": null})), 1)
            .await;
        // No key can be removed, and what an earlier hook wanted is not mixed with what a later one wants.
        check(&[json!({"params": {}})], merge, Ok(json!({"a": 1, "b": 2})), 1).await;
        let both = [json!({"params": {"a": 7}}), json!({"params": {"b": 8}}), json!({"params": null})];
        check(&both, merge, Ok(json!({"a": 1, "b": 8})), 3).await;
    }
}

#[tokio::test]
async fn a_later_hook_takes_a_block_back_unless_that_is_final() {
    let block = |reason: &str| json!({"block": true, "blockReason": reason});
    let (plain, back) = (json!({"block": true}), json!({"block": false}));
    let same = json!({"a": 1, "b": 2});
    use Merge::{LastWins, Strict};
    check(&[block("no"), back.clone()], LastWins, Ok(same.clone()), 2).await;
    check(&[block("no"), back.clone()], Strict, Err("no"), 1).await;
    check(&[back.clone(), block("no")], LastWins, Err("no"), 2).await;
    check(&[back.clone(), block("no")], Strict, Err("no"), 2).await;
    check(&[block("no"), json!({})], LastWins, Err("no"), 2).await;
    check(&[block("no"), block("never")], LastWins, Err("never"), 2).await;
    check(&[block("no"), block("never")], Strict, Err("no"), 1).await;
    check(&[block("no"), plain.clone()], LastWins, Err("no"), 2).await;
    for merge in [LastWins, Strict] {
        check(std::slice::from_ref(&plain), merge, Err("Tool call blocked by plugin hook"), 1).await;
        check(&[block(" ")], merge, Err("Tool call blocked by plugin hook"), 1).await;
        // A reason alone blocks nothing.
        check(&[json!({"blockReason": "no"})], merge, Ok(same.clone()), 1).await;
    }
    let long = "x".repeat(MAX_REASON + 1);
    check(&[block(&long)], LastWins, Err(&long[1..]), 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_blocks_whatever_others_say() {
    type Failing = fn() -> BoxFuture<'static, Result<HookAnswer, HookError>>;
    let failures: [(Failing, &str); 4] = [
        (|| Box::pin(ready(Err(HookError::Failed("no disk".to_owned())))), "failed: no disk"),
        (|| Box::pin(async { panic!("on purpose") }), "ended unexpectedly"),
        (|| panic!("on purpose, before there is a future"), "ended unexpectedly"),
        (|| Box::pin(pending()), "did not answer within 15 s"),
    ];
    for (failing, reason) in failures {
        for merge in [Merge::LastWins, Merge::Strict] {
            let log = Log::default();
            let all = vec![
                Arc::new(Scripted::new("broken", failing)) as Arc<dyn Hook>,
                Scripted::saying("later", 0, json!({"block": false}), &log),
            ];
            let began = Instant::now();
            let got = blocked(hooks(all, merge).before(&call()).await);
            assert_eq!(got, Err(format!("Tool call blocked by plugin hook broken: it {reason}")));
            assert_eq!(log.take(), [""; 0], "no hook runs after it");
            assert!(began.elapsed() <= HOOK_TIME + Duration::from_secs(1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn few_run_at_once_and_waiting_for_a_turn_takes_nothing_of_their_time() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (running, peak) = (Arc::clone(&now), Arc::clone(&most));
    let slow = Scripted::new("slow", move || {
        let (running, peak) = (Arc::clone(&running), Arc::clone(&peak));
        async move {
            peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(HOOK_TIME - Duration::from_secs(1)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(HookAnswer::default())
        }
    });
    let hooks = hooks(vec![Arc::new(slow)], Merge::LastWins);
    let calls: Vec<Call> = (0..100).map(|id| testing::call("t", &id.to_string())).collect();
    let results = join_all(calls.iter().map(|call| hooks.before(call))).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(most.load(Ordering::SeqCst), MAX_AT_ONCE);
}

#[test]
fn the_number_of_hooks_is_bounded() {
    let all = |count| vec![Scripted::saying("h", 0, json!({}), &Log::default()); count];
    assert!(Hooks::new(all(MAX_HOOKS), Merge::LastWins, TaskTracker::new()).is_ok());
    let error = Hooks::new(all(MAX_HOOKS + 1), Merge::LastWins, TaskTracker::new()).unwrap_err();
    assert_eq!(error.to_string(), "hooks: expected at most 32, got 33");
}

fn ended(call: &Call, hooks: &Hooks) {
    hooks.after(&Ended { call, outcome: &Ok(testing::output("x")), took: Some(Duration::from_millis(7)) });
}

#[tokio::test(start_paused = true)]
async fn after_a_call_all_are_told_what_its_parameters_became_whatever_others_do() {
    let log = Log::default();
    let tracker = TaskTracker::new();
    let all = vec![
        Scripted::telling("panics", &log, || async { panic!("on purpose") }),
        Scripted::telling("hangs", &log, pending),
        Scripted::telling("fails", &log, || ready(Err(HookError::Failed("x".to_owned())))),
        Scripted::saying("rewrites", 0, json!({"params": {"b": 3}}), &Log::default()),
        Scripted::telling("last", &log, || ready(Ok(()))),
    ];
    let hooks = Hooks::new(all, Merge::LastWins, tracker.clone()).unwrap();
    hooks.before(&call()).await.unwrap();
    log.take();
    ended(&call(), &hooks);
    tracker.close();
    tracker.wait().await;
    let told = r#"{"toolName":"t","params":{"a":1,"b":3},"callId":"1","result":{"text":"x"},"durationMs":7}"#;
    let expected = ["panics", "hangs", "fails", "last"].map(|name| format!("{name} told {told}"));
    assert_eq!(log.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn calls_after_which_hooks_wait_are_bounded() {
    let (log, open) = (Log::default(), Arc::new(Notify::new()));
    let gate = Arc::clone(&open);
    let slow = Scripted::telling("slow", &log, move || {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            Ok(())
        }
    });
    let tracker = TaskTracker::new();
    let hooks = Hooks::new(vec![slow], Merge::LastWins, tracker.clone()).unwrap();
    for _ in 0..MAX_TOLD + 50 {
        ended(&call(), &hooks);
    }
    assert_eq!(tracker.len(), MAX_TOLD);
    tokio::task::yield_now().await;
    assert_eq!(log.take().len(), MAX_AT_ONCE);
    tracker.close();
    tracker.wait().await;
    assert_eq!(log.take().len(), MAX_TOLD - MAX_AT_ONCE, "those that hang make room when their time is over");
}

fn external(programs: Arc<dyn Programs>, moments: Moments) -> External {
    let command =
        Command { name: "audit".to_owned(), argv: vec!["/bin/audit".to_owned()], priority: 3, moments };
    External::new(command, programs)
}

/// What comes of a program that ends so, for a call with `{"a":1,"b":2}`.
async fn check_program(result: Result<Printed, ProgramError>, expected: Result<Value, &str>) {
    let hook = external(Answers::always(result.clone()), Moments::Before);
    let got = blocked(hooks(vec![Arc::new(hook)], Merge::LastWins).before(&call()).await);
    // Where in its text a parser noticed is the parser's.
    let got = got.map_err(|reason| match reason.split_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => reason,
    });
    let expected = expected.map_err(|reason| match reason.strip_prefix("= ") {
        Some(said) => said.to_owned(),
        None => format!("Tool call blocked by plugin hook audit: it {reason}"),
    });
    assert_eq!(got, expected, "{result:?}");
}

#[tokio::test]
async fn a_program_answers_by_one_object_and_its_remarks_count_for_nothing() {
    let same = json!({"a": 1, "b": 2});
    for nothing in ["{}", " {} \n", r#"{"params":null,"block":null,"blockReason":null}"#] {
        check_program(Ok(printed(nothing, "")), Ok(same.clone())).await;
    }
    check_program(Ok(printed("{}", r#"{"block":true}"#)), Ok(same.clone())).await;
    check_program(Ok(printed(r#"{"params":{"a":5}}"#, "note\n")), Ok(json!({"a": 5, "b": 2}))).await;
    check_program(Ok(printed(r#"{"block":true,"blockReason":"no"}"#, "")), Err("= no")).await;
    check_program(Ok(printed(r#"{"block":true}"#, "")), Err("= Tool call blocked by plugin hook")).await;
}

#[tokio::test]
async fn whatever_is_not_exactly_an_answer_blocks() {
    let object = "expected to print a JSON object such as {\"block\":true}, got";
    for nothing in ["", " \n"] {
        check_program(Ok(printed(nothing, "")), Err(&format!("{object} nothing"))).await;
        check_program(Ok(printed(nothing, "{}")), Err(&format!("{object} nothing"))).await;
    }
    for other in ["null", "[]", "[{}, false, null]", "true", "ok", "\u{feff}{}", "Warning!\n{}"] {
        check_program(Ok(printed(other, "")), Err(&format!("{object} something else"))).await;
    }
    for (text, why) in [
        ("{", "EOF while parsing an object"),
        ("{} {}", "trailing characters"),
        (r#"{"block":"true"}"#, "invalid type: string \"true\", expected a boolean"),
        (r#"{"block":1}"#, "invalid type: integer `1`, expected a boolean"),
        (r#"{"params":[]}"#, "invalid type: sequence, expected a map"),
        (r#"{"blockReason":{}}"#, "invalid type: map, expected a string"),
        (r#"{"block":true,"block":false}"#, "duplicate field `block`"),
        (r#"{"blok":true}"#, "unknown field `blok`, expected one of `params`, `block`, `blockReason`"),
        (
            r#"{"requireApproval":{}}"#,
            "unknown field `requireApproval`, expected one of `params`, `block`, `blockReason`",
        ),
    ] {
        check_program(Ok(printed(text, "")), Err(&format!("printed no valid answer: {why}"))).await;
    }
    let long = format!("{{}}{}", " ".repeat(external::MAX_PRINTED - 2));
    check_program(Ok(printed(&long, "")), Ok(json!({"a": 1, "b": 2}))).await;
    check_program(Ok(printed(&long, "x")), Err("printed more than 256000 bytes")).await;
    check_program(Ok(printed(&format!("{long} "), "")), Err("printed more than 256000 bytes")).await;
}

#[tokio::test]
async fn a_program_that_does_not_end_well_blocks() {
    let failed = |said: &str| Err(ProgramError::Failed { text: "exit 1".to_owned(), said: said.to_owned() });
    // Whatever it printed before.
    check_program(failed(r#"{"block":false}"#), Err(r#"failed: exit 1: {"block":false}"#)).await;
    check_program(failed(" \n"), Err("failed: exit 1")).await;
    check_program(failed("\u{1b}[2Jno\n"), Err("failed: exit 1: \\u{1B}[2Jno")).await;
    let gone = Err(ProgramError::NotStarted("No such file".to_owned()));
    check_program(gone, Err("could not be started: No such file")).await;
    check_program(Err(ProgramError::TimedOut(HOOK_TIME)), Err("did not answer within 15 s")).await;
    check_program(Err(ProgramError::Aborted), Err("was ended because nobody waits for it any more")).await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_never_answers_blocks_too() {
    let hook = external(Answers::by(|_, _, _, _| Box::pin(pending())), Moments::Before);
    let got = blocked(hooks(vec![Arc::new(hook)], Merge::LastWins).before(&call()).await);
    assert_eq!(got, Err("Tool call blocked by plugin hook audit: it did not answer within 15 s".to_owned()));
}

#[tokio::test]
async fn a_program_is_told_by_json_at_its_moments() {
    for (moments, before, after) in
        [(Moments::Before, true, false), (Moments::After, false, true), (Moments::Both, true, true)]
    {
        let log = Log::default();
        let told = log.clone();
        let programs = Answers::by(move |argv, input, limits, _| {
            assert_eq!(argv, ["/bin/audit"]);
            assert_eq!(limits, Limits { time: HOOK_TIME, output: external::MAX_PRINTED + 64 });
            told.note(input.to_string());
            Box::pin(ready(Ok(printed("{}", ""))))
        });
        let tracker = TaskTracker::new();
        let hook = Arc::new(external(programs, moments));
        assert_eq!((hook.name(), hook.priority()), ("audit", 3));
        let hooks = Hooks::new(vec![hook], Merge::LastWins, tracker.clone()).unwrap();
        let call = Call { run_id: Some("r".to_owned()), ..call() };
        hooks.before(&call).await.unwrap();
        ended(&call, &hooks);
        tracker.close();
        tracker.wait().await;
        let context = r#""context":{"toolName":"t","agentId":"coder","sessionKey":"s1"}"#;
        let event = r#""toolName":"t","params":{"a":1,"b":2},"callId":"1","runId":"r""#;
        let first = format!(r#"{{"hook":"before_tool_call","event":{{{event}}},{context}}}"#);
        let end = r#","result":{"text":"x"},"durationMs":7"#;
        let second = format!(r#"{{"hook":"after_tool_call","event":{{{event}{end}}},{context}}}"#);
        let expected: Vec<String> = [(before, first), (after, second)]
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, text)| text)
            .collect();
        assert_eq!(log.take(), expected, "{moments:?}");
    }
}
