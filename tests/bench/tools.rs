//! Tools: the policy's pipeline, what hooks and gate cost around a call, and a command that an
//! agent calls over MCP.

use crate::figures::Figure;
use crate::start::start;
use anyhow::{Context, Result, ensure};
use countersign_protocol::ids::AgentId;
use countersign_tests::home::Home;
use countersign_tests::mcp::PlainClient;
use countersign_tests::process::{command, wait_for};
use countersign_tests::session::Session;
use countersign_tool_policy::{
    self, BUNDLE_MCP, Config, Confinement, Lists, Origin, Pipeline, Run, SubAgent, Tool,
};
use countersign_tools::call::Abort;
use countersign_tools::gate::{Allowed, Denied, Gate, Gating};
use countersign_tools::hooks::{
    BeforeCall, Context as HookContext, Hook, HookAnswer, HookError, Hooks, Merge,
};
use countersign_tools::registry::{Availability, Parts, Toolbox};
use countersign_tools::tool::{self, Act, Call, Caller, Declaration, Output, Plan, Preview, ToolError};
use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value, json};
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) fn measure(runs: usize) -> Result<Vec<Figure>> {
    let mut figures = pipeline()?;
    figures.extend(calls()?);
    figures.extend(mcp(runs)?);
    Ok(figures)
}

/// 200 tools, of which nine steps with lists are asked: a set that is small as most are, and one with 67
/// entries in each.
fn pipeline() -> Result<Vec<Figure>> {
    let mut names: Vec<String> = OURS.iter().map(|name| (*name).to_owned()).collect();
    names.extend((names.len()..TOOLS).map(|at| format!("server{}__tool_{at}", at % 12)));
    let tools: Vec<Tool<'_>> = names
        .iter()
        .enumerate()
        .map(|(at, name)| Tool {
            name,
            owner_only: at % 17 == 0,
            origin: if at < OURS.len() { Origin::Core } else { Origin::Plugin(BUNDLE_MCP) },
        })
        .collect();
    let allow: Vec<String> = (0..40)
        .map(|at| format!("server{}__tool_{at}", at % 12))
        .chain(["server3__*", "*_7", "group:fs", "group:plugins", "bash"].map(str::to_owned))
        .collect();
    let deny: Vec<String> =
        (0..20).map(|at| format!("server9__tool_{at}")).chain(["group:ui".into(), "x*y".into()]).collect();
    let many = json!({ "allow": allow, "deny": deny });
    let few = json!({ "deny": ["gateway"] });
    let mut figures = Vec::new();
    for (what, lists, target) in [("few entries", few, ""), ("67 entries a step", many, "≤ 200 median")] {
        figures.push(Figure::new(
            format!("pipeline, {TOOLS} tools, 9 steps, {what}"),
            "µs",
            piped(&lists, &tools)?,
            target,
        ));
    }
    Ok(figures)
}

fn piped(lists: &Value, tools: &[Tool<'_>]) -> Result<Vec<f64>> {
    let with = |more: Value| {
        let mut set = lists.clone();
        if let (Some(set), Value::Object(more)) = (set.as_object_mut(), more) {
            set.extend(more);
        }
        set
    };
    let document = json!({
        "tools": with(json!({
            "profile": "coding",
            "byProvider": { "openai": with(json!({ "profile": "coding" })) },
            "sandbox": { "tools": lists },
            "subagents": { "tools": lists },
        })),
        "agents": { "entries": { "main": {
            "tools": with(json!({ "byProvider": { "openai": lists } })),
        } } },
    });
    let config = Config::read(document.as_object().context("an object")?)?;
    let group = Lists::read(lists, "group")?;
    let run = Run {
        provider: Some("openai"),
        model: Some("gpt-5"),
        agent: Some("main"),
        group: Some(&group),
        confinement: Confinement::Sandbox,
        sub_agent: Some(SubAgent { depth: 1, max_depth: 1 }),
        ..Run::default()
    };
    let mut samples = Vec::with_capacity(SAMPLES);
    for turn in 0..WARM_UP + SAMPLES {
        let started = Instant::now();
        let outcome = Pipeline::new(&config, &run)?.apply(tools)?;
        let taken = started.elapsed();
        ensure!(!outcome.removed.is_empty() && outcome.steps.len() == STEPS, "{:?}", outcome.steps);
        let _ = black_box(outcome);
        if turn >= WARM_UP {
            samples.push(taken.as_secs_f64() * 1e6);
        }
    }
    Ok(samples)
}

/// A tool that does nothing, alone and with a hook before and after it and a gate that is asked, in a task of
/// a runtime like the app's, where calls are made.
fn calls() -> Result<Vec<Figure>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let measured = runtime.spawn(called());
    runtime.block_on(measured)?
}

