//! What is built in: groups, profiles, and the lists that hold where nobody wrote one
//! (docs/protocol/tools.md, "Groups and profiles").
//!
//! The newest release (2026.9) is the base. What only the older one (2026.2) has is kept beside it, as such a
//! name can mean nothing else; each table says what is from where. Names of Countersign's own tools stand
//! beside those of the peers that they do the work of.

use super::names::{Glob, List};
use std::sync::LazyLock;

/// Members of a group; the name is normalised. `group:plugins` is none of these: its members
/// are what is loaded.
pub(super) fn group(name: &str) -> Option<&'static [&'static str]> {
    GROUPS.iter().find(|(group, _)| *group == name).map(|(_, members)| *members)
}

/// The group that a tool is shown under, without `group:`; the name is normalised. `group:openclaw` is a
/// collection of others'.
pub fn section(tool: &str) -> Option<&'static str> {
    let has = |members: &[&str]| members.contains(&tool);
    let (group, _) = GROUPS.iter().find(|(group, members)| *group != EVERYTHING && has(members))?;
    group.strip_prefix("group:")
}

/// Names of the profiles.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// What a profile lets through; the name is normalised.
pub(super) fn profile(name: &str) -> Option<&'static List> {
    BUILT_IN.profiles.iter().find(|(profile, _)| *profile == name).map(|(_, list)| list)
}

/// The lists below, made ready once.
pub(super) static BUILT_IN: LazyLock<BuiltIn> = LazyLock::new(|| BuiltIn {
    everything: List::built_in(&["*"]),
    profiles: PROFILES.iter().map(|(name, entries)| (*name, List::built_in(entries))).collect(),
    owner_only: List::built_in(OWNER_ONLY),
    sandbox_allow: List::built_in(SANDBOX_ALLOW),
    sandbox_always: List::built_in(SANDBOX_ALWAYS),
    sandbox_deny: List::built_in(SANDBOX_DENY),
    sub_agent_deny: List::built_in(SUB_AGENT_DENY),
    leaf_deny: List::built_in(LEAF_DENY),
});

/// Lists that nobody has to write.
pub(super) struct BuiltIn {
    pub(super) everything: List,
    profiles: Vec<(&'static str, List)>,
    pub(super) owner_only: List,
    pub(super) sandbox_allow: List,
    pub(super) sandbox_always: List,
    pub(super) sandbox_deny: List,
    pub(super) sub_agent_deny: List,
    pub(super) leaf_deny: List,
}

/// Whether a normalised name is that of a tool which is part of a release or of Countersign, here or not.
pub(super) fn is_core(name: &str) -> bool {
    core().any(|core| core == name)
}

/// Whether a pattern is for at least one of these tools.
pub(super) fn has_core(glob: &Glob) -> bool {
    core().any(|core| glob.matches(core))
}

fn core() -> impl Iterator<Item = &'static str> {
    let grouped = GROUPS.iter().flat_map(|(_, members)| members.iter());
    grouped.chain(UNGROUPED).copied()
}

/// The newest release's, with what only the older one has: `image`. The newest one takes `cron`
/// for `automations`.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "group:agents",
        &[
            "agents_list",
            "get_goal",
            "create_goal",
            "update_goal",
            "progress_card",
            "ask_user",
            "skill_workshop",
        ],
    ),
    ("group:automation", &["heartbeat_respond", "automations", "gateway", "plugins", "openclaw"]),
    (
        "group:fs",
        &[
            "read",
            "write",
            "edit",
            "apply_patch",
            "ls",
            "read_file",
            "write_file",
            "edit_file",
            "append_file",
        ],
    ),
    (
        "group:media",
        &["view_image", "image", "image_generate", "music_generate", "video_generate", "tts", "pdf"],
    ),
    ("group:memory", &["memory_search", "memory_get"]),
    ("group:messaging", &["message"]),
    ("group:nodes", &["nodes", "computer", "mobile_ui"]),
    // The older release's: what the newest one adds to it is not established. Neither has files
    // or commands in it.
    (
        EVERYTHING,
        &[
            "browser",
            "canvas",
            "nodes",
            "automations",
            "message",
            "gateway",
            "agents_list",
            "sessions_list",
            "sessions_history",
            "sessions_send",
            "sessions_spawn",
            "subagents",
            "session_status",
            "subagent",
            "spawn",
            "memory_search",
            "memory_get",
            "web_search",
            "web_fetch",
            "image",
            "view_image",
        ],
    ),
    ("group:runtime", &["exec", "process", "code_execution", "secrets"]),
    (
        "group:sessions",
        &[
            "sessions",
            "sessions_list",
            "sessions_history",
            "sessions_search",
            "sessions_send",
            "sessions_spawn",
            "sessions_yield",
            "subagents",
            "session_status",
            "conversations_list",
            "conversations_send",
            "conversations_turn",
            "agents_wait",
            "suggest_task",
            "dismiss_task",
            "github_identity_status",
            "github_publish",
            "subagent",
            "spawn",
        ],
    ),
    ("group:ui", &["browser", "screen", "theme", "dashboard", "terminal", "portal", "canvas", "show_widget"]),
    ("group:web", &["web_search", "web_fetch", "x_search"]),
];

/// Most of what comes with a release, whatever it does.
const EVERYTHING: &str = "group:openclaw";

