//! Devices that were let in, and those that wait for it (docs/protocol/gateway.md, "Pairing").

use crate::access::{Role, Scopes};
use countersign_protocol::gateway::connect::ClientInfo;
use countersign_protocol::ids::DeviceId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Milliseconds that a request to be let in waits for an answer.
pub const PENDING_MS: i64 = 300_000;

/// How many such requests may wait; more would bury the ones that a person knows of.
pub const MAX_PENDING: usize = 64;

/// How many devices may be known.
pub const MAX_DEVICES: usize = 1_024;

/// Longest name of a device, in characters; one that is longer is cut.
pub const MAX_NAME: usize = 100;

/// A device's own name as it is kept: on one line, without control characters, and not longer than a person
/// reads. `None` when nothing is left.
pub(crate) fn tidy_name(name: &str) -> Option<String> {
    // Twice as many are looked at: blanks are not counted, and nobody reads through sixty thousand.
    let seen = name.chars().take(2 * MAX_NAME).map(|c| if c.is_control() { ' ' } else { c });
    let seen: String = seen.collect();
    let mut tidy = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    if name.chars().nth(2 * MAX_NAME).is_some() || tidy.chars().nth(MAX_NAME).is_some() {
        tidy = tidy.chars().take(MAX_NAME - 1).chain(['…']).collect();
    }
    (!tidy.is_empty()).then_some(tidy)
}

/// What happens when a device on this machine connects for the first time, or asks for more than before, with
/// the right token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LocalPairing {
    /// It is let in: who knows the token decides, as with the peers.
    Silent,
    /// A person is asked. An agent that can read the token must not let itself in.
    Ask,
}

/// Who let a device in.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LetInBy {
    /// An operator, over the gateway.
    Operator,
    /// The person, in the window of the program that serves.
    Person,
    /// Nobody: it knew the token, and that was enough.
    #[default]
    Token,
}

/// A device that was let in.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Its id.
    pub device_id: DeviceId,
    /// Its key, base64url.
    pub public_key: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Operating system as it was then; another one needs a new approval.
    pub platform: String,
    /// Kind of machine as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_family: Option<String>,
    /// The program.
    pub client_id: String,
    /// What the program is.
    pub client_mode: String,
    /// What it may do, by role.
    pub roles: BTreeMap<String, Vec<String>>,
    /// Who let it in last.
    #[serde(default)]
    pub let_in_by: LetInBy,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub approved_at_ms: i64,
}

/// A device that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// Names the request.
    pub request_id: String,
    /// The device.
    pub device_id: DeviceId,
    /// Its key, base64url.
    pub public_key: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Operating system.
    pub platform: String,
    /// Kind of machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_family: Option<String>,
    /// The program.
    pub client_id: String,
    /// What the program is.
    pub client_mode: String,
    /// The role that it wants.
    pub role: String,
    /// The scopes that it wants.
    pub scopes: Vec<String>,
    /// Whether the device is known already.
    pub is_repair: bool,
    /// Why it waits.
    #[serde(skip)]
    pub reason: Reason,
    /// When it came, Unix milliseconds.
    pub ts: i64,
    /// When it is forgotten, by the steady clock.
    #[serde(skip)]
    until_steady_ms: i64,
}

/// A moment by both clocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moment {
    /// Unix milliseconds, for people and peers. Whoever sets the machine's clock moves it.
    pub now_ms: i64,
    /// Milliseconds of a clock that nobody sets: by it things last.
    pub steady_ms: i64,
}

/// A device that proved who it is and wants in.
#[derive(Clone, Debug)]
pub struct Applicant<'a> {
    /// Its id.
    pub device_id: &'a DeviceId,
    /// Its key, base64url.
    pub public_key: &'a str,
    /// Its program.
    pub client: &'a ClientInfo,
    /// What it wants to be.
    pub role: Role,
    /// What it wants to be allowed.
    pub scopes: &'a Scopes,
}

