//! An operator for stories: a connection that is read in the background, so that nothing is missed
//! between two steps.

use super::link::{Access, Link, Refusal, is_first_of_two};
use crate::process::wait_for;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// An operator that is connected. Dropping it closes the connection.
#[derive(Debug)]
pub struct Operator {
    outbox: Option<mpsc::Sender<Call>>,
    seen: Arc<Mutex<Seen>>,
    calls: AtomicU64,
    reader: Option<JoinHandle<()>>,
    hello: Value,
}

#[derive(Debug)]
struct Call {
    id: String,
    method: String,
    params: Value,
}

#[derive(Debug, Default)]
struct Seen {
    frames: VecDeque<Value>,
    closed: Option<String>,
}

impl Seen {
    fn keep(&mut self, frame: Value) {
        if self.frames.len() == FRAMES_KEPT {
            self.frames.pop_front();
        }
        self.frames.push_back(frame);
    }
}

impl Operator {
    /// Connects, or fails with a [`Refusal`].
    pub fn connect(url: &str, access: Access) -> Result<Self> {
        let (outbox, waiting) = mpsc::channel(CALLS_WAITING);
        let (opened, hello) = oneshot::channel();
        let seen = Arc::<Mutex<Seen>>::default();
        let (url, keep) = (url.to_owned(), Arc::clone(&seen));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let reader = std::thread::spawn(move || {
            runtime.block_on(async {
                match Link::connect(&url, &access).await {
                    Ok(link) => {
                        // Whoever connects waits for this.
                        opened.send(Ok(link.hello().clone())).ok();
                        read(link, waiting, &keep).await;
                    }
                    Err(refusal) => drop(opened.send(Err(refusal))),
                }
            });
        });
        let hello = hello.blocking_recv().context("the operator's thread ended early")?;
        let hello = hello.map_err(anyhow::Error::new)?;
        let (outbox, reader) = (Some(outbox), Some(reader));
        Ok(Self { outbox, seen, calls: AtomicU64::new(0), reader, hello })
    }

    /// The refusal of an error of [`Operator::connect`].
    pub fn refusal(error: &anyhow::Error) -> Option<&Refusal> {
        error.downcast_ref()
    }

    /// What the gateway said of itself and of us.
    pub fn hello(&self) -> &Value {
        &self.hello
    }

    /// Sends a call; its answers are there by [`Operator::answers`].
    pub fn send(&self, method: &str, params: Value) -> Result<String> {
        let id = format!("s{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let call = Call { id: id.clone(), method: method.to_owned(), params };
        let outbox = self.outbox.as_ref().context("the operator is closed")?;
        outbox.blocking_send(call).context("the connection is closed")?;
        Ok(id)
    }

    /// The answers to a call so far, oldest first.
    pub fn answers(&self, id: &str) -> Vec<Value> {
        let is_answer = |frame: &&Value| frame["type"] == "res" && frame["id"] == id;
        self.seen().frames.iter().filter(is_answer).cloned().collect()
    }

    /// Waits for the last answer to a call: the payload, or an error with the gateway's code and words.
    pub fn finish(&self, id: &str, limit: Duration) -> Result<Value> {
        let mut answer = wait_for(&format!("the answer to call {id}"), limit, || {
            let last = self.answers(id).into_iter().find(|answer| !is_first_of_two(answer));
            if last.is_none() {
                self.ensure_open()?;
            }
            Ok(last)
        })?;
        ensure!(answer["ok"] == true, "the gateway answered {}", answer["error"]);
        Ok(answer["payload"].take())
    }

    /// Calls and waits for the last answer.
    pub fn call(&self, method: &str, params: Value) -> Result<Value> {
        let id = self.send(method, params)?;
        self.finish(&id, CALL_LIMIT).with_context(|| method.to_owned())
    }

    /// The payloads of an event so far, oldest first.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let seen = self.seen();
        let named = seen.frames.iter().filter(|frame| frame["type"] == "event" && frame["event"] == name);
        named.map(|frame| frame["payload"].clone()).collect()
    }

    /// Waits for an event that fits.
    pub fn event(&self, name: &str, limit: Duration, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        wait_for(&format!("the event {name}"), limit, || {
            let found = self.events(name).into_iter().find(&fits);
            if found.is_none() {
                self.ensure_open()?;
            }
            Ok(found)
        })
    }

    /// Why the connection is closed, if it is.
    pub fn closed(&self) -> Option<String> {
        self.seen().closed.clone()
    }

    fn ensure_open(&self) -> Result<()> {
        match self.closed() {
            Some(why) => anyhow::bail!("the connection is closed: {why}"),
            None => Ok(()),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.outbox = None;
        if let Some(reader) = self.reader.take() {
            // A panic in the thread has been printed by it.
            reader.join().ok();
        }
    }
}

/// Reads and writes until nobody wants to call any more, or the other end is gone.
async fn read(mut link: Link, mut waiting: mpsc::Receiver<Call>, seen: &Mutex<Seen>) {
    let seen = || seen.lock().unwrap_or_else(PoisonError::into_inner);
    let why = loop {
        tokio::select! {
            frame = link.next() => match frame {
                Ok(Some(frame)) => seen().keep(frame),
                Ok(None) => break "the gateway closed it".to_owned(),
                Err(error) => break format!("{error:#}"),
            },
            call = waiting.recv() => match call {
                Some(Call { id, method, params }) => {
                    if let Err(error) = link.send_as(&id, &method, &params).await {
                        break format!("{error:#}");
                    }
                }
                None => {
                    // One that is gone already is closed as well.
                    link.close().await.ok();
                    break "we closed it".to_owned();
                }
            },
        }
    };
    seen().closed = Some(why);
}

/// Longest wait for an answer: a busy machine keeps a release from answering for many seconds.
const CALL_LIMIT: Duration = Duration::from_secs(90);

/// Calls that wait to be written: stories make a few at a time.
const CALLS_WAITING: usize = 256;

/// Frames that are kept for a story to look at: far more than one gets.
const FRAMES_KEPT: usize = 10_000;
