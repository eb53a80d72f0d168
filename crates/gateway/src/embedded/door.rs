//! Who comes in: the token, wrong guesses, and devices.

use super::port::{Cause, Peer, Places};
use super::{Config, Keep};
use crate::pairing::{Admission, Applicant, Device, Devices, LocalPairing, Moment};
use crate::session::{Gate, Locked};
use countersign_protocol::gateway::connect::Auth;
use countersign_protocol::ids::DeviceId;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;
use zeroize::Zeroizing;

/// Wrong guesses of one peer within [`WINDOW`] after which it may not try for [`LOCKOUT`]
/// (docs/protocol/gateway.md, "Limits"). The peers let loopback guess on, slower; here everybody is on
/// loopback.
const MAX_FAILURES: usize = 10;
const WINDOW: Duration = Duration::from_secs(60);
const LOCKOUT: Duration = Duration::from_secs(300);

/// Peers whose guesses are told apart: more than users of a machine guess at once. All further ones
/// together are one.
const MAX_GUESSERS: usize = 64;

/// The gateway's door.
pub(super) struct Door {
    pub(super) token: Zeroizing<String>,
    pub(super) local: LocalPairing,
    keep: Keep,
    pub(super) devices: Devices,
    guesses: Guesses,
}

impl Door {
    pub(super) fn new(config: Config) -> Self {
        let Config { token, local_pairing, devices, keep } = config;
        Self {
            token,
            local: local_pairing,
            keep,
            devices: Devices::new(devices),
            guesses: Guesses::default(),
        }
    }

    /// Whether a peer gave the secret that is `wanted`. Devices that were let in guess as often as they like:
    /// they are known by more than that.
    pub(super) fn check(
        &mut self,
        peer: Peer,
        device: Option<&DeviceId>,
        given: Option<&str>,
        wanted: &str,
    ) -> Result<(), Locked> {
        if device.is_some_and(|id| self.devices.is_let_in(id, self.local)) {
            return compare(given, wanted);
        }
        self.guesses.check(peer, given, wanted, Instant::now())
    }

    /// Has what is known of devices stored.
    pub(super) fn store(&self) {
        let devices: Vec<Device> = self.devices.paired().cloned().collect();
        (self.keep)(&devices);
    }
}

/// Whether `given` is `wanted`, in constant time.
fn compare(given: Option<&str>, wanted: &str) -> Result<(), Locked> {
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Err(Locked::Missing) };
    // Digests are of one length, so that the comparison says nothing about the token's.
    let [given, wanted] = [given, wanted].map(|text| Sha256::digest(text.as_bytes()));
    if bool::from(given.as_slice().ct_eq(wanted.as_slice())) { Ok(()) } else { Err(Locked::Mismatch) }
}

/// Wrong guesses of every secret that this port asks for: who is locked out of one is locked out of all,
/// and nobody else is.
#[derive(Default)]
struct Guesses {
    by: HashMap<Peer, Guesser>,
    /// All those for whom there was no room.
    others: Guesser,
}

impl Guesses {
    fn check(&mut self, peer: Peer, given: Option<&str>, wanted: &str, now: Instant) -> Result<(), Locked> {
        if self.by.len() >= MAX_GUESSERS && !self.by.contains_key(&peer) {
            self.by.retain(|_, guesser| !guesser.is_forgotten(now));
        }
        let has_room = self.by.len() < MAX_GUESSERS || self.by.contains_key(&peer);
        let guesser = if has_room { self.by.entry(peer).or_default() } else { &mut self.others };
        guesser.check(given, wanted, now)
    }
}

/// One who may guess.
#[derive(Default)]
struct Guesser {
    failures: VecDeque<Instant>,
    locked_until: Option<Instant>,
}

impl Guesser {
    fn check(&mut self, given: Option<&str>, wanted: &str, now: Instant) -> Result<(), Locked> {
        if let Some(until) = self.locked_until.filter(|until| now < *until) {
            return Err(Locked::RateLimited(u64::try_from((until - now).as_millis()).unwrap_or(u64::MAX)));
        }
        let compared = compare(given, wanted);
        if compared == Err(Locked::Mismatch) {
            self.failed(now);
        }
        compared
    }

    /// Whether nothing of it matters any more.
    fn is_forgotten(&self, now: Instant) -> bool {
        self.locked_until.is_none_or(|until| until <= now)
            && self.failures.iter().all(|at| now.duration_since(*at) >= WINDOW)
    }

    fn failed(&mut self, now: Instant) {
        self.failures.retain(|at| now.duration_since(*at) < WINDOW);
        self.failures.push_back(now);
        if self.failures.len() >= MAX_FAILURES {
            self.failures.clear();
            self.locked_until = Some(now + LOCKOUT);
        }
    }
}

/// Has it told who was kept out. To come without a secret is no guess.
pub(super) fn noted(places: &Places, peer: Peer, locked: Locked) {
    match locked {
        Locked::Missing => {}
        Locked::Mismatch => places.note(peer, Cause::Token),
        Locked::RateLimited(_) => places.note(peer, Cause::LockedOut),
    }
}

/// The door at one moment.
pub(super) struct Opening<'a> {
    pub(super) door: &'a mut Door,
    pub(super) places: &'a Places,
    pub(super) peer: Peer,
    pub(super) now: Moment,
    pub(super) uptime: Duration,
}

impl Gate for Opening<'_> {
    fn secret(&mut self, auth: Option<&Auth>, device: Option<&DeviceId>) -> Result<(), Locked> {
        let given = auth.and_then(|auth| auth.token.as_deref().or(auth.password.as_deref()));
        let token = self.door.token.clone();
        let checked = self.door.check(self.peer, device, given, &token);
        if let Err(locked) = checked {
            noted(self.places, self.peer, locked);
        }
        checked
    }

    fn admit(&mut self, applicant: &Applicant<'_>) -> Admission {
        let local = self.door.local;
        let admission = self.door.devices.admit(applicant, local, self.now, || Uuid::new_v4().to_string());
        if admission == (Admission::Admitted { changed: true }) {
            self.door.store();
        }
        admission
    }

    /// Where every device is let in by the secret, one more would be no obstacle.
    fn lets_in_by_secret(&self) -> bool {
        self.door.local == LocalPairing::Silent
    }

    fn uptime_ms(&self) -> u64 {
        u64::try_from(self.uptime.as_millis()).unwrap_or(u64::MAX)
    }
}
