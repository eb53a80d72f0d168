//! The configuration files of a repository, as far as they could make git start a program when it only reads.
//!
//! What is not understood, and every setting that is not known to be harmless, is doubtful. Files are read by
//! whoever probes; nothing is opened here.

use std::borrow::Cow;

/// What a setting means for whoever only reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Meaning<'a> {
    /// Nothing that starts a program.
    Harmless,
    /// Perhaps the start of a program.
    Doubtful,
    /// Where hooks are.
    Hooks(&'a str),
    /// Names of objects have 32 bytes instead of 20.
    LongNames,
    /// Where the work tree is.
    WorkTree(&'a str),
    /// Path of a submodule.
    Submodule(&'a str),
}

/// How long the names of objects are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Names {
    /// 20 bytes.
    #[default]
    Short,
    /// 32 bytes.
    Long,
}

/// One setting.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Setting<'a> {
    /// `core` of `core.bare`, in lower case.
    pub section: String,
    /// `origin` of `remote.origin.url`.
    pub subsection: Option<Cow<'a, str>>,
    /// `url` of `remote.origin.url`, in lower case.
    pub key: String,
    /// As written, without blanks and comments around it; `None` for a key alone, which means yes.
    pub value: Option<&'a str>,
}

impl Setting<'_> {
    /// The name as git spells it.
    pub fn name(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.key),
            None => format!("{}.{}", self.section, self.key),
        }
    }

    /// What it means.
    pub fn meaning(&self) -> Meaning<'_> {
        let value = self.value.unwrap_or("true");
        let plain = !value.contains(['"', '\\']);
        let named = |known: Option<Meaning<'static>>| known.unwrap_or(Meaning::Doubtful);
        match (self.section.as_str(), self.key.as_str()) {
            ("core", "fsmonitor") => named(is_no(value).then_some(Meaning::Harmless)),
            ("core", "hookspath") if plain && self.subsection.is_none() => Meaning::Hooks(value),
            ("core", "worktree") if plain && self.subsection.is_none() => Meaning::WorkTree(value),
            ("extensions", "objectformat") => match value {
                "sha1" => Meaning::Harmless,
                "sha256" => Meaning::LongNames,
                _ => Meaning::Doubtful,
            },
            ("pager", _) => named((is_no(value) || is_yes(value)).then_some(Meaning::Harmless)),
            ("submodule", "path") if plain => Meaning::Submodule(value),
            ("submodule", "update") => named(UPDATES.contains(&value).then_some(Meaning::Harmless)),
            (section, key) => named(is_listed(section, key).then_some(Meaning::Harmless)),
        }
    }
}

/// A line that is not understood, counted from 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {0}")]
pub struct Unclear(pub usize);

/// Reads a file of settings. Git knows more ways to write one; those that are rare are not understood here.
pub fn settings(text: &str) -> Result<Vec<Setting<'_>>, Unclear> {
    let mut settings = Vec::new();
    let mut section: Option<(String, Option<Cow<'_, str>>)> = None;
    for (at, line) in text.strip_prefix('\u{feff}').unwrap_or(text).split('\n').enumerate() {
        let unclear = Unclear(at + 1);
        let line = line.strip_suffix('\r').unwrap_or(line).trim_matches(BLANKS);
        // A line that goes on in the next one would hide what that one says.
        if line.ends_with('\\') || line.contains(|c: char| c.is_control() && c != '\t') {
            return Err(unclear);
        }
        if line.is_empty() || line.starts_with(COMMENTS) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            section = Some(header(rest).ok_or(unclear)?);
            continue;
        }
        let (section, subsection) = section.as_ref().ok_or(unclear)?;
        let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(line.len());
        let (key, rest) = line.split_at(end);
        if !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(unclear);
        }
        let rest = rest.trim_start_matches(BLANKS);
        let value = match rest.strip_prefix('=') {
            Some(value) => Some(value_of(value).ok_or(unclear)?),
            None if rest.is_empty() || rest.starts_with(COMMENTS) => None,
            None => return Err(unclear),
        };
        let (section, subsection) = (section.clone(), subsection.clone());
        settings.push(Setting { section, subsection, key: key.to_ascii_lowercase(), value });
    }
    Ok(settings)
}

