//! The normal form of the program that a rule names: how it is written says nothing about which file is
//! meant, and a rule in another form than the one that programs are compared in would be stored
//! and never count.

use super::RuleProblem;
use crate::allowlist::{glob, is_path, normal_path};
use countersign_commands::programs::is_another_by_name;
use countersign_protocol::rules::RuleEffect;
use std::path::{Path, PathBuf};

/// The program as rules store it: a bare name as it is, a path without `.`, `..`, doubled slashes and one at
/// the end, with the links in its folder followed. A rule that allows is about one file, so the links that
/// lead to that are followed too, but for a file that is another program under each of its names.
///
/// `real` follows every link of a path that is there.
///
/// # Errors
/// [`RuleProblem::Relative`] for a path that depends on where one stands, [`RuleProblem::IsFolder`] for one
/// of a folder, [`RuleProblem::Words`] for a name that no program has.
pub fn program_as_stored(
    program: &str,
    effect: RuleEffect,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<String, RuleProblem> {
    let program = program.trim();
    if !is_path(program) {
        let is_name = !program.contains(char::is_whitespace) && (program == "[" || !program.contains(CLASSES))
                // What joins several is in no name.
                && !program.contains([',', ';', '|', '&', '(', ')']);
        return if is_name { Ok(program.to_owned()) } else { Err(RuleProblem::Words) };
    }
    let is_anywhere = program.starts_with(['*', '?']);
    if !(program.starts_with('/') || program.starts_with("~/") || is_anywhere) {
        return Err(RuleProblem::Relative);
    }
    let normal = normal_path(program);
    let normal = normal.trim_end_matches('/');
    if normal.is_empty() || normal == "~" {
        return Err(RuleProblem::Program);
    }
    if !normal.starts_with('/') {
        return Ok(normal.to_owned());
    }
    let is_there = !glob::has_wildcard(normal) && real(Path::new(normal)).is_some();
    // Beneath a file nothing is, not even itself.
    if is_there && real(&Path::new(normal).join(".")).is_some() {
        return Err(RuleProblem::IsFolder);
    }
    if normal.contains(CLASSES) && !is_there {
        return Err(RuleProblem::Words);
    }
    if let Some(file) = real(Path::new(normal)).filter(|_| effect == RuleEffect::Allow && is_there)
        && let Some(file) = file.to_str().filter(|file| !is_another_by_name(file, normal))
    {
        return Ok(file.to_owned());
    }
    let start = glob::literal_start(normal);
    let folder = start.rfind('/').map_or("", |at| &start[..at]);
    let rest = normal.strip_prefix(folder).unwrap_or(normal);
    let real_folder = real(Path::new(folder)).and_then(|folder| folder.to_str().map(str::to_owned));
    let real_folder = real_folder.filter(|_| !folder.is_empty()).unwrap_or_else(|| folder.to_owned());
    Ok(format!("{}{rest}", real_folder.trim_end_matches('/')))
}

/// Characters of patterns that mean something elsewhere and nothing here, and blanks, which the words behind
/// a program bring.
const CLASSES: &[char] = &['[', ']', '{', '}', ' ', '\t', '\n'];

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which `/bin` is a link to `/usr/bin`, and vi and cargo are links.
    fn check(program: &str, effect: RuleEffect, expected: Result<&str, RuleProblem>) {
        let real = |path: &Path| {
            let path = path.to_str().unwrap().replace("/./", "/");
            let path = match path.strip_prefix("/bin") {
                Some(rest) => format!("/usr/bin{rest}"),
                None => path,
            };
            match path.as_str() {
                "/usr/bin/vi" => Some("/usr/bin/vim".into()),
                "/usr/bin/cargo" => Some("/usr/bin/rustup".into()),
                "/usr/bin" | "/usr" | "/usr/bin/rm" | "/opt/my app/x" | "/opt/my app" => Some(path.into()),
                _ => None,
            }
        };
        assert_eq!(program_as_stored(program, effect, real).as_deref(), expected.as_deref(), "{program}");
    }

    #[test]
    fn a_program_has_one_form_however_it_is_written() {
        for (typed, stored) in [
            ("rm", "rm"),
            ("[", "["),
            ("rm*", "rm*"),
            ("/usr/bin/rm", "/usr/bin/rm"),
            ("/bin/rm", "/usr/bin/rm"),
            ("/usr/bin/../bin/rm", "/usr/bin/rm"),
            ("/usr//bin/./rm/", "/usr/bin/rm"),
            ("/bin/*", "/usr/bin/*"),
            ("/bin/r*/x", "/usr/bin/r*/x"),
            ("/usr/b*/rm", "/usr/b*/rm"),
            ("/elsewhere/x", "/elsewhere/x"),
            ("/opt/my app/x", "/opt/my app/x"),
            ("~/bin/../tool", "~/tool"),
            ("**/rm", "**/rm"),
            ("/*", "/*"),
        ] {
            check(typed, RuleEffect::Deny, Ok(stored));
        }
    }

    #[test]
    fn what_refuses_is_about_a_name_and_what_allows_about_a_file() {
        check("/bin/vi", RuleEffect::Deny, Ok("/usr/bin/vi"));
        check("/bin/vi", RuleEffect::Allow, Ok("/usr/bin/vim"));
        check("/bin/cargo", RuleEffect::Allow, Ok("/usr/bin/cargo"));
    }

    #[test]
    fn what_no_program_is_called_is_told() {
        for (typed, problem) in [
            ("./rm", RuleProblem::Relative),
            ("bin/rm", RuleProblem::Relative),
            ("~ann/rm", RuleProblem::Relative),
            ("git push", RuleProblem::Words),
            ("/usr/bin/git push", RuleProblem::Words),
            ("/usr/bin/r[m]", RuleProblem::Words),
            ("{rm,mv}", RuleProblem::Words),
            ("rm,mv", RuleProblem::Words),
            ("rm;mv", RuleProblem::Words),
            ("rm|mv", RuleProblem::Words),
            ("/", RuleProblem::Program),
            ("~/", RuleProblem::Program),
        ] {
            check(typed, RuleEffect::Deny, Err(problem));
        }
    }
}
