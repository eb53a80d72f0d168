//! What is kept of runs, for whom, how many and for how long.

use super::state::{MAX_KEPT, MAX_KEPT_OF_ONE};
use super::*;
use crate::testing::unheard;
use crate::tool::Caller;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::limits::OUTPUT_BYTES;
use pretty_assertions::assert_eq;
use serde_json::Map;
use std::future::{pending, ready};
use std::sync::atomic::{AtomicUsize, Ordering};

fn runs() -> (Runs, CancellationToken) {
    let (next, stop) = (AtomicUsize::new(0), CancellationToken::new());
    let ids = Arc::new(move || format!("r{}", next.fetch_add(1, Ordering::SeqCst)));
    (Runs::new(ids, TaskTracker::new(), stop.clone()), stop)
}

fn owner(agent: &str, session: Option<&str>) -> Owner {
    let (agent, session) = (AgentId::of(Some(agent)), SessionKey::of(session));
    Owner::of(&Caller { agent, session, ..Caller::default() })
}

fn me() -> Owner {
    owner("coder", Some("s1"))
}

fn finish(output: &str) -> Finish {
    Finish {
        output: output.to_owned(),
        status: "exit 0".to_owned(),
        success: Success::Yes,
        details: Map::new(),
    }
}

/// Starts something and leaves it at once.
async fn leave<F: Future<Output = Result<Finish, ToolError>> + Send + 'static>(
    runs: &Runs,
    owner: Owner,
    job: impl FnOnce(Ear, CancellationToken) -> F,
) -> String {
    let abort = CancellationToken::new();
    match runs.run(owner, "label", unheard(), Patience::AtOnce, &abort, job).await {
        Ok(Followed::Left { id, .. }) => id,
        other => panic!("expected it to be left, got {other:?}"),
    }
}

/// Runs to its stop.
async fn stopped(_ear: Ear, stop: CancellationToken) -> Result<Finish, ToolError> {
    stop.cancelled().await;
    Ok(finish("stopped"))
}

fn ids(runs: &Runs, owner: &Owner) -> Vec<String> {
    runs.list(owner).into_iter().map(|view| view.id).collect()
}

#[tokio::test]
async fn an_agent_sees_the_runs_of_its_session_and_no_others() {
    let (runs, _stop) = runs();
    let id = leave(&runs, me(), stopped).await;
    assert_eq!(ids(&runs, &owner(" coder ", Some("s1 "))), std::slice::from_ref(&id));
    let main = leave(&runs, owner("", None), stopped).await;
    assert_eq!(ids(&runs, &owner("main", Some(" "))), [main]);
    let unknown = NoRun::Unknown(id.clone());
    for other in [owner("coder", Some("s2")), owner("coder", None), owner("main", Some("s1"))] {
        assert!(!ids(&runs, &other).contains(&id));
        assert_eq!(runs.poll(&other, &id, Duration::ZERO).await, Err(unknown.clone()));
        assert_eq!(runs.log(&other, &id), Err(unknown.clone()));
        assert_eq!(runs.kill(&other, &id).await, Err(unknown.clone()));
        assert_eq!(runs.remove(&other, &id), Err(unknown.clone()));
        assert_eq!(runs.clear(&other, Some(&id)), Err(unknown.clone()));
        assert_eq!(runs.clear(&other, None), Ok(0));
    }
    assert_eq!(runs.list(&me())[0].state, RunState::Running);
}

#[tokio::test]
async fn a_run_that_a_call_waits_for_is_that_calls_alone() {
    let (runs, _stop) = runs();
    let seen = runs.clone();
    let job = |_ear, _stop| async move {
        assert!(seen.list(&me()).is_empty());
        assert_eq!(seen.log(&me(), "r0"), Err(NoRun::Unknown("r0".to_owned())));
        Ok(finish("x"))
    };
    let abort = CancellationToken::new();
    let followed = runs.run(me(), "", unheard(), Patience::ToTheEnd, &abort, job).await.unwrap();
    assert_eq!(followed, Followed::Ended(finish("x")));
    assert!(runs.state().runs.is_empty());
}

