//! One call to any gateway, as a device of its own: an agent that may use the command line has none of
//! the app's rights.

use super::TOKEN_VARIABLE;
use crate::commands::output::Output;
use crate::commands::{Exit, confirmed};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use countersign_core::identity::command_line_identity;
use countersign_core::json::kind;
use countersign_core::paths::{Paths, process_environment};
use countersign_core::presence::Presence;
use countersign_core::settings::GATEWAY_PORT;
use countersign_gateway::access::{Role, Scope};
use countersign_gateway::client::{
    self, Address, CallError, Credentials, DeviceToken, Link, Live, Notice, Pin, Withheld,
};
use countersign_peers::connections::{Kind, gaps};
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::gateway::connect::Auth;
use countersign_protocol::tools::{Permission, ToolCall, ToolCaller};
use countersign_protocol::ui::{LinkGap, LinkProblem};
use countersign_protocol::vocabulary::Decision;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use zeroize::Zeroizing;

// Which gateway, and how to get in.
#[derive(Args, Clone, Debug)]
pub(super) struct GatewayTarget {
    /// Address [default: this machine's own, ws://127.0.0.1:18790].
    #[arg(long)]
    url: Option<String>,
    /// File with the gateway's token [default: this machine's own, when no address is given]. The environment
    /// variable COUNTERSIGN_GATEWAY_TOKEN wins over it.
    #[arg(long)]
    token_file: Option<PathBuf>,
    /// SHA-256 of the only certificate to trust.
    #[arg(long)]
    pin: Option<String>,
}

// What to list.
#[derive(Args, Debug)]
pub(super) struct ApprovalsArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    place: GatewayTarget,
}

// How much of what waits is to be seen.
#[derive(Args, Debug)]
struct Reach {
    /// Ask for operator.admin: releases from 2026.5.18 on show what agents raise to nobody else.
    #[arg(long)]
    admin: bool,
}

impl Reach {
    fn scopes(&self) -> &'static [Scope] {
        if self.admin { &[Scope::Approvals, Scope::Admin] } else { &[Scope::Approvals] }
    }
}

// What to answer.
#[derive(Args, Debug)]
pub(super) struct ResolveArgs {
    /// The request, as `approvals` lists it; whole.
    id: String,
    /// allow-once, allow-always or deny. To allow, a person is asked in the app's window first.
    decision: Decision,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    place: GatewayTarget,
}

// Which document.
#[derive(Args, Debug)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    what: Policy,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Policy {
    /// Show the document
    Show {
        /// Of this node instead of the gateway.
        #[arg(long)]
        node: Option<String>,
        #[command(flatten)]
        place: GatewayTarget,
    },
    /// Replace the document by that in a file; refused when it changed meanwhile
    Set {
        /// File with the document, as `show` prints its `file`.
        file: PathBuf,
        /// Hash of the document that it was made from.
        #[arg(long)]
        base_hash: String,
        /// Of this node instead of the gateway.
        #[arg(long)]
        node: Option<String>,
        #[command(flatten)]
        place: GatewayTarget,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    url: String,
    version: String,
    protocol: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
    round_trip_us: u64,
    methods: usize,
}

/// Whether it answers.
pub(super) async fn status(paths: &Paths, place: &GatewayTarget, output: &Output) -> anyhow::Result<Exit> {
    let (url, door) = open(paths, place, &[Scope::Read, Scope::Approvals]).await?;
    let started = Instant::now();
    door.live.call("health", json!({})).await.map_err(explained)?;
    let hello = door.live.hello();
    let status = Status {
        url,
        version: hello.server.version.clone(),
        protocol: hello.protocol,
        scopes: hello.auth.as_ref().and_then(|auth| auth.scopes.clone()),
        round_trip_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        methods: hello.features.methods.len(),
    };
    output.result(&status, |out| {
        writeln!(
            out,
            "{} answers: release {}, protocol {}",
            status.url,
            display::escape(&status.version),
            status.protocol
        )?;
        match &status.scopes {
            Some(scopes) if scopes.is_empty() => {
                writeln!(out, "It gives no scopes: nothing can be seen or answered.")?
            }
            Some(scopes) => writeln!(out, "scopes: {}", display::escape(&scopes.join(", ")))?,
            None => writeln!(out, "It does not tell which scopes it gives.")?,
        }
        // A thousandth of a millisecond is noise.
        let round_trip = Duration::from_micros(status.round_trip_us);
        writeln!(out, "round trip: {:.1} ms", 1_000.0 * round_trip.as_secs_f64())
    })?;
    Ok(Exit::Ok)
}

