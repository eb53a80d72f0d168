//! What holds for every command text: it is taken apart or refused, with spans in it, in linear time, and its
//! words stay the same wherever they stand.

use countersign_commands::analysis::{OpaqueReason, analyze_text_as};
use countersign_commands::profile::Profile;
use countersign_commands::shell::{Extension, parse};
use countersign_policy::display::shell_quoted;
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::Duration;

/// Everything with a meaning, and a few things without.
const PIECES: &[&str] = &[
    "a",
    "b1",
    " ",
    "\t",
    "\n",
    "\r\n",
    "'",
    "\"",
    "\\",
    "\\\n",
    "$",
    "$?",
    "$'",
    "$x",
    "`",
    "#",
    "!",
    "&",
    "&&",
    "|",
    "||",
    ";",
    "(",
    ")",
    "{ ",
    "; }",
    "{",
    "}",
    "<",
    ">",
    "2>&1",
    " >/dev/null",
    "=",
    "A=1 ",
    "~",
    "*",
    "[",
    "]",
    "é",
    "漢",
    "\0",
    "\u{a0}",
    "time ",
    "if ",
    "'x y'",
    "\"x\"",
    "\u{b}",
    "\r",
    "\\ ",
    "\\\t",
    "$'\\q'",
    "$[1]",
    "V+=x ",
    "1V=x ",
    "V=(a) ",
    "V[0]=x ",
    "[[ a ]]",
    "[[ a == b ]] ",
    " < a ",
    "<b1",
    "! a ",
    "! { ",
    "\"\" ",
    "\" \" ",
    "{1..2}",
    " == ",
    "é=x ",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        vec(proptest::sample::select(PIECES), 0..12).prop_map(|pieces| pieces.concat())
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn every_text_is_taken_apart_or_refused_with_spans_in_it(text in texts()) {
        match parse(&text) {
            Err(opaque) => prop_assert!(text.get(opaque.span.clone()).is_some(), "{:?}", opaque),
            Ok(script) => {
                let mut end = 0;
                prop_assert!(!script.commands.is_empty());
                prop_assert!(script.commands[0].operator.is_none());
                for (number, command) in script.commands.iter().enumerate() {
                    prop_assert_eq!(command.operator.is_none(), number == 0);
                    prop_assert!(end <= command.span.start && text.get(command.span.clone()).is_some());
                    prop_assert!(!command.words.is_empty());
                    if script.extensions.contains(&(Extension::InputFile, command.words[0].span.clone())) {
                        // A file stands where the next command reads it, and both words are that file's.
                        let reader = script.commands.get(number + 1).map(|reader| reader.span.clone());
                        prop_assert!(reader.is_some_and(
                            |reader| reader.start <= command.span.start && command.span.end <= reader.end
                        ));
                        prop_assert!(command.words.iter().all(|word| word.span == command.words[0].span));
                        continue;
                    }
                    let mut at = command.span.start;
                    for word in command.assignments.iter().chain(&command.words) {
                        prop_assert!(at <= word.span.start && word.span.end <= command.span.end);
                        prop_assert!(text.get(word.span.clone()).is_some_and(|source| !source.is_empty()));
                        at = word.span.end;
                    }
                    end = command.span.end;
                }
                for (_, span) in &script.extensions {
                    prop_assert!(text.get(span.clone()).is_some());
                }
            }
        }
    }

    #[test]
    fn the_reference_profile_takes_every_text_apart_or_refuses_it(text in texts()) {
        for text in [shell_quoted(&["sh".to_owned(), "-c".to_owned(), text.clone()]), text] {
            let analysis = analyze_text_as(&text, Profile::Reference);
            prop_assert_eq!(analysis.opaque.is_some(), analysis.segments.is_empty());
            let opaque = analysis.opaque.iter().map(|opaque| &opaque.span);
            let words = analysis.segments.iter().flat_map(|segment| &segment.words).map(|word| &word.span);
            for span in opaque.chain(words) {
                prop_assert!(text.get(span.clone()).is_some(), "{:?} {:?}", text, analysis);
            }
        }
    }

    #[test]
    fn words_read_alone_are_the_same_words(text in texts()) {
        let Ok(script) = parse(&text) else { return Ok(()) };
        // An operator of a test is refused elsewhere.
        let commands = script.commands.iter().filter(|command| command.words[0].text != "[");
        for word in commands.flat_map(|command| &command.words[1..]) {
            // At the end of the text an escaped blank would be refused.
            let alone = format!("a {} b", &text[word.span.clone()]);
            let again = parse(&alone).unwrap();
            let again = &again.commands[0].words[1];
            prop_assert_eq!((&again.text, again.expands, again.quoted), (&word.text, word.expands, word.quoted));
        }
    }

    #[test]
    fn quoted_words_come_back(words in vec("[^\\x00\\r]{0,8}", 0..6)) {
        let mut argv = vec!["scan".to_owned()];
        argv.extend(words);
        let script = parse(&shell_quoted(&argv)).unwrap();
        let again: Vec<&str> = script.commands[0].words.iter().map(|word| word.text.as_str()).collect();
        prop_assert_eq!(again, argv);
    }
}

