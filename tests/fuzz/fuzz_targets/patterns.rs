//! Any pattern is answered in bounded time, and a path without wildcards matches itself only.
#![no_main]

use countersign_policy::allowlist::{Rule, Target, kind, matching};
use countersign_policy::facts::ProgramFacts;
use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};

fuzz_target!(|input: (String, Option<String>, String, Vec<String>)| {
    let (pattern, arg_pattern, path, args) = input;
    let path = format!("/{path}");
    let rule = |pattern: String| Rule {
        agent: "main".to_owned(),
        id: "id".to_owned(),
        pattern,
        arg_pattern: arg_pattern.clone(),
        generated: false,
    };
    let program = ProgramFacts {
        path: Some(PathBuf::from(&path)),
        real_path: Some(PathBuf::from(&path)),
        ..ProgramFacts::default()
    };
    let target =
        Target { typed: &path, program: &program, args: &args, cwd: Some("/srv"), home: Path::new("/home/ada") };
    let literal = !pattern.contains(['*', '?', '~']) && pattern.contains('/');
    let rules = [rule(pattern)];
    let _ = kind(&rules[0]);
    if matching(&rules, target).is_some() && literal {
        assert_eq!(rules[0].pattern.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}'), path.as_str());
    }
});