/// Why a device is not let in yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// It is new.
    NotPaired,
    /// It wants another role.
    RoleUpgrade,
    /// It wants more scopes.
    ScopeUpgrade,
    /// It says to be another machine.
    MetadataUpgrade,
}

impl Reason {
    /// The peers' word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotPaired => "not-paired",
            Self::RoleUpgrade => "role-upgrade",
            Self::ScopeUpgrade => "scope-upgrade",
            Self::MetadataUpgrade => "metadata-upgrade",
        }
    }
}

/// Whether a device is let in.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// It is. `changed`: what is known has changed and is to be stored.
    Admitted {
        /// Whether to store.
        changed: bool,
    },
    /// Somebody has to say so first.
    Waits {
        /// What waits.
        request: Box<Pending>,
        /// Whether it waits since now, so that somebody has to be told.
        is_new: bool,
    },
    /// Too many wait already.
    Full,
}

/// What is known of devices.
#[derive(Debug, Default)]
pub struct Devices {
    paired: BTreeMap<DeviceId, Device>,
    pending: Vec<Pending>,
}

impl Devices {
    /// Those that were stored; what is beyond [`MAX_DEVICES`] is forgotten.
    pub fn new(stored: Vec<Device>) -> Self {
        let paired = stored.into_iter().take(MAX_DEVICES).map(|mut device| {
            device.display_name = device.display_name.as_deref().and_then(tidy_name);
            device
        });
        Self {
            paired: paired.map(|device| (device.device_id.clone(), device)).collect(),
            pending: Vec::new(),
        }
    }

    /// Those that were let in, by id.
    pub fn paired(&self) -> impl Iterator<Item = &Device> {
        self.paired.values()
    }

    /// One that was let in.
    pub fn find(&self, device_id: &DeviceId) -> Option<&Device> {
        self.paired.get(device_id)
    }

    /// Those that wait, oldest first.
    pub fn pending(&mut self, steady_ms: i64) -> &[Pending] {
        self.forget_old(steady_ms);
        &self.pending
    }

    /// Lets a device in that is known with what it wants, or if `local` allows it; else it waits.
    pub fn admit(
        &mut self,
        applicant: &Applicant<'_>,
        local: LocalPairing,
        now: Moment,
        fresh_id: impl FnOnce() -> String,
    ) -> Admission {
        self.forget_old(now.steady_ms);
        let Some(reason) = self.objection(applicant, local) else {
            return Admission::Admitted { changed: false };
        };
        let silently = match reason {
            Reason::NotPaired | Reason::ScopeUpgrade | Reason::RoleUpgrade => local == LocalPairing::Silent,
            // The peers want a person to look at it, too.
            Reason::MetadataUpgrade => false,
        };
        let request = self.request(applicant, reason, now, fresh_id);
        if silently && (self.paired.len() < MAX_DEVICES || request.is_repair) {
            self.let_in(request, LetInBy::Token, now.now_ms);
            return Admission::Admitted { changed: true };
        }
        let same = |known: &Pending| {
            known.device_id == request.device_id
                && known.role == request.role
                && known.scopes == request.scopes
        };
        if let Some(known) = self.pending.iter().find(|known| same(known)) {
            return Admission::Waits { request: Box::new(known.clone()), is_new: false };
        }
        if self.pending.len() >= MAX_PENDING {
            return Admission::Full;
        }
        self.pending.push(request.clone());
        Admission::Waits { request: Box::new(request), is_new: true }
    }

    /// Lets a waiting device in; `None` for an unknown request.
    pub fn approve(&mut self, request_id: &str, by: LetInBy, now: Moment) -> Option<Device> {
        let request = self.take(request_id, now.steady_ms)?;
        Some(self.let_in(request, by, now.now_ms))
    }

    /// Turns a waiting device away; `None` for an unknown request.
    pub fn reject(&mut self, request_id: &str, steady_ms: i64) -> Option<Pending> {
        self.take(request_id, steady_ms)
    }

