//! The `countersign` command.

fn main() -> std::process::ExitCode {
    countersign::warden_main().unwrap_or_else(countersign::cli::main)
}
