//! What a change of an agent's settings comes to, before and while it is written.

use crate::diff;
use crate::entry;
use crate::error::{ConnectError, Unfit};
use crate::files::{self, Found};
use crate::json::hooks::{self, Hooks};
use crate::json::members::{self, Place};
use crate::json::{self, Comments};
use crate::places::{Scope, Surroundings};
use crate::record::{Before, Kept, Record, Since, Written, digest};
use crate::standing;
use crate::table::{Agent, Event, File, Hook, Mcp, SERVER, Syntax};
use crate::toml;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How an agent asks here.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// It starts a program before it calls a tool.
    Hook,
    /// It calls tools of ours.
    Mcp,
}

/// A hook that is wanted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HookWish {
    /// When it is called.
    pub event: Event,
    /// This program, as the agent is to start it, with its arguments.
    pub words: Vec<String>,
    /// How long the hook takes at most.
    pub patience: Duration,
}

/// What is to happen to settings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Hook, server or both are put in.
    Connect {
        /// The hook.
        hook: Option<HookWish>,
        /// The words that start the server.
        mcp: Option<Vec<String>>,
    },
    /// The hook is taken out, for all events.
    RemoveHook,
    /// All of ours is taken back: the bytes from before where nothing else changed since, else what is ours.
    Undo,
}

/// A change that is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Whose settings.
    pub agent: &'static Agent,
    /// Which.
    pub scope: Scope,
    /// What.
    pub change: Change,
}

/// What a request comes to. Nothing is written before [`Plan::apply`].
#[derive(Debug)]
pub struct Plan {
    /// The files, also those that stay as they are.
    pub files: Vec<FileChange>,
    /// What else the person has to know.
    pub notes: Vec<String>,
    agent: &'static Agent,
    scope: Scope,
    /// What is there when it is written: which file each stands in.
    put: Vec<(Way, PathBuf)>,
    /// What is not there any more.
    gone: Vec<(Way, PathBuf)>,
}

/// What would become of one file.
#[derive(Debug)]
pub struct FileChange {
    /// The settings, as the agent finds them.
    pub path: PathBuf,
    /// The file itself: another one where links lead to it.
    pub file: PathBuf,
    /// What would change, as a unified diff; empty when nothing would.
    pub diff: String,
    before: Option<Found>,
    after: Option<String>,
    /// Whether there is something of ours in it before.
    has_ours: bool,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Applied {
    /// Where the bytes from before are, a file each.
    pub backups: Vec<PathBuf>,
    /// Folders that were made for files which are gone now, the outermost first.
    folders: Vec<PathBuf>,
}

impl Plan {
    /// Works out what a request would change. Blocking; writes nothing.
    pub fn of(request: &Request, around: Surroundings<'_>, record: &Record) -> Result<Self, ConnectError> {
        let Request { agent, scope, change: change_wanted } = request;
        let written = record.read()?;
        let mut plan = Self {
            files: Vec::new(),
            notes: Vec::new(),
            agent,
            scope: *scope,
            put: Vec::new(),
            gone: Vec::new(),
        };
        let all = Edit::taking_out(agent);
        let edits = match change_wanted {
            Change::Connect { hook, mcp } => {
                if hook.is_some() {
                    plan.notes = standing::hook_notes(agent, *scope, around);
                }
                Edit::putting_in(agent, hook.as_ref(), mcp.as_deref())?
            }
            Change::RemoveHook => all.iter().filter(|edit| edit.way() == Way::Hook).cloned().collect(),
            Change::Undo => all.clone(),
        };
        for edit in &edits {
            let Some(path) = agent.path(edit.file, *scope, around) else {
                if edit.is_taking() {
                    continue;
                }
                return Err(ConnectError::NoWay { agent: agent.title, what: "such settings in a project" });
            };
            let file = files::resolved(&path, *scope, around.folder)?;
            let index = match plan.files.iter().position(|change| change.file == file) {
                Some(index) => index,
                None => {
                    let before = files::read(&file)?;
                    let after = before.as_ref().map(|found| found.text.clone());
                    let diff = String::new();
                    plan.files.push(FileChange {
                        path,
                        file: file.clone(),
                        diff,
                        before,
                        after,
                        has_ours: false,
                    });
                    plan.files.len() - 1
                }
            };
            let change = &mut plan.files[index];
            let after = edit.applied(change.after.as_deref()).map_err(|source| ConnectError::Unfit {
                path: file.clone(),
                source,
                by_hand: edit.by_hand(),
            })?;
            change.after = after;
            match (edit.is_taking(), edit.what.is_main()) {
                (true, true) => plan.gone.push((edit.way(), file)),
                (false, true) => plan.put.push((edit.way(), file)),
                (_, false) => {}
            }
        }
        for change in &mut plan.files {
            let before = change.before.as_ref().map(|found| found.text.as_str());
            let is_here = |edit: &&Edit| {
                let path = agent.path(edit.file, *scope, around);
                path.is_some_and(|path| {
                    files::resolved(&path, *scope, around.folder).is_ok_and(|file| file == change.file)
                })
            };
            let without = all
                .iter()
                .filter(is_here)
                .try_fold(before.map(str::to_owned), |text, edit| edit.applied(text.as_deref()));
            change.has_ours = without.is_ok_and(|without| without.as_deref() != before);
            if *change_wanted == Change::Undo
                && let Some(original) = written.intact(&change.file, before).and_then(Kept::original)
            {
                change.after = original;
            }
            let name = change.file.display().to_string();
            change.diff = diff::unified(&name, before, change.after.as_deref());
        }
        Ok(plan)
    }

