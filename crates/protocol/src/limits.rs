//! Bounds on what crosses a boundary. Crate-internal bounds live beside their code.

/// Longest request line the approval socket reads, in bytes (docs/protocol/approval-socket.md, "Lines").
pub const SOCKET_REQUEST_LINE_BYTES: usize = 256_000;

/// Shortest token of the approval socket that is accepted, in characters: what is shorter can be found out by
/// trying. The peers make 32, or the 36 of a UUID.
pub const SOCKET_TOKEN_CHARACTERS: usize = 12;

/// Longest response line a peer accepts, in bytes (docs/protocol/approval-socket.md, "Lines").
pub const SOCKET_RESPONSE_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Longest line of the control channel, in bytes: a whole document may travel in it.
pub const CONTROL_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Most bytes of stdout and stderr together that a run returns, marker included (docs/protocol/runs.md,
/// "Output").
pub const OUTPUT_BYTES: usize = 200_000;

/// Characters of output that an event or the history keeps, from the end (docs/protocol/runs.md, "Output").
pub const OUTPUT_TAIL_CHARS: usize = 20_000;

/// Longest command that may be allowed, in UTF-16 units of its shown text (docs/protocol/commands.md,
/// "Shown text"): what a person cannot read through, a person cannot allow.
pub const DISPLAY_INPUT_UNITS: usize = 262_144;

/// Most arguments that a prompt shows one by one; beyond it Allow is impossible.
pub const DISPLAY_ARGUMENTS: usize = 4_096;

/// Most flags of a rule that are named before a person: more are not read.
pub const REACHED_FLAGS: usize = 12;
