//! `countersign exec` and `countersign ask`: through the app when it runs, else under the fallback.

use super::output::Output;
use super::waiting::{self, Wanted};
use super::{AgentArg, CwdArg, Exit};
use anyhow::Context;
use clap::Args;
use countersign_approvals::store::Store;
use countersign_companion::control::{self, ControlError};
use countersign_core::Core;
use countersign_core::endpoint::endpoint;
use countersign_core::paths::{Paths, process_environment};
use countersign_core::presence::{Presence, Unreached, unless_silent};
use countersign_node::executor::guardian::{self, LeftBehind};
use countersign_node::executor::sandbox::variables_of;
use countersign_node::executor::{Outlet, Tap};
use countersign_node::host::{Host, Refusal, Signals};
use countersign_node::socket::client::{self, ClientError};
use countersign_node::socket::server::Peer;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::ids::AgentId;
use countersign_protocol::question::{Outcome, Via};
use countersign_protocol::socket::{AskRequest, Confinement, ExecError, ExecPayload, ExecRequest, Printed};
use countersign_protocol::state::StoreState;
use countersign_protocol::ui::RouteTaken;
use countersign_protocol::vocabulary::{Ask, Decision, ExecTarget, Security};
use serde::Serialize;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

// Arguments of `exec`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExecArgs {
    #[command(flatten)]
    agent: AgentArg,
    #[command(flatten)]
    cwd: CwdArg,
    /// End the command after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    wait: WaitArg,
    /// The session this belongs to, shown on the prompt.
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    walls: WallsArgs,
    #[command(flatten)]
    route: RouteArgs,
    /// The command and its arguments, exactly as they will run: no shell reads them.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

// What is around it. Without these it runs in a box where its folder is open, and else as the policy says.
#[derive(Args, Clone, Copy, Debug, Default)]
#[group(multiple = false)]
struct WallsArgs {
    /// In a box or not at all: `countersign box` says which folders are open.
    #[arg(long = "box")]
    boxed: bool,
    /// Not in a box, although its folder is open: a person is asked as where it is not.
    #[arg(long, conflicts_with = "boxed")]
    outside: bool,
    /// In a sandbox that shows nothing but its folder: the same as `--host sandbox`.
    #[arg(long, conflicts_with_all = ["boxed", "outside", "host"])]
    sealed: bool,
}

impl WallsArgs {
    fn confinement(self) -> Option<Confinement> {
        if self.boxed {
            return Some(Confinement::Box);
        }
        self.outside.then_some(Confinement::Outside)
    }
}

// Where it is to run. With any of these the app sends it there, by what is set for its agent and its
// session; without them it runs on this machine under the policy.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Where it runs")]
struct RouteArgs {
    /// Where to run: auto, sandbox, gateway (this machine) or node; only where the settings leave that open.
    #[arg(long, value_name = "HOST")]
    host: Option<ExecTarget>,
    /// Which node: its id, address, name, or the first six characters of its id.
    #[arg(long)]
    node: Option<String>,
    /// What may run: deny, allowlist or full; it can only harden.
    #[arg(long)]
    security: Option<Security>,
    /// When to ask: off, on-miss or always; it can only harden.
    #[arg(long)]
    ask: Option<Ask>,
}

impl RouteArgs {
    fn is_given(&self) -> bool {
        let Self { host, node, security, ask } = self;
        host.is_some() || node.is_some() || security.is_some() || ask.is_some()
    }
}

// Arguments of `ask`.
#[derive(Args, Clone, Debug)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    agent: AgentArg,
    #[command(flatten)]
    cwd: CwdArg,
    #[command(flatten)]
    wait: WaitArg,
    /// The session this belongs to, shown on the prompt.
    #[arg(long)]
    session: Option<String>,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

// How long a person may take.
#[derive(Args, Clone, Debug)]
struct WaitArg {
    /// How long the person may take to answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    wait: Duration,
}

/// What `exec --json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExecReport<'a> {
    ran: bool,
    app: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a RouteTaken>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a ExecPayload>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ExecError>,
    exit: u8,
}

/// What `ask --json` prints.
#[derive(Serialize)]
struct AskReport {
    decision: Option<Decision>,
    app: bool,
}

