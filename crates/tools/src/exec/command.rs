//! What a call of `exec` says: the argument list that will run, and all around it.

use super::Settings;
use crate::parameters::Parameters;
use crate::runs::Patience;
use crate::tool::{Call, ToolError};
use countersign_commands::analysis;
use countersign_protocol::socket::ExecRequest;
use countersign_routing::route;
use serde_json::{Value, json};
use std::time::Duration;

/// A call of `exec`, checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Order {
    pub(super) text: String,
    pub(super) exec: ExecRequest,
    /// Whether `process` can type in its terminal: what nobody waits for may be written to.
    pub(super) types: bool,
    pub(super) tool: route::Tool,
    pub(super) patience: Patience,
}

impl Order {
    /// Reads the parameters of a call.
    pub(super) fn read(call: &Call, settings: &Settings) -> Result<Self, ToolError> {
        let from = Parameters::new(super::NAME, &call.params, KNOWN)?;
        let text = from.needed_text("command")?;
        if text.len() > MAX_COMMAND || text.contains('\0') {
            let problem = format!("command: expected at most {MAX_COMMAND} bytes without NUL");
            return Err(from.bad(problem));
        }
        let cwd = match (from.text("workdir")?, from.text("cwd")?) {
            (Some(one), Some(other)) if one != other => {
                return Err(from.bad("workdir and cwd: expected one of them, got two folders".to_owned()));
            }
            (one, other) => one.or(other).filter(|cwd| !cwd.trim().is_empty()),
        };
        let cwd = call.workspace.join(cwd.unwrap_or_default());
        let Some(cwd) = cwd.to_str().map(|cwd| cwd.trim_end_matches('/')) else {
            return Err(from.bad("workdir: expected a path in UTF-8".to_owned()));
        };
        if from.flag("elevated")? == Some(true) {
            let problem =
                "elevated: a call cannot leave its sandbox by itself; a person can let its session do so";
            return Err(from.bad(problem.to_owned()));
        }
        let timeout = match from.count("timeout")? {
            None => settings.timeout,
            Some(seconds @ 1..=MAX_TIMEOUT) => Duration::from_secs(seconds),
            Some(other) => {
                return Err(from.bad(format!("timeout: expected 1 to {MAX_TIMEOUT} seconds, got {other}")));
            }
        };
        let wait = from.count("yieldMs")?.map_or(settings.patience, Duration::from_millis);
        let wait = wait.clamp(SHORTEST_WAIT, LONGEST_WAIT);
        let wait = if from.flag("background")? == Some(true) { Duration::ZERO } else { wait };
        let pty = from.flag("pty")?.filter(|wanted| *wanted);
        let node = from.text("node")?.map(str::trim).filter(|node| !node.is_empty());
        Ok(Self {
            text: text.to_owned(),
            exec: ExecRequest {
                command: argv(text),
                cwd: Some(if cwd.is_empty() { "/".to_owned() } else { cwd.to_owned() }),
                env: from.texts("env")?,
                timeout_ms: i64::try_from(timeout.as_millis()).ok(),
                pty,
                agent_id: Some(call.caller.agent.clone().into()),
                session_key: call.caller.session.clone().map(Into::into),
                approval_timeout_ms: call
                    .caller
                    .approval_wait
                    .and_then(|wait| u64::try_from(wait.as_millis()).ok()),
                ..ExecRequest::default()
            },
            types: pty.is_some() && wait.is_zero(),
            tool: route::Tool {
                host: from.word("host")?,
                node: node.map(str::to_owned),
                security: from.word("security")?,
                ask: from.word("ask")?,
            },
            patience: Patience::Started(wait),
        })
    }
}

/// The argument list that a text stands for: its words where it is one plain command, and the shell's
/// otherwise. Whatever comes out is what is analysed, shown and run.
fn argv(text: &str) -> Vec<String> {
    let list = analysis::analyze_text(text).as_list();
    list.unwrap_or_else(|| vec![SHELL.to_owned(), "-c".to_owned(), text.to_owned()])
}

