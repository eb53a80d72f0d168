//! Small programs in arguments that are known to only print: `sed` scripts, `jq` filters, `awk` programs.
//! Whatever is not understood counts as harmful.

use super::Argument;
use crate::knowledge;
use crate::work;

/// The words of a `sed` whose script is given in parts, each with a flag: as `sed` itself joins them.
pub(super) struct Joined<'a> {
    flags: Vec<String>,
    script: String,
    operands: Vec<Argument<'a>>,
}

impl Joined<'_> {
    /// The whole script.
    pub(super) fn script(&self) -> &str {
        &self.script
    }

    /// Flags, script and files, as they stand where no flag is needed for a script.
    pub(super) fn arguments(&self) -> Vec<Argument<'_>> {
        let said = self.flags.iter().chain([&self.script]).map(|text| Argument { text, expands: false });
        said.chain(self.operands.iter().copied()).collect()
    }
}

/// The parts of a script joined, where a program called so takes some by flags; `None` where it does not, or
/// not in a way that is certain.
pub(super) fn joined<'a>(typed: &str, arguments: &'a [Argument<'a>]) -> Option<Joined<'a>> {
    let program = knowledge::program(typed)?;
    if !program.names.contains(&"sed") {
        return None;
    }
    let mut joined = Joined { flags: Vec::new(), script: String::new(), operands: Vec::new() };
    let mut parts: Vec<&str> = Vec::new();
    let mut words = arguments.iter();
    while let Some(argument) = words.next() {
        let word = argument.text;
        let part = match word.strip_prefix("--expression") {
            Some("") => words.next(),
            Some(glued) => {
                parts.push(glued.strip_prefix('=')?);
                continue;
            }
            None => match word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) {
                Some(letters) => match letters.split_once('e') {
                    Some((before, "")) if before.bytes().all(|byte| b"Enrsuz".contains(&byte)) => {
                        if !before.is_empty() {
                            joined.flags.push(format!("-{before}"));
                        }
                        words.next()
                    }
                    Some(("", glued)) => {
                        parts.push(glued);
                        continue;
                    }
                    _ => {
                        joined.flags.push(word.to_owned());
                        continue;
                    }
                },
                None if word.starts_with("--") => {
                    joined.flags.push(word.to_owned());
                    continue;
                }
                None => {
                    joined.operands.push(*argument);
                    continue;
                }
            },
        };
        parts.push(part.filter(|part| !part.expands)?.text);
    }
    if parts.is_empty() || arguments.iter().any(|argument| argument.text == "--") {
        return None;
    }
    joined.script = parts.join("\n");
    Some(joined)
}

/// Whether a `sed` script does nothing but select, print, delete from the output and substitute.
pub(super) fn sed_prints(script: &str) -> bool {
    sed_does(script, Lines::AsTheyCome)
}

/// Whether a `sed` script does nothing but that and putting lines of text into the output.
pub(super) fn sed_edits(script: &str) -> bool {
    sed_does(script, Lines::PutIn)
}

/// Where the lines of the output come from.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Lines {
    AsTheyCome,
    PutIn,
}

/// Whether a `sed` script may start something: among what is not understood of it an `e` could be a command
/// or the flag of one.
pub(super) fn sed_may_start(script: &str) -> bool {
    !is_readable(script) || sed_unread(script, Lines::PutIn).contains('e')
}

fn sed_does(script: &str, lines: Lines) -> bool {
    is_readable(script) && sed_unread(script, lines).is_empty()
}

/// What is left of a script from the first command on that does something else.
fn sed_unread(script: &str, lines: Lines) -> &str {
    let mut rest = script.trim_matches([' ', '\t', '\n', ';']);
    while !rest.is_empty() {
        let Some(after) = sed_command(rest, lines, 0) else { return rest };
        let trimmed = after.trim_start_matches([' ', '\t']);
        if !trimmed.is_empty() && !trimmed.starts_with([';', '\n', '}']) {
            return rest;
        }
        rest = trimmed.trim_start_matches([';', '\n', ' ', '\t', '}']);
    }
    rest
}

