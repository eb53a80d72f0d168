//! `countersign box`: folders that are open for agents. What opens one needs a person in the app's window.

use super::output::Output;
use super::rules::{self, Row, edit, here, lasting, read, until_ms};
use super::{Exit, absent};
use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use countersign_core::paths::{Paths, process_environment};
use countersign_node::executor::sandbox::{self, Environs, Grounds, Means, Unavailable, Workspace};
use countersign_policy::display;
use countersign_protocol::rule_edits::{RuleEdit, RuleState};
use countersign_protocol::rules::{
    Attendance, FolderStanding, PlaceAccess, RuleLimits, Workspace as StoredWorkspace, WorkspaceDraft,
    WorkspacePlace,
};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum BoxCommand {
    /// Open a folder: what would be asked about there runs in a box; takes effect after a confirmation in
    /// the app's window.
    Open(OpenArgs),
    /// Say whether a box can be made around a folder, and what the kernel gives it. Opens nothing.
    Test {
        /// The folder [default: the current one].
        folder: Option<PathBuf>,
    },
    /// List the open folders and whether each still counts.
    List {
        /// Only those of this agent; `*` for those of all agents.
        #[arg(long, short, value_parser = super::agent_id)]
        agent: Option<String>,
    },
    /// Say what the boxes of an open folder have otherwise than every box; what gives them more takes effect
    /// after a confirmation in the app's window.
    Place(PlaceArgs),
    /// Close a folder and those below it: what runs there is asked about again, also where a folder around it
    /// or a rule for all agents keeps it open.
    Close {
        /// The folder [default: the current one], or the rule's id.
        folder: Option<PathBuf>,
        /// Only for this agent.
        #[arg(long, short, value_parser = super::agent_id)]
        agent: Option<String>,
    },
}

// Arguments of `box open`.
#[derive(Args, Clone, Debug)]
pub(crate) struct OpenArgs {
    /// The folder, with everything below it [default: the current one].
    folder: Option<PathBuf>,
    /// Agent id [default: * for all agents].
    #[arg(long, short, value_parser = super::agent_id)]
    agent: Option<String>,
    /// How long: `15m`, `1h`, `7d` [default: until it is closed].
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    lasting: Option<Duration>,
    /// Only in this session.
    #[arg(long)]
    session: Option<String>,
    /// Also where the policy asks nobody.
    #[arg(long)]
    unattended: bool,
    /// A file or folder outside that may be written there as well; may be given again.
    #[arg(long, value_name = "PATH")]
    write: Vec<PathBuf>,
    /// A file or folder that may be read there, though boxes hide it, such as `.env`; may be given again.
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// A file or folder that is hidden there as well; may be given again.
    #[arg(long, value_name = "PATH")]
    hide: Vec<PathBuf>,
    /// Why, in your own words.
    #[arg(long)]
    note: Option<String>,
}

// Arguments of `box place`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlaceArgs {
    /// A file or folder, with everything below it.
    path: PathBuf,
    #[command(flatten)]
    access: AccessArgs,
    /// The open folder, or one in it [default: the current one].
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Only for this agent.
    #[arg(long, short, value_parser = super::agent_id)]
    agent: Option<String>,
}

#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct AccessArgs {
    /// It may be written, though it is outside of the folder.
    #[arg(long)]
    write: bool,
    /// It may be read, though boxes hide it.
    #[arg(long)]
    read: bool,
    /// It is hidden.
    #[arg(long)]
    hide: bool,
    /// It is as in every box again.
    #[arg(long)]
    forget: bool,
}

impl AccessArgs {
    fn chosen(&self) -> Option<PlaceAccess> {
        match self {
            Self { write: true, .. } => Some(PlaceAccess::Write),
            Self { read: true, .. } => Some(PlaceAccess::Read),
            Self { hide: true, .. } => Some(PlaceAccess::Hidden),
            _ => None,
        }
    }
}

