//! Whatever is shown gives the original back and prints nothing that hides, and a message of a chat is taken
//! apart or left alone.
#![no_main]

use countersign_commands::raw_command;
use countersign_conformance::windows;
use countersign_policy::display::{
    Secrets, argv_line, argv_view, escape, masked_argv_line, masked_text, original, output_tail,
    parse_argv_line, parse_shell_quoted, shell_quoted, shown, unescape,
};
use countersign_protocol::shown::CommandView;
use countersign_routing::Release;
use countersign_routing::directive::Message;
use libfuzzer_sys::fuzz_target;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

fuzz_target!(|text: &str| {
    assert_eq!(unescape(&escape(text)).as_deref(), Some(text));
    for secrets in [Secrets::Mask, Secrets::Show] {
        let shown = shown(text, secrets);
        assert!(shown.spans.iter().all(|span| is_plain(&span.text)), "{shown:?}");
        assert_eq!(original(&shown).as_deref(), Some(text));
    }
    let argv: Vec<String> = text.split('\u{1}').map(str::to_owned).collect();
    assert_eq!(parse_argv_line(&argv_line(&argv)), Some(argv.clone()));
    assert_eq!(parse_shell_quoted(&shell_quoted(&argv)), Some(argv.clone()));
    assert!(is_plain_view(&argv_view(&argv, &[])));
    for line in [escape(text), argv_line(&argv), masked_argv_line(&argv), masked_text(text)] {
        assert!(!line.chars().any(char::is_control));
    }
    let _ = (parse_argv_line(text), parse_shell_quoted(text), unescape(text), output_tail(text, 20));
    let _ = (raw_command::check(&argv, Some(text)), windows::analyze(text), windows::escape(text));
    for release in [Release::Early, Release::Newest] {
        let message = Message::parse(text, release);
        assert!(message.cleaned.len() <= text.len());
    }
});

fn is_plain_view(view: &CommandView) -> bool {
    let args = view.segments.iter().flat_map(|segment| &segment.args);
    args.flat_map(|arg| &arg.shown.spans).all(|span| is_plain(&span.text))
}

/// Whether a person sees every character of it, in its place.
fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| {
        c != ' '
            && matches!(
                c.general_category(),
                GeneralCategory::Control
                    | GeneralCategory::Format
                    | GeneralCategory::LineSeparator
                    | GeneralCategory::ParagraphSeparator
                    | GeneralCategory::SpaceSeparator
                    | GeneralCategory::Surrogate
            )
    })
}