/// What comes after one command with its addresses, within so many groups.
fn sed_command(text: &str, lines: Lines, groups: usize) -> Option<&str> {
    let mut rest = sed_addresses(text)?.trim_start_matches([' ', '\t']);
    rest = rest.strip_prefix('!').unwrap_or(rest).trim_start_matches([' ', '\t']);
    let mut chars = rest.chars();
    match chars.next()? {
        '{' if groups < GROUPS => {
            sed_command(chars.as_str().trim_start_matches([' ', '\t', '\n', ';']), lines, groups + 1)
        }
        'p' | '=' | 'd' | 'D' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'l' => Some(chars.as_str()),
        'q' | 'Q' => Some(chars.as_str().trim_start_matches(|c: char| c.is_ascii_digit())),
        'a' | 'i' | 'c' if lines == Lines::PutIn => lines_of_text(chars.as_str()),
        'y' => {
            let delimiter = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\' && *c != ';')?;
            let (_, rest) = delimited(chars.as_str(), delimiter, Brackets::Literal)?;
            Some(delimited(rest, delimiter, Brackets::Literal)?.1)
        }
        's' => {
            let delimiter = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\' && *c != ';')?;
            let (_, rest) = delimited(chars.as_str(), delimiter, Brackets::Closed)?;
            let (_, rest) = delimited(rest, delimiter, Brackets::Literal)?;
            // Of the flags `e` runs the result and `w` writes a file.
            Some(rest.trim_start_matches(|c: char| matches!(c, 'g' | 'p' | 'i' | 'I') || c.is_ascii_digit()))
        }
        _ => None,
    }
}

/// What comes after lines of text, which begin behind blanks or a backslash; each but the last ends
/// with a backslash.
fn lines_of_text(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\t']);
    let mut rest = text.strip_prefix('\\').map_or(text, |text| text.strip_prefix('\n').unwrap_or(text));
    loop {
        let (line, after) = rest.split_at(rest.find('\n').unwrap_or(rest.len()));
        match line.strip_suffix('\\') {
            None => return (!line.is_empty()).then_some(after),
            // To some the line goes on behind an escaped backslash, to others not.
            Some(line) if line.ends_with('\\') => return None,
            Some(_) => rest = after.strip_prefix('\n')?,
        }
    }
}

fn sed_addresses(text: &str) -> Option<&str> {
    let rest = sed_address(text)?;
    match rest.trim_start_matches(' ').strip_prefix(',') {
        Some(second) => {
            let second = second.trim_start_matches(' ');
            sed_address(second.strip_prefix(['+', '~']).unwrap_or(second))
        }
        None => Some(rest),
    }
}

/// Line number, `first~step`, `$`, `/expression/` or nothing.
fn sed_address(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() < text.len() {
        return Some(match digits.strip_prefix('~') {
            Some(step) => step.trim_start_matches(|c: char| c.is_ascii_digit()),
            None => digits,
        });
    }
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    match text.strip_prefix('/') {
        Some(rest) => {
            delimited(rest, '/', Brackets::Closed).map(|(_, rest)| rest.strip_prefix('I').unwrap_or(rest))
        }
        None => Some(text),
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Brackets {
    /// Mean a set, which must be closed: versions differ on whether the delimiter ends an
    /// expression inside one.
    Closed,
    /// Mean themselves.
    Literal,
}

/// What stands before the first unescaped delimiter, and what after it.
fn delimited(text: &str, delimiter: char, brackets: Brackets) -> Option<(&str, &str)> {
    let mut set = Set::Outside;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == delimiter {
            return (set == Set::Outside).then(|| (&text[..at], &text[at + c.len_utf8()..]));
        }
        match c {
            '\n' => return None,
            '\\' => {
                let (_, escaped) = chars.next()?;
                // Inside a set a backslash is a member to some and an escape to others.
                if set != Set::Outside && (escaped == ']' || escaped == '\\' || escaped == delimiter) {
                    return None;
                }
            }
            '[' if set != Set::Outside && text[at + 1..].starts_with([':', '.', '=']) => {
                let class = CLASSES.iter().find(|class| text[at + 1..].starts_with(**class));
                let class = class.filter(|_| delimiter != ':')?;
                // All of them are ASCII, and the set goes on behind it.
                chars.nth(class.len() - 1)?;
                set = Set::Inside;
            }
            _ if brackets == Brackets::Closed => set = set.after(c),
            _ => {}
        }
    }
    None
}

/// What may stand for several characters in a set, behind its own bracket.
const CLASSES: &[&str] = &[
    ":alnum:]",
    ":alpha:]",
    ":blank:]",
    ":cntrl:]",
    ":digit:]",
    ":graph:]",
    ":lower:]",
    ":print:]",
    ":punct:]",
    ":space:]",
    ":upper:]",
    ":xdigit:]",
];

/// Where a reader is in a bracket expression.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Set {
    Outside,
    /// After `[`: a `^` keeps it here, a `]` is a member.
    Opened,
    Negated,
    Inside,
}

