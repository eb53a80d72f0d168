//! Which questions are the same, and which of them an answer may be kept for.

use super::*;
use crate::testing::question;
use pretty_assertions::assert_eq;

/// A change of a question, and what it changes.
type Change = (&'static str, fn(&mut Question));

/// Changes, each of one member that an answer hangs on.
fn changes() -> Vec<Change> {
    fn command(question: &mut Question) -> &mut Command {
        let Subject::Command(command) = &mut question.subject else { panic!("no command") };
        command
    }
    vec![
        ("text", |asked| command(asked).text.push('x')),
        ("argv", |asked| command(asked).argv = Some(vec!["ls".into()])),
        ("runner", |asked| command(asked).runner = Runner::Asker),
        ("folder", |asked| command(asked).folder = Some(Folder::named("/"))),
        ("environment", |asked| command(asked).environment = Environment::Names(vec!["A".into()])),
        ("limit", |asked| command(asked).time_limit = Some(Duration::from_secs(1))),
        ("terminal", |asked| command(asked).terminal = Some(Typing::Agent)),
        ("warning", |asked| command(asked).warning = Some("careful".into())),
        ("tool", |asked| command(asked).tool = Some(ToolName { tool: "exec".into(), client: None })),
        ("via", |asked| asked.door.via = Via::Hook),
        ("gateway", |asked| asked.door.gateway = Some("work".into())),
        ("program", |asked| asked.door.program = Some("node".into())),
        ("agent", |asked| asked.agent = AgentId::of(Some("ops"))),
        ("session", |asked| asked.session = SessionKey::of(Some("s"))),
        ("place", |asked| asked.place = Place::Sandbox),
        ("facts", |asked| asked.facts.push(Finding::OwnRights)),
        ("decisions", |asked| asked.offer.decisions = vec![Decision::Deny]),
    ]
}

#[test]
fn t05_questions_that_differ_in_anything_are_not_the_same_and_not_alike() {
    let one = question("ls");
    assert!(one.is_same(&question("ls")));
    assert_eq!(one.likeness(), question("ls").likeness());
    for (what, change) in changes() {
        let mut other = question("ls");
        change(&mut other);
        assert!(!one.is_same(&other), "{what}");
        assert!(other.likeness().is_some() && one.likeness() != other.likeness(), "{what}");
    }
}

#[test]
fn the_same_question_over_another_connection_is_the_same() {
    let (one, mut other) = (question("ls"), question("ls"));
    other.door.generation += 1;
    assert!(one.is_same(&other));
    assert_eq!(one.likeness(), other.likeness());
}

#[test]
fn t05_what_could_not_be_looked_at_whole_is_like_nothing() {
    let program = |writable| Finding::Program {
        name: "make".into(),
        path: Some("/usr/bin/make".into()),
        real_path: None,
        writable,
    };
    let script =
        |complete| Finding::Script { path: "/w/a.sh".into(), lines: 9, head: "#!/bin/sh".into(), complete };
    for (fact, is_whole) in
        [(program(false), true), (program(true), false), (script(true), true), (script(false), false)]
    {
        let mut asked = question("make");
        asked.facts.push(fact.clone());
        assert_eq!(asked.likeness().is_some(), is_whole, "{fact:?}");
    }
}

#[test]
fn t03_no_value_of_a_variable_is_in_debug_output() {
    let values = Environment::Values([("API_KEY".to_owned(), "hunter2".to_owned())].into());
    assert_eq!(format!("{values:?}"), "[\"API_KEY\"]");
}
