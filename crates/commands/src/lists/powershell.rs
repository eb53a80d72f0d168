//! PowerShell, whose options may be cut short.

use super::trim;

/// A text on an argument list.
pub(super) struct Inline {
    pub(super) text: Option<String>,
    pub(super) at: Option<usize>,
    /// Whether all words from there on are the text.
    pub(super) takes_rest: bool,
}

/// The text, the file or the encoded text that PowerShell is told to run.
pub(super) fn inline(argv: &[String]) -> Inline {
    let mut at = 1;
    while let Some(word) = argv.get(at).map(|word| trim(word)) {
        let lower = word.to_lowercase();
        if word.is_empty() {
            at += 1;
            continue;
        }
        if lower == "--" {
            break;
        }
        let next = (at + 1 < argv.len()).then_some(at + 1);
        let switch = switch(&lower);
        if switch.is_some_and(|name| is_one_of(name, REST)) {
            let words: Vec<&str> =
                argv.get(at + 1..).unwrap_or_default().iter().map(|word| trim(word)).collect();
            let text = trim(&words.join(" ")).to_owned();
            return Inline { text: Some(text).filter(|text| !text.is_empty()), at: next, takes_rest: true };
        }
        if switch.is_some_and(|name| is_one_of(name, NEXT)) {
            let text = next.and_then(|at| argv.get(at)).map(|word| trim(word).to_owned());
            return Inline { text: text.filter(|text| !text.is_empty()), at: next, takes_rest: false };
        }
        if switch.is_some_and(|name| is_one_of(name, VALUES)) {
            at += 2;
            continue;
        }
        if !is_option(word) {
            break;
        }
        at += 1;
    }
    Inline { text: None, at: None, takes_rest: false }
}

fn is_option(word: &str) -> bool {
    let letters = |rest: &str| {
        rest.starts_with(|first: char| first.is_ascii_alphabetic())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    word.starts_with('-') || word.strip_prefix('/').is_some_and(letters)
}

/// The name of a switch, which `-`, `--` or `/` announces.
fn switch(lower: &str) -> Option<&str> {
    lower.strip_prefix("--").or_else(|| lower.strip_prefix('-')).or_else(|| lower.strip_prefix('/'))
}

/// Whether a name is one of these, cut short at most to what stands first.
fn is_one_of(name: &str, switches: &[(&str, &str)]) -> bool {
    switches.iter().any(|(least, whole)| name.len() >= least.len() && whole.starts_with(name))
}

/// Everything behind them is the text.
const REST: &[(&str, &str)] = &[("c", "command"), ("cwa", "commandwithargs"), ("cwa", "cwa")];

/// The word behind them is the text, or names the file with it.
const NEXT: &[(&str, &str)] = &[("f", "file"), ("e", "encodedcommand"), ("e", "ec")];

/// The word behind them is a value.
const VALUES: &[(&str, &str)] = &[
    ("conf", "configurationfile"),
    ("config", "configurationname"),
    ("cus", "custompipename"),
    ("encodeda", "encodedarguments"),
    ("ex", "executionpolicy"),
    ("inp", "inputformat"),
    ("o", "outputformat"),
    ("psco", "psconsolefile"),
    ("settings", "settingsfile"),
    ("to", "token"),
    ("utc", "utctimestamp"),
    ("v", "version"),
    ("w", "windowstyle"),
    ("w", "workingdirectory"),
    ("ea", "ea"),
    ("ep", "ep"),
    ("if", "if"),
    ("of", "of"),
    ("pscf", "pscf"),
    ("wd", "wd"),
];
