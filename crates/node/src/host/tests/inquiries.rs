//! Questions about what somebody else runs, and the rules that refuse.

use super::*;
use crate::host::{Inquired, Inquiry};
use countersign_approvals::book::RequestedBy;
use countersign_approvals::question::peer_asks;
use countersign_commands::analysis::analyze_text;
use countersign_protocol::trace::PolicyLayer;
use pretty_assertions::assert_eq;

fn question(text: &str, argv: Option<&[&str]>) -> Question {
    let view = display::text_view(text, &analyze_text(text));
    Question {
        subject: Wanted::Command(Box::new(Command {
            argv: argv.map(|argv| argv.iter().map(|word| (*word).to_owned()).collect()),
            ..Command::of_text(Runner::Asker, text.to_owned(), view)
        })),
        door: Door { via: Via::Gateway, gateway: None, program: None, generation: 0 },
        agent: AgentId::of(None),
        session: None,
        place: Place::ThisMachine,
        why: peer_asks(PolicyLayer::Requested),
        facts: Vec::new(),
        offer: Offer::once(),
        blocked: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t10_a_rule_refuses_what_is_said_and_what_would_run_in_whatever_form_it_is_told() {
    let rules = own(serde_json::json!({ "effect": "deny" }));
    let rig =
        Rig::with_rules(&policy("full", "off", "deny", &[]), Some(&rules), ForwardedGrants::Never).await;
    let _presenter = rig.host.parts.approvals.presenter();
    for (text, argv, refuses) in [
        ("echo ran", None, true),
        ("echo ran", Some(&["echo", "ran"][..]), true),
        ("echo ran", Some(&["/bin/sh", "-lc", "echo ran"]), true),
        ("uname", Some(&["/bin/sh", "-c", "echo ran"]), true),
        ("echo ran", Some(&["uname"]), true),
        ("uname", Some(&["/bin/sh", "-lc", "uname"]), false),
    ] {
        let inquiry = Inquiry {
            question: question(text, argv),
            analysis: None,
            wait: Duration::from_secs(30),
            id: None,
            by: RequestedBy::default(),
            run: None,
        };
        let inquired = rig.host.inquire(inquiry).await.unwrap();
        assert_eq!(matches!(inquired, Inquired::Refused { .. }), refuses, "{text} {argv:?}");
    }
}
