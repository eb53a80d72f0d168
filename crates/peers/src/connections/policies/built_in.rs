//! What holds at another machine where its document sets nothing. It differs between releases by everything
//! that there is: an empty document of one runs nothing, of another everything (docs/protocol/document.md,
//! "Built-in values").

use countersign_policy::display;
use countersign_policy::document;
use countersign_policy::effective::{BUILT_IN, Effective, Layered, PEER_BUILT_IN};
use countersign_protocol::document::Document;
use countersign_protocol::edits::Loosening;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::Security;
use serde_json::Value;

/// Every possibility, the strictest first; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltIn(Vec<Effective>);

impl BuiltIn {
    /// From the machine's release and what it told beside its document. That counts only for values that the
    /// document itself does not set: else it is the document's own word.
    pub fn of(document: &Document, told: &Value, release: Option<[u32; 3]>) -> Self {
        let own = document.0.get("defaults").unwrap_or(&Value::Null);
        let mut all: Vec<Effective> = Vec::new();
        for mut one in of_release(release) {
            tell(&mut one.security, own, told, "security");
            tell(&mut one.ask, own, told, "ask");
            tell(&mut one.ask_fallback, own, told, "askFallback");
            if let (None, Some(skills)) = (own.get(SKILLS), told.get(SKILLS).and_then(Value::as_bool)) {
                one.auto_allow_skills = skills;
            }
            if !all.contains(&one) {
                all.push(one);
            }
        }
        Self(all)
    }

    /// Whether there is only one possibility.
    pub fn is_known(&self) -> bool {
        self.0.len() == 1
    }

    /// The loosest of each value.
    pub fn loosest(&self) -> Effective {
        let looser = |one: Effective, other: &Effective| Effective {
            security: looser(one.security, other.security),
            ask: looser(one.ask, other.ask),
            ask_fallback: looser(one.ask_fallback, other.ask_fallback),
            auto_allow_skills: one.auto_allow_skills || other.auto_allow_skills,
        };
        let mut all = self.0.iter();
        let first = all.next().cloned().unwrap_or(PEER_BUILT_IN);
        all.fold(first, looser)
    }

    /// In which ways `after` may let more run than `before`, under any of the possibilities; for the
    /// eye, so escaped.
    pub fn loosenings(&self, before: &Document, after: &Document) -> Vec<Loosening> {
        let mut found: Vec<Loosening> = Vec::new();
        for built_in in &self.0 {
            for mut loosening in document::loosenings_over(before, after, built_in) {
                loosening.scope = display::escape(&loosening.scope);
                loosening.to = display::escape(&loosening.to);
                let is_same = |known: &Loosening| {
                    (&known.scope, known.field, &known.to)
                        == (&loosening.scope, loosening.field, &loosening.to)
                };
                if !found.iter().any(is_same) {
                    found.push(loosening);
                }
            }
        }
        found
    }
}

fn looser<T: Ord>(one: Layered<T>, other: Layered<T>) -> Layered<T> {
    if other.value < one.value { other } else { one }
}

fn tell<T: std::str::FromStr>(place: &mut Layered<T>, own: &Value, told: &Value, name: &str) {
    if own.get(name).is_some() {
        return;
    }
    if let Some(value) = told.get(name).and_then(Value::as_str).and_then(|word| word.parse().ok()) {
        *place = Layered { value, layer: PolicyLayer::BuiltIn };
    }
}

fn of_release(release: Option<[u32; 3]>) -> Vec<Effective> {
    let loose_fallback = Effective {
        ask_fallback: Layered { value: Security::Full, layer: PolicyLayer::BuiltIn },
        ..PEER_BUILT_IN
    };
    match release {
        Some(release) if release >= DENYING_FALLBACK => vec![PEER_BUILT_IN],
        Some(FULL_FALLBACK) => vec![loose_fallback],
        Some(release) if release > FULL_FALLBACK => vec![PEER_BUILT_IN, loose_fallback],
        Some(release) if (FIRST..=LAST_STRICT).contains(&release) => vec![BUILT_IN],
        // A release in between, another program's number, or none.
        _ => vec![BUILT_IN, PEER_BUILT_IN, loose_fallback],
    }
}

const SKILLS: &str = "autoAllowSkills";

/// Numbers below it are no release of OpenClaw.
const FIRST: [u32; 3] = [2026, 1, 0];