impl Set {
    fn after(self, c: char) -> Self {
        match (self, c) {
            (Self::Outside, '[') => Self::Opened,
            (Self::Outside, _) | (Self::Inside, ']') => Self::Outside,
            (Self::Opened, '^') => Self::Negated,
            (Self::Opened | Self::Negated | Self::Inside, _) => Self::Inside,
        }
    }
}

/// Whether a `jq` filter reads nothing but its input: no environment, no other files.
pub(super) fn jq_filters(filter: &str) -> bool {
    is_readable(filter) && !words(filter).any(|word| JQ_READS.contains(&word))
}

/// Whether an `awk` program prints from its input and does nothing else.
pub(super) fn awk_prints(program: &str) -> bool {
    is_readable(program)
        && !program.contains('@')
        && awk_only_compares(program)
        && !program.replace("||", "").contains('|')
        && !words(program).any(|word| AWK_ACTS.contains(&word))
}

/// Whether an `awk` program may start something that no text in it names: what is put together of several, or
/// of what it reads. A pipe to or from one whole text starts what that says.
pub(super) fn awk_may_start(program: &str) -> bool {
    if !is_readable(program) {
        return true;
    }
    let code = awk_code(program).replace("||", "");
    let is_one_text = |(at, sign): (usize, &str)| {
        let before = code.get(..at).unwrap_or_default().trim_end();
        let behind = code.get(at + sign.len()..).unwrap_or_default().trim_start_matches(['&', ' ', '\t']);
        let is_read = behind.starts_with("getline")
            && before.strip_suffix(TEXT).is_some_and(|before| {
                let before = before.trim_end();
                before.is_empty() || before.ends_with(['{', ';', '(', '\n', '&'])
            });
        let is_written = behind.strip_prefix(TEXT).is_some_and(|rest| {
            let rest = rest.trim_start_matches([' ', '\t']);
            rest.is_empty() || rest.starts_with(['}', ';', '\n'])
        });
        is_read || is_written
    };
    let is_told = code.match_indices('|').all(is_one_text);
    !is_told || code.contains('@') || words(&code).any(|word| word == "system")
}

/// An `awk` program with one sign in place of each text and each pattern, as far as these are told apart from
/// divisions for certain. A pipe stands for what does not end.
fn awk_code(program: &str) -> String {
    let mut code = String::with_capacity(program.len());
    let mut rest = program.chars();
    while let Some(next) = rest.next() {
        let before = code.trim_end_matches([' ', '\t']);
        let is_pattern =
            next == '/' && (before.is_empty() || before.ends_with(['(', ',', '~', '{', ';', '!', '&', '\n']));
        if next != '"' && !is_pattern {
            code.push(next);
            continue;
        }
        let mut is_escaped = false;
        let end = rest.find(|c| {
            let ends = (*c == next && !is_escaped) || *c == '\n';
            is_escaped = *c == '\\' && !is_escaped;
            ends
        });
        code.push(match (end == Some(next), next) {
            (false, _) => '|',
            (true, '"') => TEXT,
            (true, _) => '/',
        });
    }
    code
}

