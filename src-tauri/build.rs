//! Embeds the built UI, icons and capabilities.

use std::env;
use std::error::Error;
use std::fs;
use tauri_build::{AppManifest, Attributes};

fn main() -> Result<(), Box<dyn Error>> {
    // Named in a manifest, a command is denied to every window whose capability does not list it.
    let manifest = AppManifest::new().commands(commands()?);
    tauri_build::try_build(Attributes::new().app_manifest(manifest))?;
    pack_relocations();
    Ok(())
}

/// Names of all commands: those that the handler has.
fn commands() -> Result<&'static [&'static str], Box<dyn Error>> {
    println!("cargo::rerun-if-changed={HANDLER}");
    let handler: &'static str = fs::read_to_string(HANDLER)?.leak();
    let names: Vec<_> = handler
        .lines()
        .filter_map(|line| line.trim().strip_prefix("commands::")?.strip_suffix(','))
        .collect();
    if names.is_empty() {
        return Err(format!("expected lines `commands::NAME,` in {HANDLER}, found none").into());
    }
    Ok(names.leak())
}

/// The app's relocations are read whole at its start and stay in memory all day. Packed they take a
/// thirtieth; the dynamic linker of glibc understands that from 2.36 on, and an older one would
/// refuse the program.
fn pack_relocations() {
    println!("cargo::rerun-if-changed={GLIBC}");
    let is_native = env::var("HOST") == env::var("TARGET");
    let is_glibc = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    let minor = fs::read_to_string(GLIBC).ok().and_then(|header| {
        header
            .lines()
            .find_map(|line| line.strip_prefix("#define\t__GLIBC_MINOR__\t")?.trim().parse::<u32>().ok())
    });
    if is_native && is_glibc && minor.is_some_and(|minor| minor >= 36) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Where the handler of all commands is.
const HANDLER: &str = "src/shell.rs";

/// Says which glibc programs are linked with here.
const GLIBC: &str = "/usr/include/features.h";
