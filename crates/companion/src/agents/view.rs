//! What is known of agents, in the shapes of the windows.

use super::Stand;
use countersign_agents::{
    Agent, Becomes, Calls, Caution, ConnectError, Connected, FileChange, LineKind, Note, Obstacle, Plan,
    Sighting, Standing, Trust, Way,
};
use countersign_policy::display::{self, Secrets};
use countersign_protocol::change::{ChangeKind, ChangeView, DiffHunk, DiffLine, DiffLineKind};
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{
    AgentCalls, AgentConnection, AgentNote, AgentObstacle, AgentPreview, AgentView, AgentWay, AgentWayView,
    AgentsView, HookTrust, OpenClawView, OtherAgent,
};
use std::path::Path;

/// All of them; OpenClaw apart, which has no settings of ours.
pub(super) fn agents(stands: &[Stand], others: Vec<String>, openclaw: &Path) -> AgentsView {
    let (elsewhere, here): (Vec<&Stand>, Vec<&Stand>) =
        stands.iter().partition(|stand| stand.standing.agent.elsewhere.is_some());
    AgentsView {
        agents: here.into_iter().map(agent).collect(),
        others: others.into_iter().map(|id| OtherAgent { shown: plain(&id), id }).collect(),
        openclaw: elsewhere.first().and_then(|stand| openclaw_view(&stand.standing.sighting, openclaw)),
    }
}

fn agent(stand: &Stand) -> AgentView {
    let Stand { standing, seen, reach } = stand;
    let Standing { agent, sighting, .. } = standing;
    let ways = agent.ways().into_iter().map(|one| AgentWayView {
        way: way(one),
        covers: agent.covers(one).unwrap_or_default().to_owned(),
        misses: agent.misses(one).unwrap_or_default().to_owned(),
        connected: standing.connected.iter().find(|connected| connected.way == one).map(connection),
    });
    AgentView {
        name: agent.name.to_owned(),
        title: agent.title.to_owned(),
        found: sighting.is_here(),
        program: sighting.program.as_deref().map(path),
        release: sighting.release.as_deref().map(plain),
        tested: agent.tested.map(str::to_owned),
        ways: ways.collect(),
        calls: calls(reach.calls),
        obstacles: reach.obstacles.iter().map(obstacle).collect(),
        last_seen: *seen,
        unread: standing.unread.iter().map(|told| display::escape(told)).collect(),
    }
}

const fn calls(calls: Calls) -> AgentCalls {
    match calls {
        Calls::Own => AgentCalls::Own,
        Calls::NotAll => AgentCalls::NotAll,
        Calls::Questions => AgentCalls::Questions,
        Calls::OurTools => AgentCalls::OurTools,
        Calls::Nothing => AgentCalls::Nothing,
    }
}

fn obstacle(obstacle: &Obstacle) -> AgentObstacle {
    match obstacle {
        Obstacle::Narrowed { path: at, .. } => AgentObstacle::Narrowed { path: path(at) },
        Obstacle::ProgramGone { program, .. } => AgentObstacle::ProgramGone { program: plain(program) },
        Obstacle::Silent { acted_ms, heard_ms, .. } => {
            AgentObstacle::Silent { acted_ms: *acted_ms, heard_ms: *heard_ms }
        }
        Obstacle::SwitchedOff(off) => AgentObstacle::SwitchedOff {
            setting: off.setting.clone(),
            path: path(&off.path),
            within: off.within.as_deref().map(path),
        },
        Obstacle::Untrusted { .. } => AgentObstacle::Untrusted,
    }
}

fn connection(connected: &Connected) -> AgentConnection {
    AgentConnection {
        path: path(&connected.path),
        since_ms: connected.since_ms,
        program: plain(&connected.program.name),
        program_is_there: connected.program.is_there,
        trust: connected.trust.map(|trust| match trust {
            Trust::No => HookTrust::No,
            Trust::NotKnown => HookTrust::NotKnown,
        }),
    }
}

