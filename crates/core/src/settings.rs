//! The person's settings: one small JSON file, replaced atomically. While it cannot be read the strictest of
//! everything holds, and it is not written over.

use crate::private::{self, Others, Spoiled};
use countersign_protocol::settings::{ForwardedGrants, Limit, MAX_ARM_DELAY_MS, MIN_ARM_DELAY_MS, Settings};
use countersign_protocol::ui::{Expected, Mistake};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Settings in force, and where they are kept.
#[derive(Debug)]
pub struct SettingsFile {
    path: PathBuf,
    current: watch::Sender<Settings>,
    gateway: watch::Sender<GatewaySettings>,
    pet: watch::Sender<PetSettings>,
    /// One change at a time: each writes the other parts too. Whether the file could be read.
    writing: Mutex<Readable>,
}

/// Whether and where the app serves its own gateway. Set on a page of its own, so that a window with older
/// settings never moves it.
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
        Self { enabled: true, port: GATEWAY_PORT }
    }
}

/// Whether companion clients may answer. Set on a page of its own too, and off until somebody wants it:
/// whoever has the channel's token answers for a person.
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

/// Whether the file could be read when it was last looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Readable {
    Yes,
    No,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct BadSettings {
    path: PathBuf,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error(transparent)]
    Spoiled(#[from] Spoiled),
    #[error(transparent)]
    NotUnderstood(#[from] serde_json::Error),
}

/// Why settings were not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Shorter than a person can read.
    #[error("armDelayMs: expected {MIN_ARM_DELAY_MS} to {MAX_ARM_DELAY_MS}, got {0}")]
    ArmDelay(u32),
    /// Less or more than can be.
    #[error("{field}: expected {least} to {most}, got {got}")]
    Limit {
        /// Which.
        field: &'static str,
        /// Least.
        least: u32,
        /// Most.
        most: u32,
        /// What came.
        got: u32,
    },
    /// No port that a client could be told.
    #[error("port: expected 1 to 65535, got 0")]
    GatewayPort,
    /// What is there cannot be read, so it is not written over.
    #[error("{0}; mend the file, or move it away")]
    Unreadable(BadSettings),
    /// The system refused.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl SettingsError {
    /// What a person typed wrong, for windows; `None` for what is wrong with the file.
    pub fn mistake(&self) -> Option<Mistake> {
        let (field, least, most) = match self {
            Self::ArmDelay(_) => ("armDelayMs", MIN_ARM_DELAY_MS, MAX_ARM_DELAY_MS),
            Self::Limit { field, least, most, .. } => (*field, *least, *most),
            Self::GatewayPort => ("port", 1, u32::from(u16::MAX)),
            Self::Unreadable(_) | Self::Io { .. } => return None,
        };
        Some(Mistake { field: Some(field.to_owned()), expected: Expected::Range { least, most } })
    }
}

impl SettingsFile {
    /// Reads the file. A missing one means the defaults; for one that cannot be read or is not understood
    /// [`Stored::strict`] holds, until it can.
    pub fn open(path: PathBuf) -> Self {
        let (stored, readable) = match read(&path) {
            Ok(stored) => (stored, Readable::Yes),
            Err(problem) => {
                tracing::error!("settings: {problem}; the strictest hold");
                (Stored::strict(), Readable::No)
            }
        };
        Self {
            path,
            current: watch::Sender::new(stored.settings),
            gateway: watch::Sender::new(stored.gateway),
            pet: watch::Sender::new(stored.pet),
            writing: Mutex::new(readable),
        }
    }

