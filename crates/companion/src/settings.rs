//! The person's settings: one small JSON file, replaced atomically.

use crate::gateway::PORT;
use crate::private;
use countersign_protocol::ui::{MIN_ARM_DELAY_MS, Settings};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// Settings in force, and where they are kept.
#[derive(Debug)]
pub struct SettingsFile {
    path: PathBuf,
    current: watch::Sender<Settings>,
    gateway: watch::Sender<GatewaySettings>,
    pet: watch::Sender<PetSettings>,
    /// One change at a time: each writes the other parts too.
    writing: Mutex<()>,
}

/// Whether and where the app serves its own gateway. Set on a page of its own, so that a window with older settings never
/// moves it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewaySettings {
    /// Whether it serves.
    pub enabled: bool,
    /// Its port on loopback.
    pub port: u16,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self { enabled: true, port: PORT }
    }
}

/// Whether companion clients may answer. Set on a page of its own too, and off until somebody wants it: whoever has the
/// channel's token answers for a person.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PetSettings {
    /// Whether the pet channel is open while the gateway serves.
    pub enabled: bool,
}

/// The file.
#[derive(Default, Deserialize, Serialize)]
struct Stored {
    #[serde(flatten)]
    settings: Settings,
    #[serde(default)]
    gateway: GatewaySettings,
    #[serde(default)]
    pet: PetSettings,
}

/// Why settings were not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Shorter than a person can read.
    #[error("armDelayMs: expected {MIN_ARM_DELAY_MS} to {MAX_ARM_DELAY_MS}, got {0}")]
    ArmDelay(u32),
    /// No port that a client could be told.
    #[error("port: expected 1 to 65535, got 0")]
    GatewayPort,
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
        let stored = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(valid).unwrap_or_else(|error| {
                tracing::warn!(%error, path = %path.display(), "settings are not understood; using the defaults");
                Stored::default()
            }),
            Err(_) => Stored::default(),
        };
        Self {
            path,
            current: watch::Sender::new(stored.settings),
            gateway: watch::Sender::new(stored.gateway),
            pet: watch::Sender::new(stored.pet),
            writing: Mutex::default(),
        }
    }

    /// Follows the settings.
    pub fn watch(&self) -> watch::Receiver<Settings> {
        self.current.subscribe()
    }

    /// Follows those of the app's own gateway.
    pub fn watch_gateway(&self) -> watch::Receiver<GatewaySettings> {
        self.gateway.subscribe()
    }

    /// Follows those of the pet channel.
    pub fn watch_pet(&self) -> watch::Receiver<PetSettings> {
        self.pet.subscribe()
    }

    /// Writes and takes new settings.
    pub fn set(&self, settings: Settings) -> Result<(), SettingsError> {
        if !(MIN_ARM_DELAY_MS..=MAX_ARM_DELAY_MS).contains(&settings.arm_delay_ms) {
            return Err(SettingsError::ArmDelay(settings.arm_delay_ms));
        }
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&Stored { settings: settings.clone(), ..self.stored() })?;
        self.current.send_replace(settings);
        Ok(())
    }

    /// Writes and takes new settings of the app's own gateway.
    pub fn set_gateway(&self, gateway: GatewaySettings) -> Result<(), SettingsError> {
        if gateway.port == 0 {
            return Err(SettingsError::GatewayPort);
        }
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&Stored { gateway: gateway.clone(), ..self.stored() })?;
        self.gateway.send_replace(gateway);
        Ok(())
    }

    /// Writes and takes new settings of the pet channel.
    pub fn set_pet(&self, pet: PetSettings) -> Result<(), SettingsError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&Stored { pet, ..self.stored() })?;
        self.pet.send_replace(pet);
        Ok(())
    }

    fn stored(&self) -> Stored {
        Stored {
            settings: self.current.borrow().clone(),
            gateway: self.gateway.borrow().clone(),
            pet: *self.pet.borrow(),
        }
    }

    fn write(&self, stored: &Stored) -> Result<(), SettingsError> {
        write(&self.path, stored).map_err(|source| SettingsError::Io { path: self.path.clone(), source })
    }
}

fn valid(mut stored: Stored) -> Stored {
    let settings = &mut stored.settings;
    settings.arm_delay_ms = settings.arm_delay_ms.clamp(MIN_ARM_DELAY_MS, MAX_ARM_DELAY_MS);
    if stored.gateway.port == 0 {
        stored.gateway.port = PORT;
    }
    stored
}

fn write(path: &Path, stored: &Stored) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(stored)?;
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

    #[test]
    fn where_the_gateway_serves_survives_changes_of_other_settings() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let file = SettingsFile::open(path.clone());
        assert_eq!(*file.watch_gateway().borrow(), GatewaySettings { enabled: true, port: 18_790 });
        let moved = GatewaySettings { enabled: false, port: 18_800 };
        file.set_gateway(moved.clone()).unwrap();
        file.set(Settings { notifications: false, ..Settings::default() }).unwrap();
        assert!(file.set_gateway(GatewaySettings { enabled: true, port: 0 }).is_err());
        let again = SettingsFile::open(path.clone());
        assert_eq!(*again.watch_gateway().borrow(), moved);
        assert!(!again.watch().borrow().notifications);
        // A file from before there was a gateway.
        std::fs::write(&path, r#"{"notifications":false}"#).unwrap();
        assert_eq!(*SettingsFile::open(path).watch_gateway().borrow(), GatewaySettings::default());
    }

    #[test]
    fn t02_the_pet_channel_is_closed_until_somebody_opens_it_by_its_own_setting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let is_open = |path: &Path| SettingsFile::open(path.to_owned()).watch_pet().borrow().enabled;
        let file = SettingsFile::open(path.clone());
        let change_others = |expected: bool| {
            file.set(Settings::default()).unwrap();
            assert_eq!((is_open(&path), file.watch_pet().borrow().enabled), (expected, expected));
            file.set_gateway(GatewaySettings::default()).unwrap();
            assert_eq!((is_open(&path), file.watch_pet().borrow().enabled), (expected, expected));
        };
        change_others(false);
        file.set_pet(PetSettings { enabled: true }).unwrap();
        change_others(true);
        for text in [r#"{"pet":{}}"#, r#"{"pet":{"enabled":"yes"}}"#, "{}", "{"] {
            std::fs::write(&path, text).unwrap();
            assert!(!is_open(&path), "{text}");
        }
    }
}
