//! Command texts taken apart: what is accepted with which words, joints, extensions and dialect, and what is
//! refused, for which reason and where.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use countersign_commands::analysis::OpaqueReason;
use countersign_commands::shell::{Dialect, Extension, Script, SimpleCommand, Word, parse};
use pretty_assertions::assert_eq;

/// Each text is accepted, and its commands read as written beside it: words between `<` and
/// `>`, joints between.
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let script = parse(text).unwrap_or_else(|opaque| panic!("{text:?} is refused: {opaque:?}"));
        assert_eq!(&written(&script), expected, "{text:?}");
    }
}

fn written(script: &Script) -> String {
    let word = |word: &Word| format!("<{}>", word.text);
    let command = |command: &SimpleCommand| {
        let joint = command.operator.map(|operator| format!(" {} ", operator.as_str())).unwrap_or_default();
        let negated = if command.negated { "! " } else { "" };
        let assigned: String = command.assignments.iter().map(|word| format!("{} ", word.text)).collect();
        format!("{joint}{negated}{assigned}{}", command.words.iter().map(word).collect::<String>())
    };
    script.commands.iter().map(command).collect()
}

/// Each text is refused for the reason, and the span is that of the culprit.
fn check_refused(cases: &[(&str, OpaqueReason, &str)]) {
    for (text, reason, culprit) in cases {
        match parse(text) {
            Ok(script) => panic!("{text:?} is accepted: {}", written(&script)),
            Err(opaque) => {
                assert_eq!((opaque.reason, &text[opaque.span]), (*reason, *culprit), "{text:?}");
            }
        }
    }
}

