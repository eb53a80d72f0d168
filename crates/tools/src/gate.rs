//! The last stage before a plan is carried out: somebody is asked, or a rule says that nobody has to be.
//!
//! It comes after all hooks, so it sees the final parameters and exactly what would happen. It is the only
//! place where approval has to do with tools. There is no gate that allows by default: a toolbox
//! is made with one.

use crate::tool::{Call, Channel, Entrance, Preview};
use countersign_protocol::pet::GATED_TOOLS;
use futures_util::future::BoxFuture;
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;

/// Allows or denies what a call would do.
pub trait Gate: Send + Sync {
    /// Judges a call whose parameters are final. Cancelling `abort` withdraws what was asked, and so does
    /// dropping the future. Whatever goes wrong is a denial.
    fn judge<'a>(
        &'a self,
        call: &'a Call,
        preview: &'a Preview,
        abort: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Allowed, Denied>>;

    /// Refuses a call that is not judged: nobody is asked about it, and a rule or a policy may still say no.
    fn refuse<'a>(&'a self, call: &'a Call, preview: &'a Preview) -> BoxFuture<'a, Result<(), Denied>>;
}

/// It may be carried out, once.
#[derive(Debug)]
#[must_use]
pub struct Allowed;

/// It may not.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// For the agent.
    pub reason: String,
}

/// Which calls are judged although they change nothing, or are asked about where they are carried out. The
/// others always are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Gating {
    /// Names of tools, normalised, wherever the call comes from.
    pub everywhere: BTreeSet<String>,
    /// Names of tools, normalised, for turns of the pet channel (docs/protocol/pet-channel.md,
    /// "Tool approval").
    pub pet: BTreeSet<String>,
    /// Names of tools, normalised, for calls that come over the gateway.
    pub gateway: BTreeSet<String>,
}

impl Default for Gating {
    /// As the pet channel has it (docs/protocol/pet-channel.md, "Tool approval"); over the gateway nothing is
    /// read unasked.
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { everywhere: BTreeSet::new(), pet: names(&GATED_TOOLS), gateway: names(&GATEWAY) }
    }
}

/// Whether the gate is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Stage {
    /// It is.
    Judged,
    /// It is not: nothing there is a person's to decide, or they are asked elsewhere. It may be refused.
    Passed,
}

/// Whether the gate is asked about a call, by what it would do, its normalised name and where it came from.
pub fn stage(gating: &Gating, call: &Call, preview: &Preview) -> Stage {
    let is_pet = matches!(call.caller.channel, Channel::Pet { .. });
    let is_gateway = call.caller.entrance == Entrance::Gateway;
    let listed = gating.everywhere.contains(&call.tool)
        || (is_pet && gating.pet.contains(&call.tool))
        || (is_gateway && gating.gateway.contains(&call.tool));
    match preview {
        Preview::Changes(_) | Preview::HandOver { .. } | Preview::Typed { .. } => Stage::Judged,
        Preview::Harmless | Preview::AskedThere { .. } if listed => Stage::Judged,
        Preview::Harmless | Preview::AskedThere { .. } => Stage::Passed,
    }
}

/// Whether why a call could not be planned is told only to whom a person allows it. Over the gateway the
/// reason would say what there is on this machine: whether a path exists, is a folder, may be read. Whoever
/// may read files there unasked may know that too.
pub fn is_told_only_when_allowed(gating: &Gating, call: &Call) -> bool {
    call.caller.entrance == Entrance::Gateway && GATEWAY.iter().any(|reads| gating.gateway.contains(*reads))
}

/// Tools whose calls over the gateway are asked about unless it is configured otherwise: the folder that they
/// keep to is the caller's own word.
const GATEWAY: [&str; 1] = ["read_file"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn check(gating: &Gating, tool: &str, channel: &Channel, expected: [Stage; 4]) {
        let mut call = testing::call(tool, "1");
        call.caller.channel = channel.clone();
        let hand_over = Preview::HandOver { command: Vec::new(), task: String::new() };
        let asked_there = Preview::AskedThere { exec: Box::default(), types: false };
        let previews = [Preview::Harmless, asked_there, Preview::Changes(Vec::new()), hand_over];
        let got = previews.map(|preview| stage(gating, &call, &preview));
        assert_eq!(got, expected, "{tool} {channel:?} {gating:?}");
    }

    #[test]
    fn what_changes_something_is_always_judged_and_the_rest_where_it_is_listed() {
        use Stage::{Judged, Passed};
        let (none, pet) = (Channel::None, Channel::Pet { session_id: "s".to_owned() });
        let default = Gating::default();
        let empty = Gating { everywhere: BTreeSet::new(), pet: BTreeSet::new(), gateway: BTreeSet::new() };
        let read = Gating { everywhere: BTreeSet::from(["read_file".to_owned()]), ..empty.clone() };
        let pet_process = Gating { pet: BTreeSet::from(["process".to_owned()]), ..empty.clone() };
        for tool in ["exec", "write_file", "read_file"] {
            check(&empty, tool, &none, [Passed, Passed, Judged, Judged]);
            check(&empty, tool, &pet, [Passed, Passed, Judged, Judged]);
            check(&default, tool, &none, [Passed, Passed, Judged, Judged]);
        }
        for tool in GATED_TOOLS {
            check(&default, tool, &pet, [Judged; 4]);
        }
        check(&default, "read_file", &pet, [Passed, Passed, Judged, Judged]);
        for channel in [&none, &pet] {
            check(&read, "read_file", channel, [Judged; 4]);
            check(&read, "exec", channel, [Passed, Passed, Judged, Judged]);
        }
        check(&pet_process, "process", &pet, [Judged; 4]);
        check(&pet_process, "process", &none, [Passed, Passed, Judged, Judged]);
        check(&pet_process, "exec", &pet, [Passed, Passed, Judged, Judged]);
    }

    #[test]
    fn over_the_gateway_files_are_read_only_after_a_question() {
        let judged = |gating: &Gating, tool: &str, entrance, channel: Channel| {
            let mut call = testing::call(tool, "1");
            call.caller.entrance = entrance;
            call.caller.channel = channel;
            stage(gating, &call, &Preview::Harmless) == Stage::Judged
        };
        let pet = || Channel::Pet { session_id: "s".to_owned() };
        let default = Gating::default();
        assert!(judged(&default, "read_file", Entrance::Gateway, Channel::None));
        assert!(judged(&default, "read_file", Entrance::Gateway, pet()));
        assert!(!judged(&default, "read_file", Entrance::Machine, Channel::None));
        assert!(!judged(&default, "process", Entrance::Gateway, Channel::None));
        let trusting = Gating { gateway: BTreeSet::new(), ..default };
        assert!(!judged(&trusting, "read_file", Entrance::Gateway, Channel::None));
    }
}
