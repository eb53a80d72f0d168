//! Bounds of the file tools. What is larger is refused, or marked so that it cannot be allowed.

/// Longest path, in bytes, its final NUL left out: what the kernel takes.
pub(super) const PATH_BYTES: usize = 4_095;

/// Largest file that is changed, before and after, in bytes: it is held in memory, compared and hashed twice.
pub(super) const CHANGED_BYTES: usize = 4 * 1_024 * 1_024;

/// Most lines of a file that a patch is fitted into: each costs some memory.
pub(super) const CHANGED_LINES: usize = 200_000;

/// Folders that one path may have made: deeper is a slip.
pub(super) const NEW_FOLDERS: usize = 32;

/// Files of one patch: a person reads each of them.
pub(super) const PATCH_FILES: usize = 64;

/// Longest patch, in bytes: about what an agent writes in one turn at most.
pub(super) const PATCH_BYTES: usize = 1_024 * 1_024;

/// Chunks and anchors of one patch: each is looked for in its whole file.
pub(super) const PATCH_CHUNKS: usize = 512;

/// Edits of one call: each is looked for in the whole file.
pub(super) const EDITS: usize = 100;

/// Places that the edits of one call replace together: more are not shown.
pub(super) const REPLACED: usize = 20_000;

/// Lines that `read_file` gives at once where the agent says nothing: what peers give.
pub(super) const READ_LINES: usize = 2_000;

/// Bytes of text that `read_file` gives at once: what an agent's context bears.
pub(super) const READ_BYTES: usize = 50 * 1_024;

/// Bytes of a file that `read_file` looks through for the wanted lines.
pub(super) const SCANNED_BYTES: u64 = 64 * 1_024 * 1_024;

/// Extended attributes of one file, names and values, in bytes: the kernel's bound of one value.
pub(super) const ATTRIBUTE_BYTES: usize = 64 * 1_024;

/// Tries to find a free name for a temporary file. Names count up, so each miss is somebody's leftover.
pub(super) const TEMP_TRIES: usize = 64;

/// Tries of a look-up that the kernel gave up on because of somebody's renames.
pub(super) const LOOKUP_TRIES: usize = 16;
