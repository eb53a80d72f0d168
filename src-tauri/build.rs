//! Embeds the built UI, icons and capabilities.

fn main() {
    tauri_build::build();
}
