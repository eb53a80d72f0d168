//! `countersign session`: what sessions say about where their commands run.

use super::output::Output;
use super::{AgentArg, Exit, confirmed};
use clap::Subcommand;
use countersign_companion::control::ControlError;
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::route::RouteField;
use countersign_protocol::ui::{RouteLasting, SessionView};
use serde::Serialize;

// Subcommands of `session`.
#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SessionCommand {
    /// List sessions with settings of their own.
    List,
    /// Say something to a session, such as "/exec host=sandbox" or "/elevated off"; prints the reply.
    Say {
        #[command(flatten)]
        agent: AgentArg,
        /// The session.
        session: String,
        /// The message; several words are joined by blanks.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        text: Vec<String>,
    },
    /// Forget what was said for a session.
    Clear {
        #[command(flatten)]
        agent: AgentArg,
        /// The session.
        session: String,
    },
}

/// What `session list --json` prints.
#[derive(Serialize)]
struct ListReport<'a> {
    sessions: &'a [SessionView],
}

/// What `session say --json` prints.
#[derive(Serialize)]
struct SaidReport<'a> {
    reply: Option<&'a str>,
    cleaned: &'a str,
    applied: bool,
}

/// What `session clear --json` prints.
#[derive(Serialize)]
struct ClearedReport {
    applied: bool,
    found: bool,
}

pub(super) async fn session(paths: &Paths, command: SessionCommand, output: &Output) -> anyhow::Result<Exit> {
    let request = match command {
        SessionCommand::List => ControlRequest::Sessions,
        SessionCommand::Say { agent, session, text } => {
            ControlRequest::Say { agent: agent.agent, session, text: text.join(" ") }
        }
        SessionCommand::Clear { agent, session } => {
            ControlRequest::ClearSession { agent: agent.agent, session }
        }
    };
    match confirmed(paths, &request, output).await {
        Ok(ControlResponse::Sessions { sessions }) => list(&sessions, output),
        Ok(ControlResponse::Said { reply, cleaned, applied }) => {
            said(reply.as_deref(), &cleaned, applied, output)
        }
        Ok(ControlResponse::SessionCleared { applied, found }) => cleared(applied, found, output),
        Ok(ControlResponse::Error { message }) => anyhow::bail!(message),
        Ok(other) => anyhow::bail!("expected an answer about sessions, got {other:?}"),
        Err(ControlError::NotRunning) => {
            output.failure(&anyhow::anyhow!(NO_APP));
            Ok(Exit::NoApp)
        }
        Err(error) => Err(error.into()),
    }
}

fn list(sessions: &[SessionView], output: &Output) -> anyhow::Result<Exit> {
    output.result(&ListReport { sessions }, |out| {
        if sessions.is_empty() {
            writeln!(out, "No session has settings of its own.")?;
        }
        for session in sessions {
            writeln!(out, "{}  {}", display::escape(&session.agent), display::escape(&session.session))?;
            for setting in &session.settings {
                let value = display::original(&setting.value).unwrap_or_default();
                let lasting = match setting.lasting {
                    RouteLasting::NextRun => "for its next run",
                    RouteLasting::Session => "until it is cleared",
                };
                let weight = if setting.confirmed { "confirmed" } else { "hardens only" };
                let field = field_name(setting.field);
                writeln!(out, "  {field}={}  {lasting}, {weight}", display::escape(&value))?;
            }
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}

fn said(reply: Option<&str>, cleaned: &str, applied: bool, output: &Output) -> anyhow::Result<Exit> {
    output.result(&SaidReport { reply, cleaned, applied }, |out| match reply {
        Some(reply) if applied => writeln!(out, "{}", lines(reply)),
        Some(_) => writeln!(out, "Not confirmed: nothing was changed."),
        None => writeln!(out, "The message asks for nothing."),
    })?;
    Ok(if applied { Exit::Ok } else { Exit::Denied })
}

fn cleared(applied: bool, found: bool, output: &Output) -> anyhow::Result<Exit> {
    output.result(&ClearedReport { applied, found }, |out| match (applied, found) {
        (false, _) => writeln!(out, "Not confirmed: nothing was changed."),
        (true, false) => writeln!(out, "Nothing was set."),
        (true, true) => writeln!(out, "Cleared."),
    })?;
    Ok(if applied { Exit::Ok } else { Exit::Denied })
}

/// A reply has lines of its own; everything else in it came from the message.
fn lines(reply: &str) -> String {
    reply.lines().map(display::escape).collect::<Vec<_>>().join("\n")
}

const fn field_name(field: RouteField) -> &'static str {
    match field {
        RouteField::Ask => "ask",
        RouteField::Elevated => "elevated",
        RouteField::Host => "host",
        RouteField::Node => "node",
        RouteField::Security => "security",
    }
}

const NO_APP: &str = "the Countersign app is not running, and what sessions say ends with it";