/// The last release that is known to deny where nothing is set.
const LAST_STRICT: [u32; 3] = [2026, 3, 23];

/// Known to allow everything, also when nobody can be asked.
const FULL_FALLBACK: [u32; 3] = [2026, 4, 5];

/// Known to allow everything, and nothing when somebody would have to be asked; so is what came after.
const DENYING_FALLBACK: [u32; 3] = [2026, 7, 1];

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::edits::PolicyField;
    use countersign_protocol::vocabulary::Ask;
    use serde_json::json;

    fn document(value: Value) -> Document {
        Document(value.as_object().cloned().unwrap_or_default())
    }

    fn check(
        release: Option<[u32; 3]>,
        told: Value,
        own: Value,
        known: bool,
        expected: (Security, Ask, Security),
    ) {
        let built_in = BuiltIn::of(&document(json!({"version": 1, "defaults": own})), &told, release);
        let loosest = built_in.loosest();
        let values = (loosest.security.value, loosest.ask.value, loosest.ask_fallback.value);
        assert_eq!((built_in.is_known(), values), (known, expected), "{release:?} {told}");
    }

    #[test]
    fn each_release_has_its_own_and_in_doubt_the_loosest_is_shown() {
        let strict = (Security::Deny, Ask::OnMiss, Security::Deny);
        let loose = (Security::Full, Ask::Off, Security::Deny);
        let loosest = (Security::Full, Ask::Off, Security::Full);
        check(Some([2026, 2, 26]), json!(null), json!({}), true, strict);
        check(Some([2026, 4, 5]), json!(null), json!({}), true, loosest);
        check(Some([2026, 7, 1]), json!(null), json!({}), true, loose);
        check(Some([2026, 9, 6]), json!(null), json!({}), true, loose);
        check(Some([2026, 4, 1]), json!(null), json!({}), false, loosest);
        check(Some([2026, 5, 18]), json!(null), json!({}), false, loosest);
        check(Some([0, 1, 0]), json!(null), json!({}), false, loosest);
        check(None, json!({"security": 7, "ask": "never"}), json!({}), false, loosest);
    }

    #[test]
    fn what_the_machine_tells_wins_but_not_where_it_repeats_its_document() {
        let told =
            json!({"security": "deny", "ask": "on-miss", "askFallback": "deny", "autoAllowSkills": false});
        let strict = (Security::Deny, Ask::OnMiss, Security::Deny);
        check(None, told.clone(), json!({}), true, strict);
        let doubtful = (Security::Full, Ask::OnMiss, Security::Deny);
        check(None, told.clone(), json!({"security": "deny"}), false, doubtful);
        check(Some([2026, 9, 6]), told, json!({"security": "deny"}), true, doubtful);
    }

    #[test]
    fn what_may_be_looser_under_any_possibility_is_told() {
        let set = |security: &str| document(json!({"version": 1, "defaults": {"security": security}}));
        let nothing = document(json!({"version": 1}));
        let fields = |built_in: &BuiltIn, before: &Document, after: &Document| -> Vec<Option<PolicyField>> {
            built_in.loosenings(before, after).into_iter().map(|loosening| loosening.field).collect()
        };
        let doubtful = BuiltIn::of(&nothing, &Value::Null, None);
        let security = vec![Some(PolicyField::Security)];
        assert_eq!(fields(&doubtful, &nothing, &set("allowlist")), security);
        assert_eq!(fields(&doubtful, &set("deny"), &nothing), security);
        assert_eq!(fields(&doubtful, &set("full"), &nothing), []);
        let newest = BuiltIn::of(&nothing, &Value::Null, Some([2026, 9, 6]));
        assert_eq!(fields(&newest, &nothing, &set("allowlist")), []);
        assert_eq!(fields(&newest, &set("deny"), &nothing), security);
    }

    #[test]
    fn t09_names_of_another_machine_are_escaped() {
        let nothing = document(json!({"version": 1}));
        let built_in = BuiltIn::of(&nothing, &Value::Null, None);
        let after = json!({"version": 1, "agents": {"a\u{202e}b": {"allowlist": ["/bin/\u{200b}x"]}}});
        let found = built_in.loosenings(&nothing, &document(after));
        assert_eq!((found[0].scope.as_str(), found[0].to.as_str()), ("a\\u{202E}b", "/bin/\\u{200B}x"));
        assert_eq!(found.len(), 1);
    }
}
