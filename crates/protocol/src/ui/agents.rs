//! Agents of this machine: how each asks here, and the change of its settings that has it ask. A change is
//! written only as it was shown: it is asked for by the id of its preview.

use crate::change::ChangeView;
use crate::question::Outcome;
use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// How an agent asks here.
    pub enum AgentWay {
        /// It starts a program before it calls a tool.
        Hook,
        /// It calls tools of Countersign.
        Mcp,
    }

    /// Which calls of an agent come here, from the most to the least.
    pub enum AgentCalls {
        /// Those of its own tools, before it makes them.
        Own,
        /// The same, but not everywhere or not all: what is against it says where.
        NotAll,
        /// Those that it would ask the person about itself, and none of the others.
        Questions,
        /// Those of tools of Countersign alone: its own are made without asking here.
        OurTools,
        /// None.
        Nothing,
    }

    /// Whether an agent that calls only hooks which the person trusted calls this one.
    pub enum HookTrust {
        /// None in its place was ever trusted.
        No,
        /// One in its place was; whether it was this one only the agent can tell.
        NotKnown,
    }

    /// Whether the first steps are to be shown.
    pub enum FirstSteps {
        /// Nobody went through them or skipped them yet.
        Due,
        /// Never again by themselves.
        Over,
    }
}

ui! {
    /// Everything that the page about agents shows.
    pub struct AgentsView {
        /// All that are known, also those that are not here.
        pub agents: Vec<AgentView>,
        /// Others that asked here before.
        pub others: Vec<OtherAgent>,
        /// OpenClaw, where it was found: it asks without a change of its settings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub openclaw: Option<OpenClawView>,
    }

    /// An agent of which nothing is known but that it asked.
    pub struct OtherAgent {
        /// Its id.
        pub id: String,
        /// The same, so that nothing in it is hidden.
        pub shown: Shown,
    }

    /// An agent.
    pub struct AgentView {
        /// As in rules and on the command line.
        pub name: String,
        /// As its makers write it.
        pub title: String,
        /// Whether its program or its folder is here.
        pub found: bool,
        /// Its program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub program: Option<Shown>,
        /// Its release, where its files say which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub release: Option<Shown>,
        /// The release that was tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub tested: Option<String>,
        /// The ways in which it can ask, the one that asks about most first.
        pub ways: Vec<AgentWayView>,
        /// When it last asked.
        pub last_seen: AgentSeen,
        /// Which of its calls come here.
        pub calls: AgentCalls,
        /// What is against more.
        pub obstacles: Vec<AgentObstacle>,
        /// Settings that could not be looked at, a sentence each, escaped.
        pub unread: Vec<String>,
    }

    /// A way in which an agent can ask.
    pub struct AgentWayView {
        /// Which.
        pub way: AgentWay,
        /// What comes here by it, in English.
        pub covers: String,
        /// What does not, in English.
        pub misses: String,
        /// What of ours is in its settings; absent while it does not ask so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub connected: Option<AgentConnection>,
    }

    /// What of ours is in an agent's settings.
    pub struct AgentConnection {
        /// The settings.
        pub path: Shown,
        /// Since when, in Unix milliseconds, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub since_ms: Option<i64>,
        /// What the agent starts.
        pub program: Shown,
        /// Whether that is there.
        pub program_is_there: bool,
        /// Whether the agent trusts it, where that matters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub trust: Option<HookTrust>,
    }

    /// OpenClaw on this machine. How its gateway is connected is told with the gateways.
    pub struct OpenClawView {
        /// Its program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub program: Option<Shown>,
        /// Its release.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub release: Option<Shown>,
        /// Whether this machine was set up as a node of a gateway.
        pub is_node: bool,
    }

    /// A change that is to be looked at.
    pub struct AgentPreviewParams {
        /// The agent, by name.
        pub agent: String,
        /// The change.
        pub change: AgentChange,
    }

    /// What was written.
    pub struct AgentWritten {
        /// Where the bytes from before are.
        pub backups: Vec<Shown>,
        /// How all agents stand now.
        pub view: AgentsView,
    }
}

ui_tagged! {
    /// When an agent last asked.
    #[derive(Copy, Eq)]
    pub enum AgentSeen {
        /// At this time, in Unix milliseconds.
        At {
            /// When.
            at_ms: i64,
        },
        /// Not in all of the history.
        Never,
        /// Not in the newest part of it, and no more was looked at.
        NotLately,
        /// The history cannot be read.
        NotKnown,
    }

    /// What a person has to know of an agent's hooks.
    pub enum AgentNote {
        /// They stand in another file too; the agent takes both, and warns at each start.
        HooksTwice,
        /// A setting keeps them from being called.
        SwitchedOff {
            /// The setting.
            setting: String,
            /// Where it is.
            path: Shown,
            /// The only project in which they are not called; everywhere where absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            within: Option<Shown>,
        },
        /// They are called only after the person trusted them in the agent.
        TrustFirst,
        /// They are not called in folders that the agent does not trust.
        TrustedFolders,
    }

    /// What keeps calls of an agent from coming here.
    pub enum AgentObstacle {
        /// The hook in settings is not what is written there: which calls it is for is not known.
        Narrowed {
            /// The settings.
            path: Shown,
        },
        /// What it would start is gone.
        ProgramGone {
            /// The program.
            program: Shown,
        },
        /// It used tools and called no hook.
        Silent {
            /// When it last did, in Unix milliseconds.
            acted_ms: i64,
            /// When it last asked here, where it ever did.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            heard_ms: Option<i64>,
        },
        /// A setting keeps its hooks from being called.
        SwitchedOff {
            /// The setting.
            setting: String,
            /// Where it is.
            path: Shown,
            /// The only project in which they are not called; everywhere where absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            within: Option<Shown>,
        },
        /// It calls only hooks that the person trusted, and none in this place ever was.
        Untrusted,
    }

    /// What is to happen to an agent's settings.
    pub enum AgentChange {
        /// It is to ask by these ways.
        Connect {
            /// Which; at least one, and of those that it has.
            ways: Vec<AgentWay>,
        },
        /// All of ours is taken back.
        TakeBack,
    }

    /// What a change comes to. Nothing is written yet.
    pub enum AgentPreview {
        /// It can be written.
        Ready {
            /// Names exactly this change; of no use once any of the files is another one.
            id: String,
            /// A file each; none where all is so already.
            changes: Vec<ChangeView>,
            /// What else there is to know.
            notes: Vec<AgentNote>,
        },
        /// The settings are left as they are.
        LeftAlone {
            /// Why, in English and escaped.
            why: String,
            /// What a person could put in, where there is something.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            by_hand: Option<String>,
        },
    }

    /// What became of a sample request.
    pub enum SampleRun {
        /// It was allowed and ran.
        Ran {
            /// What it printed.
            output: Shown,
        },
        /// It did not run.
        NotRun {
            /// How it ended.
            outcome: Outcome,
        },
    }
}
