//! Any text is a patch or is refused; a patch that is written is read as the same, and what it makes of a
//! text has the lines that it says.
#![no_main]

use countersign_tools::files::patch::{FilePatch, PatchLine, fit, parse};
use libfuzzer_sys::fuzz_target;

// A patch, and after a mark the file that it is about.
fuzz_target!(|input: &str| {
    let (text, file) = input.split_once('\u{1}').unwrap_or((input, ""));
    let framed = format!("*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch");
    for text in [text, &framed] {
        let Ok(patch) = parse(text) else { continue };
        assert_eq!(parse(&patch.to_string()).as_ref(), Ok(&patch));
        for change in &patch.files {
            let FilePatch::Update { chunks, .. } = change else { continue };
            let Ok(fitted) = fit(file, chunks) else { continue };
            let lines = || chunks.iter().flat_map(|chunk| &chunk.lines);
            let added = lines().filter(|line| matches!(line, PatchLine::Added(_))).count();
            let removed = lines().filter(|line| matches!(line, PatchLine::Removed(_))).count();
            let count = |text: &str| text.split_inclusive('\n').count();
            assert_eq!(count(&fitted) + removed, count(file) + added);
        }
    }
});
