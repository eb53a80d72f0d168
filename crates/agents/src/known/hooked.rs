//! Agents that start a program before they call a tool.

use super::{CALL_LIMIT, OWN_TOOLS, switches};
use crate::table::{
    Agent, Caution, Event, File, Folder, Form, Hook, Listed, Mcp, Part, Projects, Sessions, Syntax,
};
use std::time::Duration;

pub(super) const CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    aliases: &["claude"],
    programs: &["claude"],
    package: Some("@anthropic-ai/claude-code"),
    tested: Some("2.1.330"),
    folder: Folder { below_home: ".claude", moved_by: Some(("CLAUDE_CONFIG_DIR", "")), sign: "" },
    projects: Some(Projects { file: CLAUDE_STATE, way: &["projects"] }),
    sessions: Some(Sessions { below: "projects", depth: 3, form: Form::ClaudeCode }),
    hook: Some(Hook {
        file: CLAUDE_SETTINGS,
        events: BOTH_EVENTS,
        handler: &[
            ("type", Part::Text("command")),
            ("command", Part::Line),
            ("timeout", Part::LimitSeconds),
            ("statusMessage", WAITING),
            ("onFailure", Part::Text("block")),
        ],
        switches: switches::CLAUDE_CODE,
        cautions: &[],
        longest: None,
        trust: None,
        covers: "every call of a tool, those of sub-agents and MCP servers too",
        misses: "files that a prompt names with @; sessions with --bare, --safe-mode or other --setting-sources",
    }),
    mcp: Some(Mcp {
        file: CLAUDE_STATE,
        way: &["mcpServers"],
        entry: &[
            ("type", Part::Text("stdio")),
            ("command", Part::Program),
            ("args", Part::Arguments),
            ("timeout", CALL_LIMIT),
        ],
        provider: Some("anthropic"),
        listed: Some(Listed {
            file: CLAUDE_SETTINGS,
            way: &["permissions", "allow"],
            entry: "mcp__countersign",
        }),
        covers: "commands, files and other tools of Countersign that it calls",
        misses: OWN_TOOLS,
    }),
    elsewhere: None,
};

pub(super) const CODEX: Agent = Agent {
    name: "codex",
    title: "Codex",
    aliases: &["codex-mcp-client"],
    programs: &["codex"],
    package: Some("@openai/codex"),
    tested: Some("0.169.0"),
    folder: Folder { below_home: ".codex", moved_by: Some(("CODEX_HOME", "")), sign: "" },
    projects: Some(Projects { file: CODEX_CONFIG, way: &["projects"] }),
    sessions: Some(Sessions { below: "sessions", depth: 3, form: Form::Codex }),
    hook: Some(Hook {
        file: File {
            user: &["hooks.json"],
            unmoved: None,
            project: Some(".codex/hooks.json"),
            syntax: Syntax::Json,
        },
        events: BOTH_EVENTS,
        handler: &[
            ("type", Part::Text("command")),
            ("command", Part::Line),
            ("timeout", Part::LimitSeconds),
            ("statusMessage", WAITING),
        ],
        switches: switches::CODEX,
        cautions: &[Caution::TrustFirst],
        longest: None,
        trust: Some(CODEX_CONFIG),
        covers: "commands, patches and calls of MCP tools, once you trusted the hook in Codex",
        misses: "most other tools, text typed into a command that runs, and everything until the hook is trusted",
    }),
    mcp: Some(Mcp {
        file: CODEX_CONFIG,
        way: &["mcp_servers"],
        entry: &[
            ("command", Part::Program),
            ("args", Part::Arguments),
            ("tool_timeout_sec", Part::Number(600)),
            ("default_tools_approval_mode", Part::Text("approve")),
        ],
        provider: Some("openai"),
        listed: None,
        covers: "commands, files and other tools of Countersign that it calls",
        misses: OWN_TOOLS,
    }),
    elsewhere: None,
};

pub(super) const GEMINI: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    aliases: &["gemini-cli", "gemini-cli-mcp-client"],
    programs: &["gemini"],
    package: Some("@google/gemini-cli"),
    tested: Some("0.61.0"),
    folder: Folder { below_home: ".gemini", moved_by: Some(("GEMINI_CLI_HOME", ".gemini")), sign: "" },
    projects: Some(Projects { file: GEMINI_PROJECTS, way: &["projects"] }),
    sessions: None,
    hook: Some(Hook {
        file: GEMINI_SETTINGS,
        events: &[(Event::BeforeTool, "BeforeTool")],
        handler: &[
            ("name", Part::Text("countersign")),
            ("type", Part::Text("command")),
            ("command", Part::Line),
            ("timeout", Part::LimitMilliseconds),
        ],
        switches: switches::GEMINI,
        cautions: &[Caution::TrustedFolders],
        longest: None,
        trust: None,
        covers: "every call of a tool in folders that it trusts",
        misses: "folders that it does not trust; its own questions come besides",
    }),
    mcp: Some(Mcp {
        file: GEMINI_SETTINGS,
        way: &["mcpServers"],
        entry: &[
            ("command", Part::Program),
            ("args", Part::Arguments),
            ("trust", Part::True),
            ("timeout", CALL_LIMIT),
        ],
        provider: Some("google"),
        listed: None,
        covers: "commands, files and other tools of Countersign that it calls",
        misses: OWN_TOOLS,
    }),
    elsewhere: None,
};

