//! A request that nobody made, to try a target with.

use countersign_approvals::book::{Record, Request, RequestedBy};
use countersign_approvals::ports::Ports;
use countersign_policy::display::{self, Secrets};
use countersign_protocol::ui::{
    Card, CardKind, HostKind, HostView, OnExpiry, PolicyLayer, Via, Why, WhyReason,
};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use std::time::Duration;

/// A sample. It is in no book: whatever is answered, nothing hangs on it.
pub(crate) fn record(ports: &Ports) -> Record {
    let argv = ["echo", "a sample from Countersign: nothing runs"].map(str::to_owned);
    let card = Card {
        id: String::new(),
        generation: 0,
        kind: CardKind::Ask,
        via: Via::Socket,
        gateway: None,
        agent: display::shown(AGENT, Secrets::Show),
        session: None,
        peer: None,
        host: HostView { kind: HostKind::ThisMachine, name: None },
        created_at_ms: 0,
        expires_at_ms: 0,
        on_expiry: OnExpiry::NoAnswer,
        command: display::argv_view(&argv, &[]),
        facts: Vec::new(),
        why: Why {
            reason: WhyReason::PeerAsks,
            opaque: None,
            cause: None,
            unbound: None,
            segments: Vec::new(),
            security: Security::Allowlist,
            ask: Ask::Always,
            layer: PolicyLayer::BuiltIn,
            entries_checked: 0,
            trace: Vec::new(),
        },
        decisions: vec![Decision::AllowOnce, Decision::Deny],
        always: Vec::new(),
        always_unavailable: None,
        allow_blocked: None,
    };
    let request =
        Request { card, proposals: Vec::new(), choices: Vec::new(), agent: AGENT.to_owned(), session: None };
    let now_ms = ports.clock.now_ms();
    Record::create(request, LASTS, None, RequestedBy::default(), now_ms, || ports.ids.uuid())
}

/// Who asks.
const AGENT: &str = "sample";

/// How long it waits where somebody could answer.
const LASTS: Duration = Duration::from_secs(30);