    /// Looks at a file that cannot be read every [`LOOK_AGAIN`], until it can or `stop`: who mends it needs
    /// not know that the app has to begin anew. Nothing else of the file is followed, for the app
    /// alone writes it.
    pub(crate) async fn until_readable(self: Arc<Self>, stop: CancellationToken) {
        while !self.look_again() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Takes what the file says if it could not be read before; whether it can now. One that is gone says
    /// nothing: it may be about to be put in place, and the defaults trust more than the strictest.
    fn look_again(&self) -> bool {
        let mut readable = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if *readable == Readable::No
            && let Ok(Some(stored)) = read_there(&self.path)
        {
            self.take(stored);
            *readable = Readable::Yes;
        }
        *readable == Readable::Yes
    }

    fn take(&self, stored: Stored) {
        replace(&self.current, stored.settings);
        replace(&self.gateway, stored.gateway);
        replace(&self.pet, stored.pet);
    }

    /// What is wrong with the file, if anything is. Blocking.
    pub fn check(path: &Path) -> Result<(), BadSettings> {
        read(path).map(|_| ())
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
    pub fn set(&self, mut settings: Settings) -> Result<(), SettingsError> {
        for Limit { name: field, value, least, most } in settings.limits.all() {
            if !(least..=most).contains(value) {
                return Err(SettingsError::Limit { field, least, most, got: *value });
            }
        }
        if !(MIN_ARM_DELAY_MS..=MAX_ARM_DELAY_MS).contains(&settings.arm_delay_ms) {
            return Err(SettingsError::ArmDelay(settings.arm_delay_ms));
        }
        self.change(|stored| stored.settings = settings)
    }

    /// Writes and takes new settings of the app's own gateway.
    pub fn set_gateway(&self, gateway: GatewaySettings) -> Result<(), SettingsError> {
        if gateway.port == 0 {
            return Err(SettingsError::GatewayPort);
        }
        self.change(|stored| stored.gateway = gateway)
    }

    /// Writes and takes new settings of the pet channel.
    pub fn set_pet(&self, pet: PetSettings) -> Result<(), SettingsError> {
        self.change(|stored| stored.pet = pet)
    }

    /// Changes a part. A file that could not be read is looked at again first: once it was mended or moved
    /// away, what it says counts.
    fn change(&self, change: impl FnOnce(&mut Stored)) -> Result<(), SettingsError> {
        let mut readable = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stored = match *readable {
            Readable::Yes => Stored {
                settings: self.current.borrow().clone(),
                gateway: self.gateway.borrow().clone(),
                pet: *self.pet.borrow(),
            },
            Readable::No => read(&self.path).map_err(SettingsError::Unreadable)?,
        };
        change(&mut stored);
        write(&self.path, &stored).map_err(|source| SettingsError::Io { path: self.path.clone(), source })?;
        *readable = Readable::Yes;
        self.take(stored);
        Ok(())
    }
}

impl Stored {
    /// What holds while nobody knows what the person set: no trust in others' word, and nothing that
    /// others could reach.
    fn strict() -> Self {
        let settings = Settings { forwarded_grants: ForwardedGrants::Never, ..Settings::default() };
        let gateway = GatewaySettings { enabled: false, ..GatewaySettings::default() };
        Self { settings, gateway, pet: PetSettings { enabled: false } }
    }
}

/// Tells of a change only where there is one: whoever serves by it would begin anew.
fn replace<T: PartialEq>(sender: &watch::Sender<T>, value: T) {
    sender.send_if_modified(|now| std::mem::replace(now, value) != *now);
}

fn read(path: &Path) -> Result<Stored, BadSettings> {
    read_there(path).map(Option::unwrap_or_default)
}

/// `None` when there is no file.
fn read_there(path: &Path) -> Result<Option<Stored>, BadSettings> {
    let understood = || {
        let text = private::read(path, MAX_BYTES, Others::MayRead)?;
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?.map(valid))
    };
    understood().map_err(|why| BadSettings { path: path.to_owned(), why })
}

fn valid(mut stored: Stored) -> Stored {
    let settings = &mut stored.settings;
    settings.arm_delay_ms = settings.arm_delay_ms.clamp(MIN_ARM_DELAY_MS, MAX_ARM_DELAY_MS);
    for Limit { value, least, most, .. } in settings.limits.all() {
        *value = (*value).clamp(least, most);
    }
    if stored.gateway.port == 0 {
        stored.gateway.port = GATEWAY_PORT;
    }
    stored
}

fn write(path: &Path, stored: &Stored) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(stored)?;
    bytes.push(b'\n');
    private::write(path, &bytes)
}

