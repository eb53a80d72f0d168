//! A call of a tool as the book keeps it.

use countersign_approvals::question::{
    self, Beside, Command, Door, Environment, Folder, Offer, Place, Question, Runner, Subject, ToolName,
    Typing, peer_asks,
};
use countersign_policy::calls::sensitive::Sensitive;
use countersign_policy::calls::{CallFacts, CallNature, TouchedFile};
use countersign_policy::display::{self, Secrets};
use countersign_protocol::change::{ChangeKind, ChangeNote, ChangeView, DiffHunk, DiffLine, DiffLineKind};
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::limits::DISPLAY_INPUT_UNITS;
use countersign_protocol::question::{AllowBlocked, Via};
use countersign_protocol::shown::Shown;
use countersign_protocol::trace::PolicyLayer;
use countersign_tools::files::{self, FileChange, LineKind};
use countersign_tools::tool::{Call, Preview};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// A call whose plan is known.
pub fn of_plan(call: &Call, preview: &Preview, via: Via) -> Question {
    let blank = blank(call);
    let subject = match preview {
        Preview::Changes(changes) => {
            let paths = changes.iter().map(|change| change.named.clone());
            let words: Vec<String> = std::iter::once(call.tool.clone()).chain(paths).collect();
            question::ToolCall {
                view: display::command_view(&words, &[]),
                words,
                changes: changes_view(changes, &call.workspace),
                facts: Box::new(CallFacts { files: changes.iter().map(touched).collect(), ..*blank.facts }),
                ..blank
            }
        }
        Preview::HandOver { command, task } => question::ToolCall {
            view: display::command_view(command, &[]),
            words: command.clone(),
            task: Some(task.clone()),
            ..blank
        },
        // The app runs it then, as it is shown.
        Preview::AskedThere { exec, types } => {
            let typing = if *types { Typing::Agent } else { Typing::Nobody };
            let argv = exec.command.clone();
            let view = display::command_view(&argv, &[]);
            let command = Command {
                argv: Some(argv),
                folder: exec.cwd.clone().map(Folder::named),
                environment: Environment::Values(exec.env.clone().unwrap_or_default()),
                terminal: exec.pty.filter(|wanted| *wanted).map(|_| typing),
                tool: Some(called(call)),
                beside: Beside { sub_agent: call.caller.sub_agent.clone(), ..Beside::default() },
                ..Command::of_text(Runner::App, display::argv_line(&exec.command), view)
            };
            return asked(call, Subject::Command(Box::new(command)), via);
        }
        Preview::Typed { into, text } => question::ToolCall {
            view: display::command_view(&[call.tool.clone(), into.clone()], &[]),
            task: Some(text.clone()),
            is_typed: true,
            commands: vec![text.clone()],
            ..blank
        },
        Preview::Harmless => question::ToolCall {
            arguments: Some(written(&call.params)),
            facts: Box::new(CallFacts { nature: CallNature::Reads, ..*blank.facts }),
            ..blank
        },
    };
    asked(call, Subject::Tool(subject), via)
}

/// A call of a tool that is none of ours and that no more is known of than what `commands` in it may come to
/// a shell, and `facts` for rules.
pub fn of_arguments(call: &Call, commands: Vec<String>, facts: CallFacts, via: Via) -> Question {
    let blank = blank(call);
    let CallFacts { nature, hosts, named, .. } = facts;
    let facts = Box::new(CallFacts { nature, hosts, named, ..*blank.facts });
    let subject = question::ToolCall { arguments: Some(written(&call.params)), commands, facts, ..blank };
    asked(call, Subject::Tool(subject), via)
}

/// A call of which nothing matters but which tool is called.
pub fn of_name(call: &Call, via: Via) -> Question {
    asked(call, Subject::Tool(blank(call)), via)
}

fn touched(change: &FileChange) -> TouchedFile {
    let text = |path: &Path| path.to_str().map(str::to_owned);
    TouchedFile {
        paths: change.paths().map(|path| path.to_string_lossy().into_owned()).collect(),
        // A path that is no text is no path that a rule could be about.
        plain_below: change
            .paths()
            .all(|path| path.to_str().is_some())
            .then(|| text(change.plain_below()?))
            .flatten(),
        has_other_names: change.before.as_ref().is_some_and(|before| before.links > 1),
    }
}

