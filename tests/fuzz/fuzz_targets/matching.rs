//! Entries and environments. Any pattern is answered in bounded time, and a path without wildcards matches
//! itself only; no spelling of a blocked name passes, and what passes has a portable name.
#![no_main]

use countersign_commands::environment::{self, inherited, overrides};
use countersign_policy::allowlist::{Entry, Target, kind, matching};
use countersign_policy::facts::ProgramFacts;
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

// By the first letter, a pattern, one for its arguments, the path of a program and its arguments, or an
// environment; a mark stands between the parts.
fuzz_target!(|text: &str| {
    let Some((kind, text)) = text.split_at_checked(1) else { return };
    let mut parts = text.split('\u{1}').map(str::to_owned);
    if kind == "e" {
        return variables(
            parts.map(|part| part.split_once('=').map_or((part.clone(), String::new()), own)).collect(),
        );
    }
    let (Some(pattern), arg_pattern, path) = (parts.next(), parts.next(), parts.next()) else { return };
    let args: Vec<String> = parts.collect();
    entry(pattern, arg_pattern.filter(|pattern| !pattern.is_empty()), &path.unwrap_or_default(), &args);
});

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn entry(pattern: String, arg_pattern: Option<String>, path: &str, args: &[String]) {
    let path = format!("/{path}");
    let literal = !pattern.contains(['*', '?', '~']) && pattern.contains('/');
    let rule =
        Entry { agent: "main".to_owned(), id: "id".to_owned(), pattern, arg_pattern, generated: false };
    let program = ProgramFacts {
        path: Some(PathBuf::from(&path)),
        real_path: Some(PathBuf::from(&path)),
        ..ProgramFacts::default()
    };
    let target =
        Target { typed: &path, program: &program, args, cwd: Some("/srv"), home: Path::new("/home/ada") };
    let _ = kind(&rule);
    let rules = [rule];
    if matching(&rules, target).is_some() && literal {
        assert_eq!(
            rules[0].pattern.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}'),
            path.as_str()
        );
    }
}

fn variables(env: BTreeMap<String, String>) {
    for target in [environment::Target::Program, environment::Target::ShellWrapper] {
        let Ok(checked) = overrides(&env, target) else { continue };
        for name in checked.accepted.keys() {
            let upper = name.to_ascii_uppercase();
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_()".contains(&b)));
            assert!(
                upper != "PATH"
                    && !upper.starts_with("LD_")
                    && !upper.starts_with("DYLD_")
                    && upper != "BASH_ENV"
            );
        }
    }
    for (name, value) in inherited(env) {
        assert!(!name.is_empty() && !name.contains(['\0', '=']) && !value.contains('\0'));
        assert!(!name.to_uppercase().starts_with("LD_"));
    }
}
