//! Where state lives: the peer's own files as the peer finds them, everything of ours in our own folders.

use countersign_approvals::history::Places;
use countersign_approvals::rules::Folders;
use countersign_protocol::document;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every place that Countersign reads or writes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Paths {
    /// Home directory of the user's commands.
    pub home: PathBuf,
    /// OpenClaw's state directory: approvals document and socket.
    pub openclaw_state: PathBuf,
    /// Our state: history, control socket, locks.
    pub state: PathBuf,
    /// Our settings.
    pub config: PathBuf,
    /// Port of the app's own gateway, whatever the settings say; 0 for any free one.
    pub gateway_port: Option<u16>,
}

/// An environment that says too little, or something that makes no sense.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadEnvironment {
    /// No home directory is known.
    #[error("no home directory: expected HOME or OPENCLAW_HOME to be an absolute path, got {0}")]
    NoHome(String),
    /// The gateway's port is none.
    #[error("COUNTERSIGN_GATEWAY_PORT: expected 0 to 65535, got {0:?}")]
    GatewayPort(String),
}

impl Paths {
    /// From environment variables (docs/protocol/approval-socket.md, "Place"): `OPENCLAW_HOME` (may start
    /// with `~`), `HOME`, `USERPROFILE`; `OPENCLAW_STATE_DIR`; `COUNTERSIGN_STATE_DIR` for everything of
    /// ours, else the XDG folders; and `COUNTERSIGN_GATEWAY_PORT`.
    pub fn from_env(env: &BTreeMap<String, String>) -> Result<Self, BadEnvironment> {
        let value = |name: &str| env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let home = value("HOME").or(value("USERPROFILE")).map(PathBuf::from);
        let effective = match value("OPENCLAW_HOME") {
            Some(own) => Some(expand(own, home.as_deref())),
            None => home.clone(),
        };
        let openclaw_home = effective.filter(|path| path.is_absolute()).ok_or_else(|| {
            let got = value("OPENCLAW_HOME").or(value("HOME")).unwrap_or_default();
            BadEnvironment::NoHome(format!("{got:?}"))
        })?;
        let home = home.filter(|path| path.is_absolute()).unwrap_or_else(|| openclaw_home.clone());
        let openclaw_state = match value("OPENCLAW_STATE_DIR") {
            Some(own) => expand(own, Some(&openclaw_home)),
            None => openclaw_home.join(".openclaw"),
        };
        let (state, config) = match value("COUNTERSIGN_STATE_DIR") {
            Some(own) => (expand(own, Some(&home)), expand(own, Some(&home))),
            None => {
                let xdg = |name: &str, default: &str| {
                    value(name)
                        .map(PathBuf::from)
                        .filter(|path| path.is_absolute())
                        .unwrap_or_else(|| home.join(default))
                        .join("countersign")
                };
                (xdg("XDG_STATE_HOME", ".local/state"), xdg("XDG_CONFIG_HOME", ".config"))
            }
        };
        let gateway_port = match value("COUNTERSIGN_GATEWAY_PORT") {
            Some(port) => Some(port.parse().map_err(|_| BadEnvironment::GatewayPort(port.to_owned()))?),
            None => None,
        };
        Ok(Self { home, openclaw_state, state, config, gateway_port })
    }

    /// Of this process. Variables that are not UTF-8 count as not set.
    pub fn of_process() -> Result<Self, BadEnvironment> {
        Self::from_env(&process_environment())
    }

    /// The approvals document.
    pub fn document(&self) -> PathBuf {
        self.openclaw_state.join(document::FILE_NAME)
    }

    /// Folders of our own rules.
    pub fn rules(&self) -> Folders {
        Folders { config: self.config.clone(), state: self.state.clone() }
    }

    /// Folder of the history.
    pub fn history(&self) -> PathBuf {
        self.state.join("history")
    }

    /// The same, with the note about its ends that is kept apart from it, among our settings. It has a folder
    /// of its own, since it is written with every line, and whoever watches the settings should
    /// not hear of that.
    pub fn history_places(&self) -> Places {
        Places { lines: self.history(), head: self.config.join("record/history.head") }
    }

    /// What the history was last told about the document.
    pub fn known_document(&self) -> PathBuf {
        self.state.join("known/document.json")
    }

    /// What it was last told about the rules.
    pub fn known_rules(&self) -> PathBuf {
        self.state.join("known/rules.json")
    }

    /// Folder with what runs now, in case that its process is killed.
    pub fn runs(&self) -> PathBuf {
        self.state.join("runs")
    }

    /// What boxes keep beside the folders that they are around, a folder for each.
    pub fn boxes(&self) -> PathBuf {
        self.state.join("boxes")
    }

    /// Socket between the command line and the app.
    pub fn control_socket(&self) -> PathBuf {
        self.state.join("control.sock")
    }

    /// Folder of the embedded gateway: its token and the devices that were let in.
    pub fn gateway(&self) -> PathBuf {
        self.state.join("gateway")
    }

    /// Folder of this machine as a node: its key and the token that a gateway gave it.
    pub fn node(&self) -> PathBuf {
        self.state.join("node")
    }

