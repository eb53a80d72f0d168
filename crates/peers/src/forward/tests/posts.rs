//! Programs and webhooks.

use super::*;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn a_request_and_its_end_are_told_in_order() {
    let mut server = Server::answering(vec![status("200 OK"); 2]).await;
    let folder = tempfile::tempdir().unwrap();
    let tell = program(&folder, "#!/bin/sh\ncat >> \"$1\"; echo >> \"$1\"");
    let (here, ids) = Here::to(vec![webhook(&server.url()), tell]).await;
    let _ticket = here.ask("r-1").await;
    here.answer("r-1", Decision::Deny).await;
    for id in &ids {
        let now = here.until(id, |now| now.delivered == 2).await;
        assert_eq!((now.waiting, now.failed, now.failure), (0, 0, None));
    }
    let told = std::fs::read_to_string(folder.path().join("told")).unwrap();
    let by_program = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for (position, message) in by_program.enumerate() {
        let posted = json_of(&server.requests.recv().await.unwrap());
        for message in [message, posted] {
            assert_eq!(message["type"], ["requested", "resolved"][position]);
            assert_eq!(message["request"]["command"], "rm -rf build");
            assert_eq!(message["request"]["id"], "r-1");
        }
    }
    here.stop().await;
}

#[tokio::test]
async fn one_that_hangs_delays_no_approval_and_no_other_target() {
    let (silent, mut good) =
        (Server::answering(Vec::new()).await, Server::answering(vec![status("200 OK"); 40]).await);
    let folder = tempfile::tempdir().unwrap();
    let hangs = program(&folder, "#!/bin/sh\ntrap '' TERM; sleep 1000");
    let (here, ids) = Here::to(vec![webhook(&silent.url()), hangs, webhook(&good.url())]).await;
    for at in 0..20 {
        let id = format!("r-{at}");
        let ticket = here.ask(&id).await;
        here.answer(&id, Decision::AllowOnce).await;
        let by = "window".to_owned();
        assert_eq!(ticket.ended().await, Ending::Decided { decision: Decision::AllowOnce, by });
    }
    here.until(&ids[2], |now| now.delivered == 40).await;
    assert_eq!(json_of(&good.requests.recv().await.unwrap())["request"]["id"], "r-0");
    // Neither of the others was given up before: all that was for them still waits.
    for id in &ids[..2] {
        let now = here.now(id);
        assert_eq!((now.delivered, now.failed, now.waiting), (0, 0, 40));
    }
    here.stop().await;
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_the_page_says_so() {
    let mut server = Server::answering(vec![status("503 Busy"), status("200 OK")]).await;
    let (here, ids) = Here::to(vec![webhook(&server.url())]).await;
    let _ticket = here.ask("r-1").await;
    let now = here.until(&ids[0], |now| now.failure.is_some()).await;
    let failure = now.failure.unwrap();
    assert!(failure.retries && failure.text.contains("503"), "{failure:?}");
    let now = here.until(&ids[0], |now| now.delivered == 1).await;
    assert_eq!((now.failure, now.failed, now.waiting), (None, 0, 0));
    let delivery = |request: String| json_of(&request)["deliveryId"].clone();
    let first = delivery(server.requests.recv().await.unwrap());
    assert_eq!(first, delivery(server.requests.recv().await.unwrap()), "known again when it comes twice");
    here.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_is_never_there_is_given_up_after_a_bounded_time() {
    // A port that nobody listens on: it refuses at once.
    let port = Server::answering(Vec::new()).await.port;
    let place =
        ForwardPlace::Webhook { url: format!("http://[::1]:{port}/"), pin: None, auth: WebhookAuth::None };
    let address = match (Target {
        id: uuid::Uuid::nil().to_string(),
        name: "x".to_owned(),
        enabled: true,
        place,
        has_secret: false,
    })
    .checked()
    .unwrap()
    {
        Destination::Webhook { address, .. } => address,
        other => panic!("expected a webhook, got {other:?}"),
    };
    let ports = Ports::system();
    let meter = Meter::new("t".to_owned(), Arc::clone(&ports.clock), watch::Sender::new(()));
    let queue = Queue::new(meter.clone());
    let record = sample::record(&ports);
    queue.push(Message::new(&record, What::Requested, "d-1".to_owned(), 0, Sample::No));
    let receiver = Receiver::Webhook(Webhook { address, pin: None, auth: WebhookAuth::None, secret: None });
    let closing = CancellationToken::new();
    let gone = CancellationToken::new();
    let began = tokio::time::Instant::now();
    let delivering = post::deliver(receiver, queue, Arc::clone(&ports.clock), gone.clone(), closing);
    let watching = async {
        while meter.now().failed == 0 {
            tokio::time::sleep(PAUSE).await;
        }
        gone.cancel();
    };
    tokio::join!(delivering, watching);
    let waits: Duration = post::WAITS.iter().sum();
    // Each try has an end too, whenever the machine says that nobody is there.
    let tries = webhook::LIMIT * u32::try_from(post::WAITS.len() + 1).unwrap();
    assert!(began.elapsed() >= waits && began.elapsed() <= waits + tries + PAUSE, "{:?}", began.elapsed());
    assert!(!meter.now().failure.unwrap().retries);
}

#[tokio::test]
async fn a_full_queue_drops_the_oldest_and_says_how_many() {
    let silent = Server::answering(Vec::new()).await;
    let (here, ids) = Here::to(vec![webhook(&silent.url())]).await;
    let mut tickets = Vec::new();
    for at in 0..=post::MAX_WAITING / 2 + 5 {
        let id = format!("r-{at}");
        tickets.push(here.ask(&id).await);
        here.answer(&id, Decision::Deny).await;
    }
    let all = u64::try_from(tickets.len() * 2).unwrap();
    let now = here.until(&ids[0], |now| u64::from(now.waiting) + now.dropped == all).await;
    assert!(now.dropped >= 1 && usize::try_from(now.waiting).unwrap() <= post::MAX_WAITING + 1, "{now:?}");
    here.stop().await;
}

#[tokio::test]
async fn nothing_is_told_that_is_filtered_turned_off_or_was_handed_on_to_here() {
    let mut server = Server::answering(vec![status("200 OK"); 9]).await;
    let (here, ids) = Here::to(vec![webhook(&server.url())]).await;
    let check = async |settings: ForwardSettings, id: &str, told: bool| {
        here.forward.set(settings).await.unwrap();
        let before = here.now(&ids[0]);
        let _ticket = here.ask(id).await;
        here.answer(id, Decision::Deny).await;
        if told {
            here.until(&ids[0], |now| now.delivered == before.delivered + 2).await;
        } else {
            // What follows is told and comes after: nothing was before it.
            assert_eq!(here.now(&ids[0]).delivered, before.delivered, "{id}");
        }
    };
    let agents = |agent: &str| ForwardSettings { agent_filter: vec![agent.to_owned()], ..on() };
    let sessions = |session: &str| ForwardSettings { session_filter: vec![session.to_owned()], ..on() };
    check(ForwardSettings { enabled: false, ..on() }, "r-1", false).await;
    check(ForwardSettings { mode: ForwardMode::Session, ..on() }, "r-2", false).await;
    check(agents("main"), "r-3", false).await;
    check(agents("coder"), "r-4", true).await;
    check(sessions("telegram"), "r-5", false).await;
    check(sessions("^agent:coder"), "r-6", true).await;
    check(on(), "countersign-fwd.0123456789abcdef.1", false).await;
    check(ForwardSettings { mode: ForwardMode::Both, ..on() }, "r-7", true).await;
    let mut ids = Vec::new();
    while let Ok(request) = server.requests.try_recv() {
        ids.push(json_of(&request)["request"]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids, ["r-4", "r-4", "r-6", "r-6", "r-7", "r-7"]);
    here.stop().await;
}

#[tokio::test]
async fn what_waits_at_the_end_is_told_to_be_over_in_bounded_time() {
    let (mut server, silent) =
        (Server::answering(vec![status("200 OK"); 2]).await, Server::answering(Vec::new()).await);
    let folder = tempfile::tempdir().unwrap();
    let hangs = program(&folder, "#!/bin/sh\ntrap '' TERM; sleep 1000");
    let (here, ids) = Here::to(vec![webhook(&server.url()), webhook(&silent.url()), hangs]).await;
    let _ticket = here.ask("r-1").await;
    here.until(&ids[0], |now| now.delivered == 1).await;
    here.stop().await;
    let told = [server.requests.recv().await.unwrap(), server.requests.recv().await.unwrap()];
    assert_eq!(json_of(&told[0])["type"], "requested");
    assert_eq!(json_of(&told[1])["ending"], json!({"cause": "shutdown"}));
}

#[tokio::test]
async fn t03_a_secret_is_kept_apart_and_never_goes_anywhere_else() {
    let mut server = Server::answering(vec![status("200 OK"); 3]).await;
    let here = Here::new();
    let place =
        |url: &str| ForwardPlace::Webhook { url: url.to_owned(), pin: None, auth: WebhookAuth::Bearer };
    let secret = SecretEdit::Set { value: " s3cret-of-the-hook ".to_owned() };
    let edit = ForwardTargetEdit { secret, ..target("hook", place(&server.url())) };
    let without = ForwardTargetEdit { secret: SecretEdit::Clear, ..edit.clone() };
    assert!(invalid_text(here.forward.save(without).await).starts_with("secret: expected one"));
    here.forward.save(edit.clone()).await.unwrap();
    let view = here.forward.view();
    let id = view.targets[0].id.clone();
    assert!(view.targets[0].has_secret);
    let stored = std::fs::read_to_string(paths(&here.folder).forward()).unwrap();
    for text in [format!("{view:?}"), serde_json::to_string(&view).unwrap(), format!("{edit:?}"), stored] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    let file = paths(&here.folder).forward_secrets().join(format!("{id}.secret"));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(here.forward.sample(&id).await.unwrap(), SampleResult::Delivered { .. }));
    assert!(server.requests.recv().await.unwrap().contains("Bearer s3cret-of-the-hook\r\n"));
    // Another name keeps it, another place does not.
    let again = |place: ForwardPlace| ForwardTargetEdit {
        id: Some(id.clone()),
        secret: SecretEdit::Keep,
        ..target("renamed", place)
    };
    here.forward.save(again(place(&server.url()))).await.unwrap();
    assert!(here.forward.view().targets[0].has_secret);
    let moved = here.forward.save(again(place("https://elsewhere.example/"))).await;
    assert!(invalid_text(moved).starts_with("secret: expected it again"));
    here.forward.save(again(webhook(&server.url()))).await.unwrap();
    assert!(!here.forward.view().targets[0].has_secret && !file.exists());
    here.stop().await;
}

#[tokio::test]
async fn a_target_is_changed_turned_off_and_removed_and_the_file_says_the_same() {
    let server = Server::answering(Vec::new()).await;
    let (here, ids) = Here::to(vec![webhook(&server.url())]).await;
    let folder = tempfile::tempdir().unwrap();
    let edit = |place| ForwardTargetEdit { id: Some(ids[0].clone()), ..target("other", place) };
    let missing = ForwardPlace::Command { argv: vec![folder.path().join("no").display().to_string()] };
    assert!(
        invalid_text(here.forward.save(edit(missing)).await).starts_with("program: expected an executable")
    );
    here.forward.save(edit(program(&folder, "#!/bin/sh\nexit 4"))).await.unwrap();
    let SampleResult::Failed { text } = here.forward.sample(&ids[0]).await.unwrap() else { panic!("exit 4") };
    assert_eq!(text, "exit 4");
    let off = ForwardTargetEdit { enabled: false, ..edit(webhook(&server.url())) };
    here.forward.save(off).await.unwrap();
    let _ticket = here.ask("r-1").await;
    assert_eq!(here.now(&ids[0]), ForwardNow::default());
    let view = here.forward.view();
    let here = Here::in_folder(here.stop().await);
    assert_eq!(here.forward.view(), view);
    here.forward.remove(&ids[0]).await.unwrap();
    assert!(matches!(here.forward.remove(&ids[0]).await, Err(ForwardError::Gone)));
    assert!(matches!(here.forward.sample(&ids[0]).await, Err(ForwardError::Gone)));
    let here = Here::in_folder(here.stop().await);
    assert!(here.forward.view().targets.is_empty() && here.forward.view().enabled);
    std::fs::write(paths(&here.folder).forward(), "{").unwrap();
    let here = Here::in_folder(here.stop().await);
    assert!(here.forward.view().broken.unwrap().contains("cannot be understood"));
    assert!(matches!(here.forward.set(on()).await, Err(ForwardError::Broken(_))));
    assert_eq!(std::fs::read_to_string(paths(&here.folder).forward()).unwrap(), "{", "it is not overwritten");
}

/// Between two looks, by a clock that goes on when nobody has anything to do.
const PAUSE: Duration = Duration::from_millis(100);
