//! Any bytes are a document or a problem; a document survives being written, normalised, shown and compared.
#![no_main]

use countersign_policy::document::{
    Parsed, loosenings, normalised, parse, redacted, resolve, serialise, snapshot, socket,
};
use countersign_policy::effective::Requested;
use countersign_policy::meaning::views;
use countersign_protocol::meaning::Refusals;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Parsed::Usable(document) = parse(Some(bytes)) else { return };
    assert_eq!(parse(Some(serialise(&document).as_bytes())), Parsed::Usable(document.clone()));
    let normal = normalised(&document, &mut || "id".to_owned());
    assert!(loosenings(&document, &document).is_empty());
    assert!(socket(&redacted(&document)).1.is_none());
    let _ = (
        resolve(&normal, None, Requested::default()),
        snapshot(&document, None),
        views(&document, &|_| Refusals::None),
    );
});
