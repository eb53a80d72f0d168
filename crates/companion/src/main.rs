//! The `countersign` command.

fn main() -> std::process::ExitCode {
    countersign::cli::main()
}
