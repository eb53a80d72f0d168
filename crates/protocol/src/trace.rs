//! How a verdict came about, as data: every reader puts it into words of its own language.
//!
//! Texts that repeat what was asked for are escaped: they never contain control or invisible characters.

use crate::vocabulary::{Ask, Security};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_tagged! {
    /// One step of an evaluation, in the order in which it looks.
    #[derive(Eq)]
    pub enum TraceStep {
        /// It is about a sandbox on this machine: what follows holds there.
        Sandbox {
            /// Whether it has the network.
            network: bool,
        },
        /// What is in force, and which layer says so.
        Policy {
            /// What may run.
            security: Security,
            /// Who says so.
            security_layer: PolicyLayer,
            /// When a person is asked.
            ask: Ask,
            /// Who says so.
            ask_layer: PolicyLayer,
            /// What may run when nobody can be asked.
            fallback: Security,
            /// Who says so.
            fallback_layer: PolicyLayer,
        },
        /// The text could not be taken apart.
        Opaque {
            /// Code of the cause, such as `redirect`.
            cause: String,
            /// What caused it.
            text: String,
        },
        /// A form that is understood although the peers do not analyse it.
        Extension {
            /// Its name, such as `stream-duplicate`.
            name: String,
            /// Where it stands.
            text: String,
        },
        /// One simple command.
        Segment {
            /// Its executable as typed.
            typed: String,
        },
        /// Programs that only start another one were looked through.
        Wrapper {
            /// Their names, outermost first.
            through: Vec<String>,
            /// What runs in the end.
            program: String,
        },
        /// Where the program is.
        Resolution {
            /// Real path; absent when it was not found.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            path: Option<String>,
        },
        /// A builtin of the shell that can do no harm.
        Builtin,
        /// An entry of the allowlist.
        Entry {
            /// As stored.
            pattern: String,
            /// `*` or an agent id; empty when an entry of the same program is named that does not fit.
            agent: String,
            /// Whether it covers the command.
            fit: EntryFit,
        },
        /// Countersign's own rules.
        Rule {
            /// What they say.
            standing: RuleStanding,
            /// Which one: its id, what it is about, and for whom.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            rule: Option<String>,
        },
        /// A program that may only filter its input.
        SafeBin {
            /// Why it may not, here; absent when it may.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            refusal: Option<String>,
        },
        /// A program of an installed skill.
        Skill,
        /// Nothing covers the command.
        Missed {
            /// Why not.
            cause: MissCause,
            /// What exactly, when there is more to say.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            detail: Option<String>,
        },
        /// It can be pinned to these programs.
        Bound {
            /// Real paths.
            programs: Vec<String>,
        },
        /// It cannot be pinned.
        Unbound {
            /// Why not.
            cause: UnboundCause,
        },
        /// It overrides variables that no entry can cover.
        Environment {
            /// Their names.
            names: Vec<String>,
        },
        /// Its folder is open for its agent.
        Open {
            /// The folder.
            folder: String,
            /// `*` or an agent id.
            agent: String,
        },
        /// Its folder is open, and it does not run in a box all the same.
        Held {
            /// Why not.
            cause: HeldCause,
            /// What exactly, when there is more to say.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            detail: Option<String>,
        },
        /// The smallest change after which nobody would have been asked.
        Advice {
            /// What to do.
            advice: Advice,
            /// To what.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            subject: Option<String>,
            /// How many others need the same.
            more: u32,
        },
        /// What came of it all.
        Verdict {
            /// The verdict.
            verdict: TestVerdict,
            /// Why.
            cause: VerdictCause,
        },
    }
}

