//! Counts what one connection carries, for whoever is asked, and keeps it to the limit on what may be sent.

use crate::first::{First, inspect};
use crate::ledger::{Spent, Unsent};
use crate::line::Line;
use crate::reach::Keeper;
use crate::wish::{Because, Bytes, Protocol, Refusal, Wish, words};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Counts one connection. What it has not told yet it tells when it is dropped.
pub(crate) struct Meter {
    keeper: Arc<Keeper>,
    wish: Wish,
    spent: Arc<Spent>,
    up: AtomicU64,
    down: AtomicU64,
    refusal: OnceLock<Refusal>,
}

/// Bytes after which they are told.
const TOLD: u64 = 1024 * 1024;

impl Meter {
    pub(crate) fn new(keeper: Arc<Keeper>, wish: Wish) -> Result<Self, Refusal> {
        let spent = keeper.ledger.of(&wish.destination).ok_or(Refusal::Crowded)?;
        Ok(Self {
            keeper,
            wish,
            spent,
            up: AtomicU64::new(0),
            down: AtomicU64::new(0),
            refusal: OnceLock::new(),
        })
    }

    /// To be called before `bytes` are sent: they may be only when this returns. Waits while somebody is
    /// asked; dropping it withdraws the question. A refusal is told to whoever is asked.
    pub(crate) async fn up(&self, bytes: usize) -> Result<(), Refusal> {
        self.goes_on()?;
        let bytes = bytes as u64;
        let sent = self.spent.sent.fetch_add(bytes, Relaxed) + bytes;
        if sent > self.keeper.settings.limits.upload && !self.spent.lifted.load(Relaxed) {
            let unsent = Unsent { spent: &self.spent, bytes };
            if let Err(why) = self.ask(sent).await {
                self.refused(why.clone());
                return Err(why);
            }
            unsent.sent();
        }
        self.tell(&self.up, bytes);
        Ok(())
    }

    /// To be called with what was received, which may be handed on only when this returns.
    pub(crate) fn down(&self, bytes: usize) -> Result<(), Refusal> {
        self.goes_on()?;
        self.tell(&self.down, bytes as u64);
        Ok(())
    }

    /// Whether what was let through still is. A refusal is told to whoever is asked.
    fn goes_on(&self) -> Result<(), Refusal> {
        let Some(why) = self.keeper.crossings.withdrawn(&self.wish) else { return Ok(()) };
        let why = Refusal::Ruled(why);
        if self.refusal.get().is_none() {
            self.refused(why.clone());
        }
        Err(why)
    }

    /// What the first bytes of the connection come to.
    pub(crate) fn inspect(&self, bytes: &[u8]) -> First {
        // No name was asked for that another one could be behind.
        if self.wish.protocol == Protocol::Loopback {
            return First::Pass;
        }
        inspect(bytes, &self.wish.destination, self.wish.place)
    }

    /// Why the connection ends, if that is a refusal.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.get().cloned()
    }

    /// To whoever sees the box from inside.
    pub(crate) fn line(&self) -> Option<&Line> {
        self.keeper.line.get()
    }

    /// A refusal in the words that a client is told.
    pub(crate) fn words(&self, why: &Refusal) -> String {
        words(&self.wish.destination, why)
    }

    /// Tells of a refusal of what the connection wanted later.
    pub(crate) fn refused(&self, why: Refusal) {
        // The first one is what ends the connection.
        let _ = self.refusal.set(why.clone());
        self.keeper.crossings.refused(&self.wish, why);
    }

    async fn ask(&self, sent: u64) -> Result<(), Refusal> {
        let _only = self.spent.asking.lock().await;
        if self.spent.lifted.load(Relaxed) {
            return Ok(());
        }
        self.keeper.ask(&Wish { because: Because::Upload { sent }, ..self.wish.clone() }).await?;
        self.spent.lifted.store(true, Relaxed);
        Ok(())
    }

    fn tell(&self, count: &AtomicU64, bytes: u64) {
        if count.fetch_add(bytes, Relaxed) + bytes >= TOLD {
            self.flush();
        }
    }

    fn flush(&self) {
        let bytes = Bytes { up: self.up.swap(0, Relaxed), down: self.down.swap(0, Relaxed) };
        if bytes != Bytes::default() {
            self.keeper.crossings.account(&self.wish.destination, bytes);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.flush();
    }
}