fn openclaw_view(sighting: &Sighting, state: &Path) -> Option<OpenClawView> {
    let is_node = state.join(NODE).is_file();
    (sighting.is_here() || is_node).then(|| OpenClawView {
        program: sighting.program.as_deref().map(path),
        release: sighting.release.as_deref().map(plain),
        is_node,
    })
}

/// A change that can be written; nothing where it is too long to be shown.
pub(super) fn ready(plan: &Plan, id: &str) -> Option<AgentPreview> {
    let changes: Vec<&FileChange> = plan.files.iter().filter(|change| change.changes()).collect();
    if changes.iter().map(|change| change.diff.len()).sum::<usize>() > LONGEST {
        return None;
    }
    Some(AgentPreview::Ready {
        id: id.to_owned(),
        changes: changes.into_iter().map(change).collect(),
        notes: plan.notes.iter().filter_map(note).collect(),
    })
}

pub(super) fn too_long(agent: &Agent) -> AgentPreview {
    let name = agent.name;
    let why = format!(
        "the change is longer than {LONGEST} bytes, too long for a window; `countersign connect {name}` shows and writes it"
    );
    AgentPreview::LeftAlone { why, by_hand: None }
}

pub(super) fn left_alone(error: &ConnectError) -> AgentPreview {
    AgentPreview::LeftAlone {
        why: display::escape(&error.to_string()),
        by_hand: error.by_hand().map(str::to_owned),
    }
}

pub(super) const fn way(way: Way) -> AgentWay {
    match way {
        Way::Hook => AgentWay::Hook,
        Way::Mcp => AgentWay::Mcp,
    }
}

fn change(change: &FileChange) -> ChangeView {
    let difference = change.difference();
    let lines = difference.as_ref().map(|difference| difference.lines.as_slice()).unwrap_or_default();
    let count = |wanted| lines.iter().filter(|(kind, _)| *kind == wanted).count();
    ChangeView {
        change: match change.becomes() {
            Becomes::Made => ChangeKind::Create,
            Becomes::Changed => ChangeKind::Edit,
            Becomes::Removed => ChangeKind::Delete,
        },
        path: path(&change.file),
        from: None,
        added: number(count(LineKind::Added)),
        removed: number(count(LineKind::Removed)),
        hunks: difference
            .iter()
            .map(|difference| DiffHunk {
                before: number(difference.before),
                after: number(difference.after),
                lines: difference.lines.iter().map(|(kind, text)| line(*kind, text)).collect(),
            })
            .collect(),
        complete: true,
        notes: Vec::new(),
    }
}

/// Keys of others stand in the lines around.
fn line(kind: LineKind, text: &str) -> DiffLine {
    let kind = match kind {
        LineKind::Added => DiffLineKind::Added,
        LineKind::Context => DiffLineKind::Context,
        LineKind::Removed => DiffLineKind::Removed,
    };
    DiffLine { kind, text: display::shown(text, Secrets::Mask) }
}

fn note(note: &Note) -> Option<AgentNote> {
    match note {
        Note::Caution { caution: Caution::TrustFirst, .. } => Some(AgentNote::TrustFirst),
        Note::Caution { caution: Caution::TrustedFolders, .. } => Some(AgentNote::TrustedFolders),
        Note::HooksTwice { .. } => Some(AgentNote::HooksTwice),
        // Settings of the person's alone are written here.
        Note::OnPath => None,
        Note::SwitchedOff(off) => Some(AgentNote::SwitchedOff {
            setting: off.setting.clone(),
            path: path(&off.path),
            within: off.within.as_deref().map(path),
        }),
    }
}

fn path(path: &Path) -> Shown {
    plain(&path.to_string_lossy())
}

fn plain(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What OpenClaw writes where a machine is a node.
const NODE: &str = "node.json";

/// Longest change that is shown, in bytes: thousands of lines, more than anybody's settings need, and less
/// than a page is slow with.
const LONGEST: usize = 256 * 1024;
