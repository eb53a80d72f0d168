//! Command texts: by a grammar that is a little wider than what is accepted, and by mutation of
//! the committed ones.

use crate::random::Random;

#[derive(Debug)]
pub(crate) struct Generator {
    random: Random,
    corpus: Vec<String>,
}

impl Generator {
    pub(crate) fn new(seed: u64, corpus: Vec<String>) -> Self {
        Self { random: Random::new(seed), corpus }
    }

    pub(crate) fn text(&mut self) -> String {
        match self.random.below(6) {
            0 | 1 => self.list(0),
            2 => {
                let text = self.list(0);
                self.mutated(text)
            }
            _ => {
                let index = self.random.below(self.corpus.len());
                let text = self.corpus.get(index).cloned().unwrap_or_default();
                self.mutated(text)
            }
        }
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = String::new();
        if self.random.once_in(8) {
            text.push_str(self.random.pick(EDGES));
        }
        for number in 0..=self.random.below(4) {
            if number > 0 {
                let joints = if self.random.once_in(3) { JOINTS } else { PLAIN_JOINTS };
                text.push_str(self.random.pick(joints));
            }
            text.push_str(&self.element(depth));
        }
        if self.random.once_in(5) {
            text.push_str(self.random.pick(EDGES));
        }
        text
    }

    fn element(&mut self, depth: usize) -> String {
        if depth < GROUPS_WITHIN && self.random.once_in(8) {
            let inside = self.list(depth + 1);
            let (open, close) = GROUPS[self.random.below(GROUPS.len())];
            return format!("{open}{inside}{close}{}", if self.random.once_in(4) { " 2>&1" } else { "" });
        }
        let mut text = String::new();
        if self.random.once_in(10) {
            text.push_str(self.random.pick(PREFIXES));
        }
        let names = if self.random.once_in(4) { NAMES } else { PLAIN_NAMES };
        text.push_str(self.random.pick(names));
        for _ in 0..self.random.below(5) {
            text.push_str(self.random.pick(BLANKS));
            text.push_str(&self.word());
        }
        text
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        for _ in 0..=self.random.below(3) {
            let pieces = if self.random.once_in(5) { PIECES } else { PLAIN_PIECES };
            word.push_str(self.random.pick(pieces));
        }
        word
    }

    fn mutated(&mut self, text: String) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        for _ in 0..=self.random.below(3) {
            let at = self.random.below(chars.len() + 1);
            let end = (at + self.random.below(4)).min(chars.len());
            let new: Vec<char> = match self.random.below(5) {
                0 => Vec::new(),
                1 => chars[at..end].iter().chain(&chars[at..end]).copied().collect(),
                2 => self.random.pick(CHARACTERS).chars().collect(),
                3 => self.word().chars().collect(),
                _ => {
                    let other = &self.corpus[self.random.below(self.corpus.len())];
                    let skipped = self.random.below(other.chars().count() + 1);
                    let length = self.random.below(12);
                    other.chars().skip(skipped).take(length).collect()
                }
            };
            let end = if self.random.once_in(2) { end } else { at };
            chars.splice(at..end, new);
        }
        chars.into_iter().collect()
    }
}

const GROUPS_WITHIN: usize = 3;

const GROUPS: &[(&str, &str)] =
    &[("(", ")"), ("( ", " )"), ("{ ", "; }"), ("{\n", "\n}"), ("(\n", "\n)"), ("{ ", " }"), ("{", "}")];

const EDGES: &[&str] =
    &[" ", "\n", ";", " ;", "\n\n", "\t", " # end", "# only\n", " \\\n", "\r\n", "; # x\n", " &", "\n "];

const JOINTS: &[&str] = &[
    " && ",
    " || ",
    "; ",
    "\n",
    " | ",
    "&&",
    "||",
    ";",
    "|",
    " |& ",
    "\n\n",
    " &&\n",
    "|\n",
    " ||\t",
    ";\n",
    " # c\n",
    " && # c\n",
    " \\\n&& ",
    " && \\\n",
    "\\\n",
    "\r\n",
    " & ",
    "\n| ",
    " ; \n ",
];

/// Those that are accepted, so that not every long text is refused for one part.
const PLAIN_JOINTS: &[&str] = &[" && ", " || ", "; ", "\n", " | ", "&&", "||", ";", "|", " &&\n", ";\n"];

const BLANKS: &[&str] = &[" ", " ", " ", "  ", "\t", " \\\n", " \t "];

const PREFIXES: &[&str] = &[
    "! ",
    "V_A=1 ",
    "V_A= ",
    "V_A='x y' ",
    "V_A=1 V_B=2 ",
    "!\t",
    "! V_A=$x ",
    "V_A+=1 ",
    "V_A[0]=1 ",
    "V_A=~ ",
    "V_A=* ",
];

const PLAIN_NAMES: &[&str] = &["scan", "deploy", "lint", "x", "tool-2", "sc\\an", "'sc'an", "é"];

