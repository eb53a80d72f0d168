//! The small program that lays out boxes, as a person might start it.

use std::process::Command;

#[test]
#[expect(clippy::disallowed_methods, reason = "the program that is tested")]
fn started_by_hand_it_does_nothing_and_says_what_it_is_for() {
    for arguments in
        [&[][..], &["--help"], &["lay-out-box"], &["lay-out-box", "9", "/nowhere", "true"], &["enter-box"]]
    {
        let ran = Command::new(env!("CARGO_BIN_EXE_countersign-box")).args(arguments).output().unwrap();
        assert!(!ran.status.success(), "{arguments:?}");
        assert!(!ran.stderr.is_empty() && ran.stdout.is_empty(), "{arguments:?}: {ran:?}");
    }
}
