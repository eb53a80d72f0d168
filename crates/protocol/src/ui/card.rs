//! A request waiting for a person, and how requests end.

use crate::change::ChangeView;
use crate::question::{AllowBlocked, AlwaysUnavailable, HostKind, QuestionKind, Severity, Via, Why};
use crate::remember::LadderStep;
use crate::rules::NetPlace;
use crate::shown::{CommandView, Shown};
use crate::vocabulary::Decision;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// What happens when nobody answers in time.
    pub enum OnExpiry {
        /// The command does not run.
        NotRun,
        /// The asker gets no answer and applies its own fallback.
        NoAnswer,
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

    /// A request that waits for a person.
    pub struct Card {
        /// Request id.
        pub id: String,
        /// Generation of the connection that brought it; a decision must carry the same.
        pub generation: u32,
        /// What an allow does.
        pub kind: QuestionKind,
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
        /// It runs in a terminal of its own.
        Terminal {
            /// Whether its agent may type there, each time after a question. Nobody does otherwise.
            typed: bool,
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
        /// A connection that a command in a box wants to make.
        Crossing {
            /// Host and port.
            destination: Shown,
            /// Where that lies, by what its name leads to.
            place: NetPlace,
            /// The addresses that its name leads to, where they lie elsewhere than it says.
            addresses: Vec<Shown>,
            /// The command that runs in the box.
            command: Shown,
            /// The programs that want it, as those in the box say: the first of the box first, the one
            /// that connects last.
            chain: Vec<Shown>,
            /// Where this run was before.
            reached: Vec<Shown>,
            /// What was sent there already, in bytes, where that is why it is asked about again.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            sent: Option<u64>,
        },
        /// One use of the person's SSH keys, which a command in a box wants.
        Keys {
            /// The command that runs in the box.
            command: Shown,
            /// The programs that want it: the first of the box first, the one that asks last.
            chain: Vec<Shown>,
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
        /// An agent that works for the asking one, as that one says.
        SubAgent {
            /// Which one of them.
            id: Shown,
            /// What it was made for, where that is said.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            made_for: Option<Shown>,
        },
        /// It goes on after the agent has its answer, as the agent says.
        Background,
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
            /// Whether they are typed into a command that runs already.
            typed: bool,
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
}