pub(super) async fn boxes(paths: &Paths, command: BoxCommand, output: &Output) -> anyhow::Result<Exit> {
    match command {
        BoxCommand::Open(args) => {
            let draft = opened(args)?;
            let exit = edit(paths, vec![RuleEdit::OpenWorkspace { rule: draft.clone() }], output).await?;
            if matches!(exit, Exit::Ok) {
                say_what_outlasts(paths, &draft, output);
                absent::say_of_places(&draft.places, output);
            }
            Ok(exit)
        }
        BoxCommand::Test { folder } => test(paths, &here(folder.as_deref())?, output).await,
        BoxCommand::List { agent } => {
            let rules = rules::told(paths);
            let open = rules.workspaces.iter().map(Row::Workspace);
            rules::list(&rules, open, agent.as_deref(), "No folder is open.", output)
        }
        BoxCommand::Place(args) => {
            let (edits, place) = placed(paths, &args)?;
            let exit = edit(paths, edits, output).await?;
            if matches!(exit, Exit::Ok) {
                absent::say_of_places(&place, output);
            }
            Ok(exit)
        }
        BoxCommand::Close { folder, agent } => {
            let edits = vec![closed(paths, folder.as_deref(), agent.as_deref())];
            edit(paths, edits, output).await
        }
    }
}

/// What `box test` says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tested<'a> {
    folder: &'a str,
    /// Why there can be no box around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'static str>,
    /// What is mounted outside while a box runs does not appear in it.
    apart: bool,
    /// Caches are seen as the person has them, with what a box changes laid over.
    layered_caches: bool,
    /// The kernel looks at what is written a second time.
    landlock: bool,
}

async fn test(paths: &Paths, folder: &str, output: &Output) -> anyhow::Result<Exit> {
    let grounds = grounds(paths, Environs::of(&process_environment()));
    let checked = sandbox::check_box(&Workspace::around(folder), &grounds).await;
    let means = match &checked {
        Ok(()) => sandbox::box_means(&paths.boxes()).await?,
        Err(_) => Means { apart: false, layers: false, landlock: false },
    };
    let tested = Tested {
        folder,
        problem: checked.as_ref().err().map(ToString::to_string),
        remedy: checked.as_ref().err().map(Unavailable::remedy),
        apart: means.apart,
        layered_caches: means.layers,
        landlock: means.landlock,
    };
    output.result(&tested, |out| {
        if let (Some(problem), Some(remedy)) = (&tested.problem, tested.remedy) {
            return writeln!(
                out,
                "no box can be made around {}: {problem}; {remedy}",
                display::escape(folder)
            );
        }
        writeln!(out, "a box can be made around {}", display::escape(folder))?;
        let caches = if tested.layered_caches { "seen, with changes laid over" } else { "begin empty" };
        writeln!(out, "caches of package managers: {caches}")?;
        let mounts = match tested.apart {
            true => "does not appear",
            false => "would appear only below /media and /mnt, which are closed",
        };
        writeln!(out, "what is mounted outside while it runs: {mounts}")?;
        let walls =
            if tested.landlock { "mounts and Landlock" } else { "mounts alone; this kernel has no Landlock" };
        writeln!(out, "what keeps it from writing elsewhere: {walls}")
    })?;
    Ok(if checked.is_ok() { Exit::Ok } else { Exit::Failed })
}

/// What boxes have to know of this machine.
pub(super) fn grounds(paths: &Paths, environs: Environs) -> Grounds {
    Grounds {
        home: paths.home.clone(),
        openclaw: paths.openclaw_state.clone(),
        private: vec![paths.state.clone(), paths.config.clone()],
        environs,
    }
}

fn opened(args: OpenArgs) -> anyhow::Result<WorkspaceDraft> {
    let OpenArgs { folder, agent, lasting, session, unattended, write, read, hide, note } = args;
    let given = [(write, PlaceAccess::Write), (read, PlaceAccess::Read), (hide, PlaceAccess::Hidden)];
    let given = given.iter().flat_map(|(paths, access)| paths.iter().map(|path| (path, *access)));
    let places = given.map(|(path, access)| Ok(WorkspacePlace { path: meant(path)?, access }));
    let places = places.collect::<anyhow::Result<_>>()?;
    let attendance = if unattended { Attendance::Unattended } else { Attendance::Attended };
    let limits = RuleLimits { until_ms: lasting.map(until_ms), uses: None, session };
    let agent = agent.unwrap_or_else(|| "*".to_owned());
    Ok(WorkspaceDraft {
        agent,
        folder: here(folder.as_deref())?,
        standing: FolderStanding::Open,
        attendance,
        places,
        limits,
        note,
    })
}

