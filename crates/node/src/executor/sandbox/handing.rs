//! How the program that lays out a box gets what to lay out, and what bubblewrap is to find open.
//!
//! This app is large, and a copy of it for each process that it starts would take longer than most commands.
//! Without a copy a new process can be given its three standard streams and nothing else, so one of them is a
//! socket through which the rest comes.

use super::bubblewrap::FIRST_HANDED;
use super::layout::Layout;
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

/// What came.
pub(super) struct Received {
    pub(super) layout: Layout,
    /// Open from [`FIRST_HANDED`] on, in their order, also in the program that this process becomes.
    _handed: Vec<OwnedFd>,
}

/// A standard input from which [`receive`] takes the layout, all of `handed`, and what is to be standard
/// input afterwards. Nobody has to wait for that.
pub(super) fn hand(layout: &Layout, handed: &[OwnedFd], input: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let mut written = File::from(memfd_create("layout", MemfdFlags::CLOEXEC)?);
    written.write_all(&layout.written()?)?;
    written.rewind()?;
    let last = input.into_iter().map(OwnedFd::as_fd).chain([written.as_fd()]);
    let all: Vec<_> = handed.iter().map(OwnedFd::as_fd).chain(last).collect();
    let kind = SocketType::SEQPACKET;
    let (ours, its) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("more than {MOST} descriptors")));
    }
    let last = if input.is_some() { WITH_INPUT } else { WITHOUT };
    sendmsg(&ours, &[IoSlice::new(&[last])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(its)
}

/// Takes what [`hand`] sent. Where no standard input came with it, that is the terminal if there is one, and
/// nothing otherwise. To be called in a process that has opened nothing yet: what comes has to be where
/// bubblewrap looks for it.
pub(super) fn receive() -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let came = recvmsg(io::stdin(), &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::empty())?;
    let mut handed: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            handed.extend(files);
        }
    }
    let is_in_place = (FIRST_HANDED..).zip(&handed).all(|(number, file)| file.as_raw_fd() == number);
    let layout = handed.pop().filter(|_| is_in_place && !came.flags.contains(ReturnFlags::CTRUNC));
    let Some(layout) = layout else {
        return Err(io::Error::new(ErrorKind::InvalidData, "expected a layout and open files"));
    };
    let mut bytes = Vec::new();
    File::from(layout).read_to_end(&mut bytes)?;
    if byte == [WITH_INPUT] {
        let input = handed.pop().ok_or(ErrorKind::InvalidData)?;
        rustix::stdio::dup2_stdin(input)?;
    } else if rustix::termios::isatty(io::stdout()) {
        rustix::stdio::dup2_stdin(io::stdout())?;
    } else {
        let how = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::stdio::dup2_stdin(rustix::fs::open("/dev/null", how, Mode::empty())?)?;
    }
    Ok(Received { layout: Layout::read(&bytes)?, _handed: handed })
}

/// What comes last but one.
const WITHOUT: u8 = 0;
const WITH_INPUT: u8 = 1;

/// Most that is handed over at once: what a box needs, and some more.
const MOST: usize = 16;
