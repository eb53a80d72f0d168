//! What agents call the tools that run commands, change files and fetch: a rule about such a tool's name
//! allows nothing, since what it does is said by its parameters.

/// What agents call the tool that runs a text in a shell.
pub const COMMANDS: &[&str] = &[
    "Bash",
    "Monitor",
    "bash",
    "exec",
    "exec_command",
    "local_shell",
    "run_in_terminal",
    "run_shell_command",
    "shell",
    "shell_command",
];

/// What agents call the tool that fetches the one address in `url`.
pub const FETCHERS: &[&str] = &["WebFetch", "web_fetch", "webfetch"];

/// What agents call the tools that change files, ours that do the same, and every parameter that
/// these understand.
pub const CHANGES: &[(&[&str], &str, &[&str])] = &[
    // `file_text`, `old_str` and `new_str` are what Copilot CLI calls them.
    (&["Write", "write_file"], "write_file", &["file_path", "path", "content", "file_text"]),
    (
        &["Edit", "edit", "edit_file", "replace"],
        "edit_file",
        // `instruction` is what Gemini CLI tells itself that the edit is for.
        &[
            "file_path",
            "path",
            "old_string",
            "new_string",
            "replace_all",
            "old_text",
            "new_text",
            "old_str",
            "new_str",
            "instruction",
        ],
    ),
    (&["MultiEdit"], "edit_file", &["file_path", "path", "edits"]),
    (&["append_file"], "append_file", &["file_path", "path", "content"]),
    (&["apply_patch"], "apply_patch", &["input", "patch"]),
];

/// What agents call tools that only look at files or search, by their makers' documentation. No rule about
/// one counts where its parameters name what looks like the place of a secret.
pub const READERS: &[&str] = &[
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "Read",
    "WebSearch",
    "glob",
    "google_web_search",
    "grep",
    "grep_search",
    "list",
    "list_dir",
    "list_directory",
    "read",
    "read_file",
    "read_many_files",
    "search_file_content",
    "view",
    "view_image",
    "web_search",
    "websearch",
];

/// Whether a tool of this name is known to run commands or to change files.
pub fn is_known_to_act(name: &str) -> bool {
    COMMANDS.contains(&name) || CHANGES.iter().any(|(names, ..)| names.contains(&name))
}

/// Whether an agent is known to have a tool of this name, in whatever case it is written.
pub fn is_known(name: &str) -> bool {
    let changes = CHANGES.iter().flat_map(|(names, ..)| *names);
    [COMMANDS, FETCHERS, READERS].concat().iter().chain(changes).any(|known| known.eq_ignore_ascii_case(name))
}
