//! What is asked over HTTP, checked: the body of a call, the query of a list, and who they say asks.

use countersign_protocol::tools::ToolCaller;
use serde_json::{Map, Value};

/// The agent of whoever names none.
const MAIN: &str = "main";

/// Longest name, key or word that a request may hold, in characters: they are shown to people.
const MAX_WORD: usize = 256;

/// Longest path, in bytes: what Linux takes.
const MAX_PATH: usize = 4_096;

/// What is wrong with a request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Wrong {
    /// No tool is named.
    #[error("tools.invoke requires name")]
    NoName,
    /// A member or parameter of another type.
    #[error("{name}: expected {expected}, got {got}")]
    Type { name: &'static str, expected: &'static str, got: &'static str },
    /// A member or parameter that is too long.
    #[error("{name}: expected at most {most}, got {got}")]
    Long { name: &'static str, most: usize, got: usize },
    /// A workspace that could be anywhere.
    #[error("workspace: expected an absolute path, got {0:?}")]
    Relative(String),
    /// A session's key that looks like an agent's and names none.
    #[error("sessionKey: expected agent:<id>:<rest>, got {0:?}")]
    Session(String),
    /// A session of another agent.
    #[error("agent id {named:?} does not match session agent {of_session:?}")]
    Agent { named: String, of_session: String },
    /// A parameter of a query that nobody knows.
    #[error("{0:?}: expected provider, model, sessionKey, agentId or workspace")]
    Unknown(String),
    /// A parameter of a query that comes again.
    #[error("{0}: expected it once")]
    Twice(&'static str),
}

/// Who asks, by their own word.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Who {
    pub(super) agent: String,
    pub(super) session: String,
    /// Layers of the tool policy are for single providers and models: they hold for a list and
    /// for a call alike.
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    /// Empty where none was named.
    workspace: String,
}

/// The same as it is written in a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Words<'a> {
    pub(super) agent: Option<&'a str>,
    pub(super) session: Option<&'a str>,
    pub(super) provider: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) workspace: Option<&'a str>,
}

impl Who {
    /// The agent is the session's where its key names one; the session is the agent's main one where none is
    /// named (2026.9.6, tools invoke API).
    pub(super) fn of(words: Words<'_>) -> Result<Self, Wrong> {
        let Words { agent, session, provider, model, workspace } = words;
        let agent = word("agentId", agent)?;
        let session = word("sessionKey", session)?.filter(|key| *key != MAIN);
        let of_session = match session {
            Some(key) if key.starts_with("agent:") => {
                Some(agent_of(key).ok_or_else(|| Wrong::Session(key.to_owned()))?)
            }
            Some(_) | None => None,
        };
        if let (Some(named), Some(of_session)) = (agent, of_session)
            && named != of_session
        {
            return Err(Wrong::Agent { named: named.to_owned(), of_session: of_session.to_owned() });
        }
        let agent = agent.or(of_session).unwrap_or(MAIN).to_owned();
        let session = session.map_or_else(|| format!("agent:{agent}:{MAIN}"), str::to_owned);
        let workspace = workspace.unwrap_or_default();
        if workspace.len() > MAX_PATH {
            return Err(Wrong::Long { name: "workspace", most: MAX_PATH, got: workspace.len() });
        }
        if !workspace.is_empty() && (!workspace.starts_with('/') || workspace.contains('\0')) {
            return Err(Wrong::Relative(workspace.to_owned()));
        }
        let provider = word("provider", provider)?.map(str::to_owned);
        let model = word("model", model)?.map(str::to_owned);
        Ok(Self { agent, session, provider, model, workspace: workspace.to_owned() })
    }

    /// Whoever asks for the query of a list.
    pub(super) fn queried(query: &str) -> Result<Self, Wrong> {
        let mut found: [Option<String>; PARAMETERS.len()] = Default::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let at = PARAMETERS.iter().position(|known| *known == name);
            let at = at.ok_or_else(|| Wrong::Unknown(name.chars().take(MAX_WORD).collect()))?;
            if found[at].replace(value.into_owned()).is_some() {
                return Err(Wrong::Twice(PARAMETERS[at]));
            }
        }
        let [provider, model, session, agent, workspace] = found.each_ref().map(Option::as_deref);
        Self::of(Words { agent, session, provider, model, workspace })
    }

    /// The same for whoever has the tools; `client` is the program, as it names itself.
    pub(super) fn caller(&self, client: Option<String>) -> ToolCaller {
        ToolCaller {
            agent: self.agent.clone(),
            sub_agent: None,
            session: Some(self.session.clone()),
            client,
            provider: self.provider.clone(),
            model: self.model.clone(),
            workspace: self.workspace.clone(),
            pet_session: None,
            call: None,
            hook: None,
        }
    }
}

/// The agent in a session's key: `agent:<id>:<rest>`.
fn agent_of(session: &str) -> Option<&str> {
    let (id, rest) = session.strip_prefix("agent:")?.split_once(':')?;
    Some(id).filter(|id| !id.is_empty() && id.trim() == *id && !rest.is_empty())
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    /// The tool is called.
    Call,
    /// It is only looked up.
    LookUp,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestedCall {
    pub(super) tool: String,
    /// Goes into the parameters of a tool that takes one.
    pub(super) action: Option<String>,
    pub(super) args: Map<String, Value>,
    pub(super) mode: Mode,
    pub(super) who: Who,
}

impl RequestedCall {
    /// Members that are not known are ignored, as the peers do; known ones of a wrong type are not.
    pub(super) fn of(mut body: Map<String, Value>) -> Result<Self, Wrong> {
        let args = body.remove("args");
        let body = &body;
        let name = word("name", string(body, "name")?)?;
        let tool = match name {
            Some(name) => name,
            None => word("tool", string(body, "tool")?)?.ok_or(Wrong::NoName)?,
        };
        let args = match args {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(args)) => args,
            Some(other) => return Err(wrong("args", "an object", &other)),
        };
        let mode = match body.get("dryRun") {
            None | Some(Value::Null | Value::Bool(false)) => Mode::Call,
            Some(Value::Bool(true)) => Mode::LookUp,
            Some(other) => return Err(wrong("dryRun", "true or false", other)),
        };
        // Chosen by the caller: calls have ids of ours. It only has to make sense.
        word("idempotencyKey", string(body, "idempotencyKey")?)?;
        let who = Who::of(Words {
            agent: string(body, "agentId")?,
            session: string(body, "sessionKey")?,
            provider: string(body, "provider")?,
            model: string(body, "model")?,
            workspace: string(body, "workspace")?,
        })?;
        let action = word("action", string(body, "action")?)?.map(str::to_owned);
        Ok(Self { tool: tool.to_owned(), action, args, mode, who })
    }
}

const PARAMETERS: [&str; 5] = ["provider", "model", "sessionKey", "agentId", "workspace"];

/// A member that is a text, if it is there.
fn string<'a>(body: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, Wrong> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(name, "a string", other)),
    }
}

/// Without blanks around it, if anything is left.
fn word<'a>(name: &'static str, text: Option<&'a str>) -> Result<Option<&'a str>, Wrong> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let got = text.chars().count();
    if got > MAX_WORD {
        return Err(Wrong::Long { name, most: MAX_WORD, got });
    }
    Ok(Some(text))
}

pub(super) fn wrong(name: &'static str, expected: &'static str, got: &Value) -> Wrong {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Wrong::Type { name, expected, got }
}
