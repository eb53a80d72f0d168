//! Embeds the built UI, icons and capabilities.

use std::env;
use std::fs;

fn main() {
    tauri_build::build();
    pack_relocations();
}

/// The app's relocations are read whole at its start and stay in memory all day. Packed they take a thirtieth; the dynamic
/// linker of glibc understands that from 2.36 on, and an older one would refuse the program.
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

/// Says which glibc programs are linked with here.
const GLIBC: &str = "/usr/include/features.h";
