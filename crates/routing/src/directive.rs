//! `/exec …` and `/elevated …` in a message (docs/protocol/routing.md, "Messages", "Elevation"): what they
//! ask for, what is left of the message, and what is answered. Nothing is applied here.

use super::{Release, is_space};
use countersign_protocol::vocabulary::{Ask, Elevated, ExecHost, ExecTarget, Security};

/// A message taken apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// What is left of it.
    pub cleaned: String,
    /// `/exec`, if it is there.
    pub exec: Option<Exec>,
    /// `/elevated`, if it is there.
    pub elevated: Option<ElevatedDirective>,
    /// First word after an `/exec` that names nothing to set: a message that is nothing but this command was
    /// meant otherwise.
    pub unexpected: Option<String>,
}

/// What `/exec` asks for. Raw values are there for what was not understood.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Exec {
    /// `host=`.
    pub host: Option<ExecTarget>,
    /// `security=`.
    pub security: Option<Security>,
    /// `ask=`.
    pub ask: Option<Ask>,
    /// `node=`.
    pub node: Option<String>,
    /// Whether it names anything at all.
    pub has_options: bool,
    wrong: Wrong,
}

/// The last raw value of each key, where any value of that key was wrong.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Wrong {
    host: Option<String>,
    security: Option<String>,
    ask: Option<String>,
    node: bool,
}

/// What `/elevated` asks for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ElevatedDirective {
    /// The level, if one was named and understood.
    pub level: Option<Elevated>,
    /// The level as it was typed.
    pub raw: Option<String>,
}

/// What is set now, for a message that only asks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Current {
    /// As it is set.
    pub target: ExecTarget,
    /// Where that is now.
    pub host: ExecHost,
    /// What may run.
    pub security: Security,
    /// When a person is asked.
    pub ask: Ask,
    /// The node that is meant.
    pub node: Option<String>,
    /// How far the session is elevated.
    pub elevated: Elevated,
}

/// What is answered to a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reply {
    /// Nothing was set: something was wrong, or was only asked about.
    Unchanged(String),
    /// What the message asks for is set once this is said.
    Done(String),
    /// No directive was there.
    Nothing,
}

impl Message {
    /// Takes a message apart.
    #[must_use]
    pub fn parse(body: &str, release: Release) -> Self {
        match release {
            Release::Newest => Self::newest(body),
            Release::Early => Self::early(body),
        }
    }

    /// Whether nothing but directives was said. Such a message speaks of its session, any
    /// other of its own run.
    #[must_use]
    pub fn is_only_directives(&self) -> bool {
        self.cleaned.is_empty() && (self.exec.is_some() || self.elevated.is_some())
    }

    /// What is answered. `unavailable` is what is said where elevation is not to be had; `sandboxed` whether
    /// the session runs in a sandbox now.
    #[must_use]
    pub fn reply(
        &self,
        release: Release,
        current: &Current,
        unavailable: Option<&str>,
        runtime: Runtime,
    ) -> Reply {
        if let Some(elevated) = &self.elevated {
            match (&elevated.level, &elevated.raw, unavailable) {
                (None, Some(raw), _) => {
                    return Reply::Unchanged(format!(
                        "Unrecognized elevated level \"{raw}\". Valid levels: off, on, ask, full."
                    ));
                }
                (_, _, Some(unavailable)) => return Reply::Unchanged(unavailable.to_owned()),
                (None, None, None) => {
                    let line = format!("Current elevated level: {}.", current.elevated);
                    let mut text = with_options(&line, "on, off, ask, full");
                    if runtime == Runtime::Direct {
                        text = format!("{text}\n{DIRECT_HINT}");
                    }
                    return Reply::Unchanged(text);
                }
                (Some(_), _, None) => {}
            }
        }
        if let Some(exec) = &self.exec {
            if let Some(problem) = exec.problem(release) {
                return Reply::Unchanged(problem);
            }
            if let Some(word) = &self.unexpected {
                return Reply::Unchanged(format!("Unexpected argument \"{word}\" for /exec."));
            }
            if !exec.has_options {
                return Reply::Unchanged(current.line(release));
            }
        }
        let mut parts = Vec::new();
        if let Some(level) = self.elevated.as_ref().and_then(|elevated| elevated.level) {
            parts.push(ack(match level {
                Elevated::Off => "Elevated mode disabled.",
                Elevated::On | Elevated::Ask => "Elevated mode set to ask (approvals may still apply).",
                Elevated::Full => "Elevated mode set to full (auto-approve).",
            }));
            if runtime == Runtime::Direct {
                parts.push(DIRECT_HINT.to_owned());
            }
        }
        if let Some(exec) = &self.exec {
            parts.extend(exec.acks(release));
        }
        match (self.exec.is_some() || self.elevated.is_some(), parts.is_empty()) {
            (false, _) => Reply::Nothing,
            (true, true) => Reply::Done("OK.".to_owned()),
            (true, false) => Reply::Done(parts.join(" ")),
        }
    }

