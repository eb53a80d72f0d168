//! The UI's pages in an ordinary browser, on the backend of its tests: what is saved is seen at once.

use crate::workspace::node;
use crate::{process, ui};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::process::Stdio;

/// Options of `cargo xtask ui`.
#[derive(Args)]
pub(crate) struct Options {
    /// The port on 127.0.0.1, and on no other address.
    #[arg(long, default_value_t = PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Open the main window's page in the desktop's browser.
    #[arg(long)]
    open: bool,
}

/// Serves the pages until Ctrl-C. The server ends with this process however that ends: it reads from a pipe
/// that is written to by nobody and closed with the last one who holds its other end.
pub(crate) fn main(options: &Options) -> Result<()> {
    if !process::is_on_path("npm") {
        bail!("npm is missing: `cargo xtask setup` installs it");
    }
    ui::ensure_dependencies()?;
    let mut server = node(["tests/live.mjs", "--until-input-ends", "--port"]);
    server.arg(options.port.to_string());
    if options.open {
        server.arg("--open");
    }
    let shown = process::describe(&server);
    let mut server =
        server.stdin(Stdio::piped()).spawn().with_context(|| format!("could not start `{shown}`"))?;
    // Waiting for a child closes its input first, unless somebody else has that.
    let held = server.stdin.take();
    let status = server.wait()?;
    drop(held);
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Where the pages are without a word about it: beside the ports that development servers take by themselves.
const PORT: u16 = 5180;
