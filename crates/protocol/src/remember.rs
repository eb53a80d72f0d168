//! What an answer can leave behind: the ladder of rules for one request, how long they count, and what each
//! reaches, as data that every language puts into its own words.

use crate::rules::{Attendance, FolderStanding, NetPlace, PlaceAccess, RuleEffect};
use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// How wide a rule reaches that an answer leaves behind, narrowest first.
    pub enum Rung {
        /// These words in this folder.
        Exact,
        /// The same program and subcommand with the same flags and operands of the same kinds.
        Shape,
        /// This subcommand with whatever is harmless.
        Subcommand,
        /// This program with whatever is harmless.
        Program,
        /// Changes of these very files.
        File,
        /// Changes of files with such names in this folder.
        Kind,
        /// Changes of files in this folder.
        Folder,
        /// What is fetched from this host.
        Host,
        /// Calls of this tool.
        Tool,
        /// Connections out of a box to this host and port.
        Destination,
        /// Connections out of a box to where packages of one kind are fetched from.
        Registries,
        /// Whatever runs in this folder, in a box.
        Workspace,
    }

    /// How long an answer may be kept.
    pub enum Longest {
        /// Without an end.
        Always,
        /// For the session, or [`SESSION_MS`]: the same words do the same harm to whatever is there by then.
        Session,
    }

    /// A file whose content a rule is about.
    pub enum PinnedFile {
        /// The program.
        Program,
        /// The script that it runs.
        Script,
    }

    /// Why a rung is missing.
    pub enum Withheld {
        /// The program was not found, or its path cannot be stored.
        Unresolved,
        /// The file is another program under each name, and a rule knows only the file.
        AnotherByName,
        /// The working directory is unknown.
        NoFolder,
        /// A shell could make something else of a word.
        Expands,
        /// It runs its arguments or reads a program from them.
        RunsItsArguments,
        /// This user could replace the program.
        Writable,
        /// It deletes, overwrites, publishes, sends, or changes rights or global state.
        Dangerous,
        /// Something in it is not known to be harmless.
        NotKnownHarmless,
        /// Nobody described here what the program does.
        Undescribed,
        /// It names what looks like the place of a secret.
        Secret,
        /// The program has no subcommands, or none is named.
        NoSubcommand,
        /// It would cover no more than the rung below.
        NothingMore,
        /// The person would be asked all the same.
        NoEffect,
    }
}

ui_tagged! {
    /// One rung of the ladder for a request.
    pub enum LadderStep {
        /// It can be stored.
        Offered {
            /// Which.
            rung: Rung,
            /// The rules that would be stored together, in the order of the command's parts.
            rules: Vec<RuleReach>,
            /// How long they may be kept.
            longest: Longest,
        },
        /// It can be stored, as rules about calls.
        Calls {
            /// Which.
            rung: Rung,
            /// The rules that would be stored together.
            calls: Vec<CallReach>,
            /// How long they may be kept.
            longest: Longest,
        },
        /// The folder can be opened for the agent: then this command runs in a box, and so do others there.
        Opens {
            /// Which.
            rung: Rung,
            /// The folder.
            folder: Shown,
        },
        /// It cannot.
        Withheld {
            /// Which.
            rung: Rung,
            /// Why not.
            cause: Withheld,
        },
    }

    /// What a rule about calls reaches.
    pub enum CallReach {
        /// Changes of files, but for those that something runs or obeys by itself.
        Files {
            /// Below this folder.
            below: Shown,
            /// With such names.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            names: Option<Shown>,
        },
        /// What is fetched from a host.
        Host {
            /// It.
            host: Shown,
        },
        /// Connections out of a box.
        Crossing {
            /// Host and port, as a person reads them.
            destination: Shown,
            /// Where it lies.
            place: NetPlace,
            /// From boxes around this folder only.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            within: Option<Shown>,
        },
        /// Connections out of a box to where packages are fetched from.
        Registries {
            /// Of which kind.
            group: Shown,
            /// From boxes around this folder only.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            within: Option<Shown>,
        },
        /// Calls of a tool.
        Tool {
            /// It.
            tool: Shown,
        },
    }

    /// How long the rules of an answer count.
    #[derive(Eq)]
    pub enum Lasting {
        /// For so many more runs.
        Uses {
            /// At least 1.
            uses: u32,
        },
        /// From now on for a time.
        For {
            /// Milliseconds.
            ms: u64,
        },
        /// In the session of the request.
        Session,
        /// Without an end.
        Always,
    }

    /// Which arguments a rule reaches.
    pub enum ReachedArguments {
        /// Any.
        Any,
        /// Exactly these, in exactly this folder.
        Exact {
            /// After the program.
            args: Vec<Shown>,
            /// Real path.
            folder: Shown,
        },
        /// Flags and operands of certain kinds, none that looks like an order or the place of a secret.
        Shape {
            /// Flags.
            flags: ReachedFlags,
            /// Kinds of operands, in no order; empty: none may be given.
            operands: Vec<ReachedOperand>,
        },
    }

    /// Which flags a rule reaches.
    pub enum ReachedFlags {
        /// Any.
        Any,
        /// These; empty: none.
        Listed {
            /// The shortest name of each, at most [`crate::limits::REACHED_FLAGS`].
            names: Vec<Shown>,
            /// How many others.
            more: u32,
            /// Those among them that may not be missing.
            required: Vec<Shown>,
        },
    }

    /// A kind of operand that a rule reaches.
    pub enum ReachedOperand {
        /// Any word.
        Any,
        /// What can hardly be a verb, such as a number or an id.
        Data,
        /// One of these words.
        OneOf {
            /// In the rule's order.
            words: Vec<Shown>,
        },
        /// A path below one of these.
        Path {
            /// Folders; empty: the working directory.
            below: Vec<Shown>,
        },
        /// The same without hidden files and folders.
        VisiblePath {
            /// Folders; empty: the working directory.
            below: Vec<Shown>,
        },
        /// A word that begins with one of these.
        Prefix {
            /// In the rule's order.
            beginnings: Vec<Shown>,
        },
        /// A script for `sed`, `awk` or `jq` that only prints.
        PrintScript,
        /// A script for `sed` that changes lines of text.
        EditScript,
    }
}

