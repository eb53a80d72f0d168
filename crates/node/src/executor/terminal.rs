//! A terminal of a command's own: programs that ask whether they write to one are told yes, and both of their
//! streams come as one.
//!
//! It is made for one run and nobody else's, so nothing that is put into it can reach a terminal of the
//! person's. What a program reads there is at its end, unless its agent may type.

use super::Reader;
use countersign_approvals::question::Typing;
use pty_process::{OwnedWritePty, Pts, Pty, Size};
use std::io;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// Both ends.
pub(super) struct Terminal {
    /// What the command prints comes out here.
    pub(super) ours: Ours,
    /// The command's.
    pub(super) its: Pts,
}

impl Terminal {
    /// Opens one.
    pub(super) fn open(typing: Typing) -> io::Result<Self> {
        let (ours, its) = pty_process::open().map_err(io::Error::other)?;
        ours.resize(Size::new(ROWS, COLUMNS)).map_err(io::Error::other)?;
        if typing == Typing::Nobody {
            rustix::io::write(&ours, &[END_OF_INPUT])?;
        }
        Ok(Self { ours: Ours { pty: ours, typing }, its })
    }
}

/// The end of the app's.
pub(super) struct Ours {
    pty: Pty,
    typing: Typing,
}

/// Types as long as it lives.
pub(super) struct Keyboard {
    pub(super) keys: mpsc::Sender<Vec<u8>>,
    _typist: AbortOnDropHandle<()>,
}

impl Ours {
    /// What comes out of it, and what types in it where somebody does.
    pub(super) fn split(self) -> (Reader, Option<Keyboard>) {
        match self.typing {
            Typing::Nobody => (Box::new(self.pty), None),
            Typing::Agent => {
                let (read, write) = self.pty.into_split();
                (Box::new(read), Some(Keyboard::of(write)))
            }
        }
    }
}

impl Keyboard {
    fn of(mut terminal: OwnedWritePty) -> Self {
        let (keys, mut typed) = mpsc::channel::<Vec<u8>>(WAITING_TEXTS);
        let typist = tokio::spawn(async move {
            while let Some(text) = typed.recv().await {
                if terminal.write_all(&text).await.is_err() {
                    return;
                }
            }
        });
        Self { keys, _typist: AbortOnDropHandle::new(typist) }
    }
}

/// Texts that wait for a command to read what was typed before.
const WAITING_TEXTS: usize = 8;

/// What a program is told that the terminal can do, where nobody says otherwise.
pub(super) const KIND: (&str, &str) = ("TERM", "xterm-256color");

/// Its size, as the peers have it.
const ROWS: u16 = 30;
const COLUMNS: u16 = 120;

/// Ends what a program reads line by line, as Ctrl-D does.
const END_OF_INPUT: u8 = 4;

#[cfg(test)]
mod tests {
    use super::super::tests::Bench;
    use super::super::{Controls, Heard, Tap, run};
    use super::*;
    use crate::testing::{wait_for_file, wait_until_gone};
    use countersign_protocol::socket::ExecPayload;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeMap;

    async fn typed(bench: &Bench, text: &str, output: usize) -> ExecPayload {
        let argv = ["sh", "-c", text].map(str::to_owned);
        let base = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let controls = Controls {
            cancel: bench.cancel.clone(),
            terminal: Some(Typing::Nobody),
            output,
            ..Controls::default()
        };
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
    async fn what_its_agent_types_is_read_line_by_line_and_can_end() {
        let bench = Bench::new();
        let text = "read name; echo hello $name; cat; exit 4";
        let argv = ["sh", "-c", text].map(str::to_owned);
        let base = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let tap = Tap::new(|heard| {
            if let Heard::Terminal(keys) = heard {
                for typed in [&b"you\n"[..], b"line\n", b"\x04"] {
                    keys.try_send(typed.to_vec()).unwrap();
                }
            }
        });
        let controls = Controls { tap, terminal: Some(Typing::Agent), ..Controls::default() };
        let payload = run(bench.approve(&argv), &base, controls).await.unwrap().payload;
        assert_eq!(payload.exit_code, Some(4));
        let lines: Vec<&str> = payload.stdout.lines().collect();
        assert!(lines.contains(&"hello you"), "{lines:?}");
        assert_eq!(
            lines.iter().filter(|line| line.contains("line")).count(),
            2,
            "echoed and printed: {lines:?}"
        );
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
            "(trap '' HUP TERM; echo $$ > {0}.new; mv {0}.new {0}; sleep 600; sleep 600) & sleep 600",
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
