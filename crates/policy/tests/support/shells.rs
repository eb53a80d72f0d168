//! Shells of this machine that texts are compared in.

use std::process::{Command, Stdio};

/// Whether a shell prints by itself: `mksh` leaves that to a file, and here there are none.
pub(crate) fn prints(shell: &str) -> bool {
    #[allow(clippy::disallowed_methods, reason = "the oracle of this test is a real shell")]
    let mut command = Command::new(shell);
    if shell.ends_with("busybox") {
        command.arg("sh");
    }
    let printed = command
        .args(["-c", "printf x"])
        .env_clear()
        .env("PATH", "/nonexistent")
        .stderr(Stdio::null())
        .output()
        .unwrap();
    printed.stdout == b"x"
}
