//! The person's settings: one small JSON file, replaced atomically.

use crate::private;
use countersign_protocol::ui::{MIN_ARM_DELAY_MS, Settings};
use std::path::{Path, PathBuf};
use tokio::sync::watch;

/// Settings in force, and where they are kept.
#[derive(Debug)]
pub struct SettingsFile {
    path: PathBuf,
    current: watch::Sender<Settings>,
}

/// Why settings were not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Shorter than a person can read.
    #[error("armDelayMs: expected {MIN_ARM_DELAY_MS} to {MAX_ARM_DELAY_MS}, got {0}")]
    ArmDelay(u32),
    /// The system refused.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl SettingsFile {
    /// Reads the file. One that is missing or not understood means the defaults, which are the careful ones; it is not
    /// touched until the person changes a setting.
    pub fn open(path: PathBuf) -> Self {
        let settings = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(valid).unwrap_or_else(|error| {
                tracing::warn!(%error, path = %path.display(), "settings are not understood; using the defaults");
                Settings::default()
            }),
            Err(_) => Settings::default(),
        };
        Self { path, current: watch::Sender::new(settings) }
    }

    /// Follows the settings.
    pub fn watch(&self) -> watch::Receiver<Settings> {
        self.current.subscribe()
    }

    /// Writes and takes new settings.
    pub fn set(&self, settings: Settings) -> Result<(), SettingsError> {
        if !(MIN_ARM_DELAY_MS..=MAX_ARM_DELAY_MS).contains(&settings.arm_delay_ms) {
            return Err(SettingsError::ArmDelay(settings.arm_delay_ms));
        }
        write(&self.path, &settings)
            .map_err(|source| SettingsError::Io { path: self.path.clone(), source })?;
        self.current.send_replace(settings);
        Ok(())
    }
}

fn valid(mut settings: Settings) -> Settings {
    settings.arm_delay_ms = settings.arm_delay_ms.clamp(MIN_ARM_DELAY_MS, MAX_ARM_DELAY_MS);
    settings
}

fn write(path: &Path, settings: &Settings) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(settings)?;
    bytes.push(b'\n');
    private::write(path, &bytes)
}

/// Longer than this the countdown of most requests would win, in milliseconds.
const MAX_ARM_DELAY_MS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn settings_survive_a_restart_and_the_file_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/settings.json");
        let wanted = Settings { arm_delay_ms: 3_000, notifications: false, ..Settings::default() };
        SettingsFile::open(path.clone()).set(wanted.clone()).unwrap();
        assert_eq!(*SettingsFile::open(path.clone()).watch().borrow(), wanted);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn allow_can_never_arm_sooner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let file = SettingsFile::open(path.clone());
        assert!(file.set(Settings { arm_delay_ms: 0, ..Settings::default() }).is_err());
        std::fs::write(&path, r#"{"armDelayMs":0}"#).unwrap();
        assert_eq!(SettingsFile::open(path.clone()).watch().borrow().arm_delay_ms, MIN_ARM_DELAY_MS);
        std::fs::write(&path, "{broken").unwrap();
        assert_eq!(*SettingsFile::open(path).watch().borrow(), Settings::default());
    }
}
