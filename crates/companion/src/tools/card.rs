//! A call of a tool as the book keeps it and a person sees it.

use countersign_approvals::book::Request;
use countersign_policy::display::{self, Secrets};
use countersign_protocol::document::MAIN_AGENT;
use countersign_protocol::ui::{
    AllowBlocked, Card, CardKind, ChangeKind, ChangeNote, ChangeView, CommandView, DiffHunk, DiffLine,
    DiffLineKind, Fact, HostKind, HostView, OnExpiry, PolicyLayer, Shown, Via, Why, WhyReason,
};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use countersign_tools::files::{self, FileChange, LineKind, Sensitive};
use countersign_tools::tool::{Call, Preview};
use serde::Serialize;
use serde_json::Value;

/// A question, and the line that the history keeps of it.
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) line: String,
}

/// A call whose plan is known.
pub(super) fn of_plan(call: &Call, preview: &Preview, via: Via) -> Asked {
    let mut facts = vec![called(call)];
    let words = match preview {
        Preview::Changes(changes) => {
            facts.extend(changes.iter().map(|change| Fact::Change { change: change_view(change) }));
            std::iter::once(call.tool.clone()).chain(paths(changes)).collect()
        }
        Preview::HandOver { command, task } => {
            facts.push(Fact::Task { text: display::shown(task, Secrets::Mask) });
            command.clone()
        }
        // The app runs it then, as it is shown.
        Preview::AskedThere { exec } => {
            return asked(call, CardKind::Exec, &exec.command, facts, via);
        }
        Preview::Harmless => {
            facts.push(arguments(&call.params));
            vec![call.tool.clone()]
        }
    };
    asked(call, CardKind::Tool, &words, facts, via)
}

/// A call of a tool that is none of ours and that nothing is known of.
pub(super) fn of_arguments(call: &Call, via: Via) -> Asked {
    let facts = vec![called(call), arguments(&call.params)];
    asked(call, CardKind::Tool, std::slice::from_ref(&call.tool), facts, via)
}

fn asked(call: &Call, kind: CardKind, words: &[String], mut facts: Vec<Fact>, via: Via) -> Asked {
    let command = display::command_view(words, &[]);
    if !call.workspace.as_os_str().is_empty() {
        facts.push(Fact::Folder { path: plain(&call.workspace.to_string_lossy()), given: None });
    }
    let caller = &call.caller;
    let agent = Some(caller.agent.trim()).filter(|agent| !agent.is_empty()).unwrap_or(MAIN_AGENT).to_owned();
    let session = caller.session.clone().filter(|session| !session.trim().is_empty());
    let card = Card {
        id: String::new(),
        generation: 1,
        kind,
        via,
        gateway: None,
        agent: plain(&agent),
        session: session.as_deref().map(plain),
        peer: caller.brought_by.as_ref().and_then(|by| by.program.as_deref()).map(plain),
        host: HostView { kind: HostKind::ThisMachine, name: None },
        created_at_ms: 0,
        expires_at_ms: 0,
        on_expiry: OnExpiry::NotRun,
        allow_blocked: blocked(&command, &facts),
        command,
        facts,
        why: why(),
        decisions: vec![Decision::AllowOnce, Decision::Deny],
        always: Vec::new(),
        always_unavailable: None,
    };
    let request = Request { card, proposals: Vec::new(), choices: Vec::new(), agent, session };
    Asked { request, line: display::argv_line(words) }
}

/// A call of an agent elsewhere, that another program's pet server asks about: all of it is that server's word.
pub(crate) fn of_pet_server(tool: &str, params: &Value, source: &Shown, session: &str) -> Asked {
    let words = [tool.to_owned()];
    let command = display::command_view(&words, &[]);
    let facts = vec![Fact::Tool { tool: plain(tool), client: None }, arguments(params)];
    let card = Card {
        id: String::new(),
        generation: 1,
        kind: CardKind::Tool,
        via: Via::Pet,
        gateway: Some(source.clone()),
        // That program does not tell.
        agent: plain(MAIN_AGENT),
        session: Some(plain(session)),
        peer: None,
        host: HostView { kind: HostKind::Remote, name: Some(source.clone()) },
        created_at_ms: 0,
        expires_at_ms: 0,
        on_expiry: OnExpiry::NotRun,
        allow_blocked: blocked(&command, &facts),
        command,
        facts,
        why: why(),
        decisions: vec![Decision::AllowOnce, Decision::Deny],
        always: Vec::new(),
        always_unavailable: None,
    };
    let (agent, session) = (MAIN_AGENT.to_owned(), Some(session.to_owned()));
    let request = Request { card, proposals: Vec::new(), choices: Vec::new(), agent, session };
    Asked { request, line: display::argv_line(&words) }
}