pub(super) async fn exec(paths: &Paths, args: ExecArgs, output: &Output) -> anyhow::Result<Exit> {
    let request = ExecRequest {
        command: args.command,
        cwd: Some(args.cwd.absolute()?),
        timeout_ms: args.timeout.map(|limit| i64::try_from(limit.as_millis())).transpose()?,
        agent_id: Some(args.agent.agent),
        session_key: args.session,
        approval_timeout_ms: Some(u64::try_from(args.wait.wait.as_millis())?),
        confinement: args.walls.confinement(),
        // Whoever asks has an environment of its own, which the app has not.
        box_env: variables_of(process_environment()),
        ..ExecRequest::default()
    };
    let mut route = args.route;
    if args.walls.sealed {
        route.host = Some(ExecTarget::Sandbox);
    }
    let overall = args.timeout.map_or(UNLIMITED_RUN, |limit| limit + MARGIN) + args.wait.wait + MARGIN;
    if route.is_given() {
        return routed(paths, request, route, args.wait.wait, overall, output).await;
    }
    let command = display::shell_quoted(&request.command);
    let wanted = Wanted { agent: request.agent_id.as_deref().unwrap_or_default(), command: &command };
    let answer = match endpoint(paths) {
        Some((socket, token)) => {
            let now_ms = countersign_approvals::ports::Ports::system().clock.now_ms();
            let asked = async {
                match output.is_json() {
                    true => client::exec(&socket, &token, &request, now_ms, overall).await,
                    false => {
                        client::exec_followed(&socket, &token, &request, now_ms, overall, Output::printed)
                            .await
                    }
                }
            };
            let asked = unless_silent(&socket, args.wait.wait, asked);
            match waiting::telling(paths, wanted, output, asked).await {
                Ok(Err(error @ ClientError::NoApp { .. })) => {
                    Presence::of(paths, Some(&socket)).proves_absence(error.to_string()).map(|()| None)
                }
                Ok(Err(error @ ClientError::TimedOut(_))) => {
                    Err(Unreached::new(Presence::of(paths, Some(&socket)), error.to_string()))
                }
                Ok(other) => Ok(Some(other)),
                Err(silent) => Err(silent),
            }
        }
        None => Presence::of(paths, None).proves_absence(why_nobody(paths)).map(|()| None),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(unreached) => return not_run(&silence(&unreached), Exit::Expired, true, None, output),
    };
    match answer {
        Some(Ok(answer)) => match (answer.payload, answer.error) {
            (Some(payload), _) => ran(&payload, true, None, output),
            (None, Some(error)) => {
                let exit = exit_of(&error);
                not_run(&error, exit, true, None, output)
            }
            (None, None) => anyhow::bail!("the app's answer holds neither a result nor an error"),
        },
        Some(Err(error)) => Err(error).context("the app did not run the command"),
        None => without_app(paths, request, output).await,
    }
}

pub(super) async fn ask(paths: &Paths, args: AskArgs, output: &Output) -> anyhow::Result<Exit> {
    let request = AskRequest {
        command: display::shell_quoted(&args.command),
        cwd: Some(args.cwd.absolute()?),
        agent_id: Some(args.agent.agent.clone()),
        session_key: args.session,
        approval_timeout_ms: Some(u64::try_from(args.wait.wait.as_millis())?),
        ..AskRequest::default()
    };
    let answer = match endpoint(paths) {
        Some((socket, token)) => {
            let asked = client::ask(&socket, &token, &request, args.wait.wait + MARGIN);
            let wanted = Wanted { agent: &args.agent.agent, command: &request.command };
            match waiting::telling(paths, wanted, output, asked).await {
                Err(error @ ClientError::NoApp { .. }) => {
                    Presence::of(paths, Some(&socket)).proves_absence(error.to_string()).map(|()| None)
                }
                other => Ok(Some(other)),
            }
        }
        None => Presence::of(paths, None).proves_absence(why_nobody(paths)).map(|()| None),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(unreached) => {
            output.note(&unreached.to_string());
            Some(Err(ClientError::NoAnswer))
        }
    };
    let (decision, app) = match answer {
        Some(Ok(decision)) => (Some(decision), true),
        Some(Err(ClientError::NoAnswer | ClientError::TimedOut(_))) => (None, true),
        Some(Err(error)) => return Err(error).context("the app did not answer"),
        None => {
            output.note(&why_nobody(paths));
            let core = Core::start(paths, Via::CommandLine)?;
            let agent = AgentId::of(Some(&args.agent.agent));
            let allowed = core.host.fallback_allows(&agent, &args.command, request.cwd.as_deref()).await;
            core.stop().await;
            (Some(if allowed { Decision::AllowOnce } else { Decision::Deny }), false)
        }
    };
    output.result(&AskReport { decision, app }, |out| {
        writeln!(out, "{}", decision.map_or("no answer", Decision::as_str))
    })?;
    Ok(match (decision, app) {
        (Some(decision), _) if decision.allows() => Exit::Ok,
        (Some(_), true) => Exit::Denied,
        (Some(_), false) => Exit::NoApp,
        (None, _) => Exit::Expired,
    })
}

