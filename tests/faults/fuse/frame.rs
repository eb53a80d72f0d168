//! Requests and answers of the kernel's FUSE protocol as bytes, in this machine's order.

use std::os::raw::c_int;

/// A request.
pub(super) struct Frame<'a> {
    /// What is wanted.
    pub(super) code: u32,
    unique: u64,
    /// Of which file.
    pub(super) node: u64,
    body: &'a [u8],
}

impl<'a> Frame<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (head, body) = bytes.split_at_checked(HEAD)?;
        let mut head = Reader(head);
        let (_, code, unique, node) = (head.u32(), head.u32(), head.u64(), head.u64());
        Some(Self { code, unique, node, body })
    }

    /// What goes with it.
    pub(super) fn input(&self) -> Reader<'a> {
        Reader(self.body)
    }

    /// An answer to it: what it brought, or the number of an error.
    pub(super) fn answer(&self, came: Result<Vec<u8>, c_int>) -> Vec<u8> {
        let (error, body) = came.map_or_else(|error| (-error, Vec::new()), |body| (0, body));
        let length = (ANSWER_HEAD + body.len()) as u32;
        let mut answer = Writer::default().u32(length).u32(error.cast_unsigned()).u64(self.unique).done();
        answer.extend(body);
        answer
    }
}

/// Reads one member after another; what is not there is 0.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((taken, rest)) = self.0.split_first_chunk() else { return [0; N] };
        self.0 = rest;
        *taken
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.0 = self.0.get(bytes..).unwrap_or_default();
    }

    /// A name, which ends with a zero.
    pub(super) fn name(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let name = self.0.get(..end).unwrap_or_default();
        self.skip(end + 1);
        name
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }
}

/// Writes one member after another.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub(super) fn zeros(mut self, bytes: usize) -> Self {
        self.0.resize(self.0.len() + bytes, 0);
        self
    }

    /// Bytes, and zeros up to a multiple of eight.
    pub(super) fn padded(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        let length = self.0.len().next_multiple_of(8);
        self.0.resize(length, 0);
        self
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }
}

const HEAD: usize = 40;
const ANSWER_HEAD: usize = 16;
