//! Who calls: what the command line says, and for the rest what the client says of itself.

use countersign_protocol::tools::ToolCaller;
use rmcp::model::Implementation;

/// What the command line says of the caller.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Identity {
    /// The agent; blank or absent means the one that the client's name stands for.
    pub(crate) agent: Option<String>,
    /// The session; absent means one of its own for each client.
    pub(crate) session: Option<String>,
    /// Provider of the model.
    pub(crate) provider: Option<String>,
    /// The model.
    pub(crate) model: Option<String>,
    /// Absolute folder that file tools are kept in and commands start in.
    pub(crate) workspace: String,
    /// Session of the pet channel that the turn comes from.
    pub(crate) pet_session: Option<String>,
}

impl Identity {
    /// A caller who names itself `client`, in `session` unless the command line names another.
    pub(super) fn caller(&self, client: Option<&Implementation>, session: &str) -> ToolCaller {
        let given_id = |name: String| countersign_agents::id_of(&name).to_owned();
        let agent = given(self.agent.as_deref()).map(given_id).unwrap_or_else(|| {
            let normalised = normalised(client.map_or("", |client| &client.name));
            match countersign_agents::by_name(&normalised) {
                // It has another name at its hook: rules are for both.
                Some(known) => known.name.to_owned(),
                None if normalised.is_empty() => UNNAMED.to_owned(),
                None => normalised,
            }
        });
        ToolCaller {
            sub_agent: None,
            agent,
            session: Some(given(self.session.as_deref()).unwrap_or_else(|| session.to_owned())),
            client: client.and_then(described),
            provider: given(self.provider.as_deref()),
            model: given(self.model.as_deref()),
            workspace: self.workspace.clone(),
            pet_session: given(self.pet_session.as_deref()),
            call: None,
            hook: None,
        }
    }
}

fn given(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A client's name as that of an agent: lower case, and a dash for whatever the peers do not take in a name.
/// So no client can call itself `*`, which stands for all agents.
fn normalised(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() || c == '_' {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= MOST_NAME {
            break;
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// `claude-code 2.1`.
fn described(client: &Implementation) -> Option<String> {
    let words = [client.name.trim(), client.version.trim()];
    let words: Vec<String> = words
        .iter()
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().take(MOST_NAME).collect())
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The agent of a client without a name.
const UNNAMED: &str = "mcp";

/// Longest name that is taken from a client, in characters, as the peers' agents have.
const MOST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn t04_a_clients_name_becomes_an_agents_and_never_all_of_them() {
        for (name, agent) in [
            ("claude-code", "claude-code"),
            ("Visual Studio Code", "vscode"),
            ("Some Editor", "some-editor"),
            ("codex-mcp-client", "codex"),
            ("gemini-cli-mcp-client", "gemini"),
            ("  --Odd//Näme! ", "odd-n-me"),
            ("*", "mcp"),
            ("\u{202e}\n", "mcp"),
            ("", "mcp"),
            (&"x".repeat(1_000), &"x".repeat(MOST_NAME)),
        ] {
            let caller = Identity::default().caller(Some(&Implementation::new(name, "1")), "s");
            assert_eq!(caller.agent, agent, "{name:?}");
        }
        assert_eq!(Identity::default().caller(None, "s").agent, "mcp");
    }

    #[test]
    fn the_command_line_wins_over_what_the_client_says() {
        let identity = Identity {
            agent: Some("reviewer".to_owned()),
            session: Some("night shift".to_owned()),
            provider: Some(" anthropic ".to_owned()),
            model: Some(String::new()),
            workspace: "/w".to_owned(),
            pet_session: None,
        };
        let expected = ToolCaller {
            sub_agent: None,
            agent: "reviewer".to_owned(),
            session: Some("night shift".to_owned()),
            client: Some("claude-code 2.1".to_owned()),
            provider: Some("anthropic".to_owned()),
            model: None,
            workspace: "/w".to_owned(),
            pet_session: None,
            call: None,
            hook: None,
        };
        assert_eq!(identity.caller(Some(&Implementation::new("claude-code", "2.1")), "s"), expected);
    }

    #[test]
    fn a_program_is_told_by_name_and_version_as_far_as_it_has_them() {
        let long = "v".repeat(1_000);
        for (name, version, expected) in [
            ("a", "", Some("a")),
            ("", "2", Some("2")),
            (" ", "", None),
            ("a", long.as_str(), Some(&*format!("a {}", "v".repeat(MOST_NAME)))),
        ] {
            assert_eq!(described(&Implementation::new(name, version)).as_deref(), expected, "{name:?}");
        }
    }
}
