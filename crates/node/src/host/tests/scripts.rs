//! What an answer about a script or a program of this user leaves behind, with real files that change.

use super::*;
use countersign_approvals::rules::RuleChange;
use countersign_approvals::store::{Looser, Writer};
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::RuleDraft;
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn request(rig: &Rig, command: &[&str]) -> ExecRequest {
    ExecRequest {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        cwd: Some(rig.work.display().to_string()),
        ..ExecRequest::default()
    }
}

async fn rig() -> Rig {
    Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::WithSnapshot).await
}

/// Keeps what `rung` offers for a request that is asked about.
async fn keep(rig: &Rig, command: &[&str], rung: Rung) {
    let record = rig.send(request(rig, command), NO).await.1.expect("a question");
    let choices = &record.question.offer.choices;
    let choice = choices.iter().find(|choice| choice.rung == rung);
    let choice = choice.unwrap_or_else(|| panic!("{command:?}: {choices:?} {:?}", record.question.why));
    let offers = choice.rules.clone().unwrap_or_else(|why| panic!("{command:?}: {why:?}"));
    let draft = |offer: countersign_policy::rules::Offer| {
        let rule = offer.into_rule(String::new(), "main".to_owned(), 0);
        RuleEdit::AddRule {
            rule: RuleDraft {
                agent: rule.agent,
                effect: rule.effect,
                program: rule.program,
                arguments: rule.arguments,
                folder: rule.folder,
                contents: rule.contents,
                limits: rule.limits,
                note: None,
            },
        }
    };
    let change = RuleChange {
        base_hash: None,
        edits: offers.into_iter().map(draft).collect(),
        looser: Looser::Confirmed,
        writer: Writer::Answer,
    };
    rig.host.parts.rules.edit(change).await.unwrap();
}

/// What it printed when it ran without a question.
async fn ran(rig: &Rig, command: &[&str]) -> Option<String> {
    match rig.send(request(rig, command), NO).await {
        (Came::Ran(printed), None) => Some(printed),
        (Came::Refused(..), Some(_)) => None,
        other => panic!("{command:?}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t14_a_script_runs_unasked_until_it_changes() {
    for (command, rung) in [
        (&["bash", "a.sh", "x1"][..], Rung::Exact),
        (&["bash", "a.sh", "x1"], Rung::Shape),
        (&["sh", "-c", "bash ./a.sh x1 | tail -n 5"], Rung::Exact),
        (&["sh", "-c", "echo first; bash ./a.sh x1"], Rung::Exact),
    ] {
        let rig = rig().await;
        let script = rig.work.join("a.sh");
        fs::write(&script, "echo shown $1\n").unwrap();
        keep(&rig, command, rung).await;
        let printed = ran(&rig, command).await.expect("it runs");
        assert!(printed.ends_with("shown x1\n"), "{command:?}: {printed}");
        fs::write(&script, "echo other $1\n").unwrap();
        assert_eq!(ran(&rig, command).await, None, "{command:?}");
        fs::write(&script, "echo shown $1\n").unwrap();
        assert!(ran(&rig, command).await.is_some(), "the same bytes are the same script");
        fs::rename(&script, rig.work.join("old")).unwrap();
        assert_eq!(ran(&rig, command).await, None, "a script that is gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t14_another_file_under_the_same_name_is_another_script() {
    let rig = rig().await;
    let script = rig.work.join("a.sh");
    fs::write(rig.work.join("good.sh"), "echo good\n").unwrap();
    fs::write(rig.work.join("evil.sh"), "echo evil\n").unwrap();
    std::os::unix::fs::symlink("good.sh", &script).unwrap();
    keep(&rig, &["bash", "a.sh"], Rung::Exact).await;
    assert_eq!(ran(&rig, &["bash", "a.sh"]).await.as_deref(), Some("good\n"));
    fs::remove_file(&script).unwrap();
    std::os::unix::fs::symlink("evil.sh", &script).unwrap();
    assert_eq!(ran(&rig, &["bash", "a.sh"]).await, None);
    // A command that would change the script before it runs is asked about as well.
    fs::remove_file(&script).unwrap();
    std::os::unix::fs::symlink("good.sh", &script).unwrap();
    assert_eq!(ran(&rig, &["sh", "-c", "cp evil.sh good.sh; bash a.sh"]).await, None);
    assert_eq!(ran(&rig, &["bash", "a.sh"]).await.as_deref(), Some("good\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn t15_a_program_of_this_user_runs_unasked_until_it_changes() {
    let rig = rig().await;
    let tool = rig.work.join("tool");
    fs::write(&tool, "#!/bin/sh\necho shown \"$@\"\n").unwrap();
    // To root only what others may write is not safe.
    private(&tool, 0o777);
    keep(&rig, &["./tool", "1"], Rung::Shape).await;
    assert_eq!(ran(&rig, &["./tool", "1"]).await.as_deref(), Some("shown 1\n"));
    assert_eq!(ran(&rig, &["./tool", "2"]).await.as_deref(), Some("shown 2\n"));
    assert_eq!(ran(&rig, &["./tool", "drop"]).await, None);
    fs::write(&tool, "#!/bin/sh\necho other \"$@\"\n").unwrap();
    assert_eq!(ran(&rig, &["./tool", "1"]).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn t15_a_program_behind_a_link_runs_under_the_name_that_was_typed_while_it_leads_there() {
    let rig = rig().await;
    let program = |name: &str, text: &str| {
        let path = rig.work.join("tools").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let shows = "#!/bin/sh\nprintf '%s\\n' \"${0##*/} $*\"\n";
    for (typed, file) in [("npm", "npm-cli.js"), ("gcc", "gcc-12")] {
        std::os::unix::fs::symlink(program(file, shows), rig.work.join(typed)).unwrap();
    }
    fs::copy("/bin/cat", program("reader-2", "")).unwrap();
    std::os::unix::fs::symlink(rig.work.join("tools/reader-2"), rig.work.join("reader")).unwrap();
    for (command, printed) in [
        (&["./npm", "run", "lint"][..], "npm run lint\n"),
        (&["./gcc", "x1"], "gcc x1\n"),
        (&["sh", "-c", "./gcc x2 | tail -n 5"], "gcc x2\n"),
        (&["./reader", "/proc/self/cmdline"], "./reader\0/proc/self/cmdline\0"),
    ] {
        keep(&rig, command, Rung::Exact).await;
        assert_eq!(ran(&rig, command).await.as_deref(), Some(printed), "{command:?}");
    }
    program("other", shows);
    fs::remove_file(rig.work.join("gcc")).unwrap();
    std::os::unix::fs::symlink("tools/other", rig.work.join("gcc")).unwrap();
    assert_eq!(ran(&rig, &["./gcc", "x1"]).await, None);
}
