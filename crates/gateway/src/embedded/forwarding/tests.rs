//! What reaches a node, and every reason for which nothing does.

use super::*;
use crate::embedded::Ended;
use countersign_protocol::gateway::approval::{Plan, RequestView, Requested};
use pretty_assertions::assert_eq;

const NOW: i64 = 1_000;
const NODE: &str = "node-1";

/// Texts agree when they are the words with blanks between; what `sh -c` runs may stand alone.
fn agree(argv: &[String], raw: Option<&str>) -> Option<Agreed> {
    let preview = match argv {
        [sh, flag, text] if sh == "sh" && flag == "-c" => Some(text.clone()),
        _ => None,
    };
    let agrees = |raw: &str| raw == argv.join(" ") || Some(raw) == preview.as_deref();
    raw.is_none_or(agrees).then_some(Agreed { preview })
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn plan() -> Plan {
    Plan {
        argv: words("make all"),
        cwd: Some("/w".into()),
        command_text: "make all".into(),
        agent_id: Some("main".into()),
        session_key: Some("s-1".into()),
        ..Plan::default()
    }
}

/// An approval that device `d-1` asked for over connection `c-1` and that was allowed once.
fn record(change: impl FnOnce(&mut KnownApproval, &mut RequestView)) -> KnownApproval {
    let plan = plan();
    let mut request = RequestView {
        host: Some("node".into()),
        node_id: Some(NODE.into()),
        system_run_plan: Some(plan.clone()),
        ..RequestView::default()
    };
    let ended = Ended { decision: Some(Decision::AllowOnce), reason: Reason::User, at_ms: NOW - 1, by: None };
    let mut known = KnownApproval {
        requested: Requested {
            id: "r-1".into(),
            request: Subject::Exec(Box::default()),
            created_at_ms: NOW - 10,
            expires_at_ms: NOW + 10,
        },
        by: Requester {
            conn_id: "c-1".into(),
            device_id: Some("d-1".into()),
            client_id: "gateway-client".into(),
        },
        binding: Some(Box::new(Binding::of(&plan, None, None, None))),
        ended: Some(ended),
        until_steady_ms: NOW + 10,
    };
    change(&mut known, &mut request);
    known.requested.request = Subject::Exec(Box::new(request));
    known
}

/// The code of a refusal.
fn code(error: &ErrorShape) -> String {
    let details = error.details.as_ref().unwrap();
    assert_eq!(error.code, "INVALID_REQUEST");
    details["code"].as_str().unwrap().to_owned()
}

/// What a claim of device `d-1` comes to: what would leave, or the code of the refusal.
fn claim(params: Value, record: &KnownApproval) -> Result<Value, String> {
    claim_of(&record.by.clone(), true, NODE, params, record)
}

fn claim_of(
    by: &Requester,
    may_approve: bool,
    node_id: &str,
    params: Value,
    record: &KnownApproval,
) -> Result<Value, String> {
    let asker = Asker { by, may_approve };
    match read(params, &agree).map_err(|error| code(&error))? {
        Wanted::Plain(params) => Ok(params.into()),
        Wanted::Approved(claim) => claim
            .check(record, asker, &NodeId::from(node_id), &agree, NOW)
            .map(|granted| granted.params().into())
            .map_err(|error| code(&error)),
    }
}

fn approved(more: Value) -> Value {
    let mut params = json!({"command": ["make", "all"], "runId": "r-1", "approved": true});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

/// What leaves for an allowed run.
fn leaves(decision: &str) -> Value {
    json!({
        "command": ["make", "all"], "rawCommand": "make all", "cwd": "/w", "agentId": "main", "sessionKey": "s-1",
        "runId": "r-1", "systemRunPlan": plan(), "approved": true, "approvalDecision": decision,
    })
}

#[test]
fn what_is_not_said_to_be_approved_is_passed_on_without_a_word_about_it() {
    let check = |params: Value, expected: Result<Value, &str>| {
        let read = read(params.clone(), &agree).map_err(|error| code(&error));
        let plain = read.map(|wanted| match wanted {
            Wanted::Plain(params) => Value::from(params),
            Wanted::Approved(_) => panic!("taken for a claim: {params}"),
        });
        assert_eq!(plain, expected.map_err(str::to_owned), "{params}");
    };
    check(Value::Null, Ok(json!({})));
    check(
        json!({"command": ["id"], "rawCommand": "id", "env": {"A": "1"}, "timeoutMs": 5, "evil": 1}),
        Ok(json!({"command": ["id"], "rawCommand": "id", "env": {"A": "1"}, "timeoutMs": 5})),
    );
    // T1: none of these is a claim, and none of them is passed on.
    for word in [json!(false), json!("true"), json!(1), json!("yes"), Value::Null] {
        check(json!({"command": ["id"], "approved": word}), Ok(json!({"command": ["id"]})));
    }
    for word in [json!("deny"), json!("allow"), json!(true), json!("")] {
        check(json!({"command": ["id"], "approvalDecision": word}), Ok(json!({"command": ["id"]})));
    }
    check(json!({"command": ["id"], "approvalSource": null}), Ok(json!({"command": ["id"]})));
    check(
        json!({"command": ["sh", "-c", "id"], "rawCommand": " id "}),
        Ok(json!({"command": ["sh", "-c", "id"], "rawCommand": " id "})),
    );
    check(json!({"command": ["id"], "rawCommand": "ls"}), Err("RAW_COMMAND_MISMATCH"));
    check(json!({"rawCommand": "ls"}), Err("MISSING_COMMAND"));
    check(json!({"command": [], "rawCommand": "ls"}), Err("MISSING_COMMAND"));
    check(json!({"command": "ls"}), Err("INVALID_PARAMS"));
    check(json!({"command": ["ls", 1]}), Err("INVALID_PARAMS"));
    check(json!({"command": ["ls"], "rawCommand": 1}), Err("INVALID_PARAMS"));
    check(json!(["ls"]), Err("INVALID_PARAMS"));
    check(json!("ls"), Err("INVALID_PARAMS"));
}

#[test]
fn t01_a_claim_without_an_approval_is_refused() {
    let check = |params: Value, expected: &str| {
        assert_eq!(
            read(params.clone(), &agree).map_err(|error| code(&error)).unwrap_err(),
            expected,
            "{params}"
        );
    };
    check(json!({"command": ["id"], "approved": true}), "MISSING_RUN_ID");
    check(json!({"command": ["id"], "approved": true, "runId": " "}), "MISSING_RUN_ID");
    check(json!({"command": ["id"], "approvalDecision": " allow-once "}), "MISSING_RUN_ID");
    check(json!({"command": ["id"], "approvalSource": "ask-fallback"}), "MISSING_RUN_ID");
    for source in [json!("auto-review"), json!("person"), json!(true), json!("")] {
        check(json!({"command": ["id"], "approvalSource": source}), "INVALID_APPROVAL_SOURCE");
    }
    for word in ["approved", "approvalDecision"] {
        let mut params = json!({"command": ["id"], "runId": "r", "approvalSource": "ask-fallback"});
        params[word] = Value::Null;
        check(params, "APPROVAL_SOURCE_MISMATCH");
    }
    let Ok(Wanted::Approved(claim)) = read(approved(json!({})), &agree) else { panic!("no claim") };
    assert_eq!((claim.run_id(), code(&claim.unknown()).as_str()), ("r-1", "UNKNOWN_APPROVAL_ID"));
}

#[test]
fn what_a_person_allowed_runs_as_it_was_asked_about() {
    let once = record(|_, _| {});
    assert_eq!(claim(approved(json!({})), &once), Ok(leaves("allow-once")));
    // Which word the caller uses makes no difference: the record's counts.
    for word in ["allow-once", "allow-always"] {
        let said = json!({"runId": " r-1 ", "approvalDecision": word, "cwd": "/elsewhere", "rawCommand": "rm -rf /"});
        assert_eq!(claim(said, &once), Ok(leaves("allow-once")));
    }
    let always = record(|known, _| known.ended.as_mut().unwrap().decision = Some(Decision::AllowAlways));
    assert_eq!(
        claim(approved(json!({"approvalDecision": "allow-once"})), &always),
        Ok(leaves("allow-always"))
    );
    let shell = record(|known, request| {
        let plan = Plan {
            argv: words("sh -c id"),
            command_text: "sh -c id".into(),
            command_preview: Some("id".into()),
            ..Plan::default()
        };
        known.binding = Some(Box::new(Binding::of(&plan, None, None, None)));
        request.system_run_plan = Some(plan);
    });
    let left = claim(json!({"runId": "r-1", "approved": true, "cwd": "/w"}), &shell).unwrap();
    assert_eq!(
        (&left["command"], &left["rawCommand"], left.get("cwd")),
        (&json!(["sh", "-c", "id"]), &json!("id"), None)
    );
}

#[test]
fn without_a_plan_the_caller_s_own_words_have_to_be_the_ones_that_were_asked_about() {
    let check = |params: Value, expected: Result<(), &str>| {
        let record = record(|known, request| {
            request.system_run_plan = None;
            let binding = known.binding.as_mut().unwrap();
            (binding.cwd, binding.agent_id) = (Some("/w".into()), None);
        });
        let left = claim(approved(params.clone()), &record);
        assert!(left.as_ref().ok().is_none_or(|left| left.get("systemRunPlan").is_none()), "{left:?}");
        assert_eq!(left.map(|_| ()), expected.map_err(str::to_owned), "{params}");
    };
    let same = json!({"cwd": " /w ", "sessionKey": "s-1"});
    check(same.clone(), Ok(()));
    for (name, value) in [
        ("cwd", json!("/")),
        ("cwd", Value::Null),
        ("agentId", json!("main")),
        ("sessionKey", json!("s-2")),
        ("command", json!(["make", "all", "x"])),
        ("command", json!([])),
    ] {
        let mut other = same.clone();
        other[name] = value;
        check(other, Err("APPROVAL_REQUEST_MISMATCH"));
    }
    let mut other = same;
    other["rawCommand"] = json!("make clean");
    check(other, Err("RAW_COMMAND_MISMATCH"));
}

#[test]
fn t05_an_approval_counts_for_one_node_one_caller_and_one_run() {
    let check = |change: fn(&mut KnownApproval, &mut RequestView), more: Value, expected: &str| {
        let left = claim_of(&record(|_, _| {}).by, true, NODE, approved(more), &record(change));
        assert_eq!(left, Err(expected.to_owned()));
    };
    check(|_, request| request.node_id = Some("node-2".into()), json!({}), "APPROVAL_NODE_MISMATCH");
    check(|_, request| request.node_id = None, json!({}), "APPROVAL_NODE_BINDING_MISSING");
    check(|_, request| request.node_id = Some(" ".into()), json!({}), "APPROVAL_NODE_BINDING_MISSING");
    check(|known, _| known.by.device_id = Some("d-2".into()), json!({}), "APPROVAL_DEVICE_MISMATCH");
    check(
        |known, _| (known.by.device_id, known.by.conn_id) = (None, "c-2".into()),
        json!({}),
        "APPROVAL_CLIENT_MISMATCH",
    );
    check(|_, request| request.host = Some("gateway".into()), json!({}), "APPROVAL_REQUEST_MISMATCH");
    check(|known, _| known.binding = None, json!({}), "APPROVAL_REQUEST_MISMATCH");
    check(
        |known, _| known.binding.as_mut().unwrap().cwd = Some("/x".into()),
        json!({}),
        "APPROVAL_REQUEST_MISMATCH",
    );
    check(
        |known, _| known.binding.as_mut().unwrap().argv = words("id"),
        json!({}),
        "APPROVAL_REQUEST_MISMATCH",
    );
    for more in [
        json!({"command": ["make", "install"]}),
        json!({"command": "make all"}),
        json!({"sessionKey": "s-2"}),
        json!({"agentId": "other"}),
    ] {
        check(|_, _| {}, more, "APPROVAL_REQUEST_MISMATCH");
    }
    check(|known, _| known.until_steady_ms = NOW - 1, json!({}), "APPROVAL_EXPIRED");
    check(|known, _| known.ended = None, json!({}), "APPROVAL_REQUIRED");
    for decision in [Some(Decision::Deny), None] {
        let ended = record(|known, _| known.ended.as_mut().unwrap().decision = decision);
        assert_eq!(claim(approved(json!({})), &ended), Err("APPROVAL_REQUIRED".to_owned()));
    }
    // The device counts, not the connection that it asked over.
    let again = Requester { conn_id: "c-9".into(), ..record(|_, _| {}).by };
    assert!(claim_of(&again, false, NODE, approved(json!({})), &record(|_, _| {})).is_ok());
}

#[test]
fn t05_an_environment_counts_only_as_it_was_asked_about() {
    let asked = json!({"A": "1", "B_X": "two words"});
    let check = |bound: bool, env: Value, expected: Result<(), &str>| {
        let record = record(|known, _| {
            let env = asked.as_object().unwrap();
            let binding = known.binding.as_mut().unwrap();
            binding.env_hash = Environment::of(env).hash().filter(|_| bound);
        });
        let left = claim(approved(json!({ "env": env })), &record);
        if let Ok(left) = &left {
            assert_eq!(left["env"], env);
        }
        assert_eq!(left.map(|_| ()), expected.map_err(str::to_owned), "{env}");
    };
    let (missing, mismatch) = (Err("APPROVAL_ENV_BINDING_MISSING"), Err("APPROVAL_ENV_MISMATCH"));
    check(true, json!({"B_X": "two words", "A": "1"}), Ok(()));
    check(true, json!({"B_X": "two words", "A": "2"}), mismatch);
    check(true, json!({"A": "1"}), mismatch);
    check(true, json!({}), mismatch);
    check(true, Value::Null, mismatch);
    check(false, json!({"A": "1"}), missing);
    check(false, json!({}), Ok(()));
    check(false, Value::Null, Ok(()));
    check(false, json!(["A=1"]), missing);
    // What cannot be part of the hash would run unseen.
    check(true, json!({"B_X": "two words", "A": "1", "BASH_FUNC_x%%": "() { id; }"}), missing);
    check(false, json!({"LD_PRELOAD": 1}), missing);
}

#[test]
fn when_nobody_answered_in_time_the_nodes_fallback_may_decide() {
    let fallback = json!({"runId": "r-1", "approvalSource": "ask-fallback"});
    let expired = |change: fn(&mut KnownApproval, &mut RequestView)| {
        record(|known, request| {
            known.until_steady_ms = NOW - 5;
            known.ended = Some(Ended { decision: None, reason: Reason::Timeout, at_ms: NOW - 5, by: None });
            change(known, request);
        })
    };
    let known = expired(|_, _| {});
    let left = claim(fallback.clone(), &known).unwrap();
    assert_eq!((&left["approvalSource"], left.get("approved")), (&json!("ask-fallback"), None));
    assert_eq!(left.get("approvalDecision"), None);
    let check = |left: Result<Value, String>, expected: &str| assert_eq!(left, Err(expected.to_owned()));
    // Early callers say that it was allowed once.
    check(claim(approved(json!({"approvalDecision": "allow-once"})), &known), "APPROVAL_REQUIRED");
    check(claim_of(&known.by, false, NODE, fallback.clone(), &known), "APPROVAL_REQUIRED");
    let nobody = expired(|known, _| {
        (known.ended.as_mut().unwrap().reason, known.until_steady_ms) = (Reason::NoRoute, NOW);
    });
    check(claim(fallback.clone(), &nobody), "APPROVAL_REQUIRED");
    let without_plan = expired(|known, request| {
        request.system_run_plan = None;
        known.binding.as_mut().unwrap().argv = words("make all");
    });
    let mut said = approved(
        json!({"cwd": "/w", "agentId": "main", "sessionKey": "s-1", "approvalSource": "ask-fallback"}),
    );
    said.as_object_mut().unwrap().remove("approved");
    check(claim(said, &without_plan), "APPROVAL_PLAN_REQUIRED");
    check(claim(fallback, &record(|_, _| {})), "APPROVAL_SOURCE_MISMATCH");
}

#[test]
fn what_was_allowed_right_here_is_what_its_decision_says_and_not_its_parameters() {
    let check = |params: Value, decision: Decision, expected: Result<Value, &str>| {
        let left = allowed(params, decision, &agree).map(Value::from).map_err(|error| code(&error));
        assert_eq!(left, expected.map_err(str::to_owned));
    };
    let said = json!({
        "command": ["id"], "approved": false, "approvalDecision": "deny", "approvalSource": "auto-review", "more": 1,
    });
    let once = json!({"command": ["id"], "approved": true, "approvalDecision": "allow-once"});
    check(said.clone(), Decision::AllowOnce, Ok(once));
    let always = json!({"command": ["id"], "approved": true, "approvalDecision": "allow-always"});
    check(said.clone(), Decision::AllowAlways, Ok(always));
    check(said, Decision::Deny, Err("APPROVAL_REQUIRED"));
    let other = json!({"command": ["id"], "rawCommand": "ls"});
    check(other, Decision::AllowOnce, Err("RAW_COMMAND_MISMATCH"));
}
