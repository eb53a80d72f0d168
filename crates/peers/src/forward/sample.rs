//! A request that nobody made, to try a target with.

use countersign_approvals::book::{Record, RequestedBy};
use countersign_approvals::ports::Ports;
use countersign_approvals::question::{Command, Door, Offer, Place, Question, Runner, Subject, peer_asks};
use countersign_policy::display;
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::Via;
use countersign_protocol::trace::PolicyLayer;
use std::time::Duration;

/// A sample. It is in no book: whatever is answered, nothing hangs on it.
pub fn record(ports: &Ports) -> Record {
    let argv = ["echo", "a sample from Countersign: nothing runs"].map(str::to_owned);
    let view = display::argv_view(&argv, &[]);
    let question = Question {
        subject: Subject::Command(Box::new(Command {
            argv: Some(argv.to_vec()),
            ..Command::of_text(Runner::Asker, display::argv_line(&argv), view)
        })),
        door: Door { via: Via::Socket, gateway: None, program: None, generation: 0 },
        agent: AgentId::of(Some(AGENT)),
        session: None,
        place: Place::ThisMachine,
        why: peer_asks(PolicyLayer::BuiltIn),
        facts: Vec::new(),
        offer: Offer::once(),
        blocked: None,
    };
    let now_ms = ports.clock.now_ms();
    Record::create(question, LASTS, None, RequestedBy::default(), now_ms, || ports.ids.uuid().into())
}

/// Who asks.
const AGENT: &str = "sample";

/// How long it waits where somebody could answer.
const LASTS: Duration = Duration::from_secs(30);