const NAMES: &[&str] = &[
    "scan", "deploy", "lint", "x", "a1", "tool-2", "p.q", "_u", "é", "工具", "sc\\an", "'scan'", "s\"ca\"n",
    "$'scan'", "[", "time", "coproc", "if", "done", "{", "}", "!", "in", "~/scan", "./scan", "-a=b", "]",
    "]]", "[[", "a{}", "%1", "+x", "@x", "^x", ",", "''scan", "scan''", "\"scan\"", "\\if", "'if'", "then",
    "function", "1", "2", "a#b", "x:y", "\\{", "'{'", "!x", "!=", "a!",
];

/// Parts of words that are accepted.
const PLAIN_PIECES: &[&str] = &[
    "a", "b", "x1", "-x", "--y", "=", "k=v", "'a b'", "\"a b\"", "''", "\"\"", "\\ ", "\\\\", "\\'", "\\\"",
    "\\$", "\\;", "\\&", "\\#", "'\\'", "\"\\\\\"", "\"\\$x\"", "\"\\n\"", "\"$\"", "\"'\"", "'\"'", "%",
    "^", "+", ",", ".", "/", ":", "!", "]", "}", "{}", "é", "漢字", "😀", "'\n'", "a#b", "12", "*", "~",
];

/// Parts of words, some with a meaning, some that only look as if they had one.
const PIECES: &[&str] = &[
    "a",
    "b",
    "x1",
    "-x",
    "--y",
    "=",
    "k=v",
    "'a b'",
    "\"a b\"",
    "''",
    "\"\"",
    "\\ ",
    "\\\\",
    "\\'",
    "\\\"",
    "\\$",
    "\\`",
    "\\a",
    "\\;",
    "\\&",
    "\\|",
    "\\<",
    "\\>",
    "\\(",
    "\\)",
    "\\#",
    "\\~",
    "\\*",
    "\\{",
    "\\é",
    "'\\'",
    "\"\\\\\"",
    "\"\\$x\"",
    "\"\\\"\"",
    "\"\\`\"",
    "\"\\n\"",
    "\"\\a\"",
    "\"$\"",
    "\"a$\"",
    "\"$ b\"",
    "\"$'x'\"",
    "\"$%\"",
    "$'a'",
    "$'\\n'",
    "$'\\t'",
    "$'\\''",
    "$'\\\\'",
    "$'\\x41'",
    "$'\\101'",
    "$'\\1'",
    "$'\\u0041'",
    "$'\\e'",
    "$'\\q'",
    "$'\\0'",
    "$'\\xe9'",
    "$'\\cA'",
    "$'\\x4'",
    "$'\\x411'",
    "$'a b'",
    "$\"a\"",
    "$",
    "#",
    "a#b",
    "!",
    "!!",
    "!x",
    "%",
    "^",
    "@",
    "+",
    ",",
    ".",
    "..",
    "/",
    ":",
    "~",
    "~x",
    "a~",
    "=~",
    ":~",
    "*",
    "?",
    "[a]",
    "[",
    "]",
    "{",
    "}",
    "{}",
    "{a,b}",
    "{a}",
    "{1..2}",
    "a{b,c}d",
    "(",
    ")",
    "<",
    ">",
    "2>&1",
    " 2>&1",
    " 1>&2",
    " >&2",
    " >/dev/null",
    " 2>/dev/null",
    " &>/dev/null",
    " </dev/null",
    " > /dev/null",
    " 2>>/dev/null",
    ">/dev/null",
    "&>/dev/null",
    " 0</dev/null",
    "1",
    "2",
    "12",
    "$?",
    "\"$?\"",
    "\"a$?b\"",
    " $? ",
    "$x",
    "${x}",
    "$(id)",
    "`id`",
    "\"$x\"",
    "é",
    "漢字",
    "😀",
    "à",
    "Å",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "\u{200b}",
    "\u{feff}",
    "\u{301}",
    "\u{85}",
    "\u{9b}",
    "\u{1}",
    "\u{7f}",
    "\u{1b}",
    "\u{8}",
    "\u{b}",
    "\u{c}",
    "\r",
    "\r\n",
    "'\n'",
    "\"\n\"",
    "'a\nb'",
    "'\\\n'",
    "\\\\\n",
    "\\\n",
    " \\\n",
    "'\u{1}'",
    "\"\u{7f}\"",
    "'\u{81}'",
    "\\\u{1}",
    "if",
    "then",
    "do",
    "done",
    "in",
    "{x}",
    "x}",
    "-",
    "--",
    "]]",
    "a=~",
    "a:b",
    "a==b",
    "+=",
    "'a'b\"c\"",
    "\"'\"",
    "'\"'",
];

/// What a mutation puts in between.
const CHARACTERS: &[&str] = &[
    "'", "\"", "\\", "$", "`", "#", "&", "|", ";", "(", ")", "{", "}", "<", ">", "!", "=", "~", "*", "?",
    "[", "]", " ", "\t", "\n", "\\\n", "\r", "a", "1", "é", "&&", "||", ";;", "&>", ">&", "<<", "$'",
    "\u{a0}", "\u{0}", ":", "%", "^", "-", "+", ",",
];