ui_tagged! {
    /// What a rule says, to be put into words.
    pub enum RuleSaid {
        /// One about commands.
        Commands {
            /// What it does with them.
            effect: RuleEffect,
            /// Which.
            reach: RuleReach,
            /// What ends it.
            end: RuleEnd,
        },
        /// One about calls that are no commands.
        Calls {
            /// What it does with them.
            effect: RuleEffect,
            /// Which.
            reach: CallReach,
            /// What ends it.
            end: RuleEnd,
        },
        /// One about what runs in a folder.
        Folder {
            /// The folder.
            folder: Shown,
            /// Whether it is open.
            standing: FolderStanding,
            /// For which runs.
            attendance: Attendance,
            /// What its boxes have otherwise.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            places: Vec<SaidPlace>,
            /// What ends it.
            end: RuleEnd,
        },
    }
}

ui! {
    /// What ends a rule; nothing does where nothing is said.
    #[derive(Default)]
    pub struct RuleEnd {
        /// Unix milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub until_ms: Option<i64>,
        /// So many uses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub uses: Option<u32>,
        /// The end of a session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<Shown>,
    }

    /// What boxes around a folder may do with one path.
    pub struct SaidPlace {
        /// What.
        pub access: PlaceAccess,
        /// The path.
        pub path: Shown,
    }
}

ui! {
    /// What a rule is about.
    pub struct RuleReach {
        /// The program: a path, a pattern of paths, or a bare name.
        pub program: Shown,
        /// The words that come first, such as `remote` `show`.
        pub words: Vec<Shown>,
        /// The rest of its arguments.
        pub arguments: ReachedArguments,
        /// The folder that it stays in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub folder: Option<Shown>,
        /// Files that must not have changed since.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub unchanged: Vec<PinnedFile>,
    }

    /// What an answer of "always" leaves behind.
    #[derive(Eq)]
    pub struct Remember {
        /// Which of the rungs on the card.
        pub rung: Rung,
        /// How long it counts.
        pub lasting: Lasting,
    }

    /// What rules would have met among past requests.
    #[derive(Copy, Default, Eq)]
    pub struct Breadth {
        /// Requests that were looked at, the newest ones.
        pub of: u32,
        /// Those that the rules are about.
        pub matched: u32,
        /// Those among them that a person denied.
        pub denied: u32,
    }

    /// Breadth of one rung on a card.
    #[derive(Eq)]
    pub struct RungBreadth {
        /// Which.
        pub rung: Rung,
        /// Its breadth.
        pub breadth: Breadth,
    }

    /// Breadth of one stored rule.
    #[derive(Eq)]
    pub struct RuleBreadth {
        /// Its id.
        pub id: String,
        /// Its breadth.
        pub breadth: Breadth,
    }
}

/// Least milliseconds that the rules of an answer count.
pub const MIN_LASTING_MS: u64 = 60_000;

/// Most milliseconds that the rules of an answer count which are not kept beyond the session: a working day.
pub const SESSION_MS: u64 = 8 * 60 * 60 * 1_000;

/// Most milliseconds that the rules of an answer count when they end at all: 90 days; what is meant for
/// longer has no end.
pub const MAX_LASTING_MS: u64 = 90 * 24 * 60 * 60 * 1_000;

/// Most further runs that an answer can allow by number; nobody counts further.
pub const MAX_LASTING_USES: u32 = 1_000;
