//! What can be said of a path before anything is looked up.

use super::error::PathProblem;
use super::limits::PATH_BYTES;
use countersign_policy::display::escape;
use std::path::{Component, Path, PathBuf};

/// Checks a path as an agent wrote it; gives it relative to the workspace, `..` and all. `roots` are the
/// workspace's own paths: absolute paths are taken when they start with one of them.
pub(super) fn relative(named: &str, roots: [&Path; 2]) -> Result<PathBuf, PathProblem> {
    if named.is_empty() {
        return Err(PathProblem::Empty);
    }
    if named.contains('\0') {
        return Err(PathProblem::Nul);
    }
    if named.len() > PATH_BYTES {
        return Err(PathProblem::TooLong);
    }
    if named.starts_with('~') {
        return Err(PathProblem::Tilde);
    }
    let path = Path::new(named);
    let inside = match path.is_absolute() {
        false => path,
        true => roots
            .into_iter()
            .find_map(|root| path.strip_prefix(root).ok())
            .ok_or_else(|| PathProblem::Elsewhere(escape(&roots[0].to_string_lossy())))?,
    };
    // `Path` forgets a final slash or dot, and the kernel does not.
    let ends_in_dots =
        named.ends_with("/.") || matches!(path.components().next_back(), Some(Component::ParentDir));
    if named.ends_with('/') || ends_in_dots || inside.file_name().is_none() {
        return Err(PathProblem::NamesFolder);
    }
    Ok(inside.to_owned())
}

/// Refuses, for writing, a name that a person would not see as it is, or would take for another.
///
/// Hidden characters have no place in the name of a file that an agent writes: the prompt shows them as
/// codes, but nothing that lists the folder later does. Reading such a file is no matter.
pub(super) fn readable(real: &Path) -> Result<(), PathProblem> {
    for component in real.components() {
        let Component::Normal(name) = component else { continue };
        let name = name.to_str().ok_or(PathProblem::Unreadable)?;
        // Escaping doubles backslashes, which hide nothing.
        if escape(name) != name.replace('\\', "\\\\") {
            return Err(PathProblem::Unreadable);
        }
        if name.chars().all(is_dot) {
            return Err(PathProblem::DotsOnly);
        }
    }
    Ok(())
}

/// A dot, or what looks like one or several.
fn is_dot(c: char) -> bool {
    matches!(c, '.' | '\u{2024}'..='\u{2026}' | '\u{fe19}' | '\u{fe52}' | '\u{ff0e}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(named: &str, expected: Result<&str, PathProblem>) {
        let roots = [Path::new("/srv/real"), Path::new("/home/u/link")];
        assert_eq!(relative(named, roots), expected.map(PathBuf::from), "{named:?}");
    }

    #[test]
    fn a_path_is_taken_beneath_the_workspace_or_refused() {
        check("a/b.txt", Ok("a/b.txt"));
        check("./~a", Ok("./~a"));
        check("/srv/real/a", Ok("a"));
        check("/home/u/link/a", Ok("a"));
        // What `..` does is for the kernel to say.
        check("/srv/real/../a", Ok("../a"));
        check("", Err(PathProblem::Empty));
        check("a\0b", Err(PathProblem::Nul));
        check(&"a".repeat(4_096), Err(PathProblem::TooLong));
        for tilde in ["~", "~/a", "~root/a"] {
            check(tilde, Err(PathProblem::Tilde));
        }
        for elsewhere in ["/etc/passwd", "/srv/really", "/srv", "//etc", "/SRV/real/a"] {
            check(elsewhere, Err(PathProblem::Elsewhere("/srv/real".into())));
        }
        for folder in ["/", "/srv/real", "/srv/real/", "a/", "a/.", "a/..", ".", "..", "./", "a//"] {
            let elsewhere = folder == "/";
            let problem =
                if elsewhere { PathProblem::Elsewhere("/srv/real".into()) } else { PathProblem::NamesFolder };
            check(folder, Err(problem));
        }
    }

    #[test]
    fn t09_names_that_hide_something_are_not_written() {
        for name in ["a", ".env", "..a", "päck", "日本", "a b", "a\\b", "x…"] {
            assert_eq!(readable(Path::new(name)), Ok(()), "{name:?}");
        }
        for name in ["a\nb", "a\u{1b}[2J", "a\u{202e}txt", "a\u{200b}", "a\u{a0}b", "\u{7f}"] {
            assert_eq!(readable(&Path::new("dir").join(name)), Err(PathProblem::Unreadable), "{name:?}");
        }
        for name in ["...", "\u{2025}", "\u{2026}", "\u{ff0e}\u{ff0e}", "\u{2024}."] {
            assert_eq!(
                readable(&Path::new("a").join(name).join("b")),
                Err(PathProblem::DotsOnly),
                "{name:?}"
            );
        }
    }
}
