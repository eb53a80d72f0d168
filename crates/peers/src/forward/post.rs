//! A target that is only told: a queue, one message after the other, a bounded number of tries for each.

use super::message::Message;
use super::meter::Meter;
use super::webhook::Webhook;
use countersign_approvals::ports::Clock;
use countersign_node::executor::program::{CallError, Limits, Program};
use countersign_policy::display;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Who is told.
pub(super) enum Receiver {
    /// A program of the person's, with this environment.
    Command { program: Program, environment: Arc<BTreeMap<String, String>> },
    /// An HTTP server.
    Webhook(Webhook),
}

/// Why a message did not arrive.
#[derive(Debug)]
pub(super) struct Undelivered {
    /// For the person, escaped.
    pub(super) text: String,
    pub(super) again: Again,
}

/// Whether another try may help.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Again {
    No,
    Yes,
}

impl Undelivered {
    pub(super) fn new(text: String, again: Again) -> Self {
        let text: String = text.chars().take(MAX_REASON).collect();
        Self { text: display::escape(text.trim()), again }
    }
}

impl Receiver {
    /// Tries once. Bounded in time.
    pub(super) async fn tell(&self, message: &Message, clock: &dyn Clock) -> Result<(), Undelivered> {
        match self {
            Self::Webhook(webhook) => webhook.post(message, clock.now_ms()).await,
            Self::Command { program, environment } => {
                let called = program.call(&message.body, environment, LIMITS, CancellationToken::new());
                called.await.map(|_| ()).map_err(|error| {
                    let again = match &error {
                        // What is not there will not be there in a few seconds.
                        CallError::NotStarted(_) => Again::No,
                        _ => Again::Yes,
                    };
                    let text = match &error {
                        CallError::Failed { text, said } if !said.trim().is_empty() => {
                            format!("{text}: {}", display::output_tail(said.trim(), MAX_SAID))
                        }
                        other => other.to_string(),
                    };
                    Undelivered::new(text, again)
                })
            }
        }
    }
}

/// What waits for one receiver. Clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    waiting: Arc<Mutex<VecDeque<Message>>>,
    more: Arc<Notify>,
    meter: Meter,
}

impl Queue {
    pub(super) fn new(meter: Meter) -> Self {
        Self { waiting: Arc::default(), more: Arc::default(), meter }
    }

    /// Adds a message; the oldest that waits makes room.
    pub(super) fn push(&self, message: Message) {
        let mut waiting = self.waiting();
        let dropped = if waiting.len() >= MAX_WAITING { waiting.pop_front() } else { None };
        waiting.push_back(message);
        drop(waiting);
        match dropped {
            None => self.meter.waits(),
            Some(dropped) => self.meter.dropped(&dropped.delivery),
        }
        self.more.notify_one();
    }

    fn pop(&self) -> Option<Message> {
        self.waiting().pop_front()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Message>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Delivers what a queue has, in its order. Ends at once with `gone`, and soon after `closing`, which comes
/// after the last message: what waits then is tried once.
pub(super) async fn deliver(
    receiver: Receiver,
    queue: Queue,
    clock: Arc<dyn Clock>,
    gone: CancellationToken,
    closing: CancellationToken,
) {
    let late = async {
        closing.cancelled().await;
        tokio::time::sleep(FAREWELL).await;
    };
    let delivering = async {
        loop {
            match queue.pop() {
                Some(message) => carry(&receiver, &queue.meter, &message, &*clock, &closing).await,
                None if closing.is_cancelled() => return,
                None => tokio::select! {
                    () = queue.more.notified() => {}
                    () = closing.cancelled() => {}
                },
            }
        }
    };
    // Dropping what is on its way ends it: a connection is closed, a program killed.
    tokio::select! {
        () = delivering => {}
        () = gone.cancelled() => {}
        () = late => {}
    }
}

/// Tries until it arrived, cannot arrive, or was tried often enough.
async fn carry(
    receiver: &Receiver,
    meter: &Meter,
    message: &Message,
    clock: &dyn Clock,
    closing: &CancellationToken,
) {
    let mut waits = WAITS.iter();
    loop {
        let Undelivered { text, again } = match receiver.tell(message, clock).await {
            Ok(()) => return meter.delivered(),
            Err(undelivered) => undelivered,
        };
        let wait = waits.next().filter(|_| again == Again::Yes && !closing.is_cancelled());
        let Some(wait) = wait else { return meter.failed(&message.delivery, text) };
        meter.retries(&message.delivery, text);
        tokio::select! {
            () = tokio::time::sleep(*wait) => {}
            () = closing.cancelled() => {}
        }
    }
}

/// Messages that may wait for one receiver, a few megabytes at most.
pub(super) const MAX_WAITING: usize = 256;

/// Waits before the second, third and fourth try of a message; then it is given up. Together shorter than
/// most requests wait.
pub(super) const WAITS: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(16)];

/// What a program may take for one message. Of its output a little is kept to say why it failed.
const LIMITS: Limits = Limits { time: Duration::from_secs(10), output: 4_096 };

/// Characters of what a failing program said, from the end.
const MAX_SAID: usize = 300;

/// Characters of a reason, before it is escaped.
const MAX_REASON: usize = 400;

/// How long the last messages may take when the app ends: well within what each phase of stopping has.
const FAREWELL: Duration = Duration::from_millis(1_500);
