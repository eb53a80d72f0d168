//! Lays out boxes and is the first program in them. The app and the command can do that too; this one is
//! small, and each contained run starts it twice.

use countersign_node::executor::sandbox;
use std::process::ExitCode;

fn main() -> ExitCode {
    sandbox::entered(std::env::args_os()).unwrap_or_else(|| {
        said();
        ExitCode::from(NOT_STARTED_BY_US)
    })
}

#[expect(clippy::print_stderr, reason = "a person started it by hand")]
fn said() {
    eprintln!("countersign-box is started by Countersign, for commands that run in a box");
}

/// As for wrong arguments.
const NOT_STARTED_BY_US: u8 = 2;
