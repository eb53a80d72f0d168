//! Agents that take tools of servers, or ask in another way.

use super::CALL_LIMIT;
use crate::table::{Agent, File, Folder, Mcp, Part, Syntax};

pub(super) const OPENCODE: Agent = Agent {
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
    projects: None,
    sessions: None,
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
        misses: "its own tools: it starts no program before it uses them; \"permission\": { \"bash\": \"deny\" } takes its shell away",
    }),
    elsewhere: None,
};

pub(super) const CURSOR: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    aliases: &["cursor-vscode"],
    programs: &["cursor", "cursor-agent"],
    package: None,
    tested: None,
    folder: Folder { below_home: ".cursor", moved_by: None, sign: "" },
    projects: None,
    sessions: None,
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
};

pub(super) const VSCODE: Agent = Agent {
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
    projects: None,
    sessions: None,
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
};

pub(super) const ZED: Agent = Agent {
    name: "zed",
    title: "Zed",
    aliases: &[],
    programs: &["zed", "zeditor"],
    package: None,
    tested: None,
    folder: Folder { below_home: ".config/zed", moved_by: Some(("XDG_CONFIG_HOME", "zed")), sign: "" },
    projects: None,
    sessions: None,
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
};

pub(super) const OPENCLAW: Agent = Agent {
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
    projects: None,
    sessions: None,
    hook: None,
    mcp: None,
    elsewhere: Some("it asks through the gateway or as a node, see docs/gateway.md"),
};

const OWN_EDITOR_TOOLS: &str = "its own tools: no hook of it was tried, so they are not asked about here";
