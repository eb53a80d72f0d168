//! What a run printed: both pipes read to their ends, the beginning kept, the rest read and thrown away so
//! that the program never waits for a reader.

use super::controls::{Heard, Tap};
use countersign_protocol::socket::Printed;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Which of the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    fn printed(self) -> Printed {
        match self {
            Self::Out => Printed::Stdout,
            Self::Err => Printed::Stderr,
        }
    }
}

/// Both pipes of a child.
#[derive(Debug)]
pub(super) struct Pipes<O, E> {
    out: Option<O>,
    err: Option<E>,
    /// Never longer than their first room, of which only what is read is ever touched.
    out_buffer: Vec<u8>,
    err_buffer: Vec<u8>,
}

impl<O: AsyncRead + Unpin, E: AsyncRead + Unpin> Pipes<O, E> {
    pub(super) fn new(out: Option<O>, err: Option<E>) -> Self {
        let room = || Vec::with_capacity(READ_BYTES);
        Self { out, err, out_buffer: room(), err_buffer: room() }
    }

    /// Whether both have ended.
    pub(super) fn ended(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }

    /// Reads once from whichever has something, when it can be passed on; waits for ever when both have
    /// ended. Cancellation safe.
    pub(super) async fn pump(&mut self, capture: &mut Capture) {
        capture.tap.room().await;
        tokio::select! {
            count = read(&mut self.out, &mut self.out_buffer) => match count {
                0 => self.out = None,
                _ => capture.take(Stream::Out, &self.out_buffer),
            },
            count = read(&mut self.err, &mut self.err_buffer) => match count {
                0 => self.err = None,
                _ => capture.take(Stream::Err, &self.err_buffer),
            },
        }
    }
}

async fn read(pipe: &mut Option<impl AsyncRead + Unpin>, buffer: &mut Vec<u8>) -> usize {
    buffer.clear();
    match pipe {
        // A pipe that fails has ended.
        Some(pipe) => pipe.read_buf(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// The beginning of both streams, decoded lossily as it arrives; together never more than the limit.
#[derive(Debug)]
pub(super) struct Capture {
    limit: usize,
    out: Decoded,
    err: Decoded,
    /// Lengths at the moment when the marker would no longer have fitted.
    marker_fits: Option<(usize, usize)>,
    cut: bool,
    /// Hears what is not kept too.
    tap: Tap,
}

#[derive(Debug, Default)]
struct Decoded {
    text: String,
    /// The beginning of a character whose rest has not arrived.
    partial: Vec<u8>,
    /// How much of it was passed on. What the marker may take the place of is passed on in the end.
    told: usize,
}

impl Capture {
    /// Keeps at most `limit` bytes of text, the marker included.
    pub(super) fn new(limit: usize, tap: Tap) -> Self {
        Self { limit, out: Decoded::default(), err: Decoded::default(), marker_fits: None, cut: false, tap }
    }

    /// Takes the next bytes of a stream.
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if self.cut && !self.tap.is_there() {
            return;
        }
        let text = self.of(stream).decode(bytes);
        self.tap.hear(Heard::Printed(&text));
        if !self.cut {
            self.append(stream, &text);
        }
    }

    /// Nothing comes any more: characters that are not complete never will be.
    pub(super) fn close(&mut self) {
        for stream in [Stream::Out, Stream::Err] {
            if !std::mem::take(&mut self.of(stream).partial).is_empty() && !self.cut {
                self.append(stream, REPLACEMENT);
            }
        }
    }

    /// Both texts, with a marker when something is missing.
    pub(super) fn finish(mut self) -> (String, String) {
        self.close();
        let Self { out: Decoded { text: mut out, .. }, err: Decoded { text: mut err, .. }, .. } = self;
        if self.cut {
            let (keep_out, keep_err) = self.marker_fits.unwrap_or((out.len(), err.len()));
            out.truncate(keep_out);
            err.truncate(keep_err);
            let marked = if err.trim().is_empty() { &mut out } else { &mut err };
            if !marked.is_empty() && !marked.ends_with('\n') {
                marked.push('\n');
            }
            marked.push_str(MARKER);
        }
        (out, err)
    }

    fn append(&mut self, stream: Stream, text: &str) {
        let before = self.out.text.len() + self.err.text.len();
        let fitting = self.limit.saturating_sub(MARKER.len() + 1);
        if self.marker_fits.is_none() && before + text.len() > fitting {
            let more = text.floor_char_boundary(fitting.saturating_sub(before));
            self.marker_fits = Some(match stream {
                Stream::Out => (self.out.text.len() + more, self.err.text.len()),
                Stream::Err => (self.out.text.len(), self.err.text.len() + more),
            });
        }
        let kept = text.floor_char_boundary(self.limit - before);
        self.cut = kept < text.len();
        let (kept, _) = text.split_at(kept);
        self.of(stream).text.push_str(kept);
        let fits = self.marker_fits.map(|(out, err)| if stream == Stream::Out { out } else { err });
        let tap = self.tap.clone();
        let Decoded { text, told, .. } = self.of(stream);
        let end = fits.unwrap_or(text.len());
        tap.printed(stream.printed(), text.get(*told..end).unwrap_or_default());
        *told = end.max(*told);
    }

    /// Bytes of both texts that the outlet has already.
    pub(super) fn told(&self) -> [usize; 2] {
        [self.out.told, self.err.told]
    }

    fn of(&mut self, stream: Stream) -> &mut Decoded {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }
}

impl Decoded {
    /// Decodes `bytes` after what was left of the last ones; keeps back a character that is not complete.
    fn decode(&mut self, bytes: &[u8]) -> String {
        let joined;
        let mut rest = bytes;
        if !self.partial.is_empty() {
            joined = [std::mem::take(&mut self.partial).as_slice(), bytes].concat();
            rest = &joined;
        }
        let mut text = String::with_capacity(rest.len());
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(std::str::from_utf8(valid).unwrap_or_default());
                    let Some(bad) = error.error_len() else {
                        self.partial = after.to_vec();
                        return text;
                    };
                    text.push_str(REPLACEMENT);
                    rest = after.get(bad..).unwrap_or_default();
                }
            }
        }
    }
}

