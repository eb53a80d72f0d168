//! Runs that a box holds: whether the folder is open for the agent, whether a box can be made there,
//! and the run itself.

use super::crossings::{self, ASK_OUTSIDE, Account, Crossroads};
use super::kept::Before;
use super::own_rules::{OwnRules, Ruled};
use super::placement::Placement;
use super::ready::Kept;
use super::record::Held;
use super::refusal::Refusal;
use super::request::{Checked, check};
use super::{Host, Judged, unwritten};
use crate::executor::sandbox::{self, Lapsed, PlaceProblem, Unavailable};
use crate::executor::{Controls, NotStarted, RunOutput, Tap};
use countersign_approvals::rules::Current;
use countersign_policy::ContainedCommand;
use countersign_policy::beyond::destinations;
use countersign_policy::calls::CallFacts;
use countersign_policy::display;
use countersign_policy::evaluate::{Contained, Evaluation, Subject, Verdict, Walls, evaluate};
use countersign_policy::facts::Facts;
use countersign_policy::rules::Folders;
use countersign_protocol::digits::hex;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{
    Attendance, FolderStanding, PlaceAccess, RuleLimits, RuleOrigin, Workspace, WorkspacePlace,
};
use countersign_protocol::settings::ForwardedGrants;
use countersign_protocol::socket::{Confinement, ExecPayload, ExecRequest, Printed};
use countersign_protocol::vocabulary::Ask;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The box that a command could run in, kept for as long as it is judged.
#[derive(Clone, Debug, Default)]
pub(super) enum Around {
    /// None.
    #[default]
    Nothing,
    /// One around this folder.
    Folder(Box<Workspace>),
    /// The folder is open, and this stands in the way.
    Missing(String),
}

impl Around {
    pub(super) fn walls(&self) -> Walls<'_> {
        match self {
            Self::Nothing => Walls::None,
            Self::Folder(workspace) => Walls::Around(workspace),
            Self::Missing(why) => Walls::Missing(why),
        }
    }

    pub(super) fn contained(&self) -> Option<Contained> {
        match self {
            Self::Folder(workspace) => Some(Contained::by(workspace)),
            Self::Nothing | Self::Missing(_) => None,
        }
    }

    /// Refuses where there is no box to run in.
    pub(super) fn required(&self) -> Result<(), Refusal> {
        match self {
            Self::Folder(_) => Ok(()),
            Self::Nothing => {
                Err(Refusal::no_box("its folder is not open; a person opens it with `countersign box open`"))
            }
            Self::Missing(why) => Err(Refusal::no_box(why)),
        }
    }
}

impl Host {
    /// The box around the folder in which a run would start, as the rules say now. Where nobody is asked, a
    /// folder that is open for that comes first; another one is found too, so that it is told why
    /// it does not count.
    pub(super) async fn around(
        &self,
        place: (&Placement, Option<Confinement>),
        facts: &Facts,
        own: &OwnRules,
        attendance: Attendance,
    ) -> Around {
        let (Placement::Here { .. }, None | Some(Confinement::Box)) = place else { return Around::Nothing };
        let Some(cwd) = &facts.cwd else { return Around::Nothing };
        let first = own.open_around(&cwd.real_path, attendance);
        let Some(workspace) = first.or_else(|| own.open_around(&cwd.real_path, Attendance::Attended)) else {
            return Around::Nothing;
        };
        match sandbox::check_box(&self.boxed(&workspace, own), &self.grounds()).await {
            Ok(()) => Around::Folder(Box::new(workspace)),
            Err(why) => Around::Missing(format!("{why}; {}", why.remedy())),
        }
    }

    /// Refuses a folder that nobody may open, or that no box can be made around. `folder` is what a rule
    /// would say: a real path.
    pub async fn may_be_opened(&self, folder: &str) -> Result<(), Unavailable> {
        sandbox::check_box(&sandbox::Workspace::around(folder), &self.grounds()).await
    }

    /// Refuses a place that no box around `folder` may have. Both are what a rule would say: real paths.
    pub async fn may_have(&self, place: &WorkspacePlace, folder: &str) -> Result<(), PlaceProblem> {
        let (grounds, place, open) = (self.grounds(), place.clone(), PathBuf::from(folder));
        let path = PathBuf::from(&place.path);
        let looked = tokio::task::spawn_blocking(move || sandbox::may_have(&place, &open, &grounds)).await;
        looked.unwrap_or(Err(PlaceProblem::Missing(path)))
    }

