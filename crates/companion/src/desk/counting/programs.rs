//! Programs of this machine that a pattern with wildcards covers.

use countersign_node::host::Host;
use countersign_policy::counts::{folder_of, is_one_of};
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// What was found.
pub(super) enum Found {
    /// Nothing is covered by it.
    None,
    /// Some of those that are, each by its name or path as the pattern has it.
    Some(Vec<String>),
    /// More was there than is looked at, and none of what was looked at is covered.
    TooMany,
}

/// Some programs that a pattern covers. Blocking, up to some thousand system calls.
pub(super) fn covered_by(pattern: &str, host: &Host) -> Found {
    let home = host.home();
    let is_path = pattern.contains('/') || pattern.contains("**");
    // A path that begins with a wildcard may be anywhere: programs are where they are looked for.
    let start = if is_path { folder_of(pattern, home) } else { None };
    let depth = match &start {
        Some(_) if pattern.contains("**") => DEPTH,
        Some(_) => pattern.matches('/').count().min(DEPTH),
        None => 0,
    };
    let folders = start.map_or_else(|| host.search_path(), |folder| vec![folder]);
    let mut waiting: VecDeque<(PathBuf, usize)> = folders.into_iter().map(|folder| (folder, depth)).collect();
    let (mut programs, mut looked) = (Vec::new(), 0);
    while let Some((folder, depth)) = waiting.pop_front() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > LOOKED {
                return if programs.is_empty() { Found::TooMany } else { Found::Some(programs) };
            }
            let path = entry.path();
            // Links are followed: what really runs is compared with the pattern.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if metadata.is_dir() && depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push_back((path, depth - 1));
            } else if metadata.is_file() && metadata.permissions().mode() & EXECUTABLE != 0 {
                let name = match is_path || pattern == ANY {
                    true => fs::canonicalize(&path).ok().and_then(|real| real.to_str().map(str::to_owned)),
                    false => entry.file_name().to_str().map(str::to_owned),
                };
                let name = name.filter(|name| pattern == ANY || is_one_of(pattern, name, home));
                programs.extend(name);
            }
            if programs.len() == ENOUGH {
                return Found::Some(programs);
            }
        }
    }
    if programs.is_empty() { Found::None } else { Found::Some(programs) }
}

/// An entry for everything.
const ANY: &str = "*";

/// Programs that are tried of one pattern: the first that runs is enough.
pub(super) const ENOUGH: usize = 24;

/// Most files that are looked at for one pattern: more than all folders of programs have together.
const LOOKED: usize = 20_000;

/// Folders within each other that are looked into.
const DEPTH: usize = 6;

/// Who may execute a file: anybody.
const EXECUTABLE: u32 = 0o111;