#[test]
fn hostile_texts_take_time_in_proportion_to_their_length() {
    let long = |part: &str| part.repeat(131_072 / part.encode_utf16().count());
    let nested = |open: &str, close: &str| format!("{}a{}", open.repeat(10_000), close.repeat(10_000));
    let mut texts: Vec<String> = PIECES.iter().map(|piece| long(piece)).collect();
    texts.extend(PIECES.iter().map(|piece| format!("a {}", piece.repeat(60_000 / piece.len()))));
    texts.extend([
        nested("( ", " )"),
        nested("{ ", "; }"),
        nested("(", ")"),
        nested("$(", ")"),
        nested("'", "'"),
        nested("! ", ""),
    ]);
    texts.extend([
        long("a="),
        long("a/="),
        long("-="),
        format!("a{}/{}", "b".repeat(60_000), "=".repeat(60_000)),
    ]);
    texts.extend([
        long("1"),
        long("1>"),
        long("a; "),
        long("a|"),
        long("\\ "),
        long("a \\\n"),
        long("#\n"),
        long("😀"),
        long("a\u{b}"),
        long("a\u{b};"),
        long("a \\\t"),
        long("$'\\q' "),
        long("\"\";"),
        long("V+=x "),
        long("[[ a ]];"),
        long("! [ "),
        long("{ "),
        long("[ ("),
        format!("{}{}", "a \\\t".repeat(20_000), " ".repeat(40_000)),
    ]);
    let hostile = hostile();
    for text in texts {
        let begun = worked();
        let parsed = parse(&text);
        let taken = worked() - begun;
        let shown: String = text.chars().take(20).collect();
        assert!(taken < hostile, "{shown:?}… took {taken:?}: {:?}", parsed.err());
        for text in [text.clone(), format!("sh -c '{}'", text.replace('\'', "\""))] {
            let begun = worked();
            let analysis = analyze_text_as(&text, Profile::Reference);
            let taken = worked() - begun;
            assert!(taken < hostile, "{shown:?}… took {taken:?} as a peer: {:?}", analysis.opaque);
        }
    }
}

#[test]
fn limits_are_those_of_the_peers_or_lower() {
    let text = |length: usize| format!("a {}", "b".repeat(length - 2));
    assert!(parse(&text(131_072)).is_ok());
    assert_eq!(parse(&text(131_073)).unwrap_err().reason, OpaqueReason::TooLong);
    assert!(parse(&"a ".repeat(12_000)).is_ok());
    assert_eq!(parse(&"a ".repeat(50_000)).unwrap_err().reason, OpaqueReason::TooLong);
    let nested = |depth: usize| format!("{}a{}", "( ".repeat(depth), " )".repeat(depth));
    assert!(parse(&nested(32)).is_ok());
    assert_eq!(parse(&nested(33)).unwrap_err().reason, OpaqueReason::TooLong);
}

/// A thousand times the work of a plain text of this length, which is a fraction of what quadratic work
/// would be.
fn hostile() -> Duration {
    let plain = format!("a {}", "b".repeat(131_070));
    let begun = worked();
    let mut times = 0;
    // The kernel tells it to a tick, of which one text may take less.
    while worked() - begun < Duration::from_millis(100) {
        assert!(parse(&plain).is_ok());
        times += 1;
    }
    (worked() - begun) / times * 1_000
}

/// What a processor has worked for this thread: a machine that has much else to do counts nothing more.
fn worked() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<u64> = told.split_whitespace().next().and_then(|first| first.parse().ok());
    assert!(nanoseconds.is_some(), "expected the kernel to tell what this thread has worked, got {told:?}");
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}
