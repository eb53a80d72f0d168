//! Safe bins: small filters that may run without an entry because nothing in their arguments can name a file
//! or a program (docs/protocol/commands.md, "Safe bins"). They read what is piped into them and write to
//! their output, no more.
//!
//! Nothing here looks at files: the caller says where a program was found and what it really is.
//! ```
//! use countersign_policy::safe_bins::{Platform, SafeBins};
//! use std::path::Path;
//!
//! let bins = SafeBins::default();
//! let head = |argument: &str| {
//!     let argv = ["head", "-n", argument].map(String::from);
//!     bins.check(&argv, Path::new("/usr/bin/head"), Path::new("/usr/bin/head"), Platform::Posix)
//! };
//! assert!(head("3").is_ok());
//! assert!(head("/etc/passwd").is_err());
//! ```

mod arguments;
mod profiles;

pub use profiles::{CustomProfile, Profile};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Which programs count as safe bins, with which arguments, and in which folders.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SafeBins {
    names: BTreeSet<String>,
    profiles: BTreeMap<String, Profile>,
    trusted_dirs: BTreeSet<PathBuf>,
}

/// What the configuration says; `None` is the built-in value, an empty list switches the feature off.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// Programs by name, in any case (`tools.exec.safeBins`).
    pub names: Option<Vec<String>>,
    /// Absolute folders instead of the built-in ones, in their normal form. Folders that the real files of
    /// these programs lie in belong here too; only the caller can look.
    pub trusted_dirs: Option<Vec<PathBuf>>,
    /// Arguments per program (`tools.exec.safeBinProfiles`), before the built-in ones.
    pub profiles: BTreeMap<String, CustomProfile>,
}

/// The kind of system that a program would run on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Platform {
    /// Linux, macOS and their like.
    Posix,
    /// Windows, where nothing is a safe bin: the same names do other things there.
    Windows,
}

/// Why something is no safe bin.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Windows has none.
    #[error("there are no safe bins on Windows")]
    Platform,
    /// The program's name is not in the list.
    #[error("{0} is not listed as a safe bin")]
    NotListed(String),
    /// It has a language of its own that can reach files, programs or the environment.
    #[error("{0} runs programs of its own language")]
    Language(String),
    /// Nobody has said which arguments are harmless.
    #[error("nothing is known about the arguments of {0}")]
    NoProfile(String),
    /// The file lies where others may put theirs.
    #[error("{} is not a trusted folder", .0.display())]
    NotTrusted(PathBuf),
    /// An option that the profile does not know, or an abbreviation of several.
    #[error("{0} is not a known option")]
    UnknownFlag(String),
    /// An option that reaches files or programs.
    #[error("{0} is never harmless")]
    DeniedFlag(String),
    /// An option without the value that it needs.
    #[error("{0} lacks its value")]
    MissingValue(String),
    /// A value for an option that takes none.
    #[error("{0} takes no value")]
    UnwantedValue(String),
    /// An argument that looks like a file.
    #[error("{0} looks like a path")]
    PathLike(String),
    /// An argument that a shell could expand.
    #[error("{0} could be expanded")]
    Expansion(String),
    /// More operands than the program takes without reading files.
    #[error("{found} operands, at most {most} are harmless")]
    TooManyOperands {
        /// Operands given.
        found: usize,
        /// Operands allowed.
        most: usize,
    },
    /// Fewer operands than the program needs.
    #[error("{found} operands, at least {least} are needed")]
    TooFewOperands {
        /// Operands given.
        found: usize,
        /// Operands needed.
        least: usize,
    },
}

impl SafeBins {
    /// Takes the settings of a configuration; blank names are ignored, and so are folders that are not
    /// written as the place they lead to: relative ones, and those with a slash at the end or a part
    /// that says nothing.
    pub fn new(settings: Settings) -> Self {
        let names = settings.names.unwrap_or_else(|| DEFAULT_NAMES.map(String::from).to_vec());
        let trusted = settings.trusted_dirs.unwrap_or_else(|| DEFAULT_DIRS.map(PathBuf::from).to_vec());
        let custom = settings.profiles.into_iter().map(|(name, profile)| (name, Profile::from(profile)));
        let profiles = profiles::built_in()
            .map(|(name, profile)| (name.to_owned(), profile))
            .chain(custom.map(|(name, profile)| (normal_name(&name), profile)))
            .collect();
        Self {
            names: names.iter().map(|name| normal_name(name)).filter(|name| !name.is_empty()).collect(),
            profiles,
            trusted_dirs: trusted.into_iter().filter(|folder| is_normal(folder)).collect(),
        }
    }

