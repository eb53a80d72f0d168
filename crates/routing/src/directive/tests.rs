use super::*;
use pretty_assertions::assert_eq;

const NOW: Current = Current {
    target: ExecTarget::Auto,
    host: ExecHost::Sandbox,
    security: Security::Allowlist,
    ask: Ask::OnMiss,
    node: None,
    elevated: Elevated::Off,
};

/// What is left of a message and what is answered to it, in a sandbox and with nothing against elevation.
fn check(release: Release, body: &str, cleaned: &str, reply: &str) {
    let message = Message::parse(body, release);
    let text = match message.reply(release, &NOW, None, Runtime::Sandboxed) {
        Reply::Unchanged(text) => format!("= {text}"),
        Reply::Done(text) => text,
        Reply::Nothing => String::new(),
    };
    assert_eq!((message.cleaned.as_str(), text.as_str()), (cleaned, reply), "{body:?}");
}

fn newest(body: &str, cleaned: &str, reply: &str) {
    check(Release::Newest, body, cleaned, reply);
}

fn early(body: &str, cleaned: &str, reply: &str) {
    check(Release::Early, body, cleaned, reply);
}

#[test]
fn the_newest_release_takes_out_the_directive_and_nothing_else() {
    newest("fix  it", "fix  it", "");
    newest("/execute host=gateway", "/execute host=gateway", "");
    newest("see a/exec host=gateway", "see a/exec host=gateway", "");
    let gateway = "⚙️ Exec defaults set (host=gateway).";
    newest("/exec host=gateway", "", gateway);
    newest("/EXEC: HOST:Gateway", "", gateway);
    newest("fix  it /exec host=gateway\nnow", "fix  it\nnow", gateway);
    newest("one\n  /exec host=gateway  \ntwo", "one\ntwo", gateway);
    newest("/exec host=gateway  fix", " fix", gateway);
    newest("/exec host=gateway fix host=node", "fix host=node", gateway);
    newest("/exec host=node host=gateway", "", gateway);
    newest("/exec\tnode=Büro=2", "", "⚙️ Exec defaults set (node=Büro=2).");
}

#[test]
fn the_older_release_collapses_what_is_left() {
    early("fix  it", "fix  it", "");
    early(" fix  it\n/exec host=gateway \n now", "fix it now", "⚙️ Exec defaults set (host=gateway).");
    let all = "⚙️ Exec defaults set (host=node, security=full, ask=off, node=n).";
    early("/exec node=n ask=off security=full host=node", "", all);
    early("/exec host=auto", "", "= Unrecognized exec host \"auto\". Valid hosts: sandbox, gateway, node.");
}

#[test]
fn policy_is_for_one_run_in_the_newest_release() {
    newest(
        "/exec node=n1 ask=always host=node security=deny",
        "",
        "⚙️ Exec defaults set (host=node, node=n1). ⚙️ Exec policy for this run only (security=deny, ask=always).",
    );
    newest("/exec ask=off", "", "⚙️ Exec policy for this run only (ask=off).");
}

#[test]
fn what_is_wrong_is_said_and_a_later_value_does_not_mend_it() {
    let hosts = "Valid hosts: auto, sandbox, gateway, node.";
    newest("/exec host=Mars", "", &format!("= Unrecognized exec host \"Mars\". {hosts}"));
    newest("/exec host=mars host=gateway", "", &format!("= Unrecognized exec host \"gateway\". {hosts}"));
    newest("/exec security=", "", "= Unrecognized exec security \"\". Valid: deny, allowlist, full.");
    newest("/exec ask=never x", "x", "= Unrecognized exec ask \"never\". Valid: off, on-miss, always.");
    newest("/exec node=", "", "= Exec node requires a value.");
    newest("/exec please", "please", "= Unexpected argument \"please\" for /exec.");
    newest(
        "/elevated maybe",
        "",
        "= Unrecognized elevated level \"maybe\". Valid levels: off, on, ask, full.",
    );
}

#[test]
fn a_bare_directive_asks_what_is_set() {
    newest(
        "/exec",
        "",
        "= Current exec defaults: host=auto, effective=sandbox, security=allowlist, ask=on-miss, node=(unset).\n\
         Options: host=auto|sandbox|gateway|node, security=deny|allowlist|full, ask=off|on-miss|always, node=<id>.",
    );
    early(
        "/exec",
        "",
        "= Current exec defaults: host=auto, security=allowlist, ask=on-miss, node=(unset).\n\
         Options: host=sandbox|gateway|node, security=deny|allowlist|full, ask=off|on-miss|always, node=<id>.",
    );
    newest("/elevated", "", "= Current elevated level: off.\nOptions: on, off, ask, full.");
    newest("/elev fix it", "fix it", "= Current elevated level: off.\nOptions: on, off, ask, full.");
}

#[test]
fn every_word_for_a_level_is_known() {
    let said = |word: &str| Message::parse(&format!("/elev {word}"), Release::Newest).elevated.unwrap().level;
    for (words, level) in [
        (&["off", "false", "NO"][..], Elevated::Off),
        (&["on", "true", "Yes"], Elevated::On),
        (&["ask", "prompt", "approval", "approve"], Elevated::Ask),
        (&["full", "auto", "auto-approve", "autoapprove"], Elevated::Full),
    ] {
        for word in words {
            assert_eq!(said(word), Some(level), "{word}");
        }
    }
    assert_eq!(said("fuller"), None);
    // The peers know these words too and never reach them: their pattern takes letters alone.
    assert_eq!(said("1"), None);
}

#[test]
fn elevation_is_answered_as_the_peers_answer_it() {
    let on = "⚙️ Elevated mode set to ask (approvals may still apply).";
    newest("/elevated on", "", on);
    newest("/elev: ask", "", on);
    newest("/elevated off", "", "⚙️ Elevated mode disabled.");
    newest(
        "/elevated full /exec host=gateway",
        "",
        "⚙️ Elevated mode set to full (auto-approve). ⚙️ Exec defaults set (host=gateway).",
    );
    let message = Message::parse("/elevated full", Release::Newest);
    assert_eq!(
        message.reply(Release::Newest, &NOW, None, Runtime::Direct),
        Reply::Done(
            "⚙️ Elevated mode set to full (auto-approve). ⚙️ Runtime is direct; sandboxing does not apply."
                .into()
        )
    );
    assert_eq!(
        message.reply(Release::Newest, &NOW, Some("no"), Runtime::Direct),
        Reply::Unchanged("no".into())
    );
}

#[test]
fn only_a_message_that_is_nothing_else_speaks_of_its_session() {
    let only = |body: &str| Message::parse(body, Release::Newest).is_only_directives();
    assert!(only("/exec host=gateway"));
    assert!(only(" /elevated on\n/exec host=gateway "));
    assert!(!only("/exec host=gateway fix it"));
    assert!(!only("fix it"));
    assert!(!only(""));
}
