//! What switches the hooks of an agent off, and each file that it obeys such a setting in. Where a setting
//! is in force for some files only, it is looked for in those alone. The files of Claude Code, Codex and
//! Copilot CLI were tried with the releases that the table names, but for what a server sends; those of the
//! others are in their documentation.

use crate::table::{At, Off, Place, Switch, Syntax};

pub(super) const CLAUDE_CODE: &[Switch] = &[
    Switch { places: CLAUDE_OWN, way: &["disableAllHooks"], off: Off::Is(true) },
    Switch { places: CLAUDE_MANAGED, way: &["disableAllHooks"], off: Off::Is(true) },
    Switch { places: CLAUDE_MANAGED, way: &["allowManagedHooksOnly"], off: Off::Locks("") },
    Switch { places: CLAUDE_MANAGED, way: &["strictPluginOnlyCustomization"], off: Off::Locks("hooks") },
    // Those of a project come too late to count.
    Switch { places: &[CLAUDE_USER], way: &["env", "CLAUDE_CODE_SIMPLE"], off: Off::Yes },
    Switch { places: &[CLAUDE_USER], way: &["env", "CLAUDE_CODE_SAFE_MODE"], off: Off::Yes },
    Switch { places: CLAUDE_MANAGED, way: &["env", "CLAUDE_CODE_SIMPLE"], off: Off::Yes },
    Switch { places: CLAUDE_MANAGED, way: &["env", "CLAUDE_CODE_SAFE_MODE"], off: Off::Yes },
];

pub(super) const CODEX: &[Switch] = &[
    Switch { places: CODEX_PLACES, way: &["features", "hooks"], off: Off::Is(false) },
    // The name of before release 0.124.0, which it still takes.
    Switch { places: CODEX_PLACES, way: &["features", "codex_hooks"], off: Off::Is(false) },
    Switch { places: &[CODEX_REQUIREMENTS], way: &["allow_managed_hooks_only"], off: Off::Is(true) },
];

pub(super) const GEMINI: &[Switch] = &[
    Switch { places: GEMINI_PLACES, way: &["hooksConfig", "enabled"], off: Off::Is(false) },
    Switch { places: GEMINI_PLACES, way: &["hooksConfig", "disabled"], off: Off::Names("countersign") },
];

pub(super) const QWEN: &[Switch] =
    &[Switch { places: QWEN_PLACES, way: &["disableAllHooks"], off: Off::Is(true) }];

pub(super) const COPILOT: &[Switch] =
    &[Switch { places: COPILOT_PLACES, way: &["disableAllHooks"], off: Off::Is(true) }];

const CLAUDE_USER: Place = json(At::Own("settings.json"));

const CLAUDE_OWN: &[Place] = &[
    CLAUDE_USER,
    json(At::Project(".claude/settings.json")),
    json(At::Project(".claude/settings.local.json")),
];

/// What an administrator says, and what Claude Code keeps of what the organisation's server said last.
const CLAUDE_MANAGED: &[Place] = &[
    json(At::Machine("etc/claude-code/managed-settings.json", None)),
    json(At::MachineEach("etc/claude-code/managed-settings.d")),
    json(At::Own("remote-settings.json")),
];

const CODEX_PLACES: &[Place] = &[
    toml(At::Own("config.toml")),
    toml(At::Project(".codex/config.toml")),
    toml(At::Machine("etc/codex/config.toml", None)),
    toml(At::Machine("etc/codex/managed_config.toml", None)),
    CODEX_REQUIREMENTS,
];

const CODEX_REQUIREMENTS: Place = toml(At::Machine("etc/codex/requirements.toml", None));

const GEMINI_PLACES: &[Place] = &[
    commented(At::Own("settings.json")),
    commented(At::Project(".gemini/settings.json")),
    commented(At::Machine("etc/gemini-cli/settings.json", Some("GEMINI_CLI_SYSTEM_SETTINGS_PATH"))),
    commented(At::Machine("etc/gemini-cli/system-defaults.json", Some("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"))),
];

const QWEN_PLACES: &[Place] = &[
    commented(At::Own("settings.json")),
    commented(At::Project(".qwen/settings.json")),
    commented(At::Machine("etc/qwen-code/settings.json", Some("QWEN_CODE_SYSTEM_SETTINGS_PATH"))),
    commented(At::Machine("etc/qwen-code/system-defaults.json", Some("QWEN_CODE_SYSTEM_DEFAULTS_PATH"))),
];

/// In a repository it obeys what Claude Code has there too.
const COPILOT_PLACES: &[Place] = &[
    commented(At::Own("settings.json")),
    commented(At::Project(".github/copilot/settings.json")),
    commented(At::Project(".github/copilot/settings.local.json")),
    commented(At::Project(".claude/settings.json")),
    commented(At::Project(".claude/settings.local.json")),
];

const fn json(at: At) -> Place {
    Place { at, syntax: Syntax::Json }
}

const fn commented(at: At) -> Place {
    Place { at, syntax: Syntax::JsonWithComments }
}

const fn toml(at: At) -> Place {
    Place { at, syntax: Syntax::Toml }
}
