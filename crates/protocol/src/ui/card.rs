//! A request waiting for a person, and how requests end.

use super::{ChangeView, CommandView, LadderStep, MissCause, Shown, TraceStep, UnboundCause};
use crate::vocabulary::{Ask, Decision, Security};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// What an allow does.
    pub enum CardKind {
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
        /// Not a command: a tool would do something. The app does exactly that, or whoever asked if it is not a tool of ours.
        Tool,
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

    /// What happens when nobody answers in time.
    pub enum OnExpiry {
        /// The command does not run.
        NotRun,
        /// The asker gets no answer and applies its own fallback.
        NoAnswer,
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
        /// It is about a sandbox, and a rule would count outside of it as well.
        Sandbox,
        /// The policy is not an allowlist, so a rule would have no effect.
        SecurityNotAllowlist,
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
        /// It hides what it runs, and a rule of the person's may refuse that.
        MayBeRefused,
        /// Another program asks for a person's word.
        PeerAsks,
        /// The person's rules cannot be read, and one may refuse it.
        RulesUnreadable,
    }

    /// Which layer of the policy set a value.
    pub enum PolicyLayer {
        /// The request itself hardened it.
        Requested,
        /// The agent's own entry.
        Agent,
        /// The entry for every agent.
        Wildcard,
        /// The document's defaults.
        Defaults,
        /// Nothing in the document says so: the built-in value.
        BuiltIn,
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
    /// Where the command would run.
    pub struct HostView {
        /// Which kind of host.
        pub kind: HostKind,
        /// Its name, when it is not this machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub name: Option<Shown>,
    }

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

    /// A request that waits for a person.
    pub struct Card {
        /// Request id.
        pub id: String,
        /// Generation of the connection that brought it; a decision must carry the same.
        pub generation: u32,
        /// What an allow does.
        pub kind: CardKind,
        /// Door it came through.
        pub via: Via,
        /// The gateway that brought it, by the person's name for it; absent for this machine's own doors.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub gateway: Option<Shown>,
        /// The agent, as claimed.
        pub agent: Shown,
        /// The session, as claimed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<Shown>,
        /// The asking program, from the kernel's word about the connection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub peer: Option<Shown>,
        /// Where it would run.
        pub host: HostView,
        /// Unix milliseconds.
        pub created_at_ms: i64,
        /// Unix milliseconds.
        pub expires_at_ms: i64,
        /// What happens then.
        pub on_expiry: OnExpiry,
        /// The command.
        pub command: CommandView,
        /// Probed facts, flagged ones first.
        pub facts: Vec<Fact>,
        /// Why the person is asked.
        pub why: Why,
        /// Decisions offered, in the asker's order.
        pub decisions: Vec<Decision>,
        /// The ladder of what could be remembered, narrowest first; empty when nothing can.
        pub always: Vec<LadderStep>,
        /// Why `always` is empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub always_unavailable: Option<AlwaysUnavailable>,
        /// Why Allow is impossible.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub allow_blocked: Option<AllowBlocked>,
    }

    /// One environment override.
    pub struct EnvOverride {
        /// Name.
        pub name: Shown,
        /// Value.
        pub value: Shown,
    }
}

ui_tagged! {
    /// Something probed about the request; never the agent's own words.
    pub enum Fact {
        /// A program that would run.
        Program {
            /// As it is called in the command.
            name: Shown,
            /// Where it was found; absent when it was not.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            path: Option<Shown>,
            /// Where links lead, when that is elsewhere.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            real_path: Option<Shown>,
            /// Whether this user could replace it.
            writable: bool,
        },
        /// The real working directory.
        Folder {
            /// Where links lead.
            path: Shown,
            /// As it was given, when that is different.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            given: Option<Shown>,
        },
        /// It would run in a sandbox on this machine.
        Sandbox {
            /// Whether it has the network.
            network: bool,
            /// The one folder outside of it that it can write to.
            folder: Shown,
            /// The image whose programs run; absent when they are this machine's own.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            image: Option<Shown>,
        },
        /// Environment overrides that will be set.
        Environment {
            /// Sorted by name.
            overrides: Vec<EnvOverride>,
        },
        /// Environment overrides of which only the names are told.
        EnvironmentNames {
            /// Sorted.
            names: Vec<Shown>,
        },
        /// Runs with another user's rights.
        Elevation {
            /// Through what, such as `sudo` or `docker run`.
            program: String,
        },
        /// Everything that it starts was seen, and nothing of that has another user's rights.
        OwnRights,
        /// A program's purpose is to talk to other machines.
        Network {
            /// Its name, such as `curl` or `git push`.
            program: String,
        },
        /// A script that an interpreter would run.
        Script {
            /// Real path.
            path: Shown,
            /// Lines in the whole script.
            lines: u32,
            /// Its beginning.
            content: Shown,
            /// Whether `content` is all of it.
            complete: bool,
        },
        /// The run is ended after this time.
        TimeLimit {
            /// Milliseconds.
            ms: u64,
        },
        /// The history cannot be written at the moment, so that nothing will tell later that it ran.
        Unrecorded {
            /// What the system said.
            problem: Shown,
        },
        /// The asker's own warning.
        Warning {
            /// Its words.
            text: Shown,
        },
        /// The asker shows another text than what would run; the card shows what would run.
        OtherText {
            /// The asker's text.
            text: Shown,
        },
        /// The tool that was called.
        Tool {
            /// Its name.
            tool: Shown,
            /// The program that called it, as it says.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            client: Option<Shown>,
        },
        /// A file that would change.
        Change {
            /// How.
            change: ChangeView,
        },
        /// Parameters of a tool that is none of ours, as its caller wrote them.
        Arguments {
            /// JSON, indented.
            text: Shown,
        },
        /// What a program would be handed.
        Task {
            /// Its words.
            text: Shown,
        },
        /// A plugin wants something.
        Plugin {
            /// Which one, where it says.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            plugin: Option<Shown>,
            /// The tool, where it says.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            tool: Option<Shown>,
            /// How grave it says it is.
            severity: Severity,
        },
    }

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
