//! Which tools a caller gets, for the page about policy.

use super::{Desk, error};
use crate::tools::Listing;
use countersign_policy::display::{self, Secrets};
use countersign_protocol::shown::Shown;
use countersign_protocol::tools::{RemovedTool, ToolCaller, ToolStanding};
use countersign_protocol::ui::{CommandError, ErrorCode, ToolExplained, ToolsExplained, ToolsQuery};

impl Desk {
    /// Says of each tool whether a caller gets it, and which step of the tool policy takes it if not.
    /// Nothing is called.
    pub async fn explain_tools(&self, query: ToolsQuery) -> Result<ToolsExplained, CommandError> {
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let caller = ToolCaller {
            agent: query.agent,
            session: filled(query.session),
            provider: filled(query.provider),
            model: filled(query.model),
            ..ToolCaller::default()
        };
        let listed = self.tools().list(&caller).await;
        let Listing { tools, removed, warnings, steps, standing } =
            listed.map_err(|failure| error(ErrorCode::Invalid, failure.message))?;
        let ToolStanding { sandboxed, sub_agent_depth, group } = standing;
        let gets = tools.iter().map(|tool| ToolExplained { name: shown(&tool.name), taken_by: None });
        let taken = removed.iter().map(|RemovedTool { name, step }| ToolExplained {
            name: shown(name),
            taken_by: Some(shown(step)),
        });
        Ok(ToolsExplained {
            sandboxed,
            sub_agent_depth,
            group: group.as_deref().map(shown),
            tools: gets.chain(taken).collect(),
            steps: steps.iter().map(|step| shown(&step.to_string())).collect(),
            warnings: warnings.iter().map(|warning| shown(warning)).collect(),
        })
    }
}

/// Names come from a file of the person's, from hooks and from plugins.
fn shown(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}
