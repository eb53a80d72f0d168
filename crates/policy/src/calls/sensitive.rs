//! Files that have other programs run something: what is written there is a command, only later.
//!
//! It says why a person should look twice, and no rule allows a change of such a file; whatever a build or a
//! test runs may be one too, and no list knows them all. Names are compared without regard to case, as some
//! file systems do.

use crate::rules::is_work_of_agents;
use std::path::Path;

/// Why a file matters more than another.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Sensitive {
    /// Coding agents and editors obey it: `CLAUDE.md`, `.mcp.json`, `.vscode/`.
    Agent,
    /// A build, a test run or an installation runs what it says: `Makefile`, `package.json`,
    /// `.github/workflows/`.
    Build,
    /// It may be executed.
    Executable,
    /// Git reads it, and runs hooks and filters that it names: anything in `.git/`, `.gitmodules`, `.husky/`.
    Git,
    /// It is hidden: a name in its path starts with a dot.
    Hidden,
    /// It says who may log in and what then starts: `.ssh/`, autostart entries, units and timers.
    Login,
    /// An interpreter is named in its first line, now or then.
    Script,
    /// Shells read it when they start: `.bashrc`, `.envrc`.
    Shell,
}

/// Whether something runs or obeys by itself what is called `name` beneath a folder, or whatever is there.
pub fn runs_by_itself(folder: &Path, name: Option<&str>) -> bool {
    name.is_some_and(|name| !of_path(Path::new(name)).is_empty())
        || is_obeyed_wherever_one_begins_to_look(&folder.join(name.unwrap_or("a")))
}

/// What a path, from the workspace on, says.
pub fn of_path(path: &Path) -> Vec<Sensitive> {
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().to_lowercase()).collect();
    let Some((file, folders)) = names.split_last() else { return Vec::new() };
    let file = file.as_str();
    let within = |wanted: &[&str]| folders.iter().any(|folder| wanted.contains(&folder.as_str()));
    let ends = |endings: &[&str]| endings.iter().any(|ending| file.ends_with(ending));
    let holds = |kind: Sensitive| match kind {
        Sensitive::Agent => AGENT_FILES.contains(&file) || within(AGENT_FOLDERS) || ends(AGENT_ENDINGS),
        Sensitive::Build => is_looked_for(file) || within(BUILD_FOLDERS),
        Sensitive::Git => GIT_FILES.contains(&file) || within(GIT_FOLDERS),
        Sensitive::Hidden => names.iter().any(|name| name.starts_with('.')),
        Sensitive::Login => within(LOGIN_FOLDERS) || ends(LOGIN_ENDINGS),
        Sensitive::Shell => SHELL_FILES.contains(&file),
        // These are told by the file, not by its name.
        Sensitive::Executable | Sensitive::Script => false,
    };
    use Sensitive::{Agent, Build, Git, Hidden, Login, Shell};
    [Agent, Build, Git, Hidden, Login, Shell].into_iter().filter(|kind| holds(*kind)).collect()
}

/// Whether git, a login, a build or an agent obeys a file whatever folder of its path somebody names: no rule
/// for that folder is one for such a file.
pub fn is_obeyed_wherever_one_begins_to_look(path: &Path) -> bool {
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().to_lowercase()).collect();
    let is_settings =
        |pair: &[String]| AGENT_FOLDERS.contains(&pair[0].as_str()) && !is_work_of_agents(&pair[1]);
    let kinds = of_path(path);
    kinds.iter().any(|kind| matches!(kind, Sensitive::Build | Sensitive::Git | Sensitive::Login))
        || names.windows(2).any(is_settings)
}

/// Whether the content names an interpreter.
pub fn is_script(content: &[u8]) -> bool {
    content.starts_with(b"#!")
}

/// Whether tools of builds, tests and installations look for a file of this name by themselves: one whose
/// ending says that it is their settings, or that ends as `Makefile` does.
fn is_looked_for(file: &str) -> bool {
    let stem = file.split('.').next().unwrap_or(file);
    let has_no_ending = !file.contains('.');
    let is_composed = ["docker-compose", "compose"].contains(&stem) && file.contains(".y");
    BUILD_FILES.contains(&file)
        || BUILD_ENDINGS.iter().any(|ending| file.ends_with(ending))
        || (has_no_ending && file.ends_with("file"))
        || BUILD_STEMS.contains(&stem)
        || is_composed
}

const AGENT_FILES: &[&str] = &[
    ".cursorrules",
    ".mcp.json",
    "agents.md",
    "claude.md",
    "crush.json",
    "gemini.md",
    "mcp.json",
    "opencode.json",
    "opencode.jsonc",
    "qwen.md",
    "soul.md",
    "tools.md",
];
const AGENT_FOLDERS: &[&str] =
    &[".claude", ".codex", ".copilot", ".cursor", ".gemini", ".openclaw", ".opencode", ".qwen", ".vscode"];
