//! A trace in plain words, for people at a terminal: the sentences of the windows, out of the same files of
//! words (`ui/src/lib/i18n/trace`).

use countersign_companion::sentences::Language;
use countersign_protocol::trace::{EntryFit, RuleStanding, TestVerdict, TraceStep};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::LazyLock;

/// One step as a line: `+` speaks for running, `-` against it.
pub(crate) fn line(step: &TraceStep, language: Language) -> String {
    let mark = match step {
        TraceStep::Builtin
        | TraceStep::Skill
        | TraceStep::SafeBin { refusal: None }
        | TraceStep::Resolution { path: Some(_) }
        | TraceStep::Bound { .. }
        | TraceStep::Entry { fit: EntryFit::Covers, .. }
        | TraceStep::Rule { standing: RuleStanding::Allows, .. }
        | TraceStep::Open { .. }
        | TraceStep::Verdict { verdict: TestVerdict::Allow | TestVerdict::Contain, .. } => '+',
        TraceStep::Opaque { .. }
        | TraceStep::Missed { .. }
        | TraceStep::SafeBin { .. }
        | TraceStep::Resolution { .. }
        | TraceStep::Unbound { .. }
        | TraceStep::Environment { .. }
        | TraceStep::Entry { .. }
        | TraceStep::Rule { .. }
        | TraceStep::Held { .. }
        | TraceStep::Verdict { .. } => '-',
        TraceStep::Sandbox { .. }
        | TraceStep::Policy { .. }
        | TraceStep::Extension { .. }
        | TraceStep::Segment { .. }
        | TraceStep::Wrapper { .. }
        | TraceStep::Advice { .. } => ' ',
    };
    let words = language.pick(&WORDS.english, &WORDS.chinese, &WORDS.korean);
    let parts = words.say(step).into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    format!("{mark} {}", parts.join(" "))
}

/// The words of one language: a sentence for each kind of step and cause, by the names that the protocol has
/// for them. `{mark}` stands for what the step has there.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Words {
    #[serde(rename = "show")]
    _show: String,
    #[serde(rename = "policy")]
    _policy: String,
    layers: String,
    layer: Codes,
    sandbox: Codes,
    opaque: String,
    extension: String,
    segment: String,
    wrapper: String,
    program: String,
    not_found: String,
    builtin: String,
    entry: String,
    fit: Codes,
    rule: Codes,
    filter: String,
    no_filter: String,
    skill: String,
    miss: Codes,
    bound: String,
    unbound: String,
    unbound_cause: Codes,
    environment: String,
    open: String,
    open_for_all: String,
    held: Codes,
    advice: Codes,
    more: String,
    comes: Codes,
    verdict: Codes,
}

/// Words by what the protocol calls a cause.
type Codes = HashMap<String, String>;

impl Words {
    /// What is said, what it is about, and what comes behind.
    fn say(&self, step: &TraceStep) -> [String; 3] {
        let one = |said: &str| [said.to_owned(), String::new(), String::new()];
        let about = |said: &str, code: &str| [said.to_owned(), code.to_owned(), String::new()];
        let maybe = |said: &str, code: &Option<String>| about(said, code.as_deref().unwrap_or_default());
        match step {
            TraceStep::Policy { security, security_layer, ask, ask_layer, fallback, fallback_layer } => {
                one(&filled(
                    &self.layers,
                    &[
                        ("security", security.as_str()),
                        ("securityLayer", of(&self.layer, security_layer)),
                        ("ask", ask.as_str()),
                        ("askLayer", of(&self.layer, ask_layer)),
                        ("fallback", fallback.as_str()),
                        ("fallbackLayer", of(&self.layer, fallback_layer)),
                    ],
                ))
            }
            TraceStep::Sandbox { network } => {
                one(of(&self.sandbox, &if *network { "with" } else { "without" }))
            }
            TraceStep::Opaque { cause, text } => about(&filled(&self.opaque, &[("cause", cause)]), text),
            TraceStep::Extension { name, text } => about(&filled(&self.extension, &[("name", name)]), text),
            TraceStep::Segment { typed } => about(&self.segment, typed),
            TraceStep::Wrapper { through, program } => {
                about(&filled(&self.wrapper, &[("through", &through.join(" → "))]), program)
            }
            TraceStep::Resolution { path: Some(path) } => about(&self.program, path),
            TraceStep::Resolution { path: None } => one(&self.not_found),
            TraceStep::Builtin => one(&self.builtin),
            TraceStep::Entry { pattern, agent, fit } => {
                [self.entry.clone(), format!("{pattern} ({agent})"), of(&self.fit, fit).to_owned()]
            }
            TraceStep::Rule { standing: standing @ RuleStanding::MayRefuse, rule: Some(rule) } => {
                about(&format!("{}:", of(&self.rule, standing)), rule)
            }
            TraceStep::Rule { standing, rule } => maybe(of(&self.rule, standing), rule),
            TraceStep::SafeBin { refusal: None } => one(&self.filter),
            TraceStep::SafeBin { refusal: Some(refusal) } => about(&self.no_filter, refusal),
            TraceStep::Skill => one(&self.skill),
            TraceStep::Missed { cause, detail: None } => one(of(&self.miss, cause)),
            // In a window it looks like code; here something has to stand between.
            TraceStep::Missed { cause, detail: Some(detail) } => {
                about(&format!("{}:", of(&self.miss, cause)), detail)
            }
            TraceStep::Bound { programs } => about(&self.bound, &programs.join(", ")),
            TraceStep::Unbound { cause } => about(&self.unbound, of(&self.unbound_cause, cause)),
            TraceStep::Environment { names } => about(&self.environment, &names.join(", ")),
            TraceStep::Open { folder, agent } if agent == "*" => about(&self.open_for_all, folder),
            TraceStep::Open { folder, agent } => about(&filled(&self.open, &[("agent", agent)]), folder),
            TraceStep::Held { cause, detail } => maybe(of(&self.held, cause), detail),
            TraceStep::Advice { advice, subject, more } => {
                let [said, subject, _] = maybe(of(&self.advice, advice), subject);
                let more = if *more == 0 {
                    String::new()
                } else {
                    filled(&self.more, &[("count", &more.to_string())])
                };
                [said, subject, more]
            }
            TraceStep::Verdict { verdict, cause } => {
                about(of(&self.comes, verdict), of(&self.verdict, cause))
            }
        }
    }
}

