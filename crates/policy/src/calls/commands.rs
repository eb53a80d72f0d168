//! Commands that do what a rule about calls refuses: they fetch from a host, or write into a folder.

use super::{CallFacts, CallNature, TouchedFile, could_match, has_name, is_live};
use crate::beyond::{self, How, Wanted, Writes, destinations, goes_anywhere, through_proc};
use crate::facts::Facts;
use crate::powers::{is_known, runs_others, talks};
use crate::rules::{Moment, reads_by_its_name};
use core::net::Ipv6Addr;
use countersign_commands::analysis::{Analysis, Segment};
use countersign_commands::command::carriers::rough;
use countersign_commands::programs::Name;
use countersign_protocol::rules::{CallRule, CallSubject, RuleEffect};
use std::cell::LazyCell;
use std::path::{Component, Path, PathBuf};

/// What rules about calls say of a command.
#[must_use]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effects {
    /// No rule that refuses is about what it is seen to do.
    Free,
    /// It may do what the rule with this index refuses, and nothing in its words tells.
    Unclear(usize),
    /// The rule with this index refuses what it does.
    Refused(usize),
}

/// What is on the disk around a command.
pub trait Disk {
    /// A path without links, as far as it is there.
    fn real(&self, path: &Path) -> PathBuf;
    /// Whether a folder is there.
    fn is_folder(&self, path: &Path) -> bool;
    /// Whether a file is there that has another name too (hard link).
    fn has_other_names(&self, path: &Path) -> bool;
    /// The folder of the repository that `folder` lies in; itself where there is none.
    fn repository(&self, folder: &Path) -> PathBuf;
}

/// What the rules say that refuse changes or hosts, of a command that is seen to do so, or may do so and does
/// not say; `argv` is its argument list, empty for a text. Where a program goes that nobody described, and
/// what it writes by itself, is not seen. Blocking where `disk` is.
pub fn effects_of_command(
    rules: &[CallRule],
    (analysis, argv, facts): (&Analysis, &[String], &Facts),
    moment: Moment<'_>,
    disk: &dyn Disk,
) -> Effects {
    let is_about_effects =
        |rule: &CallRule| matches!(rule.about, CallSubject::Host { .. } | CallSubject::Files { .. });
    let refuses =
        |rule: &CallRule| rule.effect == RuleEffect::Deny && is_about_effects(rule) && is_live(rule, moment);
    if !rules.iter().any(refuses) {
        return Effects::Free;
    }
    let changes = Changes::of((analysis, argv, facts), disk);
    let call = CallFacts {
        hosts: hosts(analysis, argv, facts),
        files: vec![TouchedFile { paths: changes.named.clone(), ..TouchedFile::default() }],
        nature: CallNature::Fetches,
        ..CallFacts::default()
    };
    if let Some(at) = rules.iter().position(|rule| refuses(rule) && could_match(&rule.about, &call)) {
        return Effects::Refused(at);
    }
    let goes_anywhere = LazyCell::new(|| goes_anywhere(analysis, argv, facts));
    let is_unclear = |about: &CallSubject| match about {
        CallSubject::Files { below, names } => changes.may_reach(below, names.as_deref()),
        CallSubject::Host { .. } => *goes_anywhere,
        CallSubject::Crossing { .. } | CallSubject::Registries { .. } | CallSubject::Tool { .. } => false,
    };
    let unclear = rules.iter().position(|rule| refuses(rule) && is_unclear(&rule.about));
    unclear.map_or(Effects::Free, Effects::Unclear)
}

/// What a command changes, with and without the links that are there.
struct Changes {
    /// Paths of files and folders that it changes.
    named: Vec<String>,
    /// Folders below which it may change anything, and files that it gives another name.
    around: Vec<PathBuf>,
    /// What it names to a program that may change it, and whether that is a folder.
    given: Vec<(PathBuf, bool)>,
    /// Whether it may change something anywhere.
    elsewhere: bool,
}

