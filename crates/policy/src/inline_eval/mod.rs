//! Programs given on the command line: `python3 -c …`, `find -exec …`, `sed s/a/b/`
//! (docs/protocol/commands.md, "Programs on the command line"). A rule for the interpreter says nothing about
//! such a program, so a strict configuration asks about each.
//!
//! Only the argument list is read; a text inside `sh -c` is another command and is analysed as such.
//! ```
//! use countersign_policy::inline_eval::{detect, interpreter_like};
//!
//! let argv = ["nice", "python3.12", "-Ic", "print(1)"].map(String::from);
//! assert_eq!(detect(&argv).map(|hit| hit.label()).as_deref(), Some("python3.12 -c"));
//! assert!(interpreter_like("/usr/bin/python3*"));
//! ```

mod carried;
mod languages;

use countersign_commands::programs::Name;
use languages::{LANGUAGES, Language, Operand};
use std::fmt;

/// A program on the command line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hit {
    /// Name of the interpreter: base name, lower case, version included.
    pub executable: String,
    /// What carries the program.
    pub carrier: Carrier,
}

/// Where in the arguments the program is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Carrier {
    /// After, or glued to, this option.
    Flag(&'static str),
    /// The operands are a command.
    Command,
    /// The first operand is a program.
    Program,
}

impl Hit {
    /// A short text for a prompt or a trace.
    pub fn label(&self) -> String {
        match self.carrier {
            Carrier::Flag(flag) => format!("{} {flag}", self.executable),
            Carrier::Command => format!("{} inline command", self.executable),
            Carrier::Program => format!("{} inline program", self.executable),
        }
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Flag(flag) => flag,
            Self::Command => "<command>",
            Self::Program => "<program>",
        })
    }
}

/// The program that `argv` (executable first) carries, also behind wrappers that only start
/// what they are given.
pub fn detect(argv: &[String]) -> Option<Hit> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let (executable, args) = carried::innermost(&words).split_first()?;
    let name = Name::of(executable.trim());
    let args: Vec<&str> = args.iter().map(|arg| arg.trim()).filter(|arg| !arg.is_empty()).collect();
    let languages = || LANGUAGES.iter().filter(|language| name.is_one_of(language.names));
    let flag = languages().find_map(|language| language.flag_in(&args)).map(Carrier::Flag);
    let carrier = flag.or_else(|| languages().find_map(|language| operand_in(language, &args)))?;
    Some(Hit { executable: name.as_str().to_owned(), carrier })
}

/// Whether a pattern or a path names such an interpreter, wildcards at its end included: what would be
/// remembered for it is any program at all.
pub fn interpreter_like(pattern: &str) -> bool {
    let pattern = pattern.trim();
    let is_one = |name: &Name| LANGUAGES.iter().any(|language| name.is_one_of(language.names));
    let without_wildcards: String =
        pattern.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '(' | ')')).collect();
    // A slash at the end changes nothing about which file it is.
    [without_wildcards.as_str(), pattern.trim_end_matches(['/', '\\'])]
        .into_iter()
        .map(Name::of)
        .any(|name| is_one(&name))
}

/// Where the first operand is a program or a command unless a file of the program is named.
fn operand_in(language: &Language, args: &[&str]) -> Option<Carrier> {
    let carrier = match language.operand {
        Operand::Data => return None,
        Operand::Command => Carrier::Command,
        Operand::Program => Carrier::Program,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if *arg == "--" {
            return args.next().map(|_| carrier);
        }
        if language.file_flags.iter().any(|flag| languages::carries_value(arg, flag)) {
            return None;
        }
        if language.value_flags.contains(arg) {
            args.next();
        } else if !arg.starts_with('-') || *arg == "-" {
            return Some(carrier);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(line: &str) -> Option<String> {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        detect(&argv).map(|hit| hit.label())
    }

    fn check(line: &str, expected: Option<&str>) {
        assert_eq!(label(line).as_deref(), expected, "{line}");
    }

    #[test]
    fn an_option_with_a_program_is_found_alone_glued_and_in_clusters() {
        check("python3 -c x", Some("python3 -c"));
        check("python3 -cx", Some("python3 -c"));
        check("python3 -Isc x", Some("python3 -c"));
        check("python3 -Wc x", None);
        check("/opt/x/Python3.11 -m x -c y", Some("python3.11 -c"));
        check("node --eval=x", Some("node --eval"));
        check("node app.js", None);
        check("perl -lane x", Some("perl -e"));
        check("perl -Ilib/e x", None);
        check("php -B x", Some("php -B"));
        check("php -b x", None);
        check("groovy -encoding x", None);
        check("ruby -w x.rb", None);
    }

    #[test]
    fn an_operand_may_be_the_program() {
        check("sed -n 3p", Some("sed inline program"));
        check("sed -f x.sed y", None);
        check("awk -F , {print}", Some("awk inline program"));
        check("awk -f x.awk y", None);
        check("gawk --source x", Some("gawk --source"));
        check("xargs -n 1", None);
        check("xargs -n 1 rm", Some("xargs inline command"));
        check("find -- . -execdir rm ;", Some("find -execdir"));
        check("find . -name -exe", None);
    }

    #[test]
    fn two_dashes_end_the_options_of_every_program_but_find() {
        check("python3 -- -c x", None);
        check("node -- -e", None);
        check("awk -- 1", Some("awk inline program"));
    }

    #[test]
    fn wrappers_hide_nothing() {
        check("nice -n 5 nice python3 -c x", Some("python3 -c"));
        check("sudo -u x env -i A=1 node -e x", Some("node -e"));
        check("timeout -k 1 5 ruby -e x", Some("ruby -e"));
        check("exec -a x perl -e y", Some("perl -e"));
        check("flock /x node -e y", Some("node -e"));
        check("A=1 node -e y", None);
        let argv = ["bash", "-c", "exec \"$0\" \"$@\"", "python3", "-c", "x"].map(String::from);
        assert_eq!(detect(&argv).map(|hit| hit.label()).as_deref(), Some("python3 -c"));
        let argv = ["bash", "-c", "\"$@\"", "x", "python3", "-c", "x"].map(String::from);
        assert_eq!(detect(&argv).map(|hit| hit.label()).as_deref(), Some("python3 -c"));
        let argv = ["bash", "-c", "python3 -c x"].map(String::from);
        assert_eq!(detect(&argv), None);
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(detect(&[]), None);
        check(" python3 -c", None);
    }

    #[test]
    fn a_pattern_of_an_interpreter_is_known_with_versions_and_wildcards() {
        for pattern in ["python3", "/usr/bin/python*", "node?", "PHP8", "/opt/bin/ruby-3.2", "find"] {
            assert!(interpreter_like(pattern), "{pattern}");
        }
        for pattern in ["*", "/opt/my-node", "/usr/bin/{python3,node}", "npx", "**"] {
            assert!(!interpreter_like(pattern), "{pattern}");
        }
    }
}