async fn called() -> Result<Vec<Figure>> {
    let tracker = TaskTracker::new();
    let hooks: Vec<Arc<dyn Hook>> = vec![Arc::new(Rewriting)];
    let toolbox = Toolbox::new(Parts {
        tools: vec![Arc::new(Nothing::new())],
        hooks: Hooks::new(hooks, Merge::LastWins, tracker.clone())?,
        gate: Arc::new(Open),
        gating: Gating { everywhere: [NOTHING.to_owned()].into(), ..Gating::default() },
        tracker: tracker.clone(),
        normalise: countersign_tool_policy::normalised,
    })?;
    let selection = toolbox.select(|_| Availability::Left, |declaration| declaration.parameters.clone());
    let (alone, progress) = (Nothing::new(), mpsc::channel(1).0);
    let (mut direct, mut wrapped) = (Vec::new(), Vec::new());
    for turn in 0..WARM_UP + SAMPLES {
        let call = call(turn)?;
        let started = Instant::now();
        let plan = tool::Tool::plan(&alone, &call).await?;
        black_box(plan.act.run(progress.clone(), CancellationToken::new()).await?);
        let without = started.elapsed();
        let started = Instant::now();
        black_box(selection.call(call, progress.clone(), Abort::default()).await?);
        let with = started.elapsed();
        if turn >= WARM_UP {
            direct.push(without.as_secs_f64() * 1e6);
            wrapped.push((with.as_secs_f64() - without.as_secs_f64()) * 1e6);
        }
    }
    tracker.close();
    tracker.wait().await;
    Ok(vec![
        Figure::new("a tool that does nothing, called directly", "µs", direct, ""),
        Figure::new("what hooks and gate add to a call", "µs", wrapped, "≤ 20 median"),
    ])
}

/// An allowed command called over MCP, beside direct starts of it.
fn mcp(count: usize) -> Result<Vec<Figure>> {
    let session = Session::start()?;
    let home = Home::asking()?;
    let program = std::fs::canonicalize("/usr/bin/true")?.display().to_string();
    home.edit_document(|document| {
        document["agents"]["main"]["allowlist"] = json!([{ "id": "true", "pattern": program }]);
    })?;
    let here =
        json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
    home.write_private(&home.state().join("tools.json"), here.to_string().as_bytes())?;
    let _app = start(&session, &home)?;
    wait_for("the app answers", LIMIT, || home.status())?;
    let mut client = PlainClient::start(&home, &["--agent", "main"])?;
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    for turn in 0..WARM_RUNS + count {
        std::thread::sleep(PAUSE);
        let started = Instant::now();
        ensure!(command(&program).output()?.status.success(), "{program} failed");
        let spawned = started.elapsed();
        let started = Instant::now();
        let id = client.call("exec", json!({ "command": "true" }))?;
        let answer = client.answer(id)?;
        let answered = started.elapsed();
        ensure!(answer["result"]["isError"] == false, "the app answered {answer}");
        if turn >= WARM_RUNS {
            direct.push(spawned);
            through.push(answered);
        }
    }
    let above =
        through.iter().zip(&direct).map(|(with, without)| (with.as_secs_f64() - without.as_secs_f64()) * 1e3);
    let above = above.collect();
    Ok(vec![
        Figure::times("direct start of `true`, beside MCP", &direct, ""),
        Figure::times("allowed `true` as the MCP tool `exec`", &through, ""),
        Figure::new("MCP `exec` over a direct start", "ms", above, "≤ 5 median"),
    ])
}

struct Nothing(Declaration);

impl Nothing {
    fn new() -> Self {
        Self(Declaration {
            name: NOTHING.to_owned(),
            description: String::new(),
            parameters: json!({ "type": "object" }),
        })
    }
}

impl tool::Tool for Nothing {
    fn declaration(&self) -> &Declaration {
        &self.0
    }

    fn plan<'a>(&'a self, _: &'a Call) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(ready(Ok(Plan { preview: Preview::Harmless, act: Box::new(Done) })))
    }
}

struct Done;

impl Act for Done {
    fn run(
        self: Box<Self>,
        _: tool::Progress,
        _: CancellationToken,
    ) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(ready(Ok(Output { text: String::new(), details: None })))
    }
}

/// Rewrites one parameter, and so has the adjusted ones kept and handed on.
struct Rewriting;

impl Hook for Rewriting {
    fn name(&self) -> &str {
        "rewriting"
    }

    fn before(&self, _: BeforeCall, _: HookContext) -> BoxFuture<'_, Result<HookAnswer, HookError>> {
        let mut params = Map::new();
        params.insert("rewritten".to_owned(), true.into());
        Box::pin(ready(Ok(HookAnswer { params: Some(params), ..HookAnswer::default() })))
    }
}

/// What a gate costs that asks nobody.
struct Open;

impl Gate for Open {
    fn judge<'a>(
        &'a self,
        _: &'a Call,
        _: &'a Preview,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Allowed, Denied>> {
        Box::pin(ready(Ok(Allowed)))
    }

    fn refuse<'a>(&'a self, _: &'a Call, _: &'a Preview) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(ready(Ok(())))
    }
}

fn call(turn: usize) -> Result<Call> {
    let params = json!({ "path": "src/main.rs", "rewritten": false });
    Ok(Call {
        id: turn.to_string(),
        run_id: Some("run".to_owned()),
        tool: NOTHING.to_owned(),
        params: params.as_object().context("an object")?.clone(),
        caller: Caller { agent: AgentId::default(), ..Caller::default() },
        workspace: PathBuf::from("/"),
    })
}

const NOTHING: &str = "nothing";
const OURS: &[&str] = &[
    "exec",
    "process",
    "read_file",
    "write_file",
    "edit_file",
    "append_file",
    "apply_patch",
    "subagent",
    "spawn",
    "web_fetch",
    "web_search",
    "message",
    "image",
    "browser",
    "gateway",
];
const TOOLS: usize = 200;
/// Nine with lists, and what is around them.
const STEPS: usize = 14;
const SAMPLES: usize = 3_000;
const WARM_UP: usize = 300;
const WARM_RUNS: usize = 20;
const LIMIT: Duration = Duration::from_secs(20);
/// As for the exec path: the machine rests between two runs.
const PAUSE: Duration = Duration::from_millis(20);
