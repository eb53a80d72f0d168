//! Commands that do what a rule about calls refuses: they fetch from a host, or write into a folder.

use super::{CallFacts, CallNature, TouchedFile, could_match, is_live};
use crate::beyond::{self, Wanted, destinations, through_proc};
use crate::facts::Facts;
use crate::powers::{is_known, runs_others, talks};
use crate::rules::{Moment, reads_by_its_name};
use core::net::Ipv6Addr;
use countersign_commands::analysis::{Analysis, Segment};
use countersign_commands::command::carriers::rough;
use countersign_commands::programs::Name;
use countersign_protocol::rules::{CallRule, CallSubject, RuleEffect};
use std::path::{Component, Path, PathBuf};

/// The first rule that refuses something which a command is seen to do; `argv` is its argument list, empty
/// for a text. `real` follows the links of what is there. Where a program goes that nobody described, and
/// what it writes by itself, is not seen.
pub fn refusing_command(
    rules: &[CallRule],
    (analysis, argv, facts): (&Analysis, &[String], &Facts),
    moment: Moment<'_>,
    real: impl Fn(&Path) -> PathBuf,
) -> Option<usize> {
    let refuses = |rule: &CallRule| rule.effect == RuleEffect::Deny && is_live(rule, moment);
    if !rules.iter().any(refuses) {
        return None;
    }
    let folder = facts.cwd.as_ref().map_or(Path::new("/"), |cwd| &cwd.real_path);
    let written = written(analysis, argv, facts).into_iter().map(|path| through_proc(&path, folder));
    let written = written.flat_map(|path| [real(&path), path]);
    let written = written.filter_map(|path| path.to_str().map(str::to_owned)).collect();
    let call = CallFacts {
        hosts: hosts(analysis, argv, facts),
        files: vec![TouchedFile { paths: written, ..TouchedFile::default() }],
        nature: CallNature::Fetches,
        ..CallFacts::default()
    };
    rules.iter().position(|rule| {
        let is_about_effects = matches!(rule.about, CallSubject::Host { .. } | CallSubject::Files { .. });
        is_about_effects && refuses(rule) && could_match(&rule.about, &call)
    })
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
    let words = segments().flat_map(|segment| &segment.words);
    let named = words.flat_map(|word| hosts_in(&word.text));
    let anywhere = segments().filter(|segment| may_talk(segment)).flat_map(hosts_anywhere);
    known.chain(named).chain(anywhere).map(|host| host.trim_end_matches('.').to_lowercase()).collect()
}

/// Whether a program may talk to other machines: it is known for that, or nothing is known of it.
fn may_talk(segment: &Segment) -> bool {
    let words: Vec<&str> = segment.effective().iter().map(|word| word.text.as_str()).collect();
    let Some((program, arguments)) = words.split_first() else { return false };
    let name = Name::of(program);
    talks(&name, arguments) || !is_known(&name) || runs_others(&name)
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
        let parts = |inside: &'static str| {
            let text = text.as_str();
            text.split(move |c: char| !(c.is_ascii_alphanumeric() || inside.contains(c)))
        };
        found.extend(parts("._-").filter(|name| !name.is_empty()).map(str::to_owned));
        found.extend(parts("._-:").filter(|part| part.parse::<Ipv6Addr>().is_ok()).map(str::to_owned));
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

/// Files that a command is known to write, and those that a text in it would have a shell write, as absolute
/// paths without `.` and `..`: from each folder that it may be in by then.
fn written(analysis: &Analysis, argv: &[String], facts: &Facts) -> Vec<PathBuf> {
    let is_reader = analysis.segments.iter().all(|segment| {
        reads_by_its_name(segment.words.iter().map(|word| (word.text.as_str(), word.expands)))
    });
    if is_reader && !analysis.source.contains('>') && !analysis.segments.is_empty() {
        return Vec::new();
    }
    let mut written = beyond::written(analysis, argv, facts);
    written.extend(in_texts(analysis, facts));
    written
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
