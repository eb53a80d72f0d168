//! `countersign policy eval`: answers cases in bulk, for tests of a policy and for comparing it with the
//! peers'. Nothing runs, nothing is written; only files that a case names are looked at.

use super::{Exit, output::Output};
use clap::{Args, ValueEnum};
use countersign_conformance::{Profile, Surroundings, answer_all};
use std::io;
use std::path::PathBuf;

// Arguments of `policy eval`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = FORMAT)]
pub(crate) struct EvalArgs {
    /// Read cases from standard input, one JSON object a line, and print one answer a line.
    #[arg(long, required = true)]
    jsonl: bool,
    /// Whose verdicts: this program's, or those of the newest OpenClaw release.
    #[arg(long, value_enum, default_value_t = Whose::Attentive)]
    profile: Whose,
    /// Folder tree that the cases were written for: where a case says nothing else, its working directory is
    /// DIR/work, its PATH DIR/bin:DIR/safe, and safe bins lie in DIR/safe [default: the variable FX,
    /// else this machine].
    #[arg(long, value_name = "DIR")]
    fixture: Option<PathBuf>,
}

/// Whose verdicts are printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Whose {
    /// This program's own: stricter where a careful person would want to be asked.
    Attentive,
    /// What the newest OpenClaw release says (or the older one, where a case names its version).
    Reference,
}

pub(super) fn eval(args: &EvalArgs, output: &Output) -> anyhow::Result<Exit> {
    let profile = match args.profile {
        Whose::Attentive => Profile::Attentive,
        Whose::Reference => Profile::Reference,
    };
    let fixture = args.fixture.clone().or_else(|| std::env::var_os("FX").map(PathBuf::from));
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    let failed =
        answer_all(io::stdin().lock(), io::stdout().lock(), &Surroundings { profile, fixture, home })?;
    if failed > 0 {
        output.note(&format!("{failed} lines could not be answered"));
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

const FORMAT: &str = "\
A case is {\"id\":\"…\",\"op\":\"…\",\"input\":{…}}, an answer {\"id\":\"…\",\"result\":{…}} or
{\"id\":\"…\",\"error\":{\"problem\":\"…\",\"expected\":\"…\",\"got\":\"…\"}}, in the order of the cases and as soon
as each is known. Exit code 0 when every line had a result, else 1.

op and members of input ('?' = may be missing):
  evaluate, evaluate-argv, wrapper
                     command | argv, allowlist, cwd?, path?, safeBins?, trustedDirs?, safeBinProfiles?,
                     autoAllowSkills?, skillBins? [{name, resolvedPath}]
  analyze-shell      command, cwd?, path?
  allow-always       command, cwd, strictInlineEval?
  safe-bin           argv, resolvedPath, safeBins?, trustedDirs?, safeBinProfiles?, platform?
  inline-eval        argv | pattern
  match-pattern      entries, target {typed, name, path, realPath} | null, argv?, cwd?
  raw-command        argv, rawCommand, version?
  env-override       key, value, scope? (\"inherited\"), shellWrapper?
  requires-approval  ask, security, analysisOk, satisfied, durable? | kind (exact-command, durable, decisions) …
  policy             fn (min-security, max-ask) a, b | fn mode, mode
  hash               fn command, text | fn cwd-argv, argv, cwd, platform? | fn hmac, token, nonce, ts, requestJson
  document           action (load, normalise, resolve, merge-socket, redact, serialise, snapshot, …), version?, …
  display            kind command | warning, text | preview, request | output-tail, text, max
  windows            kind analyze, command | kind escape, value

Example, with jq, that fails when a list of entries would no longer cover a command:
  echo '{\"id\":\"1\",\"op\":\"evaluate\",\"input\":{\"command\":\"git status | head -n 3\",\"allowlist\":[\"/usr/bin/git\"]}}' \\
    | countersign policy eval --jsonl | jq -e .result.satisfied";
