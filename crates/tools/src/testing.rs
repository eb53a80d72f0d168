//! Tools, gates and programs that do what a test says, and write down when.

use crate::gate::{Allowed, Denied, Gate, Gating};
use crate::hooks::{Hooks, Merge};
use crate::programs::{Limits, Printed, ProgramError, Programs};
use crate::registry::{Availability, Parts, Selection, Toolbox};
use crate::tool::{Act, Call, Caller, Declaration, Output, Plan, Preview, Progress, Tool, ToolError};
use countersign_protocol::ids::{AgentId, SessionKey};
use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What happened, in its order. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    /// What was noted since this was called last.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A call of `coder` in its session `s1`.
pub(crate) fn call(tool: &str, id: &str) -> Call {
    Call {
        id: id.to_owned(),
        run_id: None,
        tool: tool.to_owned(),
        params: Map::new(),
        caller: Caller {
            agent: AgentId::of(Some("coder")),
            session: SessionKey::of(Some("s1")),
            ..Caller::default()
        },
        workspace: PathBuf::from("/work/space"),
    }
}

pub(crate) fn params(value: Value) -> Map<String, Value> {
    crate::object("test", Some(value)).unwrap()
}

pub(crate) fn output(text: &str) -> Output {
    Output { text: text.to_owned(), details: None }
}

/// A toolbox without tools and hooks whose gate denies.
pub(crate) fn parts() -> Parts {
    Parts {
        tools: Vec::new(),
        hooks: Hooks::new(Vec::new(), Merge::default(), TaskTracker::new()).unwrap(),
        gate: Arc::new(Judge::new(|_, _| Box::pin(ready(Err("nobody is there".to_owned()))))),
        gating: Gating::default(),
        tracker: TaskTracker::new(),
        normalise: |name| {
            let name = name.trim().to_lowercase();
            Cow::Owned(if name == "bash" { "exec".to_owned() } else { name })
        },
    }
}

/// Every tool of a toolbox.
pub(crate) fn everything(parts: Parts) -> Selection {
    Toolbox::new(parts).unwrap().select(|_| Availability::Left, |declaration| declaration.parameters.clone())
}

/// Progress that nobody takes.
pub(crate) fn unheard() -> Progress {
    tokio::sync::mpsc::channel(1).0
}

type Acting = dyn Fn(Call, CancellationToken) -> BoxFuture<'static, Result<Output, ToolError>> + Send + Sync;

/// A tool.
pub(crate) struct Scripted {
    declaration: Declaration,
    preview: Preview,
    log: Log,
    plan: Arc<dyn Fn() -> BoxFuture<'static, Result<(), ToolError>> + Send + Sync>,
    acting: Arc<Acting>,
}

impl Scripted {
    /// Harmless, and done at once.
    pub(crate) fn named(name: &str) -> Self {
        Self {
            declaration: Declaration {
                name: name.to_owned(),
                description: String::new(),
                parameters: json!({"type": "object"}),
            },
            preview: Preview::Harmless,
            log: Log::default(),
            plan: Arc::new(|| Box::pin(ready(Ok(())))),
            acting: Arc::new(|_, _| Box::pin(ready(Ok(output("done"))))),
        }
    }

    pub(crate) fn with_parameters(mut self, parameters: Value) -> Self {
        self.declaration.parameters = parameters;
        self
    }

    pub(crate) fn previewing(mut self, preview: Preview) -> Self {
        self.preview = preview;
        self
    }

    pub(crate) fn logging(mut self, log: &Log) -> Self {
        self.log = log.clone();
        self
    }

    pub(crate) fn planning<F: Future<Output = Result<(), ToolError>> + Send + 'static>(
        mut self,
        plan: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        self.plan = Arc::new(move || Box::pin(plan()));
        self
    }

    pub(crate) fn acting<F: Future<Output = Result<Output, ToolError>> + Send + 'static>(
        mut self,
        acting: impl Fn(Call, CancellationToken) -> F + Send + Sync + 'static,
    ) -> Self {
        self.acting = Arc::new(move |call, abort| Box::pin(acting(call, abort)));
        self
    }
}

impl Tool for Scripted {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn plan<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            self.log.note(format!("plan {}", Value::Object(call.params.clone())));
            (self.plan)().await?;
            let (call, log, acting) = (call.clone(), self.log.clone(), Arc::clone(&self.acting));
            Ok(Plan { preview: self.preview.clone(), act: Box::new(Acted { call, log, acting }) })
        })
    }
}

struct Acted {
    call: Call,
    log: Log,
    acting: Arc<Acting>,
}

impl Act for Acted {
    fn run(
        self: Box<Self>,
        _progress: Progress,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Output, ToolError>> {
        self.log.note("act");
        (self.acting)(self.call, abort)
    }
}

type Judging = dyn Fn(Call, Preview) -> BoxFuture<'static, Result<(), String>> + Send + Sync;

/// A gate.
pub(crate) struct Judge(Box<Judging>);

impl Judge {
    pub(crate) fn new(
        judging: impl Fn(Call, Preview) -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(judging))
    }

    /// Allows and notes the parameters.
    pub(crate) fn allowing(log: &Log) -> Arc<Self> {
        let log = log.clone();
        Arc::new(Self::new(move |call, _| {
            log.note(format!("gate {}", Value::Object(call.params)));
            Box::pin(ready(Ok(())))
        }))
    }
}

impl Gate for Judge {
    fn judge<'a>(
        &'a self,
        call: &'a Call,
        preview: &'a Preview,
        _abort: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Allowed, Denied>> {
        let judged = (self.0)(call.clone(), preview.clone());
        Box::pin(async move { judged.await.map(|()| Allowed).map_err(|reason| Denied { reason }) })
    }

    fn refuse<'a>(&'a self, _call: &'a Call, _preview: &'a Preview) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(ready(Ok(())))
    }
}

type Answering = dyn Fn(Vec<String>, Value, Limits, CancellationToken) -> BoxFuture<'static, Result<Printed, ProgramError>>
    + Send
    + Sync;

/// Programs.
pub(crate) struct Answers(Box<Answering>);

impl Answers {
    pub(crate) fn by(
        answering: impl Fn(
            Vec<String>,
            Value,
            Limits,
            CancellationToken,
        ) -> BoxFuture<'static, Result<Printed, ProgramError>>
        + Send
        + Sync
        + 'static,
    ) -> Arc<dyn Programs> {
        Arc::new(Self(Box::new(answering)))
    }

    /// Always the same.
    pub(crate) fn always(result: Result<Printed, ProgramError>) -> Arc<dyn Programs> {
        Self::by(move |_, _, _, _| Box::pin(ready(result.clone())))
    }
}

impl Programs for Answers {
    fn call<'a>(
        &'a self,
        argv: &'a [String],
        input: &'a [u8],
        limits: Limits,
        abort: CancellationToken,
    ) -> BoxFuture<'a, Result<Printed, ProgramError>> {
        (self.0)(argv.to_vec(), serde_json::from_slice(input).unwrap(), limits, abort)
    }
}

pub(crate) fn printed(stdout: &str, stderr: &str) -> Printed {
    Printed { stdout: stdout.to_owned(), stderr: stderr.to_owned() }
}
