//! The `countersign` command.

fn main() -> std::process::ExitCode {
    countersign_core::warden_main().unwrap_or_else(countersign_cli::main)
}
