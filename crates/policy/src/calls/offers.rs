//! What could be remembered about a call, narrowest first.

use super::{CallFacts, CallNature, Crossing, TouchedFile, covers_file};
use crate::allowlist::glob;
use countersign_protocol::question::AlwaysUnavailable;
use countersign_protocol::remember::{Longest, Rung};
use countersign_protocol::rules::{CallSubject, NetPlace};
use std::path::Path;

/// One rung for a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CallChoice {
    /// Which.
    pub rung: Rung,
    /// What the rules that would be stored together are about.
    pub about: Vec<CallSubject>,
    /// How long they may be kept.
    pub longest: Longest,
}

/// The rungs for a call, at least one, or why there is none.
pub fn choices(call: &CallFacts) -> Result<Vec<CallChoice>, AlwaysUnavailable> {
    if let Some(crossing) = &call.crossing {
        return about_crossing(crossing);
    }
    if !call.files.is_empty() {
        return about_files(call);
    }
    let one = |rung, about, longest| Ok(vec![CallChoice { rung, about: vec![about], longest }]);
    match (call.nature, call.hosts.as_slice()) {
        (CallNature::Fetches, [host]) if is_public(host) => {
            one(Rung::Host, CallSubject::Host { host: host.clone() }, Longest::Always)
        }
        (CallNature::Reads, _) => one(Rung::Tool, tool(call), Longest::Always),
        // A name proves nothing: for as long as somebody has an eye on it.
        (CallNature::SaysItReads, _) => one(Rung::Tool, tool(call), Longest::Session),
        (CallNature::Acts | CallNature::Fetches | CallNature::Unknown, _) => Err(AlwaysUnavailable::NoEffect),
    }
}

/// This destination, or all registries that it is one of; for the folder at hand, whose boxes may write
/// what they fetch.
fn about_crossing(crossing: &Crossing) -> Result<Vec<CallChoice>, AlwaysUnavailable> {
    let within = || Some(crossing.folder.clone());
    let longest = match crossing.place {
        NetPlace::Internet | NetPlace::Private | NetPlace::ThisMachine => Longest::Always,
        NetPlace::LinkLocal => Longest::Session,
        NetPlace::Metadata | NetPlace::Unroutable => return Err(AlwaysUnavailable::Perilous),
    };
    let about = CallSubject::Crossing {
        host: crossing.host.clone(),
        port: crossing.port,
        place: crossing.place,
        within: within(),
    };
    let mut choices = vec![CallChoice { rung: Rung::Destination, about: vec![about], longest }];
    if crossing.place == NetPlace::Internet && !crossing.groups.is_empty() {
        let about = |group: &String| CallSubject::Registries { group: group.clone(), within: within() };
        let about = crossing.groups.iter().map(about).take(MAX_RULES).collect();
        choices.push(CallChoice { rung: Rung::Registries, about, longest });
    }
    Ok(choices)
}

fn tool(call: &CallFacts) -> CallSubject {
    CallSubject::Tool { name: call.tool.clone() }
}

fn about_files(call: &CallFacts) -> Result<Vec<CallChoice>, AlwaysUnavailable> {
    if call.files.iter().any(|file| file.plain_below.is_none()) {
        return Err(AlwaysUnavailable::RunsByItself);
    }
    let mut choices: Vec<CallChoice> = Vec::new();
    let mut offer = |rung, about: Option<Vec<CallSubject>>| {
        let Some(mut about) = about else { return };
        let mut seen = Vec::new();
        about.retain(|one| {
            !seen.contains(one) && {
                seen.push(one.clone());
                true
            }
        });
        let covers = |file: &TouchedFile| about.iter().any(|one| covers_file(one, file, call));
        let is_new = choices.iter().all(|other| other.about != about);
        // What is offered must keep what it promises.
        if about.len() <= MAX_RULES && is_new && call.files.iter().all(covers) {
            choices.push(CallChoice { rung, about, longest: Longest::Always });
        }
    };
    let paths = || call.files.iter().flat_map(|file| &file.paths).map(Path::new);
    offer(Rung::File, paths().map(itself).collect());
    let folder = call.folder.as_deref().filter(|folder| is_a_place_to_work(folder, call.home.as_deref()));
    if let Some(folder) = folder.filter(|folder| paths().all(|path| path.starts_with(folder))) {
        let below = |names| CallSubject::Files { below: folder.to_owned(), names };
        offer(Rung::Kind, paths().map(|path| Some(below(Some(ending(path)?)))).collect());
        offer(Rung::Folder, Some(vec![below(None)]));
    }
    if choices.is_empty() { Err(AlwaysUnavailable::NoEffect) } else { Ok(choices) }
}

/// A rule about one file.
fn itself(path: &Path) -> Option<CallSubject> {
    let name = path.file_name()?.to_str()?;
    let below = path.parent()?.to_str()?.to_owned();
    (!glob::has_wildcard(name)).then(|| CallSubject::Files { below, names: Some(name.to_owned()) })
}

/// Names with the same ending.
fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    let is_plain = ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| format!("*.{ending}"))
}

/// Whether a folder is one that somebody works in, and not one that holds everything.
fn is_a_place_to_work(folder: &str, home: Option<&str>) -> bool {
    let holds_home = home.is_none_or(|home| Path::new(home).starts_with(folder));
    !holds_home && Path::new(folder).components().count() > 2
}

/// A name of the public kind: what an address or a name of this network leads to, nobody can tell from it.
fn is_public(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_local = matches!(last, "local" | "localhost" | "internal" | "lan" | "home" | "arpa" | "test");
    host.contains('.') && !is_local && last.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// Most rules that one answer may leave behind: more are not read before they are stored.
const MAX_RULES: usize = 6;
