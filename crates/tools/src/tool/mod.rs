//! What a tool is: a declaration, a plan without effects, and carrying that plan out.

pub mod wrapped;

pub use crate::calls::{
    BroughtBy, Call, CallKey, Caller, Channel, Declaration, Entrance, Output, Progress, ToolError,
};
use crate::changes::FileChange;
use countersign_protocol::socket::ExecRequest;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use wrapped::Wrapped;

/// Something that agents can call.
pub trait Tool: Send + Sync {
    /// What agents are told.
    fn declaration(&self) -> &Declaration;

    /// Checks the parameters and fixes what would happen. Has no effect; may read. Dropping
    /// the future is safe.
    fn plan<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Plan, ToolError>>;

    /// The hooks that run around it already, if so: whoever takes it takes them with it and puts none around
    /// it again. Nothing but a [`Wrapped`] has one to show.
    fn wrapped(&self) -> Option<&Wrapped> {
        None
    }
}

/// What a call would do.
pub struct Plan {
    /// What a person has to see of it.
    pub preview: Preview,
    /// Does it.
    pub act: Box<dyn Act>,
}

/// Carries a plan out.
pub trait Act: Send {
    /// Does what the plan said, or fails without having done part of it where that can be. `abort` has it
    /// stop; it must end soon after. What it reports on the way goes to `progress`.
    fn run(
        self: Box<Self>,
        progress: Progress,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Output, ToolError>>;
}

/// What a person has to see before a plan is carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum Preview {
    /// Nothing: it only reads what its caller may read, or ends what its caller started.
    Harmless,
    /// The place that it is carried out at looks at the whole of it and asks by itself (a command
    /// and its exec host).
    AskedThere {
        /// The command.
        exec: Box<ExecRequest>,
        /// Whether its agent may type in its terminal, if it gets one.
        types: bool,
    },
    /// Files that would change.
    Changes(Vec<FileChange>),
    /// Text that is typed into a command that runs already.
    Typed {
        /// That command.
        into: String,
        /// The text.
        text: String,
    },
    /// A task that a configured program is handed.
    HandOver {
        /// The program with its arguments.
        command: Vec<String>,
        /// What it is handed.
        task: String,
    },
}
