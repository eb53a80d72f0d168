//! Finds the patch that a command hands to `apply_patch`, as agents write it in a shell's text. Strict:
//! whatever more there is in the command, or could come of it in a shell, makes it no such command.

/// A patch in a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InCommand<'a> {
    /// The patch.
    pub text: &'a str,
    /// The folder that the command goes to first.
    pub folder: Option<&'a str>,
}

/// The patch of a command that does nothing but apply it.
///
/// ```
/// use countersign_tools::files::patch::in_command;
/// let text = "cd web && apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF\n";
/// let argv = ["bash".into(), "-lc".into(), text.into()];
/// let found = in_command(&argv).unwrap();
/// assert_eq!((found.text, found.folder), ("*** Begin Patch\n*** End Patch\n", Some("web")));
/// ```
pub fn in_command(argv: &[String]) -> Option<InCommand<'_>> {
    match argv {
        [program, text] if PROGRAMS.contains(&program.as_str()) => Some(InCommand { text, folder: None }),
        [shell, flags, text] if is_shell(shell) && matches!(flags.as_str(), "-c" | "-lc") => in_text(text),
        _ => None,
    }
}

fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("bash" | "dash" | "sh" | "zsh"))
}

fn in_text(text: &str) -> Option<InCommand<'_>> {
    let (line, rest) = text.trim_start().split_once('\n')?;
    let (folder, call) = match line.strip_prefix("cd ") {
        Some(after) => {
            let (folder, call) = after.split_once("&&")?;
            (Some(folder.trim()), call)
        }
        None => (None, line),
    };
    if folder.is_some_and(|folder| !is_bare(folder) || folder.starts_with('-')) {
        return None;
    }
    let call = call.trim();
    let program = PROGRAMS.iter().find_map(|program| call.strip_prefix(program))?;
    let word = program.trim_start().strip_prefix("<<")?.trim_start();
    let quoted = ['\'', '"'].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
    let delimiter = quoted.unwrap_or(word);
    let body = body(rest, delimiter)?;
    // Without quotes a shell would make something else of these.
    let is_literal = quoted.is_some() || !body.contains(['$', '`', '\\']);
    (is_bare(delimiter) && is_literal).then_some(InCommand { text: body, folder })
}

/// What stands before the line that is the delimiter, where nothing follows it.
fn body<'a>(text: &'a str, delimiter: &str) -> Option<&'a str> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.strip_suffix('\n').unwrap_or(line) == delimiter {
            let after = text.get(at + line.len()..)?;
            return if after.trim().is_empty() { text.get(..at) } else { None };
        }
        at += line.len();
    }
    None
}

/// Whether a shell takes a word as it is.
fn is_bare(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
}

/// What agents call it.
const PROGRAMS: [&str; 2] = ["apply_patch", "applypatch"];

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n";

    fn check(argv: &[&str], expected: Option<Option<&str>>) {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let expected = expected.map(|folder| InCommand { text: PATCH, folder });
        assert_eq!(in_command(&argv), expected, "{argv:?}");
    }

    #[test]
    fn a_patch_and_nothing_else_is_found() {
        check(&["apply_patch", PATCH], Some(None));
        for (before, delimiter, after, folder) in [
            ("apply_patch <<'EOF'", "EOF", "\n", None),
            ("apply_patch << \"PATCH\"", "PATCH", "", None),
            ("applypatch <<EOF", "EOF", "\n\n", None),
            ("cd web/src && apply_patch <<'EOF'", "EOF", "", Some("web/src")),
        ] {
            let text = format!("{before}\n{PATCH}{delimiter}{after}");
            check(&["bash", "-lc", &text], Some(folder));
            check(&["/bin/sh", "-c", &text], Some(folder));
        }
    }

    #[test]
    fn what_does_more_or_could_mean_something_else_is_none() {
        for (before, body, after) in [
            ("apply_patch <<'EOF' && wipe", PATCH, "EOF\n"),
            ("apply_patch <<'EOF' | wipe", PATCH, "EOF\n"),
            ("wipe; apply_patch <<'EOF'", PATCH, "EOF\n"),
            ("apply_patch <<'EOF'", PATCH, "EOF\nwipe\n"),
            ("apply_patch <<'EOF'", PATCH, " EOF\n"),
            ("apply_patch <<-'EOF'", PATCH, "EOF\n"),
            ("apply_patch <<EOF", "*** Begin Patch\n*** Add File: a\n+$(wipe)\n*** End Patch\n", "EOF\n"),
            ("cd $HOME && apply_patch <<'EOF'", PATCH, "EOF\n"),
            ("cd -P && apply_patch <<'EOF'", PATCH, "EOF\n"),
            ("cd a && wipe && apply_patch <<'EOF'", PATCH, "EOF\n"),
            ("apply_patches <<'EOF'", PATCH, "EOF\n"),
            ("apply_patch <<'E F'", PATCH, "E F\n"),
        ] {
            check(&["sh", "-c", &format!("{before}\n{body}{after}")], None);
        }
        check(&["apply_patch", PATCH, "more"], None);
        check(&["./apply_patch", PATCH], None);
        check(&["sh", "-c", "apply_patch"], None);
        check(&["sh", "-x", "apply_patch <<'EOF'\nEOF"], None);
    }
}
