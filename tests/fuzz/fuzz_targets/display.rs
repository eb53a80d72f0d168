//! Whatever is shown gives the original back, and no line prints a control character.
#![no_main]

use countersign_policy::display::{
    Secrets, argv_line, argv_view, escape, masked_argv_line, masked_text, original, parse_argv_line, shown, unescape,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    assert_eq!(unescape(&escape(text)).as_deref(), Some(text));
    for secrets in [Secrets::Mask, Secrets::Show] {
        assert_eq!(original(&shown(text, secrets)).as_deref(), Some(text));
    }
    let argv: Vec<String> = text.split('\u{1}').map(str::to_owned).collect();
    assert_eq!(parse_argv_line(&argv_line(&argv)), Some(argv.clone()));
    let _ = (argv_view(&argv, &[]), parse_argv_line(text), unescape(text));
    for line in [escape(text), argv_line(&argv), masked_argv_line(&argv), masked_text(text)] {
        assert!(!line.chars().any(char::is_control));
    }
});
