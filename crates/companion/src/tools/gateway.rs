//! The same tools over the gateway, for whoever holds its token. What such a caller says of itself is only
//! its word, its workspace too: nothing is read there unasked unless the person set it so
//! (`tools.gateway.askAbout`).

use super::{Failure, Tools, view};
use countersign_gateway::embedded::{Catalogued, Listing, ToolError};
use countersign_node::socket::server::Peer;
use countersign_peers::gateway::Tools as Served;
use countersign_protocol::question::Via;
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolFailure, ToolOutput, ToolView};
use countersign_tool_policy::schema::{Declaration, Dialect};
use countersign_tool_policy::{Config, Origin, Pipeline, Run, Step, Tool, profiles, section};
use countersign_tools::files;
use countersign_tools::tool::Entrance;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

impl Served for Tools {
    fn list(&self, caller: ToolCaller) -> BoxFuture<'_, Result<Listing, ToolError>> {
        Box::pin(async move {
            let ready = self.ready().await?;
            let (selection, listing) = self.select(&ready, &caller).await?;
            let provider = caller.provider.as_deref().filter(|provider| !provider.trim().is_empty());
            let declarations = provider.map(|provider| {
                let dialect = Dialect::of(provider, caller.model.as_deref());
                selection.declarations().map(|tool| declared(&view(tool), dialect)).collect::<Result<_, _>>()
            });
            let all: Vec<ToolView> = ready.toolbox.declarations().map(view).collect();
            Ok(Listing {
                profile: listing.steps.iter().find_map(|step| match step {
                    Step::Profile(name) => name.clone(),
                    _ => None,
                }),
                tools: selection.declarations().map(view).collect(),
                declarations: declarations.transpose()?.unwrap_or_default(),
                removed: listing.removed,
                warnings: listing.warnings,
                catalog: catalogue(&all),
            })
        })
    }

    fn call(
        &self,
        mut call: ToolCall,
        gone: CancellationToken,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if call.caller.workspace.is_empty() {
                if files::all().iter().any(|tool| tool.declaration().name == call.tool) {
                    let text = format!("workspace: {} needs the folder that it is kept in", call.tool);
                    return Err(Failure::new(ToolFailure::Invalid, text).into());
                }
                call.caller.workspace = self.inner.parts.home.display().to_string();
            }
            // Nobody is listening for what it reports on the way: the answer comes when it has ended.
            let (progress, _) = mpsc::channel(1);
            let peer = Peer { via: Some(Via::Tool), ..Peer::default() };
            Ok(self.called(call, &peer, Entrance::Gateway, progress, gone).await?)
        })
    }
}

impl From<Failure> for ToolError {
    fn from(Failure { failure, message }: Failure) -> Self {
        Self::Failed { failure, message }
    }
}

/// A tool as a provider wants it declared.
fn declared(tool: &ToolView, dialect: Dialect) -> Result<serde_json::Value, ToolError> {
    let ToolView { name, description, parameters } = tool;
    let declaration = Declaration { name, description, parameters: Some(parameters) };
    declaration.render(dialect).map_err(|error| {
        Failure::new(ToolFailure::Failed, format!("{name} cannot be declared: {error}")).into()
    })
}

/// All tools, with the profiles that let each through by themselves.
fn catalogue(all: &[ToolView]) -> Vec<Catalogued> {
    let kept: Vec<(&str, Vec<usize>)> =
        profiles().map(|profile| (profile, kept_by(profile, all).unwrap_or_default())).collect();
    let entry = |(at, tool): (usize, &ToolView)| Catalogued {
        name: tool.name.clone(),
        description: tool.description.clone(),
        section: section(&tool.name).unwrap_or("other").to_owned(),
        profiles: kept
            .iter()
            .filter(|(_, kept)| kept.contains(&at))
            .map(|(name, _)| (*name).to_owned())
            .collect(),
    };
    all.iter().enumerate().map(entry).collect()
}

/// Which of the tools a profile alone leaves, where nothing else takes any.
fn kept_by(profile: &str, all: &[ToolView]) -> Option<Vec<usize>> {
    let document = json!({ "tools": { "profile": profile } });
    let config = Config::read(document.as_object()?).ok()?;
    // Of OpenAI's models nothing is kept for their provider alone.
    let run = Run { provider: Some("openai"), ..Run::default() };
    let tools: Vec<_> =
        all.iter().map(|tool| Tool { name: &tool.name, owner_only: false, origin: Origin::Core }).collect();
    Some(Pipeline::new(&config, &run).ok()?.apply(&tools).ok()?.kept)
}