#[test]
fn quotes_and_backslashes_are_removed_as_shells_remove_them() {
    check(&[
        ("scan a  b\tc", "<scan><a><b><c>"),
        ("scan 'a b' \"c d\" e\\ f", "<scan><a b><c d><e f>"),
        ("scan e\\  f\\\tg \\==", "<scan><e ><f\tg><==>"),
        ("scan '' \"\" x''\"\"", "<scan><><><x>"),
        ("s'c'a\"n\" it\\'s", "<scan><it's>"),
        (r#"scan "a\"b\\c\$d\`e\f""#, "<scan><a\"b\\c$d`e\\f>"),
        (r"scan '\' \\ \# \;", r"<scan><\><\><#><;>"),
        ("scan '$x `y` $(z)' \"5$\" \"$\"", "<scan><$x `y` $(z)><5$><$>"),
        ("scan 'a\nb' \"c\nd\"", "<scan><a\nb><c\nd>"),
        ("scan a#b '#c' x=y -a=b x12#c", "<scan><a#b><#c><x=y><-a=b><x12#c>"),
        ("g++ a", "<g++><a>"),
        ("scan é 工具 \u{1}\u{7f}", "<scan><é><工具><\u{1}\u{7f}>"),
    ]);
}

#[test]
fn commands_are_joined_as_shells_join_them() {
    check(&[
        ("a && b || c; d\ne", "<a> && <b> || <c> ; <d> ; <e>"),
        ("a|b |& c", "<a> | <b> |& <c>"),
        ("a;", "<a>"),
        ("\n\na &&\n\n b;\n # c\n", "<a> && <b>"),
        ("a # b; c\nd", "<a> ; <d>"),
        ("! a | b && ! c", "! <a> | <b> && ! <c>"),
        ("A=1 B='x y' a b=c", "A=1 B=x y <a><b=c>"),
        ("! A=1 a", "! A=1 <a>"),
        ("a\r\nb\r\n", "<a> ; <b>"),
        ("[ -d x ] && a", "<[><-d><x><]> && <a>"),
        ("'[' '-n' 'x' ]", "<[><-n><x><]>"),
        ("[ ! 'a b' = c -o -n d ]", "<[><!><a b><=><c><-o><-n><d><]>"),
    ]);
}

#[test]
fn groups_are_flattened_and_keep_their_joints() {
    check(&[
        ("(a; b) && c", "<a> ; <b> && <c>"),
        ("a || { b && c; }", "<a> || <b> && <c>"),
        ("a | (b; c) | d", "<a> | <b> ; <c> | <d>"),
        ("( (a) )", "<a>"),
        ("{\na\n}", "<a>"),
        ("(a) 2>&1 | b", "<a> | <b>"),
    ]);
}

/// What a text needs beyond the newest peer, as written.
fn extensions(text: &str) -> Vec<(&'static str, &str)> {
    let script = parse(text).unwrap_or_else(|opaque| panic!("{text:?} is refused: {opaque:?}"));
    script.extensions.into_iter().map(|(extension, span)| (extension.as_str(), &text[span])).collect()
}

#[test]
fn extensions_are_named_where_they_stand() {
    assert_eq!(extensions("a b c"), []);
    assert_eq!(extensions("a 2>&1 b"), [("stream-duplicate", "2>&1")]);
    assert_eq!(
        extensions("a >/dev/null 2>> \t/dev/null </dev/null"),
        [("null-device", ">/dev/null"), ("null-device", "2>> \t/dev/null"), ("null-device", "</dev/null")]
    );
    assert_eq!(extensions("a $? \"b $?\""), [("exit-status", "$?"), ("exit-status", "$?")]);
    assert_eq!(
        extensions("a \"b $(cat <<'E'\nc\nE\n)\" d"),
        [("literal-substitution", "$(cat <<'E'\nc\nE\n)")]
    );
    assert_eq!(extensions("a \\\n  b"), [("line-continuation", "\\\n")]);
    assert_eq!(extensions("a '\\\n' \\\\\n# \\\nb").len(), 3);
    assert_eq!(
        extensions("(a; { b; }) && c"),
        [("group", "(a; { b; })"), ("group", "{ b; }")],
        "groups are in the order in which they open"
    );
    assert_eq!(
        extensions("if a; then b; elif c; then d; else e; fi 2>&1 && f"),
        [
            ("conditional", "if"),
            ("conditional", "then"),
            ("conditional", "elif"),
            ("conditional", "then"),
            ("conditional", "else"),
            ("conditional", "fi"),
            ("stream-duplicate", "2>&1"),
        ]
    );
    assert_eq!(
        extensions("for f in a b; do echo $f; done 2>&1"),
        [
            ("loop", "for"),
            ("loop", "do"),
            ("known-variable", "$f"),
            ("loop", "done"),
            ("stream-duplicate", "2>&1"),
        ]
    );
    let reasons = [
        (Extension::Loop, OpaqueReason::For),
        (Extension::Conditional, OpaqueReason::If),
        (Extension::StreamDuplicate, OpaqueReason::Redirect),
        (Extension::NullDevice, OpaqueReason::Redirect),
        (Extension::LineContinuation, OpaqueReason::LineContinuation),
        (Extension::ExitStatus, OpaqueReason::DynamicArgument),
        (Extension::LiteralSubstitution, OpaqueReason::CommandSubstitution),
        (Extension::Group, OpaqueReason::Group),
    ];
    for (extension, reason) in reasons {
        assert_eq!(extension.reason(), reason);
    }
}

#[test]
fn redirections_are_no_words_and_belong_to_their_command() {
    let text = "a 2>&1 b >/dev/null | c";
    let script = parse(text).unwrap();
    assert_eq!(written(&script), "<a><b> | <c>");
    assert_eq!(&text[script.commands[0].span.clone()], "a 2>&1 b >/dev/null");
}

#[test]
fn texts_that_only_some_shells_read_so_say_so() {
    for (text, dialect) in [
        ("a 'b' | c", Dialect::Posix),
        ("a |& b", Dialect::Bash),
        ("a $'b'", Dialect::Bash),
        ("a &>/dev/null", Dialect::Bash),
        ("a; time b", Dialect::Divided),
        ("coproc a", Dialect::Divided),
        ("]] a", Dialect::Divided),
        ("a\r\nb", Dialect::Divided),
        ("-a b", Dialect::Divided),
        ("a $\"b\"", Dialect::Divided),
        ("a $'\\u00e9'", Dialect::Divided),
        (" -a \"time\" 'time' b", Dialect::Posix),
    ] {
        assert_eq!(parse(text).unwrap().dialect, dialect, "{text:?}");
    }
}

#[test]
fn words_that_a_shell_could_change_are_marked() {
    for (word, expands) in [
        ("a", false),
        ("*", true),
        ("a?", true),
        ("[a]", true),
        ("[", false),
        ("a[", true),
        ("{a,b}", true),
        ("{}", false),
        ("{},a", true),
        ("~", true),
        ("~x/y", true),
        ("a~", false),
        ("k=~", true),
        ("a:~", true),
        ("$?", true),
        ("'*'", false),
        ("\\*", false),
        ("\"{a,b}\"", false),
        ("\"a\"*", true),
    ] {
        let script = parse(&format!("scan {word}")).unwrap();
        assert_eq!(script.commands[0].words[1].expands, expands, "{word:?}");
    }
}

#[test]
fn ansi_strings_are_decoded_where_shells_agree() {
    check(&[
        (r"a $'\a\b\e\E\f\n\r\t\v'", "<a><\u{7}\u{8}\u{1b}\u{1b}\u{c}\n\r\t\u{b}>"),
        (r#"a $'\\x\'\"\?'"#, "<a><\\x'\"?>"),
        (r"a $'\x41\102\7z'", "<a><AB\u{7}z>"),
        (r"a $'\u0041\U00000042'", "<a><AB>"),
        (r"$'a' b", "<a><b>"),
    ]);
    for escape in [
        r"\0",
        r"\x00",
        r"\000",
        r"\q",
        r"\cA",
        r"\x",
        r"\xg",
        r"\x411",
        r"\xe9",
        r"\351",
        r"\777",
        r"\u41",
        r"\ud800",
        r"\U00110000",
        "\\\n",
    ] {
        assert!(parse(&format!("a $'{escape}'")).is_err(), "{escape}");
    }
}

#[test]
fn what_a_shell_would_compute_or_run_is_refused() {
    use OpaqueReason as R;
    check_refused(&[
        ("a $x", R::DynamicArgument, "$"),
        ("a \"${x}\"", R::DynamicArgument, "$"),
        ("a $((1))", R::DynamicArgument, "$"),
        ("a x$?", R::DynamicArgument, "$"),
        ("$x a", R::DynamicExecutable, "$"),
        ("a*", R::DynamicExecutable, "*"),
        ("a $(b)", R::CommandSubstitution, "$"),
        ("a \"`b`\"", R::CommandSubstitution, "`"),
        ("a <(b)", R::ProcessSubstitution, "<"),
        ("a <<E\nE", R::Heredoc, "<"),
        ("a <<<b", R::HereString, "<"),
        ("a & b", R::Background, "&"),
        ("if a; then b", R::If, "if"),
        ("if a then b; fi", R::If, "if"),
        ("if a; then b; fi | c", R::If, "if"),
        ("a | if b; then c; fi", R::If, "if"),
        ("if a; then; fi", R::If, "if"),
        ("if a; then b; else c; elif d; then e; fi", R::If, "if"),
        ("if a; then b; else c; else d; fi", R::If, "if"),
        ("if a; then (b; fi)", R::If, "if"),
        ("if a; then b & fi", R::If, "if"),
        ("if a; then b; fi c", R::If, "if"),
        ("if a; then b; fi > c", R::If, "if"),
        ("! if a; then b; fi", R::If, "if"),
        ("x; if a; then $b; fi", R::If, "if"),
        ("a; then b; fi", R::SyntaxError, "then"),
        ("{ fi; }", R::SyntaxError, "fi"),
        ("for a in $b; do c; done", R::For, "for"),
        ("until a; do b; done", R::While, "until"),
        ("case a in b) c;; esac", R::Case, "case"),
        ("a() { b; }", R::FunctionDefinition, "("),
        ("function a { b; }", R::FunctionDefinition, "function"),
        ("[[ a ]]", R::Compound, "["),
        ("a [[ b", R::Compound, "["),
        ("((a))", R::Group, "("),
        ("A=1", R::Assignment, "A=1"),
        ("A=1; b", R::Assignment, "A=1"),
        ("A+=1 b", R::Assignment, "="),
        ("{a,b}", R::Expansion, "{"),
    ]);
}

#[test]
fn redirections_that_reach_anything_else_are_refused() {
    use OpaqueReason::Redirect;
    check_refused(&[
        ("a >b", Redirect, ">"),
        ("a 3>&1", Redirect, "3>"),
        ("a 2>&3", Redirect, "2>"),
        ("a >&-", Redirect, ">"),
        ("a x2>&1", Redirect, ">"),
        ("a>/dev/null", Redirect, ">"),
        ("a >/dev/nullx", Redirect, ">"),
        ("a >/dev/null/../x", Redirect, ">"),
        ("a >\"/dev/null\"", Redirect, ">"),
        ("a 2>&1>b", Redirect, "2>"),
        ("a 2>&12", Redirect, "2>"),
        ("a &>b", Redirect, "&"),
        ("a <>/dev/null", Redirect, "<"),
        (">/dev/null a", Redirect, ">/dev/null"),
        ("(a)>/dev/null", Redirect, ">"),
    ]);
}

#[test]
fn what_no_shell_or_not_every_shell_accepts_is_refused() {
    for text in [
        "a &&",
        "a |",
        "&& a",
        "a && && b",
        "a | | b",
        "a ;; b",
        "; a",
        "a\n; b",
        "a\n&& b",
        "! a | ! b",
        "! ! a",
        "!",
        "!\na",
        "! (a)",
        "! { a; }",
        "(a",
        "a)",
        "(a))",
        "{ a; ",
        "{ a }",
        "{a; }",
        "( )",
        "(;a)",
        "(a) b",
        "(a) (b)",
        "a (b)",
        "( a }",
        "{ a; )",
        "then a",
        "a; done",
        "in a",
        "a; if''",
        "done\"\"",
        "}",
        "'a",
        "\"a",
        "$'a",
        "a\\",
        "a\0",
        "a\rb",
        "# \r",
        "'\r'",
        "a\u{b}b",
        "a\u{c}",
        "a\u{a0}b",
        "\u{feff}a",
        "\" a\" b",
        "'' b",
        "a#b",
        "a 12#",
        "a ''2#",
        "a+:b",
        "a+",
        "a%b",
        "%1",
        "'%1'",
        "é: a",
        "a; --b=''",
        "a: b",
        "a =~ b",
        "[ a",
        "[ a b ]",
        "[ - ]",
        "[ k=\\\" ]",
        "[ a] ]",
        "[ a = ]",
        "[ -v a ]",
        "'[' '-v' 'a' ]",
        "[ '-n' x ]",
        "a }=~",
        "- a",
        "a {..}",
        "if} a",
        "a | } b",
        "a && }",
        "a || {b; }",
        "! }",
        "A=1 }",
        "A=1 { a",
        "A=1 if",
        "a && then",
        "a }\\ =~",
        "A=1 b:c",
        "A={} b",
        "\"$\" a",
        "[ a ] ]",
        "[ ]",
        "[ a \\< b ]",
        "",
        " \n ",
        "# a",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_backslash_newline_that_joins_is_refused() {
    for text in [
        "a\\\nb",
        "a b\\\n",
        "a \"b\\\nc\"",
        "a &\\\n& b",
        "a |\\\n| b",
        "a;\\\n; b",
        "(\\\na)",
        "a 2>\\\n&1",
        "a \\\r\n b",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}