/// The words for a cause.
fn of<'a>(words: &'a Codes, cause: &impl Serialize) -> &'a str {
    let code = serde_json::to_value(cause).ok();
    let code = code.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    words.get(code).map_or("", String::as_str)
}

/// A sentence with values in place of its marks.
fn filled(sentence: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some((before, mark)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((name, behind)) = mark.split_once('}') else { break };
        let value = values.iter().find(|(known, _)| *known == name);
        filled.push_str(value.map_or("", |(_, value)| value));
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

/// The words of each language.
#[derive(Debug)]
struct Languages {
    english: Words,
    chinese: Words,
    korean: Words,
}

static WORDS: LazyLock<Languages> = LazyLock::new(|| {
    // That they can be read is tested below: they are part of the program.
    let words = |text: &str| serde_json::from_str(text).unwrap_or_default();
    Languages {
        english: words(include_str!("../../../../ui/src/lib/i18n/trace/en.json")),
        chinese: words(include_str!("../../../../ui/src/lib/i18n/trace/zh.json")),
        korean: words(include_str!("../../../../ui/src/lib/i18n/trace/ko.json")),
    }
});

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::trace::{Advice, MissCause, PolicyLayer, VerdictCause};
    use countersign_protocol::vocabulary::{Ask, Security};

    #[test]
    fn the_language_is_that_of_the_locale() {
        for (locale, expected) in [
            ("zh_CN.UTF-8", Language::Chinese),
            ("ko_KR", Language::Korean),
            ("en_GB", Language::English),
            ("C", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(Language::of(locale), expected, "{locale}");
        }
    }

    #[test]
    fn steps_are_said_in_the_words_of_the_windows() {
        let check = |step: TraceStep, expected: &str| assert_eq!(line(&step, Language::English), expected);
        let advice =
            TraceStep::Advice { advice: Advice::AddEntry, subject: Some("/usr/bin/rg".into()), more: 2 };
        check(advice, "  Smallest change: an entry for /usr/bin/rg and 2 more");
        check(
            TraceStep::Missed { cause: MissCause::Launcher, detail: Some("Makefile".into()) },
            "- A file in the folder or above decides which program runs: Makefile",
        );
        check(
            TraceStep::Verdict { verdict: TestVerdict::Ask, cause: VerdictCause::AllowlistMiss },
            "- Would ask. Neither the allowlist nor a rule covers it.",
        );
        let layer = PolicyLayer::Defaults;
        check(
            TraceStep::Policy {
                security: Security::Full,
                security_layer: layer,
                ask: Ask::Off,
                ask_layer: layer,
                fallback: Security::Deny,
                fallback_layer: PolicyLayer::BuiltIn,
            },
            "  Policy: security full (defaults), ask off (defaults), fallback deny (built in)",
        );
        check(
            TraceStep::Sandbox { network: false },
            "  In a sandbox on this machine, without the network. What follows holds there.",
        );
    }

    #[test]
    fn every_language_has_words_for_every_cause() {
        let codes = |words: &Words| {
            let all = [
                &words.layer,
                &words.sandbox,
                &words.fit,
                &words.rule,
                &words.miss,
                &words.unbound_cause,
                &words.held,
                &words.advice,
                &words.comes,
                &words.verdict,
            ];
            all.map(|codes| codes.keys().cloned().collect::<std::collections::BTreeSet<_>>())
        };
        let english = codes(&WORDS.english);
        assert!(english.iter().all(|codes| codes.len() > 1), "{english:?}");
        assert_eq!(codes(&WORDS.chinese), english);
        assert_eq!(codes(&WORDS.korean), english);
        for language in [&WORDS.english, &WORDS.chinese, &WORDS.korean] {
            assert!(!language.more.is_empty() && language.more.contains("{count}"), "{language:?}");
        }
    }
}