    /// Whether anything would be written.
    pub fn changes(&self) -> bool {
        self.files.iter().any(FileChange::changes)
    }

    /// Writes it, the bytes from before beside each file, and notes it at `now_ms`; says where those bytes are. After a crash each file
    /// is the old or the new one, whole. Blocking.
    pub fn apply(&self, record: &Record, now_ms: i64) -> Result<Applied, ConnectError> {
        for change in &self.files {
            if files::read(&change.file)? != change.before {
                return Err(ConnectError::Changed(change.file.clone()));
            }
        }
        let mut written = record.read()?;
        let mut applied = Applied::default();
        let mut done: Vec<&FileChange> = Vec::new();
        for change in self.files.iter().filter(|change| change.changes()) {
            if let Err(error) = change.write(self.scope, &mut written, &mut applied) {
                // One of several files alone would be half a connection.
                for change in done {
                    change.put_back();
                }
                return Err(error);
            }
            done.push(change);
        }
        // Those that somebody else put something into stay.
        for folder in applied.folders.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
        if self.note(&mut written, now_ms) || self.changes() {
            record.write(&written)?;
        }
        Ok(applied)
    }

    /// Notes since when what is connected; whether that is news.
    fn note(&self, written: &mut Written, now_ms: i64) -> bool {
        let of = |since: &Since, (way, file): &(Way, PathBuf)| {
            since.agent == self.agent.name && since.way == *way && since.file == *file
        };
        let before = written.ways.clone();
        written.ways.retain(|since| !self.gone.iter().any(|gone| of(since, gone)));
        for put in &self.put {
            if !written.ways.iter().any(|since| of(since, put)) {
                let (way, file) = put.clone();
                let agent = self.agent.name.to_owned();
                written.ways.push(Since { agent, way, scope: self.scope, file, at_ms: now_ms });
            }
        }
        written.ways != before
    }
}

impl FileChange {
    /// Whether it would be written.
    pub fn changes(&self) -> bool {
        self.after.as_deref() != self.before_text()
    }

    fn before_text(&self) -> Option<&str> {
        self.before.as_ref().map(|found| found.text.as_str())
    }

