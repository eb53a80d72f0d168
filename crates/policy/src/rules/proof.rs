//! Whether a rule that refuses does what it says: its own words, as they would be typed, are judged by it
//! before it is stored, alone and in the company in which commands come.

use super::{Folders, Moment, RuleIndex, Ruling, may_be_hidden, may_be_refused, rulings};
use crate::allowlist::is_path;
use crate::display::shell_quoted;
use crate::facts::{Facts, FolderFacts, ProgramFacts};
use countersign_commands::analysis::{Analysis, analyze_text};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::rules::{ArgumentRule, CommandRule, RuleEffect};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A command that a rule says it refuses, and does not.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("it would not refuse what it says: {text}")]
pub struct Unproven {
    /// The command, as it would be typed.
    pub text: String,
}

/// Judges by a refusing rule what it is about: the program with nothing but the words that the rule names,
/// with words and flags behind them, in a list, and handed on by a shell and by programs that start others.
/// Whatever certainly is that is refused, and whatever carries it is refused or asked about. A rule that
/// allows has nothing to prove here.
///
/// # Errors
/// The first command that gets through.
pub fn prove(rule: &CommandRule) -> Result<(), Unproven> {
    if rule.effect == RuleEffect::Allow {
        return Ok(());
    }
    let command = words(rule);
    let line = shell_quoted(&command);
    let more = |more: &str| format!("{line} {more}");
    let is_open = !matches!(rule.arguments, ArgumentRule::Exact { .. });
    let plain = [Some(line.clone()), is_open.then(|| more("x")), is_open.then(|| more("--flag=x -y x"))];
    let joined = [format!("{line}; true"), format!("true && {line}"), format!("true | {line}")];
    for text in plain.into_iter().flatten().chain(joined) {
        expect(rule, &command, text, Verdict::Refused)?;
    }
    // An option may stand anywhere, and where it does it means the same.
    let (options, words): (Vec<String>, Vec<String>) =
        command.iter().cloned().partition(|word| is_open && word.starts_with('-'));
    if !options.is_empty() {
        let moved = format!("{} x {}", shell_quoted(&words), shell_quoted(&options));
        expect(rule, &command, moved, Verdict::Refused)?;
    }
    let quoted = shell_quoted(std::slice::from_ref(&line));
    let carried = [
        format!("sh -c {quoted}"),
        format!("bash -c {quoted}"),
        format!("echo {quoted} | sh"),
        format!("env A=b {line}"),
        format!("nice -n 5 {line}"),
        format!("timeout 5 {line}"),
        format!("xargs {line}"),
        format!("$({line})"),
        format!("if true; then {line}; fi"),
        format!("f() {{ {line}; }}; f"),
    ];
    for text in carried {
        expect(rule, &command, text, Verdict::Asked)?;
    }
    Ok(())
}

/// How much a rule keeps a command from running.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Verdict {
    Through,
    Asked,
    Refused,
}

fn expect(rule: &CommandRule, command: &[String], text: String, least: Verdict) -> Result<(), Unproven> {
    let analysis = analyze_text(&text);
    let verdict = judge(rule, command, &analysis);
    // What cannot be taken apart is nobody's to refuse: `[` without its end.
    let least = if analysis.opaque.is_some() { Verdict::Asked } else { least };
    if verdict >= least { Ok(()) } else { Err(Unproven { text }) }
}

fn judge(rule: &CommandRule, command: &[String], analysis: &Analysis) -> Verdict {
    let facts = facts(rule, command);
    let (index, folders, uses) = (RuleIndex::new(vec![rule.clone()]), Folders::new(), HashMap::new());
    let agent = if rule.agent == WILDCARD_AGENT { "agent" } else { &rule.agent };
    let moment =
        Moment { agent, session: rule.limits.session.as_deref(), now_ms: rule.created_at_ms, uses: &uses };
    let is_refused = |ruling: &Option<Ruling>| matches!(ruling, Some(Ruling::Deny(_)));
    if rulings(analysis, &facts, &folders, &index, moment).iter().any(is_refused) {
        return Verdict::Refused;
    }
    let is_asked = may_be_hidden(analysis, &facts, &index, moment)
        || may_be_refused(analysis, &facts, &folders, &index, moment);
    if is_asked { Verdict::Asked } else { Verdict::Through }
}

