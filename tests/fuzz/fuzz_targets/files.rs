//! Any bytes are a file of ours, of OpenClaw's or of a project, or a problem; what is understood says the
//! same when it is written and read again, and what is not is nowhere the less strict. The first byte tells
//! which file it is.
#![no_main]

use countersign_approvals::{history, rules};
use countersign_commands::git::config::{Names, settings};
use countersign_companion::fuzzing::{kept_file, openclaw_configuration};
use countersign_gateway::client::{Address, Pin};
use countersign_keep::fuzzing::state_file;
use countersign_node::fuzzing::submodules_of_index;
use countersign_policy::rules as policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    if *kind == KEPT_STATE {
        return state_file(rest);
    }
    let text = std::str::from_utf8(rest).unwrap_or_default();
    match kind % 14 {
        kind @ 0..6 => kept_file(kind, rest),
        6 => {
            for rule in rules::fuzzing::document(rest).into_iter().flat_map(|document| document.rules) {
                assert_eq!(policy::check(&rule), Ok(()), "a rule that makes no sense");
            }
        }
        7 => rules::fuzzing::counts(rest),
        8 => history::fuzzing::lines(rest),
        9 => history::fuzzing::note(rest),
        10 => history::fuzzing::anchor(text),
        11 => openclaw_configuration(text),
        12 => {
            for setting in settings(text).unwrap_or_default() {
                let _ = (setting.name(), setting.meaning());
            }
            for names in [Names::Short, Names::Long] {
                let _ = submodules_of_index(rest, names);
            }
        }
        _ => {
            if let Ok(address) = Address::parse(text) {
                let shown = address.to_string();
                assert!(!shown.chars().any(char::is_control));
                assert_eq!(Address::parse(&shown).map(|address| address.to_string()).ok(), Some(shown));
            }
            let _ = Pin::parse(text);
        }
    }
});

/// Beyond the kinds that are told by a remainder, so that inputs of these keep their meaning.
const KEPT_STATE: u8 = 255;
