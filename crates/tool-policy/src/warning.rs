//! What a person should know about what is set, in the peers' words where they have some
//! (docs/protocol/tools.md, "Stale lists").

use super::step::Step;
use countersign_policy::display::escape;
use std::fmt;

/// Something that is set and does not do what it looks like. Nothing depends on it being read.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// An allowlist names what is not here.
    UnknownAllowed {
        /// Whose list.
        step: Step,
        /// What it names, as it is compared.
        entries: Vec<String>,
        /// What follows.
        effect: Effect,
    },
    /// A deny list names what no tool, group or plugin is called.
    UnknownDenied {
        /// Whose list.
        step: Step,
        /// What it names, as it is compared.
        entries: Vec<String>,
    },
    /// An allowlist has only blanks in it.
    BlankAllowed {
        /// Whose list.
        step: Step,
    },
    /// The profile that is set is none.
    UnknownProfile {
        /// Where it is set.
        step: Step,
    },
    /// A member that would restrict, in the newest release, and does not here.
    Unsupported {
        /// The member.
        path: String,
    },
}

/// What follows from entries that are for no tool that is here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// All of the list is dropped.
    Dropped,
    /// They let nothing in: no plugin that is loaded has such tools.
    NotLoaded,
    /// They let nothing in: the tools are part of the product or of a release, and not here.
    NotHere,
    /// They let nothing in, some for the one reason and some for the other.
    NotLoadedOrNotHere,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAllowed { step, entries, effect } => {
                let names = Names(entries);
                let effect = match effect {
                    Effect::Dropped => {
                        "Ignoring allowlist so core tools remain available. Use tools.alsoAllow for additive plugin tool \
                         enablement."
                    }
                    Effect::NotLoaded => "These entries won't match any tool unless the plugin is enabled.",
                    Effect::NotHere => "These tools exist, but are not available here.",
                    Effect::NotLoadedOrNotHere => {
                        "Some of these tools exist, but are not available here; the other entries won't match any tool unless \
                         the plugin is enabled."
                    }
                };
                write!(f, "tools: {step} allowlist contains unknown entries ({names}). {effect}")
            }
            Self::UnknownDenied { step, entries } => {
                let names = Names(entries);
                write!(
                    f,
                    "tools: {step} deny list contains unknown entries ({names}). These entries take no tool away."
                )
            }
            Self::BlankAllowed { step } => {
                write!(f, "tools: {step} allowlist contains only blank entries. It restricts nothing.")
            }
            Self::UnknownProfile { step } => write!(
                f,
                "tools: {step} is no profile that is known. It restricts nothing; expected minimal, coding, messaging or full."
            ),
            Self::Unsupported { path } => {
                write!(f, "tools: {} is not taken into account. It restricts nothing here.", escape(path))
            }
        }
    }
}

/// Entries, the first few of them.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, others) = self.0.split_at(self.0.len().min(SHOWN_ENTRIES));
        let shown: Vec<String> = shown.iter().map(|entry| escape(entry)).collect();
        f.write_str(&shown.join(", "))?;
        if others.is_empty() { Ok(()) } else { write!(f, " and {} more", others.len()) }
    }
}

/// Entries that one warning names: what fits on a few lines.
const SHOWN_ENTRIES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn check(warning: Warning, expected: &str) {
        assert_eq!(warning.to_string(), expected);
    }

    #[test]
    fn warnings_say_what_is_set_where_and_what_it_does_not_do() {
        let entries = vec!["lobster".to_owned(), "x_*".to_owned()];
        let allowed = |step: Step, effect| Warning::UnknownAllowed { step, entries: entries.clone(), effect };
        check(
            allowed(Step::Group, Effect::Dropped),
            "tools: group tools.allow allowlist contains unknown entries (lobster, x_*). Ignoring allowlist so core tools \
             remain available. Use tools.alsoAllow for additive plugin tool enablement.",
        );
        check(
            allowed(Step::Global, Effect::NotLoaded),
            "tools: tools.global allowlist contains unknown entries (lobster, x_*). These entries won't match any tool unless \
             the plugin is enabled.",
        );
        check(
            allowed(Step::Agent("main".into()), Effect::NotHere),
            "tools: tools.agent (main) allowlist contains unknown entries (lobster, x_*). These tools exist, but are not \
             available here.",
        );
        check(
            Warning::UnknownDenied { step: Step::Global, entries },
            "tools: tools.global deny list contains unknown entries (lobster, x_*). These entries take no tool away.",
        );
        check(
            Warning::UnknownProfile { step: Step::Profile(Some("codign".into())) },
            "tools: tools.profile (codign) is no profile that is known. It restricts nothing; expected minimal, coding, \
             messaging or full.",
        );
        check(
            Warning::BlankAllowed { step: Step::GlobalProvider },
            "tools: tools.global-provider allowlist contains only blank entries. It restricts nothing.",
        );
        check(
            Warning::Unsupported { path: "tools.toolsBySender".into() },
            "tools: tools.toolsBySender is not taken into account. It restricts nothing here.",
        );
    }

    #[test]
    fn what_somebody_wrote_is_shown_without_control_characters_and_not_without_end() {
        let entries = (0..25).map(|at| format!("x{at}\n")).collect();
        let text = Warning::UnknownDenied { step: Step::Agent("a\u{202e}b".into()), entries }.to_string();
        assert!(!text.contains(char::is_control), "{text}");
        assert!(!text.contains('\u{202e}'), "{text}");
        assert!(
            text.contains("x1\\u{A}, x2")
                && text.contains("x19")
                && !text.contains("x20")
                && text.contains(" and 5 more"),
            "{text}"
        );
    }
}
