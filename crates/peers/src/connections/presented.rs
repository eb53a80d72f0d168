//! What waits at another gateway, read leniently and shown strictly.

use countersign_approvals::question::Question;
use countersign_commands::analysis::Analysis;
use countersign_node::host::AskedRun;
use countersign_protocol::gateway::approval::{RequestView, Requested};
use countersign_protocol::gateway::plugin::PluginView;
use countersign_protocol::gateway::proposal::ProposalView;
use countersign_protocol::gateway::unified::ApprovalKind;
use countersign_protocol::ids::SessionKey;
use countersign_protocol::question::Via;
use countersign_protocol::vocabulary::Decision;
use countersign_questions::gateway::{asked, asked_by_plugin, cwd, proposed, run_of, would_run_here};
use serde::Deserialize;
use serde_json::{Value, json};

/// Kinds of approvals, each with methods and events of its own.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// A command.
    Exec,
    /// Something that a plugin wants.
    Plugin,
    /// A change that the gateway's own agent proposes.
    SystemAgent,
}

impl Kind {
    /// Each.
    pub const ALL: [Self; 3] = [Self::Exec, Self::Plugin, Self::SystemAgent];

    /// The method that lists what waits.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Exec => "exec.approval.list",
            Self::Plugin => "plugin.approval.list",
            Self::SystemAgent => "openclaw.approval.list",
        }
    }

    /// The method that answers.
    pub const fn resolve(self) -> &'static str {
        match self {
            Self::Exec => "exec.approval.resolve",
            Self::Plugin => "plugin.approval.resolve",
            // There is none of its own.
            Self::SystemAgent => "approval.resolve",
        }
    }

    /// Parameters of an answer. A gateway takes what it does not understand for a denial where the kind is
    /// named (docs/protocol/approvals.md, "Every kind in one shape").
    pub fn answer(self, id: &str, decision: Decision) -> Value {
        match self {
            Self::Exec | Self::Plugin => json!({ "id": id, "decision": decision }),
            Self::SystemAgent => json!({ "id": id, "kind": ApprovalKind::SystemAgent, "decision": decision }),
        }
    }

    /// The event that says that one waits.
    pub const fn requested(self) -> &'static str {
        match self {
            Self::Exec => "exec.approval.requested",
            Self::Plugin => "plugin.approval.requested",
            Self::SystemAgent => "openclaw.approval.requested",
        }
    }

    /// The event that says that one was answered.
    pub const fn resolved(self) -> &'static str {
        match self {
            Self::Exec => "exec.approval.resolved",
            Self::Plugin => "plugin.approval.resolved",
            Self::SystemAgent => "openclaw.approval.resolved",
        }
    }
}

/// One that is to be asked here.
#[derive(Clone, Debug)]
pub(super) struct Presented {
    pub(super) kind: Kind,
    /// The gateway's id for it.
    pub(super) id: String,
    /// As the book keeps it.
    pub(super) question: Question,
    /// A command's text taken apart, where that was done for the question.
    pub(super) analysis: Option<Analysis>,
    /// The run that it is about, if a node's.
    pub(super) run: Option<AskedRun>,
    /// When it expires by the gateway's clock, Unix milliseconds.
    pub(super) expires_at_ms: i64,
}

/// Where something waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    /// The person's name for it.
    pub(super) name: &'a str,
    /// Its address, as this machine's runner calls it.
    pub(super) address: &'a str,
    /// This machine's id as a node.
    pub(super) own_node: Option<&'a str>,
}

/// Longest id that is taken, in bytes.
const MAX_ID: usize = 256;

