//! How far command texts are understood: exactly as far as the newest peer, or further where
//! that is harmless.

use crate::shell;

/// Which texts can be taken apart. What is beyond it is opaque, for the reason that the peer gives.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Profile {
    /// What the newest peer understands, and nothing else: for comparing verdicts.
    Reference,
    /// The same and these extensions, each of which can neither run, read nor write anything that the words
    /// of the command do not name.
    Attentive(Extensions),
}

impl Profile {
    /// The product's own: attentive with every extension.
    pub const ATTENTIVE: Self = Self::Attentive(Extensions::ALL);

    /// Whether a text may use `extension`.
    pub const fn understands(self, extension: Extension) -> bool {
        match self {
            Self::Reference => false,
            Self::Attentive(enabled) => enabled.contains(extension),
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::ATTENTIVE
    }
}

/// One step beyond the newest peer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Extension {
    /// `echo` and `printf` with literal words, printed by the shell itself.
    LiteralOutput,
    /// `LANG=C` and other words for people in front of a command.
    PlainAssignments,
    /// `find … -exec` with programs that only read what is found.
    FindReaders,
    /// `umask`, `ulimit -a`, `command -v make`: what a shell answers by itself.
    ShellAnswers,
    /// A form of text.
    Text(shell::Extension),
}

impl Extension {
    /// Every one of them.
    pub const ALL: [Self; 17] = [
        Self::LiteralOutput,
        Self::PlainAssignments,
        Self::FindReaders,
        Self::ShellAnswers,
        Self::Text(shell::Extension::StreamDuplicate),
        Self::Text(shell::Extension::NullDevice),
        Self::Text(shell::Extension::LineContinuation),
        Self::Text(shell::Extension::ExitStatus),
        Self::Text(shell::Extension::LiteralSubstitution),
        Self::Text(shell::Extension::Group),
        Self::Text(shell::Extension::PathNames),
        Self::Text(shell::Extension::Comments),
        Self::Text(shell::Extension::KnownVariable),
        Self::Text(shell::Extension::DoubleBracket),
        Self::Text(shell::Extension::InputFile),
        Self::Text(shell::Extension::Conditional),
        Self::Text(shell::Extension::Loop),
    ];

    /// The word for settings, such as `null-device`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LiteralOutput => "literal-output",
            Self::PlainAssignments => "plain-assignments",
            Self::FindReaders => "find-readers",
            Self::ShellAnswers => "shell-answers",
            Self::Text(extension) => extension.as_str(),
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|extension| extension.as_str() == name)
    }

    const fn bit(self) -> u32 {
        match self {
            Self::LiteralOutput => 1,
            Self::PlainAssignments => 1 << 1,
            Self::FindReaders => 1 << 2,
            Self::ShellAnswers => 1 << 3,
            Self::Text(extension) => 1 << (4 + extension as u32),
        }
    }
}

/// A set of extensions.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Extensions(u32);

impl Extensions {
    /// Every extension.
    pub const ALL: Self = Self(u32::MAX);

    /// No extension.
    pub const NONE: Self = Self(0);

    /// This set and `extension`.
    #[must_use]
    pub const fn with(self, extension: Extension) -> Self {
        Self(self.0 | extension.bit())
    }

    /// This set without `extension`.
    #[must_use]
    pub const fn without(self, extension: Extension) -> Self {
        Self(self.0 & !extension.bit())
    }

    /// Whether `extension` is in it.
    pub const fn contains(self, extension: Extension) -> bool {
        self.0 & extension.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_extension_is_switched_alone() {
        let all = Extension::ALL;
        for one in all {
            assert_eq!(Extension::named(one.as_str()), Some(one));
            let only = Extensions::NONE.with(one);
            let without = Extensions::ALL.without(one);
            for other in all {
                assert_eq!(only.contains(other), one == other, "{one:?} {other:?}");
                assert_eq!(without.contains(other), one != other, "{one:?} {other:?}");
                assert_eq!(Profile::Attentive(only).understands(other), one == other);
                assert!(!Profile::Reference.understands(other));
            }
        }
    }
}
