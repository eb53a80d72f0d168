//! The move to another folder that agents begin their commands with.

use super::parse;

/// A text that begins by moving to a folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moved<'a> {
    /// The move, with what joins the rest to it.
    pub text: &'a str,
    /// Where to, as it is written: a literal path.
    pub folder: &'a str,
    /// What is done there; never blank.
    pub rest: &'a str,
}

/// The `cd` that `text` begins with, when a shell moves to exactly one literal folder by it and goes on, and
/// what it goes on with. A folder that is quoted, expanded or searched for (`cd -`, `CDPATH`)
/// is none of these.
///
/// ```
/// let moved = countersign_commands::shell::leading_cd("cd src/lib && make -s | tee log").unwrap();
/// assert_eq!((moved.folder, moved.rest), ("src/lib", "make -s | tee log"));
/// ```
pub fn leading_cd(text: &str) -> Option<Moved<'_>> {
    let start = text.trim_start();
    let separators =
        ["&&", ";", "\n"].iter().filter_map(|separator| Some((start.find(separator)?, separator.len())));
    let (end, length) = separators.min()?;
    let (first, rest) = (start.get(..end)?, start.get(end + length..)?);
    let script = parse(first).ok()?;
    let [command] = script.commands.as_slice() else { return None };
    let is_plain = script.extensions.is_empty() && command.assignments.is_empty() && !command.negated;
    let [cd, folder] = command.words.as_slice() else { return None };
    let is_literal = !cd.quoted && !folder.quoted && !folder.expands && !folder.text.starts_with('-');
    if cd.text != "cd" || !is_plain || !is_literal || rest.trim().is_empty() {
        return None;
    }
    let rest = rest.trim_start();
    let at = text.len() - rest.len();
    Some(Moved { text: text.get(..at)?, folder: first.get(folder.span.clone())?, rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn check(text: &str, expected: Option<(&str, &str, &str)>) {
        let found = leading_cd(text).map(|moved| (moved.text, moved.folder, moved.rest));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_literal_move_in_front_is_found() {
        check("cd /repo && make", Some(("cd /repo && ", "/repo", "make")));
        check("  cd a/b;make", Some(("  cd a/b;", "a/b", "make")));
        check("cd a\nmake && cd b", Some(("cd a\n", "a", "make && cd b")));
        check("cd . && for x in *; do wc $x; done", Some(("cd . && ", ".", "for x in *; do wc $x; done")));
        check("cd a && cat <<'E'\nx && y\nE", Some(("cd a && ", "a", "cat <<'E'\nx && y\nE")));
    }

    #[test]
    fn whatever_else_a_shell_would_do_first_is_no_move() {
        for text in [
            "make && cd /repo",
            "cd /repo",
            "cd /repo &&",
            "cd /repo || make",
            "cd /repo & make",
            "cd /repo | make; ls",
            "cd ~ && make",
            "cd ~/src && make",
            "cd $HOME && make",
            "cd `pwd` && make",
            "cd $(pwd; ls) && make",
            "cd 'a; b' && make",
            "cd \"a\" && make",
            "cd a\\ b && make",
            "cd - && make",
            "cd -P x && make",
            "cd a b && make",
            "cd && make",
            "cd a* && make",
            "cd {a,b} && make",
            "X=1 cd a && make",
            "! cd a && make",
            "cd a > log && make",
            "(cd a && make)",
            "CD a && make",
            "\"cd\" a && make",
            "cda && make",
            "",
        ] {
            check(text, None);
        }
    }
}
