//! What the web UI is told and may ask (Tauri IPC). Text that an agent influenced arrives as [`Shown`] spans: the UI
//! paints them and never parses shell.
//!
//! A fresh window asks for a [`Snapshot`], then follows [`UiMessage`]s whose `seq` is greater than the snapshot's.
//! A window is told only what it can show; one that has not come as far as a message's `after` takes a new snapshot.

macro_rules! ui {
    ($($(#[$meta:meta])* pub $kind:ident $name:ident $body:tt)+) => {$(
        #[derive(Clone, Debug, Deserialize, PartialEq, Serialize, TS)]
        #[serde(rename_all = "camelCase")]
        #[ts(export, export_to = "index.ts")]
        $(#[$meta])*
        pub $kind $name $body
    )+};
}

macro_rules! ui_words {
    ($($(#[$meta:meta])* pub enum $name:ident $body:tt)+) => {$(
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
        #[serde(rename_all = "kebab-case")]
        #[ts(export, export_to = "index.ts")]
        $(#[$meta])*
        pub enum $name $body
    )+};
}

macro_rules! ui_tagged {
    ($($(#[$meta:meta])* pub enum $name:ident $body:tt)+) => {$(
        #[derive(Clone, Debug, Deserialize, PartialEq, Serialize, TS)]
        #[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
        #[ts(export, export_to = "index.ts")]
        $(#[$meta])*
        pub enum $name $body
    )+};
}

mod app;
mod card;
mod change;
mod connections;
mod document;
mod forward;
mod history;
mod meaning;
mod pets;
mod policies;
mod remember;
mod routing;
mod rules;
mod shown;
mod trace;

pub use app::*;
pub use card::*;
pub use change::*;
pub use connections::*;
pub use document::*;
pub use forward::*;
pub use history::*;
pub use meaning::*;
pub use pets::*;
pub use policies::*;
pub use remember::*;
pub use routing::*;
pub use rules::*;
pub use shown::*;
pub use trace::*;