/// There is no policy for what is no command: somebody has to look.
fn why() -> Why {
    Why {
        reason: WhyReason::PeerAsks,
        opaque: None,
        cause: None,
        unbound: None,
        segments: Vec::new(),
        security: Security::Allowlist,
        ask: Ask::Always,
        layer: PolicyLayer::BuiltIn,
        entries_checked: 0,
        trace: Vec::new(),
    }
}

/// What is not shown whole is not allowed.
fn blocked(command: &CommandView, facts: &[Fact]) -> Option<AllowBlocked> {
    let is_cut = facts.iter().any(|fact| matches!(fact, Fact::Change { change } if !change.complete));
    let texts = facts.iter().filter_map(|fact| match fact {
        Fact::Arguments { text } | Fact::Task { text } => Some(text),
        _ => None,
    });
    let units: usize = texts.flat_map(|text| &text.spans).map(|span| span.text.encode_utf16().count()).sum();
    let is_long = is_cut || units > countersign_protocol::limits::DISPLAY_INPUT_UNITS;
    is_long.then_some(AllowBlocked::TooLong).or_else(|| display::allow_blocked(command))
}

fn called(call: &Call) -> Fact {
    Fact::Tool { tool: plain(&call.tool), client: call.caller.client.as_deref().map(plain) }
}

fn arguments(params: &impl Serialize) -> Fact {
    let text = serde_json::to_string_pretty(params).unwrap_or_default();
    Fact::Arguments { text: display::shown(&text, Secrets::Mask) }
}

fn paths(changes: &[FileChange]) -> impl Iterator<Item = String> + '_ {
    changes.iter().map(|change| change.named.clone())
}

fn change_view(change: &FileChange) -> ChangeView {
    let path = change.path.to_string_lossy();
    let (kind, path, from) = match &change.kind {
        files::ChangeKind::Append => (ChangeKind::Append, path, None),
        files::ChangeKind::Create => (ChangeKind::Create, path, None),
        files::ChangeKind::Delete => (ChangeKind::Delete, path, None),
        files::ChangeKind::Edit => (ChangeKind::Edit, path, None),
        files::ChangeKind::Overwrite => (ChangeKind::Overwrite, path, None),
        files::ChangeKind::Move { to } => (ChangeKind::Move, to.to_string_lossy(), Some(path)),
    };
    let lines = || change.diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    let count = |kind: LineKind| count(lines().filter(|line| line.kind == kind).count());
    ChangeView {
        change: kind,
        path: plain(&path),
        from: from.as_deref().map(plain),
        added: count(LineKind::Added),
        removed: count(LineKind::Removed),
        hunks: change.diff.hunks.iter().map(hunk_view).collect(),
        complete: change.is_complete(),
        notes: notes(change),
    }
}

fn hunk_view(hunk: &files::Hunk) -> DiffHunk {
    let line = |line: &files::DiffLine| DiffLine {
        kind: match line.kind {
            LineKind::Added => DiffLineKind::Added,
            LineKind::Context => DiffLineKind::Context,
            LineKind::Removed => DiffLineKind::Removed,
        },
        text: display::shown(&line.text, Secrets::Show),
    };
    DiffHunk {
        before: count(hunk.before.first),
        after: count(hunk.after.first),
        lines: hunk.lines.iter().map(line).collect(),
    }
}

fn notes(change: &FileChange) -> Vec<ChangeNote> {
    let runs = |sensitive: &Sensitive| match sensitive {
        Sensitive::Agent
        | Sensitive::Build
        | Sensitive::Git
        | Sensitive::Login
        | Sensitive::Script
        | Sensitive::Shell => true,
        Sensitive::Executable | Sensitive::Hidden => false,
    };
    let diff = &change.diff;
    let endings = &diff.line_endings;
    [
        (change.sensitive.iter().any(runs), ChangeNote::RunsByItself),
        (change.sensitive.contains(&Sensitive::Executable), ChangeNote::Executable),
        (diff.binary, ChangeNote::Binary),
        (
            change.before.is_some() && change.after.is_some() && endings.before != endings.after,
            ChangeNote::LineEndings,
        ),
        (change.after.is_some() && diff.unended.after, ChangeNote::NoFinalNewline),
        (change.before.as_ref().is_some_and(|before| before.links > 1), ChangeNote::HardLinked),
    ]
    .into_iter()
    .filter_map(|(holds, note)| holds.then_some(note))
    .collect()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn plain(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}