    fn write(&self, scope: Scope, written: &mut Written, applied: &mut Applied) -> Result<(), ConnectError> {
        let known = written.intact(&self.file, self.before_text()).map(|kept| kept.before.clone());
        let backup = files::backup_of(&self.file);
        let folders = files::make_folder(&self.file, scope)?;
        let before = match (known, &self.before) {
            (Some(known), _) => known,
            (None, None) => Before::Nothing { folders },
            (None, Some(found)) => {
                files::write(&backup, &found.text, found.mode)?;
                applied.backups.push(backup.clone());
                if self.has_ours { Before::Unknown } else { Before::Text { sha256: digest(&found.text) } }
            }
        };
        written.files.retain(|kept| kept.file != self.file);
        let Some(after) = &self.after else {
            files::remove(&self.file)?;
            if let Before::Nothing { folders } = before {
                applied.folders.extend(folders);
            }
            return Ok(());
        };
        let mode = self.before.as_ref().map_or(files::fresh_mode(scope), |found| found.mode);
        files::write(&self.file, after, mode)?;
        let after = digest(after);
        if before == (Before::Text { sha256: after.clone() }) {
            return files::remove(&backup);
        }
        written.files.push(Kept { file: self.file.clone(), after, before });
        Ok(())
    }

    /// After another file could not be written.
    fn put_back(&self) {
        let _ = match &self.before {
            Some(found) => files::write(&self.file, &found.text, found.mode),
            None => files::remove(&self.file),
        };
    }
}

/// A change of one file.
#[derive(Clone)]
struct Edit {
    agent: &'static Agent,
    file: &'static File,
    what: What,
}

#[derive(Clone)]
enum What {
    PutHook { hook: &'static Hook, event: &'static str, group: Value },
    TakeHook(&'static Hook),
    PutServer { mcp: &'static Mcp, server: Value },
    TakeServer(&'static Mcp),
    List { way: &'static [&'static str], entry: &'static str },
    Unlist { way: &'static [&'static str], entry: &'static str },
}

impl What {
    /// Whether this is hook or server itself, and not what goes with it.
    const fn is_main(&self) -> bool {
        !matches!(self, Self::List { .. } | Self::Unlist { .. })
    }
}

impl Edit {
    fn putting_in(
        agent: &'static Agent,
        hook: Option<&HookWish>,
        mcp: Option<&[String]>,
    ) -> Result<Vec<Self>, ConnectError> {
        let mut edits = Vec::new();
        let lacking = |what| ConnectError::NoWay { agent: agent.title, what };
        if let Some(wish) = hook {
            let hook = agent.hook.as_ref().ok_or(lacking("hook"))?;
            let event = hook.event_name(wish.event).ok_or(lacking("hook where it asks the person"))?;
            let group = hook.group(&wish.words, wish.patience);
            edits.push(Self { agent, file: &hook.file, what: What::PutHook { hook, event, group } });
        }
        if let Some(words) = mcp {
            let mcp = agent.mcp.as_ref().ok_or(lacking("settings for MCP servers"))?;
            let server = mcp.server(words);
            edits.push(Self { agent, file: &mcp.file, what: What::PutServer { mcp, server } });
            if let Some(listed) = &mcp.listed {
                let what = What::List { way: listed.way, entry: listed.entry };
                edits.push(Self { agent, file: &listed.file, what });
            }
        }
        Ok(edits)
    }

    fn taking_out(agent: &'static Agent) -> Vec<Self> {
        let hook = agent.hook.iter().map(|hook| (&hook.file, What::TakeHook(hook)));
        let server = agent.mcp.iter().map(|mcp| (&mcp.file, What::TakeServer(mcp)));
        let listed = agent.mcp.iter().filter_map(|mcp| mcp.listed.as_ref());
        let listed =
            listed.map(|listed| (&listed.file, What::Unlist { way: listed.way, entry: listed.entry }));
        hook.chain(server).chain(listed).map(|(file, what)| Self { agent, file, what }).collect()
    }

    const fn way(&self) -> Way {
        match self.what {
            What::PutHook { .. } | What::TakeHook(_) => Way::Hook,
            _ => Way::Mcp,
        }
    }

    const fn is_taking(&self) -> bool {
        matches!(self.what, What::TakeHook(_) | What::TakeServer(_) | What::Unlist { .. })
    }

    /// The text with this change, whole and understood.
    fn applied(&self, text: Option<&str>) -> Result<Option<String>, Unfit> {
        let Some(text) = text else {
            return Ok(self.by_hand());
        };
        let after = self.changed(text)?;
        self.file.syntax.check(&after)?;
        Ok(Some(after))
    }

    fn changed(&self, text: &str) -> Result<String, Unfit> {
        let comments = self.file.syntax.comments();
        let is_toml = self.file.syntax == Syntax::Toml;
        let is_ours = |command: &str| entry::is_our_hook(command, self.agent);
        let hooks = |events| Hooks { comments, events, is_ours: &is_ours };
        match &self.what {
            What::PutHook { hook, event, group } => hooks(&hook.event_names()).put(text, event, group),
            What::TakeHook(hook) => hooks(&hook.event_names()).take_out(text),
            What::PutServer { mcp, server } => {
                if let Some(Err(got)) = mcp.there(text)?.map(|there| entry::our_server(&there)) {
                    let place = [mcp.way, &[SERVER]].concat().join(".");
                    return Err(Unfit::Taken { place, got });
                }
                if is_toml {
                    return toml::put(text, mcp.way, SERVER, server);
                }
                Place { comments, way: mcp.way }.put(text, SERVER, server)
            }
            What::TakeServer(mcp) => {
                // Somebody else's of the same name stays.
                if !matches!(mcp.there(text)?.map(|there| entry::our_server(&there)), Some(Ok(_))) {
                    return Ok(text.to_owned());
                }
                if is_toml {
                    return toml::take_out(text, mcp.way, SERVER);
                }
                Place { comments, way: mcp.way }.take_out(text, SERVER)
            }
            What::List { way, entry } => Place { comments, way }.list(text, entry),
            What::Unlist { way, entry } => Place { comments, way }.unlist(text, entry),
        }
    }

    /// A file that has nothing else; `None` where nothing is put in.
    fn by_hand(&self) -> Option<String> {
        Some(match &self.what {
            What::PutHook { event, group, .. } => hooks::fresh(event, group),
            What::PutServer { mcp, server } if mcp.file.syntax == Syntax::Toml => {
                toml::put("", mcp.way, SERVER, server).ok()?
            }
            What::PutServer { mcp, server } => members::fresh(mcp.way, SERVER, server),
            What::List { way, entry } => members::fresh_list(way, entry),
            What::TakeHook(_) | What::TakeServer(_) | What::Unlist { .. } => return None,
        })
    }
}

impl Mcp {
    /// What is called like our server in a text.
    pub(crate) fn there(&self, text: &str) -> Result<Option<Value>, Unfit> {
        match self.file.syntax {
            Syntax::Toml => toml::get(text, &[self.way, &[SERVER]].concat()),
            syntax => Place { comments: syntax.comments(), way: self.way }.get(text, SERVER),
        }
    }
}

impl Syntax {
    pub(crate) const fn comments(self) -> Comments {
        match self {
            Self::JsonWithComments => Comments::Taken,
            Self::Json | Self::Toml => Comments::Refused,
        }
    }

    /// Whether a text can be read at all.
    fn check(self, text: &str) -> Result<(), Unfit> {
        let read = match self {
            Self::Json | Self::JsonWithComments => json::parse(text, self.comments()).map(|_| ()),
            Self::Toml => toml::parse(text).map(|_| ()),
        };
        read.map_err(|_| Unfit::Tangled)
    }
}

/// What is in a file of settings that is only looked at; nothing where it cannot be.
pub(crate) fn look(path: &Path) -> Result<Option<String>, ConnectError> {
    Ok(files::read(path)?.map(|found| found.text))
}
