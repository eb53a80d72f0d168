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
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            language: Language::System,
            arm_delay_ms: MIN_ARM_DELAY_MS,
            notifications: true,
            forwarded_grants: ForwardedGrants::WithSnapshot,
        }
    }
}

/// Least time between painting a card and allowing it, in milliseconds (a glance is not reading). May be longer, never shorter.
pub const MIN_ARM_DELAY_MS: u32 = 1_500;

/// Most time that a person can set for it, in milliseconds: beyond it many requests would expire first.
pub const MAX_ARM_DELAY_MS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

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
        let text = format!(
            "// Written by `cargo test -p countersign-protocol`; do not edit.\n\n{}",
            lines.join("\n")
        );
        std::fs::write(std::path::Path::new(&folder).join("bounds.ts"), text).unwrap();
    }
}
