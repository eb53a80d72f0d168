//! Any text is taken apart or refused, with spans that lie in it; each word read alone is the same word, and
//! quoting the words of a command again gives the same words.
#![no_main]

use countersign_commands::shell::parse;
use countersign_policy::display::shell_quoted;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let script = match parse(text) {
        Ok(script) => script,
        Err(opaque) => {
            assert!(text.get(opaque.span).is_some());
            return;
        }
    };
    assert!(script.extensions.iter().all(|(_, span)| text.get(span.clone()).is_some()));
    assert!(!script.commands.is_empty());
    for (number, command) in script.commands.iter().enumerate() {
        assert_eq!(command.operator.is_none(), number == 0);
        assert!(text.get(command.span.clone()).is_some());
        // An operator of a test is refused elsewhere.
        let is_test = command.words[0].text == "[";
        for word in command.words.iter().skip(1).filter(|_| !is_test) {
            let source = text.get(word.span.clone()).expect("the span is on character boundaries");
            // At the end of the text an escaped blank would be refused.
            let alone = parse(&format!("a {source} b")).expect("a word of an accepted text is accepted");
            assert_eq!(alone.commands[0].words[1].text, word.text);
        }
        let mut argv = vec!["a".to_owned()];
        argv.extend(command.words.iter().skip(1).map(|word| word.text.clone()));
        // A carriage return can only come from an escape; between quotes it is refused.
        if argv.iter().all(|word| !word.contains('\r')) {
            let again = parse(&shell_quoted(&argv)).expect("quoted words are accepted");
            let again: Vec<&String> = again.commands[0].words.iter().map(|word| &word.text).collect();
            assert!(again.into_iter().eq(&argv));
        }
    }
});