ui_words! {
    /// Whether an entry covers a command.
    pub enum EntryFit {
        /// It does.
        Covers,
        /// It is for other arguments.
        OtherArguments,
        /// It is for other arguments or another folder.
        OtherArgumentsOrFolder,
        /// It is for another file of the same name.
        OtherFile,
    }

    /// What Countersign's own rules say.
    pub enum RuleStanding {
        /// One allows it.
        Allows,
        /// It hides what it runs or does, and one may refuse that.
        MayRefuse,
        /// One refuses it.
        Refuses,
        /// They cannot be read, and one may refuse it.
        Unreadable,
    }

    /// Why nothing covers a command.
    pub enum MissCause {
        /// `alias` changes what later words mean.
        Alias,
        /// `NAME=value` before the command.
        Assignment,
        /// A builtin of the shell that may evaluate its words.
        Builtin,
        /// A wrapper that hides or changes what runs.
        BlockedWrapper,
        /// The program is named among the arguments of another one.
        Carrier,
        /// `eval` reads its arguments as text.
        Eval,
        /// A program on the command line of an interpreter.
        InlineEval,
        /// A file in its folder or above has a say in which program really runs.
        Launcher,
        /// There is no entry for it.
        NoEntry,
        /// The name begins or ends with a blank.
        OddName,
        /// A relative name after the folder was left.
        RelativeAfterMove,
        /// The program would see another name than its own.
        Renamed,
        /// The repository's own configuration may start a program.
        Repository,
        /// A shell behind a wrapper.
        ShellThroughCarrier,
        /// `source` reads a file as text.
        Source,
        /// More wrappers than are looked through.
        TooDeep,
        /// A wrapper would create a file in the home directory.
        TouchesHome,
    }

    /// Why a command is not contained although its folder is open.
    pub enum HeldCause {
        /// Ask is always.
        AskAlways,
        /// It loses work that cannot be put back.
        Discards,
        /// It overrides variables that reach the program which makes the box.
        Environment,
        /// It changes the machine beyond the folder.
        Machine,
        /// No box can be made here.
        NoBox,
        /// It reaches other machines, or data that is kept there.
        Remote,
        /// It takes or gives rights.
        Rights,
        /// It reads keys, tokens, passwords or the whole environment.
        Secrets,
        /// It tells other people something, or gives them something.
        Sends,
        /// Nobody is asked, and the folder is open only for runs that somebody could be asked about.
        Unattended,
    }

    /// Why a command cannot be pinned.
    pub enum UnboundCause {
        /// A program runs another one or interprets its arguments.
        Carrier,
        /// A shell would make something else of a word.
        Expansion,
        /// Not only plain commands.
        NotStatic,
        /// A program is named relative to a folder that was left.
        RelativeAfterMove,
        /// The commands stand in a text for another shell.
        ShellText,
        /// A program was not found.
        Unresolved,
    }

    /// A change that would make a prompt unnecessary.
    pub enum Advice {
        /// Add an entry for the subject.
        AddEntry,
        /// Drop the subject, a redirection.
        DropRedirection,
        /// Drop the subject, assignments.
        DropAssignments,
        /// Write names out instead of wildcards, braces or `~`.
        NameFiles,
        /// Write it on one line.
        OneLine,
        /// Run it in the foreground.
        RunInForeground,
        /// Run the subject as a command of its own.
        RunSeparately,
        /// Run the inner text without the shell around it.
        WithoutShell,
        /// Run the command without the subject, a wrapper.
        WithoutWrapper,
        /// Name the program by its whole path.
        WholePath,
        /// Write the value of the subject out.
        WriteValueOut,
    }

    /// Why a verdict is what it is.
    pub enum VerdictCause {
        /// Entries cover every part.
        Allowlist,
        /// Its folder is open, and a box holds it.
        Contained,
        /// No entry covers it.
        AllowlistMiss,
        /// Entries cover it, but it cannot be pinned.
        AllowlistUnbound,
        /// Ask is always.
        AskAlways,
        /// Unusual environment overrides.
        Environment,
        /// Nobody can be asked, and the fallback is full.
        Fallback,
        /// Nobody can be asked, and the fallback is allowlist.
        FallbackAllowlist,
        /// A person allowed it elsewhere.
        Forwarded,
        /// It could not be taken apart.
        Opaque,
        /// A person allowed it.
        Person,
        /// A reviewer program let it pass elsewhere.
        Reviewer,
        /// A rule of the person's refuses it.
        RuleRefuses,
        /// A rule may refuse it.
        RuleDoubt,
        /// Security is deny.
        SecurityDeny,
        /// Security is full.
        SecurityFull,
        /// A person said no.
        UserDenied,
    }
}

ui_words! {
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
}

ui_words! {
    /// A verdict without side effects.
    pub enum TestVerdict {
        /// Would run unasked.
        Allow,
        /// Would run unasked in a box.
        Contain,
        /// Would ask.
        Ask,
        /// Would be denied.
        Deny,
    }
}
