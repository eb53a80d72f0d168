//! Choices that hold for exactly the same call as long as a connection lives. Nothing is remembered unless
//! the client says so.

use super::Choice;

/// Choices of one connection that are remembered at once: more than a person keeps in mind.
const MAX_REMEMBERED: usize = 64;

/// Bytes of their arguments together.
const MAX_BYTES: usize = 1024 * 1024;

/// A choice that is remembered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Remembered {
    /// Tells it from others of the same connection.
    pub id: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments as JSON. Only the same text is the same call: in another order they are
    /// asked about again.
    pub arguments: String,
    /// What else had to be the same, as whoever asks says it.
    pub context: String,
    /// What was said.
    pub choice: Choice,
    /// Since when, Unix milliseconds.
    pub since_ms: i64,
}

/// A call as it is remembered.
#[derive(Debug)]
pub(super) struct RememberedCall {
    pub(super) tool: String,
    pub(super) arguments: String,
    pub(super) context: String,
}

/// What one connection remembers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    kept: Vec<Remembered>,
    last_id: u64,
}

impl Memory {
    pub(super) fn recall(&self, tool: &str, arguments: &str, context: &str) -> Option<Choice> {
        self.kept.iter().find(|kept| kept.is_about(tool, arguments, context)).map(|kept| kept.choice)
    }

    /// Remembers a choice in the place of an earlier one about the same call. False without room: then the
    /// call is asked about again.
    pub(super) fn keep(&mut self, call: RememberedCall, choice: Choice, now_ms: i64) -> bool {
        let RememberedCall { tool, arguments, context } = call;
        self.kept.retain(|kept| !kept.is_about(&tool, &arguments, &context));
        let bytes: usize = self.kept.iter().map(|kept| kept.arguments.len() + kept.context.len()).sum();
        if self.kept.len() >= MAX_REMEMBERED || bytes + arguments.len() + context.len() > MAX_BYTES {
            return false;
        }
        self.last_id += 1;
        self.kept.push(Remembered { id: self.last_id, tool, arguments, context, choice, since_ms: now_ms });
        true
    }

    /// False when there is no such one.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        let before = self.kept.len();
        self.kept.retain(|kept| kept.id != id);
        self.kept.len() < before
    }

    /// Oldest first.
    pub(super) fn all(&self) -> &[Remembered] {
        &self.kept
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }
}

impl Remembered {
    fn is_about(&self, tool: &str, arguments: &str, context: &str) -> bool {
        self.tool == tool && self.arguments == arguments && self.context == context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(memory: &mut Memory, arguments: &str, choice: Choice) -> bool {
        let call = RememberedCall {
            tool: "exec".to_owned(),
            arguments: arguments.to_owned(),
            context: "c".to_owned(),
        };
        memory.keep(call, choice, 0)
    }

    #[test]
    fn t05_only_exactly_the_same_call_is_remembered() {
        let mut memory = Memory::default();
        assert!(keep(&mut memory, r#"{"command":"ls"}"#, Choice::Approve));
        let check = |tool: &str, arguments: &str, expected: Option<Choice>| {
            assert_eq!(memory.recall(tool, arguments, "c"), expected, "{tool} {arguments}");
        };
        check("exec", r#"{"command":"ls"}"#, Some(Choice::Approve));
        for arguments in
            [r#"{"command":"ls "}"#, r#"{"command":"LS"}"#, r#"{"command":"ls","cwd":"/"}"#, "null", ""]
        {
            check("exec", arguments, None);
        }
        for tool in ["spawn", "Exec", "exec ", ""] {
            check(tool, r#"{"command":"ls"}"#, None);
        }
        for context in ["", "C", "c "] {
            assert_eq!(memory.recall("exec", r#"{"command":"ls"}"#, context), None, "{context:?}");
        }
    }

    #[test]
    fn the_last_choice_about_a_call_holds_until_it_is_forgotten() {
        let mut memory = Memory::default();
        assert!(keep(&mut memory, "1", Choice::Approve));
        assert!(keep(&mut memory, "2", Choice::Approve));
        assert!(keep(&mut memory, "1", Choice::Deny));
        let ids: Vec<_> = memory.all().iter().map(|kept| (kept.id, kept.arguments.as_str())).collect();
        assert_eq!(ids, [(2, "2"), (3, "1")]);
        assert_eq!(memory.recall("exec", "1", "c"), Some(Choice::Deny));
        assert!(memory.forget(3) && !memory.forget(3) && !memory.forget(1));
        assert_eq!(memory.recall("exec", "1", "c"), None);
        memory.clear();
        assert_eq!(memory.recall("exec", "2", "c"), None);
    }

    #[test]
    fn without_room_nothing_more_is_remembered() {
        let mut memory = Memory::default();
        for n in 0..MAX_REMEMBERED {
            assert!(keep(&mut memory, &n.to_string(), Choice::Approve));
        }
        assert!(!keep(&mut memory, "one more", Choice::Approve));
        assert!(keep(&mut memory, "0", Choice::Deny), "in the place of another there is room");
        let mut memory = Memory::default();
        assert!(keep(&mut memory, &"x".repeat(MAX_BYTES - 3), Choice::Approve));
        assert!(keep(&mut memory, "1", Choice::Approve));
        assert!(!keep(&mut memory, "2", Choice::Approve));
    }
}
