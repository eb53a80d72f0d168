//! Whether a command goes to a machine that its words do not name.

use super::line::Seen;
use super::walk::{Invoked, walk};
use super::writes::reads;
use super::{Wanted, destinations};
use crate::facts::Facts;
use crate::powers::talks;
use countersign_commands::analysis::Analysis;

/// Whether a command that talks to other machines goes to one whose name a shell, the program or a file of
/// its makes, or which only the repository knows; `argv` is its argument list, empty for a text. What a
/// program does by itself is not known here.
pub(crate) fn goes_anywhere(analysis: &Analysis, argv: &[String], facts: &Facts) -> bool {
    let walked = walk(analysis, argv, facts);
    let is_remote = |wanted: &Wanted| matches!(wanted, Wanted::Remote(_));
    walked.more
        || destinations(analysis, argv, facts).iter().any(is_remote)
        || walked.commands.iter().any(is_unclear)
        || walked.commands.iter().any(|invoked| takes_a_text(invoked, &analysis.source))
}

/// Whether a shell takes what a pipe may bring for commands.
fn takes_a_text(invoked: &Invoked, source: &str) -> bool {
    let behind = invoked.arguments();
    invoked.name.is_shell() && source.contains('|') && behind.iter().all(|word| word.starts_with('-'))
}

fn is_unclear(invoked: &Invoked) -> bool {
    let arguments = invoked.arguments();
    if reads(&invoked.words) || !talks(&invoked.name, &arguments) {
        return false;
    }
    let seen = Seen::anywhere(invoked, "");
    let is_cut = |flags: &[&str]| {
        let long = arguments
            .iter()
            .filter_map(|word| word.split('=').next())
            .filter(|word| word.len() > "--x".len());
        long.filter(|word| word.starts_with("--")).any(|word| flags.iter().any(|flag| flag.starts_with(word)))
    };
    let by_file = match invoked.name.as_str() {
        "curl" => seen.has("-K") || is_cut(&["--config"]),
        "wget" => seen.has("-i") || is_cut(&["--input-file"]),
        "aria2c" => seen.has("-i -M") || is_cut(&["--input-file", "--metalink-file"]),
        _ => false,
    };
    let mut is_data = false;
    by_file
        || arguments.iter().any(|word| {
            let is_value = std::mem::replace(&mut is_data, DATA.contains(word));
            !is_value && is_made(word)
        })
}

/// Whether a word that could be an address says its host in another way than by its letters.
fn is_made(word: &str) -> bool {
    let is_glued = word.starts_with('-') && !word.contains('=');
    if is_glued || word.contains(char::is_whitespace) {
        return false;
    }
    let address = word.split_once("://").map_or(word, |(_, rest)| rest);
    let authority = address.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    // `[::1]` is an address as it is written.
    let is_address = authority.contains(':') && authority.starts_with('[');
    !authority.is_ascii()
        || authority.contains(['$', '`', '%', '{', '}'])
        || (authority.contains('[') && !is_address)
}

/// Flags behind which something else stands than an address.
const DATA: &[&str] = &[
    "--cacert",
    "--cert",
    "--cookie",
    "--cookie-jar",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--form",
    "--header",
    "--json",
    "--key",
    "--output",
    "--output-document",
    "--post-data",
    "--range",
    "--referer",
    "--request",
    "--upload-file",
    "--user",
    "--user-agent",
    "--write-out",
    "-A",
    "-E",
    "-F",
    "-H",
    "-O",
    "-T",
    "-X",
    "-b",
    "-c",
    "-d",
    "-e",
    "-m",
    "-o",
    "-r",
    "-u",
    "-w",
];
