//! Would a command run without asking?

use crate::files::Files;
use crate::stream::{HOME, Line, Machine};
use countersign_commands::analysis::{Analysis, analyze_text};
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::always::{Choice, choices};
use countersign_policy::beyond::{Wanted, destinations};
use countersign_policy::effective::{BUILT_IN, Effective, Layered};
use countersign_policy::evaluate::{
    AskReason, Evaluation, LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate,
};
use countersign_policy::facts::{Facts, FolderFacts, Repository, Surroundings};
use countersign_policy::names::{Pattern, insert_names, patterns};
use countersign_policy::rules::{Folders, Moment, RuleIndex, folders_of, visited};
use countersign_policy::surroundings::looks;
use countersign_protocol::rules::Workspace;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::Security;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A command text taken apart, on a machine.
pub(crate) struct Judged {
    argv: Vec<String>,
    analysis: Analysis,
    facts: Facts,
    folders: Folders,
}

/// What the product decides.
pub(crate) enum Decision {
    /// It runs.
    Unasked,
    /// A person is asked.
    Asked {
        /// Why, in a word.
        cause: String,
        /// What an answer could store.
        choices: Vec<Choice>,
    },
    /// A refusal of the person's applies, or may.
    Refused {
        /// Why, in a word.
        cause: String,
    },
}

impl Judged {
    /// Takes a line apart.
    pub(crate) fn of(line: &Line, machine: &Machine, files: &mut Files) -> Self {
        let mut analysis = analyze_text(&line.command);
        // No recorded folder is here, and a pattern that no file matches stands for itself.
        let named = |pattern: Pattern| {
            let home = pattern.text.strip_prefix('~').map(|rest| format!("{HOME}{rest}"));
            let name = home.unwrap_or_else(|| pattern.text.clone());
            (pattern, vec![name])
        };
        let named = patterns(&analysis).into_iter().map(named).collect();
        insert_names(&mut analysis, named);
        let cwd = line.cwd.as_ref().map(|cwd| FolderFacts {
            given: PathBuf::from(cwd),
            real_path: PathBuf::from(cwd),
            dev: 0,
            ino: 0,
        });
        let mut facts = Facts { cwd, home: PathBuf::from(HOME), ..Facts::default() };
        for name in analysis.programs() {
            facts.programs.insert(name.clone().into_owned(), machine.find(&name, line.cwd.as_deref()));
        }
        // No recorded folder is a link.
        let folders = visited(&analysis, &facts).into_iter().map(|place| (place.clone(), place)).collect();
        files.put_in(&mut facts, &analysis, &folders, line);
        // No recorded folder says anything to git or to launchers.
        let looks = looks(&analysis, &facts, &folders_of(&analysis, &facts, &folders));
        let silent = Surroundings {
            repository: Some(Repository::Plain),
            told: Some(BTreeSet::new()),
            ..Surroundings::default()
        };
        facts.surroundings = looks.into_keys().map(|folder| (folder, silent.clone())).collect();
        let argv = ["sh", "-c", &line.command].map(str::to_owned).into();
        Self { argv, analysis, facts, folders }
    }

    /// What the product decides under these rules, with its default safe bins and an empty document.
    pub(crate) fn decide(&self, rules: &RuleIndex, moment: Moment<'_>) -> Decision {
        let policy = policy();
        let subject = Subject {
            argv: &self.argv,
            analysis: &self.analysis,
            facts: &self.facts,
            policy: &policy,
            entries: &EntryIndex::default(),
            local: LocalRules::Known { rules, folders: &self.folders, moment, unclear: None },
            trust: &Trust::default(),
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        let evaluation = evaluate(&subject, None);
        match evaluation.verdict {
            // No folder is open here.
            Verdict::Allow(_) | Verdict::Contain(_) => Decision::Unasked,
            Verdict::Ask(reason @ (AskReason::MayBeRefused | AskReason::RulesUnreadable)) => {
                Decision::Refused { cause: format!("[{}]", reason.as_str()) }
            }
            Verdict::Ask(reason) => Decision::Asked {
                cause: self.cause(reason, &evaluation),
                choices: choices(&subject, &evaluation),
            },
            Verdict::Deny(reason) => Decision::Refused { cause: format!("[{}]", reason.as_str()) },
        }
    }

    /// Whether a command that would be asked about runs in a box at once where `folder` is open, or
    /// in a word why not.
    pub(crate) fn contained(&self, folder: &Path) -> Result<(), String> {
        let workspace = json!({
            "id": "w", "agent": "*", "folder": folder, "createdAtMs": 0, "from": "typed",
        });
        let workspace: Workspace = serde_json::from_value(workspace).map_err(|error| error.to_string())?;
        let policy = policy();
        let evaluation = evaluate(
            &Subject {
                argv: &self.argv,
                analysis: &self.analysis,
                facts: &self.facts,
                policy: &policy,
                entries: &EntryIndex::default(),
                local: LocalRules::None,
                trust: &Trust::default(),
                walls: Walls::Around(&workspace),
                unusual_env: &[],
                origin: Origin::Fresh,
            },
            None,
        );
        match (evaluation.verdict, evaluation.held) {
            (Verdict::Contain(_), _) => Ok(()),
            (_, Some(held)) => Err(format!("{:?}", held.cause).to_lowercase()),
            (other, None) => Err(format!("{other:?}")),
        }
    }

    /// What it is known to want of the network.
    pub(crate) fn destinations(&self) -> Vec<Wanted> {
        destinations(&self.analysis, &self.argv, &self.facts)
    }

    /// The first program that nothing covers, or what rules cannot help with in brackets.
    fn cause(&self, reason: AskReason, evaluation: &Evaluation) -> String {
        let program =
            evaluation.missed_segments.first().and_then(|at| self.analysis.segments.get(*at)?.words.first());
        match (program, evaluation.unbound) {
            (Some(program), _) => program.text.clone(),
            (None, Some(unbound)) if self.analysis.opaque.is_none() => format!("[{}]", unbound.as_str()),
            (None, _) => format!("[{}]", reason.as_str()),
        }
    }
}

/// Everything that no rule covers is asked about.
fn policy() -> Effective {
    Effective { security: Layered { value: Security::Allowlist, layer: PolicyLayer::Defaults }, ..BUILT_IN }
}
