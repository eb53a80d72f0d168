//! Scripts that are handed to their interpreter instead of being opened by it. Between the last comparison
//! and the moment at which an interpreter opens its script somebody may put another file in its place. So
//! what was compared is copied into memory that nobody can change any more, and the interpreter reads that,
//! under the script's own name: `bash`, `dash` and Python can be told so. A script that asks its shell where
//! it lies is opened by its name as ever, and so is one of another interpreter.

use crate::facts::{self, Drift};
use countersign_policy::ApprovedCommand;
use countersign_policy::facts::ScriptFacts;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// An argument list with which the interpreter reads its script from a descriptor.
#[derive(Debug)]
pub(super) struct Handed {
    /// In the place of the command's own.
    pub(super) argv: Vec<String>,
    /// What it reads, at [`DESCRIPTOR`].
    pub(super) script: OwnedFd,
}

/// The script of a command that can be handed over, if it is still what was pinned. `None` for a command
/// without such a script.
pub(super) fn of(command: &ApprovedCommand) -> Result<Option<Handed>, Drift> {
    let Some((script, interpreter)) = handable(command) else { return Ok(None) };
    let text = facts::read_pinned(script)?;
    let Some(text) = interpreter.text(text) else { return Ok(None) };
    let Some(argv) = interpreter.argv(command.argv(), script) else { return Ok(None) };
    // Where the system has no such memory the interpreter opens the script itself.
    Ok(sealed(&text).ok().map(|script| Handed { argv, script }))
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Interpreter {
    Python,
    Shell,
}

/// The one script of a command, and what runs it.
fn handable(command: &ApprovedCommand) -> Option<(&ScriptFacts, Interpreter)> {
    let (first, others) = command.pins().scripts.split_first()?;
    let is_same = |other: &ScriptFacts| other.index == first.index && other.named == first.named;
    let operand = command.argv().get(first.index)?;
    let options = command.argv().get(1..first.index)?;
    if !others.iter().all(is_same)
        || command.pins().cwd.real_path.join(operand) != first.named
        || first.identity.sha256.is_none()
        || first.identity.size > HANDED_BYTES
    {
        return None;
    }
    let name = command.program().file_name()?.to_str()?;
    let family = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let (interpreter, letters) = match family {
        "bash" | "dash" => (Interpreter::Shell, SHELL_OPTIONS),
        "python" => (Interpreter::Python, PYTHON_OPTIONS),
        _ => return None,
    };
    let is_plain = |option: &String| {
        option
            .strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| letters.contains(c)))
    };
    options.iter().all(is_plain).then_some((first, interpreter))
}

impl Interpreter {
    /// What it is to read. `None` when the script would notice.
    fn text(self, text: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Python => Some(text),
            Self::Shell => {
                let readable = std::str::from_utf8(&text).ok().filter(|text| !text.contains('\0'))?;
                if ASKS_FOR_ITS_PLACE.iter().any(|word| readable.contains(word)) {
                    return None;
                }
                // On the first line, so that lines keep their numbers: nothing that it starts
                // has the descriptor.
                Some([format!("exec {DESCRIPTOR}<&-; ").into_bytes(), text].concat())
            }
        }
    }

    fn argv(self, typed: &[String], script: &ScriptFacts) -> Option<Vec<String>> {
        let (before, rest) = typed.split_at_checked(script.index)?;
        let mut argv = before.to_vec();
        argv.push("-c".to_owned());
        match self {
            // Behind the text comes what `$0` is.
            Self::Shell => argv.push(format!(". /proc/self/fd/{DESCRIPTOR}")),
            Self::Python => {
                let folder = script.real_path.parent().unwrap_or(Path::new("/")).to_str()?.to_owned();
                let named = script.named.to_str()?.to_owned();
                argv.extend([READ_AND_RUN.to_owned(), DESCRIPTOR.to_string(), folder, named]);
            }
        }
        argv.extend(rest.iter().cloned());
        Some(argv)
    }
}

/// Memory with this content, which nobody can change, from its beginning.
fn sealed(content: &[u8]) -> std::io::Result<OwnedFd> {
    let memory = memfd_create("script", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(memory);
    file.write_all(content)?;
    file.rewind()?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

/// Where the interpreter finds the script.
pub(super) const DESCRIPTOR: i32 = 3;

/// Longest script that is handed over, in bytes: longer ones are hardly written by hand.
const HANDED_BYTES: u64 = 1_024 * 1_024;

/// Options of shells that mean the same for a text as for a file.
const SHELL_OPTIONS: &str = "enux";

/// Options of Python that take no value and name no other program.
const PYTHON_OPTIONS: &str = "bBdEIOPqsSuv";

/// By these a script learns that it is not read from its file, or finds its neighbours.
const ASKS_FOR_ITS_PLACE: &[&str] = &[
    "$-",
    "${-",
    "/proc/",
    "BASH_ARGV",
    "BASH_EXECUTION_STRING",
    "BASH_LINENO",
    "BASH_SOURCE",
    "FUNCNAME",
    "caller",
];

/// Runs what it reads as the main program, with the arguments and the place of the script. It imports nothing
/// from the folder: `sys` is part of Python itself.
const READ_AND_RUN: &str = "\
import sys
def run(number, folder, name):
    del sys.argv[:4]
    if sys.path and sys.path[0] == '':
        sys.path[0] = folder
    with open(int(number), 'rb') as script:
        text = script.read()
    main = sys.modules['__main__'].__dict__
    for ours in ('run', 'sys'):
        del main[ours]
    main['__file__'] = name
    exec(compile(text, name, 'exec', 0, True), main)
run(*sys.argv[1:4])
";