/// Through the app, to where it belongs. Where that is, only the app knows: without it nothing runs.
async fn routed(
    paths: &Paths,
    exec: ExecRequest,
    route: RouteArgs,
    wait: Duration,
    overall: Duration,
    output: &Output,
) -> anyhow::Result<Exit> {
    let RouteArgs { host, node, security, ask } = route;
    let (agent, command) = (exec.agent_id.clone().unwrap_or_default(), display::shell_quoted(&exec.command));
    let request = ControlRequest::Run { exec: Box::new(exec), host, node, security, ask };
    let control = paths.control_socket();
    let asked = unless_silent(&control, wait, control::call(&control, &request, overall));
    let wanted = Wanted { agent: &agent, command: &command };
    let answer = match waiting::telling(paths, wanted, output, asked).await {
        Ok(Err(ControlError::Unreachable(unreached))) | Err(unreached) => {
            return not_run(&silence(&unreached), Exit::Expired, true, None, output);
        }
        Ok(answer) => answer,
    };
    match answer {
        Ok(ControlResponse::Ran { taken, payload: Some(payload), .. }) => {
            ran(&payload, true, taken.as_ref(), output)
        }
        Ok(ControlResponse::Ran { taken, error: Some(error), .. }) => {
            not_run(&error, exit_of(&error), true, taken.as_ref(), output)
        }
        Ok(ControlResponse::Error { message }) => anyhow::bail!(message),
        Ok(other) => anyhow::bail!("expected what came of the run, got {other:?}"),
        Err(ControlError::NotRunning) => {
            let error = ExecError {
                code: "UNAVAILABLE".to_owned(),
                message: NO_ROUTER.to_owned(),
                reason: Some("no-app".to_owned()),
            };
            not_run(&error, Exit::NoApp, false, None, output)
        }
        Err(error) => Err(error.into()),
    }
}

/// Nobody can be asked: the same flow as in the app, with the fallback deciding. The first process is only a
/// guardian: what the second one runs ends with either of them, by whatever signal.
async fn without_app(paths: &Paths, request: ExecRequest, output: &Output) -> anyhow::Result<Exit> {
    let told = told_to_end()?;
    let guardian = std::env::var(guardian::VARIABLE).ok();
    if !guardian::guarded_with_its_own(guardian.as_deref()).context("cannot start guarded")? {
        // Its own signals are the guardian's to hand on.
        drop(told);
        let code = guardian::guard(std::env::args_os().skip(1), LeftBehind::EndsWithAKilledChild)
            .await
            .context("cannot start guarded")?;
        return Ok(Exit::Command(code));
    }
    countersign_core::guard_runs(paths);
    output.note(&why_nobody(paths));
    let core = Core::start(paths, Via::CommandLine)?;
    let gone = CancellationToken::new();
    let interrupted = gone.clone();
    let host = core.host.clone();
    let follows = !output.is_json();
    let running = async move {
        match follows {
            true => followed(&host, request, gone).await,
            false => host.exec(request, &Peer::default(), gone).await,
        }
    };
    tokio::pin!(running);
    let result = tokio::select! {
        result = &mut running => result,
        () = told => {
            interrupted.cancel();
            let result = running.await;
            guardian::end_what_is_left().await?;
            result
        }
    };
    let exit = match result {
        Ok(payload) => ran(&payload, false, None, output),
        Err(Refusal { error, outcome }) => {
            let exit = match outcome {
                Outcome::NotShown => Exit::NoApp,
                _ => exit_of(&error),
            };
            not_run(&error, exit, false, None, output)
        }
    };
    core.stop().await;
    exit
}

/// Runs it here, and prints what it prints as it prints it: then what comes back has none of that.
async fn followed(
    host: &Host,
    request: ExecRequest,
    gone: CancellationToken,
) -> Result<ExecPayload, Refusal> {
    let (outlet, mut pieces) = Outlet::new();
    let started = CancellationToken::new();
    let tap = Tap::default().with(Some(outlet));
    let signals = Signals { gone: gone.clone(), started: started.clone(), tap, ..Signals::default() };
    let peer = Peer::default();
    let running = host.exec(request, &peer, signals);
    tokio::pin!(running);
    let print = |(on, text): (Printed, String)| {
        if Output::printed(on, &text).is_err() {
            // Nobody reads it any more.
            gone.cancel();
        }
    };
    let mut ran = loop {
        tokio::select! {
            biased;
            Some(piece) = pieces.recv() => print(piece),
            ended = &mut running => break ended,
        }
    };
    while let Ok(piece) = pieces.try_recv() {
        print(piece);
    }
    if let (Ok(payload), true) = (&mut ran, started.is_cancelled()) {
        (payload.stdout, payload.stderr) = (String::new(), String::new());
    }
    ran
}

/// Ends with the first signal that tells this process to end; from the call on such a signal ends it no more.
fn told_to_end() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

