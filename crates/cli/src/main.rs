//! The `countersign` command.

fn main() -> std::process::ExitCode {
    countersign_companion::warden_main().unwrap_or_else(countersign_cli::main)
}