    /// Does [`note_hidden`] for the boxes of this host.
    pub async fn note_hidden(&self, edits: &[RuleEdit]) -> io::Result<()> {
        let (boxes, edits) = (self.parts.boxes.clone(), edits.to_vec());
        let noted = tokio::task::spawn_blocking(move || note_hidden(&boxes, &edits)).await;
        noted.map_err(io::Error::other)?
    }

    /// What does not hold of stored rules about folders, of each in their order.
    pub async fn lapsed(&self, rules: Vec<Workspace>) -> Vec<Lapsed> {
        let grounds = self.grounds();
        let looked = tokio::task::spawn_blocking(move || {
            rules.iter().map(|rule| Lapsed::of(rule, &grounds)).collect()
        });
        looked.await.unwrap_or_default()
    }

    /// Whether a box would hold `request` if it came now. Nothing runs, and nothing is written down.
    pub async fn would_contain(&self, request: ExecRequest) -> bool {
        let here = Placement::default();
        let Ok(checked) = check(request, here, &self.parts.home, ForwardedGrants::Never) else {
            return false;
        };
        // Most people's commands come while nothing is open: they are judged once.
        let own = self.rules_of(&checked.agent, checked.session.as_ref(), Folders::new()).await;
        if own.opened().next().is_none() {
            return false;
        }
        let Ok(judged) = self.judge(&checked).await else { return false };
        matches!(evaluate(&judged.subject(&checked), None).verdict, Verdict::Contain(_))
    }

