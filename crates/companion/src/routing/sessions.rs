//! What was said for sessions, and for the next run of one. Held in memory alone: it ends with the program.

use countersign_approvals::ports::Clock;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::route::RouteField;
use countersign_protocol::ui::{RouteLasting, SessionSettingView, SessionView};
use countersign_protocol::vocabulary::{Ask, Elevated, ExecTarget, Security};
use countersign_routing::route::{Overrides, Said, Weight};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// All sessions with settings of their own, oldest first.
#[derive(Debug)]
pub(super) struct Sessions {
    held: Mutex<Vec<Session>>,
    changed: watch::Sender<()>,
}

/// A session of one agent. Another agent's session of the same name is another session: whoever confirmed
/// this one's settings was told of this agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Key {
    /// The agent.
    pub(crate) agent: AgentId,
    /// The session.
    pub(crate) session: SessionKey,
}

#[derive(Clone, Debug)]
struct Session {
    key: Key,
    settings: Vec<Held>,
}

/// One thing that was said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Setting {
    pub(super) value: Value,
    pub(super) lasting: RouteLasting,
}

/// What was said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Value {
    Host(ExecTarget),
    Node(String),
    Security(Security),
    Ask(Ask),
    Elevated(Elevated),
}

/// The same while it is held.
#[derive(Clone, Debug)]
struct Held {
    setting: Setting,
    weight: Weight,
    since_ms: i64,
    /// When it is forgotten, by the steady clock, where it is for the next run alone.
    until_steady_ms: Option<i64>,
}

/// What was said for a session and for its next run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct StoredOverrides {
    pub(super) session: Overrides,
    pub(super) message: Overrides,
}

/// There is no room for another session.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{MAX_SESSIONS} sessions have settings of their own; revoke one first")]
pub struct TooMany;

impl Sessions {
    pub(super) fn new(changed: watch::Sender<()>) -> Self {
        Self { held: Mutex::default(), changed }
    }

    /// What holds for a session, but for what `without` names.
    pub(super) fn standing(&self, key: &Key, without: &[Setting], steady_ms: i64) -> StoredOverrides {
        let mut standing = StoredOverrides::default();
        let mut held = self.held();
        expire(&mut held, steady_ms);
        let Some(session) = held.iter().find(|session| session.key == *key) else { return standing };
        let replaces = |setting: &Setting| {
            // What is said for a session takes the place of what was said for its next run, too.
            let mut named = without.iter().filter(|other| other.value.field() == setting.value.field());
            named.any(|other| other.lasting == setting.lasting || setting.lasting == RouteLasting::NextRun)
        };
        for held in session.settings.iter().filter(|held| !replaces(&held.setting)) {
            standing.put(&held.setting, held.weight);
        }
        standing
    }

    /// The same for a run that starts now. What was said for the next run is used up by it.
    pub(super) fn take(&self, key: &Key, steady_ms: i64) -> StoredOverrides {
        let standing = self.standing(key, &[], steady_ms);
        self.forget(key, |setting| setting.lasting == RouteLasting::NextRun);
        standing
    }

    /// Whether a person confirmed exactly this and it still holds.
    pub(super) fn is_confirmed(&self, key: &Key, setting: &Setting, steady_ms: i64) -> bool {
        let mut held = self.held();
        expire(&mut held, steady_ms);
        let session = held.iter().find(|session| session.key == *key);
        session.is_some_and(|session| {
            let mut settings = session.settings.iter();
            settings.any(|held| held.setting == *setting && held.weight == Weight::Confirmed)
        })
    }

    /// Holds what was said, in place of what was said of the same before.
    pub(super) fn hold(
        &self,
        key: &Key,
        settings: Vec<Setting>,
        weight: Weight,
        clock: &dyn Clock,
    ) -> Result<(), TooMany> {
        {
            let mut all = self.held();
            expire(&mut all, clock.steady_ms());
            let at = match all.iter().position(|session| session.key == *key) {
                Some(at) => at,
                // The oldest is not put out for it: what it hardens would be open again.
                None if all.len() >= MAX_SESSIONS => return Err(TooMany),
                None => {
                    all.push(Session { key: key.clone(), settings: Vec::new() });
                    all.len() - 1
                }
            };
            let Some(session) = all.get_mut(at) else { return Ok(()) };
            for setting in settings {
                session.settings.retain(|held| {
                    let same = held.setting.value.field() == setting.value.field();
                    let stays_beside = held.setting.lasting == RouteLasting::Session
                        && setting.lasting == RouteLasting::NextRun;
                    !same || stays_beside
                });
                let is_next = setting.lasting == RouteLasting::NextRun;
                let until_steady_ms = is_next.then(|| clock.steady_ms().saturating_add(NEXT_RUN_MS));
                session.settings.push(Held { setting, weight, since_ms: clock.now_ms(), until_steady_ms });
            }
        }
        self.changed.send_replace(());
        Ok(())
    }

