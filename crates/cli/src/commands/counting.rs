//! Whether permissions count, in the words of the command line.

use super::output::Output;
use countersign_core::paths::Paths;
use countersign_node::facts::{Places, located};
use countersign_policy::counts::{Machine, said};
use countersign_policy::display;
use countersign_protocol::counting::{Comes, Uncounted, UncountedFor};
use std::ffi::OsString;

/// Runs `look` with how programs are found on this machine.
pub(super) fn on_this_machine<R>(paths: &Paths, look: impl FnOnce(Machine<'_>) -> R) -> R {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    let places = Places { path: &path, cwd: &paths.home, home: &paths.home };
    let find = |name: &str| located(name, places);
    look(Machine { find: &find, home: &paths.home })
}

/// Why a permission lets nothing run, and for how long.
pub(super) fn why(uncounted: &Uncounted) -> String {
    let what = uncounted.what.as_ref().and_then(display::original);
    let why = said(uncounted.cause, what.as_deref());
    display::escape(&match uncounted.lasts {
        UncountedFor::Ever => format!("never counts: {why}"),
        UncountedFor::Now => format!("never counts as this machine is now: {why}"),
    })
}

/// Says of permissions that were just stored what keeps them from letting something run.
pub(super) fn tell(all: &[Comes], output: &Output) {
    for comes in all {
        let told = match comes {
            Comes::InForce => continue,
            Comes::Idle { why: uncounted } => format!("It is stored and {}", why(uncounted)),
            Comes::Refused => "It is stored, and a rule that refuses stands before it".to_owned(),
            Comes::NothingRuns => {
                "It is stored, and the policy lets this agent run nothing: security is deny".to_owned()
            }
            Comes::AlwaysAsked => {
                "It is stored, and the policy asks about every command all the same: ask is always".to_owned()
            }
            Comes::Held => {
                "It is stored, and what it names is asked about all the same; `countersign allowlist test` says why"
                    .to_owned()
            }
        };
        output.note(&told);
    }
}

/// Where programs are looked for when nothing is said.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