    /// `first`, with what keeps the command out of the box of its open folder where its asker has one to run
    /// it in. Whoever runs it is judged without one: it would have heard of a box that holds it.
    pub(super) async fn with_its_box<'a>(
        &self,
        checked: &Checked,
        judged: &Judged,
        first: &'a Evaluation,
    ) -> Cow<'a, Evaluation> {
        if checked.contained.is_none() {
            return Cow::Borrowed(first);
        }
        let Judged { facts, own, policy, .. } = judged;
        let around = self.around((&checked.placement, None), facts, own, policy.attendance()).await;
        let subject = Subject { walls: around.walls(), ..judged.subject(checked) };
        let mut told = first.clone();
        told.held = evaluate(&subject, None).held;
        Cow::Owned(told)
    }

    /// Follows the rules.
    pub fn watch_rules(&self) -> watch::Receiver<Arc<Current>> {
        self.parts.rules.watch()
    }

    /// The folder that a person could open for the agent, so that this command and others there run in a box.
    pub(super) fn openable(&self, checked: &Checked, judged: &Judged) -> Option<String> {
        let (Placement::Here { .. }, Around::Nothing, Ask::OnMiss, Some(cwd)) =
            (&checked.placement, &judged.around, judged.policy.ask.value, &judged.facts.cwd)
        else {
            return None;
        };
        if checked.confinement == Some(Confinement::Outside) {
            return None;
        }
        let folder = cwd.real_path.to_str()?;
        if !sandbox::can_be_offered(&sandbox::Workspace::around(folder), &self.grounds()) {
            return None;
        }
        // Only where it would help.
        let workspace = Workspace {
            id: String::new(),
            agent: checked.agent.to_string(),
            folder: folder.to_owned(),
            standing: FolderStanding::Open,
            attendance: Attendance::Attended,
            places: Vec::new(),
            limits: RuleLimits::default(),
            note: None,
            created_at_ms: 0,
            from: RuleOrigin::Answer,
        };
        let subject = Subject { walls: Walls::Around(&workspace), ..judged.subject(checked) };
        matches!(evaluate(&subject, None).verdict, Verdict::Contain(_)).then(|| folder.to_owned())
    }

    /// Waits until a box holds the command after all: a person opened its folder while they were asked about
    /// it. Never ends where that does not happen. Dropping it changes nothing.
    pub(super) async fn opened(&self, checked: &Checked, judged: &Judged) {
        let mut rules = self.parts.rules.watch();
        while self.opened_now(checked, judged).await.is_none() {
            if rules.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// What the rules come to for the command by now, where a box holds it.
    pub(super) async fn opened_now(
        &self,
        checked: &Checked,
        judged: &Judged,
    ) -> Option<(OwnRules, Around, Evaluation)> {
        let Judged { analysis, facts, policy, .. } = judged;
        let own = self.own_rules(checked.who(), &checked.argv, analysis, facts).await;
        let around = self.around(checked.place(), facts, &own, policy.attendance()).await;
        let subject = Subject { local: own.local(), walls: around.walls(), ..judged.subject(checked) };
        let evaluation = evaluate(&subject, None);
        matches!(evaluation.verdict, Verdict::Contain(_)).then_some((own, around, evaluation))
    }

    /// What an open folder lets a tool of an agent's own do to files: what a command in the box could do
    /// to them as well.
    pub(super) async fn open_for_call(
        &self,
        agent: &AgentId,
        session: Option<&SessionKey>,
        call: &CallFacts,
        attendance: Attendance,
    ) -> Ruled {
        let own = self.rules_of(agent, session, Folders::new()).await;
        let paths: Vec<&Path> = call.files.iter().flat_map(|file| &file.paths).map(Path::new).collect();
        let around = paths.first().and_then(|first| own.open_around(first.parent()?, attendance));
        let Some(workspace) = around.filter(|_| call.files.iter().all(|file| !file.paths.is_empty())) else {
            return Ruled::Nothing;
        };
        let folder = Path::new(&workspace.folder);
        let is_hidden =
            |path: &Path| workspace.with(PlaceAccess::Hidden).any(|hidden| path.starts_with(hidden));
        match paths.iter().all(|path| sandbox::may_be_written(folder, path) && !is_hidden(path)) {
            true => Ruled::Allow(vec![workspace.id]),
            false => Ruled::Nothing,
        }
    }

    /// Runs what is contained where it is contained, and has `before` be what was in the folder before. That
    /// is looked at while the box is made, and `recorded` writes down that it may run; the command waits for
    /// all three, and is not started where it cannot be recorded.
    #[expect(clippy::too_many_arguments, reason = "one call site; a struct would only rename them")]
    pub(super) async fn contain(
        &self,
        command: ContainedCommand,
        judged: &Judged,
        run: &crossings::Run,
        box_env: BTreeMap<String, String>,
        mut controls: Controls,
        before: &mut Option<Before>,
        recorded: impl Future<Output = Result<(), Refusal>>,
    ) -> Result<Result<(RunOutput, Held), NotStarted>, Refusal> {
        let ready = CancellationToken::new();
        controls.cancel = controls.cancel.child_token();
        let ends = controls.cancel.clone();
        let look = async {
            let (recorded, kept) = tokio::join!(recorded, self.kept.before(&run.folder));
            if recorded.is_ok() {
                *before = Some(kept);
                ready.cancel();
            } else {
                ends.cancel();
            }
            recorded
        };
        let runs = self.contain_when(command, judged, run, box_env, controls, &ready);
        let (ran, recorded) = tokio::join!(runs, look);
        recorded.map(|()| ran)
    }

    /// The same, where the command waits for `ready` alone. What failed and is known to want more than the
    /// box has says so at the end of its output, for the agent: else it would try again in other ways.
    async fn contain_when(
        &self,
        command: ContainedCommand,
        judged: &Judged,
        run: &crossings::Run,
        box_env: BTreeMap<String, String>,
        controls: Controls,
        ready: &CancellationToken,
    ) -> Result<(RunOutput, Held), NotStarted> {
        let tap = controls.tap.clone();
        let open = match &judged.around {
            Around::Folder(open) if open.folder == command.contained().folder => open,
            _ => return Err(closed(&command.contained().folder).into()),
        };
        let mut around = self.boxed(open, &judged.own);
        around.scratch = self.scratches.of(&around.caches, Instant::now());
        let ready_box = match controls.terminal {
            None => self.ready.take(&around),
            // It would hold what the caches' changes go to.
            Some(_) => self.ready.take(&around).and(None),
        };
        let wanted = destinations(&judged.analysis, command.command().argv(), &judged.facts);
        let (crossroads, standing) = match ready_box {
            Some(Kept { crossroads, standing, .. }) => (Some(Ok(crossroads)), Some(standing)),
            None => {
                (sandbox::has_an_entrance().then(|| Crossroads::open(&around.caches, &self.base_env)), None)
            }
        };
        let crossroads = crossroads.and_then(|opened| {
            opened
                .inspect_err(
                    |error| tracing::error!(%error, "the gate of a box cannot be opened; it has no network"),
                )
                .ok()
        });
        let grounds = self.grounds();
        let folder = command.contained().folder.clone();
        let mut boxed = around.clone();
        boxed.variables = box_env;
        let Some(crossroads) = crossroads else {
            let mut ran =
                sandbox::run_in_box(command, &self.base_env, &boxed, &grounds, controls, ready, None).await?;
            let (said, unwritten) = unwritten::told(&ran.payload, &around, &grounds).unzip();
            let mut said = said.unwrap_or_default();
            if !ran.payload.success && !wanted.is_empty() {
                let names: Vec<String> = wanted.iter().map(|one| display::escape(&one.to_string())).collect();
                said.push_str(&format!("{NO_NETWORK} {}; {ASK_OUTSIDE}\n", names.join(", ")));
            }
            add(&mut ran.payload, &said, &tap).await;
            return Ok((ran, Held { within: Some(folder), unwritten, ..Held::default() }));
        };
        boxed.way_out = Some(sandbox::WayOut { socket: crossroads.socket(), keys: crossroads.keys() });
        let runs = sandbox::run_in_box(command, &self.base_env, &boxed, &grounds, controls, ready, standing);
        let (ran, Account { reached, refused }) = crossroads.attend(self, &judged.own, run, runs).await;
        self.ready.want(around);
        let mut ran = ran?;
        let (said, unwritten) = unwritten::told(&ran.payload, &boxed, &grounds).unzip();
        let mut said = said.unwrap_or_default();
        said.extend(refused);
        add(&mut ran.payload, &said, &tap).await;
        Ok((ran, Held { within: Some(folder), reached, unwritten }))
    }

    /// What a box around `folder` shows beside what every box does.
    fn boxed(&self, open: &Workspace, own: &OwnRules) -> sandbox::Workspace {
        let folder = &open.folder;
        // One that holds this one would hide it, and what is in this one is this one's.
        let is_elsewhere =
            |other: &PathBuf| !other.starts_with(folder) && !Path::new(folder).starts_with(other);
        let mut workspace = sandbox::Workspace::around(folder);
        workspace.caches = self.parts.boxes.join(box_name(folder));
        workspace.hidden = own.opened().filter(is_elsewhere).collect();
        let grounds = self.grounds();
        for place in &open.places {
            let path = PathBuf::from(&place.path);
            match place.access {
                PlaceAccess::Hidden => workspace.hidden.push(path),
                // What is there may have become something else since the person said so.
                access => match (sandbox::may_have(place, Path::new(folder), &grounds), access) {
                    (Err(problem), _) => {
                        tracing::warn!(%problem, "a box goes without a place of its folder");
                        workspace.lapsed.push(problem);
                    }
                    (Ok(()), PlaceAccess::Write) => workspace.writable.push(path),
                    (Ok(()), _) => workspace.shown.push(path),
                },
            }
        }
        workspace.limits = BOX_LIMITS;
        workspace
    }
}

/// Notes what is at the places that edits of rules hide in open folders, so that boxes find it by whatever
/// name it has when they are made. `boxes` is where they keep what is theirs. An error where that cannot be
/// known or kept. Blocking.
pub fn note_hidden(boxes: &Path, edits: &[RuleEdit]) -> io::Result<()> {
    for edit in edits {
        let (RuleEdit::OpenWorkspace { rule } | RuleEdit::ReplaceWorkspace { rule, .. }) = edit else {
            continue;
        };
        let hidden = rule.places.iter().filter(|place| place.access == PlaceAccess::Hidden);
        let hidden: Vec<PathBuf> = hidden.map(|place| PathBuf::from(&place.path)).collect();
        if rule.standing.is_open() && !hidden.is_empty() {
            let mut workspace = sandbox::Workspace::around(&rule.folder);
            workspace.caches = boxes.join(box_name(&rule.folder));
            workspace.hidden = hidden;
            sandbox::remember_hidden(&workspace)?;
        }
    }
    Ok(())
}

/// Names what the boxes around a folder keep.
fn box_name(folder: &str) -> String {
    let mut name = hex(Sha256::digest(folder.as_bytes()));
    name.truncate(BOX_NAME_DIGITS);
    name
}

fn closed(folder: &str) -> Unavailable {
    Unavailable::Folder { path: PathBuf::from(folder), why: "it is not open any more" }
}

/// Says something at the end of what a command printed.
pub(super) async fn add(ran: &mut ExecPayload, said: &str, tap: &Tap) {
    ran.stderr.push_str(said);
    tap.adds(Printed::Stderr, said).await;
}

/// What an agent is told of a command that failed.
const NO_NETWORK: &str = "countersign: the box has no network, and this wants";

/// What a run in a box may use up: enough for builds of large projects.
const BOX_LIMITS: sandbox::Limits = sandbox::Limits { processes: Some(8_192), memory: None, time: None };

/// Digits of a folder's digest that name what its boxes keep: enough that no two folders share any.
const BOX_NAME_DIGITS: usize = 32;
