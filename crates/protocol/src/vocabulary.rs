//! The words of the field, spelled as the peers spell them.

use serde::{Deserialize, Serialize};
use std::fmt;
use ts_rs::TS;

/// What may run at all. Ordered from permissive to strict: the stricter of two is `max`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
#[serde(rename_all = "kebab-case")]
#[ts(export, export_to = "index.ts")]
pub enum Security {
    /// Anything may run.
    Full,
    /// Only what the allowlist satisfies, or a person allows.
    Allowlist,
    /// Nothing runs.
    Deny,
}

/// When a person is asked. Ordered from permissive to strict: the stricter of two is `max`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
#[serde(rename_all = "kebab-case")]
#[ts(export, export_to = "index.ts")]
pub enum Ask {
    /// Never.
    Off,
    /// When security is allowlist and the allowlist is not satisfied.
    OnMiss,
    /// For every command.
    Always,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
#[serde(rename_all = "kebab-case")]
#[ts(export, export_to = "index.ts")]
pub enum Decision {
    /// Run it now, and never again by this answer.
    AllowOnce,
    /// Run it now and remember a rule for it.
    AllowAlways,
    /// Do not run it.
    Deny,
}

/// Where a run is meant to go.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
#[serde(rename_all = "kebab-case")]
#[ts(export, export_to = "index.ts")]
pub enum ExecTarget {
    /// A sandbox where there is one, else this machine.
    Auto,
    /// A sandbox on this machine.
    Sandbox,
    /// This machine, under its document.
    Gateway,
    /// A node of the gateway.
    Node,
}

/// Where a run goes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
#[serde(rename_all = "kebab-case")]
#[ts(export, export_to = "index.ts")]
pub enum ExecHost {
    /// A sandbox on this machine.
    Sandbox,
    /// This machine, under its document.
    Gateway,
    /// A node of the gateway.
    Node,
}

/// Security and ask in one word (docs/protocol/routing.md, "Modes").
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
#[serde(rename_all = "kebab-case")]
#[ts(export, export_to = "index.ts")]
pub enum ExecMode {
    /// Nothing runs.
    Deny,
    /// What the allowlist satisfies runs, and nobody is asked.
    Allowlist,
    /// A person is asked about what the allowlist does not satisfy.
    Ask,
    /// As `ask`; peers have a model look first.
    Auto,
    /// Everything runs.
    Full,
}

/// How far a session is lifted out of its sandbox (docs/protocol/routing.md, "Elevation").
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
#[serde(rename_all = "kebab-case")]
#[ts(export, export_to = "index.ts")]
pub enum Elevated {
    /// Not at all.
    Off,
    /// To the host, where approvals still apply.
    On,
    /// The same as `on`.
    Ask,
    /// To the host, without asking where the host's own document does not want it.
    Full,
}

macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $type {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The exact spelling on the wire and in documents.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value spelled exactly `word` (case-sensitive, not trimmed), or `None`.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
        }

        impl std::str::FromStr for $type {
            type Err = UnknownWord;
            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::from_word(word).ok_or_else(|| UnknownWord {
                    got: word.to_owned(),
                    expected: &[$($word),+],
                })
            }
        }
    };
}

words!(Security { Full = "full", Allowlist = "allowlist", Deny = "deny" });
words!(Ask { Off = "off", OnMiss = "on-miss", Always = "always" });
words!(Decision { AllowOnce = "allow-once", AllowAlways = "allow-always", Deny = "deny" });
words!(ExecTarget { Auto = "auto", Sandbox = "sandbox", Gateway = "gateway", Node = "node" });
words!(ExecHost { Sandbox = "sandbox", Gateway = "gateway", Node = "node" });
words!(ExecMode { Deny = "deny", Allowlist = "allowlist", Ask = "ask", Auto = "auto", Full = "full" });
words!(Elevated { Off = "off", On = "on", Ask = "ask", Full = "full" });

impl From<ExecHost> for ExecTarget {
    fn from(host: ExecHost) -> Self {
        match host {
            ExecHost::Sandbox => Self::Sandbox,
            ExecHost::Gateway => Self::Gateway,
            ExecHost::Node => Self::Node,
        }
    }
}

impl ExecMode {
    /// What it stands for. No model answers for a person here, so `auto` asks like `ask`.
    pub const fn policy(self) -> (Security, Ask) {
        match self {
            Self::Deny => (Security::Deny, Ask::Off),
            Self::Allowlist => (Security::Allowlist, Ask::Off),
            Self::Ask | Self::Auto => (Security::Allowlist, Ask::OnMiss),
            Self::Full => (Security::Full, Ask::Off),
        }
    }
}

impl Decision {
    /// Whether this answer lets the command run.
    pub const fn allows(self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowAlways => true,
            Self::Deny => false,
        }
    }
}

/// A word that is none of the expected ones.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected one of {}, got {got:?}", expected.join(", "))]
pub struct UnknownWord {
    /// What came.
    pub got: String,
    /// What would have been understood.
    pub expected: &'static [&'static str],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_nothing_else_parses() {
        for security in Security::ALL {
            assert_eq!(Security::from_word(security.as_str()), Some(*security));
            assert_eq!(serde_json::to_value(security).unwrap(), security.as_str());
        }
        for ask in Ask::ALL {
            assert_eq!(serde_json::to_value(ask).unwrap(), ask.as_str());
        }
        for decision in Decision::ALL {
            assert_eq!(serde_json::to_value(decision).unwrap(), decision.as_str());
        }
        for target in ExecTarget::ALL {
            assert_eq!(serde_json::to_value(target).unwrap(), target.as_str());
        }
        for host in ExecHost::ALL {
            assert_eq!(ExecTarget::from(*host).as_str(), host.as_str());
        }
        for mode in ExecMode::ALL {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
        for level in Elevated::ALL {
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
        assert_eq!(Ask::from_word("ON-MISS"), None);
        assert_eq!(Security::from_word(" full "), None);
        assert_eq!(
            "bogus".parse::<Ask>().unwrap_err().to_string(),
            "expected one of off, on-miss, always, got \"bogus\""
        );
    }
}