#[tokio::test(start_paused = true)]
async fn patience_begins_when_a_run_has_started() {
    let (runs, _stop) = runs();
    let job = |ear: Ear, stop: CancellationToken| async move {
        sleep(Duration::from_secs(3_600)).await;
        ear.hear(Heard::Printed("before\n"));
        ear.hear(Heard::Started);
        stop.cancelled().await;
        Err(ToolError::Aborted)
    };
    let began = Instant::now();
    let patience = Patience::Started(Duration::from_secs(10));
    let abort = CancellationToken::new();
    let followed = runs.run(me(), "", unheard(), patience, &abort, job).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_secs(3_610));
    assert_eq!(followed, Followed::Left { id: "r0".to_owned(), output: "before\n".to_owned() });
    // Whoever called it has no more to do with it.
    abort.cancel();
    assert_eq!(runs.list(&me())[0].state, RunState::Running);
}

#[tokio::test(start_paused = true)]
async fn calling_off_ends_the_run_and_waits_for_that() {
    let (runs, _stop) = runs();
    let job = |_ear, stop: CancellationToken| async move {
        stop.cancelled().await;
        sleep(Duration::from_secs(2)).await;
        Ok(finish("too late"))
    };
    let (abort, began) = (CancellationToken::new(), Instant::now());
    let running = runs.run(me(), "", unheard(), Patience::ToTheEnd, &abort, job);
    let (result, ()) = tokio::join!(running, async {
        tokio::task::yield_now().await;
        abort.cancel();
    });
    assert!(matches!(result, Err(ToolError::Aborted)));
    assert_eq!(began.elapsed(), Duration::from_secs(2));
    assert!(runs.state().runs.is_empty());
}

#[tokio::test(start_paused = true)]
async fn dropping_whoever_waits_ends_the_run_and_forgets_it() {
    let (runs, _stop) = runs();
    let abort = CancellationToken::new();
    let running = runs.run(me(), "", unheard(), Patience::ToTheEnd, &abort, stopped);
    assert!(timeout(Duration::from_secs(1), running).await.is_err());
    runs.inner.tracker.close();
    runs.inner.tracker.wait().await;
    assert!(runs.state().runs.is_empty());
}

#[tokio::test(start_paused = true)]
async fn polls_bring_what_is_new_and_wait_for_it() {
    let (runs, _stop) = runs();
    let id = leave(&runs, me(), |ear: Ear, _stop| async move {
        for number in 0..3 {
            sleep(Duration::from_secs(10)).await;
            ear.hear(Heard::Printed(&format!("line {number}\n")));
        }
        Ok(finish("line 0\nline 1\nline 2\n"))
    })
    .await;
    let poll = |seconds| {
        let (runs, id) = (runs.clone(), id.clone());
        async move { runs.poll(&me(), &id, Duration::from_secs(seconds)).await.unwrap() }
    };
    let began = Instant::now();
    assert_eq!(poll(0).await.output, "");
    assert_eq!((poll(60).await.output.as_str(), began.elapsed().as_secs()), ("line 0\n", 10));
    assert_eq!((poll(3).await.output.as_str(), began.elapsed().as_secs()), ("", 13));
    sleep(Duration::from_secs(20)).await;
    let last = poll(60).await;
    assert_eq!((last.output.as_str(), last.age.as_secs()), ("line 1\nline 2\n", 30));
    assert!(matches!(last.state, RunState::Ended { .. }));
    assert_eq!(began.elapsed().as_secs(), 33, "its end needs no waiting");
    assert_eq!(poll(60).await.output, "");
    assert_eq!(runs.log(&me(), &id).unwrap().output, "line 0\nline 1\nline 2\n");
}

