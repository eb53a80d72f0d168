//! `countersign gateway`: the embedded gateway, headless, and calls to any gateway.

mod calls;

pub(super) use calls::{pin, remedy};

use super::Exit;
use super::output::Output;
use clap::{Args, Subcommand};
use countersign_core::paths::{Paths, process_environment};
use countersign_core::settings::GATEWAY_PORT;
use countersign_peers::gateway::{self, Options};
use serde::Serialize;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

// How to serve, or what to ask of a gateway that serves.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct GatewayArgs {
    #[command(subcommand)]
    call: Option<Call>,
    /// Port on loopback; 0 for a free one.
    #[arg(long, default_value_t = GATEWAY_PORT)]
    port: u16,
    /// File with the token that clients must know [default: one in the state folder, made when it is not
    /// there]. The environment variable COUNTERSIGN_GATEWAY_TOKEN wins over it.
    #[arg(long)]
    token_file: Option<PathBuf>,
}

// What to ask of a gateway.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Call {
    /// Say whether a gateway answers, and what it lets this command do
    Status(calls::GatewayTarget),
    /// List what waits for an answer there
    Approvals(calls::ApprovalsArgs),
    /// Answer something that waits there
    Resolve(calls::ResolveArgs),
    /// Show or replace the approvals document of a gateway, or of a node behind it
    Policy(calls::PolicyArgs),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ready {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_file: Option<PathBuf>,
}

/// Serves, or calls a gateway that does.
pub(super) async fn run(paths: &Paths, args: GatewayArgs, output: &Output) -> anyhow::Result<Exit> {
    match args.call {
        None => serve(paths, args, output).await,
        Some(Call::Status(place)) => calls::status(paths, &place, output).await,
        Some(Call::Approvals(args)) => calls::approvals(paths, &args, output).await,
        Some(Call::Resolve(args)) => calls::resolve(paths, args, output).await,
        Some(Call::Policy(args)) => calls::policy(paths, args, output).await,
    }
}

/// Serves until it is interrupted or told to end; says where first.
async fn serve(paths: &Paths, args: GatewayArgs, output: &Output) -> anyhow::Result<Exit> {
    let token = process_environment().remove(TOKEN_VARIABLE);
    let GatewayArgs { port, token_file, call: _ } = args;
    let mut terminate = signal(SignalKind::terminate())?;
    let serving = gateway::serve_alone(paths, Options { port, token, token_file }).await?;
    let ready = Ready { url: format!("ws://{}", serving.address), token_file: serving.token_file.clone() };
    output.result(&ready, |out| {
        writeln!(out, "listening on {}", ready.url)?;
        match &ready.token_file {
            Some(file) => writeln!(out, "token in {}", file.display()),
            None => writeln!(out, "token from {TOKEN_VARIABLE}"),
        }
    })?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    serving.stop().await;
    Ok(Exit::Ok)
}

/// Holds the token where no file may.
pub(super) const TOKEN_VARIABLE: &str = "COUNTERSIGN_GATEWAY_TOKEN";
