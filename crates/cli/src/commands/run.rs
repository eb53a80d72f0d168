//! `countersign run`: this machine as a node, without a window.

use super::Exit;
use super::gateway::{TOKEN_VARIABLE, pin, remedy};
use super::output::Output;
use anyhow::{Context as _, bail};
use clap::Args;
use countersign_core::paths::{Paths, process_environment};
use countersign_core::settings::SettingsFile;
use countersign_gateway::client::Address;
use countersign_node::executor::guardian::{self, LeftBehind};
use countersign_peers::gateway::TOKEN_FILE;
use countersign_peers::runner::{self, Context, News, PeersNode, Served, ServedGateway};
use countersign_peers::secrets::openclaw_token;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

// Which gateway to take commands from.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The gateway's address [default: the one in OpenClaw's node.json, else this machine's own,
    /// ws://127.0.0.1:18790].
    #[arg(long)]
    pub(super) url: Option<String>,
    /// File with the gateway's token [default: that of OpenClaw or of Countersign, when the gateway is on
    /// this machine]. The environment variable COUNTERSIGN_GATEWAY_TOKEN wins over it. Not needed once a
    /// gateway gave this node a token of its own, as OpenClaw's do.
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// SHA-256 of the only certificate to trust, 64 hexadecimal digits.
    #[arg(long, value_name = "HEX")]
    pub(super) pin: Option<String>,
    /// What people call this node [default: the name in OpenClaw's node.json, else the host's].
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Start every command in this process; the app then only asks. Without it the app starts
    /// them while it runs.
    #[arg(long)]
    pub(super) here: bool,
}

/// Serves until it is interrupted or told to end. The first process is only a guardian: it sees to it that
/// nothing of what the second one starts outlives it.
pub(super) async fn run(paths: &Paths, args: RunArgs, output: &Output) -> anyhow::Result<Exit> {
    // Before another process is started for it: what is wrong with the arguments is said once.
    let place = place(paths, &args)?;
    let environment = process_environment();
    let guardian = environment.get(guardian::VARIABLE).map(String::as_str);
    if !guardian::guarded(guardian).context("cannot start guarded")? {
        let code = guardian::guard(std::env::args_os().skip(1), LeftBehind::Ends)
            .await
            .context("cannot start guarded")?;
        return Ok(Exit::Command(code));
    }
    countersign_core::guard_runs(paths);
    let stop = CancellationToken::new();
    let told = stop.clone();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        told.cancel();
    });
    let served = runner::serve(paths, place, stop, |news| {
        // Nobody reads it any more: commands are taken all the same.
        let _ = output.result(&news, |out| match &news {
            News::Connecting { gateway, node_id } => writeln!(out, "node {node_id}\nconnecting to {gateway}"),
            News::Connected { gateway, version, .. } => {
                writeln!(out, "connected to {gateway}, release {version}")
            }
            News::Lost { problem, retry_in_ms } => match retry_in_ms {
                Some(ms) => {
                    writeln!(out, "not connected: {}; again in {} s", remedy(problem), ms.div_ceil(1_000))
                }
                None => writeln!(out, "not connected: {}", remedy(problem)),
            },
        });
    })
    .await?;
    Ok(match served {
        Served::ToItsEnd => Exit::Ok,
        // Its service is not started again for that: it would only be told the same.
        Served::NotTaken => Exit::Refused,
    })
}

/// From arguments, environment and what OpenClaw's own node uses.
pub(super) fn place(paths: &Paths, args: &RunArgs) -> anyhow::Result<ServedGateway> {
    let peers = PeersNode::read(&paths.openclaw_state);
    let set = || SettingsFile::open(paths.settings()).watch_gateway().borrow().port;
    let own = format!("ws://127.0.0.1:{}", paths.gateway_port.filter(|port| *port != 0).unwrap_or_else(set));
    let is_own = args.url.is_none() && peers.url.is_none();
    let url = args.url.clone().or(peers.url).unwrap_or(own);
    let address = Address::parse(&url)?;
    let named = args.pin.as_deref().or(peers.pin.as_deref().filter(|_| args.url.is_none()));
    let pin = pin(named, &address)?;
    let name = args.name.clone().or(peers.display_name).unwrap_or_else(host_name);
    if name.trim().is_empty() || name.chars().count() > MOST_NAME {
        bail!("--name: expected 1 to {MOST_NAME} characters, got {}", name.chars().count());
    }
    let token = token(paths, args, &address, is_own)?;
    let context = if args.here { Context::Own } else { Context::App };
    Ok(ServedGateway { address, pin, token, display_name: name.trim().to_owned(), context })
}

fn token(
    paths: &Paths,
    args: &RunArgs,
    address: &Address,
    is_own: bool,
) -> anyhow::Result<Option<Zeroizing<String>>> {
    let mut environment = process_environment();
    let set = environment.remove(TOKEN_VARIABLE).map(Zeroizing::new);
    if let Some(token) = set.filter(|token| !token.trim().is_empty()) {
        return Ok(Some(Zeroizing::new(token.trim().to_owned())));
    }
    let file = match &args.token_file {
        Some(file) => file.clone(),
        None if is_own => paths.gateway().join(TOKEN_FILE),
        // What OpenClaw keeps is for the gateway on this machine, or the remote one of its settings: never
        // for an address that was typed.
        None if args.url.is_none() || address.is_loopback() => {
            return Ok(openclaw_token(paths, &environment).map(Zeroizing::new));
        }
        None => return Ok(None),
    };
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Some(Zeroizing::new(text.trim().to_owned()))),
        // The node may be known there by now.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && args.token_file.is_none() => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().trim().to_owned();
    if name.is_empty() { "countersign".to_owned() } else { name }
}

/// Longest name of a node, in characters.
const MOST_NAME: usize = 100;
