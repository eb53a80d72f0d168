//! What a person has to know beside a change of settings, and what keeps hooks from being called: values that
//! every door says in its own words. What they are in English is here.

use crate::table::{Caution, Off};
use std::fmt;
use std::path::PathBuf;

/// Something to know of a hook that is put in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Note {
    /// How the agent treats hooks.
    Caution {
        /// Its title.
        agent: &'static str,
        /// How.
        caution: Caution,
    },
    /// Hooks stand in another file of it too.
    HooksTwice {
        /// Its title.
        agent: &'static str,
    },
    /// The settings are for others as well, who need this program.
    OnPath,
    /// Its hooks are not called at the moment.
    SwitchedOff(SwitchedOff),
}

/// A setting that keeps hooks from being called.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SwitchedOff {
    /// The agent's title.
    pub agent: &'static str,
    /// The setting.
    pub setting: String,
    /// Where it is.
    pub path: PathBuf,
    /// The only project in which they are not called; everywhere where absent.
    pub within: Option<PathBuf>,
    pub(crate) off: Off,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caution { agent, caution: Caution::TrustFirst } => write!(
                f,
                "{agent} calls it only after you have reviewed and trusted it: type /hooks in {agent}. Until then, and after every \
                 change, it goes on without asking here."
            ),
            Self::Caution { agent, caution: Caution::TrustedFolders } => {
                write!(f, "{agent} calls no hook in a folder that it does not trust.")
            }
            Self::HooksTwice { agent } => {
                write!(f, "config.toml has hooks too: {agent} takes both, and warns about it at every start.")
            }
            Self::OnPath => f.write_str(
                "Everybody who uses this project needs `countersign` on their PATH: without it every call is denied.",
            ),
            Self::SwitchedOff(off) => off.fmt(f),
        }
    }
}

impl fmt::Display for SwitchedOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, setting, path, within, off } = self;
        write!(f, "{agent} does not ask")?;
        if let Some(within) = within {
            write!(f, " in {}", within.display())?;
        }
        write!(f, ": {} says so ({setting} ", path.display())?;
        match off {
            Off::Is(value) => write!(f, "is {value})"),
            Off::Names(name) => write!(f, "has {name:?})"),
            Off::Locks(_) | Off::Yes => f.write_str("is set)"),
        }
    }
}
