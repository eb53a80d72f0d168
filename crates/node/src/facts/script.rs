//! The script that an interpreter would run: pinned like the program, because it is the program.

use super::{Places, identity, search};
use countersign_policy::facts::ScriptFacts;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::path::Path;

/// The script operand of `argv`: the first argument that is no option, if `argv[0]` is an interpreter and it names a
/// regular file. Inline text (`-c`, `-e`, `-m`, …) means that there is none.
pub(super) fn find(argv: &[String], places: Places<'_>) -> Option<ScriptFacts> {
    let (program, arguments) = argv.split_first()?;
    let interpreter = Interpreter::of(program)?;
    let mut options_end = false;
    for (offset, argument) in arguments.iter().enumerate() {
        if interpreter.verbs.contains(&argument.as_str()) && offset == 0 {
            continue;
        }
        if !options_end && argument == "--" {
            options_end = true;
        } else if !options_end && argument.starts_with(['-', '+']) && argument.len() > 1 {
            if interpreter.takes_text(argument) {
                return None;
            }
        } else {
            return probe(&search::operand(argument, places), offset + 1);
        }
    }
    None
}

fn probe(path: &Path, index: usize) -> Option<ScriptFacts> {
    let real_path = std::fs::canonicalize(path).ok()?;
    // NONBLOCK: an operand that is a FIFO must not hang the probe.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut file = File::from(rustix::fs::open(&real_path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    let (mut newlines, mut last, mut total) = (0_u32, b'\n', 0_usize);
    let identity = identity::identify_open(&mut file, |piece| {
        let room = HEAD_BYTES.saturating_sub(head.len()).min(piece.len());
        head.extend_from_slice(piece.get(..room).unwrap_or_default());
        newlines += u32::try_from(piece.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX);
        last = piece.last().copied().unwrap_or(last);
        total += piece.len();
    })
    .ok()?;
    Some(ScriptFacts {
        index,
        real_path,
        complete: identity.sha256.is_some() && total == head.len(),
        identity,
        head: String::from_utf8_lossy(&head).into_owned(),
        lines: newlines + u32::from(last != b'\n'),
    })
}

/// How a family of interpreters names its script.
struct Interpreter {
    /// First arguments that stand before the script.
    verbs: &'static [&'static str],
    /// Letters of short options that bring the program text or name a module.
    text: &'static str,
    /// Long options that do.
    long: &'static [&'static str],
}

impl Interpreter {
    fn of(program: &str) -> Option<Self> {
        let name = program.rsplit('/').next()?;
        let family = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let (verbs, text, long): (&[&str], &str, &[&str]) = match family {
            "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "zsh" | "fish" => (&[], "cs", &["--command"]),
            "python" | "pypy" => (&[], "cm", &[]),
            "node" | "nodejs" => (&[], "ep", &["--eval", "--print"]),
            "ruby" | "lua" | "luajit" => (&[], "e", &[]),
            "perl" => (&[], "eE", &[]),
            "php" => (&[], "r", &["--run"]),
            "Rscript" => (&[], "e", &[]),
            "deno" => (&["run"], "", &[]),
            "bun" => (&["run"], "ep", &["--eval", "--print"]),
            "tsx" | "ts-node" => (&[], "ep", &["--eval", "--print"]),
            _ => return None,
        };
        Some(Self { verbs, text, long })
    }

    fn takes_text(&self, option: &str) -> bool {
        if option.starts_with("--") {
            let name = option.split('=').next().unwrap_or(option);
            return self.long.contains(&name);
        }
        option.chars().skip(1).any(|letter| self.text.contains(letter))
    }
}

/// What a prompt may show of a script, in bytes.
const HEAD_BYTES: usize = 16 * 1_024;
