//! The `countersign` command.

fn main() -> std::process::ExitCode {
    countersign_core::beside_main().unwrap_or_else(countersign_cli::main)
}
