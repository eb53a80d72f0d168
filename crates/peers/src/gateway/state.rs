//! What the embedded gateway keeps: its token and the devices that were let in.

use anyhow::{Context as _, anyhow, bail};
use countersign_approvals::ports::Ports;
use countersign_core::private::{self, Others};
use countersign_gateway::pairing::Device;
use serde::{Deserialize, Serialize};
use std::path::Path;
use zeroize::Zeroizing;

/// Shortest token that is taken from a file, in characters: a shorter one can be guessed.
const MIN_TOKEN: usize = 16;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1_024 * 1_024;

/// The token in `file`; a fresh one is put there when there is no file. Blocking.
pub fn token(file: &Path, ports: &Ports) -> anyhow::Result<Zeroizing<String>> {
    if let Some(token) = kept_token(file)? {
        return Ok(token);
    }
    let fresh = ports.ids.token();
    private::write(file, fresh.expose().as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Zeroizing::new(fresh.expose().to_owned()))
}

/// The token in `file`, if there is one. Blocking.
pub(super) fn kept_token(file: &Path) -> anyhow::Result<Option<Zeroizing<String>>> {
    let Some(text) = read(file)? else { return Ok(None) };
    let token = text.trim();
    if token.chars().count() < MIN_TOKEN {
        bail!("{}: expected a token of at least {MIN_TOKEN} characters", file.display());
    }
    Ok(Some(Zeroizing::new(token.to_owned())))
}

/// What is wrong with the file of the token, if anything is. Blocking.
pub fn check_token(file: &Path) -> anyhow::Result<()> {
    kept_token(file).map(|_| ())
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

/// The devices that were let in before. What cannot be read is an error: forgetting them would ask people again, and
/// overwriting would lose them. Blocking.
pub(super) fn devices(folder: &Path) -> anyhow::Result<Vec<Device>> {
    read_devices(&folder.join(DEVICES_FILE))
}

/// What is wrong with the file of devices, if anything is. Blocking.
pub fn check_devices(file: &Path) -> anyhow::Result<()> {
    read_devices(file).map(|_| ())
}

fn read_devices(file: &Path) -> anyhow::Result<Vec<Device>> {
    let Some(text) = read(file)? else { return Ok(Vec::new()) };
    let document: Document =
        serde_json::from_str(&text).with_context(|| format!("{} cannot be understood", file.display()))?;
    if document.version != VERSION {
        bail!("{}: expected version {VERSION}, found {}", file.display(), document.version);
    }
    Ok(document.devices)
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
fn read(file: &Path) -> anyhow::Result<Option<Zeroizing<String>>> {
    private::read(file, MAX_BYTES, Others::MayNothing).map_err(|error| anyhow!("{}: {error}", file.display()))
}