    fn newest(body: &str) -> Self {
        // A message that is this command and names nothing to set speaks of nothing else.
        let alone = body.trim_matches(is_space);
        if find(alone, &["exec"]) == Some((0, EXEC.len())) {
            let (exec, consumed) = arguments(&body[at_end(body, EXEC)..], Release::Newest);
            let start = body.len() - body.trim_start_matches(is_space).len();
            let cleaned = without(body, start, at_end(body, EXEC) + consumed);
            if !exec.has_options && !cleaned.is_empty() {
                let unexpected = cleaned.split(is_space).find(|word| !word.is_empty()).map(str::to_owned);
                return Self { cleaned, exec: Some(exec), elevated: None, unexpected };
            }
        }
        let mut cleaned = body.to_owned();
        let mut elevated = None;
        if let Some((start, end)) = find(&cleaned, &["elevated", "elev"]) {
            let prefix = end + colon(&cleaned[end..]);
            let from = skip(&cleaned, prefix);
            let to = from + level_length(&cleaned[from..]);
            let raw = &cleaned[from..to];
            let rest_is_blank = cleaned[to..].trim_matches(is_space).is_empty();
            let taken = !raw.is_empty() && (level(raw).is_some() || rest_is_blank);
            elevated = Some(if taken {
                ElevatedDirective { level: level(raw), raw: Some(raw.to_owned()) }
            } else {
                ElevatedDirective::default()
            });
            cleaned = without(&cleaned, start, if taken { to } else { prefix });
        }
        let mut exec = None;
        if let Some((start, end)) = find(&cleaned, &["exec"]) {
            let (found, consumed) = arguments(&cleaned[end..], Release::Newest);
            exec = Some(found);
            cleaned = without(&cleaned, start, end + consumed);
        }
        Self { cleaned, exec, elevated, unexpected: None }
    }

    fn early(body: &str) -> Self {
        let mut cleaned = body.trim_matches(is_space).to_owned();
        let mut elevated = None;
        if let Some((start, end)) = find(&cleaned, &["elevated", "elev"]) {
            let from = skip_colon(&cleaned, end);
            let to = from + level_length(&cleaned[from..]);
            let raw = Some(&cleaned[from..to]).filter(|raw| !raw.is_empty());
            elevated = Some(ElevatedDirective { level: raw.and_then(level), raw: raw.map(str::to_owned) });
            cleaned = collapsed(&cleaned[..start], &cleaned[to..]);
        }
        let mut exec = None;
        if let Some((start, end)) = find(&cleaned, &["exec"]) {
            let (found, consumed) = arguments(&cleaned[end..], Release::Early);
            exec = Some(found);
            cleaned = collapsed(&cleaned[..start], &cleaned[end + consumed..]);
        }
        Self { cleaned, exec, elevated, unexpected: None }
    }
}

/// Whether the session runs in a sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Runtime {
    /// It does.
    Sandboxed,
    /// It does not.
    Direct,
}

