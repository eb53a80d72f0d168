//! What of ours stands in settings: the hook and the server, made from the table, and told from what
//! others put there.

use crate::json::hooks::Found;
use crate::table::{Agent, Hook, Mcp, Part};
use serde_json::{Map, Value, json};
use std::time::Duration;

impl Hook {
    /// The group of hooks that holds ours alone.
    pub(crate) fn group(&self, words: &[String], patience: Duration) -> Value {
        json!({ "matcher": "*", "hooks": [entry(self.handler, words, patience + LIMIT_MARGIN)] })
    }

    /// Whether a hook of ours is called for fewer calls than what [`Hook::group`] makes, or not waited for,
    /// as far as that can be told: whatever stands there that is never written may do either.
    pub(crate) fn is_narrowed(&self, found: &Found) -> bool {
        let takes_all = match &found.matcher {
            None | Some(Value::Null) => true,
            Some(matcher) => matcher.as_str().is_some_and(|matcher| ALL_TOOLS.contains(&matcher)),
        };
        let is_known = |name: &String| {
            let is_written = self.handler.iter().any(|(written, _)| written == name);
            is_written || WORDS_FOR_PEOPLE.contains(&name.as_str())
        };
        let members = found.handler.as_object();
        let is_plain = members.is_some_and(|members| members.keys().all(is_known));
        !takes_all || !is_plain || found.handler["type"].as_str().is_some_and(|kind| kind != "command")
    }
}

impl Mcp {
    /// The server.
    pub(crate) fn server(&self, words: &[String]) -> Value {
        entry(self.entry, words, Duration::ZERO)
    }
}

fn entry(parts: &[(&str, Part)], words: &[String], limit: Duration) -> Value {
    let (program, arguments) =
        words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    // Whole numbers, as agents have them in their examples.
    let seconds = limit.as_secs_f64().ceil() as u64;
    let members = parts.iter().map(|(name, part)| {
        let value = match part {
            Part::Arguments => json!(arguments),
            Part::Line => json!(command_line(words)),
            Part::LimitMilliseconds => json!(seconds.saturating_mul(1_000)),
            Part::LimitSeconds => json!(seconds),
            Part::Number(number) => json!(number),
            Part::Program => json!(program),
            Part::Text(text) => json!(text),
            Part::Texts(texts) => json!(texts),
            Part::True => json!(true),
            Part::Words => json!(words),
        };
        ((*name).to_owned(), value)
    });
    members.collect::<Map<_, _>>().into()
}

/// A line for a POSIX shell. Where this program cannot be started, crashes or is killed, its exit code lets
/// agents go on; 2 stops them.
fn command_line(words: &[String]) -> String {
    format!("{} || exit 2", countersign_policy::display::shell_quoted(words))
}

/// Whether a command of somebody's settings calls the hook of this agent, whichever its arguments and
/// wherever the program is.
pub(crate) fn is_our_hook(command: &str, agent: &Agent) -> bool {
    let plain = command.replace(['\'', '"', '\\'], "");
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.windows(3).any(|words| is_our_program(words[0]) && words[1..] == ["hook", agent.name])
}

/// Whether a server of somebody's settings is ours; what it starts where it is not.
pub(crate) fn our_server(server: &Value) -> Result<String, String> {
    let mut words: Vec<&str> = Vec::new();
    match &server["command"] {
        Value::Array(all) => words.extend(all.iter().filter_map(Value::as_str)),
        command => {
            words.extend(command.as_str());
            words.extend(server["args"].as_array().into_iter().flatten().filter_map(Value::as_str));
        }
    }
    match words[..] {
        [program, "mcp", ..] if is_our_program(program) => Ok(program.to_owned()),
        [program, ..] => Err(program.to_owned()),
        [] => Err("no program".to_owned()),
    }
}

/// The program that a command of ours starts, without its quotes.
pub(crate) fn program_of(command: &str) -> String {
    let Some(quoted) = command.trim_start().strip_prefix(['\'', '"']) else {
        return command.split_whitespace().next().unwrap_or_default().to_owned();
    };
    quoted.split(['\'', '"']).next().unwrap_or_default().to_owned()
}

fn is_our_program(path: &str) -> bool {
    path.rsplit('/').next().unwrap_or_default().starts_with("countersign")
}

/// How much longer than the hook the agent is told to wait: an agent that ends its hook goes on
/// without an answer.
const LIMIT_MARGIN: Duration = Duration::from_secs(30);

/// Matchers that every call matches.
const ALL_TOOLS: [&str; 3] = ["", "*", ".*"];

/// Members of a hook that nothing but what people read comes of.
const WORDS_FOR_PEOPLE: [&str; 3] = ["description", "name", "statusMessage"];