/// What agents are told of the parameters.
pub(super) fn schema() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let count = |about: &str| json!({"type": "integer", "description": about});
    let one_of = |words: &[&str], about: &str| json!({"type": "string", "enum": words, "description": about});
    let hardens = "Can only be stricter than what is set";
    json!({
        "type": "object",
        "properties": {
            "command": text("Shell command to run"),
            "workdir": text("Folder to run it in, absolute or below the workspace; the workspace if absent"),
            "env": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Environment variables",
            },
            "yieldMs": count("Milliseconds before the command goes on in the background, 10 to 120000"),
            "background": {
                "type": "boolean",
                "description": "Let it go on in the background as soon as it has started",
            },
            "timeout": count("Seconds after which the command is ended"),
            "pty": {
                "type": "boolean",
                "description": "Run it in a terminal of its own: for programs that print otherwise without one. With background, process can write to it; nobody types in it otherwise",
            },
            "host": one_of(&["auto", "sandbox", "gateway", "node"], "Where to run it, if that is left open"),
            "security": one_of(&["deny", "allowlist", "full"], hardens),
            "ask": one_of(&["off", "on-miss", "always"], hardens),
            "node": text("Id or name of the node, for host=node"),
        },
        "required": ["command"],
    })
}

/// Everything that is understood. `cwd` is how others call `workdir`; `elevated` is refused by name.
const KNOWN: &[&str] = &[
    "command",
    "workdir",
    "cwd",
    "env",
    "yieldMs",
    "background",
    "timeout",
    "pty",
    "host",
    "security",
    "ask",
    "node",
    "elevated",
];

/// What reads a text that is more than one plain command.
const SHELL: &str = "/bin/sh";

/// Bytes of a command: Linux passes no longer argument to the shell.
const MAX_COMMAND: usize = 131_071;

/// Longest time limit, in seconds: a day.
const MAX_TIMEOUT: u64 = 24 * 60 * 60;

