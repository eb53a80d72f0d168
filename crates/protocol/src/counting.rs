//! What comes of a permission: whether it lets anything run, and why not.

use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui! {
    /// Why a rule or an entry that allows lets nothing run, whatever is asked about.
    pub struct Uncounted {
        /// Why.
        pub cause: UncountedCause,
        /// For how long that is so.
        pub lasts: UncountedFor,
        /// What the cause is about: the file that really runs, or how the path would have to be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub what: Option<Shown>,
    }
}

ui_tagged! {
    /// What came of a permission that was just stored, when its own words were judged with all else that is.
    pub enum Comes {
        /// They run.
        InForce,
        /// They do not, and they alone are why.
        Idle {
            /// Why.
            why: Uncounted,
        },
        /// A refusal stands before it.
        Refused,
        /// The policy lets this agent run nothing.
        NothingRuns,
        /// The policy has a person asked about every command.
        AlwaysAsked,
        /// They are asked about or refused for a reason of this moment, which a test of the command tells.
        Held,
    }
}

ui_words! {
    /// For how long a permission lets nothing run.
    pub enum UncountedFor {
        /// Until it says something else.
        Ever,
        /// As long as this machine is as it is.
        Now,
    }

    /// Why a permission lets nothing run.
    pub enum UncountedCause {
        /// What it names starts other programs, and which ones is not pinned.
        StartsOthers,
        /// It names a shell, whose texts are judged by the programs in them.
        Shell,
        /// It names a word of the shell that evaluates or changes what comes after it.
        Evaluates,
        /// It names a package runner, and not which task that runs.
        AnyTask,
        /// No program is called so: words behind a program are its arguments.
        Words,
        /// The path depends on where one stands.
        Relative,
        /// The path is another than the real one of the file.
        Elsewhere,
        /// Its own words are an order or the place of a secret, which it leaves out.
        LeftOut,
        /// Releases that are gone wrote it, and it no longer says what it was about.
        Outdated,
        /// There is no such program.
        Missing,
        /// The program is one that its user could replace, and a bare name stands for no such.
        Replaceable,
        /// What would run cannot be pinned.
        Unpinned,
        /// It names a tool that runs commands or changes files, and no name says which.
        ToolActs,
        /// It names a tool that fetches, and not from where.
        ToolFetches,
        /// It names tools by a pattern.
        ToolPattern,
        /// It is about a file that something runs or obeys by itself.
        RunsByItself,
        /// It is about a file where secrets are kept.
        SecretPlace,
    }
}
