//! Where the person wants requests handed to: `forward.json`, replaced atomically. It names programs that are
//! started, so only the window writes it and others than its owner must not.

use super::webhook::Address;
use super::wrong::ForwardWrong;
use crate::file::{self, FileError, FileProblem, VERSION, Versioned};
use countersign_core::private::Others;
use countersign_gateway::client::Pin;
use countersign_node::executor::program::Program;
use countersign_protocol::ui::{ForwardMode, ForwardPlace, ForwardSettings, WebhookAuth};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything that is stored.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Document {
    version: u32,
    /// Whether anything is handed on.
    pub(super) enabled: bool,
    /// Which places are meant.
    pub(super) mode: ForwardMode,
    /// Only these agents.
    #[serde(default)]
    pub(super) agent_filter: Vec<String>,
    /// Only these sessions.
    #[serde(default)]
    pub(super) session_filter: Vec<String>,
    /// In the person's order.
    #[serde(default)]
    pub(super) targets: Vec<Target>,
}

/// One target as it is stored. Its secret is elsewhere.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Target {
    /// Ours for it.
    pub(super) id: String,
    /// The person's name for it.
    pub(super) name: String,
    /// Whether it is handed to.
    pub(super) enabled: bool,
    /// Where it is.
    pub(super) place: ForwardPlace,
    /// Whether a secret is kept for it.
    #[serde(default)]
    pub(super) has_secret: bool,
}

/// A place whose members were checked.
#[derive(Clone, Debug)]
pub(super) enum Destination {
    Gateway { gateway: String, may_allow: bool },
    Command(Program),
    Webhook { address: Address, pin: Option<Pin>, auth: WebhookAuth },
}

impl Versioned for Document {
    fn version(&self) -> u32 {
        self.version
    }
}

impl Default for Document {
    /// Off, and nowhere to hand to.
    fn default() -> Self {
        Self {
            version: VERSION,
            enabled: false,
            mode: ForwardMode::Targets,
            agent_filter: Vec::new(),
            session_filter: Vec::new(),
            targets: Vec::new(),
        }
    }
}

impl Document {
    pub(super) fn settings(&self) -> ForwardSettings {
        ForwardSettings {
            enabled: self.enabled,
            mode: self.mode,
            agent_filter: self.agent_filter.clone(),
            session_filter: self.session_filter.clone(),
        }
    }

    /// Takes other settings.
    pub(super) fn set(&mut self, settings: ForwardSettings) -> Result<(), ForwardWrong> {
        let ForwardSettings { enabled, mode, agent_filter, session_filter } = settings;
        self.agent_filter = filters("agents", agent_filter)?;
        self.session_filter = filters("sessions", session_filter)?;
        (self.enabled, self.mode) = (enabled, mode);
        Ok(())
    }

    fn check(&self) -> Result<(), ForwardWrong> {
        filters("agents", self.agent_filter.clone())?;
        filters("sessions", self.session_filter.clone())?;
        if self.targets.len() > MAX_TARGETS {
            return Err(ForwardWrong::Many);
        }
        for (at, target) in self.targets.iter().enumerate() {
            let of_it = |wrong| ForwardWrong::Target { number: at + 1, wrong: Box::new(wrong) };
            target.checked().map_err(of_it)?;
            if self.targets[..at].iter().any(|other| other.id == target.id) {
                return Err(ForwardWrong::Twice(target.id.clone()));
            }
        }
        Ok(())
    }
}

/// Without blanks around them and empty ones.
fn filters(name: &'static str, texts: Vec<String>) -> Result<Vec<String>, ForwardWrong> {
    let texts: Vec<String> =
        texts.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect();
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    if texts.len() > MAX_FILTERS || longest > MAX_FILTER {
        return Err(ForwardWrong::Filters(name));
    }
    Ok(texts)
}

impl Target {
    /// Checks every member.
    pub(super) fn checked(&self) -> Result<Destination, ForwardWrong> {
        if uuid::Uuid::parse_str(&self.id).is_err() {
            return Err(ForwardWrong::Id(self.id.clone()));
        }
        let length = self.name.trim().chars().count();
        if !(1..=MAX_NAME).contains(&length) {
            return Err(ForwardWrong::Name(length));
        }
        Ok(match &self.place {
            ForwardPlace::Gateway { gateway, may_allow } => {
                if gateway.trim().is_empty() {
                    return Err(ForwardWrong::NoGateway);
                }
                Destination::Gateway { gateway: gateway.clone(), may_allow: *may_allow }
            }
            ForwardPlace::Command { argv } => Destination::Command(Program::parse(argv.clone())?),
            ForwardPlace::Webhook { url, pin, auth } => {
                let address = Address::parse(url)?;
                let pin = match pin.as_deref().map(str::trim).filter(|pin| !pin.is_empty()) {
                    None => None,
                    Some(text) => {
                        Some(Pin::parse(text).ok_or_else(|| ForwardWrong::Digest(text.to_owned()))?)
                    }
                };
                if pin.is_some() && !address.is_tls() {
                    return Err(ForwardWrong::NoCertificate);
                }
                if *auth != WebhookAuth::None && !self.has_secret {
                    return Err(ForwardWrong::NoSecret);
                }
                Destination::Webhook { address, pin, auth: *auth }
            }
        })
    }
}

