//! The secret that OpenClaw itself uses on this machine (docs/protocol/gateway.md, "Secrets").

use countersign_core::json::Shallow;
use countersign_protocol::ui::SecretKind;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Largest configuration that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1_024 * 1_024;

/// From the configuration, else from the environment; in remote mode the remote gateway's own first. A
/// placeholder or a reference to another store counts as not there. Blocking.
pub(super) fn secret(
    state: &Path,
    environment: &BTreeMap<String, String>,
    kind: SecretKind,
) -> Option<String> {
    let member = match kind {
        SecretKind::Token => "token",
        SecretKind::Password => "password",
    };
    let config = read(state).unwrap_or_default();
    let gateway = &config["gateway"];
    let local = || literal(&gateway["auth"][member]);
    let remote = || literal(&gateway["remote"][member]);
    let set = || {
        let name = format!("OPENCLAW_GATEWAY_{}", member.to_uppercase());
        environment.get(&name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    if gateway["mode"] == "remote" {
        remote().or_else(set).or_else(local)
    } else {
        local().or_else(set).or_else(remote)
    }
}

/// Hand-written JSON5.
fn read(state: &Path) -> Option<Value> {
    let file = state.join("openclaw.json");
    let found = std::fs::metadata(&file).ok()?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    let config = configuration(&std::fs::read_to_string(&file).ok()?);
    if config.is_none() {
        // Not its text: it may hold the secret.
        tracing::warn!(file = %file.display(), "OpenClaw's configuration is not understood");
    }
    config
}

/// What a text says; `None` when it is not understood.
pub(super) fn configuration(text: &str) -> Option<Value> {
    json5::from_str::<Shallow>(text).ok().map(|Shallow(value)| value)
}

fn literal(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    (!text.is_empty() && !text.contains("${")).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: Option<&str>, environment: &[(&str, &str)], expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        if let Some(config) = config {
            std::fs::write(folder.path().join("openclaw.json"), config).unwrap();
        }
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let found = secret(folder.path(), &environment, SecretKind::Token);
        assert_eq!(found.as_deref(), expected, "{config:?}");
    }

    #[test]
    fn the_configuration_comes_before_the_environment_and_remote_mode_before_both() {
        let env = [("OPENCLAW_GATEWAY_TOKEN", " env ")];
        let both = "gateway: {auth: {token: 'local'}, remote: {token: 'far'}";
        check(Some(&format!("{{ // JSON5\n {both}, }}, }}")), &env, Some("local"));
        check(Some(&format!("{{{both}, mode: 'remote'}}}}")), &env, Some("far"));
        check(Some("{gateway: {mode: 'remote', auth: {token: 'local'}}}"), &env, Some("env"));
        check(Some("{gateway: {remote: {token: 'far'}}}"), &[], Some("far"));
        check(None, &env, Some("env"));
        check(None, &[], None);
    }

    #[test]
    fn a_configuration_as_deep_as_it_is_long_is_not_understood() {
        let deep = |levels: usize| format!("{{a: {}1{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(configuration(&deep(127)).is_some());
        assert_eq!(configuration(&deep(128)), None);
        assert_eq!(configuration(&"[".repeat(1_000_000)), None);
        assert_eq!(configuration(&"{a:".repeat(1_000_000)), None);
    }

    #[test]
    fn what_is_no_literal_is_not_there() {
        for token in ["'${TOKEN}'", "{source: 'env'}", "''", "1", "null"] {
            check(Some(&format!("{{gateway: {{auth: {{token: {token}}}}}}}")), &[], None);
        }
        check(Some("{broken"), &[], None);
    }
}