impl Presented {
    /// Reads what an event or a row of a list says.
    pub(super) fn read(kind: Kind, payload: &Value, origin: Origin<'_>) -> Result<Self, ReadError> {
        let gateway = Some(origin.name);
        let presented = match kind {
            Kind::Exec => {
                let Requested::<RequestView> { id, request, expires_at_ms, .. } =
                    Requested::deserialize(payload)?;
                let (mut question, analysis) =
                    asked(&request.command, cwd(&request), &request, Via::Connection, gateway);
                would_run_here(&mut question, &request, origin.own_node);
                let run = run_of(&id, &request, origin.address);
                Self { kind, run, question, analysis, id, expires_at_ms }
            }
            Kind::Plugin => {
                let Requested::<PluginView> { id, request, expires_at_ms, .. } =
                    Requested::deserialize(payload)?;
                let question = asked_by_plugin(&request, Via::Connection, gateway);
                Self { kind, id, question, analysis: None, run: None, expires_at_ms }
            }
            Kind::SystemAgent => {
                let Requested::<ProposalView> { id, request, expires_at_ms, .. } =
                    Requested::deserialize(payload)?;
                if request.description.trim().is_empty() {
                    return Err(ReadError::Blank);
                }
                let question = proposed(&request, Via::Connection, gateway);
                Self { kind, id, question, analysis: None, run: None, expires_at_ms }
            }
        };
        if presented.id.is_empty() || presented.id.len() > MAX_ID {
            return Err(ReadError::Id(presented.id.len()));
        }
        if presented.question.subject.line().trim().is_empty() {
            return Err(ReadError::Blank);
        }
        Ok(presented)
    }

    /// The session that it is for.
    pub(super) fn session(&self) -> Option<&str> {
        self.question.session.as_ref().map(SessionKey::as_str)
    }

    /// What the gateway lets a person answer.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.question.offer.decisions.clone()
    }
}