    /// Forgets a device. False for an unknown one.
    pub fn remove(&mut self, device_id: &DeviceId) -> bool {
        self.paired.remove(device_id).is_some()
    }

    /// When the oldest request that waits is forgotten, by the steady clock.
    pub fn next_forgotten_ms(&self) -> Option<i64> {
        self.pending.iter().map(|known| known.until_steady_ms).min()
    }

    /// Forgets requests that nobody answered in time.
    pub fn forget_old(&mut self, steady_ms: i64) {
        self.pending.retain(|known| steady_ms < known.until_steady_ms);
    }

    fn take(&mut self, request_id: &str, steady_ms: i64) -> Option<Pending> {
        self.forget_old(steady_ms);
        let at = self.pending.iter().position(|known| known.request_id == request_id)?;
        Some(self.pending.remove(at))
    }

    /// The device, if its being let in counts: where a person is asked, the token alone never did.
    fn known(&self, device_id: &DeviceId, local: LocalPairing) -> Option<&Device> {
        let counts = |device: &&Device| local == LocalPairing::Silent || device.let_in_by != LetInBy::Token;
        self.paired.get(device_id).filter(counts)
    }

    /// Whether a device was let in, in a way that counts.
    pub(crate) fn is_let_in(&self, device_id: &DeviceId, local: LocalPairing) -> bool {
        self.known(device_id, local).is_some()
    }

    /// Why a device cannot simply come in.
    fn objection(&self, applicant: &Applicant<'_>, local: LocalPairing) -> Option<Reason> {
        let Some(known) = self.known(applicant.device_id, local) else { return Some(Reason::NotPaired) };
        let same = |known: &str, said: &str| known.trim().eq_ignore_ascii_case(said.trim());
        let family = |family: &Option<String>| family.clone().unwrap_or_default();
        if !same(&known.platform, &applicant.client.platform)
            || !same(&family(&known.device_family), &family(&applicant.client.device_family))
        {
            return Some(Reason::MetadataUpgrade);
        }
        match known.roles.get(applicant.role.as_str()) {
            None => Some(Reason::RoleUpgrade),
            Some(scopes) if !Scopes::of(scopes).cover(applicant.scopes) => Some(Reason::ScopeUpgrade),
            Some(_) => None,
        }
    }

    fn request(
        &self,
        applicant: &Applicant<'_>,
        reason: Reason,
        now: Moment,
        fresh_id: impl FnOnce() -> String,
    ) -> Pending {
        Pending {
            request_id: fresh_id(),
            device_id: applicant.device_id.to_owned(),
            public_key: applicant.public_key.to_owned(),
            display_name: applicant.client.display_name.clone(),
            platform: applicant.client.platform.clone(),
            device_family: applicant.client.device_family.clone(),
            client_id: applicant.client.id.clone(),
            client_mode: applicant.client.mode.clone(),
            role: applicant.role.as_str().to_owned(),
            scopes: applicant.scopes.words(),
            is_repair: self.paired.contains_key(applicant.device_id),
            reason,
            ts: now.now_ms,
            until_steady_ms: now.steady_ms.saturating_add(PENDING_MS),
        }
    }