impl Changes {
    fn of((analysis, argv, facts): (&Analysis, &[String], &Facts), disk: &dyn Disk) -> Self {
        let folder = facts.cwd.as_ref().map_or(Path::new("/"), |cwd| &cwd.real_path);
        let mut all = Self { named: Vec::new(), around: Vec::new(), given: Vec::new(), elsewhere: false };
        let writes = writes(analysis, argv, facts);
        all.elsewhere = writes.elsewhere;
        let is_alone = analysis.segments.len() == 1 && analysis.opaque.is_none();
        for (path, how) in writes.places {
            let path = through_proc(&path, folder);
            let real = disk.real(&path);
            match how {
                How::Changed | How::Removed => {
                    all.elsewhere |= how == How::Changed && disk.has_other_names(&real);
                    all.named.extend(
                        [&real, &path].into_iter().filter_map(|path| path.to_str()).map(str::to_owned),
                    );
                }
                // What the command makes before is no folder yet.
                How::Below if is_alone && !disk.is_folder(&real) => {}
                // A link is no harm by itself: what is later changed through it is seen where it leads.
                How::Linked if is_alone && is_symbolic(analysis) => {}
                How::Below | How::Linked => all.around.extend([real, path]),
                How::Named => {
                    let is_folder = disk.is_folder(&real);
                    all.given.extend([(real, is_folder), (path, is_folder)]);
                }
                How::Repository => all.around.push(disk.repository(&real)),
            }
        }
        all.named.sort();
        all.named.dedup();
        all
    }

    /// Whether something below this folder may be changed that no word names.
    fn may_reach(&self, below: &str, names: Option<&str>) -> bool {
        let is_given = |(given, is_folder): &(PathBuf, bool)| {
            given.starts_with(below)
                && (*is_folder || given.to_str().is_none_or(|given| has_name(given, names)))
        };
        self.elsewhere
            || self.given.iter().any(is_given)
            || self
                .around
                .iter()
                .any(|around| around.starts_with(below) || Path::new(below).starts_with(around))
    }
}

/// Whether the one command of a text makes links that show where they lead.
fn is_symbolic(analysis: &Analysis) -> bool {
    let words = analysis.segments.iter().flat_map(|segment| segment.effective());
    let letters = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('s');
    words.map(|word| word.text.as_str()).any(|word| word == "--symbolic" || letters(word))
}

/// Hosts that a command is known to go to, and those that words of anything but a reader name: behind a
/// scheme, and for a program that may talk to other machines anywhere.
fn hosts(analysis: &Analysis, argv: &[String], facts: &Facts) -> Vec<String> {
    let known = destinations(analysis, argv, facts).into_iter().filter_map(|wanted| match wanted {
        Wanted::Host(host) => Some(host),
        _ => None,
    });
    let is_read = |segment: &&Segment| {
        !reads_by_its_name(segment.words.iter().map(|word| (word.text.as_str(), word.expands)))
    };
    let segments = || analysis.segments.iter().filter(is_read);
    let words =
        segments().filter(|segment| !only_takes_texts(analysis, segment)).flat_map(|segment| &segment.words);
    let named = words.flat_map(|word| hosts_in(&word.text));
    let anywhere = segments().filter(|segment| may_talk(segment)).flat_map(hosts_anywhere);
    // `https_proxy=HOST curl …`
    let assigned = segments().filter(|segment| may_talk(segment)).flat_map(|segment| &segment.assignments);
    let assigned = assigned.flat_map(|word| parts_of(&word.text));
    known
        .chain(named)
        .chain(anywhere)
        .chain(assigned)
        .map(|host| host.trim_end_matches('.').to_lowercase())
        .collect()
}

/// Whether a host in a segment's words is a text to it: the shell prints them, or git keeps them. Options in
/// front of git's command may name what it starts.
fn only_takes_texts(analysis: &Analysis, segment: &Segment) -> bool {
    let words: Vec<&str> = segment.effective().iter().map(|word| word.text.as_str()).collect();
    let is_kept = match words.as_slice() {
        [program, command, ..] if Name::of(program).as_str() == "git" => {
            matches!(*command, "add" | "commit" | "notes" | "tag")
        }
        _ => false,
    };
    analysis.is_harmless_builtin(segment) || is_kept
}

/// Whether a program may talk to other machines: it is known for that, or nothing is known of it.
fn may_talk(segment: &Segment) -> bool {
    let words: Vec<&str> = segment.effective().iter().map(|word| word.text.as_str()).collect();
    let Some((program, arguments)) = words.split_first() else { return false };
    let name = Name::of(program);
    // `tar` fetches what it is given as `HOST:FILE`.
    let is_tar = || matches!(name.as_str(), "tar" | "gtar" | "cpio" | "mt");
    talks(&name, arguments) || !is_known(&name) || runs_others(&name) || is_tar()
}