impl Runtime {
    /// The peers' word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandboxed => "sandboxed",
            Self::Direct => "direct",
        }
    }
}

impl Exec {
    /// What is wrong with it, in the peers' words.
    #[must_use]
    pub fn problem(&self, release: Release) -> Option<String> {
        let hosts = match release {
            Release::Newest => "auto, sandbox, gateway, node",
            Release::Early => "sandbox, gateway, node",
        };
        let Wrong { host, security, ask, node } = &self.wrong;
        if let Some(raw) = host {
            Some(format!("Unrecognized exec host \"{raw}\". Valid hosts: {hosts}."))
        } else if let Some(raw) = security {
            Some(format!("Unrecognized exec security \"{raw}\". Valid: deny, allowlist, full."))
        } else if let Some(raw) = ask {
            Some(format!("Unrecognized exec ask \"{raw}\". Valid: off, on-miss, always."))
        } else {
            node.then(|| "Exec node requires a value.".to_owned())
        }
    }

    fn acks(&self, release: Release) -> Vec<String> {
        let host = self.host.map(|host| format!("host={host}"));
        let security = self.security.map(|security| format!("security={security}"));
        let ask = self.ask.map(|ask| format!("ask={ask}"));
        let node = self.node.as_ref().map(|node| format!("node={node}"));
        let said = |label: &str, parts: Vec<Option<String>>| {
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            (!parts.is_empty()).then(|| ack(&format!("{label} ({}).", parts.join(", "))))
        };
        let lines = match release {
            Release::Newest => vec![
                said("Exec defaults set", vec![host, node]),
                said("Exec policy for this run only", vec![security, ask]),
            ],
            Release::Early => vec![said("Exec defaults set", vec![host, security, ask, node])],
        };
        lines.into_iter().flatten().collect()
    }
}

impl Current {
    fn line(&self, release: Release) -> String {
        let node = self.node.as_deref().unwrap_or("(unset)");
        let Self { target, host, security, ask, .. } = self;
        let tail = format!("security={security}, ask={ask}, node={node}.");
        match release {
            Release::Newest => with_options(
                &format!("Current exec defaults: host={target}, effective={host}, {tail}"),
                "host=auto|sandbox|gateway|node, security=deny|allowlist|full, ask=off|on-miss|always, node=<id>",
            ),
            Release::Early => with_options(
                &format!("Current exec defaults: host={target}, {tail}"),
                "host=sandbox|gateway|node, security=deny|allowlist|full, ask=off|on-miss|always, node=<id>",
            ),
        }
    }
}

/// The level that a word names.
fn level(word: &str) -> Option<Elevated> {
    match word.to_lowercase().as_str() {
        "off" | "false" | "no" | "0" => Some(Elevated::Off),
        "on" | "true" | "yes" | "1" => Some(Elevated::On),
        "ask" | "prompt" | "approval" | "approve" => Some(Elevated::Ask),
        "full" | "auto" | "auto-approve" | "autoapprove" => Some(Elevated::Full),
        _ => None,
    }
}

/// Where `/name` stands as a word of its own, and where what follows it begins.
fn find(body: &str, names: &[&str]) -> Option<(usize, usize)> {
    body.match_indices('/').find_map(|(at, _)| {
        let is_word = body[..at].chars().next_back().is_none_or(is_space);
        let rest = &body[at + 1..];
        let end = names.iter().find_map(|name| {
            let named = rest.get(..name.len())?.eq_ignore_ascii_case(name);
            let ends = rest[name.len()..].chars().next().is_none_or(|next| next == ':' || is_space(next));
            (named && ends).then_some(at + 1 + name.len())
        })?;
        is_word.then_some((at, end))
    })
}

/// Where `/exec` ends in a message that begins with it.
fn at_end(body: &str, directive: &str) -> usize {
    body.len() - body.trim_start_matches(is_space).len() + directive.len()
}