/// Says that output is missing (docs/protocol/runs.md, "Output").
const MARKER: &str = "... (truncated)";

/// Stands for bytes that are no UTF-8.
const REPLACEMENT: &str = "\u{FFFD}";

/// Bytes read at once, for each pipe: as much as a pipe holds.
const READ_BYTES: usize = 64 * 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use Stream::{Err, Out};
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn check(limit: usize, pieces: &[(Stream, &[u8])], out: &str, err: &str) {
        let mut capture = Capture::new(limit, Tap::default());
        for (stream, bytes) in pieces {
            capture.take(*stream, bytes);
        }
        assert_eq!(capture.finish(), (out.to_owned(), err.to_owned()), "{limit} {pieces:?}");
    }

    #[test]
    fn what_fits_is_returned_as_it_is() {
        check(20, &[(Out, b"0123456789"), (Err, b"0123456789")], "0123456789", "0123456789");
        check(20, &[], "", "");
    }

    #[test]
    fn what_does_not_fit_is_cut_in_order_of_arrival_and_marked() {
        check(20, &[(Out, b"0123456789"), (Out, b"0123456789x")], "0123\n... (truncated)", "");
        check(24, &[(Out, b"ab"), (Err, b"cd"), (Out, &[b'e'; 40])], "abeeee", "cd\n... (truncated)");
        check(24, &[(Err, b" \n"), (Out, &[b'e'; 40])], "eeeeee\n... (truncated)", " \n");
        check(24, &[(Out, b"1234567\n"), (Out, &[b'e'; 40])], "1234567\n... (truncated)", "");
    }

    #[test]
    fn characters_are_decoded_across_reads_and_never_cut() {
        let euro = "€".as_bytes();
        check(20, &[(Out, &euro[..1]), (Err, b"x"), (Out, &euro[1..])], "€", "x");
        check(20, &[(Out, &euro[..2])], "\u{FFFD}", "");
        check(20, &[(Out, b"a\xFF\xC3(b")], "a\u{FFFD}\u{FFFD}(b", "");
        check(21, &[(Out, "€€€€€€€€".as_bytes())], "€\n... (truncated)", "");
    }

    proptest! {
        #[test]
        fn the_limit_holds_whatever_arrives(
            pieces in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..20),
            limit in 16_usize..100,
        ) {
            let mut capture = Capture::new(limit, Tap::default());
            for (out, bytes) in &pieces {
                capture.take(if *out { Out } else { Err }, bytes);
            }
            let (out, err) = capture.finish();
            prop_assert!(out.len() + err.len() <= limit);
        }
    }
}
