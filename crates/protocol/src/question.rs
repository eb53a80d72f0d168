//! What is asked about, why, and how it ends, in words that the book, windows and the history share.

use crate::trace::{MissCause, PolicyLayer, TraceStep, UnboundCause};
use crate::vocabulary::{Ask, Decision, Security};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// What an allow does.
    #[ts(rename = "CardKind")]
    pub enum QuestionKind {
        /// The app runs the command itself.
        Exec,
        /// The app only answers; the asker runs it.
        Ask,
        /// Not a command: something that a plugin of a gateway wants to do.
        Plugin,
        /// Not a command: a change that a gateway's own agent proposes to make to the gateway.
        SystemAgent,
        /// The asker runs it itself, and leaves it to the policy of this machine whether it may.
        Permit,
        /// Not a command: a tool would do something. The app does exactly that, or whoever asked if it is
        /// not a tool of ours.
        Tool,
        /// Not a command: a command that runs in a box wants to reach something outside of it.
        Crossing,
    }

    /// Where the command would run.
    pub enum HostKind {
        /// This machine.
        ThisMachine,
        /// Another machine.
        Remote,
        /// A sandbox.
        Sandbox,
    }

    /// How wide a rule reaches.
    pub enum RuleScope {
        /// These arguments, in this folder.
        Exact,
        /// This program with any arguments.
        Program,
    }

    /// Why nothing can be remembered.
    pub enum AlwaysUnavailable {
        /// Policy asks for every command.
        AskAlways,
        /// A carrier or wrapper could run anything.
        Carrier,
        /// The program interprets its arguments.
        Interpreter,
        /// The person would be asked all the same.
        NoEffect,
        /// The asker did not offer it.
        NotOffered,
        /// The command could not be taken apart.
        Opaque,
        /// A shell could make something else of a word.
        Expands,
        /// It deletes a file, or changes one that something runs or obeys by itself.
        RunsByItself,
        /// It is about a sandbox, and a rule would count outside of it as well.
        Sandbox,
        /// The policy is not an allowlist, so a rule would have no effect.
        SecurityNotAllowlist,
        /// It leads to where nobody should go twice unasked.
        Perilous,
        /// The document cannot be written now.
        StoreUnavailable,
        /// The program was not found.
        Unresolved,
        /// This user could replace the program between two runs.
        Writable,
    }

    /// Why Allow is impossible.
    pub enum AllowBlocked {
        /// Longer than a person can read through.
        TooLong,
        /// More arguments than can be shown one by one.
        TooManyArguments,
    }

    /// Why the person is asked.
    pub enum WhyReason {
        /// Policy asks for every command.
        AskAlways,
        /// No entry covers the command.
        AllowlistMiss,
        /// The command could not be analysed.
        Opaque,
        /// No entry may cover a part of it.
        Uncoverable,
        /// It is covered, but cannot be pinned.
        Unbound,
        /// It overrides the environment in a way that no rule covers.
        Environment,
        /// It hides what it runs or does, and a rule of the person's may refuse that.
        MayBeRefused,
        /// Another program asks for a person's word.
        PeerAsks,
        /// It leaves the box, and no rule says that it may.
        LeavesTheBox,
        /// The person's rules cannot be read, and one may refuse it.
        RulesUnreadable,
    }

    /// Through which door a request came.
    pub enum Via {
        /// The approval socket.
        Socket,
        /// The `countersign` command.
        CommandLine,
        /// The embedded gateway.
        Gateway,
        /// Another gateway that the app is connected to.
        Connection,
        /// A gateway that this machine runs commands for, as its node.
        Node,
        /// A tool that an agent called.
        Tool,
        /// A hook of an agent.
        Hook,
        /// A foreign pet server.
        Pet,
    }

    /// How grave a plugin says that something is.
    pub enum Severity {
        /// To be known.
        Info,
        /// To be careful with.
        Warning,
        /// Dangerous.
        Critical,
    }
}

ui! {
    /// Why the person is asked.
    pub struct Why {
        /// The cause.
        pub reason: WhyReason,
        /// Code of what could not be analysed (`redirect`, `pipeline`, …), only with `opaque`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub opaque: Option<String>,
        /// What keeps entries from covering it, only with `uncoverable`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub cause: Option<MissCause>,
        /// What keeps it from being pinned, only with `unbound`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub unbound: Option<UnboundCause>,
        /// Indexes of the segments that missed, in order.
        pub segments: Vec<u32>,
        /// Effective security.
        pub security: Security,
        /// Effective ask.
        pub ask: Ask,
        /// The layer that set `ask`.
        pub layer: PolicyLayer,
        /// Entries that were compared.
        pub entries_checked: u32,
        /// The evaluation step by step; empty when another program decides.
        pub trace: Vec<TraceStep>,
    }
}

ui_tagged! {
    /// How a request ended. Every way is distinct, in the UI, the history and on the wire.
    #[derive(Eq)]
    pub enum Outcome {
        /// The policy lets everything run.
        AllowedByPolicy,
        /// An allowlist entry covers it.
        AllowedByRule,
        /// A person allowed this run.
        AllowedOnce,
        /// A person allowed it and a rule was stored.
        AllowedAlways,
        /// A grant that a person gave elsewhere was honoured.
        AllowedElsewhere,
        /// Nobody could be asked and the fallback let it run.
        AllowedByFallback,
        /// Its folder is open, and it ran in a box.
        Contained,
        /// A person denied it.
        Denied,
        /// The policy denies it.
        DeniedByPolicy {
            /// `security=deny`, `allowlist-miss`, …
            reason: String,
        },
        /// Denied where it was asked first.
        DeniedElsewhere,
        /// Nobody answered in time.
        Expired,
        /// Withdrawn before an answer.
        Cancelled {
            /// Why.
            cause: CancelCause,
        },
        /// Nobody could be shown the request and the fallback denies.
        NotShown,
        /// The request was answerable but not runnable: bad input or something changed since it was shown.
        Refused {
            /// What differed or was wrong.
            reason: String,
        },
    }
}

ui_words! {
    /// Why a request was withdrawn.
    pub enum CancelCause {
        /// The asker closed its connection.
        RequesterGone,
        /// The app was closing.
        Shutdown,
        /// The connection to the gateway that brought it was lost; it is asked again when that is back.
        ConnectionLost,
        /// It was withdrawn where it came from.
        Withdrawn,
    }
}

impl From<Decision> for Outcome {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::AllowOnce => Self::AllowedOnce,
            Decision::AllowAlways => Self::AllowedAlways,
            Decision::Deny => Self::Denied,
        }
    }
}
