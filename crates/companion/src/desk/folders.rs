//! Folders that are open, as their page shows them: what runs there reached and changed by the history, and
//! what can be opened. Reads only; opening, closing and rules about connections go the way of
//! every other rule.

use super::{Desk, blocking, invalid};
use countersign_approvals::history::{self, HistoryError};
use countersign_approvals::rules::state;
use countersign_node::host::{named_destination, registry_kinds};
use countersign_policy::display::{self, Secrets};
use countersign_protocol::history::{HistoryEntry, HistoryEvent, KeptSpan, RunView};
use countersign_protocol::question::QuestionKind;
use countersign_protocol::rule_edits::RuleState;
use countersign_protocol::ui::{
    CommandError, FOLDER_CHANGES, FOLDER_COMMAND_CHARS, FOLDER_DESTINATIONS, FolderAtHand, FolderChange,
    FolderReached, FolderRun, FolderView, FoldersView, NamedDestination,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

impl Desk {
    /// What the history says about the folders that rules open now, by its newest [`MOST_LINES`] lines.
    /// Cancelling it leaves nothing behind.
    pub async fn folders(&self) -> Result<FoldersView, CommandError> {
        let current = self.inner.parts.rules.refresh().await;
        let mut folders: Vec<String> = Vec::new();
        for workspace in current.document.iter().flat_map(|document| &document.workspaces) {
            if !folders.contains(&workspace.folder) {
                folders.push(workspace.folder.clone());
            }
        }
        let dir = self.inner.parts.history_places.lines.clone();
        let (folders, since_ms) = blocking(move || told(&dir, folders, MOST_LINES)).await?;
        Ok(FoldersView { folders, since_ms, registries: registry_kinds() })
    }

    /// What a person's `HOST:PORT` means, as the command line reads it. Nothing is looked up or stored.
    pub fn named_destination(&self, text: &str) -> Result<NamedDestination, CommandError> {
        named_destination(text.trim()).map_err(|error| invalid(&error))
    }

    /// The folder in which a connected agent asked last that could be opened for it and is not; `None` where
    /// there is none. Looks at the newest [`MOST_LINES`] lines and at no more than [`MOST_FOLDERS`] folders.
    pub async fn folder_at_hand(&self) -> Result<Option<FolderAtHand>, CommandError> {
        let dir = self.inner.parts.history_places.lines.clone();
        let connected = self.with_agents(|agents| Ok(agents.connected())).await?;
        let asked = blocking(move || {
            let is_connected = |name: &str| connected.iter().any(|agent| agent.is_called(name));
            asked_in(&dir, is_connected)
        });
        for (agent, folder) in asked.await? {
            if !self.is_open(&agent, &folder).await
                && self.inner.parts.host.may_be_opened(&folder).await.is_ok()
            {
                let shown = |text: &str| display::shown(text, Secrets::Show);
                let (agent_shown, folder_shown) = (shown(&agent), shown(&folder));
                return Ok(Some(FolderAtHand { agent, folder, agent_shown, folder_shown }));
            }
        }
        Ok(None)
    }

    async fn is_open(&self, agent: &str, folder: &str) -> bool {
        let current = self.inner.parts.rules.refresh().await;
        let now_ms = self.now_ms();
        current.document.iter().flat_map(|document| &document.workspaces).any(|workspace| {
            Path::new(folder).starts_with(&workspace.folder)
                && (workspace.agent == "*" || workspace.agent == agent)
                && state(workspace, &current.counts, now_ms) == RuleState::Live
        })
    }
}

/// What the newest `most` lines say about each of these folders, and from when on, if there are
/// older ones. Blocking.
fn told(
    dir: &Path,
    folders: Vec<String>,
    most: usize,
) -> Result<(Vec<FolderView>, Option<i64>), HistoryError> {
    let mut gathered = Gathered::about(folders);
    let since_ms = history::newest(dir, None, most, |entry| {
        gathered.take(entry);
        ControlFlow::Continue(())
    })?;
    Ok((gathered.views(), since_ms))
}

/// What is known so far, from the newest line on.
struct Gathered {
    folders: Vec<Doings>,
    /// By the folder as the history writes it.
    by_name: HashMap<String, usize>,
    /// Changes whose request was not met yet: folder and place in its list.
    waiting: HashMap<String, (usize, usize)>,
}

struct Doings {
    view: FolderView,
    reached: BTreeMap<String, FolderReached>,
}

impl Gathered {
    fn about(folders: Vec<String>) -> Self {
        let by_name =
            folders.iter().enumerate().map(|(index, folder)| (display::escape(folder), index)).collect();
        let doings = folders.into_iter().map(|folder| Doings {
            view: FolderView {
                folder,
                runs: 0,
                reached: Vec::new(),
                reached_more: 0,
                changes: Vec::new(),
                changes_more: 0,
            },
            reached: BTreeMap::new(),
        });
        Self { folders: doings.collect(), by_name, waiting: HashMap::new() }
    }

    fn take(&mut self, entry: HistoryEntry) {
        match entry.event {
            HistoryEvent::Run { run } => self.ran(run),
            HistoryEvent::Changes { changes, .. } => {
                self.changed(entry.seq, entry.at_ms, entry.request_id, changes);
            }
            HistoryEvent::Request { agent, session, command, .. } => {
                let change = entry.request_id.and_then(|id| self.waiting.remove(&id));
                let Some((folder, index)) = change else { return };
                let command = command.chars().take(FOLDER_COMMAND_CHARS).collect();
                let change =
                    self.folders.get_mut(folder).and_then(|doings| doings.view.changes.get_mut(index));
                if let Some(change) = change {
                    change.by = Some(FolderRun { agent, session, command });
                }
            }
            HistoryEvent::Document { .. }
            | HistoryEvent::Rules { .. }
            | HistoryEvent::Page { .. }
            | HistoryEvent::Socket { .. }
            | HistoryEvent::Record { .. } => {}
        }
    }

    fn ran(&mut self, run: RunView) {
        let folder = run.within.and_then(|within| self.by_name.get(&within));
        let Some(doings) = folder.and_then(|index| self.folders.get_mut(*index)) else { return };
        doings.view.runs += 1;
        for reached in run.reached {
            if doings.reached.len() == TOLD_APART && !doings.reached.contains_key(&reached.destination) {
                doings.view.reached_more = doings.view.reached_more.saturating_add(1);
                continue;
            }
            let sum = doings.reached.entry(reached.destination.clone()).or_insert_with(|| FolderReached {
                destination: reached.destination,
                up: 0,
                down: 0,
                runs: 0,
            });
            sum.up = sum.up.saturating_add(reached.up);
            sum.down = sum.down.saturating_add(reached.down);
            sum.runs += 1;
        }
    }

    fn changed(&mut self, seq: u64, at_ms: i64, request_id: Option<String>, span: KeptSpan) {
        let Some(&index) = self.by_name.get(&span.folder) else { return };
        let Some(Doings { view, .. }) = self.folders.get_mut(index) else { return };
        if view.changes.len() == FOLDER_CHANGES {
            view.changes_more += 1;
            return;
        }
        if let Some(id) = request_id {
            self.waiting.insert(id, (index, view.changes.len()));
        }
        view.changes.push(FolderChange { seq, at_ms, span, by: None });
    }

    fn views(self) -> Vec<FolderView> {
        let views = self.folders.into_iter().map(|Doings { mut view, reached }| {
            let mut reached: Vec<FolderReached> = reached.into_values().collect();
            // Of those that exchanged as much the order of names stays.
            reached.sort_by_key(|one| std::cmp::Reverse(one.up.saturating_add(one.down)));
            let more = reached.len().saturating_sub(FOLDER_DESTINATIONS);
            reached.truncate(FOLDER_DESTINATIONS);
            view.reached = reached;
            view.reached_more = view.reached_more.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            view
        });
        views.collect()
    }
}

/// Where agents of these names asked, the newest first, each folder once for each, as real paths. Blocking.
fn asked_in(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<(String, String)>, HistoryError> {
    let mut found: Vec<(String, String)> = Vec::new();
    history::newest(dir, None, MOST_LINES, |entry| {
        let HistoryEvent::Request { agent, card, cwd: Some(cwd), .. } = entry.event else {
            return ControlFlow::Continue(());
        };
        let is_command = matches!(card, QuestionKind::Exec | QuestionKind::Permit);
        let (Some(agent), Some(cwd)) = (display::unescape(&agent), display::unescape(&cwd)) else {
            return ControlFlow::Continue(());
        };
        if is_command
            && is_wanted(&agent)
            && let Some(folder) = real(&cwd)
            && !found.contains(&(agent.clone(), folder.clone()))
        {
            found.push((agent, folder));
        }
        if found.len() == MOST_FOLDERS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

/// Rules name real paths.
fn real(folder: &str) -> Option<String> {
    let real: PathBuf = std::fs::canonicalize(folder).ok()?;
    real.is_dir().then(|| real.into_os_string().into_string().ok()).flatten()
}

/// Lines of the history that are looked at, the newest first: some days of a busy machine,
/// read in an instant.
const MOST_LINES: usize = 5_000;

/// Destinations of one folder that are told apart: a hostile run may name as many as it likes.
const TOLD_APART: usize = 1_000;

/// Folders that are tried when one is offered: of more the person works in none just now.
const MOST_FOLDERS: usize = 8;

#[cfg(test)]
mod tests;
