//! Does every shell do what the parser says? Command texts are generated and mutated; each one that
//! [`countersign_commands::shell`] accepts is given to the shells of this machine, in an empty folder and
//! with a PATH where every program is this one, which only writes down its arguments. Whatever a shell starts
//! must be what was predicted, and a second grammar of bash must find the same commands. `cargo xtask test`
//! runs it for twenty seconds.
//!
//! ```sh
//! cargo run --release -p countersign-tests --features differential --bin differential -- \
//!     --seconds 600 --seed 7
//! ```

mod generate;
mod minimise;
mod predict;
mod printer;
mod random;
mod shells;
mod syntax;

use anyhow::{Context, Result, bail};
use clap::Parser;
use countersign_commands::shell::{self, Dialect, Script};
use countersign_policy::display::shell_quoted;
use generate::Generator;
use shells::{Bench, Shell};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Compare the parser of command texts with the shells of this machine.
///
/// First the committed texts (tests/corpus/shell), then random and mutated ones until the time is over. Each
/// text that the parser accepts is run by every shell that must read it alike, in an empty folder where every
/// program only writes down its arguments. What a shell starts must be what the parser said; a second grammar
/// of bash must find the same commands. Nothing that a text names is ever run.
#[derive(Debug, Parser)]
#[command(after_long_help = AFTER_HELP)]
struct Args {
    /// How long to make up texts, in seconds; the committed texts always run to their end.
    #[arg(long, value_name = "N", default_value_t = 30)]
    seconds: u64,
    /// Where the random texts begin: the same seed makes the same texts in the same order.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Fail when the shell of this name (dash, bash, busybox, ksh93, mksh, yash, zsh) is not installed;
    /// may be repeated.
    #[arg(long, value_name = "NAME")]
    require: Vec<String>,
    /// Use this shell too, or instead of the system's one of the same name; may be repeated.
    #[arg(long, value_name = "PATH")]
    shell: Vec<PathBuf>,
    /// Start no shell: only compare with the other grammar, on many more texts.
    #[arg(long, conflicts_with_all = ["require", "shell"])]
    grammar_only: bool,
    /// Run only this text, such as one that an earlier run reported.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Stop after this many differences.
    #[arg(long, value_name = "N", default_value_t = 10)]
    differences: usize,
}

/// A text that is run, with what is expected of it.
#[derive(Debug)]
struct Case {
    text: String,
    script: Script,
}

#[derive(Debug, Default)]
struct Count {
    generated: usize,
    accepted: usize,
    divided: usize,
    unpredictable: usize,
    runs: usize,
    differences: usize,
}