/// Everything in words that could be a host's name or address, whatever stands around it: `https:docs.rs`,
/// `TCP:docs.rs:80`, `-hdocs.rs`, `/dev/tcp/docs.rs/80`. Blanks in an address are left out by who reads it.
fn hosts_anywhere(segment: &Segment) -> Vec<String> {
    let mut found = Vec::new();
    let words: Vec<&str> = segment.effective().iter().map(|word| word.text.as_str()).collect();
    let is_talker = words.split_first().is_some_and(|(program, rest)| talks(&Name::of(program), rest));
    for word in segment.effective().iter().skip(1) {
        let text: String = word.text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
        // An address says its host by itself, and to who talks by itself what has blanks is a sentence.
        if text.contains("://") || (text.contains(' ') && is_talker) {
            found.extend(hosts_in(&text));
            continue;
        }
        found.extend(parts_of(&text));
        // Glued to the letter of a flag.
        found.extend(text.strip_prefix('-').and_then(|rest| rest.get(1..)).map(str::to_owned));
    }
    found.retain(|name| name != "0");
    // `nc 0 80` is this machine; elsewhere a nought is a number.
    let mut words = segment.effective().iter().map(|word| word.text.as_str());
    let is_nought = words.nth(1) == Some("0") || words.any(|word| word.starts_with("0:"));
    found.extend(is_nought.then(|| "0".to_owned()));
    found
}

/// The parts of a text that could be names of hosts or addresses.
fn parts_of(text: &str) -> Vec<String> {
    let parts =
        |inside: &'static str| text.split(move |c: char| !(c.is_ascii_alphanumeric() || inside.contains(c)));
    let names = parts("._-").filter(|name| !name.is_empty());
    names.chain(parts("._-:").filter(|part| part.parse::<Ipv6Addr>().is_ok())).map(str::to_owned).collect()
}

/// Hosts of the addresses with a scheme in a text.
fn hosts_in(text: &str) -> Vec<String> {
    let starts = text.match_indices("://").filter_map(|(at, sign)| text.get(at + sign.len()..));
    let hosts = starts.filter_map(|rest| {
        let authority = rest.split(['/', '?', '#', '\\', '"', '\'', ' ', ',', ')']).next()?;
        let host = authority.rsplit('@').next()?;
        let host = match host.strip_prefix('[') {
            Some(address) => address.split(']').next()?,
            None => host.split(':').next()?,
        };
        (!host.is_empty()).then(|| host.to_owned())
    });
    hosts.collect()
}

/// What a command may change, and what a text in it would have a shell write: from each folder that it may be
/// in by then.
fn writes(analysis: &Analysis, argv: &[String], facts: &Facts) -> Writes {
    let is_reader = analysis.segments.iter().all(|segment| {
        reads_by_its_name(segment.words.iter().map(|word| (word.text.as_str(), word.expands)))
    });
    if is_reader && !analysis.source.contains('>') && !analysis.segments.is_empty() {
        return Writes::default();
    }
    let mut writes = beyond::writes(analysis, argv, facts);
    writes.places.extend(in_texts(analysis, facts).into_iter().map(|path| (path, How::Changed)));
    writes
}

fn in_texts(analysis: &Analysis, facts: &Facts) -> Vec<PathBuf> {
    let Some(folder) = facts.cwd.as_ref().map(|cwd| cwd.real_path.clone()) else { return Vec::new() };
    let from = |folder: &Path, name: &str| match name.strip_prefix("~/") {
        Some(rest) => normal(&facts.home.join(rest)),
        None => normal(&folder.join(name)),
    };
    let mut folders = vec![folder];
    let mut written = Vec::new();
    for simple in all_in(&analysis.source, 0) {
        if let [cd, target, ..] = simple.words.as_slice()
            && cd == "cd"
        {
            let moved: Vec<PathBuf> = folders.iter().map(|folder| from(folder, target)).collect();
            folders.extend(moved);
            folders.truncate(FOLDERS);
        }
        let files = simple.written.iter();
        written.extend(files.flat_map(|name| folders.iter().map(|folder| from(folder, name))));
    }
    written
}

/// The commands of a text and those of texts that its words are, as far as these are given to anything but a
/// program that only reads or prints: a shell, or whatever hands them to one.
fn all_in(text: &str, depth: usize) -> Vec<rough::Simple> {
    let mut all = Vec::new();
    for simple in rough::read(text) {
        let inner = match depth < DEPTH
            && !reads_by_its_name(simple.words.iter().map(|word| (word.as_str(), false)))
        {
            true => simple.words.iter().skip(1).filter(|word| word.contains('>')).cloned().collect(),
            false => Vec::new(),
        };
        all.push(simple);
        all.extend(inner.iter().flat_map(|text: &String| all_in(text, depth + 1)));
    }
    all
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

/// How deep texts in texts are read.
const DEPTH: usize = 3;

/// Most folders from which a file may be written by one text.
const FOLDERS: usize = 16;
