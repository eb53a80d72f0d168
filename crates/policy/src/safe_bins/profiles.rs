//! What arguments the known filters take, as the newest peer has them (docs/protocol/commands.md,
//! "Safe bins").

use std::collections::BTreeSet;

/// Arguments that are harmless for one program.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Profile {
    pub(super) least: usize,
    pub(super) most: Option<usize>,
    pub(super) value_flags: BTreeSet<String>,
    /// Options whose value must stand behind `=`: the next word would be an operand.
    pub(super) glued_flags: BTreeSet<String>,
    pub(super) plain_flags: BTreeSet<String>,
    pub(super) denied_flags: BTreeSet<String>,
}

/// A profile of the configuration. It can name options with values, not options without: those stay unknown.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CustomProfile {
    /// Fewest operands.
    pub min_positional: usize,
    /// Most operands; `None` is any number. Less than the fewest counts as the fewest.
    pub max_positional: Option<usize>,
    /// Options that take a value, with their dashes.
    pub allowed_value_flags: Vec<String>,
    /// Options that are refused even where something else would allow them.
    pub denied_flags: Vec<String>,
}

impl From<CustomProfile> for Profile {
    fn from(custom: CustomProfile) -> Self {
        let set = |flags: Vec<String>| {
            flags.iter().map(|flag| flag.trim().to_owned()).filter(|flag| !flag.is_empty()).collect()
        };
        Self {
            least: custom.min_positional,
            most: custom.max_positional.map(|most| most.max(custom.min_positional)),
            value_flags: set(custom.allowed_value_flags),
            glued_flags: BTreeSet::new(),
            plain_flags: BTreeSet::new(),
            denied_flags: set(custom.denied_flags),
        }
    }
}

impl Profile {
    /// The flag that a long option means: itself, or the only known one that it begins.
    pub(super) fn long_flag(&self, typed: &str) -> Option<&str> {
        let known = || {
            [&self.value_flags, &self.glued_flags, &self.plain_flags, &self.denied_flags]
                .into_iter()
                .flatten()
        };
        if typed.len() <= "--".len() {
            return None;
        }
        if let Some(exact) = known().find(|flag| *flag == typed) {
            return Some(exact);
        }
        let begun: BTreeSet<&str> =
            known().map(String::as_str).filter(|flag| flag.starts_with(typed)).collect();
        // A second meaning makes the program refuse it, or take the one that we do not expect.
        if begun.len() == 1 { begun.into_iter().next() } else { None }
    }
}

/// Whether a program has a language of its own, which no list of options can tame.
pub(super) fn has_language(name: &str) -> bool {
    LANGUAGES.contains(&name)
}

/// The built-in profiles by program.
pub(super) fn built_in() -> impl Iterator<Item = (&'static str, Profile)> {
    TABLE.iter().map(|row| {
        let set = |flags: &str| flags.split_whitespace().map(str::to_owned).collect();
        let profile = Profile {
            least: row.operands.0,
            most: Some(row.operands.1),
            value_flags: set(row.values),
            glued_flags: set(row.glued),
            plain_flags: set(row.plain),
            denied_flags: set(row.denied),
        };
        (row.name, profile)
    })
}

struct Row {
    name: &'static str,
    /// Fewest and most.
    operands: (usize, usize),
    values: &'static str,
    glued: &'static str,
    plain: &'static str,
    denied: &'static str,
}

const TABLE: &[Row] = &[
    Row {
        name: "cut",
        operands: (0, 0),
        values: "--bytes --characters --fields --delimiter --output-delimiter -b -c -f -d",
        glued: "",
        plain: "--complement --only-delimited --zero-terminated -n -s -z",
        denied: "",
    },
    Row {
        name: "grep",
        operands: (0, 0),
        values: "--regexp --max-count --after-context --before-context --context --devices --binary-files \
                 --exclude --include --label -e -m -A -B -C -D",
        glued: "",
        plain: "",
        denied: "--file --exclude-from --dereference-recursive --directories --recursive -f -d -r -R",
    },
    Row {
        name: "head",
        operands: (0, 0),
        values: "--lines --bytes -n -c",
        glued: "",
        plain: "--quiet --silent --verbose --zero-terminated -q -v -z",
        denied: "",
    },
    Row {
        name: "sort",
        operands: (0, 0),
        values: "--key --field-separator --buffer-size --parallel --batch-size -k -t -S",
        glued: "",
        plain: "",
        denied: "--compress-program --files0-from --output --random-source --temporary-directory -T -o",
    },
    Row {
        name: "tail",
        operands: (0, 0),
        values: "--lines --bytes --sleep-interval --max-unchanged-stats --pid -n -c",
        glued: "",
        plain: "--quiet --silent --verbose --zero-terminated -q -v -z",
        denied: "--follow --retry -F -f",
    },
    Row {
        name: "tr",
        operands: (1, 2),
        values: "",
        glued: "",
        plain: "--complement --delete --squeeze-repeats --truncate-set1 -C -c -d -s -t",
        denied: "",
    },
    Row {
        name: "uniq",
        operands: (0, 0),
        values: "--skip-fields --skip-chars --check-chars -f -s -w",
        // The peers take the next word for its value; the program takes it for a file to read, and another
        // for one to write.
        glued: "--group",
        plain: "--count --repeated --unique --ignore-case --zero-terminated -c -d -u -i -z",
        denied: "",
    },
    Row {
        name: "wc",
        operands: (0, 0),
        values: "",
        glued: "",
        plain: "--bytes --chars --lines --max-line-length --words -L -c -l -m -w",
        denied: "--files0-from",
    },
];

const LANGUAGES: &[&str] = &["awk", "gawk", "gsed", "jq", "mawk", "nawk", "sed"];