    /// Whether the program that was `found` and is `real` when every link is followed may run with `argv`
    /// (executable first) without any rule.
    pub fn check(
        &self,
        argv: &[String],
        found: &Path,
        real: &Path,
        platform: Platform,
    ) -> Result<(), Refusal> {
        if platform == Platform::Windows {
            return Err(Refusal::Platform);
        }
        let name = found.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        if !self.names.contains(&name) {
            return Err(Refusal::NotListed(name));
        }
        if profiles::has_language(&name) {
            return Err(Refusal::Language(name));
        }
        let real = normal_path(real);
        let folder = real.parent().unwrap_or(&real);
        if !self.trusted_dirs.contains(folder) {
            return Err(Refusal::NotTrusted(folder.to_owned()));
        }
        let Some(profile) = self.profiles.get(&name) else { return Err(Refusal::NoProfile(name)) };
        arguments::check(profile, argv.get(1..).unwrap_or_default())
    }

    /// Whether anything of this name can be one at all, whatever its arguments and wherever it lies.
    pub fn may_be_safe(&self, name: &str) -> Result<(), Refusal> {
        let name = normal_name(name);
        if profiles::has_language(&name) {
            return Err(Refusal::Language(name));
        }
        if !self.profiles.contains_key(&name) {
            return Err(Refusal::NoProfile(name));
        }
        Ok(())
    }

    /// The names, lower case, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The trusted folders.
    pub fn trusted_dirs(&self) -> impl Iterator<Item = &Path> {
        self.trusted_dirs.iter().map(PathBuf::as_path)
    }
}

impl Default for SafeBins {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

fn normal_name(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Whether a folder is absolute and written without anything that could be left out.
fn is_normal(folder: &Path) -> bool {
    folder.is_absolute() && normal_path(folder).as_os_str() == folder.as_os_str()
}

/// Without `.`, `..` and doubled slashes; what a link would make of `..` is the caller's to resolve first.
fn normal_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

/// Built-in names. `jq` was one once; it can read files and the environment.
const DEFAULT_NAMES: [&str; 6] = ["cut", "head", "tail", "tr", "uniq", "wc"];

/// Built-in folders: those that only the system's package manager writes.
const DEFAULT_DIRS: [&str; 2] = ["/bin", "/usr/bin"];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settings: Settings, argv: &[&str], path: &str) -> Result<(), Refusal> {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        SafeBins::new(settings).check(&argv, Path::new(path), Path::new(path), Platform::Posix)
    }

    fn built_in(argv: &[&str]) -> Result<(), Refusal> {
        check(Settings::default(), argv, &format!("/usr/bin/{}", argv[0]))
    }

    fn opted_in(argv: &[&str]) -> Result<(), Refusal> {
        let settings = Settings { names: Some(vec![argv[0].to_owned()]), ..Settings::default() };
        check(settings, argv, &format!("/usr/bin/{}", argv[0]))
    }

    #[test]
    fn a_filter_with_harmless_options_is_safe() {
        for argv in [
            &["head"][..],
            &["head", "-n", "3"],
            &["head", "-qn3"],
            &["head", "--lin=3"],
            &["tail", "-n", "+3"],
            &["tail", "-"],
            &["tr", "--", "-a", "b"],
            &["cut", "-d", "$", "-f", "1"],
            &["wc", "-lw"],
            &["uniq", "--count"],
        ] {
            assert_eq!(built_in(argv), Ok(()), "{argv:?}");
        }
    }

    #[test]
    fn t18_what_could_reach_a_file_or_a_program_is_refused_with_its_reason() {
        let flag = |text: &str| text.to_owned();
        for (argv, refusal) in [
            (&["head", "/etc/hosts"][..], Refusal::PathLike(flag("/etc/hosts"))),
            (&["head", "-n", "~/x"], Refusal::PathLike(flag("~/x"))),
            (&["head", "-n../x"], Refusal::PathLike(flag("../x"))),
            (&["head", "notes"], Refusal::TooManyOperands { found: 1, most: 0 }),
            (&["head", "--", "notes"], Refusal::TooManyOperands { found: 1, most: 0 }),
            (&["head", "-x"], Refusal::UnknownFlag(flag("-x"))),
            (&["head", "--nope"], Refusal::UnknownFlag(flag("--nope"))),
            (&["head", "--ver=1"], Refusal::UnwantedValue(flag("--verbose"))),
            (&["head", "-n"], Refusal::MissingValue(flag("-n"))),
            (&["head", "-n", "$(id)"], Refusal::Expansion(flag("$(id)"))),
            (&["tr", "[a-z]", "x"], Refusal::Expansion(flag("[a-z]"))),
            (&["tr"], Refusal::TooFewOperands { found: 0, least: 1 }),
            (&["tail", "-qf"], Refusal::DeniedFlag(flag("-f"))),
            (&["tail", "--fol=name"], Refusal::DeniedFlag(flag("--follow"))),
            (&["tail", "--s"], Refusal::UnknownFlag(flag("--s"))),
            (&["uniq", "--group", "in", "--group", "out"], Refusal::MissingValue(flag("--group"))),
        ] {
            assert_eq!(built_in(argv), Err(refusal), "{argv:?}");
        }
    }