    /// Folder of the MCP server: the token of its HTTP port.
    pub fn mcp(&self) -> PathBuf {
        self.state.join("mcp")
    }

    /// What was written into the settings of other agents.
    pub fn connected(&self) -> PathBuf {
        self.state.join("agents/connected.json")
    }

    /// Says that the first steps were gone through or skipped.
    pub fn first_steps(&self) -> PathBuf {
        self.state.join("first-steps.json")
    }

    /// The gateways that the person connected to.
    pub fn gateways(&self) -> PathBuf {
        self.config.join("gateways.json")
    }

    /// Folder with this device's key and the secrets of these gateways.
    pub fn gateway_secrets(&self) -> PathBuf {
        self.state.join("gateways")
    }

    /// Other programs' pet servers that the person connected to.
    pub fn pet_servers(&self) -> PathBuf {
        self.config.join("pet-servers.json")
    }

    /// Folder with the tokens of these servers.
    pub fn pet_secrets(&self) -> PathBuf {
        self.state.join("pet-servers")
    }

    /// Where the person wants requests handed to.
    pub fn forward(&self) -> PathBuf {
        self.config.join("forward.json")
    }

    /// Folder with the secrets of these targets.
    pub fn forward_secrets(&self) -> PathBuf {
        self.state.join("forward")
    }

    /// Where commands run, per agent.
    pub fn tools(&self) -> PathBuf {
        self.config.join("tools.json")
    }

    /// The settings file.
    pub fn settings(&self) -> PathBuf {
        self.config.join("settings.json")
    }
}

/// This process's environment; variables that are not UTF-8 are left out, as no rule could speak of them.
pub fn process_environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_commands::environment;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeSet;

    fn paths(env: &[(&str, &str)]) -> Result<Paths, BadEnvironment> {
        Paths::from_env(&env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// Names of our variables in everything below a folder.
    fn variables(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                variables(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let names = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                found.extend(names.filter(|name| name.starts_with("COUNTERSIGN_")).map(str::to_owned));
            }
        }
    }

    #[test]
    fn t03_of_all_variables_in_our_sources_only_places_reach_what_we_start() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = BTreeSet::new();
        for sources in ["crates", "src-tauri"] {
            variables(&root.join(sources), &mut found);
        }
        assert!(found.contains("COUNTERSIGN_GATEWAY_TOKEN"), "{found:?}");
        let shared: Vec<&String> = found.iter().filter(|name| !environment::is_ours_alone(name)).collect();
        let places =
            ["COUNTERSIGN_GATEWAY_PORT", "COUNTERSIGN_KEYRING", "COUNTERSIGN_LOG", "COUNTERSIGN_STATE_DIR"];
        assert_eq!(shared, places);
    }

    #[test]
    fn the_peers_variables_are_read_as_the_peer_reads_them() {
        for (env, openclaw) in [
            (&[("HOME", "/home/u")][..], "/home/u/.openclaw"),
            (&[("HOME", "/home/u"), ("OPENCLAW_HOME", "~/oc")], "/home/u/oc/.openclaw"),
            (&[("HOME", "/home/u"), ("OPENCLAW_HOME", "/oc")], "/oc/.openclaw"),
            (&[("HOME", "/home/u"), ("OPENCLAW_HOME", "  ")], "/home/u/.openclaw"),
            (&[("HOME", "/home/u"), ("OPENCLAW_STATE_DIR", "/s")], "/s"),
            (&[("USERPROFILE", "/home/w")], "/home/w/.openclaw"),
        ] {
            assert_eq!(paths(env).unwrap().openclaw_state, PathBuf::from(openclaw), "{env:?}");
        }
    }

    #[test]
    fn one_variable_holds_everything_of_ours() {
        let ours = paths(&[("HOME", "/home/u"), ("COUNTERSIGN_STATE_DIR", "/c")]).unwrap();
        assert_eq!((ours.state, ours.config), (PathBuf::from("/c"), PathBuf::from("/c")));
        let xdg =
            paths(&[("HOME", "/home/u"), ("XDG_STATE_HOME", "/x"), ("XDG_CONFIG_HOME", "relative")]).unwrap();
        assert_eq!(xdg.state, PathBuf::from("/x/countersign"));
        assert_eq!(xdg.config, PathBuf::from("/home/u/.config/countersign"));
    }

    #[test]
    fn without_a_home_nothing_is_guessed() {
        assert!(paths(&[]).is_err());
        assert!(paths(&[("HOME", "relative")]).unwrap_err().to_string().contains("\"relative\""));
    }

    #[test]
    fn one_variable_moves_the_gateway() {
        let port = |value: &str| {
            paths(&[("HOME", "/home/u"), ("COUNTERSIGN_GATEWAY_PORT", value)]).map(|paths| paths.gateway_port)
        };
        assert_eq!((port("0"), port(" 18800 "), port("")), (Ok(Some(0)), Ok(Some(18_800)), Ok(None)));
        assert!(port("65536").unwrap_err().to_string().contains("\"65536\""));
    }
}
