//! Stories without a display and without the app: what the command line promises by itself.

mod connect;
mod ends;
mod fallback;
mod hooks;
mod node;
mod policy;
mod presence;
mod record;
mod routing;
mod rules;
mod words;

/// How a story ends.
type Story = anyhow::Result<()>;