/// How often a file that cannot be read is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Largest file that is read, in bytes: a hundred times what all settings take.
const MAX_BYTES: u64 = 64 * 1_024;

/// Where the gateway listens when nobody says otherwise; the peers' own is 18789.
pub const GATEWAY_PORT: u16 = 18_790;

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::settings::Limits;
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
        assert_eq!(SettingsFile::open(path).watch().borrow().arm_delay_ms, MIN_ARM_DELAY_MS);
    }

    #[test]
    fn limits_stay_between_what_can_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let file = SettingsFile::open(path.clone());
        let with = |limits: Limits| Settings { limits, ..Settings::default() };
        let refused = file.set(with(Limits { waiting: 7, ..Limits::default() })).unwrap_err();
        assert_eq!(refused.to_string(), "waiting: expected 8 to 1024, got 7");
        assert!(file.set(with(Limits { output_kb: 201, ..Limits::default() })).is_err());
        file.set(with(Limits { run_seconds: 60, ..Limits::default() })).unwrap();
        assert_eq!(SettingsFile::open(path.clone()).watch().borrow().limits.run_seconds, 60);
        std::fs::write(&path, r#"{"limits":{"waiting":0,"historyMb":9999999}}"#).unwrap();
        let read = SettingsFile::open(path).watch().borrow().limits;
        assert_eq!(read, Limits { waiting: 8, history_mb: 1_024, ..Limits::default() });
    }

    #[test]
    fn while_the_file_cannot_be_read_the_strictest_holds_and_it_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        for spoiled in
            ["{broken", "", "[]", r#"{"forwardedGrants":"sometimes"}"#, r#"{"gateway":{"port":"x"}}"#]
        {
            std::fs::write(&path, spoiled).unwrap();
            let file = SettingsFile::open(path.clone());
            assert_eq!(file.watch().borrow().forwarded_grants, ForwardedGrants::Never, "{spoiled}");
            assert!(
                !file.watch_gateway().borrow().enabled && !file.watch_pet().borrow().enabled,
                "{spoiled}"
            );
            let refused = file.set(Settings::default()).unwrap_err();
            assert!(refused.to_string().ends_with("mend the file, or move it away"), "{refused}");
            assert!(file.set_gateway(GatewaySettings::default()).is_err());
            assert!(file.set_pet(PetSettings { enabled: true }).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), spoiled);
        }
        let file = SettingsFile::open(path.clone());
        std::fs::write(&path, r#"{"forwardedGrants":"never","gateway":{"port":18800}}"#).unwrap();
        file.set_pet(PetSettings { enabled: true }).unwrap();
        let mended = (file.watch().borrow().forwarded_grants, file.watch_gateway().borrow().port);
        assert_eq!(mended, (ForwardedGrants::Never, 18_800));
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_mended_by_hand_counts_without_a_new_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, "{broken").unwrap();
        let file = Arc::new(SettingsFile::open(path.clone()));
        let mut gateway = file.watch_gateway();
        let looking = tokio::spawn(Arc::clone(&file).until_readable(CancellationToken::new()));
        std::fs::remove_file(&path).unwrap();
        tokio::time::sleep(LOOK_AGAIN * 2).await;
        assert_eq!(file.watch().borrow().forwarded_grants, ForwardedGrants::Never, "nothing is there");
        assert!(!gateway.has_changed().unwrap());
        std::fs::write(&path, r#"{"forwardedGrants":"never","gateway":{"enabled":true,"port":18800}}"#)
            .unwrap();
        let serves = gateway.wait_for(|gateway| gateway.enabled).await.unwrap().port;
        assert_eq!((serves, file.watch().borrow().forwarded_grants), (18_800, ForwardedGrants::Never));
        looking.await.unwrap();
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
