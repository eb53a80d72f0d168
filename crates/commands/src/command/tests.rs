//! One command a line: what is typed, and what would run.

use super::*;

/// The list that would run, or why no entry counts.
fn runs(text: &str) -> Result<String, PromptReason> {
    let words = crate::shell::parse(text).unwrap().commands.remove(0).words;
    let candidate = resolve(&words);
    match candidate.mode {
        Mode::PromptOnly(reason) => Err(reason),
        Mode::Executable | Mode::ExactCommand => {
            let rest: Vec<&str> =
                words[candidate.arguments..].iter().map(|word| word.text.as_str()).collect();
            Ok(rest.join(" "))
        }
    }
}

fn check(cases: &[(&str, Result<&str, PromptReason>)]) {
    for (text, expected) in cases {
        assert_eq!(runs(text), expected.map(str::to_owned), "{text}");
    }
}

const BLOCKED: Result<&str, PromptReason> = Err(PromptReason::BlockedWrapper);
const SCRIPT: Result<&str, PromptReason> = Err(PromptReason::PackageScript);

#[test]
fn transparent_wrappers_are_peeled_only_with_options_that_are_understood() {
    check(&[
        ("scan -x", Ok("scan -x")),
        ("env -- scan -x", Ok("scan -x")),
        ("env - scan", Ok("scan")),
        ("env A=1 scan", BLOCKED),
        ("env A-B=1 scan", BLOCKED),
        ("env -u A scan", BLOCKED),
        ("env -S 'scan x'", BLOCKED),
        ("nice -n 5 -- scan", Ok("scan")),
        ("nice -5 scan", Ok("scan")),
        ("nice -n", BLOCKED),
        ("nice -x scan", BLOCKED),
        ("/usr/bin/Nice.exe scan", Ok("scan")),
        ("timeout -k 1 --signal=TERM 5 scan", Ok("scan")),
        ("timeout 5", BLOCKED),
        ("timeout -k1 5 scan", BLOCKED),
        ("stdbuf -o L --error=0 scan", Ok("scan")),
        ("stdbuf -oL scan", BLOCKED),
        ("time -p -f %e scan", Ok("scan")),
        ("\\time -o out scan", BLOCKED),
        ("flock -x -w 3 /run/l scan", Ok("scan")),
        ("flock ~/l scan", BLOCKED),
        ("flock /run/l -c scan", BLOCKED),
        ("nohup nohup scan", Ok("scan")),
        ("sudo -n scan", BLOCKED),
        ("setsid scan", BLOCKED),
    ]);
}

#[test]
fn four_wrappers_are_peeled_and_a_fifth_is_not() {
    check(&[
        ("nice nohup timeout 3 env scan", Ok("scan")),
        ("command nice exec nohup scan", Ok("scan")),
        ("nice nice nice nice nice scan", Err(PromptReason::TooDeep)),
        ("nice nice nice nice sudo scan", BLOCKED),
        ("npx npx npx npx npx scan", Ok("scan")),
        ("npx npx npx npx npx npx scan", Err(PromptReason::TooDeep)),
    ]);
}

#[test]
fn carriers_of_the_shell_are_peeled_and_what_reads_text_never_counts() {
    check(&[
        ("command -- scan", Ok("scan")),
        ("command -p scan", BLOCKED),
        ("command -v scan", BLOCKED),
        ("exec -c scan", Ok("scan")),
        ("exec -a other scan", Err(PromptReason::Renamed)),
        ("exec -ca other scan", Err(PromptReason::Renamed)),
        ("COMMAND scan", Ok("COMMAND scan")),
        ("builtin eval scan", Err(PromptReason::Eval)),
        ("nice . ./x", Err(PromptReason::Source)),
        ("alias a=b", Err(PromptReason::Alias)),
        ("xargs scan", Err(PromptReason::Carrier)),
        ("exec xargs scan", Err(PromptReason::Carrier)),
        ("find . -name x", Ok("find . -name x")),
        ("find . -okdir scan {} +", Err(PromptReason::Carrier)),
        ("exec sh -c scan", Err(PromptReason::ShellThroughCarrier)),
        ("nice bash -lc scan", Err(PromptReason::ShellThroughCarrier)),
    ]);
}

#[test]
fn package_runners_are_peeled_when_the_place_is_not_changed() {
    check(&[
        ("npx -y scan", Ok("scan")),
        ("npx -p other scan", BLOCKED),
        ("npx --call scan", BLOCKED),
        ("npm exec -- scan a", Ok("scan a")),
        ("npm --prefix /x exec scan", BLOCKED),
        ("npm run scan", Ok("npm run scan")),
        ("npm -g root", Ok("npm -g root")),
        ("pnpm exec scan", Ok("scan")),
        ("pnpm -r exec scan", BLOCKED),
        ("pnpm scan", SCRIPT),
        ("pnpm install", Ok("pnpm install")),
        ("yarn dlx -q scan", Ok("scan")),
        ("yarn scan", SCRIPT),
        ("yarn add scan", Ok("yarn add scan")),
    ]);
}

#[test]
fn shells_tell_their_text_script_or_neither() {
    let usage = |text: &str| {
        let words = crate::shell::parse(text).unwrap().commands.remove(0).words;
        shells::usage(&words)
    };
    let inline = |text: &str| match usage(text) {
        Some(ShellUse::Inline { payload, starts_up, carried, .. }) => Some((payload, starts_up, carried)),
        _ => None,
    };
    let script = |text: &str| match usage(text) {
        Some(ShellUse::Script { operand }) => Some(operand),
        _ => None,
    };
    assert_eq!(inline("bash -o pipefail -ec 'a b' x"), Some((4, StartUp::Nothing, None)));
    assert_eq!(inline("bash -lc a"), Some((2, StartUp::Files, None)));
    assert_eq!(inline("sh -c '\"$0\" \"$@\"' scan a"), Some((2, StartUp::Nothing, Some(Carried::All))));
    assert_eq!(inline("sh -c 'exec -- $0' scan"), Some((2, StartUp::Nothing, Some(Carried::ProgramAlone))));
    assert_eq!(inline("sh -c '$0 \"$1\"' scan a"), Some((2, StartUp::Nothing, Some(Carried::Some))));
    assert_eq!(inline("sh -c '$0' 'scan x'"), Some((2, StartUp::Nothing, None)));
    assert_eq!(inline("sh -c '\"$0\"; id' scan"), Some((2, StartUp::Nothing, None)));
    assert_eq!(inline("bash -c -x scan"), None);
    assert_eq!(inline("bash -cx scan"), Some((2, StartUp::Nothing, None)));
    assert_eq!(inline("fish -cwipe scan"), None);
    assert_eq!(inline("sh -cwipe scan"), None);
    assert_eq!(script("bash -x run.sh -c"), Some(2));
    assert_eq!(script("bash -s run.sh"), None);
    assert_eq!(script("bash --rcfile x run.sh"), None);
    assert_eq!(usage("bash"), Some(ShellUse::Bare));
    assert_eq!(usage("scan"), None);
}
