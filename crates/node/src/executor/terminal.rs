//! A terminal of a command's own: programs that ask whether they write to one are told yes, and both of their streams come as one.
//!
//! It is made for one run and nobody else's, so nothing that is put into it can reach a terminal of the person's. Nobody types in it:
//! what a program reads there is at its end.

use pty_process::{Pts, Pty, Size};
use std::io;

/// Both ends.
pub(super) struct Terminal {
    /// What the command prints comes out here.
    pub(super) ours: Pty,
    /// The command's.
    pub(super) its: Pts,
}

impl Terminal {
    /// Opens one, with nothing to read.
    pub(super) fn open() -> io::Result<Self> {
        let (ours, its) = pty_process::open().map_err(io::Error::other)?;
        ours.resize(Size::new(ROWS, COLUMNS)).map_err(io::Error::other)?;
        rustix::io::write(&ours, &[END_OF_INPUT])?;
        Ok(Self { ours, its })
    }
}

/// What a program is told that the terminal can do, where nobody says otherwise.
pub(super) const KIND: (&str, &str) = ("TERM", "xterm-256color");

/// Its size, as the peers have it.
const ROWS: u16 = 30;
const COLUMNS: u16 = 120;

/// Ends what a program reads line by line, as Ctrl-D does.
const END_OF_INPUT: u8 = 4;

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, wait_for_file, wait_until_gone};
    use super::super::{Controls, run};
    use countersign_protocol::socket::ExecPayload;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeMap;

    async fn typed(bench: &Bench, text: &str, output: usize) -> ExecPayload {
        let argv = ["sh", "-c", text].map(str::to_owned);
        let base = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let controls =
            Controls { cancel: bench.cancel.clone(), terminal: true, output, ..Controls::default() };
        run(bench.approve(&argv), &base, controls).await.unwrap().payload
    }

    #[tokio::test]
    async fn a_command_has_a_terminal_of_its_own_and_nothing_to_read() {
        let text = "test -t 0 && test -t 1 && test -t 2 && echo yes; stty size; echo $TERM; echo there > /dev/tty; \
                    cat; echo err >&2; exit 3";
        let payload = typed(&Bench::new(), text, 10_000).await;
        let lines: Vec<&str> = payload.stdout.lines().collect();
        assert_eq!(lines, ["yes", "30 120", "xterm-256color", "there", "err"]);
        assert_eq!((payload.exit_code, payload.stderr.as_str()), (Some(3), ""));
    }

    #[tokio::test]
    async fn what_it_prints_is_kept_within_the_limit() {
        let payload = typed(&Bench::new(), "head -c 100000 /dev/zero | tr '\\0' a", 4_000).await;
        assert!(payload.stdout.len() <= 4_000 && payload.stdout.ends_with("... (truncated)"));
        assert_eq!(payload.exit_code, Some(0));
    }

    #[tokio::test]
    async fn it_is_ended_with_all_that_it_started() {
        let bench = Bench::new();
        let file = bench.work().join("pid");
        let text = format!(
            "(trap '' HUP TERM; echo $$ > {0}.new; mv {0}.new {0}; sleep 60; sleep 60) & sleep 60",
            file.display()
        );
        let ending = async {
            wait_for_file(&file).await;
            bench.cancel.cancel();
        };
        let (payload, ()) = tokio::join!(typed(&bench, &text, 4_000), ending);
        assert_eq!(payload.error.as_deref(), Some("cancelled"));
        wait_until_gone(std::fs::read_to_string(file).unwrap().trim().parse().unwrap()).await;
    }
}