/// The program and the words that a rule names.
fn words(rule: &CommandRule) -> Vec<String> {
    let program = match rule.program.strip_prefix('~') {
        Some(rest) => format!("{HOME}{rest}"),
        None => rule.program.clone(),
    };
    // Something that the pattern covers.
    let program = program.replace("**", "a/a").replace(['*', '?'], "a");
    let more: &[String] = match &rule.arguments {
        ArgumentRule::Any => &[],
        ArgumentRule::Exact { args, .. } => args,
        ArgumentRule::Shape(shape) => &shape.subcommand,
    };
    std::iter::once(program).chain(more.iter().cloned()).collect()
}

/// A machine on which the program is where the rule says, and whoever asks is where it counts.
fn facts(rule: &CommandRule, command: &[String]) -> Facts {
    let folder = match &rule.arguments {
        ArgumentRule::Exact { folder, .. } => Some(folder),
        ArgumentRule::Any | ArgumentRule::Shape(_) => rule.folder.as_ref(),
    };
    let folder = PathBuf::from(folder.map_or(HOME, String::as_str));
    let mut facts = Facts {
        cwd: Some(FolderFacts { given: folder.clone(), real_path: folder, dev: 0, ino: 0 }),
        home: PathBuf::from(HOME),
        ..Facts::default()
    };
    if let Some(program) = command.first() {
        let path =
            if is_path(program) { PathBuf::from(program) } else { Path::new("/usr/bin").join(program) };
        let found = ProgramFacts {
            path: Some(path.clone()),
            named: Some(path.clone()),
            real_path: Some(path),
            ..ProgramFacts::default()
        };
        facts.programs.insert(program.clone(), found);
    }
    facts
}

const HOME: &str = "/home/user";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge;
    use countersign_protocol::rules::{FlagSet, OperandKind, OperandRule, RuleDraft, RuleOrigin};
    use serde_json::json;

    /// A refusal as windows and command line make it.
    fn refusing(program: &str, words: &str) -> CommandRule {
        let draft = RuleDraft {
            agent: "*".to_owned(),
            effect: RuleEffect::Deny,
            program: program.to_owned(),
            arguments: ArgumentRule::beginning_with(words),
            folder: None,
            contents: Default::default(),
            limits: Default::default(),
            note: None,
        };
        draft.into_rule("1".to_owned(), 0, RuleOrigin::Typed)
    }

    #[test]
    fn a_refusal_of_any_described_command_refuses_it_in_all_company() {
        let mut tried = 0;
        for program in knowledge::programs() {
            for name in program.names {
                let words = program.commands.iter().map(|command| command.words).chain([""]);
                for words in words {
                    for name in [(*name).to_owned(), format!("/opt/x/bin/{name}")] {
                        let proof = prove(&refusing(&name, words));
                        // An option may stand elsewhere, and then no words begin with it.
                        let has_option = words.split_whitespace().any(|word| word.starts_with('-'));
                        assert_eq!(proof.is_ok(), !has_option, "{name} {words}: {proof:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 1_000, "{tried}");
    }

    #[test]
    fn subcommands_that_nobody_described_are_refused_alike() {
        for (program, words) in [
            ("git", "push"),
            ("npm", "publish"),
            ("terraform", "apply"),
            ("docker", "compose down"),
            ("kubectl", "delete"),
            ("gh", "pr merge"),
            ("git", "reset"),
            ("git", "stash drop"),
            ("made-up", "do this"),
            ("~/bin/tool", "go"),
            ("/opt/*/bin/t?", ""),
            ("\u{1b}c31m", ""),
            ("café", "ouvrir"),
            ("a+b_c.d", "x"),
            ("*", ""),
        ] {
            assert_eq!(prove(&refusing(program, words)), Ok(()), "{program} {words}");
        }
    }

    #[test]
    fn a_rule_that_would_refuse_less_than_it_says_is_told() {
        let unproven = |rule: &CommandRule| prove(rule).unwrap_err().text;
        // One more word than it says is wanted.
        let mut rule = refusing("git", "push");
        if let ArgumentRule::Shape(shape) = &mut rule.arguments {
            shape.operands = OperandRule { min: 1, ..shape.operands.clone() };
        }
        assert_eq!(unproven(&rule), "git push");
        // Only with a flag.
        if let ArgumentRule::Shape(shape) = &mut rule.arguments {
            shape.operands = OperandRule { min: 0, max: 9, first: Vec::new(), kinds: vec![OperandKind::Any] };
            shape.flags = FlagSet::Listed(serde_json::from_value(json!([{ "names": ["--force"] }])).unwrap());
        }
        assert_eq!(unproven(&rule), "git push");
    }
}
