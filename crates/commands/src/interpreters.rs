//! Where an interpreter finds the program that it runs: in a file that its arguments name, or in the
//! arguments themselves. From the manuals of the interpreters.

use crate::analysis::Segment;
use crate::command::ShellUse;
use crate::programs::Name;

/// Index in `argv` of the first argument that is no option, if `argv[0]` is an interpreter that would read it
/// as a file. Inline text (`-c`, `-e`, `-m`, …) means that there is none. A guess that is good enough to show
/// and to pin what it finds, not to conclude from it that nothing else is read.
pub fn script_operand(argv: &[String]) -> Option<usize> {
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
            return Some(offset + 1);
        }
    }
    None
}

/// Whether `argv` gives a program that obeys texts its text otherwise than in a file: among its arguments,
/// or as its input. A question for its version or its help brings none, nor does a module.
pub fn brings_its_text(argv: &[String]) -> bool {
    let Some((program, arguments)) = argv.split_first() else { return false };
    let name = Name::of(program);
    let says = |word: &String| matches!(word.as_str(), "--version" | "--help" | "-V" | "-v" | "-h" | "-m");
    if arguments.first().is_some_and(says) {
        return false;
    }
    if obeys_its_input(&name) {
        return true;
    }
    let is_build = matches!(name.as_str(), "make" | "gmake" | "java" | "swift" | "ghc");
    if name.is_shell() || !name.is_interpreter() || is_build {
        return false;
    }
    if Interpreter::of(program).is_none() {
        return arguments.iter().all(|word| word.starts_with('-'))
            || arguments.iter().any(|word| CODE.contains(&word.as_str()));
    }
    let file = script_operand(argv).and_then(|at| argv.get(at));
    let is_input = |file: &String| file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/");
    file.is_none_or(is_input) || arguments.first().is_some_and(|word| word == "eval")
}

/// Whether a program does what its input says, and has commands there that start others or write files.
pub fn obeys_its_input(name: &Name) -> bool {
    name.is_one_of(OBEDIENT)
}

/// Index among the words of `segment` of the file that certainly is what its interpreter or shell runs.
pub fn script_word(segment: &Segment) -> Option<usize> {
    if !segment.candidate.wrappers.is_empty() {
        return None;
    }
    if let Some(used) = segment.candidate.shell {
        let ShellUse::Script { operand } = used else { return None };
        let at = segment.candidate.arguments + operand;
        let mut options = segment.words.get(segment.candidate.arguments + 1..at)?.iter();
        // Others make it read start-up files, or take a value.
        return options.all(|option| is_plain(&option.text, "enuvx")).then_some(at);
    }
    let (program, arguments) = segment.words.split_first()?;
    let arguments: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    match source(&program.text, &arguments)? {
        Source::File(at) => Some(at + 1),
        Source::Arguments | Source::Unknown => None,
    }
}

/// Where the program is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// In the file that the argument at this index names; 0 is the first behind the interpreter.
    File(usize),
    /// In the arguments, all of it.
    Arguments,
    /// In what the arguments say in a way that is not understood here, or in a text that could load files
    /// from the folder by names that it does not show.
    Unknown,
}

/// Where `program` finds what it runs; `None` for one that is no interpreter. Shells have more ways,
/// see [`ShellUse`].
pub fn source(program: &str, arguments: &[&str]) -> Option<Source> {
    let name = Name::of(program);
    if name.is_shell() {
        return Some(Source::Unknown);
    }
    if says_it_all(program, arguments) {
        return Some(Source::Arguments);
    }
    let Some(interpreter) = Interpreter::of(program) else {
        return name.is_interpreter().then_some(Source::Unknown);
    };
    let verbs = arguments.first().is_some_and(|first| interpreter.verbs.contains(first));
    let rest = arguments.get(usize::from(verbs)..).unwrap_or_default();
    let plain = rest.iter().take_while(|argument| is_plain(argument, interpreter.plain)).count();
    let at = usize::from(verbs) + plain;
    Some(match arguments.get(at) {
        // To this one a name is a script of the package first.
        Some(_) if name.as_str() == "bun" => Source::Unknown,
        Some(operand) if !operand.is_empty() && !operand.starts_with(['-', '+']) => Source::File(at),
        Some(_) | None => Source::Unknown,
    })
}

/// Whether all that the program does is in its arguments, whatever else they say: `find` always, `sed` and
/// `awk` when no option names a file with a script, `python -m` with modules that are programs of their own.
fn says_it_all(program: &str, arguments: &[&str]) -> bool {
    let base = program.rsplit('/').next().unwrap_or(program);
    match base {
        "find" | "gfind" => !arguments.iter().any(|argument| argument.starts_with("-files0-from")),
        "sed" | "gsed" => !arguments.iter().any(|argument| {
            argument.starts_with("--f")
                || (argument.starts_with('-') && !argument.starts_with("--") && argument.contains('f'))
        }),
        "awk" | "gawk" | "mawk" | "nawk" => {
            let known = |option: &str| option == "--" || option.starts_with("-F") || option.starts_with("-v");
            arguments.iter().all(|argument| !argument.starts_with('-') || known(argument))
        }
        _ => {
            let family = base.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
            let module = match arguments {
                ["-m", module, ..] => module,
                _ => return false,
            };
            family == "python" && MODULES.contains(module)
        }
    }
}

