//! No spelling of a blocked name passes, and what passes has a portable name.
#![no_main]

use countersign_policy::environment::{Target, inherited, overrides};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

fuzz_target!(|env: BTreeMap<String, String>| {
    for target in [Target::Program, Target::ShellWrapper] {
        let Ok(checked) = overrides(&env, target) else { continue };
        for name in checked.accepted.keys() {
            let upper = name.to_ascii_uppercase();
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_()".contains(&b)));
            assert!(upper != "PATH" && !upper.starts_with("LD_") && !upper.starts_with("DYLD_") && upper != "BASH_ENV");
        }
    }
    for (name, value) in inherited(env) {
        assert!(!name.is_empty() && !name.contains(['\0', '=']) && !value.contains('\0'));
        assert!(!name.to_uppercase().starts_with("LD_"));
    }
});
