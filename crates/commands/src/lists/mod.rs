//! How the newest peer reads an argument list that starts a shell in the end: which wrappers it looks
//! through, and which of the words it takes for the shell's text.
//!
//! Facts about the peer and nothing else. What this program makes of a list is in `command`.

mod dispatch;
mod inline;
mod powershell;

pub use inline::hands_on;

use inline::Inline;

/// A shell's text as the peer finds it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Payload {
    /// The text, without blanks around it.
    pub text: String,
    /// Whether it may stand for the whole list: nothing was set before the shell, and no words are
    /// behind the text.
    pub stands_alone: bool,
    /// Whether the peer takes it apart.
    pub is_parsed: bool,
}

/// The text that `argv` tells a shell to run. `raw` is the text that came with the list, if any: one form of
/// a login shell may be named by its text alone.
pub fn payload(argv: &[String], raw: Option<&str>) -> Option<Payload> {
    let found = Shell::behind(argv)?;
    let text = found.text()?;
    let legacy = found.is_legacy_login()
        && raw.is_some_and(|raw| raw == text || raw == crate::raw_command::canonical_text(&found.argv));
    if found.attaches_text() || found.starts_up(legacy) {
        return None;
    }
    let stands_alone = !found.changes_environment && !found.has_more();
    let words: Vec<&str> = found.argv.iter().map(String::as_str).collect();
    let all: Vec<&str> = argv.iter().map(String::as_str).collect();
    let is_parsed =
        PARSEABLE.binary_search(&found.name.as_str()).is_ok() && (parses_text(&words) || parses_text(&all));
    Some(Payload { text, stands_alone, is_parsed })
}

/// Whether the peer takes the first word for a shell whose files it cannot know, so that no file
/// is named for it.
pub fn is_opaque_shell(word: &str) -> bool {
    let name = name_of(word);
    POSIX.binary_search(&name.as_str()).is_ok() && PARSEABLE.binary_search(&name.as_str()).is_err()
}

/// Whether the words tell their first one, a shell, to run a text by an option that the peer takes
/// the text apart for.
pub(crate) fn parses_text(words: &[&str]) -> bool {
    let options = words.iter().skip(1).map(|word| trim(word)).filter(|word| !word.is_empty());
    options.take_while(|word| *word != "--").any(|word| {
        let lower = word.to_lowercase();
        matches!(lower.as_str(), "-c" | "--command")
            || (lower.starts_with('-') && !lower.starts_with("--") && lower.contains('c'))
    })
}

/// A shell and how it is told what to do.
struct Shell {
    argv: Vec<String>,
    name: String,
    /// Whether a wrapper in front of it sets or removes variables.
    changes_environment: bool,
}

impl Shell {
    /// The shell that is started behind wrappers and multi-call files.
    fn behind(argv: &[String]) -> Option<Self> {
        let mut argv = argv.to_vec();
        let mut changes_environment = false;
        for _ in 0..=LEVELS {
            let name = name_of(argv.first().filter(|word| !trim(word).is_empty())?);
            match dispatch::unwrapped(&argv) {
                dispatch::Layer::Program => {}
                dispatch::Layer::Blocked => return None,
                dispatch::Layer::Through { skip, changes } => {
                    changes_environment |= changes;
                    argv.drain(..skip);
                    continue;
                }
            }
            if !matches!(name.as_str(), "busybox" | "toybox") {
                return Some(Self { argv, name, changes_environment });
            }
            let applet = if argv.get(1).is_some_and(|word| trim(word) == "--") { 2 } else { 1 };
            argv.get(applet).filter(|word| is_shell(word))?;
            argv.drain(..applet);
        }
        None
    }

    fn text(&self) -> Option<String> {
        match self.name.as_str() {
            "csh" | "osh" | "tcsh" => None,
            "cmd" => in_cmd(&self.argv),
            "powershell" | "pwsh" => powershell::inline(&self.argv).text,
            "nu" if inline::nu_reads_files(&self.argv) => None,
            "nu" => inline::attached_to_nu(&self.argv).unwrap_or_else(|| self.inline().text),
            name if POSIX.binary_search(&name).is_ok() => self.inline().text,
            _ => None,
        }
        .filter(|text| !text.is_empty())
    }

    fn inline(&self) -> Inline {
        inline::find(&self.argv, self.flags())
    }

