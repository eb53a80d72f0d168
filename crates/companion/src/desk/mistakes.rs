//! What is wrong with an edit or an answer, for windows to say in their language. What no window can send has
//! no words of its own: its error's text is shown as it is.

use super::error;
use crate::routing::RoutingError;
use countersign_approvals::question::NotAnswered;
use countersign_approvals::rules::{RuleEditError, RulesError};
use countersign_approvals::store::StoreError;
use countersign_policy::counts::Idle;
use countersign_policy::display::escape;
use countersign_policy::document::EditError;
use countersign_policy::rules::RuleProblem;
use countersign_protocol::ui::{CommandError, ErrorCode, Expected, Mistake};

pub(super) fn store_error(failure: StoreError) -> CommandError {
    let code = match &failure {
        StoreError::Stale { .. } => ErrorCode::Stale,
        StoreError::Edit(_) | StoreError::Idle(_) | StoreError::NoEffect => ErrorCode::Invalid,
        _ => ErrorCode::Store,
    };
    let mistake = match &failure {
        StoreError::Edit(EditError::BadPattern(_)) => Some(at("pattern", Expected::Pattern)),
        StoreError::Idle(idle) => Some(at("pattern", counting(idle))),
        StoreError::Edit(EditError::BadAgent(_)) => Some(at("agent", Expected::AgentName)),
        StoreError::Edit(EditError::NoEntry { .. }) => Some(of_all(Expected::Present)),
        _ => None,
    };
    CommandError { mistake, ..error(code, failure.to_string()) }
}

pub(super) fn rules_error(failure: RulesError) -> CommandError {
    let code = match &failure {
        RulesError::Stale { .. } => ErrorCode::Stale,
        RulesError::Edit(_) => ErrorCode::Invalid,
        _ => ErrorCode::Store,
    };
    let mistake = match &failure {
        RulesError::Edit(edit) => of_rule_edit(edit),
        _ => None,
    };
    CommandError { mistake, ..error(code, failure.to_string()) }
}

pub(super) fn routing_error(failure: RoutingError) -> CommandError {
    let code = match &failure {
        RoutingError::Invalid(_) | RoutingError::TooMany(_) => ErrorCode::Invalid,
        RoutingError::Stale(_) => ErrorCode::Stale,
        RoutingError::Store(_) => ErrorCode::Store,
    };
    CommandError { mistake: failure.mistake(), ..error(code, failure.to_string()) }
}

/// Why an answer does not count. One to a question that is over is told as that by its caller.
pub(super) fn answer_error(why: NotAnswered) -> CommandError {
    let mistake = match why {
        NotAnswered::NotOffered(_) => Some(of_all(Expected::OfferedAnswer)),
        NotAnswered::Blocked => Some(of_all(Expected::Readable)),
        _ => None,
    };
    CommandError { mistake, ..error(ErrorCode::Invalid, why.to_string()) }
}

fn of_rule_edit(edit: &RuleEditError) -> Option<Mistake> {
    Some(match edit {
        RuleEditError::NoRule(_) | RuleEditError::NoPreset(_) => of_all(Expected::Present),
        RuleEditError::Exists(_) => of_all(Expected::Absent),
        RuleEditError::Rule(problem) => return of_rule(*problem),
        RuleEditError::Idle(idle) => at("program", counting(idle)),
        RuleEditError::IdleCall(idle) => of_all(counting(idle)),
        RuleEditError::RefusalUses | RuleEditError::NoUses => at("uses", Expected::Uses),
        RuleEditError::Session => at("session", Expected::SessionName),
        RuleEditError::Note { most } => at("note", Expected::Length { least: 0, most: *most }),
        RuleEditError::TooMany { most } => of_all(Expected::AtMost { count: *most }),
        _ => return None,
    })
}

fn of_rule(problem: RuleProblem) -> Option<Mistake> {
    Some(match problem {
        RuleProblem::Program | RuleProblem::Relative | RuleProblem::Words => {
            at("program", Expected::ProgramName)
        }
        RuleProblem::Agent => at("agent", Expected::AgentName),
        RuleProblem::Contents => at("contents", Expected::FileDigest),
        RuleProblem::Folder => at("folder", Expected::AbsoluteFolder),
        RuleProblem::Shape => at("arguments", Expected::ArgumentShape),
        _ => return None,
    })
}

fn counting(idle: &Idle) -> Expected {
    Expected::Counting { cause: idle.cause, what: idle.what.as_deref().map(escape) }
}

fn at(field: &str, expected: Expected) -> Mistake {
    Mistake { field: Some(field.to_owned()), expected }
}

fn of_all(expected: Expected) -> Mistake {
    Mistake { field: None, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(told: &CommandError, code: ErrorCode, mistake: Option<Mistake>) {
        assert_eq!((told.code, &told.mistake), (code, &mistake), "{}", told.message);
        assert!(!told.message.is_empty());
    }

    #[test]
    fn what_was_typed_wrong_is_told_by_its_field() {
        let pattern = StoreError::Edit(EditError::BadPattern("=x".to_owned()));
        check(&store_error(pattern), ErrorCode::Invalid, Some(at("pattern", Expected::Pattern)));
        let stale = StoreError::Stale { expected: "a".to_owned(), found: "b".to_owned() };
        check(&store_error(stale), ErrorCode::Stale, None);
        let folder = RulesError::Edit(RuleEditError::Rule(RuleProblem::Folder));
        check(&rules_error(folder), ErrorCode::Invalid, Some(at("folder", Expected::AbsoluteFolder)));
        let many = RulesError::Edit(RuleEditError::TooMany { most: 9 });
        check(&rules_error(many), ErrorCode::Invalid, Some(of_all(Expected::AtMost { count: 9 })));
        check(&rules_error(RulesError::Edit(RuleEditError::NoId)), ErrorCode::Invalid, None);
    }

    #[test]
    fn an_answer_that_does_not_count_says_why() {
        check(&answer_error(NotAnswered::Blocked), ErrorCode::Invalid, Some(of_all(Expected::Readable)));
    }
}
