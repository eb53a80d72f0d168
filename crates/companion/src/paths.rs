//! Where state lives: the peer's own files as the peer finds them, everything of ours in our own folders.

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
}

/// No home directory is known.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no home directory: expected HOME or OPENCLAW_HOME to be an absolute path, got {0}")]
pub struct NoHome(String);

impl Paths {
    /// From environment variables (approval-socket.md §2): `OPENCLAW_HOME` (may start with `~`), `HOME`, `USERPROFILE`;
    /// `OPENCLAW_STATE_DIR`; `COUNTERSIGN_STATE_DIR` for everything of ours, else the XDG folders.
    pub fn from_env(env: &BTreeMap<String, String>) -> Result<Self, NoHome> {
        let value = |name: &str| env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let home = value("HOME").or(value("USERPROFILE")).map(PathBuf::from);
        let effective = match value("OPENCLAW_HOME") {
            Some(own) => Some(expand(own, home.as_deref())),
            None => home.clone(),
        };
        let openclaw_home = effective.filter(|path| path.is_absolute()).ok_or_else(|| {
            NoHome(format!("{:?}", value("OPENCLAW_HOME").or(value("HOME")).unwrap_or_default()))
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
        Ok(Self { home, openclaw_state, state, config })
    }

    /// Of this process. Variables that are not UTF-8 count as not set.
    pub fn of_process() -> Result<Self, NoHome> {
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

    /// Socket between the command line and the app.
    pub fn control_socket(&self) -> PathBuf {
        self.state.join("control.sock")
    }

    /// Folder of the embedded gateway: its token and the devices that were let in.
    pub fn gateway(&self) -> PathBuf {
        self.state.join("gateway")
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
    use pretty_assertions::assert_eq;

    fn paths(env: &[(&str, &str)]) -> Result<Paths, NoHome> {
        Paths::from_env(&env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
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
}