    /// Forgets what was said for a session. False when there was nothing.
    pub(super) fn revoke(&self, key: &Key) -> bool {
        self.forget(key, |_| true)
    }

    /// All of them, for a window.
    pub(super) fn views(&self, steady_ms: i64) -> Vec<SessionView> {
        let mut held = self.held();
        expire(&mut held, steady_ms);
        held.iter().map(Session::view).collect()
    }

    fn forget(&self, key: &Key, which: impl Fn(&Setting) -> bool) -> bool {
        let mut forgotten = false;
        {
            let mut all = self.held();
            for session in all.iter_mut().filter(|session| session.key == *key) {
                let before = session.settings.len();
                session.settings.retain(|held| !which(&held.setting));
                forgotten |= session.settings.len() < before;
            }
            all.retain(|session| !session.settings.is_empty());
        }
        if forgotten {
            self.changed.send_replace(());
        }
        forgotten
    }

    fn held(&self) -> MutexGuard<'_, Vec<Session>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn view(&self) -> SessionView {
        SessionView {
            agent: self.key.agent.to_string(),
            agent_shown: super::shown(self.key.agent.as_str()),
            session: self.key.session.to_string(),
            session_shown: super::shown(self.key.session.as_str()),
            settings: self
                .settings
                .iter()
                .map(|held| SessionSettingView {
                    field: held.setting.value.field(),
                    value: super::shown(&held.setting.value.text()),
                    lasting: held.setting.lasting,
                    since_ms: held.since_ms,
                    confirmed: held.weight == Weight::Confirmed,
                })
                .collect(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} · {}", self.agent, self.session)
    }
}

impl StoredOverrides {
    /// Puts something that was said on top.
    pub(super) fn put(&mut self, setting: &Setting, weight: Weight) {
        let overrides = match setting.lasting {
            RouteLasting::Session => &mut self.session,
            RouteLasting::NextRun => &mut self.message,
        };
        match setting.value.clone() {
            Value::Host(value) => overrides.host = Some(Said { value, weight }),
            Value::Node(value) => overrides.node = Some(Said { value, weight }),
            Value::Security(value) => overrides.security = Some(Said { value, weight }),
            Value::Ask(value) => overrides.ask = Some(Said { value, weight }),
            Value::Elevated(value) => overrides.elevated = Some(Said { value, weight }),
        }
    }
}

impl Value {
    pub(super) const fn field(&self) -> RouteField {
        match self {
            Self::Host(_) => RouteField::Host,
            Self::Node(_) => RouteField::Node,
            Self::Security(_) => RouteField::Security,
            Self::Ask(_) => RouteField::Ask,
            Self::Elevated(_) => RouteField::Elevated,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Host(value) => value.to_string(),
            Self::Node(value) => value.clone(),
            Self::Security(value) => value.to_string(),
            Self::Ask(value) => value.to_string(),
            Self::Elevated(value) => value.to_string(),
        }
    }
}

/// Forgets what was said for a next run that did not come.
fn expire(sessions: &mut Vec<Session>, steady_ms: i64) {
    for session in sessions.iter_mut() {
        session.settings.retain(|held| held.until_steady_ms.is_none_or(|until| steady_ms < until));
    }
    sessions.retain(|session| !session.settings.is_empty());
}

/// Sessions with settings of their own: more than a person can watch.
pub(super) const MAX_SESSIONS: usize = 128;

