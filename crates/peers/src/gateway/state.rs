//! What the embedded gateway keeps: its token and the devices that were let in.

use countersign_approvals::ports::Ports;
use countersign_core::private::{self, Others, Spoiled, Unusable};
use countersign_gateway::pairing::Device;
use serde::{Deserialize, Serialize};
use std::path::Path;
use zeroize::Zeroizing;

/// Shortest token that is taken from a file, in characters: a shorter one can be guessed.
const MIN_TOKEN: usize = 16;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1_024 * 1_024;

/// Why what is kept cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateProblem {
    /// It cannot be read.
    #[error(transparent)]
    Unread(Spoiled),
    /// It cannot be written.
    #[error("it cannot be written: {0}")]
    Unwritten(#[source] std::io::Error),
    /// The token could be found out by trying.
    #[error("expected a token of at least {MIN_TOKEN} characters")]
    ShortToken,
    /// The token cannot be sent in a header, as the pet channel has it.
    #[error("expected a token of printable characters without spaces")]
    Unprintable,
    /// The devices cannot be understood.
    #[error("it cannot be understood: {0}")]
    NotUnderstood(#[source] serde_json::Error),
    /// A later release wrote it.
    #[error("expected version {VERSION}, found {0}")]
    Version(u32),
}

/// A file of the embedded gateway, and why it cannot be used.
pub type StateError = Unusable<StateProblem>;

/// The token in `file`; a fresh one is put there when there is no file. Blocking.
pub fn token(file: &Path, ports: &Ports) -> Result<Zeroizing<String>, StateError> {
    if let Some(token) = kept_token(file)? {
        return Ok(token);
    }
    let fresh = ports.ids.token();
    private::write(file, fresh.expose().as_bytes())
        .map_err(StateProblem::Unwritten)
        .map_err(StateError::of(file))?;
    Ok(Zeroizing::new(fresh.expose().to_owned()))
}

/// The token in `file`, if there is one. Blocking.
pub(super) fn kept_token(file: &Path) -> Result<Option<Zeroizing<String>>, StateError> {
    let Some(text) = read(file)? else { return Ok(None) };
    let token = text.trim();
    if token.chars().count() < MIN_TOKEN {
        return Err(StateError::of(file)(StateProblem::ShortToken));
    }
    Ok(Some(Zeroizing::new(token.to_owned())))
}

/// What is wrong with the file of the token, if anything is. Blocking.
pub fn check_token(file: &Path) -> Result<(), StateError> {
    kept_token(file).map(drop)
}

#[derive(Deserialize, Serialize)]
struct Document {
    version: u32,
    devices: Vec<Device>,
}

/// Name of the file with the devices that were let in.
pub const DEVICES_FILE: &str = "devices.json";

/// Version of the document about devices.
const VERSION: u32 = 1;

/// The devices that were let in before. What cannot be read is an error: forgetting them would ask people
/// again, and overwriting would lose them. Blocking.
pub(super) fn devices(folder: &Path) -> Result<Vec<Device>, StateError> {
    read_devices(&folder.join(DEVICES_FILE))
}

/// What is wrong with the file of devices, if anything is. Blocking.
pub fn check_devices(file: &Path) -> Result<(), StateError> {
    read_devices(file).map(drop)
}

fn read_devices(file: &Path) -> Result<Vec<Device>, StateError> {
    let Some(text) = read(file)? else { return Ok(Vec::new()) };
    match serde_json::from_str::<Document>(&text).map_err(StateProblem::NotUnderstood) {
        Ok(document) if document.version == VERSION => Ok(document.devices),
        Ok(document) => Err(StateError::of(file)(StateProblem::Version(document.version))),
        Err(problem) => Err(StateError::of(file)(problem)),
    }
}

/// Stores the devices that were let in. Blocking.
pub(super) fn keep_devices(folder: &Path, devices: &[Device]) -> std::io::Result<()> {
    let document = Document { version: VERSION, devices: devices.to_vec() };
    let mut bytes = serde_json::to_vec_pretty(&document)?;
    bytes.push(b'\n');
    private::write(&folder.join(DEVICES_FILE), &bytes)
}

/// Writes what it reads.
#[cfg(fuzzing)]
pub fn rewrite(file: &Path) {
    keep_devices(file.parent().unwrap(), &read_devices(file).unwrap()).unwrap();
}

/// A private file's text; `None` when there is none.
fn read(file: &Path) -> Result<Option<Zeroizing<String>>, StateError> {
    let read = private::read(file, MAX_BYTES, Others::MayNothing);
    read.map_err(StateProblem::Unread).map_err(StateError::of(file))
}