/// Why something that waits there cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// It is not of the shape that every release has.
    #[error("expected a request: {0}")]
    Shape(#[from] serde_json::Error),
    /// It has no id that could be answered.
    #[error("expected an id of 1 to {MAX_ID} bytes, got {0}")]
    Id(usize),
    /// There is nothing to show.
    #[error("expected a command, got blanks")]
    Blank,
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_approvals::question::{Folder, Place};
    use countersign_protocol::question::{HostKind, QuestionKind};
    use countersign_protocol::shown::CommandForm;
    use countersign_protocol::socket::NodeRun;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    const WORK: Origin<'_> = Origin { name: "work", address: "loopback:18789", own_node: Some("this-node") };

    fn exec(request: Value) -> Presented {
        let payload = json!({"id": "1", "request": request, "createdAtMs": 1, "expiresAtMs": 2});
        Presented::read(Kind::Exec, &payload, WORK).unwrap()
    }

    #[test]
    fn the_oldest_form_is_shown_with_what_its_ask_leaves() {
        let presented =
            exec(json!({"command": "rm -rf build", "cwd": "/w", "host": "gateway", "security": null,
            "ask": "always", "agentId": null, "resolvedPath": null, "sessionKey": "agent:main"}));
        let question = &presented.question;
        assert_eq!(question.offer.decisions, [Decision::AllowOnce, Decision::Deny]);
        assert_eq!((question.subject.kind(), question.place.kind()), (QuestionKind::Ask, HostKind::Remote));
        assert_eq!(question.door.gateway.as_deref(), Some("work"));
        assert_eq!(question.subject.folder(), Some(&Folder::named("/w")));
        assert_eq!(presented.session(), Some("agent:main"));
    }

    #[test]
    fn the_list_that_would_run_is_shown_and_another_text_is_flagged() {
        let check = |command: &str, argv: &[&str], flagged: bool| {
            let plan = json!({"argv": argv, "cwd": "/w", "commandText": command, "agentId": null, "sessionKey": null});
            let presented =
                exec(json!({"command": command, "host": "node", "nodeId": "n", "systemRunPlan": plan}));
            let question = &presented.question;
            let asked = question.subject.command().unwrap();
            assert_eq!(asked.view.form, CommandForm::Argv);
            assert_eq!(asked.text_differs, flagged, "{command} {argv:?}");
        };
        check("ls -l", &["ls", "-l"], false);
        check("ls -l", &["rm", "-rf", "/"], true);
        check("echo a; echo b", &["/bin/sh", "-lc", "echo a; echo b"], false);
        check("echo a; echo b", &["/bin/sh", "-lc", "echo a; rm b"], true);
        check("printf a\\u{A}b", &["/bin/sh", "-lc", "printf a\nb"], false);
    }

    #[test]
    fn what_would_run_on_this_very_machine_says_so_and_names_its_run() {
        let here = |node: &str| {
            exec(json!({"command": "ls", "cwd": "/w", "host": "node", "nodeId": node, "envKeys": ["LANG"]}))
        };
        let own = here("this-node");
        assert_eq!(own.question.place, Place::ThisMachine);
        let run =
            NodeRun { gateway: "loopback:18789".into(), node_id: "this-node".into(), run_id: "1".into() };
        assert_eq!(own.run, Some(AskedRun { run, env_names: vec!["LANG".into()] }));
        assert_eq!(here("other").question.place.kind(), HostKind::Remote);
        assert_eq!(exec(json!({"command": "ls", "host": "gateway", "nodeId": "this-node"})).run, None);
    }

    #[test]
    fn decisions_of_later_releases_are_left_out() {
        let presented = exec(json!({"command": "ls", "allowedDecisions": ["allow-forever", "deny", 1]}));
        assert_eq!(presented.decisions(), [Decision::Deny]);
    }

    #[test]
    fn a_plugins_words_are_no_command() {
        let request = json!({"title": "Send mail", "description": "to\u{202e} everybody", "severity": "critical",
            "pluginId": "mail", "allowedDecisions": ["allow-once"]});
        let payload = json!({"id": "plugin:1", "request": request, "createdAtMs": 1, "expiresAtMs": 2});
        let presented = Presented::read(Kind::Plugin, &payload, WORK).unwrap();
        let question = &presented.question;
        assert_eq!(question.subject.kind(), QuestionKind::Plugin);
        assert_eq!(question.offer.decisions, [Decision::AllowOnce, Decision::Deny]);
        let view = question.subject.view();
        assert_eq!((view.hidden, view.arguments), (1, 0));
    }

    #[test]
    fn a_change_that_a_gateway_proposes_is_shown_in_its_words_and_answered_by_its_kind() {
        let request = json!({"title": "OpenClaw change", "description": "set a to b", "command": "set a to b",
            "proposalHash": "h", "allowedDecisions": ["allow-once", "deny"], "agentId": "main", "sessionKey": "s"});
        let mut payload =
            json!({"id": "system-agent:1", "request": request, "createdAtMs": 1, "expiresAtMs": 2});
        let presented = Presented::read(Kind::SystemAgent, &payload, WORK).unwrap();
        let question = &presented.question;
        assert_eq!(
            (question.subject.kind(), question.place.kind()),
            (QuestionKind::SystemAgent, HostKind::Remote)
        );
        assert_eq!(question.offer.decisions, [Decision::AllowOnce, Decision::Deny]);
        assert_eq!(question.door.gateway.as_deref(), Some("work"));
        let view = question.subject.view();
        assert_eq!(view.arguments, 0);
        assert_eq!(view.segments.len(), 2, "title and description, and nothing twice");
        let answer = json!({"id": "system-agent:1", "kind": "system-agent", "decision": "allow-once"});
        assert_eq!(presented.kind.answer(&presented.id, Decision::AllowOnce), answer);
        payload["request"]["description"] = json!(" ");
        assert!(matches!(Presented::read(Kind::SystemAgent, &payload, WORK), Err(ReadError::Blank)));
    }

    #[test]
    fn what_cannot_be_shown_or_answered_is_refused() {
        let check = |payload: Value| {
            assert!(Presented::read(Kind::Exec, &payload, WORK).is_err(), "{payload}");
        };
        let times = |id: Value, request: Value| json!({"id": id, "request": request, "createdAtMs": 1, "expiresAtMs": 2});
        check(json!(null));
        check(json!({"id": "1"}));
        check(times(json!(1), json!({"command": "ls"})));
        check(times(json!(""), json!({"command": "ls"})));
        check(times(json!("x".repeat(257)), json!({"command": "ls"})));
        check(times(json!("1"), json!({"command": " "})));
        check(times(json!("1"), json!({"command": 1})));
        check(times(json!("1"), json!({"command": "ls", "systemRunPlan": {"argv": "ls"}})));
    }
}