/// Bounds of the wait before a command goes on in the background (docs/protocol/tools.md, "Time limits").
const SHORTEST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use countersign_protocol::vocabulary::{Ask, ExecTarget, Security};
    use pretty_assertions::assert_eq;

    fn read(params: Value) -> Result<Order, String> {
        let mut call = testing::call("exec", "1");
        call.params = crate::object("exec", Some(params)).unwrap();
        Order::read(&call, &Settings::default()).map_err(|error| error.to_string())
    }

    fn check(text: &str, expected: &[&str]) {
        let order = read(json!({"command": text})).unwrap();
        assert_eq!(order.exec.command, expected, "{text}");
        assert_eq!(order.text, text);
    }

    #[test]
    fn one_plain_command_runs_as_its_words() {
        check("ls -la", &["ls", "-la"]);
        check("  git commit -m 'two words'  ", &["git", "commit", "-m", "two words"]);
        check("/usr/bin/env", &["/usr/bin/env"]);
        check("printf '%s' \"a b\"", &["printf", "%s", "a b"]);
    }

    #[test]
    fn whatever_needs_a_shell_goes_to_it_unchanged() {
        for text in [
            "ls | wc -l",
            "ls && pwd",
            "ls; pwd",
            "sleep 1 &",
            "echo $HOME",
            "echo ~",
            "ls *",
            "echo {a,b}",
            "echo $(id)",
            "A=1 env",
            "ls > out",
            "! true",
            "cd /tmp",
            "exit 3",
            "source x",
            "exec ls",
            "if true; then ls; fi",
            "'' x",
            "' ls'",
            "echo \"unfinished",
            "# nothing",
        ] {
            check(text, &["/bin/sh", "-c", text]);
        }
    }

    #[test]
    fn what_is_said_around_a_command_is_handed_on() {
        let order = read(json!({
            "command": "ls", "workdir": "sub/", "env": {"A": "1"}, "timeout": 5, "host": "node",
            "node": " box ", "security": "deny", "ask": "always", "yieldMs": 200, "elevated": false, "pty": true,
        }))
        .unwrap();
        let tool = route::Tool {
            host: Some(ExecTarget::Node),
            node: Some("box".to_owned()),
            security: Some(Security::Deny),
            ask: Some(Ask::Always),
        };
        assert_eq!((order.tool, order.patience), (tool, Patience::Started(Duration::from_millis(200))));
        assert_eq!(order.exec.cwd.as_deref(), Some("/work/space/sub"));
        assert_eq!((order.exec.timeout_ms, order.exec.pty), (Some(5_000), Some(true)));
        assert_eq!(
            order.exec.env.unwrap().into_iter().collect::<Vec<_>>(),
            [("A".to_owned(), "1".to_owned())]
        );
        assert_eq!(
            (order.exec.agent_id.as_deref(), order.exec.session_key.as_deref()),
            (Some("coder"), Some("s1"))
        );
    }

    #[test]
    fn what_is_not_said_is_as_it_is_set() {
        let plain = read(json!({"command": "ls"})).unwrap();
        assert_eq!(plain.tool, route::Tool::default());
        assert_eq!(plain.exec.cwd.as_deref(), Some("/work/space"));
        assert_eq!((plain.exec.timeout_ms, plain.exec.env), (Some(1_800_000), None));
        assert_eq!(plain.patience, Patience::Started(Duration::from_secs(10)));
        let patience = |extra: Value| {
            let mut params = json!({"command": "ls"});
            params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            read(params).unwrap().patience
        };
        assert_eq!(patience(json!({"yieldMs": 1})), Patience::Started(SHORTEST_WAIT));
        assert_eq!(patience(json!({"yieldMs": 999_999_999})), Patience::Started(LONGEST_WAIT));
        assert_eq!(patience(json!({"background": true, "yieldMs": 500})), Patience::Started(Duration::ZERO));
        let types = |params: Value| read(params).unwrap().types;
        assert!(types(json!({"command": "sh", "pty": true, "background": true})));
        assert!(!types(json!({"command": "sh", "background": true})), "there is no terminal");
        assert!(!types(json!({"command": "sh", "pty": true})), "its call waits for its end");
        assert_eq!(read(json!({"command": "ls", "cwd": "/"})).unwrap().exec.cwd.as_deref(), Some("/"));
    }

    #[test]
    fn calls_that_cannot_be_meant_are_refused() {
        let elevated =
            "elevated: a call cannot leave its sandbox by itself; a person can let its session do so";
        for (params, problem) in [
            (json!({}), "command: expected a text that is not blank, got none"),
            (json!({"command": "a\0b"}), "command: expected at most 131071 bytes without NUL"),
            (
                json!({"command": "x".repeat(MAX_COMMAND + 1)}),
                "command: expected at most 131071 bytes without NUL",
            ),
            (
                json!({"command": "ls", "workdir": "a", "cwd": "b"}),
                "workdir and cwd: expected one of them, got two folders",
            ),
            (json!({"command": "ls", "elevated": true}), elevated),
            (json!({"command": "ls", "timeout": 0}), "timeout: expected 1 to 86400 seconds, got 0"),
            (
                json!({"command": "ls", "host": "moon"}),
                "host: expected one of auto, sandbox, gateway, node, got \"moon\"",
            ),
            (json!({"command": "ls", "ask": 1}), "ask: expected a text, got 1"),
        ] {
            assert_eq!(read(params.clone()).unwrap_err(), format!("exec: {problem}"), "{params}");
        }
        assert!(
            read(json!({"command": "ls", "sercurity": "deny"})).unwrap_err().ends_with("got \"sercurity\"")
        );
    }
}
