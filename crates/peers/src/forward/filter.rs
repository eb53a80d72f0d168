//! Which requests are handed on (docs/forwarder.md, "What is handed on").

use regex::{Regex, RegexBuilder};

/// What a request must be about.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    agents: Vec<String>,
    sessions: Vec<Pattern>,
}

/// Part of a session's key, or else a regular expression. One that is none matches only as a part.
#[derive(Clone, Debug)]
struct Pattern {
    part: String,
    regex: Option<Regex>,
}

impl Filter {
    /// Empty lists let everything through.
    pub(super) fn new(agents: &[String], sessions: &[String]) -> Self {
        let sessions = sessions.iter().map(|part| Pattern {
            part: part.clone(),
            regex: RegexBuilder::new(part).size_limit(MAX_REGEX).dfa_size_limit(MAX_REGEX).build().ok(),
        });
        Self { agents: agents.to_vec(), sessions: sessions.collect() }
    }

    /// Whether a request of this agent and session is let through.
    pub(super) fn matches(&self, agent: Option<&str>, session: Option<&str>) -> bool {
        let filled = |text: &&str| !text.trim().is_empty();
        let session = session.filter(filled);
        let agent = agent.filter(filled).or_else(|| session.and_then(agent_of));
        let is_wanted_agent = self.agents.is_empty()
            || agent.is_some_and(|agent| self.agents.iter().any(|wanted| wanted == agent.trim()));
        let is_wanted_session = self.sessions.is_empty()
            || session.is_some_and(|key| self.sessions.iter().any(|pattern| pattern.matches(key)));
        is_wanted_agent && is_wanted_session
    }
}

impl Pattern {
    fn matches(&self, key: &str) -> bool {
        key.contains(&self.part) || self.regex.as_ref().is_some_and(|regex| regex.is_match(key))
    }
}

/// The agent in a session's key: `agent:<id>:…`.
pub(super) fn agent_of(session: &str) -> Option<&str> {
    let (id, _) = session.trim().strip_prefix("agent:")?.split_once(':')?;
    Some(id.trim()).filter(|id| !id.is_empty())
}

/// Bytes that a compiled expression may take, and its cache: the engine is linear in the text, so this
/// bounds the time too.
const MAX_REGEX: usize = 256 * 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_and_sessions_are_matched_as_the_peers_do() {
        let check = |agents: &[&str], sessions: &[&str], agent: &str, session: &str, expected: bool| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let filter = Filter::new(&owned(agents), &owned(sessions));
            let matched = filter.matches(Some(agent), Some(session));
            assert_eq!(matched, expected, "{agents:?} {sessions:?} on {agent:?} {session:?}");
        };
        // Nothing is asked for.
        check(&[], &[], "", "", true);
        check(&[], &[], "coder", "agent:coder:main", true);
        // The agent is named, or the session's key names it, or nobody does.
        check(&["coder"], &[], "coder", "", true);
        check(&["main", "coder"], &[], "coder", "", true);
        check(&["coder"], &[], "cod", "", false);
        check(&["coder"], &[], "Coder", "", false);
        check(&["coder"], &[], "", "agent:coder:telegram:dm:1", true);
        check(&["coder"], &[], "other", "agent:coder:main", false);
        check(&["coder"], &[], "", "agent:coder", false);
        check(&["coder"], &[], "", "subagent:coder:1", false);
        check(&["coder"], &[], "", "", false);
        // A part, else an expression, else nothing.
        check(&[], &["telegram"], "", "agent:main:telegram:1", true);
        check(&[], &["discord", "telegram"], "", "agent:main:telegram:1", true);
        check(&[], &["telegram"], "", "agent:main:main", false);
        check(&[], &["telegram"], "telegram", "", false);
        check(&[], &["^agent:(main|coder):"], "", "agent:coder:main", true);
        check(&[], &["^agent:(main|coder):$"], "", "agent:coder:main", false);
        check(&[], &["(unclosed"], "", "agent:main:main", false);
        check(&[], &["(unclosed"], "", "a(unclosed", true);
        check(&[], &["main(?=x)"], "", "agent:main:mainx", false);
        // Both have to agree.
        check(&["coder"], &["main"], "coder", "agent:coder:main", true);
        check(&["coder"], &["main"], "coder", "agent:coder:other", false);
        check(&["coder"], &["main"], "other", "agent:coder:main", false);
    }

    #[test]
    fn no_expression_takes_long() {
        let sessions = ["(a+)+$".to_owned(), "(x{1000}){1000}{1000}".to_owned(), "(a|a)*b".to_owned()];
        let filter = Filter::new(&[], &sessions);
        assert!(!filter.matches(None, Some(&format!("{}!", "a".repeat(100_000)))));
    }
}
