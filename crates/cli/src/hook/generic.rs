//! Agents and scripts without a contract of their own: one small JSON object in, one out, and this program's
//! exit codes. Only exit code 0 allows.

use super::input::{BadInput, Called, Document};
use super::{Cause, Contract, End, Event, HookAnswer, NO_OTHER_COMMAND, Reply, Verdict};
use serde_json::json;
use std::time::Duration;

/// The contract.
pub(crate) struct Generic;

impl Contract for Generic {
    fn name(&self) -> &'static str {
        "main"
    }

    fn client(&self) -> Option<&'static str> {
        None
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn is_for_any(&self) -> bool {
        true
    }

    fn event(&self, _document: &Document) -> Option<Event> {
        Some(Event::BeforeTool)
    }

    fn read(&self, document: &Document) -> Result<Called, BadInput> {
        let text = |member| Ok::<_, BadInput>(document.optional_text(member)?.map(str::to_owned));
        let params = match document.has("params") {
            true => document.object("params")?.clone(),
            false => serde_json::Map::new(),
        };
        let workspace = match document.optional_folder("cwd")? {
            Some(folder) => folder.to_owned(),
            None => current_folder()?,
        };
        Ok(Called {
            event: Event::BeforeTool,
            tool: document.text("tool")?.to_owned(),
            params,
            workspace,
            session: text("session")?,
            agent: text("agent")?,
            sub_agent: None,
            model: None,
            id: text("id")?,
            own_id: None,
            foreign: false,
        })
    }

    fn can_ask(&self, _event: Event) -> bool {
        false
    }

    fn quiet(&self) -> &'static [&'static str] {
        &[]
    }

    fn questions(&self) -> &'static [&'static str] {
        &[]
    }

    fn answer(&self, reply: &Reply<'_>) -> HookAnswer {
        let (decision, message, end) = match reply.verdict {
            Verdict::Allow => ("allow", None, End::Printed),
            Verdict::Deny(denial) => ("deny", Some(denial.message.as_str()), End::Told(denial.cause)),
            Verdict::AskThere(why) => ("deny", Some(why.as_str()), End::Told(Cause::Absent)),
            Verdict::AllowWith(_) => ("deny", Some(NO_OTHER_COMMAND), End::Told(Cause::Failed)),
            Verdict::NoOpinion => ("deny", Some(NO_TABLE), End::Told(Cause::Failed)),
        };
        let mut document = serde_json::Map::new();
        document.insert("decision".to_owned(), json!(decision));
        for (member, value) in [("message", message), ("id", reply.id)] {
            if let Some(value) = value {
                document.insert(member.to_owned(), json!(value));
            }
        }
        HookAnswer { document: Some(document.into()), reason: message.map(str::to_owned), end }
    }
}

fn current_folder() -> Result<String, BadInput> {
    let folder = std::env::current_dir()?.into_os_string().into_string();
    folder.map_err(|folder| BadInput::Member {
        member: "cwd",
        expected: "a folder whose name is UTF-8",
        got: format!("{folder:?}"),
    })
}

/// As long as a person usually has.
const PATIENCE: Duration = Duration::from_secs(120);

/// There are no tools here whose names say that they need no question.
const NO_TABLE: &str = "Countersign has no opinion about this tool, so it is denied.";
