//! What is known of a caller besides its name: where it stands below another run, the group that it speaks
//! for, and whether its commands are kept in a sandbox. The first two are in the keys that OpenClaw gives its
//! sessions, and are the caller's word like the session itself (docs/tools.md, "tools.json"). Who the owner
//! is shows nowhere.

use countersign_protocol::tools::ToolStanding;
use countersign_tool_policy::{Config, Confinement, Lists, SubAgent};

/// A session as its key tells it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Standing<'a> {
    /// Runs above it.
    depth: u32,
    /// The channel and the id of the group there.
    group: Option<(&'a str, &'a str)>,
}

impl<'a> Standing<'a> {
    /// Of `agent:ID:subagent:…` and `agent:ID:CHANNEL:group:GROUP`; other keys tell nothing.
    pub(super) fn of(session: Option<&'a str>) -> Self {
        let mut parts = session.unwrap_or_default().split(':');
        if !parts.next().is_some_and(|first| first.eq_ignore_ascii_case("agent")) || parts.next().is_none() {
            return Self::default();
        }
        let rest: Vec<&str> = parts.collect();
        let is = |part: &&str, word: &str| part.eq_ignore_ascii_case(word);
        let depth = rest.iter().filter(|part| is(part, "subagent")).count();
        let group = match rest.as_slice() {
            [channel, kind, id, ..] if (is(kind, "group") || is(kind, "channel")) && !id.is_empty() => {
                Some((*channel, *id))
            }
            _ => None,
        };
        Self { depth: u32::try_from(depth).unwrap_or(u32::MAX), group }
    }

    /// Below another run, if it is.
    pub(super) fn sub_agent(self, config: &Config) -> Option<SubAgent> {
        (self.depth > 0).then(|| SubAgent { depth: self.depth, max_depth: config.max_spawn_depth() })
    }

    /// What is set for its group.
    pub(super) fn group(self, config: &Config) -> Option<&Lists> {
        self.group.and_then(|(channel, id)| config.group(channel, id))
    }

    /// As people are told of it.
    pub(super) fn view(self, sandboxed: bool) -> ToolStanding {
        ToolStanding {
            sandboxed,
            sub_agent_depth: self.depth,
            group: self.group.map(|(channel, id)| format!("{channel} {id}")),
        }
    }
}

/// Whether it is in a sandbox, as the tool policy has it.
pub(super) const fn confinement(is_sandboxed: bool) -> Confinement {
    if is_sandboxed { Confinement::Sandbox } else { Confinement::None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, depth: u32, group: Option<(&str, &str)>) {
        assert_eq!(Standing::of(Some(key)), Standing { depth, group }, "{key}");
    }

    #[test]
    fn keys_tell_sub_agents_and_groups() {
        check("agent:main:main", 0, None);
        check("agent:main:subagent:5f", 1, None);
        check("agent:main:subagent:5f:subagent:6a", 2, None);
        check("agent:main:telegram:group:-100", 0, Some(("telegram", "-100")));
        check("Agent:main:discord:channel:7:thread:8", 0, Some(("discord", "7")));
        check("agent:main:telegram:group:", 0, None);
        check("subagent", 0, None);
        check("x:main:subagent:5f", 0, None);
        check("", 0, None);
        assert_eq!(Standing::of(None), Standing::default());
    }
}