/// Stands for a text of an `awk` program.
const TEXT: char = '"';

/// Whether every `>` compares. After `print` it writes; where a string or an expression came before, it
/// counts as writing, because what looks like the end of a statement could be part of these. A line end ends
/// none after a comma.
fn awk_only_compares(program: &str) -> bool {
    let parts: Vec<&str> = program.split('>').collect();
    let Some((_, before)) = parts.split_last() else { return true };
    let mut prints = false;
    before.iter().enumerate().all(|(at, part)| {
        // What stands behind the last end of a statement belongs to the next sign too.
        let (ended, statement) = match part.rsplit_once(['{', '}', ';']) {
            Some((_, statement)) => (true, statement),
            None => (false, *part),
        };
        let printed = words(statement).any(|word| matches!(word, "print" | "printf"));
        prints = printed || (prints && !ended);
        let doubled = at > 0 && part.is_empty();
        !part.contains(['"', '/', '#', '\\']) && !doubled && !prints
    })
}

/// Whether a script is short enough to be read.
fn is_readable(script: &str) -> bool {
    script.len() <= SCRIPT_BYTES && work::pay(SCRIPT_BYTE_UNITS * script.len())
}

/// Names and keywords, wherever they stand.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Longest script that is read, in bytes; nobody reads through a longer one.
const SCRIPT_BYTES: usize = 16_384;

/// Work of one byte of a script: it is read through a few times.
const SCRIPT_BYTE_UNITS: usize = 16;

/// Deepest groups of a `sed` script: more than anybody writes, and few enough for the stack.
const GROUPS: usize = 32;

/// Words of `jq` that reach the environment or other files.
const JQ_READS: &[&str] =
    &["ENV", "env", "get_search_list", "import", "include", "input_filename", "modulemeta", "__prog_args"];

