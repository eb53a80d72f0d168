//! What takes or gives rights.

use super::Cause::Rights;
use super::line::{Line, Seen, line};
use super::place::Place;
use crate::powers::elevates;

pub(super) const LINES: &[Line] = &[
    line(Rights, "*", "", "sudo -u web id", "make install").when(elevates_itself),
    line(Rights, "chmod", "", "chmod -R 777 web", "chmod +x run.sh").when(opens_to_all),
    line(
        Rights,
        "chown chgrp chmod setfacl chattr chflags icacls takeown",
        "",
        "chown me /data/x",
        "chown me src/x",
    )
    .when(owns_elsewhere),
    line(Rights, "setcap mknod newuidmap newgidmap visudo vipw", "", "setcap cap_net_raw+ep x", "getcap x"),
    line(Rights, "install", "", "install -m 4755 x y", "install -m 755 x y")
        .with("-m --mode")
        .when(opens_to_all),
    line(
        Rights,
        "passwd chpasswd useradd userdel usermod groupadd groupdel groupmod adduser deluser addgroup gpasswd chage chsh chfn dscl",
        "",
        "usermod -aG docker me",
        "users",
    ),
    line(
        Rights,
        "claude codex gemini copilot cursor-agent opencode goose aider amp qwen droid crush",
        "",
        "claude -p hello --dangerously-skip-permissions",
        "claude -p hello",
    )
    .when(is_bypassing),
    line(Rights, "gemini qwen", "", "gemini -y -p hello", "gemini -p hello").with("-y"),
    line(
        Rights,
        "direnv mise pre-commit husky",
        "allow|trust|permit|install",
        "direnv allow",
        "direnv status",
    ),
    line(
        Rights,
        "claude codex gemini copilot cursor-agent opencode",
        "mcp add|mcp remove|mcp add-json|config set|plugin install|plugin marketplace|login|setup-token",
        "claude mcp add db",
        "claude mcp list",
    ),
    line(Rights, "spctl csrutil tccutil setenforce aa-disable aa-complain", "", "setenforce 0", "getenforce"),
    line(
        Rights,
        "openclaw countersign",
        "approvals|rules|exec-policy|open|config|policy",
        "countersign rules add x",
        "countersign exec -- ls",
    ),
];

/// Another user's rights. What a service with all rights does for containers is told elsewhere.
fn elevates_itself(seen: &Seen<'_>) -> bool {
    let name = &seen.invoked.name;
    let by_service = matches!(name.as_str(), "ctr" | "docker" | "docker-compose" | "nerdctl");
    !by_service && elevates(name, &seen.arguments).is_some()
}

/// A mode with which everybody may write, or a program runs as its owner.
fn opens_to_all(seen: &Seen<'_>) -> bool {
    let mode = match seen.invoked.name.as_str() {
        "install" => seen.values("-m --mode").first().copied(),
        _ => seen.operands().next(),
    };
    mode.is_some_and(|mode| {
        if mode.bytes().all(|b| b.is_ascii_digit()) { is_open_number(mode) } else { is_open_word(mode) }
    })
}

fn is_open_number(mode: &str) -> bool {
    let writes = mode.chars().next_back().and_then(|c| c.to_digit(8)).is_some_and(|bits| bits & 2 != 0);
    let special = mode.len() > 3
        && mode.chars().nth_back(3).and_then(|c| c.to_digit(8)).is_some_and(|bits| bits & 6 != 0);
    writes || special
}

fn is_open_word(mode: &str) -> bool {
    mode.split(',').any(|clause| {
        let Some(at) = clause.find(['+', '=']) else { return false };
        let (who, what) = clause.split_at(at);
        what.contains('s') || (what.contains('w') && who.contains(['o', 'a']))
    })
}

/// Owner or rights of something outside.
fn owns_elsewhere(seen: &Seen<'_>) -> bool {
    let mut named = seen.operands().skip(1).map(|word| seen.ground.place(word));
    named.any(|place| matches!(place, Place::System | Place::HomeDot | Place::Outside))
}

/// An agent that is told to ask nobody.
fn is_bypassing(seen: &Seen<'_>) -> bool {
    let says_so = |word: &&str| {
        let word = word.to_ascii_lowercase();
        !word.contains(char::is_whitespace) && BYPASSES.iter().any(|bypass| word.contains(bypass))
    };
    seen.arguments.iter().any(says_so)
}

/// Parts of flags, and of their values, with which agents ask nobody.
const BYPASSES: &[&str] = &[
    "allow-all",
    "auto-approve",
    "bypasspermissions",
    "danger-full-access",
    "dangerously",
    "full-auto",
    "trust-all",
    "yes-always",
    "--yolo",
];
