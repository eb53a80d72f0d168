//! What the web UI is told or may ask: types that are written as TypeScript too.

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