/// How long something that was said for the next run waits for it, in milliseconds: the run is to follow
/// from the message.
const NEXT_RUN_MS: i64 = 10 * 60 * 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// What both clocks say.
    struct At {
        now_ms: i64,
        steady_ms: i64,
    }

    impl Clock for At {
        fn now_ms(&self) -> i64 {
            self.now_ms
        }

        fn steady_ms(&self) -> i64 {
            self.steady_ms
        }
    }

    /// A moment of a machine whose clock nobody sets.
    fn at(now_ms: i64) -> At {
        At { now_ms, steady_ms: now_ms }
    }

    fn key(session: &str) -> Key {
        Key { agent: AgentId::of(None), session: SessionKey::of(Some(session)).unwrap() }
    }

    fn host(host: ExecTarget, lasting: RouteLasting) -> Setting {
        Setting { value: Value::Host(host), lasting }
    }

    fn sessions() -> Sessions {
        Sessions::new(watch::Sender::new(()))
    }

    const KEPT: RouteLasting = RouteLasting::Session;
    const ONCE: RouteLasting = RouteLasting::NextRun;

    #[test]
    fn what_is_for_the_next_run_is_used_up_by_it_or_by_time() {
        let sessions = sessions();
        let both = vec![host(ExecTarget::Auto, KEPT), host(ExecTarget::Node, ONCE)];
        sessions.hold(&key("s"), both, Weight::Confirmed, &at(0)).unwrap();
        let taken = sessions.take(&key("s"), 1);
        assert_eq!(taken.session.host.unwrap().value, ExecTarget::Auto);
        assert_eq!(taken.message.host.unwrap().value, ExecTarget::Node);
        assert_eq!(sessions.take(&key("s"), 1).message, Overrides::default());
        sessions.hold(&key("s"), vec![host(ExecTarget::Node, ONCE)], Weight::Confirmed, &at(0)).unwrap();
        // The clock that people see may have been set meanwhile: that neither ends nor lengthens it.
        let before = At { now_ms: 7 * NEXT_RUN_MS, steady_ms: 0 };
        sessions.hold(&key("t"), vec![host(ExecTarget::Node, ONCE)], Weight::Confirmed, &before).unwrap();
        assert!(sessions.standing(&key("t"), &[], NEXT_RUN_MS - 1).message.host.is_some());
        assert_eq!(sessions.standing(&key("t"), &[], NEXT_RUN_MS).message.host, None);
        let late = sessions.take(&key("s"), NEXT_RUN_MS);
        assert_eq!(
            (late.message.host, late.session.host.map(|said| said.value)),
            (None, Some(ExecTarget::Auto))
        );
    }

    #[test]
    fn a_session_is_one_agents_and_ends_when_it_is_revoked() {
        let sessions = sessions();
        let setting = host(ExecTarget::Gateway, KEPT);
        sessions.hold(&key("s"), vec![setting.clone()], Weight::Confirmed, &at(5)).unwrap();
        assert!(sessions.is_confirmed(&key("s"), &setting, 6));
        let other = Key { agent: AgentId::of(Some("other")), session: SessionKey::of(Some("s")).unwrap() };
        assert_eq!(sessions.standing(&other, &[], 6), StoredOverrides::default());
        assert_eq!(sessions.views(6)[0].settings[0].since_ms, 5);
        assert!(sessions.revoke(&key("s")));
        assert_eq!(sessions.standing(&key("s"), &[], 6), StoredOverrides::default());
        assert!(!sessions.revoke(&key("s")) && sessions.views(6).is_empty());
    }

    #[test]
    fn a_later_word_takes_the_place_of_an_earlier_one() {
        let sessions = sessions();
        sessions.hold(&key("s"), vec![host(ExecTarget::Gateway, KEPT)], Weight::Confirmed, &at(0)).unwrap();
        sessions.hold(&key("s"), vec![host(ExecTarget::Node, ONCE)], Weight::Confirmed, &at(0)).unwrap();
        let without = sessions.standing(&key("s"), &[host(ExecTarget::Auto, ONCE)], 0);
        assert_eq!((without.message.host, without.session.host.is_some()), (None, true));
        let said = host(ExecTarget::Sandbox, KEPT);
        assert_eq!(sessions.standing(&key("s"), std::slice::from_ref(&said), 0), StoredOverrides::default());
        sessions.hold(&key("s"), vec![said], Weight::Unconfirmed, &at(0)).unwrap();
        let standing = sessions.standing(&key("s"), &[], 0);
        assert_eq!(
            (standing.message.host, standing.session.host.unwrap().value),
            (None, ExecTarget::Sandbox)
        );
    }

    #[test]
    fn there_is_an_end_to_how_many_are_held_and_none_is_put_out() {
        let sessions = sessions();
        let setting = || vec![host(ExecTarget::Sandbox, KEPT)];
        for number in 0..MAX_SESSIONS {
            sessions.hold(&key(&number.to_string()), setting(), Weight::Unconfirmed, &at(0)).unwrap();
        }
        assert_eq!(sessions.hold(&key("one more"), setting(), Weight::Unconfirmed, &at(0)), Err(TooMany));
        sessions.hold(&key("7"), setting(), Weight::Unconfirmed, &at(0)).unwrap();
        assert_eq!(sessions.views(0).len(), MAX_SESSIONS);
    }
}