/// A call of which only the tool is said.
fn blank(call: &Call) -> question::ToolCall {
    let workspace = call.workspace.to_string_lossy();
    let folder = (!workspace.is_empty()).then(|| Folder::named(workspace));
    let real =
        std::fs::canonicalize(&call.workspace).ok().and_then(|real| real.into_os_string().into_string().ok());
    let blank = of_tool(called(call));
    let facts = Box::new(CallFacts { folder: real, ..*blank.facts });
    question::ToolCall { folder, facts, sub_agent: call.caller.sub_agent.clone(), ..blank }
}

fn of_tool(name: ToolName) -> question::ToolCall {
    let words = vec![name.tool.clone()];
    question::ToolCall {
        facts: Box::new(CallFacts { tool: name.tool.clone(), ..CallFacts::default() }),
        name,
        view: display::command_view(&words, &[]),
        words,
        changes: Vec::new(),
        task: None,
        is_typed: false,
        commands: Vec::new(),
        arguments: None,
        folder: None,
        sub_agent: None,
    }
}

fn asked(call: &Call, subject: Subject, via: Via) -> Question {
    let caller = &call.caller;
    let program = caller.brought_by.as_ref().and_then(|by| by.program.clone());
    Question {
        blocked: blocked(&subject),
        subject,
        door: Door { via, gateway: None, program, generation: 1 },
        agent: caller.agent.clone(),
        session: caller.session.clone(),
        place: Place::ThisMachine,
        // There is no policy for what is no command: somebody has to look.
        why: peer_asks(PolicyLayer::BuiltIn),
        facts: Vec::new(),
        offer: Offer::once(),
    }
}

/// A call of an agent elsewhere, that another program's pet server asks about: all of it is
/// that server's word.
pub fn of_pet_server(tool: &str, params: &Value, source: &str, session: &str) -> Question {
    let name = ToolName { tool: tool.to_owned(), client: None };
    let subject = Subject::Tool(question::ToolCall { arguments: Some(written(params)), ..of_tool(name) });
    Question {
        blocked: blocked(&subject),
        subject,
        door: Door { via: Via::Pet, gateway: Some(source.to_owned()), program: None, generation: 1 },
        // That program does not tell.
        agent: AgentId::of(None),
        session: SessionKey::of(Some(session)),
        place: Place::Remote(Some(source.to_owned())),
        why: peer_asks(PolicyLayer::BuiltIn),
        facts: Vec::new(),
        offer: Offer::once(),
    }
}

/// What is not shown whole is not allowed.
fn blocked(subject: &Subject) -> Option<AllowBlocked> {
    let Subject::Tool(call) = subject else { return display::allow_blocked(subject.view()) };
    let is_cut = call.changes.iter().any(|change| !change.complete);
    let texts = call.arguments.iter().chain(&call.task);
    let shown = texts.flat_map(|text| display::shown(text, Secrets::Mask).spans);
    let units: usize = shown.map(|span| span.text.encode_utf16().count()).sum();
    let is_long = is_cut || units > DISPLAY_INPUT_UNITS;
    is_long.then_some(AllowBlocked::TooLong).or_else(|| display::allow_blocked(&call.view))
}

fn called(call: &Call) -> ToolName {
    ToolName { tool: call.tool.clone(), client: call.caller.client.clone() }
}

/// Parameters as their caller wrote them, indented.
fn written(params: &impl Serialize) -> String {
    serde_json::to_string_pretty(params).unwrap_or_default()
}

/// Changes of files as a person reads them, for an agent that works in `workspace`.
pub fn changes_view(changes: &[FileChange], workspace: &Path) -> Vec<ChangeView> {
    changes.iter().map(|change| change_view(change, workspace)).collect()
}

fn change_view(change: &FileChange, workspace: &Path) -> ChangeView {
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
        hunks: hunks_view(&change.diff),
        complete: change.is_complete(),
        notes: notes(change, workspace),
    }
}

/// Lines that differ, as a person reads them.
pub fn hunks_view(diff: &files::Diff) -> Vec<DiffHunk> {
    diff.hunks.iter().map(hunk_view).collect()
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

fn notes(change: &FileChange, workspace: &Path) -> Vec<ChangeNote> {
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
    [
        (change.sensitive.iter().any(runs), ChangeNote::RunsByItself),
        (!change.is_beneath(workspace), ChangeNote::Outside),
        (change.sensitive.contains(&Sensitive::Executable), ChangeNote::Executable),
        (diff.binary, ChangeNote::Binary),
        (diff.line_endings_change().is_some(), ChangeNote::LineEndings),
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