    fn let_in(&mut self, request: Pending, by: LetInBy, now_ms: i64) -> Device {
        // What the token alone gave is no part of what somebody says yes to.
        let carries = |known: &Device| by == LetInBy::Token || known.let_in_by != LetInBy::Token;
        let known = self.paired.remove(&request.device_id).filter(carries);
        let (created_at_ms, mut roles) =
            known.map_or((now_ms, BTreeMap::new()), |known| (known.created_at_ms, known.roles));
        let held = Scopes::of(roles.get(&request.role).map(Vec::as_slice).unwrap_or_default());
        roles.insert(request.role, held.with(&Scopes::of(&request.scopes)).words());
        let device = Device {
            device_id: request.device_id.clone(),
            public_key: request.public_key,
            display_name: request.display_name,
            platform: request.platform,
            device_family: request.device_family,
            client_id: request.client_id,
            client_mode: request.client_mode,
            roles,
            let_in_by: by,
            created_at_ms,
            approved_at_ms: now_ms,
        };
        self.paired.insert(request.device_id, device.clone());
        device
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const NOW: i64 = 1_000_000;

    /// A moment of a machine whose clock nobody sets.
    fn moment(now_ms: i64) -> Moment {
        Moment { now_ms, steady_ms: now_ms }
    }

    fn scopes(words: &[&str]) -> Scopes {
        Scopes::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    fn client(platform: &str) -> ClientInfo {
        ClientInfo {
            id: "cli".into(),
            platform: platform.into(),
            mode: "cli".into(),
            ..ClientInfo::default()
        }
    }

    /// Asks to be let in; why not, or nothing.
    fn knock(
        devices: &mut Devices,
        local: LocalPairing,
        role: Role,
        wanted: &[&str],
        platform: &str,
        now_ms: i64,
    ) -> Option<(Reason, String, bool)> {
        let (client, scopes) = (client(platform), scopes(wanted));
        let applicant =
            Applicant { device_id: &"d1".into(), public_key: "k1", client: &client, role, scopes: &scopes };
        match devices.admit(&applicant, local, moment(now_ms), || format!("r{now_ms}")) {
            Admission::Admitted { .. } => None,
            Admission::Waits { request, is_new } => Some((request.reason, request.request_id, is_new)),
            Admission::Full => panic!("full"),
        }
    }

    #[test]
    fn a_device_waits_until_somebody_lets_it_in_and_is_known_from_then_on() {
        let mut devices = Devices::default();
        let wanted = &["operator.read", "operator.approvals"][..];
        let ask = |devices: &mut Devices, wanted: &[&str], now| {
            knock(devices, LocalPairing::Ask, Role::Operator, wanted, "linux", now)
        };
        assert_eq!(ask(&mut devices, wanted, NOW), Some((Reason::NotPaired, format!("r{NOW}"), true)));
        // Asking again is the same request.
        assert_eq!(ask(&mut devices, wanted, NOW + 9), Some((Reason::NotPaired, format!("r{NOW}"), false)));
        assert_eq!(devices.approve("other", LetInBy::Person, moment(NOW)), None);
        let device = devices.approve(&format!("r{NOW}"), LetInBy::Person, moment(NOW + 10)).unwrap();
        assert_eq!(device.roles["operator"], ["operator.approvals", "operator.read"]);
        assert_eq!(ask(&mut devices, wanted, NOW + 11), None);
        assert_eq!(ask(&mut devices, &["operator.read"], NOW + 11), None);
        let more = ask(&mut devices, &["operator.admin"], NOW + 12).unwrap();
        assert_eq!(more.0, Reason::ScopeUpgrade);
        assert!(devices.reject(&more.1, NOW + 13).is_some());
        assert!(devices.remove(&"d1".into()) && !devices.remove(&"d1".into()));
        assert_eq!(ask(&mut devices, wanted, NOW + 14).unwrap().0, Reason::NotPaired);
    }

    #[test]
    fn a_request_that_nobody_answers_is_forgotten() {
        let mut devices = Devices::default();
        let ask =
            |devices: &mut Devices, now| knock(devices, LocalPairing::Ask, Role::Node, &[], "linux", now);
        let first = ask(&mut devices, NOW).unwrap().1;
        assert_eq!(devices.next_forgotten_ms(), Some(NOW + PENDING_MS));
        assert_eq!(devices.pending(NOW + PENDING_MS - 1).len(), 1);
        assert_eq!(devices.pending(NOW + PENDING_MS).len(), 0);
        assert_eq!(devices.approve(&first, LetInBy::Person, moment(NOW + PENDING_MS)), None);
    }

    #[test]
    fn a_device_waits_as_long_whatever_becomes_of_the_clock() {
        for set_ms in [0, 3_600_000, -3_600_000] {
            let mut devices = Devices::default();
            let wanted = &["operator.read"][..];
            knock(&mut devices, LocalPairing::Ask, Role::Operator, wanted, "linux", NOW).unwrap();
            assert_eq!(devices.pending(NOW + PENDING_MS - 1).len(), 1);
            let late = Moment { now_ms: NOW + set_ms, steady_ms: NOW + PENDING_MS };
            assert_eq!(devices.approve(&format!("r{NOW}"), LetInBy::Person, late), None, "{set_ms}");
        }
    }

    #[test]
    fn t03_another_machine_with_the_same_key_is_never_let_in_silently() {
        let mut devices = Devices::default();
        let silent = |devices: &mut Devices, role, platform: &str| {
            knock(devices, LocalPairing::Silent, role, &["operator.read"], platform, NOW)
        };
        assert_eq!(silent(&mut devices, Role::Operator, "linux"), None);
        assert_eq!(silent(&mut devices, Role::Operator, " Linux "), None);
        assert_eq!(silent(&mut devices, Role::Node, "linux"), None);
        assert_eq!(silent(&mut devices, Role::Operator, "darwin").unwrap().0, Reason::MetadataUpgrade);
    }

    #[test]
    fn t03_what_the_token_alone_let_in_does_not_count_where_a_person_is_asked() {
        let mut devices = Devices::default();
        let come = |devices: &mut Devices, local, wanted: &[&str], now| {
            knock(devices, local, Role::Operator, wanted, "linux", now)
        };
        assert_eq!(come(&mut devices, LocalPairing::Silent, &["operator.admin"], NOW), None);
        let stored: Vec<Device> = devices.paired().cloned().collect();
        let mut devices = Devices::new(stored);
        let asked = come(&mut devices, LocalPairing::Ask, &["operator.read"], NOW).unwrap();
        assert_eq!(asked.0, Reason::NotPaired);
        let device = devices.approve(&asked.1, LetInBy::Person, moment(NOW)).unwrap();
        // Yes to reading is no yes to what it had taken before.
        assert_eq!(device.roles["operator"], ["operator.read"]);
        assert_eq!(come(&mut devices, LocalPairing::Ask, &["operator.read"], NOW), None);
        let more = come(&mut devices, LocalPairing::Ask, &["operator.admin"], NOW + 1).unwrap();
        assert_eq!(more.0, Reason::ScopeUpgrade);
    }

    #[test]
    fn names_of_devices_are_one_line_that_a_person_reads() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(tidy_name(name).as_deref(), expected, "{name:?}");
        };
        check("My  laptop ", Some("My laptop"));
        check("a\nb\u{1b}[31m\0c", Some("a b [31m c"));
        check(" \t", None);
        check(&"ä".repeat(MAX_NAME), Some(&"ä".repeat(MAX_NAME)));
        let long = format!("{}…", "x".repeat(MAX_NAME - 1));
        check(&"x".repeat(MAX_NAME + 1), Some(&long));
        check(&"x".repeat(60_000), Some(&long));
    }

    #[test]
    fn a_flood_of_devices_is_bounded() {
        let mut devices = Devices::default();
        let (client, scopes) = (client("linux"), scopes(&[]));
        for at in 0..MAX_PENDING + 10 {
            let id = format!("d{at}");
            let applicant = Applicant {
                device_id: &DeviceId::from(id.as_str()),
                public_key: "k",
                client: &client,
                role: Role::Operator,
                scopes: &scopes,
            };
            let admission = devices.admit(&applicant, LocalPairing::Ask, moment(NOW), || id.clone());
            assert_eq!(admission == Admission::Full, at >= MAX_PENDING);
        }
        assert_eq!(devices.pending(NOW).len(), MAX_PENDING);
    }
}