fn ran(
    payload: &ExecPayload,
    app: bool,
    route: Option<&RouteTaken>,
    output: &Output,
) -> anyhow::Result<Exit> {
    let exit = match (payload.timed_out, payload.exit_code) {
        (true, _) => Exit::TimedOut,
        (false, Some(code)) => Exit::Command(u8::try_from(code).unwrap_or(u8::MAX)),
        (false, None) => Exit::Failed,
    };
    if output.is_json() {
        let report =
            ExecReport { ran: true, app, route, payload: Some(payload), error: None, exit: exit.code() };
        output.result(&report, |_| Ok(()))?;
    } else {
        output.streams(&payload.stdout, &payload.stderr)?;
        if payload.exit_code.is_none() {
            output.note(payload.error.as_deref().unwrap_or("the command ended without an exit code"));
        }
    }
    Ok(exit)
}

fn not_run(
    error: &ExecError,
    exit: Exit,
    app: bool,
    route: Option<&RouteTaken>,
    output: &Output,
) -> anyhow::Result<Exit> {
    if output.is_json() {
        let report =
            ExecReport { ran: false, app, route, payload: None, error: Some(error), exit: exit.code() };
        output.result(&report, |_| Ok(()))?;
    } else {
        output.note(&in_words(error));
    }
    Ok(exit)
}

/// Why it was not run, in the peers' words and in those that keep an agent from looking for another way.
fn in_words(error: &ExecError) -> String {
    let more = match error.reason.as_deref() {
        Some("user-denied") => "the person denied this; do not try it another way",
        Some("allowlist-miss") => "the policy does not allow it, and says that nobody is to be asked",
        _ => return error.message.clone(),
    };
    format!("{}: {more}", error.message)
}

/// An app that is there and says nothing: a denial. What it had started already may still run.
fn silence(unreached: &Unreached) -> ExecError {
    ExecError {
        code: "UNAVAILABLE".to_owned(),
        message: unreached.to_string(),
        reason: Some("app-silent".to_owned()),
    }
}

fn exit_of(error: &ExecError) -> Exit {
    match error.reason.as_deref() {
        Some("approval-cancelled" | "approval-timeout") => Exit::Expired,
        Some(
            "user-denied" | "security=deny" | "allowlist-miss" | "allowlist-unbound" | "ask=always" | "rule"
            | "rule-doubt",
        ) => Exit::Denied,
        _ => Exit::Refused,
    }
}

/// Why the app was not asked: it need not be the app that is missing.
fn why_nobody(paths: &Paths) -> String {
    let current = Store::read(&paths.openclaw_state);
    match &current.state {
        StoreState::Unreadable { problem } => {
            format!("{} is not usable, so everything is denied: {problem}", current.path.display())
        }
        StoreState::Sqlite { database } => format!(
            "OpenClaw keeps approvals in {database}, which Countersign does not read, so everything is denied"
        ),
        StoreState::Ready | StoreState::Missing => NO_APP.to_owned(),
    }
}

/// A time on the command line.
pub(super) fn seconds(text: &str) -> Result<Duration, NoTime> {
    text.parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|duration| !duration.is_zero() && *duration <= MAX_SECONDS)
        .ok_or_else(|| NoTime { got: text.to_owned() })
}

/// A text that is no time.
#[derive(Debug, thiserror::Error)]
#[error("expected seconds above 0 and at most {}, got {got:?}", MAX_SECONDS.as_secs())]
pub(super) struct NoTime {
    got: String,
}

const NO_ROUTER: &str = "the Countersign app is not running; only it knows where this is to run, so it does not. Start the app, or leave out \
     --host, --node, --security and --ask";

const NO_APP: &str = "the Countersign app is not running, so nobody can be asked; askFallback decides";

/// A command without a limit may run this long before the command line gives up waiting for the app.
const UNLIMITED_RUN: Duration = Duration::from_secs(24 * 60 * 60);

/// What the app may take beyond the person and the command.
const MARGIN: Duration = Duration::from_secs(5);

/// A week: longer is a mistake in the unit.
const MAX_SECONDS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive_and_bounded() {
        assert_eq!(seconds("1.5").unwrap(), Duration::from_millis(1_500));
        for bad in ["0", "-1", "nan", "inf", "1e30", "abc", ""] {
            assert!(seconds(bad).unwrap_err().to_string().contains("expected seconds"), "{bad}");
        }
    }

    #[test]
    fn silence_and_denial_have_different_codes() {
        let error = |reason: &str| ExecError {
            code: String::new(),
            message: String::new(),
            reason: Some(reason.into()),
        };
        assert_eq!(exit_of(&error("approval-cancelled")), Exit::Expired);
        assert_eq!(exit_of(&error("approval-timeout")), Exit::Expired);
        assert_eq!(exit_of(&error("user-denied")), Exit::Denied);
        assert_eq!(exit_of(&error("rule")), Exit::Denied);
        assert_eq!(exit_of(&error("execution-plan-miss")), Exit::Refused);
    }
}
