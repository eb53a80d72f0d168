//! The command that an agent runs instead of the one that was asked about, so that a box holds it.

use super::input::Called;
use super::{Cause, Verdict};
use countersign_policy::display::shell_quoted;
use countersign_protocol::tools::ToolCaller;
use serde_json::{Map, Value};

/// What the agent is told: its own parameters, with this program in front of the command.
pub(super) fn verdict(called: &Called, caller: &ToolCaller, stays: &str, argv: &[String]) -> Verdict {
    let program = std::env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
    match (program, called.params.get(COMMAND)) {
        (Some(program), Some(Value::String(_))) => {
            Verdict::AllowWith(with_command(&called.params, command(&program, caller, stays, argv)))
        }
        // The app does not say so for any other call.
        _ => Verdict::deny(
            Cause::Failed,
            "the Countersign app told it to run in a box, and there is no command",
        ),
    }
}

fn with_command(params: &Map<String, Value>, command: String) -> Map<String, Value> {
    let mut params = params.clone();
    params.insert(COMMAND.to_owned(), command.into());
    params
}

fn command(program: &str, caller: &ToolCaller, stays: &str, argv: &[String]) -> String {
    let mut words = vec![program.to_owned(), "exec".to_owned(), "--box".to_owned()];
    words.extend(["--agent".to_owned(), caller.agent.clone()]);
    words.extend(caller.session.iter().flat_map(|session| ["--session".to_owned(), session.clone()]));
    words.push("--".to_owned());
    words.extend_from_slice(argv);
    format!("{stays}{}", shell_quoted(&words))
}

/// What agents call the parameter with the text for their shell.
const COMMAND: &str = "command";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_command_is_quoted_whole_behind_what_stays() {
        let caller = ToolCaller {
            agent: "claude-code".to_owned(),
            session: Some("s 1".to_owned()),
            ..ToolCaller::default()
        };
        let argv = ["bash", "-c", "echo 'a b' > \"$HOME/x\"\nls"].map(str::to_owned);
        let written = command("/opt/countersign", &caller, "cd sub && ", &argv);
        let expected = "cd sub && /opt/countersign exec --box --agent claude-code --session 's 1' -- bash -c \
                        'echo '\\''a b'\\'' > \"$HOME/x\"\nls'";
        assert_eq!(written, expected);
    }
}