/// What waits there.
pub(super) async fn approvals(paths: &Paths, args: &ApprovalsArgs, output: &Output) -> anyhow::Result<Exit> {
    let (url, door) = open(paths, &args.place, args.reach.scopes()).await?;
    let gaps = gaps(&door.live);
    if gaps.contains(&LinkGap::NoList) {
        bail!("{url}: this release cannot list what waits; `resolve` answers what you know the id of");
    }
    let mut rows = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| door.live.has(kind.list())) {
        rows.extend(list(&door.live, kind.list()).await?);
    }
    if gaps.contains(&LinkGap::AgentsHidden) {
        output.note("this release shows what agents raise to operator.admin only: --admin asks for it");
    }
    output.result(&rows, |out| {
        for row in &rows {
            let text = |member: &Value| display::escape(member.as_str().unwrap_or_default());
            let request = &row["request"];
            let what = if request["command"].is_string() { &request["command"] } else { &request["title"] };
            writeln!(out, "{}  {}  {}", text(&row["id"]), text(&request["agentId"]), text(what))?;
        }
        if rows.is_empty() {
            writeln!(out, "Nothing is waiting there.")?;
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}

async fn list(live: &Live, method: &'static str) -> anyhow::Result<Vec<Value>> {
    match live.call(method, json!({})).await.map_err(explained)? {
        Value::Array(rows) => Ok(rows),
        other => bail!("{method}: expected a list, got {}", kind(&other)),
    }
}

/// Answers.
pub(super) async fn resolve(paths: &Paths, args: ResolveArgs, output: &Output) -> anyhow::Result<Exit> {
    let ResolveArgs { id, decision, reach, place } = args;
    // An agent that may use the command line could otherwise approve itself by way of a gateway.
    if decision.allows() && matches!(Presence::of(paths, None), Presence::Absent) {
        output.failure(&anyhow::anyhow!(NO_APP));
        return Ok(Exit::NoApp);
    }
    let (url, door) = open(paths, &place, reach.scopes()).await?;
    let kind = kind_of(&door.live, &id).await?;
    if decision.allows()
        && let Err(why) = asked(paths, &url, &door.live, kind, &id, decision, output).await?
    {
        output.failure(&anyhow::anyhow!(why));
        return Ok(Exit::Denied);
    }
    let answer = door.live.call(kind.resolve(), kind.answer(&id, decision)).await.map_err(explained)?;
    if answer["applied"] == json!(false) {
        let recorded = answer["approval"]["decision"].as_str().unwrap_or("no decision");
        bail!("{}: it had ended before, with: {}", display::escape(&id), display::escape(recorded));
    }
    output.result(&answer, |out| writeln!(out, "{}: {decision}", display::escape(&id)))?;
    Ok(Exit::Ok)
}

/// Asks the person in the app's window whether this may be allowed there; why not, where they say no.
async fn asked(
    paths: &Paths,
    url: &str,
    live: &Live,
    kind: Kind,
    id: &str,
    decision: Decision,
    output: &Output,
) -> anyhow::Result<Result<(), String>> {
    let mut params = Map::new();
    params.insert("gateway".to_owned(), url.into());
    params.insert("decision".to_owned(), decision.to_string().into());
    params.insert("request".to_owned(), id.into());
    // Not every release lists what waits; its id is known then and nothing else.
    let waiting = if live.has(kind.list()) { list(live, kind.list()).await? } else { Vec::new() };
    if let Some(row) = waiting.into_iter().find(|row| row["id"] == id) {
        params.insert("asksFor".to_owned(), row["request"].clone());
    }
    let call = ToolCall {
        id: Uuid::new_v4().to_string(),
        tool: "gateway-resolve".to_owned(),
        params,
        caller: ToolCaller {
            client: Some("countersign gateway".to_owned()),
            workspace: std::env::current_dir()?.display().to_string(),
            ..ToolCaller::default()
        },
        approval_timeout_ms: None,
        takes_command: false,
        is_quiet: false,
    };
    let request = ControlRequest::PermitTool { call: Box::new(call), takes_events: false };
    match confirmed(paths, &request, output).await? {
        ControlResponse::Permitted { permission: Permission::Allow, .. } => Ok(Ok(())),
        ControlResponse::Permitted { permission: Permission::Deny { message, .. }, .. } => Ok(Err(message)),
        ControlResponse::Error { message } => bail!(message),
        other => bail!("expected a person's answer, got {other:?}"),
    }
}

/// A proposal is told from a command by the list that it is in, and a plugin's question by its id
/// (docs/protocol/approvals.md, "Plugins", "Proposals").
async fn kind_of(live: &Live, id: &str) -> anyhow::Result<Kind> {
    if id.starts_with("plugin:") {
        return Ok(Kind::Plugin);
    }
    let is_proposal = live.has(Kind::SystemAgent.list())
        && list(live, Kind::SystemAgent.list()).await?.iter().any(|row| row["id"] == id);
    Ok(if is_proposal { Kind::SystemAgent } else { Kind::Exec })
}

/// Shows or replaces a document.
pub(super) async fn policy(paths: &Paths, args: PolicyArgs, output: &Output) -> anyhow::Result<Exit> {
    let (place, method, params) = match args.what {
        Policy::Show { node: None, place } => (place, "exec.approvals.get", json!({})),
        Policy::Show { node: Some(node), place } => {
            (place, "exec.approvals.node.get", json!({"nodeId": node}))
        }
        Policy::Set { file, base_hash, node, place } => {
            let file = document(&file)?;
            let mut params = json!({"file": file, "baseHash": base_hash});
            match node {
                None => (place, "exec.approvals.set", params),
                Some(node) => {
                    params["nodeId"] = node.into();
                    (place, "exec.approvals.node.set", params)
                }
            }
        }
    };
    let (_, door) = open(paths, &place, &[Scope::Admin]).await?;
    let answer = door.live.call(method, params).await.map_err(explained)?;
    output.result(&answer, |out| {
        writeln!(out, "{}", serde_json::to_string_pretty(&answer).unwrap_or_default())
    })?;
    Ok(Exit::Ok)
}

fn document(file: &Path) -> anyhow::Result<Value> {
    let found = std::fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?;
    if !found.is_file() || found.len() > MAX_DOCUMENT {
        bail!("{}: expected a file of at most {MAX_DOCUMENT} bytes", file.display());
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: expected JSON", file.display()))
}

/// A connection for as long as a call takes.
struct Door {
    live: Live,
    _link: Link,
}

/// The secret of one call. Nothing is kept.
struct Carried(Option<Zeroizing<String>>);

impl Credentials for Carried {
    async fn secret(&self) -> Result<Option<Auth>, Withheld> {
        let token = self.0.as_ref();
        Ok(token.map(|token| Auth { token: Some(token.as_str().to_owned()), ..Auth::default() }))
    }

    async fn device_token(&self) -> Result<Option<DeviceToken>, Withheld> {
        Ok(None)
    }

    async fn keep_device_token(&self, _: Option<DeviceToken>) {}
}

async fn open(paths: &Paths, place: &GatewayTarget, scopes: &[Scope]) -> anyhow::Result<(String, Door)> {
    let own = format!("ws://127.0.0.1:{GATEWAY_PORT}");
    let address = Address::parse(place.url.as_deref().unwrap_or(&own))?;
    let pin = pin(place.pin.as_deref(), &address)?;
    let url = address.to_string();
    let options = client::Options {
        address,
        pin,
        identity: command_line_identity(paths)?,
        role: Role::Operator.as_str(),
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        caps: Vec::new(),
        commands: Vec::new(),
        display_name: "countersign (command line)".to_owned(),
    };
    let (link, mut notices) = client::connect(
        options,
        Carried(token(paths, place)?),
        &TaskTracker::new(),
        &CancellationToken::new(),
    );
    let opened = tokio::time::timeout(WAIT, async {
        while let Some(notice) = notices.recv().await {
            match notice {
                Notice::Opened(live) => return Ok(live),
                // A gateway that is starting says so, and is tried again.
                Notice::Lost { problem: LinkProblem::Starting, .. } => {}
                Notice::Lost { problem, .. } => bail!("{url}: {}", remedy(&problem)),
                Notice::Connecting | Notice::Event(_) | Notice::Gap | Notice::Narrow { .. } => {}
            }
        }
        bail!("{url}: no connection")
    });
    let live = opened
        .await
        .unwrap_or_else(|_| Err(anyhow::anyhow!("{url}: no answer within {} s", WAIT.as_secs())))?;
    // Nobody reads what happens there.
    tokio::spawn(async move { while notices.recv().await.is_some() {} });
    Ok((url, Door { live, _link: link }))
}

/// The only certificate to trust at an address.
pub(in crate::commands) fn pin(text: Option<&str>, address: &Address) -> anyhow::Result<Option<Pin>> {
    let Some(text) = text else { return Ok(None) };
    let pin = Pin::parse(text);
    let pin = pin.with_context(|| format!("--pin: expected 64 hexadecimal digits, got {text:?}"))?;
    if !address.is_tls() {
        bail!("--pin: expected a wss:// address beside it");
    }
    Ok(Some(pin))
}

fn token(paths: &Paths, place: &GatewayTarget) -> anyhow::Result<Option<Zeroizing<String>>> {
    let set = process_environment().remove(TOKEN_VARIABLE).map(Zeroizing::new);
    if let Some(token) = set.filter(|token| !token.trim().is_empty()) {
        return Ok(Some(Zeroizing::new(token.trim().to_owned())));
    }
    // Our own token is for our own gateway and for no other address.
    let file = match (&place.token_file, &place.url) {
        (Some(file), _) => file.clone(),
        (None, None) => paths.gateway().join("token"),
        (None, Some(_)) => return Ok(None),
    };
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Some(Zeroizing::new(text.trim().to_owned())))
}

fn explained(error: CallError) -> anyhow::Error {
    match error {
        CallError::Refused(error) => {
            anyhow::anyhow!("the gateway refused: {} ({})", error.message, error.code)
        }
        other => other.into(),
    }
}

/// What is wrong and what helps.
pub(in crate::commands) fn remedy(problem: &LinkProblem) -> String {
    match problem {
        LinkProblem::Unreachable { text } => format!("nothing answers there ({text})"),
        LinkProblem::TimedOut => "it answered, then fell silent".to_owned(),
        LinkProblem::Starting => "it is starting".to_owned(),
        LinkProblem::Closed { code, text } => format!("it ended the connection ({code} {text})"),
        LinkProblem::SecretMissing => {
            format!("it wants a token; give it by {TOKEN_VARIABLE} or --token-file")
        }
        LinkProblem::SecretWrong => {
            format!("it wants another token; look at {TOKEN_VARIABLE} and --token-file")
        }
        LinkProblem::SecretWithheld => "the keyring does not give out its token".to_owned(),
        LinkProblem::RateLimited => "too many wrong tokens were sent; wait some minutes".to_owned(),
        LinkProblem::NotPaired { request_id, .. } => match request_id {
            Some(id) => format!(
                "this device has to be let in there first: on that machine, in Countersign's window under Connections, or by \
                 `openclaw devices approve {id}`"
            ),
            None => "this device has to be let in there first: on that machine, in Countersign's window under Connections, or \
                     by the newest request that `openclaw devices list` shows"
                .to_owned(),
        },
        LinkProblem::Protocol { expected } => match expected {
            Some(expected) => format!("it speaks protocol {expected}, this program 3 and 4"),
            None => "it speaks another protocol than 3 and 4".to_owned(),
        },
        LinkProblem::PinMismatch { found } => {
            format!("its certificate is {found}, another one than the pinned one")
        }
        LinkProblem::Certificate { text } => {
            format!("its certificate is not trusted ({text}); --pin trusts exactly one")
        }
        LinkProblem::Refused { code, text } => format!("it refused: {text} ({code})"),
        LinkProblem::NotAGateway { text } => format!("it is no gateway ({text})"),
    }
}

/// Largest document that is sent, in bytes.
const MAX_DOCUMENT: u64 = 4 * 1_024 * 1_024;

/// How long a gateway may take to let this program in; some take long to start.
const WAIT: Duration = Duration::from_secs(30);

const NO_APP: &str = "the Countersign app is not running, so nobody can be asked whether this may be allowed";
