//! Any text is taken apart or opaque, with spans that lie in it; quoting the words again gives the same words.
#![no_main]

use countersign_policy::analysis::{analyze_argv, analyze_text};
use countersign_policy::display::shell_quoted;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let analysis = analyze_text(text);
    assert_eq!(analysis.opaque.is_some(), analysis.segments.is_empty());
    for segment in &analysis.segments {
        let words: Vec<String> = segment.words.iter().map(|word| word.text.clone()).collect();
        assert!(segment.words.iter().all(|word| text.get(word.span.clone()).is_some()));
        let again = analyze_text(&shell_quoted(&words));
        let same = again.segments.first().map(|segment| segment.words.iter().map(|word| &word.text).collect::<Vec<_>>());
        assert_eq!(same, Some(words.iter().collect()));
    }
    let _ = analyze_argv(&["sh".to_owned(), "-c".to_owned(), text.to_owned()]);
});
