//! The person's settings.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// Colour theme.
    pub enum Theme {
        /// As the desktop.
        System,
        /// Light.
        Light,
        /// Dark.
        Dark,
    }

    /// Language of the UI.
    pub enum Language {
        /// As the desktop.
        System,
        /// English.
        En,
        /// 简体中文.
        Zh,
        /// 한국어.
        Ko,
    }

    /// When a grant that was given elsewhere is honoured.
    pub enum ForwardedGrants {
        /// Only with a policy snapshot that is still current.
        WithSnapshot,
        /// Never: the person is asked again.
        Never,
    }
}

ui! {
    /// How much of everything there may be. [`Limits::all`] says between what.
    #[derive(Copy, Eq)]
    #[serde(default)]
    pub struct Limits {
        /// Requests of this machine that may wait at once; one more is refused.
        pub waiting: u32,
        /// Seconds after which any command is ended that runs here, whatever its caller wants; 0 leaves
        /// it to the caller.
        pub run_seconds: u32,
        /// Thousands of bytes of a command's output that are kept and returned.
        pub output_kb: u32,
        /// Mebibytes of the history's decisions that are kept; of what ran unasked half as much again.
        pub history_mb: u32,
    }
}

ui! {
    /// The person's settings.
    #[derive(Eq)]
    #[serde(default)]
    pub struct Settings {
        /// Colour theme.
        pub theme: Theme,
        /// Language.
        pub language: Language,
        /// Milliseconds before Allow arms; at least 1500.
        pub arm_delay_ms: u32,
        /// Whether notifications are sent.
        pub notifications: bool,
        /// Trust in forwarded grants.
        pub forwarded_grants: ForwardedGrants,
        /// How much of everything there may be.
        pub limits: Limits,
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { waiting: 256, run_seconds: 0, output_kb: MAX_OUTPUT_KB, history_mb: 128 }
    }
}

/// One of the limits: the member's name, its value, and between what it may be.
#[derive(Debug)]
pub struct Limit<'a> {
    /// As in the file.
    pub name: &'static str,
    /// Its value.
    pub value: &'a mut u32,
    /// Least.
    pub least: u32,
    /// Most.
    pub most: u32,
}

impl Limits {
    /// All of them.
    pub fn all(&mut self) -> [Limit<'_>; 4] {
        let limit = |name, value, least, most| Limit { name, value, least, most };
        [
            limit("waiting", &mut self.waiting, 8, 1_024),
            limit("runSeconds", &mut self.run_seconds, 0, 24 * 60 * 60),
            limit("outputKb", &mut self.output_kb, 4, MAX_OUTPUT_KB),
            limit("historyMb", &mut self.history_mb, 16, 1_024),
        ]
    }
}

/// Most output that is returned, in thousands of bytes: no peer takes more (docs/protocol/runs.md, "Output").
const MAX_OUTPUT_KB: u32 = 200;

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            language: Language::System,
            arm_delay_ms: MIN_ARM_DELAY_MS,
            notifications: true,
            forwarded_grants: ForwardedGrants::WithSnapshot,
            limits: Limits::default(),
        }
    }
}

/// Least time between painting a card and allowing it, in milliseconds (a glance is not reading). May be
/// longer, never shorter.
pub const MIN_ARM_DELAY_MS: u32 = 1_500;

/// Most time that a person can set for it, in milliseconds: beyond it many requests would expire first.
pub const MAX_ARM_DELAY_MS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::ArgumentShape;

    /// The window offers what the settings take: its bounds are written from these, as its types are.
    #[test]
    fn export_bounds() {
        let folder = std::env::var_os("TS_RS_EXPORT_DIR").expect("cargo sets it");
        let bounds = [
            ("MIN_ARM_DELAY_MS", MIN_ARM_DELAY_MS, "Least time between painting a card and allowing it."),
            ("MAX_ARM_DELAY_MS", MAX_ARM_DELAY_MS, "Most time that can be set for it."),
        ];
        let lines =
            bounds.map(|(name, value, words)| format!("/** {words} */\nexport const {name} = {value};\n"));
        let mut limits = Limits::default();
        let limits = limits.all().map(|Limit { name, least, most, .. }| {
            format!("  {name}: {{ least: {least}, most: {most} }},\n")
        });
        let limits = format!(
            "/** Between what each limit may be. */\nexport const LIMITS = {{\n{}}} as const;\n",
            limits.concat()
        );
        let lines = lines.into_iter().chain([limits, open_shape()]).collect::<Vec<_>>();
        let text = format!(
            "// Written by `cargo test -p countersign-protocol`; do not edit.\n\n\
             import type {{ ArgumentShape }} from './index';\n\n{}",
            lines.join("\n")
        );
        std::fs::write(std::path::Path::new(&folder).join("bounds.ts"), text).unwrap();
    }

    /// The shape that dialogs make their rules from is the one that the command line does.
    fn open_shape() -> String {
        let mut shape = serde_json::to_value(ArgumentShape::open()).unwrap();
        // Left out where rules are stored, and there for whoever reads one.
        for (object, list) in [("", "subcommand"), ("", "leading"), ("/operands", "first")] {
            shape.pointer_mut(object).unwrap()[list] = serde_json::json!([]);
        }
        format!(
            "/** Any arguments that name no secret and give no order. */\n\
             export const OPEN_SHAPE: ArgumentShape = {};\n",
            serde_json::to_string_pretty(&shape).unwrap()
        )
    }
}