/// The names in a section's header, what follows its bracket.
fn header(text: &str) -> Option<(String, Option<Cow<'_, str>>)> {
    let end =
        text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return None;
    }
    let name = name.to_ascii_lowercase();
    if let Some(rest) = rest.strip_prefix(']') {
        // An older way to write a name inside the section.
        return is_over(rest).then(|| match name.split_once('.') {
            Some((section, subsection)) => (section.to_owned(), Some(Cow::Owned(subsection.to_owned()))),
            None => (name, None),
        });
    }
    let mut characters = rest.trim_start_matches(BLANKS).strip_prefix('"')?.chars();
    let mut subsection = String::new();
    loop {
        match characters.next()? {
            '"' => break,
            '\\' => subsection.push(characters.next()?),
            other => subsection.push(other),
        }
    }
    let rest = characters.as_str().strip_prefix(']')?;
    (is_over(rest) && !name.contains('.')).then_some((name, Some(Cow::Owned(subsection))))
}

/// Whether nothing but a comment is left of a line.
fn is_over(rest: &str) -> bool {
    let rest = rest.trim_start_matches(BLANKS);
    rest.is_empty() || rest.starts_with(COMMENTS)
}

/// A value without its comment; `None` when a quote stays open.
fn value_of(text: &str) -> Option<&str> {
    let mut quoted = false;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next()?;
            }
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => return Some(text[..at].trim_matches(BLANKS)),
            _ => {}
        }
    }
    (!quoted).then(|| text.trim_matches(BLANKS))
}

fn is_no(value: &str) -> bool {
    ["", "0", "false", "no", "off"].contains(&value.to_ascii_lowercase().as_str())
}

fn is_yes(value: &str) -> bool {
    ["1", "on", "true", "yes"].contains(&value.to_ascii_lowercase().as_str())
}

fn is_listed(section: &str, key: &str) -> bool {
    let found =
        HARMLESS.binary_search_by(|(known, _)| known.cmp(&section)).ok().and_then(|at| HARMLESS.get(at));
    found.is_some_and(|(_, keys)| *keys == ALL || keys.binary_search(&key).is_ok())
}

/// What git takes for blanks within a line.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// What begins a comment.
const COMMENTS: [char; 2] = ['#', ';'];

/// Ways to update a submodule that start no program.
const UPDATES: &[&str] = &["checkout", "merge", "none", "rebase"];

const ALL: &[&str] = &[];

