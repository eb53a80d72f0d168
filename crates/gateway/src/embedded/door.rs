//! Who comes in: the token, wrong guesses, and devices.

use super::{Config, Keep};
use crate::pairing::{Admission, Applicant, Device, Devices, LocalPairing};
use crate::session::{Gate, Locked};
use countersign_protocol::gateway::connect::Auth;
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;
use zeroize::Zeroizing;

/// Wrong guesses within [`WINDOW`] after which nobody may try for [`LOCKOUT`] (gateway-protocol.md §1.1). The peers let
/// loopback guess on, slower; here everybody is on loopback.
const MAX_FAILURES: usize = 10;
const WINDOW: Duration = Duration::from_secs(60);
const LOCKOUT: Duration = Duration::from_secs(300);

/// The gateway's door.
pub(super) struct Door {
    pub(super) token: Zeroizing<String>,
    pub(super) local: LocalPairing,
    keep: Keep,
    pub(super) devices: Devices,
    pub(super) guesses: Guesses,
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

    /// Has what is known of devices stored.
    pub(super) fn store(&self) {
        let devices: Vec<Device> = self.devices.paired().cloned().collect();
        (self.keep)(&devices);
    }
}

/// Wrong guesses of every secret that this port asks for: who is locked out of one is locked out of all.
#[derive(Default)]
pub(super) struct Guesses {
    failures: VecDeque<Instant>,
    locked_until: Option<Instant>,
}

impl Guesses {
    /// Whether `given` is `wanted`, in constant time.
    pub(super) fn check(&mut self, given: Option<&str>, wanted: &str, now: Instant) -> Result<(), Locked> {
        if let Some(until) = self.locked_until.filter(|until| now < *until) {
            return Err(Locked::RateLimited(u64::try_from((until - now).as_millis()).unwrap_or(u64::MAX)));
        }
        let Some(given) = given.filter(|given| !given.is_empty()) else { return Err(Locked::Missing) };
        // Digests are of one length, so that the comparison says nothing about the token's.
        let [given, wanted] = [given, wanted].map(|text| Sha256::digest(text.as_bytes()));
        if bool::from(given.as_slice().ct_eq(wanted.as_slice())) {
            return Ok(());
        }
        self.failed(now);
        Err(Locked::Mismatch)
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

/// The door at one moment.
pub(super) struct Opening<'a> {
    pub(super) door: &'a mut Door,
    pub(super) now_ms: i64,
    pub(super) uptime: Duration,
}

impl Gate for Opening<'_> {
    fn secret(&mut self, auth: Option<&Auth>) -> Result<(), Locked> {
        let given = auth.and_then(|auth| auth.token.as_deref().or(auth.password.as_deref()));
        let Door { token, guesses, .. } = &mut *self.door;
        guesses.check(given, token, Instant::now())
    }

    fn admit(&mut self, applicant: &Applicant<'_>) -> Admission {
        let local = self.door.local;
        let admission = self.door.devices.admit(applicant, local, self.now_ms, || Uuid::new_v4().to_string());
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
