//! This very program in its own place, from its beginning: under the same process id, with the same
//! arguments, and with exactly the environment that it is given. For a program that finds, before it does
//! anything, that its environment must not be obeyed: a process cannot take back what its libraries have
//! read from there.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Starts this program again in its own place, `more` behind its own arguments. Returns only
/// when that failed.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
pub fn begin_again(more: &[String], env: impl Iterator<Item = (OsString, OsString)>) -> io::Error {
    let mut arguments = std::env::args_os();
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    let mut again = Command::new(program);
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    again.args(arguments).args(more).env_clear().envs(env).exec()
}