/// Says which other rules keep a folder open when the end comes that was just given to it.
fn say_what_outlasts(paths: &Paths, draft: &WorkspaceDraft, output: &Output) {
    let (ends, session) = (draft.limits.until_ms, &draft.limits.session);
    if ends.is_none() && session.is_none() {
        return;
    }
    let outlasts = |rule: &&StoredWorkspace| {
        let limits = &rule.limits;
        let is_later = limits.until_ms.is_none_or(|until| ends.is_some_and(|ends| until > ends));
        rule.standing.is_open()
            && Path::new(&draft.folder).starts_with(&rule.folder)
            && [draft.agent.as_str(), "*"].contains(&rule.agent.as_str())
            && (limits.session.is_none() || limits.session == *session)
            && (is_later || (session.is_some() && limits.session.is_none()))
    };
    let rules = read(paths);
    for rule in rules.workspaces.iter().map(|view| &view.rule).filter(outlasts) {
        let (folder, id) = (display::escape(&rule.folder), display::escape(&rule.id));
        output.note(&format!("{folder} stays open after that by the rule {id}"));
    }
}

/// The edits that say what the innermost open folder around one has otherwise, and what that is. Where it is
/// open for all and one agent is meant, that agent gets a rule of its own beside the other one.
fn placed(paths: &Paths, args: &PlaceArgs) -> anyhow::Result<(Vec<RuleEdit>, Option<WorkspacePlace>)> {
    let folder = here(args.folder.as_deref())?;
    let path = meant(&args.path)?;
    // What became a link since it was named is known by the name that it had.
    let forgotten = if args.access.forget { std::path::absolute(&args.path).ok() } else { None };
    let is_meant =
        |place: &WorkspacePlace| place.path == path || forgotten.as_deref() == Some(Path::new(&place.path));
    let rules = read(paths);
    let around: Vec<&StoredWorkspace> = rules
        .workspaces
        .iter()
        .filter(|view| view.state == RuleState::Live)
        .map(|view| &view.rule)
        .filter(|rule| rule.standing.is_open() && Path::new(&folder).starts_with(&rule.folder))
        .filter(|rule| args.agent.as_ref().is_none_or(|agent| rule.agent == *agent || rule.agent == "*"))
        .collect();
    let innermost = around.iter().map(|rule| rule.folder.len()).max();
    let mut meant: Vec<&StoredWorkspace> =
        around.into_iter().filter(|rule| Some(rule.folder.len()) == innermost).collect();
    let place = args.access.chosen().map(|access| WorkspacePlace { path: path.clone(), access });
    if let Some(agent) = args.agent.as_ref().filter(|agent| *agent != "*") {
        let (own, of_all): (Vec<_>, Vec<_>) = meant.into_iter().partition(|rule| rule.agent == *agent);
        if let (true, Some(rule), Some(place)) = (own.is_empty(), of_all.first(), &place) {
            let rule = WorkspaceDraft { agent: agent.clone(), places: vec![place.clone()], ..rule.draft() };
            return Ok((vec![RuleEdit::OpenWorkspace { rule }], Some(place.clone())));
        }
        meant = own;
    }
    ensure!(!meant.is_empty(), "{folder} is not open; `countersign box open` opens it");
    let edits = meant.into_iter().map(|rule| {
        let mut draft = rule.draft();
        draft.places.retain(|place| !is_meant(place));
        draft.places.extend(place.clone());
        RuleEdit::ReplaceWorkspace { id: rule.id.clone(), rule: draft }
    });
    let edits = edits.collect();
    Ok((edits, place))
}

/// The real path of what is there; of what is not, the absolute one.
fn meant(path: &Path) -> anyhow::Result<String> {
    let real = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    let real = real.with_context(|| format!("{} names no file", path.display()))?;
    let named = real.to_str().with_context(|| format!("expected a path in UTF-8, got {}", real.display()))?;
    Ok(named.to_owned())
}

/// The edit that closes a folder, by its path, which may be gone, or the rule with an id.
fn closed(paths: &Paths, folder: Option<&Path>, agent: Option<&str>) -> RuleEdit {
    let typed = folder.unwrap_or(Path::new("."));
    let rules = read(paths);
    let by_id = rules.workspaces.iter().map(|view| &view.rule.id).find(|id| typed == Path::new(id));
    if let Some(id) = by_id {
        return RuleEdit::RemoveRule { id: id.clone() };
    }
    let folder = here(folder).unwrap_or_else(|_| typed.to_string_lossy().into_owned());
    RuleEdit::CloseWorkspace { folder, agent: agent.unwrap_or("*").to_owned() }
}