    #[test]
    fn t18_an_option_that_no_table_knows_is_refused_for_every_program() {
        for (name, profile) in profiles::built_in() {
            let known = [&profile.value_flags, &profile.plain_flags];
            for letter in ('a'..='z').chain('A'..='Z').chain('0'..='9') {
                let flag = format!("-{letter}");
                if known.iter().any(|flags| flags.contains(&flag)) {
                    continue;
                }
                for argument in [flag.clone(), format!("{flag}x"), format!("{flag}/etc/passwd")] {
                    assert!(opted_in(&[name, &argument]).is_err(), "{name} {argument}");
                }
            }
            for denied in profile.denied_flags.iter().filter(|flag| flag.starts_with("--")) {
                for end in "--x".len()..=denied.len() {
                    let short = &denied[..end];
                    if !known.iter().any(|flags| flags.contains(short)) {
                        assert!(opted_in(&[name, &format!("{short}=x")]).is_err(), "{name} {short}");
                    }
                }
            }
        }
    }

    #[test]
    fn only_listed_programs_in_trusted_folders_count() {
        assert_eq!(built_in(&["sort"]), Err(Refusal::NotListed("sort".into())));
        assert_eq!(opted_in(&["sort", "-k", "3"]), Ok(()));
        assert_eq!(opted_in(&["sort", "-r"]), Err(Refusal::UnknownFlag("-r".into())));
        assert_eq!(opted_in(&["jq"]), Err(Refusal::Language("jq".into())));
        assert_eq!(opted_in(&["gsed", "p"]), Err(Refusal::Language("gsed".into())));
        assert_eq!(opted_in(&["seq", "3"]), Err(Refusal::NoProfile("seq".into())));
        let elsewhere = check(Settings::default(), &["head"], "/usr/bin/../local/bin/head");
        assert_eq!(elsewhere, Err(Refusal::NotTrusted("/usr/local/bin".into())));
        let argv = ["head".to_owned()];
        let bins = SafeBins::default();
        let linked = bins.check(&argv, Path::new("/usr/bin/head"), Path::new("/opt/x/wipe"), Platform::Posix);
        assert_eq!(linked, Err(Refusal::NotTrusted("/opt/x".into())));
        let path = Path::new("/usr/bin/head");
        assert_eq!(bins.check(&argv, path, path, Platform::Windows), Err(Refusal::Platform));
        let none = Settings { names: Some(Vec::new()), ..Settings::default() };
        assert_eq!(check(none, &["head"], "/usr/bin/head"), Err(Refusal::NotListed("head".into())));
    }

    #[test]
    fn a_profile_of_the_configuration_cannot_tame_a_language() {
        let profile = CustomProfile { max_positional: Some(1), ..CustomProfile::default() };
        let settings = |name: &str| Settings {
            names: Some(vec![name.to_owned()]),
            profiles: BTreeMap::from([(name.to_owned(), profile.clone())]),
            ..Settings::default()
        };
        assert_eq!(check(settings("cat"), &["cat"], "/bin/cat"), Ok(()));
        assert_eq!(check(settings("cat"), &["cat", "a"], "/bin/cat"), Ok(()));
        assert_eq!(
            check(settings("cat"), &["cat", "a", "b"], "/bin/cat"),
            Err(Refusal::TooManyOperands { found: 2, most: 1 })
        );
        assert_eq!(check(settings("awk"), &["awk"], "/bin/awk"), Err(Refusal::Language("awk".into())));
    }

    #[test]
    fn more_operands_are_needed_than_allowed_only_by_mistake_of_the_configuration() {
        let profile =
            CustomProfile { min_positional: 3, max_positional: Some(1), ..CustomProfile::default() };
        let settings = Settings {
            names: Some(vec!["cat".into()]),
            profiles: BTreeMap::from([("Cat ".to_owned(), profile)]),
            ..Settings::default()
        };
        assert_eq!(check(settings.clone(), &["cat", "a", "b", "c"], "/bin/cat"), Ok(()));
        assert_eq!(
            check(settings, &["cat", "a", "b"], "/bin/cat"),
            Err(Refusal::TooFewOperands { found: 2, least: 3 })
        );
    }
}