const AGENT_ENDINGS: &[&str] = &[".code-workspace"];
const BUILD_ENDINGS: &[&str] = &[
    ".bazel",
    ".bzl",
    ".cabal",
    ".cmake",
    ".conf.js",
    ".conf.ts",
    ".config.cjs",
    ".config.cts",
    ".config.js",
    ".config.mjs",
    ".config.mts",
    ".config.ts",
    ".csproj",
    ".fsproj",
    ".gemspec",
    ".gradle",
    ".gradle.kts",
    ".mk",
    ".nix",
    ".podspec",
    ".props",
    ".pth",
    ".sbt",
    ".targets",
    ".vcxproj",
];
/// Whatever their ending is.
const BUILD_STEMS: &[&str] = &[
    "dockerfile",
    "fabfile",
    "gruntfile",
    "gulpfile",
    "jenkinsfile",
    "lefthook",
    "makefile",
    "noxfile",
    "taskfile",
];
const BUILD_FILES: &[&str] = &[
    ".gitlab-ci.yml",
    ".npmrc",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "build",
    "build.rs",
    "build.xml",
    "build.zig",
    "bunfig.toml",
    "cabal.project",
    "cargo.toml",
    "cmakelists.txt",
    "composer.json",
    "configure",
    "configure.ac",
    "conftest.py",
    "deno.json",
    "deno.jsonc",
    "dodo.py",
    "dune",
    "dune-project",
    "justfile",
    "lerna.json",
    "manage.py",
    "meson.build",
    "mix.exs",
    "module.bazel",
    "nx.json",
    "package.json",
    "package.swift",
    "pom.xml",
    "pre-commit-config.yaml",
    "project.clj",
    "pyproject.toml",
    "rebar.config",
    "rust-toolchain",
    "rust-toolchain.toml",
    "sconstruct",
    "setup.cfg",
    "setup.hs",
    "setup.py",
    "sitecustomize.py",
    "skaffold.yaml",
    "stack.yaml",
    "tasks.py",
    "tox.ini",
    "tsconfig.json",
    "turbo.json",
    "usercustomize.py",
    "workspace",
    "wscript",
];
const BUILD_FOLDERS: &[&str] = &[".cargo", ".circleci", ".github"];
const GIT_FILES: &[&str] = &[".gitattributes", ".gitconfig", ".gitmodules"];
const GIT_FOLDERS: &[&str] = &[".git", ".githooks", ".husky"];
const LOGIN_ENDINGS: &[&str] = &[".desktop", ".service", ".socket", ".timer"];
const LOGIN_FOLDERS: &[&str] = &[".ssh", "autostart", "cron.d"];
const SHELL_FILES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".envrc",
    ".inputrc",
    ".kshrc",
    ".profile",
    ".xprofile",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "config.fish",
];

#[cfg(test)]
mod tests {
    use super::*;
    use Sensitive::{Agent, Build, Git, Hidden, Login, Shell};

    fn check(path: &str, expected: &[Sensitive]) {
        assert_eq!(of_path(Path::new(path)), expected, "{path}");
    }

    #[test]
    fn a_file_that_has_others_run_something_says_so() {
        check("src/main.rs", &[]);
        check("gitignored/git/hooks.txt", &[]);
        check(".git/hooks/pre-commit", &[Git, Hidden]);
        check("sub/.GIT/config", &[Git, Hidden]);
        check(".bashrc", &[Hidden, Shell]);
        check("nested/.Profile", &[Hidden, Shell]);
        check("Makefile", &[Build]);
        check("web/package.json", &[Build]);
        check(".github/workflows/ci.yml", &[Build, Hidden]);
        check(".claude/settings.json", &[Agent, Hidden]);
        check("CLAUDE.md", &[Agent]);
        check(".ssh/authorized_keys", &[Hidden, Login]);
        check("units/backup.timer", &[Login]);
        for file in [
            "Procfile",
            "eslint.config.js",
            "web/next.config.mjs",
            "compose.yaml",
            "docker-compose.prod.yml",
            "flake.nix",
            "lefthook.yml",
            "x.pth",
            "Gruntfile.js",
            "configure",
            "BUILD.bazel",
            "karma.conf.js",
            "Dockerfile.dev",
            "app.csproj",
            "meson.build",
        ] {
            check(file, &[Build]);
        }
        check("opencode.json", &[Agent]);
        for file in ["a.txt", "src/file.rs", "profile.md", "src/compose.rs", "config.json", "docs/build.md"] {
            check(file, &[]);
        }
        check(".env", &[Hidden]);
    }
}