    fn flags(&self) -> &'static [&'static str] {
        if self.name == "nu" { inline::NU_FLAGS } else { inline::FLAGS }
    }

    /// `sh -lc TEXT`, the form in which gateways send texts to nodes.
    fn is_legacy_login(&self) -> bool {
        self.name == "sh" && self.argv.get(1).is_some_and(|word| trim(word) == "-lc")
    }

    /// fish takes `-cTEXT` for a text.
    fn attaches_text(&self) -> bool {
        self.name == "fish" && inline::leading(&self.argv).any(|word| word.starts_with("-c") && word != "-c")
    }

    /// Whether it reads files of its user before the text, so that the text is not all that runs.
    fn starts_up(&self, legacy: bool) -> bool {
        match self.name.as_str() {
            "cmd" | "powershell" | "pwsh" => false,
            "fish" if inline::leading(&self.argv).any(is_fish_init) => true,
            "nu" => inline::nu_starts_up(&self.argv),
            _ => {
                (inline::has_mode(&self.argv, self.flags(), "--login", 'l') && !legacy)
                    || (!self.is_legacy_login()
                        && inline::has_mode(&self.argv, self.flags(), "--interactive", 'i'))
            }
        }
    }

    /// Whether words that are not blank stand behind the text.
    fn has_more(&self) -> bool {
        let at = match self.name.as_str() {
            // The rest is the text.
            "cmd" => return false,
            "powershell" | "pwsh" => match powershell::inline(&self.argv) {
                found if found.takes_rest => return false,
                found => found.at,
            },
            "nu" => inline::at_attached_to_nu(&self.argv).or_else(|| self.inline().at),
            _ => inline::find(&self.argv, inline::FLAGS).at,
        };
        let Some(at) = at else { return false };
        self.argv.get(at + 1..).unwrap_or_default().iter().any(|word| !trim(word).is_empty())
    }
}

fn is_fish_init(word: &str) -> bool {
    word.starts_with("-C") || word == "--init-command" || word.starts_with("--init-command=")
}

/// Everything behind the switch, joined.
fn in_cmd(argv: &[String]) -> Option<String> {
    let is_switch = |word: &String| matches!(trim(word).to_lowercase().as_str(), "/c" | "/k" | "-c" | "-k");
    let switch = argv.iter().position(is_switch)?;
    Some(trim(&argv.get(switch + 1..)?.join(" ")).to_owned())
}

/// Whether a word names a shell.
pub(crate) fn is_shell(word: &str) -> bool {
    let name = name_of(word);
    POSIX.binary_search(&name.as_str()).is_ok() || matches!(name.as_str(), "cmd" | "powershell" | "pwsh")
}

/// Base name in lower case, by whichever kind of slash gives the shorter one, without a Windows extension.
pub fn name_of(word: &str) -> String {
    let word = word.trim_end_matches(['/', '\\']);
    let base = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = trim(base).to_lowercase();
    let stem = [".exe", ".cmd", ".bat", ".com"].iter().find_map(|extension| name.strip_suffix(extension));
    stem.map_or(name.clone(), str::to_owned)
}

/// Without what JavaScript takes for blanks.
pub fn trim(text: &str) -> &str {
    text.trim_matches(crate::text::is_js_space)
}

/// Sorted. Shells whose options are read as those of POSIX shells.
const POSIX: &[&str] = &[
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "osh", "sh", "tcsh", "xonsh",
    "yash", "zsh",
];

/// Sorted. Those of them whose texts are taken apart.
const PARSEABLE: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "yash", "zsh"];

/// Most wrappers that are looked through.
const LEVELS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_so_that_the_search_finds_all_of_them() {
        for table in [POSIX, PARSEABLE, dispatch::BLOCKED] {
            assert!(table.windows(2).all(|pair| pair[0] < pair[1]), "{table:?}");
        }
    }

    #[test]
    fn a_text_that_only_hands_on_is_known_in_every_spelling() {
        for text in ["$0", "\"$0\" \"$@\"", " ${0} \"${@}\" ", "exec -- \"$0\" $1 $*"] {
            assert!(hands_on(text), "{text}");
        }
        for text in ["", "scan", "\"$@\"", "$0 x", "$0\n$1", "$00", "'$0'", "exec -a x $0", "$0 $0"] {
            assert!(!hands_on(text), "{text}");
        }
    }

    #[test]
    fn texts_are_taken_apart_only_for_the_options_that_the_peer_knows() {
        for (line, parsed) in [
            ("sh -c scan", true),
            ("sh -xec scan", true),
            ("sh --command scan", true),
            ("sh --commands scan", false),
            ("sh --cmdline scan", false),
            ("sh -- -c scan", false),
        ] {
            assert_eq!(parses_text(&line.split(' ').collect::<Vec<_>>()), parsed, "{line}");
        }
    }

    #[test]
    fn names_are_read_as_on_either_kind_of_system() {
        for (word, name) in
            [("/bin/SH", "sh"), ("c:\\x\\cmd.exe", "cmd"), ("pwsh.EXE", "pwsh"), ("sh/", "sh")]
        {
            assert_eq!(name_of(word), name);
        }
        assert!(is_opaque_shell("/bin/csh") && !is_opaque_shell("bash") && !is_opaque_shell("cmd"));
    }
}