pub(super) const QWEN: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
    // As a client of servers it puts the server's name behind its own.
    aliases: &["qwen-code", "qwen-cli-mcp-client-countersign"],
    programs: &["qwen"],
    package: Some("@qwen-code/qwen-code"),
    tested: Some("0.24.4"),
    folder: Folder { below_home: ".qwen", moved_by: Some(("QWEN_HOME", "")), sign: "" },
    projects: None,
    sessions: None,
    hook: Some(Hook {
        file: QWEN_SETTINGS,
        events: BOTH_EVENTS,
        handler: &[
            ("name", Part::Text("countersign")),
            ("type", Part::Text("command")),
            ("command", Part::Line),
            ("timeout", Part::LimitMilliseconds),
            ("statusMessage", WAITING),
        ],
        switches: switches::QWEN,
        cautions: &[],
        // Its hooks are a request on its own bus, and that ends then.
        longest: Some(Duration::from_secs(60)),
        trust: None,
        covers: "every call of a tool, those of sub-agents and MCP servers too",
        misses: "sessions with --bare or --safe-mode; a project's hook in a folder that it does not trust",
    }),
    mcp: Some(Mcp {
        file: QWEN_SETTINGS,
        way: &["mcpServers"],
        entry: &[
            ("command", Part::Program),
            ("args", Part::Arguments),
            ("trust", Part::True),
            ("timeout", CALL_LIMIT),
        ],
        provider: None,
        listed: None,
        covers: "commands, files and other tools of Countersign that it calls",
        misses: OWN_TOOLS,
    }),
    elsewhere: None,
};

pub(super) const COPILOT: Agent = Agent {
    name: "copilot",
    title: "Copilot CLI",
    aliases: &["copilot-cli"],
    programs: &["copilot"],
    package: Some("@github/copilot"),
    tested: Some("1.0.102"),
    folder: Folder { below_home: ".copilot", moved_by: Some(("COPILOT_HOME", "")), sign: "" },
    projects: None,
    sessions: Some(Sessions { below: "session-state", depth: 1, form: Form::Copilot }),
    hook: Some(Hook {
        file: COPILOT_SETTINGS,
        events: &[(Event::BeforeTool, "PreToolUse")],
        handler: &[("type", Part::Text("command")), ("command", Part::Line), ("timeout", Part::LimitSeconds)],
        switches: switches::COPILOT,
        cautions: &[],
        longest: None,
        trust: None,
        covers: "every call of a tool",
        misses: "nothing that is known; it goes on when the hook takes longer than its limit",
    }),
    mcp: Some(Mcp {
        file: File {
            user: &["mcp-config.json"],
            unmoved: None,
            // A project's `.mcp.json` has the form of Claude Code, and may be for both.
            project: None,
            syntax: Syntax::Json,
        },
        way: &["mcpServers"],
        entry: &[
            ("type", Part::Text("local")),
            ("command", Part::Program),
            ("args", Part::Arguments),
            ("tools", Part::Texts(&["*"])),
            ("timeout", CALL_LIMIT),
        ],
        provider: None,
        listed: None,
        covers: "commands, files and other tools of Countersign that it calls",
        misses: OWN_TOOLS,
    }),
    elsewhere: None,
};

/// Its servers, and all that it remembers of projects.
const CLAUDE_STATE: File = File {
    user: &[".claude.json"],
    unmoved: Some(".claude.json"),
    project: Some(".mcp.json"),
    syntax: Syntax::Json,
};

const CLAUDE_SETTINGS: File = File {
    user: &["settings.json"],
    unmoved: None,
    project: Some(".claude/settings.json"),
    syntax: Syntax::Json,
};

const CODEX_CONFIG: File =
    File { user: &["config.toml"], unmoved: None, project: Some(".codex/config.toml"), syntax: Syntax::Toml };

const GEMINI_SETTINGS: File = File {
    user: &["settings.json"],
    unmoved: None,
    project: Some(".gemini/settings.json"),
    syntax: Syntax::JsonWithComments,
};

const GEMINI_PROJECTS: File =
    File { user: &["projects.json"], unmoved: None, project: None, syntax: Syntax::Json };

const QWEN_SETTINGS: File = File {
    user: &["settings.json"],
    unmoved: None,
    project: Some(".qwen/settings.json"),
    syntax: Syntax::JsonWithComments,
};

const COPILOT_SETTINGS: File = File {
    user: &["settings.json"],
    unmoved: None,
    project: Some(".github/copilot/settings.json"),
    syntax: Syntax::JsonWithComments,
};

const BOTH_EVENTS: &[(Event, &str)] =
    &[(Event::BeforeTool, "PreToolUse"), (Event::PermissionRequest, "PermissionRequest")];

/// What the agent shows while the person is asked.
const WAITING: Part = Part::Text("Waiting for Countersign");