/// Sorted: sections, and their settings that start no program when git only reads; all of them where none is
/// named. Among those left out are `alias`, `credential`, `diff.*.command`, `diff.*.textconv`,
/// `diff.external`, `filter`, `gpg.program`, `hook`, `include`, `log.showSignature`, `pretty`,
/// `remote.*.uploadpack`, and whatever makes a partial clone, as what is missing there is fetched.
const HARMLESS: &[(&str, &[&str])] = &[
    ("advice", ALL),
    ("apply", ALL),
    ("author", ALL),
    // Not the files of revisions to leave out: what is in them is named in errors.
    (
        "blame",
        &[
            "blankboundary",
            "coloring",
            "date",
            "markignoredlines",
            "markunblamablelines",
            "showemail",
            "showroot",
        ],
    ),
    ("branch", ALL),
    ("checkout", ALL),
    ("clean", ALL),
    ("color", ALL),
    ("column", ALL),
    ("commit", ALL),
    ("committer", ALL),
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "bigfilethreshold",
            "checkstat",
            "commentchar",
            "commentstring",
            "commitgraph",
            "compression",
            "deltabasecachelimit",
            "eol",
            "excludesfile",
            "filemode",
            "fscache",
            "fsmonitorhookversion",
            "fsync",
            "fsyncmethod",
            "fsyncobjectfiles",
            "hidedotfiles",
            "ignorecase",
            "ignorestat",
            "logallrefupdates",
            "longpaths",
            "loosecompression",
            "multipackindex",
            "notesref",
            "packedgitlimit",
            "packedgitwindowsize",
            "precomposeunicode",
            "prefersymlinkrefs",
            "preloadindex",
            "protecthfs",
            "protectntfs",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "splitindex",
            "symlinks",
            "trustctime",
            "untrackedcache",
            "usereplacerefs",
            "warnambiguousrefs",
            "whitespace",
        ],
    ),
    (
        "diff",
        &[
            "algorithm",
            "autorefreshindex",
            "binary",
            "cachetextconv",
            "colormoved",
            "colormovedws",
            "context",
            "dirstat",
            "funcname",
            "guitool",
            "ignoresubmodules",
            "indentheuristic",
            "interhunkcontext",
            "mnemonicprefix",
            "noprefix",
            "relative",
            "renamelimit",
            "renames",
            "statgraphwidth",
            "statnamewidth",
            "submodule",
            "suppressblankempty",
            "tool",
            "wordregex",
            "wserrorhighlight",
            "xfuncname",
        ],
    ),
    ("extensions", &["noop", "preciousobjects", "refstorage", "relativeworktrees", "worktreeconfig"]),
    ("feature", ALL),
    ("fetch", ALL),
    ("gc", ALL),
    ("gitflow", ALL),
    ("gpg", &["format", "mintrustlevel"]),
    ("grep", ALL),
    ("gui", ALL),
    ("http", ALL),
    ("i18n", ALL),
    ("index", ALL),
    ("init", ALL),
    (
        "lfs",
        &[
            "access",
            "activitytimeout",
            "allowincompletepush",
            "concurrenttransfers",
            "dialtimeout",
            "fetchexclude",
            "fetchinclude",
            "fetchrecentalways",
            "fetchrecentcommitsdays",
            "fetchrecentrefsdays",
            "fetchrecentremoterefs",
            "locksverify",
            "pruneoffsetdays",
            "pushurl",
            "repositoryformatversion",
            "setlockablereadonly",
            "skipdownloaderrors",
            "url",
        ],
    ),
    (
        "log",
        &[
            "abbrevcommit",
            "date",
            "decorate",
            "diffmerges",
            "excludedecoration",
            "follow",
            "graphcolors",
            "initialdecorationset",
            "mailmap",
            "showroot",
        ],
    ),
    ("maintenance", ALL),
    (
        "merge",
        &[
            "autostash",
            "branchdesc",
            "conflictstyle",
            "defaulttoupstream",
            "directoryrenames",
            "ff",
            "guitool",
            "log",
            "name",
            "recursive",
            "renamelimit",
            "renames",
            "renormalize",
            "stat",
            "suppressdest",
            "tool",
            "verbosity",
            "verifysignatures",
        ],
    ),
    ("notes", ALL),
    ("pack", ALL),
    ("pull", ALL),
    ("push", ALL),
    ("rebase", ALL),
    (
        "remote",
        &[
            "fetch",
            "followremotehead",
            "gh-resolved",
            "mirror",
            "prune",
            "prunetags",
            "push",
            "pushdefault",
            "pushurl",
            "skipdefaultupdate",
            "skipfetchall",
            "tagopt",
            "url",
        ],
    ),
    ("rerere", ALL),
    ("revert", ALL),
    ("sparse", ALL),
    ("stash", ALL),
    ("status", ALL),
    (
        "submodule",
        &[
            "active",
            "alternateerrorstrategy",
            "alternatelocation",
            "branch",
            "fetchjobs",
            "fetchrecursesubmodules",
            "ignore",
            "propagatebranches",
            "recurse",
            "shallow",
            "url",
        ],
    ),
    ("tag", ALL),
    ("transfer", ALL),
    ("url", &["insteadof", "pushinsteadof"]),
    ("user", ALL),
    ("versionsort", ALL),
    ("worktree", ALL),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Names of the settings that are not harmless.
    fn doubts(text: &str) -> Result<Vec<String>, Unclear> {
        let doubtful = |setting: &&Setting<'_>| setting.meaning() == Meaning::Doubtful;
        Ok(settings(text)?.iter().filter(doubtful).map(Setting::name).collect())
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&[&str], usize>) {
        let found = doubts(text).map_err(|Unclear(line)| line);
        assert_eq!(
            found,
            expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            "{text:?}"
        );
    }

    #[test]
    fn what_clones_and_everyday_settings_write_is_harmless() {
        check(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
             [remote \"origin\"]\n\turl = https://x.invalid/p.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             \tgh-resolved = base\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\
             [user]\n\temail = a@x.invalid ; mine\n[pull] # how\n\trebase\n[submodule \"lib\"]\n\tactive = true\n\
             \turl = ../lib\n\tupdate = none\n[lfs]\n\trepositoryformatversion = 0\n[pager]\n\tbranch = false\n\
             [lfs \"https://x.invalid/p.git/info/lfs\"]\n\taccess = basic\n[extensions]\n\tworktreeConfig = true\n\
             [core]\n\tfsmonitor = false\n[branch.old]\n\tmerge = refs/heads/x\n",
            Ok(&[]),
        );
    }

    #[test]
    fn whatever_could_start_a_program_is_doubtful() {
        for (text, name) in [
            ("[core]\nfsmonitor = ./evil", "core.fsmonitor"),
            ("[core]\nfsmonitor", "core.fsmonitor"),
            ("[CORE]\n\tFSMonitor = true", "core.fsmonitor"),
            ("[core]\npager = ./evil", "core.pager"),
            ("[core]\nsshCommand = ./evil", "core.sshcommand"),
            ("[core]\nattributesFile = x", "core.attributesfile"),
            ("[core]\nalternateRefsCommand = x", "core.alternaterefscommand"),
            ("[diff]\nexternal = ./evil", "diff.external"),
            ("[diff \"t\"]\ntextconv = ./evil", "diff.t.textconv"),
            ("[diff \"t\"]\ncommand = ./evil", "diff.t.command"),
            ("[diff.t]\ntextconv = ./evil", "diff.t.textconv"),
            ("[filter \"t\"]\nclean = ./evil", "filter.t.clean"),
            ("[filter \"t\"]\nprocess = ./evil", "filter.t.process"),
            ("[include]\npath = ../x", "include.path"),
            ("[includeIf \"gitdir:/\"]\npath = ../x", "includeif.gitdir:/.path"),
            ("[log]\nshowSignature = true", "log.showsignature"),
            ("[gpg]\nprogram = ./evil", "gpg.program"),
            ("[gpg \"ssh\"]\nprogram = ./evil", "gpg.ssh.program"),
            ("[pretty]\nmine = %G?", "pretty.mine"),
            ("[format]\npretty = %G?", "format.pretty"),
            ("[pager]\nlog = ./evil", "pager.log"),
            ("[alias]\nst = !./evil", "alias.st"),
            ("[hook \"x\"]\ncommand = ./evil", "hook.x.command"),
            ("[merge \"x\"]\ndriver = ./evil", "merge.x.driver"),
            ("[lfs \"extension.x\"]\nclean = ./evil", "lfs.extension.x.clean"),
            ("[remote \"o\"]\npromisor = true", "remote.o.promisor"),
            ("[remote \"o\"]\nuploadpack = ./evil", "remote.o.uploadpack"),
            ("[remote \"o\"]\nvcs = evil", "remote.o.vcs"),
            ("[extensions]\npartialClone = o", "extensions.partialclone"),
            ("[submodule \"s\"]\nupdate = !./evil", "submodule.s.update"),
            ("[credential]\nhelper = !./evil", "credential.helper"),
            ("[never]\nheard = of", "never.heard"),
        ] {
            check(text, Ok(&[name]));
        }
    }

    #[test]
    fn what_is_written_in_an_unusual_way_is_not_understood() {
        check("[core]\nabbrev = 7 \\\n[color]\nfsmonitor = ./evil", Err(2));
        check("[color] ui = auto", Err(1));
        check("fsmonitor = x", Err(1));
        check("[core]\nbare = \"false", Err(2));
        check("[core \"x]\nbare = false", Err(1));
        check("[core]\n\u{b}fsmonitor = x", Err(2));
        check("[co_re]\nbare = false", Err(1));
        check("[core]\nbare: false", Err(2));
    }

    #[test]
    fn tables_are_sorted_so_that_the_search_finds_all_of_it() {
        assert!(HARMLESS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (section, keys) in HARMLESS {
            assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{section}");
        }
    }

    proptest! {
        /// However a harmless file is cut or mixed with other bytes, what starts a program is not overlooked.
        #[test]
        fn a_setting_that_starts_a_program_is_found_after_whatever_is_understood(before in "[a-z\\[\\]\"=#; \t\n.-]{0,40}") {
            let text = format!("{before}\n[core]\nfsmonitor = ./evil\n");
            if let Ok(found) = doubts(&text) {
                prop_assert!(found.contains(&"core.fsmonitor".to_owned()), "{:?}", text);
            }
        }
    }
}
