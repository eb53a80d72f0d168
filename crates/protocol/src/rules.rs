//! Rules that the peers' document cannot hold, kept in a document of our own: structured arguments, folders,
//! limits and refusals. Plain data; what they mean is in `countersign_policy::rules`.
//!
//! An unknown member makes the whole document unusable on purpose: it could be what made a rule narrow. For
//! the same reason unions are a word or an object with one member; with a tag inside, serde would ignore what
//! stands beside it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// File name in Countersign's configuration folder.
pub const FILE_NAME: &str = "rules.json";

/// The only version there is.
pub const VERSION: u32 = 1;

macro_rules! stored {
    ($($(#[$meta:meta])* pub struct $name:ident $body:tt)+) => {$(
        #[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize, TS)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[ts(export, export_to = "index.ts")]
        $(#[$meta])*
        pub struct $name $body
    )+};
}

macro_rules! stored_tagged {
    ($($(#[$meta:meta])* pub enum $name:ident $body:tt)+) => {$(
        #[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize, TS)]
        #[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
        #[ts(export, export_to = "index.ts")]
        $(#[$meta])*
        pub enum $name $body
    )+};
}

macro_rules! stored_words {
    ($($(#[$meta:meta])* pub enum $name:ident $body:tt)+) => {$(
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, TS)]
        #[serde(rename_all = "kebab-case")]
        #[ts(export, export_to = "index.ts")]
        $(#[$meta])*
        pub enum $name $body
    )+};
}

mod calls;
mod workspaces;

pub use calls::{CallRule, CallRuleDraft, CallSubject, NetPlace};
pub use workspaces::{Attendance, FolderStanding, PlaceAccess, Workspace, WorkspaceDraft, WorkspacePlace};

stored! {
    /// The document.
    pub struct RuleDocument {
        /// [`VERSION`].
        pub version: u32,
        /// Names of the presets that are switched on.
        #[serde(default)]
        pub presets: Vec<String>,
        /// In the order in which they are tried. Refusals win whatever their place.
        pub rules: Vec<CommandRule>,
        /// Those about calls that are no commands, in the order in which they are tried.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub calls: Vec<CallRule>,
        /// Folders that are open for agents.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub workspaces: Vec<Workspace>,
    }

    /// What files contained: SHA-256, 64 hexadecimal digits in lower case.
    #[derive(Default)]
    pub struct FileContents {
        /// The program, when its user can rewrite it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub program: Option<String>,
        /// The script that the program runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub script: Option<String>,
    }

    /// A rule as somebody proposes it: what the store gives it when it is stored is missing.
    pub struct RuleDraft {
        /// `*` or an agent id.
        pub agent: String,
        /// What follows when it matches.
        pub effect: RuleEffect,
        /// Glob over the program's real path, or a bare name for what was typed as a bare name.
        pub program: String,
        /// What its arguments must be.
        pub arguments: ArgumentRule,
        /// The working directory must be this real path or below it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub folder: Option<String>,
        /// Files that must be what they were when the rule was made.
        #[serde(default, skip_serializing_if = "FileContents::is_empty")]
        #[ts(optional, as = "Option<FileContents>")]
        pub contents: FileContents,
        /// When it ends.
        #[serde(default, skip_serializing_if = "RuleLimits::is_unlimited")]
        #[ts(optional, as = "Option<RuleLimits>")]
        pub limits: RuleLimits,
        /// The person's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub note: Option<String>,
    }

    /// One rule about one program.
    pub struct CommandRule {
        /// Stable id.
        pub id: String,
        /// `*` or an agent id.
        pub agent: String,
        /// What follows when it matches.
        pub effect: RuleEffect,
        /// Glob over the program's real path, or a bare name for what was typed as a bare name.
        pub program: String,
        /// What its arguments must be.
        pub arguments: ArgumentRule,
        /// The working directory must be this real path or below it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub folder: Option<String>,
        /// Files that must be what they were when the rule was made.
        #[serde(default, skip_serializing_if = "FileContents::is_empty")]
        #[ts(optional, as = "Option<FileContents>")]
        pub contents: FileContents,
        /// When it ends.
        #[serde(default, skip_serializing_if = "RuleLimits::is_unlimited")]
        #[ts(optional, as = "Option<RuleLimits>")]
        pub limits: RuleLimits,
        /// The person's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub note: Option<String>,
        /// Unix milliseconds.
        #[ts(type = "number")]
        pub created_at_ms: i64,
        /// How it came to be.
        pub from: RuleOrigin,
    }

    /// When a rule ends: whatever comes first. It is dead afterwards, not deleted.
    #[derive(Default)]
    pub struct RuleLimits {
        /// Unix milliseconds from which it no longer counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional, type = "number")]
        pub until_ms: Option<i64>,
        /// How many runs it may let through in all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub uses: Option<u32>,
        /// The only session it counts in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<String>,
    }

    /// Arguments that are alike: the same words first, then known flags and operands of known kinds, in any
    /// order. A word that a shell could expand fits nothing.
    pub struct ArgumentShape {
        /// Literal words that come first, such as `remote` `show`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub subcommand: Vec<String>,
        /// How the program reads flags.
        #[serde(default)]
        pub style: FlagStyle,
        /// Flags that may stand before the subcommand.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub leading: Vec<FlagRule>,
        /// Flags that may stand after it.
        #[serde(default)]
        pub flags: FlagSet,
        /// What else there may be.
        #[serde(default)]
        pub operands: OperandRule,
        /// Whether words that look like the place of a secret fit.
        #[serde(default)]
        pub secrets: SecretPlaces,
        /// Whether words that look like an order to destroy, publish or run something fit.
        #[serde(default)]
        pub orders: OrderWords,
    }

    /// One allowed flag under all its names.
    pub struct FlagRule {
        /// With their dashes: `-n`, `--max-count`. `-#` stands for a dash and digits, `--` for
        /// the end of flags.
        pub names: Vec<String>,
        /// What may come with it.
        #[serde(default)]
        pub value: FlagValue,
        /// Whether it may be missing.
        #[serde(default)]
        pub presence: FlagPresence,
    }

    /// How many operands, and of which kinds. The default is none.
    #[derive(Default)]
    pub struct OperandRule {
        /// At least this many.
        #[serde(default)]
        pub min: u32,
        /// At most this many.
        #[serde(default)]
        pub max: u32,
        /// What the first ones must be, one by one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub first: Vec<OperandKind>,
        /// Each further one must be of one of these.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub kinds: Vec<OperandKind>,
    }
}

stored_tagged! {
    /// How a rule came to be.
    pub enum RuleOrigin {
        /// A person wrote it.
        Typed,
        /// A person's answer to a prompt.
        Answer,
        /// Part of a preset.
        Preset {
            /// Which one.
            name: String,
        },
    }

    /// What the arguments must be.
    pub enum ArgumentRule {
        /// Anything.
        Any,
        /// Exactly these, in exactly this folder.
        Exact {
            /// After the program.
            args: Vec<String>,
            /// Real path of the working directory.
            folder: String,
        },
        /// Anything of this shape.
        Shape(ArgumentShape),
    }

    /// Which flags fit.
    pub enum FlagSet {
        /// Any.
        Any,
        /// These and no others.
        Listed(Vec<FlagRule>),
    }

    /// What may come with a flag. A separate value never begins with a dash.
    #[derive(Default)]
    pub enum FlagValue {
        /// Nothing.
        #[default]
        None,
        /// One literal, glued or separate.
        Any,
        /// Nothing, or a literal glued to it.
        Optional,
        /// Two separate literals.
        Pair,
        /// Digits, with or without a sign, glued or separate.
        Number,
        /// One of these, glued or separate.
        OneOf(Vec<String>),
        /// A path below one of these, glued or separate.
        Path {
            /// Absolute folders; empty: the working directory.
            below: Vec<String>,
        },
    }

    /// Kind of an operand.
    pub enum OperandKind {
        /// Any literal.
        Any,
        /// What can hardly be a verb: with a digit, a capital, a blank or a sign in it, but no path.
        Data,
        /// One of these.
        OneOf(Vec<String>),
        /// A path below one of these; `-` counts too.
        Path {
            /// Absolute folders; empty: the working directory.
            below: Vec<String>,
        },
        /// The same, but only when a slash or a dot shows that it is a path and no dash that
        /// it may be a flag.
        PlainPath {
            /// Absolute folders; empty: the working directory.
            below: Vec<String>,
        },
        /// A path below one of these without a part that begins with a dot: neither `.git/config` nor `.env`.
        VisiblePath {
            /// Absolute folders; empty: the working directory.
            below: Vec<String>,
        },
        /// Begins with one of these and has no `..` component.
        Prefix(Vec<String>),
        /// A `sed` script that only prints lines.
        SedPrint,
        /// A `sed` script that does the same, and inserts, appends or changes lines of text.
        SedEdit,
        /// A `jq` filter that reads nothing but its input.
        JqFilter,
        /// An `awk` program that prints from its input and does nothing else.
        AwkPrint,
    }
}

stored_words! {
    /// What follows when a rule matches.
    pub enum RuleEffect {
        /// It may run.
        Allow,
        /// It must not run, whatever else allows it.
        Deny,
    }

    /// How a program reads flags.
    #[derive(Default)]
    pub enum FlagStyle {
        /// `-abc`, `-n5`, `-n 5`, `--name=value`, `--name value`.
        #[default]
        Clustered,
        /// `-name value`, `-name=value`: one dash and a whole word.
        Words,
    }

    /// Whether a flag may be missing.
    #[derive(Default)]
    pub enum FlagPresence {
        /// It may.
        #[default]
        Optional,
        /// It may not: without `--dry-run` a command is another one.
        Required,
    }

    /// Whether words that look like an order to destroy, publish or run something fit.
    #[derive(Default)]
    pub enum OrderWords {
        /// They do, where the rest of the shape lets them.
        Allowed,
        /// They do not, except as the subcommand.
        #[default]
        Refused,
    }

    /// Whether words that look like the place of a secret fit.
    #[derive(Default)]
    pub enum SecretPlaces {
        /// They do.
        Allowed,
        /// They do not.
        #[default]
        Refused,
        /// Nor do folders around the home directory: for programs that read whole trees.
        RefusedInTrees,
    }
}

impl ArgumentRule {
    /// Arguments that begin with these words, with blanks between them; any, when there are none. Every
    /// window and command that asks for a subcommand makes its rule with this.
    pub fn beginning_with(words: &str) -> Self {
        let subcommand: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if subcommand.is_empty() {
            return Self::Any;
        }
        Self::Shape(ArgumentShape { subcommand, ..ArgumentShape::open() })
    }
}

impl ArgumentShape {
    /// Any arguments that name no secret and give no order.
    pub fn open() -> Self {
        Self {
            subcommand: Vec::new(),
            style: FlagStyle::Clustered,
            leading: Vec::new(),
            flags: FlagSet::Any,
            operands: OperandRule { min: 0, max: u32::MAX, first: Vec::new(), kinds: vec![OperandKind::Any] },
            secrets: SecretPlaces::Refused,
            orders: OrderWords::Refused,
        }
    }
}

impl RuleDocument {
    /// No rules, no presets.
    pub const fn empty() -> Self {
        Self {
            version: VERSION,
            presets: Vec::new(),
            rules: Vec::new(),
            calls: Vec::new(),
            workspaces: Vec::new(),
        }
    }

    /// Every rule, whatever it is about.
    pub fn every(&self) -> impl Iterator<Item = &dyn StoredRule> {
        let commands = self.rules.iter().map(|rule| rule as &dyn StoredRule);
        let calls = self.calls.iter().map(|rule| rule as &dyn StoredRule);
        commands.chain(calls).chain(self.workspaces.iter().map(|rule| rule as &dyn StoredRule))
    }
}

/// What every stored rule says, whatever it is about.
pub trait StoredRule {
    /// Stable id, of no other rule in the document.
    fn id(&self) -> &str;
    /// `*` or an agent id.
    fn agent(&self) -> &str;
    /// What follows when it matches.
    fn effect(&self) -> RuleEffect;
    /// When it ends.
    fn limits(&self) -> &RuleLimits;
    /// The person's own words.
    fn note(&self) -> Option<&str>;
    /// Unix milliseconds.
    fn created_at_ms(&self) -> i64;
}

macro_rules! impl_stored_rule {
    ($($rule:ty: $effect:expr;)+) => {$(
        impl StoredRule for $rule {
            fn id(&self) -> &str {
                &self.id
            }

            fn agent(&self) -> &str {
                &self.agent
            }

            fn effect(&self) -> RuleEffect {
                let effect: fn(&Self) -> RuleEffect = $effect;
                effect(self)
            }

            fn limits(&self) -> &RuleLimits {
                &self.limits
            }

            fn note(&self) -> Option<&str> {
                self.note.as_deref()
            }

            fn created_at_ms(&self) -> i64 {
                self.created_at_ms
            }
        }
    )+};
}

impl_stored_rule! {
    CommandRule: |rule| rule.effect;
    CallRule: |rule| rule.effect;
    // An open one lets run what would have been asked about.
    Workspace: |rule| if rule.standing.is_open() { RuleEffect::Allow } else { RuleEffect::Deny };
}

impl RuleDraft {
    /// The rule that is stored.
    pub fn into_rule(self, id: String, created_at_ms: i64, from: RuleOrigin) -> CommandRule {
        let Self { agent, effect, program, arguments, folder, contents, limits, note } = self;
        CommandRule {
            id,
            agent,
            effect,
            program,
            arguments,
            folder,
            contents,
            limits,
            note,
            created_at_ms,
            from,
        }
    }
}

impl FileContents {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl RuleLimits {
    /// Whether it never ends.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for FlagSet {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rule() -> Value {
        json!({
            "id": "1", "agent": "*", "effect": "allow", "program": "git",
            "arguments": {"shape": {
                "subcommand": ["log"],
                "leading": [{"names": ["-C"], "value": {"path": {"below": ["/src"]}}}],
                "flags": {"listed": [{"names": ["-n", "--max-count"], "value": "number"}]},
                "operands": {"max": 9, "kinds": [{"one-of": ["main"]}, "data"]},
            }},
            "folder": "/src", "limits": {"uses": 3},
            "createdAtMs": 5, "from": {"preset": {"name": "everyday"}},
        })
    }

    #[test]
    fn a_rule_survives_being_stored() {
        let read: CommandRule = serde_json::from_value(rule()).unwrap();
        let stored = serde_json::to_value(&read).unwrap();
        assert_eq!(serde_json::from_value::<CommandRule>(stored).unwrap(), read);
        let ArgumentRule::Shape(shape) = read.arguments else { panic!("{read:?}") };
        assert_eq!(shape.secrets, SecretPlaces::Refused);
    }

    #[test]
    fn an_unknown_member_anywhere_makes_a_rule_unusable() {
        let places = [
            "",
            "/arguments",
            "/arguments/shape",
            "/arguments/shape/leading/0",
            "/arguments/shape/leading/0/value",
            "/arguments/shape/leading/0/value/path",
            "/arguments/shape/flags",
            "/arguments/shape/flags/listed/0",
            "/arguments/shape/operands",
            "/arguments/shape/operands/kinds/0",
            "/limits",
            "/from",
            "/from/preset",
        ];
        for place in places {
            let mut changed = rule();
            changed.pointer_mut(place).unwrap().as_object_mut().unwrap().insert("only".into(), json!("x"));
            assert!(serde_json::from_value::<CommandRule>(changed).is_err(), "{place}");
        }
    }
}