/// Words of `awk` that start programs, touch files, or reach the environment and the list of files.
const AWK_ACTS: &[&str] = &[
    "ARGC",
    "ARGV",
    "ENVIRON",
    "FUNCTAB",
    "PROCINFO",
    "SYMTAB",
    "close",
    "extension",
    "getline",
    "load",
    "system",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(judge: fn(&str) -> bool, expected: bool, scripts: &[&str]) {
        for script in scripts {
            assert_eq!(judge(script), expected, "{script:?}");
        }
    }

    #[test]
    fn a_sed_script_that_only_prints_is_known() {
        check(
            sed_prints,
            true,
            &[
                "1,50p",
                "10p;20p",
                "/start/,/end/p",
                "$p",
                "s/a/b/g",
                "s|a/b|c|",
                "1,5!d",
                "2q",
                "/x/{p;q}",
                "y/abc/xyz/;p",
                "s/[^]x]y/z/",
                "s/[0-9]*$//",
                "/foo/,+3p",
                "0~4p",
                "1d",
                "$=",
                "s/^[ \t]*//;s/x/y/p",
                "120,$p",
                "/a\\/b/p",
                "/x/I p",
                "s/^[[:space:]]*//;s/[^[:alnum:]_]/-/g",
            ],
        );
        check(
            sed_prints,
            false,
            &[
                "w out",
                "1e",
                "e date",
                "s/a/b/w out",
                "s/a/b/e",
                "s/x/date/ge",
                "r /etc/shadow",
                "1,5w x",
                "p;w x",
                "s/[/]e/x/",
                "/x/{w out\n}",
                "1,5p\nw x",
                "a\\\ntext",
                "s/a/b",
                "F",
                "R x",
                "W x",
                "i\\",
                "y/a/b",
                "y/a/b/e",
                "y/a/b/w x",
                "p w x",
                "s;a;b;w x",
                "/a",
                "bx",
                ":x",
                "s\na\nb\ne",
                "s/[]/]/p;/w x/p",
                "s/[^]/]/p;/w x/p",
                "s/[\\]/]/p;/w x/p",
                "s/[[:a/]/p;/w x/p",
                "s/[[:space:]/]/p;/w x/p",
                "s:[[:space:]]:x:e",
                "s/[[.a.]]/x/",
                "/[/]/p",
            ],
        );
    }

    #[test]
    fn a_sed_script_that_only_edits_is_known() {
        check(
            sed_edits,
            true,
            &[
                "s/a/b/",
                "460i\\    if x:\\n        return y",
                "/import re/a import posixpath",
                "741,742c\\  text",
                "589d",
                "1i one\n2a two\ns/a/b/",
                "$a end; w out",
                "3a\\\ntext",
                "389i\\\n\\\n    def x(self):\\\n        return 1",
                "1a\\\n one\\\n two\n3d",
                "/x/a w out",
            ],
        );
        check(
            sed_edits,
            false,
            &[
                "1e",
                "w out",
                "s/a/b/w out",
                "s/a/b/e",
                "a one\nw out",
                "i one\\\nw out\\",
                "i one\\\\\nw out",
                "i one\\\ntwo\nw out",
                "a",
                "a\\\n",
                "1i x\n2e",
                "r x",
            ],
        );
        check(sed_prints, false, &["1i one", "a one", "c\\x"]);
    }

    #[test]
    fn a_filter_that_reaches_out_is_known() {
        check(jq_filters, true, &[".", ".a[] | select(.b == 1)", "keys", "\"\\(.x): \\(.y)\""]);
        check(
            jq_filters,
            false,
            &["env", "$ENV.HOME", "\"\\(env.X)\"", "import \"a\" as a; .", "$__prog_args"],
        );
    }

    /// What [`awk_only_compares`] does in one pass, looking at all that stands before each sign.
    fn each_sign_compares(program: &str) -> bool {
        program.match_indices('>').all(|(at, _)| {
            let (before, after) = program.split_at(at);
            let statement = before.rsplit(['{', '}', ';']).next().unwrap_or(before);
            !before.contains(['"', '/', '#', '\\'])
                && !after[1..].starts_with('>')
                && !words(statement).any(|word| matches!(word, "print" | "printf"))
        })
    }

    proptest! {
        #[test]
        fn one_pass_over_an_awk_program_sees_what_a_look_at_each_sign_sees(
            pieces in prop::collection::vec(
                prop::sample::select(&[">", ">>", "print", "printf ", "x", " ", ";", "{", "}", "\"", "/", "#", "\\", "2"][..]), 0..12,
            ),
        ) {
            let program = pieces.concat();
            assert_eq!(awk_only_compares(&program), each_sign_compares(&program), "{program:?}");
        }
    }

    #[test]
    fn an_awk_program_that_acts_is_known() {
        check(
            awk_prints,
            true,
            &[
                "{print $1}",
                "NR==1 || /x/ {print}",
                "BEGIN{FS=\",\"} {s+=$2} END{print s}",
                "NR>2 {print $1}",
                "NF>=3 && $2 > 4 {n++} END {print n}",
            ],
        );
        check(
            awk_prints,
            false,
            &[
                "{print > \"x\"}",
                "{print > x}",
                "{print $1 >> x}",
                "{ printf $1, 2 > x }",
                "NR>2 {print > x}",
                "{x=\"print\"; y > 2}",
                "/;/ > x",
                "{print /;/ > x}",
                "{print \\\n > x}",
                "{print (1\n) > x}",
                "BEGIN{system(\"id\")}",
                "{print | \"sh\"}",
                "BEGIN{while((\"id\"|getline x)>0)print x}",
                "BEGIN{getline x < \"/etc/shadow\"}",
                "@load \"filefuncs\"",
                "BEGIN{print ENVIRON[\"X\"]}",
                "BEGIN{ARGV[1]=\"k\"}",
                "{print |& \"sh\"}",
                "{ print ||| \"sh\" }",
            ],
        );
    }
}