#[tokio::test]
async fn what_is_known_only_at_the_end_is_polled_once() {
    let (runs, _stop) = runs();
    let id = leave(&runs, me(), |_ear, _stop| ready(Ok(finish("all")))).await;
    for new in ["all", ""] {
        assert_eq!(runs.poll(&me(), &id, Duration::from_secs(1)).await.unwrap().output, new);
    }
    assert_eq!(runs.log(&me(), &id).unwrap().output, "all");
}

#[tokio::test]
async fn runs_are_ended_removed_and_cleared() {
    let (runs, _stop) = runs();
    let id = leave(&runs, me(), stopped).await;
    assert_eq!(runs.clear(&me(), Some(&id)), Err(NoRun::Runs(id.clone())));
    assert_eq!(runs.clear(&me(), None), Ok(0));
    assert!(matches!(runs.kill(&me(), &id).await.unwrap().state, RunState::Ended { .. }));
    assert_eq!(runs.clear(&me(), Some(&id)), Ok(1));
    assert_eq!(runs.log(&me(), &id), Err(NoRun::Unknown(id)));

    let id = leave(&runs, me(), stopped).await;
    runs.remove(&me(), &id).unwrap();
    assert!(runs.list(&me()).is_empty(), "at once");
    let id = leave(&runs, me(), |_ear, _stop| ready(Err(ToolError::Denied("no".to_owned())))).await;
    let denied = runs.poll(&me(), &id, Duration::from_secs(1)).await.unwrap();
    assert_eq!(denied.state, RunState::Failed("no".to_owned()));
    runs.remove(&me(), &id).unwrap();
    runs.inner.tracker.close();
    runs.inner.tracker.wait().await;
    assert!(runs.state().runs.is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_end_is_not_waited_for_and_keeps_its_place() {
    let (runs, _stop) = runs();
    let id = leave(&runs, me(), |_ear, _stop| pending()).await;
    let began = Instant::now();
    assert_eq!(runs.kill(&me(), &id).await.unwrap().state, RunState::Running);
    assert_eq!(began.elapsed(), KILL_WAIT);
    runs.remove(&me(), &id).unwrap();
    assert!(runs.list(&me()).is_empty());
    assert_eq!(runs.state().runs.len(), 1);
}

#[tokio::test]
async fn a_run_that_panics_has_ended() {
    let (runs, _stop) = runs();
    let id = leave(&runs, me(), |_ear, _stop| async { panic!("on purpose") }).await;
    let view = runs.poll(&me(), &id, Duration::from_secs(1)).await.unwrap();
    assert_eq!(view.state, RunState::Failed("it ended unexpectedly".to_owned()));
}

#[tokio::test]
async fn all_runs_end_with_the_app() {
    let (runs, stop) = runs();
    let id = leave(&runs, me(), stopped).await;
    stop.cancel();
    runs.inner.tracker.close();
    runs.inner.tracker.wait().await;
    assert_eq!(runs.log(&me(), &id).unwrap().output, "stopped");
}

#[tokio::test]
async fn what_runs_is_bounded_for_each_session_and_for_all() {
    let (runs, _stop) = runs();
    let refused = |owner: Owner| {
        let runs = runs.clone();
        async move {
            let abort = CancellationToken::new();
            let run = runs.run(owner, "", unheard(), Patience::AtOnce, &abort, stopped).await;
            run.unwrap_err().to_string()
        }
    };
    let mut first = String::new();
    for number in 0..MAX_RUNNING {
        let session = format!("s{}", number / MAX_RUNNING_OF_ONE);
        first = leave(&runs, owner("coder", Some(&session)), stopped).await;
        if number == MAX_RUNNING_OF_ONE - 1 {
            let expected = "too many calls at once: 64 runs of this session; try again when some have ended";
            assert_eq!(refused(owner("coder", Some("s0"))).await, expected);
        }
    }
    let expected = "too many calls at once: 256 runs; try again when some have ended";
    assert_eq!(refused(owner("other", None)).await, expected);
    let last = owner("coder", Some("s3"));
    runs.kill(&last, &first).await.unwrap();
    leave(&runs, owner("other", None), stopped).await;
}

#[tokio::test]
async fn what_is_kept_is_bounded_and_the_oldest_make_room() {
    let (runs, _stop) = runs();
    let mut left = Vec::new();
    for _ in 0..MAX_KEPT_OF_ONE + 5 {
        left.push(leave(&runs, me(), |_ear, _stop| ready(Ok(finish("x")))).await);
    }
    let other = owner("other", None);
    let others = leave(&runs, other.clone(), |_ear, _stop| ready(Ok(finish("x")))).await;
    while runs.state().runs.values().any(|run| run.end.is_none()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(ids(&runs, &me()), left[5..]);
    assert_eq!(ids(&runs, &other), [others]);
    for session in 0..2 * MAX_KEPT {
        leave(&runs, owner("many", Some(&session.to_string())), |_ear, _stop| ready(Ok(finish("x")))).await;
        tokio::task::yield_now().await;
    }
    while runs.state().runs.values().any(|run| run.end.is_none()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(runs.state().runs.len(), MAX_KEPT);
    assert!(ids(&runs, &me()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_is_kept_for_half_an_hour() {
    let (runs, _stop) = runs();
    let id = leave(&runs, me(), |_ear, _stop| ready(Ok(finish("x")))).await;
    let long = leave(&runs, me(), stopped).await;
    runs.poll(&me(), &id, Duration::from_secs(1)).await.unwrap();
    sleep(KEPT_FOR - Duration::from_secs(1)).await;
    assert_eq!(ids(&runs, &me()), [id, long.clone()]);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ids(&runs, &me()), [long], "what runs is kept");
}

#[tokio::test]
async fn output_beyond_the_bound_is_cut_and_said_to_be() {
    let (runs, _stop) = runs();
    let much = "\u{20ac}".repeat(OUTPUT_BYTES);
    let id = leave(&runs, me(), |_ear, _stop| ready(Ok(finish(&much)))).await;
    let output = runs.poll(&me(), &id, Duration::from_secs(1)).await.unwrap().output;
    assert!(output.len() <= OUTPUT_BYTES && output.len() > OUTPUT_BYTES - 4);
    assert!(output.ends_with("\u{20ac}\n... (truncated)"));
}

#[tokio::test]
async fn a_terminal_is_typed_in_by_its_own_agent_alone_as_long_as_it_reads() {
    let (runs, _stop) = runs();
    let (keys, mut typed) = mpsc::channel(1);
    let id = leave(&runs, me(), |ear, stop| async move {
        ear.hear(Heard::Terminal(&keys));
        stopped(ear, stop).await
    })
    .await;
    while runs.reader(&me(), &id).is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(runs.reader(&me(), &id).unwrap(), "label");
    for other in [owner("coder", Some("s2")), owner("other", Some("s1")), owner("coder", None)] {
        let unknown = NoRun::Unknown(id.clone());
        assert_eq!(runs.reader(&other, &id), Err(unknown.clone()));
        assert_eq!(runs.write(&other, &id, b"x".to_vec()), Err(unknown));
    }
    runs.write(&me(), &id, b"ls\n".to_vec()).unwrap();
    assert_eq!(runs.write(&me(), &id, b"pwd\n".to_vec()), Err(NoRun::Busy(id.clone())));
    assert_eq!(typed.recv().await.as_deref(), Some(&b"ls\n"[..]));
    runs.kill(&me(), &id).await.unwrap();
    assert_eq!(runs.write(&me(), &id, b"late".to_vec()), Err(NoRun::Deaf(id.clone())));
    let silent = leave(&runs, me(), stopped).await;
    assert_eq!(runs.reader(&me(), &silent), Err(NoRun::Deaf(silent.clone())));
}