/// `key=value` words, and how far they reach. What is no such word, and everything after it,
/// stays in the message.
fn arguments(raw: &str, release: Release) -> (Exec, usize) {
    let mut exec = Exec::default();
    let mut at = match release {
        Release::Newest => colon(raw),
        Release::Early => skip_colon(raw, 0),
    };
    let mut consumed = at;
    loop {
        let start = skip(raw, at);
        let token = raw[start..].split(is_space).next().unwrap_or_default();
        let Some((key, value)) = token.split_once(['=', ':']) else { break };
        let Wrong { host, security, ask, node } = &mut exec.wrong;
        match key.to_lowercase().as_str() {
            "host" => {
                let known = value.to_lowercase().parse().ok();
                exec.host = known.filter(|target| release == Release::Newest || *target != ExecTarget::Auto);
                mark(host, value, exec.host.is_none());
            }
            "security" => {
                exec.security = value.to_lowercase().parse().ok();
                mark(security, value, exec.security.is_none());
            }
            "ask" => {
                exec.ask = value.to_lowercase().parse().ok();
                mark(ask, value, exec.ask.is_none());
            }
            "node" if value.is_empty() => *node = true,
            "node" => exec.node = Some(value.to_owned()),
            _ => break,
        }
        exec.has_options = true;
        at = start + token.len();
        // The older release takes the blanks after a word with it.
        consumed = if release == Release::Early { skip(raw, at) } else { at };
    }
    (exec, consumed)
}

/// Keeps the raw value where it, or an earlier one of the same key, was wrong: a later one does not mend it.
fn mark(wrong: &mut Option<String>, raw: &str, is_wrong: bool) {
    if is_wrong || wrong.is_some() {
        *wrong = Some(raw.to_owned());
    }
}

/// Length of a leading colon and the blanks before it.
fn colon(raw: &str) -> usize {
    let at = skip(raw, 0);
    if raw[at..].starts_with(':') { at + 1 } else { 0 }
}

fn skip_colon(raw: &str, from: usize) -> usize {
    let at = skip(raw, from);
    if raw[at..].starts_with(':') { skip(raw, at + 1) } else { at }
}

fn skip(raw: &str, from: usize) -> usize {
    raw.len() - raw[from..].trim_start_matches(is_space).len()
}

fn level_length(raw: &str) -> usize {
    raw.len() - raw.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-').len()
}

/// The message without a span, and without what only belonged to it: its line if it had one for
/// itself, else one blank.
fn without(body: &str, start: usize, end: usize) -> String {
    let blank = |c: char| c == ' ' || c == '\t';
    let (before, after) = (&body[..start], &body[end..]);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let on_line = &before[line_start..];
    let rest = after.trim_start_matches(blank);
    let ending = if rest.is_empty() {
        Some(0)
    } else if rest.starts_with("\r\n") {
        Some(2)
    } else {
        rest.starts_with('\n').then_some(1)
    };
    let (mut from, mut to) = (start, end);
    match ending {
        Some(length) if on_line.chars().all(blank) => {
            from = line_start;
            to = end + (after.len() - rest.len()) + length;
        }
        _ if after.starts_with(blank) => to += 1,
        _ => {
            let closes_line = after.is_empty() || after.starts_with(['\r', '\n']);
            let follows_text = on_line.chars().any(|c| !is_space(c)) && on_line.ends_with(blank);
            if closes_line && follows_text {
                from -= 1;
            }
        }
    }
    let cleaned = format!("{}{}", &body[..from], &body[to..]);
    if cleaned.trim_matches(is_space).is_empty() { String::new() } else { cleaned }
}

fn collapsed(before: &str, after: &str) -> String {
    let joined = format!("{before} {after}");
    joined.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn with_options(line: &str, options: &str) -> String {
    format!("{line}\nOptions: {options}.")
}

fn ack(text: &str) -> String {
    format!("{SYSTEM_MARK} {text}")
}

/// What the peers put before what they say themselves.
const SYSTEM_MARK: &str = "⚙️";

const DIRECT_HINT: &str = "⚙️ Runtime is direct; sandboxing does not apply.";

const EXEC: &str = "/exec";

#[cfg(test)]
mod tests;