fn main() -> Result<ExitCode> {
    if let Some(status) = printer::print()? {
        return Ok(ExitCode::from(status));
    }
    let args = Args::parse();
    let shells = if args.grammar_only { Vec::new() } else { shells::installed(&args.shell)? };
    if shells.is_empty() && !args.grammar_only {
        bail!("there is no shell to compare with");
    }
    if let Some(missing) = args.require.iter().find(|name| !shells.iter().any(|shell| shell.is(name))) {
        bail!("{missing} is not installed, so nothing was compared with it");
    }
    let names: Vec<&str> = shells.iter().map(Shell::name).collect();
    say(&format!("seed {}, shells: {}", args.seed, names.join(", ")))?;
    let bench = Bench::new()?;
    let mut count = Count::default();
    let corpus = corpus()?;
    let mut generator = Generator::new(args.seed, corpus.clone());
    if let Some(text) = args.text {
        examine(&bench, &shells, vec![text], args.seed, &mut count)?;
    } else {
        examine(&bench, &shells, corpus, args.seed, &mut count)?;
        let until = Instant::now() + Duration::from_secs(args.seconds);
        let mut round = args.seed;
        while Instant::now() < until && count.differences < args.differences {
            let texts: Vec<String> = (0..ROUND).map(|_| generator.text()).collect();
            round = round.wrapping_add(1);
            examine(&bench, &shells, texts, round, &mut count)?;
        }
    }
    report(&count)?;
    Ok(if count.differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs those of `texts` that can be predicted in every shell that must agree.
fn examine(bench: &Bench, shells: &[Shell], texts: Vec<String>, seed: u64, count: &mut Count) -> Result<()> {
    count.generated += texts.len();
    let cases = predictable(texts, count)?;
    for shell in shells {
        let chosen: Vec<&Case> = cases.iter().filter(|case| shell.reads(&case.script)).collect();
        count.runs += chosen.len();
        for (case, why) in bench.differing(shell, &chosen, seed)? {
            let still = |text: &str| -> Result<bool> {
                let Some(case) = case_of(text) else { return Ok(false) };
                Ok(shell.reads(&case.script) && bench.difference(shell, &case, seed)?.is_some())
            };
            // A shell that reads many texts from one program could be led astray by the one before:
            // alone, it counts.
            if still(&case.text)? {
                let smallest = minimise::smallest(&case.text, still)?;
                count.differences += 1;
                say_difference(shell.name(), &smallest, &case.text, &why)?;
            }
        }
    }
    Ok(())
}

fn predictable(texts: Vec<String>, count: &mut Count) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for text in texts {
        let Ok(script) = shell::parse(&text) else { continue };
        count.accepted += 1;
        if let Some(why) = syntax::difference(&text, &script) {
            let still = |text: &str| -> Result<bool> {
                Ok(shell::parse(text).is_ok_and(|script| syntax::difference(text, &script).is_some()))
            };
            let smallest = minimise::smallest(&text, still)?;
            count.differences += 1;
            say_difference("grammar", &smallest, &text, &why)?;
        }
        if script.dialect == Dialect::Divided {
            count.divided += 1;
        } else if predict::is_predictable(&script) {
            cases.push(Case { text, script });
        } else {
            count.unpredictable += 1;
        }
    }
    Ok(cases)
}

fn case_of(text: &str) -> Option<Case> {
    let script = shell::parse(text).ok()?;
    predict::is_predictable(&script).then(|| Case { text: text.to_owned(), script })
}

/// The committed texts.
fn corpus() -> Result<Vec<String>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/shell");
    let mut texts = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("no corpus in {}", folder.display()))? {
        let text = std::fs::read_to_string(entry?.path())?;
        texts.extend(text.split(SEPARATOR).map(|part| part.trim_end_matches('\n').to_owned()));
    }
    texts.sort();
    Ok(texts)
}

/// A text, as small as it still shows the difference, and how to see it again.
fn say_difference(reader: &str, smallest: &str, text: &str, why: &str) -> Result<()> {
    let again = shell_quoted(&[format!("--text={smallest}")]);
    say(&format!("DIFFERENCE {reader}: {smallest:?}\n  from {text:?}\n  {why}\n  again: {RUN} {again}"))
}

fn report(count: &Count) -> Result<()> {
    say(&format!(
        "{} texts generated, {} accepted ({} read differently by shells and not run, {} not predictable), {} runs, {} \
         differences",
        count.generated, count.accepted, count.divided, count.unpredictable, count.runs, count.differences
    ))
}

fn say(what: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{what}")?)
}

/// How this program is started.
const RUN: &str = "cargo run -p countersign-tests --features differential --bin differential --";

const AFTER_HELP: &str = "\
Exit status: 0 when nothing differs, 1 when something does or nothing could be compared.

A difference is printed with the smallest text that still shows it and the command to see it again. \
It means that the parser is wrong about a text that it accepts: make the parser refuse such texts, or \
read them as shells do, and add the text to tests/corpus/shell.

Examples:
  differential --seconds 60 --require dash --require bash
  differential --seconds 3600 --seed 7 --shell /opt/mksh/bin/mksh
  differential --grammar-only --seconds 300 --seed 2
  differential --text 'scan 2>&1 | head'";

/// Texts per round: so many share one process of each shell.
const ROUND: usize = 512;

/// A line between two texts of the corpus.
const SEPARATOR: &str = "----\n";
