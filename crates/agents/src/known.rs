//! The agents. Formats are those of the releases that [`Agent::tested`] names, read from the programs themselves and tried with them;
//! Cursor, Visual Studio Code and Zed are written as their documentation says.

use crate::table::{Agent, Event, File, Folder, Hook, Listed, Mcp, Off, Part, Switch, Syntax};

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

/// Ten minutes, in milliseconds: longer than a person has, so that it is never the agent who gives up first.
const CALL_LIMIT: Part = Part::Number(600_000);

const OWN_TOOLS: &str = "its own tools: take its shell away, or connect it by a hook where it has one";

pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        title: "Claude Code",
        aliases: &["claude"],
        programs: &["claude"],
        package: Some("@anthropic-ai/claude-code"),
        tested: Some("2.1.330"),
        folder: Folder { below_home: ".claude", moved_by: Some(("CLAUDE_CONFIG_DIR", "")), sign: "" },
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
            switches: &[Switch { file: CLAUDE_SETTINGS, way: &["disableAllHooks"], off: Off::Is(true) }],
            notes: &[],
            trust: None,
            covers: "every call of a tool, those of sub-agents and MCP servers too",
            misses: "files that a prompt names with @; sessions with --bare, --safe-mode or other --setting-sources",
        }),
        mcp: Some(Mcp {
            file: File {
                user: &[".claude.json"],
                unmoved: Some(".claude.json"),
                project: Some(".mcp.json"),
                syntax: Syntax::Json,
            },
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
    },
    Agent {
        name: "codex",
        title: "Codex",
        aliases: &["codex-mcp-client"],
        programs: &["codex"],
        package: Some("@openai/codex"),
        tested: Some("0.169.0"),
        folder: Folder { below_home: ".codex", moved_by: Some(("CODEX_HOME", "")), sign: "" },
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
            switches: &[Switch { file: CODEX_CONFIG, way: &["features", "hooks"], off: Off::Is(false) }],
            notes: &[
                "Codex calls it only after you have reviewed and trusted it: type /hooks in Codex. Until then, and after every \
                      change, it goes on without asking here.",
            ],
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
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        aliases: &["gemini-cli", "gemini-cli-mcp-client"],
        programs: &["gemini"],
        package: Some("@google/gemini-cli"),
        tested: Some("0.61.0"),
        folder: Folder { below_home: ".gemini", moved_by: Some(("GEMINI_CLI_HOME", ".gemini")), sign: "" },
        hook: Some(Hook {
            file: GEMINI_SETTINGS,
            events: &[(Event::BeforeTool, "BeforeTool")],
            handler: &[
                ("name", Part::Text("countersign")),
                ("type", Part::Text("command")),
                ("command", Part::Line),
                ("timeout", Part::LimitMilliseconds),
            ],
            switches: &[
                Switch { file: GEMINI_SETTINGS, way: &["hooksConfig", "enabled"], off: Off::Is(false) },
                Switch {
                    file: GEMINI_SETTINGS,
                    way: &["hooksConfig", "disabled"],
                    off: Off::Names("countersign"),
                },
            ],
            notes: &["Gemini CLI calls no hook in a folder that it does not trust."],
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
    },
    Agent {
        name: "qwen",
        title: "Qwen Code",
        aliases: &["qwen-code", "qwen-cli-mcp-client"],
        programs: &["qwen"],
        package: Some("@qwen-code/qwen-code"),
        tested: Some("0.24.4"),
        folder: Folder { below_home: ".qwen", moved_by: Some(("QWEN_HOME", "")), sign: "" },
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
            switches: &[Switch { file: QWEN_SETTINGS, way: &["disableAllHooks"], off: Off::Is(true) }],
            notes: &[],
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
    },
    Agent {
        name: "copilot",
        title: "Copilot CLI",
        aliases: &["copilot-cli", "github-copilot-developer"],
        programs: &["copilot"],
        package: Some("@github/copilot"),
        tested: Some("1.0.102"),
        folder: Folder { below_home: ".copilot", moved_by: Some(("COPILOT_HOME", "")), sign: "" },
        hook: Some(Hook {
            file: COPILOT_SETTINGS,
            events: &[(Event::BeforeTool, "PreToolUse")],
            handler: &[
                ("type", Part::Text("command")),
                ("command", Part::Line),
                ("timeout", Part::LimitSeconds),
            ],
            switches: &[Switch { file: COPILOT_SETTINGS, way: &["disableAllHooks"], off: Off::Is(true) }],
            notes: &[],
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
    },
    Agent {
        name: "opencode",
        title: "opencode",
        aliases: &[],
        programs: &["opencode"],
        package: Some("opencode-ai"),
        tested: Some("1.18.33"),
        folder: Folder {
            below_home: ".config/opencode",
            moved_by: Some(("XDG_CONFIG_HOME", "opencode")),
            sign: "",
        },
        hook: None,
        mcp: Some(Mcp {
            file: File {
                user: &["opencode.jsonc", "opencode.json", "config.json"],
                unmoved: None,
                project: Some("opencode.json"),
                syntax: Syntax::JsonWithComments,
            },
            way: &["mcp"],
            entry: &[
                ("type", Part::Text("local")),
                ("command", Part::Words),
                ("enabled", Part::True),
                ("timeout", CALL_LIMIT),
            ],
            provider: None,
            listed: None,
            covers: "commands, files and other tools of Countersign that it calls",
            misses: "its own tools: it starts no program before it uses them; \"tools\": { \"bash\": false } takes its shell away",
        }),
        elsewhere: None,
    },
    Agent {
        name: "cursor",
        title: "Cursor",
        aliases: &["cursor-vscode"],
        programs: &["cursor", "cursor-agent"],
        package: None,
        tested: None,
        folder: Folder { below_home: ".cursor", moved_by: None, sign: "" },
        hook: None,
        mcp: Some(Mcp {
            file: File {
                user: &["mcp.json"],
                unmoved: None,
                project: Some(".cursor/mcp.json"),
                syntax: Syntax::JsonWithComments,
            },
            way: &["mcpServers"],
            entry: &[("command", Part::Program), ("args", Part::Arguments)],
            provider: None,
            listed: None,
            covers: "commands, files and other tools of Countersign that it calls",
            misses: OWN_EDITOR_TOOLS,
        }),
        elsewhere: None,
    },
    Agent {
        name: "vscode",
        title: "Visual Studio Code",
        aliases: &["visual-studio-code"],
        programs: &["code"],
        package: None,
        tested: None,
        folder: Folder {
            below_home: ".config/Code/User",
            moved_by: Some(("XDG_CONFIG_HOME", "Code/User")),
            sign: "",
        },
        hook: None,
        mcp: Some(Mcp {
            file: File {
                user: &["mcp.json"],
                unmoved: None,
                project: Some(".vscode/mcp.json"),
                syntax: Syntax::JsonWithComments,
            },
            way: &["servers"],
            entry: &[("type", Part::Text("stdio")), ("command", Part::Program), ("args", Part::Arguments)],
            provider: None,
            listed: None,
            covers: "commands, files and other tools of Countersign that its agents call",
            misses: OWN_EDITOR_TOOLS,
        }),
        elsewhere: None,
    },
    Agent {
        name: "zed",
        title: "Zed",
        aliases: &[],
        programs: &["zed", "zeditor"],
        package: None,
        tested: None,
        folder: Folder { below_home: ".config/zed", moved_by: Some(("XDG_CONFIG_HOME", "zed")), sign: "" },
        hook: None,
        mcp: Some(Mcp {
            file: File {
                user: &["settings.json"],
                unmoved: None,
                project: Some(".zed/settings.json"),
                syntax: Syntax::JsonWithComments,
            },
            way: &["context_servers"],
            entry: &[("command", Part::Program), ("args", Part::Arguments)],
            provider: None,
            listed: None,
            covers: "commands, files and other tools of Countersign that it calls",
            misses: OWN_EDITOR_TOOLS,
        }),
        elsewhere: None,
    },
    Agent {
        name: "openclaw",
        title: "OpenClaw",
        aliases: &[],
        programs: &["openclaw"],
        package: Some("openclaw"),
        tested: None,
        folder: Folder {
            below_home: ".openclaw",
            moved_by: Some(("OPENCLAW_STATE_DIR", "")),
            // The folder itself is made by Countersign too.
            sign: "openclaw.json",
        },
        hook: None,
        mcp: None,
        elsewhere: Some("it asks through the gateway or as a node, see docs/gateway.md"),
    },
];

const OWN_EDITOR_TOOLS: &str = "its own tools: no hook of it was tried, so they are not asked about here";
