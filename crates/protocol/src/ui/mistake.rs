//! What is wrong with what a person typed into a form.

use crate::counting::UncountedCause;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui! {
    /// What is wrong with what a person typed, for windows to say in their language, at the field
    /// that it is about.
    #[derive(Eq)]
    pub struct Mistake {
        /// The member of the form, as errors name it; absent where it is about no one of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub field: Option<String>,
        /// What would be right.
        pub expected: Expected,
    }
}

ui_tagged! {
    /// What would be right in place of what came.
    #[derive(Eq)]
    pub enum Expected {
        /// A text, in characters.
        Length {
            /// Shortest.
            least: u32,
            /// Longest.
            most: u32,
        },
        /// A number, both ends included.
        Range {
            /// Smallest.
            least: u32,
            /// Largest.
            most: u32,
        },
        /// Fewer of them: there is room for so many.
        AtMost {
            /// So many.
            count: u32,
        },
        /// Fewer or shorter filters.
        Filters {
            /// So many.
            count: u32,
            /// Longest of them, in characters.
            length: u32,
        },
        /// `ws://HOST:PORT` or `wss://HOST`.
        SocketAddress,
        /// `https://HOST/PATH`, or `http://` to this machine by its number.
        WebAddress,
        /// No user name or password in an address.
        NoCredentials,
        /// An address that nobody can read along on the way to another machine.
        Encrypted,
        /// Another program than this app.
        AnotherProgram,
        /// The SHA-256 of a certificate, 64 hexadecimal digits.
        Digest,
        /// An address that shows a certificate, since one is expected.
        Certificate,
        /// Printable ASCII characters without spaces, as they are sent in a header.
        Printable,
        /// A secret of its own, and not OpenClaw's.
        OwnSecret,
        /// The secret again, since what it is for changed.
        SecretAgain,
        /// A secret, since the other end knows us by one.
        Secret,
        /// One of the connected gateways.
        Gateway,
        /// The absolute path of a program.
        AbsolutePath,
        /// Fewer or shorter arguments, without NUL.
        Arguments,
        /// A path, a name or a pattern of an entry: not empty, and not beginning with `=`.
        Pattern,
        /// The name of an agent: not empty, and none that stands for something else in the document.
        AgentName,
        /// The name of a session, which is not empty.
        SessionName,
        /// What the edit is about, which is no longer there.
        Present,
        /// Nothing of that name, since there is one already.
        Absent,
        /// The name or path of a program, without blanks around it.
        ProgramName,
        /// An absolute folder.
        AbsoluteFolder,
        /// The SHA-256 of a file, 64 hexadecimal digits in lower case.
        FileDigest,
        /// Fewer flags, each with a dash, and none required that is not allowed.
        ArgumentShape,
        /// At least one use, and no number of uses for a refusal.
        Uses,
        /// One of the answers that were offered.
        OfferedAnswer,
        /// A question that a person can read; this one can only be denied.
        Readable,
        /// A permission that can let something run.
        Counting {
            /// Why this one cannot.
            cause: UncountedCause,
            /// What the cause is about, if it is about another file or path; made safe to look at.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[ts(optional)]
            what: Option<String>,
        },
        /// A file that can be started.
        Executable {
            /// Why it cannot, in the system's words.
            why: String,
        },
    }
}
