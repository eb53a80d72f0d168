//! What holds for every document and every edit.

use crate::support::inputs::{documents, edit, world};
use crate::support::strictness;
use countersign_policy::document::{self, Parsed, apply, loosenings, normalised, parse, resolve};
use countersign_policy::effective::Requested;
use countersign_protocol::document::Document;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

proptest! {
    #[test]
    fn reading_what_was_written_gives_the_same_document(document in documents()) {
        let text = document::serialise(&document);
        prop_assert_eq!(parse(Some(text.as_bytes())), Parsed::Usable(document));
    }

    #[test]
    fn normalising_twice_changes_nothing_more(document in documents()) {
        let once = normalised(&document, &mut || "id".into());
        prop_assert_eq!(&normalised(&once, &mut || "other".into()), &once);
    }

    #[test]
    fn any_bytes_are_a_document_or_a_problem(bytes in vec(any::<u8>(), 0..64), document in documents(), at in any::<prop::sample::Index>()) {
        let _ = parse(Some(&bytes));
        let mut broken = document::serialise(&document).into_bytes();
        let at = at.index(broken.len());
        broken.truncate(at);
        if let Parsed::Usable(document) = parse(Some(&broken)) {
            let _ = resolve(&document, None, Requested::default());
        }
    }

    #[test]
    fn undo_takes_edits_back(document in documents(), edits in vec(edit(), 1..5)) {
        let mut next = 0;
        let mut new_id = || { next += 1; format!("new-{next}") };
        let mut before = document;
        let mut changed = before.clone();
        let mut undo = Vec::new();
        for edit in &edits {
            if let Ok(edited) = apply(&changed, std::slice::from_ref(edit), &mut new_id) {
                changed = edited.document;
                undo.splice(0..0, edited.undo);
            }
        }
        let mut back = apply(&changed, &undo, &mut new_id).unwrap().document;
        // Empty containers mean the same as absent ones.
        for document in [&mut before, &mut back] {
            without_empty(document);
        }
        prop_assert_eq!(back, before);
    }

    #[test]
    fn edits_that_loosen_are_noticed(document in documents(), edits in vec(edit(), 1..4), world in world()) {
        let Ok(edited) = apply(&document, &edits, &mut || "id".into()) else { return Ok(()) };
        for agent in ["main", "ops", "stranger"] {
            let verdict = |document: &Document| {
                let mut world = world.clone();
                (world.policy, world.rules) = resolve(document, Some(agent), Requested::default());
                strictness(&world.judge(None).verdict)
            };
            let runs_now_unasked = verdict(&edited.document) == 0 && verdict(&document) > 0;
            if runs_now_unasked {
                let found = loosenings(&document, &edited.document);
                prop_assert!(
                    found.iter().any(|one| one.scope == "*" || one.scope == agent),
                    "{:?} for {}: {:?}", edits, agent, found
                );
            }
        }
        prop_assert_eq!(loosenings(&document, &document), vec![]);
    }
}

fn without_empty(document: &mut Document) {
    for part in ["agents", "defaults"] {
        if document.0.get(part) == Some(&json!({})) {
            document.0.shift_remove(part);
        }
    }
}