/// Tools that are in no group.
const UNGROUPED: &[&str] = &["whatsapp_login"];

/// The newest release's. It lets `gateway` into `minimal` for updates of itself alone, which no entry can
/// say: it stays out, as in the older release. What it calls session tools of `messaging` is taken for those
/// that start nothing.
const PROFILES: &[(&str, &[&str])] = &[
    ("minimal", &["session_status"]),
    (
        "coding",
        &[
            "group:fs",
            "group:runtime",
            "group:web",
            "group:sessions",
            "group:memory",
            "automations",
            "gateway",
            "plugins",
            "get_goal",
            "create_goal",
            "update_goal",
            "progress_card",
            "ask_user",
            "skill_workshop",
            // `image` is the older release's word for it.
            "image",
            "view_image",
            "image_generate",
            "music_generate",
            "video_generate",
            "screen",
            "theme",
            "dashboard",
            "terminal",
            "portal",
            BUNDLE_MCP,
        ],
    ),
    (
        "messaging",
        &[
            "group:messaging",
            "sessions",
            "sessions_list",
            "sessions_history",
            "sessions_search",
            "sessions_send",
            "session_status",
            "conversations_list",
            "conversations_send",
            "conversations_turn",
            "secrets",
            "theme",
            "gateway",
            "ask_user",
            BUNDLE_MCP,
        ],
    ),
    ("full", &["*"]),
];

/// What tools of MCP servers have for a plugin's id.
pub const BUNDLE_MCP: &str = "bundle-mcp";

/// For the owner alone, flagged or not: the newest release's, and `whatsapp_login` of the older one.
const OWNER_ONLY: &[&str] = &[
    "whatsapp_login",
    "automations",
    "gateway",
    "sessions",
    "screen",
    "terminal",
    "portal",
    "conversations_*",
    "nodes",
    "computer",
    "mobile_ui",
    "openclaw",
];

/// What a sandbox lets through where nobody says: the newest release's. The older one lacks `ls` and two
/// of the sessions'.
const SANDBOX_ALLOW: &[&str] = &[
    "exec",
    "process",
    "read",
    "write",
    "edit",
    // Ours, and like the others of `group:fs` kept in the workspace.
    "append_file",
    "apply_patch",
    "ls",
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "sessions_send",
    "sessions_spawn",
    "sessions_yield",
    "subagents",
    "session_status",
];

/// What looks at a picture in the newest release and in the older one. A sandbox that lets anything through
/// lets this through too unless it is denied.
const SANDBOX_ALWAYS: &[&str] = &["view_image", "image"];

/// What a sandbox denies where nobody says: the newest release's, without the ids of channels, which are no
/// tools here. The older one lacks the last two.
const SANDBOX_DENY: &[&str] =
    &["browser", "canvas", "nodes", "automations", "gateway", "computer", "mobile_ui"];

/// What no sub-agent has: the newest release's, and `whatsapp_login` of the older one. That one denies
/// reading the memory too.
const SUB_AGENT_DENY: &[&str] = &[
    "gateway",
    "agents_list",
    "openclaw",
    "session_status",
    "progress_card",
    "automations",
    "message",
    "sessions_send",
    "conversations_*",
    "whatsapp_login",
];

/// What a sub-agent that may start none has not either: the newest release's. The older one
/// lets it manage some.
const LEAF_DENY: &[&str] =
    &["subagents", "sessions_list", "sessions_history", "sessions_search", "sessions_spawn"];

#[cfg(test)]
mod tests {
    use super::super::names::normalised;
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn each_tool_of_ours_is_shown_under_what_it_does() {
        for (tool, expected) in [
            ("read_file", Some("fs")),
            ("apply_patch", Some("fs")),
            ("exec", Some("runtime")),
            ("process", Some("runtime")),
            ("subagent", Some("sessions")),
            ("whatsapp_login", None),
            ("lobster", None),
        ] {
            assert_eq!(section(tool), expected, "{tool}");
        }
    }

    #[test]
    fn what_is_built_in_is_written_as_it_is_compared_and_names_what_there_is() {
        let lists =
            [OWNER_ONLY, SANDBOX_ALLOW, SANDBOX_ALWAYS, SANDBOX_DENY, SUB_AGENT_DENY, LEAF_DENY, UNGROUPED];
        let tables = GROUPS.iter().chain(PROFILES).map(|(_, entries)| *entries).chain(lists);
        for entry in tables.flatten() {
            assert_eq!(normalised(entry), *entry);
        }
        for (profile, _) in PROFILES {
            let list = super::profile(profile).unwrap();
            let unknown = list.entries.iter().filter(|entry| !entry.is_core && entry.text != BUNDLE_MCP);
            assert_eq!(unknown.count(), 0, "{profile}");
        }
        for list in lists {
            assert!(List::built_in(list).entries.iter().all(|entry| entry.is_core), "{list:?}");
        }
    }

    #[test]
    fn our_own_tools_are_core_tools() {
        let ours = "exec process read_file write_file edit_file append_file apply_patch subagent spawn";
        assert_eq!(ours.split(' ').filter(|name| !is_core(name)).count(), 0);
        assert!(!is_core("lobster") && !is_core(BUNDLE_MCP) && !is_core("group:fs"));
    }
}
