//! Texts that only write down what stands in them, such as `echo 'rm x' >> FILE` and a here-document for
//! `cat`: nothing that they name is started. A file that is written here and started by another command is
//! a script, and what scripts run is not looked for.

use countersign_commands::command::carriers::rough::Simple;
use std::borrow::Cow;

/// What a shell reads of a text: all of it but the body of a here-document that it takes as it stands.
pub(super) fn read_by_the_shell(text: &str) -> Cow<'_, str> {
    literal_body(text).map_or(Cow::Borrowed(text), |(before, behind)| Cow::Owned(format!("{before}{behind}")))
}

/// Whether commands that were read of a text only print what they are told, into files and each other.
/// `shell` is what a shell reads of it.
pub(super) fn only_writes_down(shell: &str, simples: &[Simple]) -> bool {
    let prints = |simple: &Simple| {
        let is_printer = simple.words.first().is_some_and(|word| PRINTERS.contains(&word.as_str()));
        let is_file =
            |path: &String| path == "/dev/null" || !(path.starts_with("/dev/") || path.starts_with("/proc/"));
        is_printer && simple.words.iter().skip(1).chain(&simple.written).all(is_file)
    };
    // What a substitution prints, or a function of such a name does, nobody sees; quotes mean something else
    // in the value of a variable.
    !shell.contains(['`', '(']) && !shell.contains("${") && !simples.is_empty() && simples.iter().all(prints)
}

/// What stands before and behind the body of the only here-document of a text; `None` where there is another
/// number of them, or where the shell reads its body: only one with a quoted end stays as it is.
fn literal_body(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once("<<")?;
    let (strips_tabs, rest) = rest.strip_prefix('-').map_or((false, rest), |rest| (true, rest));
    let rest = rest.trim_start_matches([' ', '\t']);
    let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let (end, behind) = rest.get(1..)?.split_once(quote)?;
    let is_plain = !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let goes_on = behind.starts_with([' ', '\n', ';', '>', '|', '&']);
    let line_end = text.len() - behind.len() + behind.find('\n')? + 1;
    let is_alone = !text.get(text.len() - behind.len()..line_end)?.contains("<<");
    // A quote that is open there would make the rest of the line, and the lines behind it, one word.
    let is_closed = |line: &str| !line.contains(['\'', '"', '\\', '#', '$']);
    let line = text.get(text.len() - behind.len()..line_end)?;
    let is_certain = is_plain && goes_on && is_alone && is_closed(line) && has_closed_quotes(head);
    if !is_certain {
        return None;
    }
    let mut at = line_end;
    for line in text.get(line_end..)?.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = if strips_tabs { bare.trim_start_matches('\t') } else { bare };
        at += line.len();
        if bare == end {
            let behind = text.get(at..)?;
            return (!behind.contains("<<")).then_some((text.get(..line_end)?, behind));
        }
    }
    None
}

/// Whether no quote, comment or here-string is open at the end of a text.
fn has_closed_quotes(text: &str) -> bool {
    let is_even = |quote: char| text.matches(quote).count().is_multiple_of(2);
    let has_both = text.contains('\'') && text.contains('"');
    !text.contains(['\\', '#', '<']) && !has_both && is_even('\'') && is_even('"')
}

/// Programs and words of the shell that print what they are told or given, and do nothing else.
const PRINTERS: &[&str] = &["cat", "echo", "printf", "tee"];

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_commands::command::carriers::rough;
    use pretty_assertions::assert_eq;

    fn check(text: &str, expected: bool) {
        let shell = read_by_the_shell(text);
        assert_eq!(only_writes_down(&shell, &rough::read(text)), expected, "{text}");
    }

    #[test]
    fn what_is_only_written_down_is_told_from_what_is_run() {
        for text in [
            "echo 'rm x' >> notes.md",
            "echo one > a; printf '%s' two >> a && cat a | tee b",
            "cat > notes.md <<'E'\n$(rm x) `rm y`\n  it's (rm)\nE",
            "cat <<-\"END\" | tee a b\n\trm x\n\tEND\necho done",
        ] {
            check(text, true);
        }
        for text in [
            "echo 'rm x' | sh",
            "echo $(rm x)",
            "echo `rm x`",
            "cat <(rm x)",
            "cat > f <<E\n$(rm x)\nE",
            "cat > f <<'E'\nrm x\nE\nsh f",
            "cat <<'E' | sh\nrm x\nE",
            "cat <<'E' <<'F'\na\nE\n`rm x`\nF",
            "cat <<'E' <<'F'\nF\nrm x\nE\nF",
            "echo \"${x#'}\"; rm y; echo '",
            "cat <<'E'\nE\n$(rm x)",
            "cat '<<'E'\nrm x\n`rm x`",
            "cat # <<'E'\n`rm x`\nE",
            "echo 'a\ncat <<'E'\n' `rm x`\nE",
            "echo() { rm x; }; echo",
            "X=rm echo a; $X",
            "echo 'rm x' > /dev/tcp/host/1",
            "echo x | tee /proc/self/fd/9",
            "",
        ] {
            check(text, false);
        }
    }
}