/// Modules of Python that run the tests of the project in the folder. Any other could be replaced by a file
/// there of its name.
const MODULES: &[&str] = &["pytest", "unittest"];

/// Arguments of interpreters behind which their programs stand.
const CODE: &[&str] = &["-E", "-c", "-e", "--command", "--eval", "--execute", "eval"];

/// Sorted. Programs that take commands from their input, or from words like those of it.
const OBEDIENT: &[&str] = &[
    "at", "batch", "crontab", "dc", "ed", "ex", "expect", "ftp", "gdb", "gnuplot", "lftp", "lldb", "m4",
    "mysql", "psql", "red", "sftp", "sqlite", "sqlite3", "tclsh", "telnet", "wish",
];

/// How a family of interpreters names its script.
struct Interpreter {
    /// First arguments that stand before the script.
    verbs: &'static [&'static str],
    /// Letters of short options that bring the program text or name a module.
    text: &'static str,
    /// Long options that do.
    long: &'static [&'static str],
    /// Letters of short options that take no value and make nothing else run.
    plain: &'static str,
}

impl Interpreter {
    fn of(program: &str) -> Option<Self> {
        let name = program.rsplit('/').next()?;
        let family = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let (verbs, text, long, plain): (&[&str], &str, &[&str], &str) = match family {
            "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "zsh" | "fish" => {
                (&[], "cs", &["--command"], "")
            }
            "python" | "pypy" => (&[], "cm", &[], "bBdEIOPqsSuv"),
            "node" | "nodejs" => (&[], "ep", &["--eval", "--print"], ""),
            "ruby" | "lua" | "luajit" => (&[], "e", &[], "w"),
            "perl" => (&[], "eE", &[], "w"),
            "php" => (&[], "r", &["--run"], "q"),
            "Rscript" => (&[], "e", &[], ""),
            "deno" => (&["run"], "", &[], ""),
            "bun" => (&["run"], "ep", &["--eval", "--print"], ""),
            "tsx" | "ts-node" => (&[], "ep", &["--eval", "--print"], ""),
            _ => return None,
        };
        Some(Self { verbs, text, long, plain })
    }

    fn takes_text(&self, option: &str) -> bool {
        if option.starts_with("--") {
            let name = option.split('=').next().unwrap_or(option);
            return self.long.contains(&name);
        }
        option.chars().skip(1).any(|letter| self.text.contains(letter))
    }
}

/// Whether an option is made of nothing but these letters.
fn is_plain(option: &str, plain: &str) -> bool {
    option
        .strip_prefix('-')
        .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| plain.contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<Source>) {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(source(words[0], &words[1..]), expected, "{line}");
    }

    #[test]
    fn a_file_is_only_found_where_nothing_else_could_be_run() {
        check("python3 a.py x", Some(Source::File(0)));
        check("/usr/bin/python3.12 -u -BO a.py", Some(Source::File(2)));
        check("deno run a.ts", Some(Source::File(1)));
        check("node a.js -e 1", Some(Source::File(0)));
        for unclear in [
            "python3",
            "python3 -",
            "python3 -m a x",
            "sed -n -f a.sed x",
            "sed -nf a.sed x",
            "sed --file=a.sed x",
            "awk -f a.awk x",
            "gawk -i inplace 1 x",
            "gawk --load x 1",
            "find -files0-from x",
            "python3 -X utf8 a.py",
            "python3 -W ignore a.py",
            "python3 -i a.py",
            "python3 -- a.py",
            "node -r ./hook.js a.js",
            "node --import ./hook.js a.js",
            "ruby -rhook a.rb",
            "ruby -I lib a.rb",
            "perl -Mhook a.pl",
            "perl -x a.pl",
            "bash a.sh",
            "make test",
            "docker run x",
            "bun a.ts",
            "bun run a.ts",
        ] {
            check(unclear, Some(Source::Unknown));
        }
    }

    #[test]
    fn only_programs_that_load_nothing_have_all_of_it_in_their_arguments() {
        check("python3 -m pytest -x tests", Some(Source::Arguments));
        check("sed -n -e 1p a", Some(Source::Arguments));
        check("awk -F: -v a=f 1 x", Some(Source::Arguments));
        check("find . -delete", Some(Source::Arguments));
        // `json` and `./x` would be looked for in the folder.
        for unclear in [
            "python3 -c import_json",
            "python3 -m json.tool a",
            "node -e require('./x')",
            "node -r ./x -e 1",
            "perl -e 1",
            "bun run -e 1",
        ] {
            check(unclear, Some(Source::Unknown));
        }
    }

    #[test]
    fn other_programs_are_their_own() {
        check("git status", None);
        check("./a.py", None);
        check("npm run x", None);
    }
}