/// What is stored; the default when there is nothing. A file that cannot be understood, or that others may
/// write, is an error: it must not be used or overwritten. Blocking.
pub(super) fn read(file: &Path) -> Result<Document, ForwardFileError> {
    read_document(file).map_err(ForwardFileError::of(file))
}

fn read_document(file: &Path) -> Result<Document, FileProblem<ForwardWrong>> {
    let Some(document) = file::read::<Document, _>(file, Others::MayRead)? else {
        return Ok(Document::default());
    };
    document.check()?;
    Ok(document)
}

/// The file, and why it is not used.
pub type ForwardFileError = FileError<ForwardWrong>;

/// What is wrong with the file, if anything is. Blocking.
pub fn check_file(file: &Path) -> Result<(), ForwardFileError> {
    read(file).map(drop)
}

/// Writes what it reads.
#[cfg(fuzzing)]
pub fn rewrite(file: &Path) {
    write(file, &read(file).unwrap()).unwrap();
}

/// Stores all of it. Blocking.
pub(super) fn write(file: &Path, document: &Document) -> std::io::Result<()> {
    file::write(file, document)
}

/// Targets that may be stored: each gets every request.
pub(super) const MAX_TARGETS: usize = 16;

/// Longest name, in characters.
pub(super) const MAX_NAME: usize = 80;

/// Filters of each kind, and characters of each.
pub(super) const MAX_FILTERS: usize = 64;
pub(super) const MAX_FILTER: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn target(place: ForwardPlace) -> Target {
        Target {
            id: "6c0f3c1e-5b1c-4a53-9d0e-6a1f0f6f2a11".into(),
            name: "phone".into(),
            enabled: true,
            place,
            has_secret: false,
        }
    }

    fn webhook(url: &str) -> ForwardPlace {
        ForwardPlace::Webhook { url: url.into(), pin: None, auth: WebhookAuth::None }
    }

    #[test]
    fn what_was_stored_comes_back_and_the_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/forward.json");
        assert_eq!(read(&file).unwrap(), Document::default());
        let command = ForwardPlace::Command { argv: vec!["/bin/tell".into(), "".into()] };
        let mut document = Document { targets: vec![target(command)], ..Document::default() };
        document
            .set(ForwardSettings {
                enabled: true,
                mode: ForwardMode::Both,
                agent_filter: vec![" main ".into(), "  ".into()],
                session_filter: vec![],
            })
            .unwrap();
        assert_eq!(document.agent_filter, ["main"]);
        write(&file, &document).unwrap();
        assert_eq!(read(&file).unwrap(), document);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn each_wrong_member_is_named() {
        let check = |target: Target, expected: &str| {
            let error = target.checked().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        let fine = || target(webhook("https://host/hook"));
        assert!(fine().checked().is_ok());
        check(Target { id: "1".into(), ..fine() }, "id: expected a UUID");
        check(Target { name: " ".into(), ..fine() }, "name: expected 1 to 80");
        check(target(webhook("http://host/")), "address: expected https://");
        check(
            target(ForwardPlace::Command { argv: vec!["tell".into()] }),
            "program: expected an absolute path",
        );
        check(
            target(ForwardPlace::Command { argv: vec!["/bin/tell".into(), "\0".into()] }),
            "arguments: expected",
        );
        check(target(ForwardPlace::Gateway { gateway: " ".into(), may_allow: false }), "gateway: expected");
        let with = |url: &str, pin: Option<&str>, auth| {
            target(ForwardPlace::Webhook { url: url.into(), pin: pin.map(str::to_owned), auth })
        };
        check(with("https://h", Some("abc"), WebhookAuth::None), "certificate: expected its SHA-256");
        check(
            with("http://127.0.0.1", Some(&"0".repeat(64)), WebhookAuth::None),
            "certificate: expected an https:// address",
        );
        check(with("https://h", None, WebhookAuth::Hmac), "secret: expected one");
        let many = ForwardSettings {
            agent_filter: vec!["x".into(); MAX_FILTERS + 1],
            ..Document::default().settings()
        };
        assert!(Document::default().set(many).unwrap_err().to_string().starts_with("agents: expected"));
    }

    #[test]
    fn a_file_that_is_not_understood_or_not_ours_alone_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("forward.json");
        let one = serde_json::to_string(&target(webhook("https://host"))).unwrap();
        let whole = |targets: &str| {
            format!(r#"{{"version":1,"enabled":true,"mode":"targets","targets":[{targets}]}}"#)
        };
        for text in [
            "{",
            "[]",
            r#"{"version":2,"enabled":true,"mode":"targets"}"#,
            r#"{"version":1,"enabled":true,"mode":"everywhere"}"#,
            r#"{"version":1,"enabled":true,"mode":"targets","extra":1}"#,
            &whole("{}"),
            &whole(&format!("{one},{one}")),
            &whole(&one.replace("https", "ftp")),
        ] {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            assert!(read(&file).is_err(), "{text}");
        }
        std::fs::write(&file, whole(&one)).unwrap();
        assert!(read(&file).is_ok());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o620)).unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("chmod 600"));
    }
}
