//! The second wall of a box: the kernel's Landlock, which knows nothing of mounts. If something were mounted
//! so that it could be written and should not, or could be reached by another path, it still could not be
//! written. It is put up by the first program of the box, so a box that has none has no second wall; where
//! the kernel has none, mounts stand alone, and `countersign doctor` says so.

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use std::io;
use std::path::Path;

/// Has this thread, and all that it starts, write below `writable` only, and reach no process or unnamed
/// socket outside. What is not there is passed over. False where the kernel can do none of it.
pub(super) fn restrict(writable: &[impl AsRef<Path>]) -> io::Result<bool> {
    let restricted = restricted(writable).map_err(io::Error::other)?;
    Ok(restricted.ruleset != RulesetStatus::NotEnforced)
}

fn restricted(writable: &[impl AsRef<Path>]) -> Result<landlock::RestrictionStatus, RulesetError> {
    let rules = path_beneath_rules(writable, AccessFs::from_write(KNOWN));
    Ruleset::default()
        .handle_access(AccessFs::from_write(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(rules)?
        .restrict_self()
}

/// Whether this kernel has it. Nothing is restricted.
pub(super) fn is_there() -> bool {
    let needed = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    needed.handle_access(AccessFs::from_write(LEAST)).and_then(Ruleset::create).is_ok()
}

/// What is asked for; an older kernel gives as much of it as it has.
const KNOWN: ABI = ABI::V6;

/// The least that is a wall: with it, nothing can be moved out of where it may be written.
const LEAST: ABI = ABI::V3;
