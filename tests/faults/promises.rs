//! The five promises that hold whatever breaks, each looked at from outside.

use crate::processes;
use crate::requests::{Door, Load, Owed, Request};
use crate::rig::{Finding, LOOK, Rig};
use anyhow::{Result, ensure};
use countersign_companion::sentences::{self, Language};
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::state::SocketState;
use countersign_protocol::ui::EmbeddedState;
use countersign_tests::process::{PATIENCE, wait_for};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A promise.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Promise {
    /// Nothing is allowed without a decision.
    Decided,
    /// Nothing is lost that was acknowledged.
    Kept,
    /// No process, socket, mount or file is left over.
    Clean,
    /// Everything answers again within 5 s.
    Answers,
    /// The person and the doctor are told in plain words.
    Told,
}

impl Promise {
    pub(crate) const ALL: [Self; 5] = [Self::Decided, Self::Kept, Self::Clean, Self::Answers, Self::Told];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::Kept => "kept",
            Self::Clean => "clean",
            Self::Answers => "answers",
            Self::Told => "told",
        }
    }
}

/// A promise that did not hold.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Broken {
    pub(crate) promise: Promise,
    pub(crate) what: String,
}

/// What did not hold so far.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    pub(crate) broken: Vec<Broken>,
}

/// Whether an app was proven absent at some time, so that a fallback may have held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Presence {
    Always,
    Interrupted,
}

impl Judge {
    pub(crate) fn broken(&mut self, promise: Promise, what: impl Into<String>) {
        self.broken.push(Broken { promise, what: what.into() });
    }

    /// A step that a promise is about.
    pub(crate) fn hold<T>(&mut self, promise: Promise, step: Result<T>) -> Option<T> {
        step.map_err(|error| self.broken(promise, format!("{error:#}"))).ok()
    }

    /// Only what a rule or an answer allows has left a marker, and the history says no more than that.
    pub(crate) fn decided(
        &mut self,
        owed: &Owed,
        folder: &Path,
        lines: &[Value],
        presence: Presence,
    ) -> Result<()> {
        let may_fall = presence == Presence::Interrupted;
        let mut markers: Vec<_> =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        markers.sort();
        for marker in markers {
            let name = marker.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_right = match name.split('-').next().unwrap_or_default() {
                "ruled" => owed.by_rule.contains(&marker),
                "answered" => owed.allowed.contains(&marker),
                "falling" => may_fall,
                _ => false,
            };
            if !is_right {
                self.broken(
                    Promise::Decided,
                    format!("{name} ran, and neither a rule nor an answer allowed it"),
                );
            }
        }
        for line in lines.iter().filter(|line| line["event"]["kind"] == "request") {
            let command = line["event"]["command"].as_str().unwrap_or_default();
            let outcome = line["event"]["outcome"]["kind"].as_str().unwrap_or_default();
            let is_right = match outcome {
                "allowed-by-rule" => command.contains("ruled-") || command.contains("sleep"),
                "allowed-once" => {
                    owed.allowed.iter().any(|marker| command.contains(&*marker.to_string_lossy()))
                }
                "allowed-by-fallback" => command.contains("falling-") && may_fall,
                other => !other.starts_with("allowed"),
            };
            if !is_right {
                self.broken(Promise::Decided, format!("the history says {outcome} of {command}"));
            }
        }
        Ok(())
    }

    /// What was acknowledged is on record, and rules and document say what they said.
    pub(crate) fn kept(&mut self, rig: &Rig, owed: &Owed, lines: &[Value]) -> Result<()> {
        let about = |marker: &Path, outcome: &str| {
            lines.iter().find(|line| {
                line["event"]["kind"] == "request"
                    && line["event"]["outcome"]["kind"] == outcome
                    && line["event"]["command"]
                        .as_str()
                        .is_some_and(|text| text.contains(&*marker.to_string_lossy()))
            })
        };
        for (markers, outcome) in
            [(&owed.ran, "allowed-by-rule"), (&owed.allowed, "allowed-once"), (&owed.denied, "denied")]
        {
            let (mut unrecorded, mut unended) = (Vec::new(), Vec::new());
            for marker in markers {
                let name = marker.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let Some(request) = about(marker, outcome) else {
                    unrecorded.push(format!("{name} (it says {:?})", said_of(lines, marker)));
                    continue;
                };
                let has_end = lines
                    .iter()
                    .any(|line| line["event"]["kind"] == "run" && line["requestId"] == request["requestId"]);
                if outcome == "allowed-by-rule" && !has_end {
                    unended.push(name);
                }
            }
            for (names, what) in [(unrecorded, outcome), (unended, "how it ended")] {
                if let Some(first) = names.first() {
                    let count = names.len();
                    self.broken(
                        Promise::Kept,
                        format!("the history does not say {what:?} of {count} requests, {first} the first"),
                    );
                }
            }
        }
        let rules = rig.countersign(&["--json", "rules", "list"], PATIENCE)?.stdout;
        for program in owed.refused.iter().filter(|program| !rules.contains(&format!("\"{program}\""))) {
            self.broken(Promise::Kept, format!("the rule that refuses {program} is gone"));
        }
        if rig.home.entries("main").map_or(0, |entries| entries.len()) != 2 {
            self.broken(Promise::Kept, "the document lost entries");
        }
        Ok(())
    }

    /// The chain is as whole as it was.
    pub(crate) fn chain(&mut self, rig: &Rig) -> Result<()> {
        let verified = rig.countersign(&["history", "verify"], PATIENCE)?;
        if verified.code != 0 {
            self.broken(
                Promise::Kept,
                format!("the history says: {}{}", verified.stdout.trim(), verified.stderr.trim()),
            );
        }
        Ok(())
    }

    /// What waited still waits, but for what came through a door that the fault ended.
    pub(crate) fn waiting(&mut self, rig: &Rig, load: &Load, ended: &[Door]) -> Result<()> {
        let now = rig.pending()?;
        let gone = |request: &&Request| {
            let name = request.marker.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let id = load.owed.waiting.iter().find(|(_, says)| says.contains(&name)).map(|(id, _)| id);
            !ended.contains(&request.door) && id.is_some_and(|id| !now.contains_key(id))
        };
        let gone: Vec<_> = load.requests.iter().filter(gone).map(|request| request.door).collect();
        if !gone.is_empty() {
            self.broken(Promise::Kept, format!("{} requests no longer wait, of {gone:?}", gone.len()));
        }
        Ok(())
    }

    /// The doctor or whoever else is asked says it.
    pub(crate) fn plain(&mut self, who: &str, said: &str) {
        for word in CODE_WORDS {
            if said.contains(word) {
                self.broken(Promise::Told, format!("{who} speaks in code ({word:?}): {}", cut(said)));
            }
        }
    }

    /// After an orderly end nothing is left.
    pub(crate) fn clean(&mut self, rig: &Rig, mounts: &str) -> Result<()> {
        let mut left = Vec::new();
        let gone = wait_for("everything has ended", PATIENCE, || {
            left = rig.left()?;
            Ok(left.is_empty().then_some(()))
        });
        if gone.is_err() {
            let lines: Vec<_> = left.iter().map(|process| cut(&process.line)).collect();
            self.broken(Promise::Clean, format!("processes are left over: {lines:?}"));
        }
        if fs::read_to_string("/proc/self/mountinfo")? != mounts {
            self.broken(Promise::Clean, "a mount is left over");
        }
        for folder in [rig.home.state(), rig.home.openclaw()] {
            self.files(&folder, rig.home.path())?;
        }
        Ok(())
    }

    fn files(&mut self, folder: &Path, home: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let shown = path.strip_prefix(home).unwrap_or(&path).display().to_string();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.files(&path, home)?;
            } else if kind.is_socket() {
                self.broken(Promise::Clean, format!("the socket {shown} is left over"));
            } else if shown.ends_with(".tmp") || shown.ends_with(".new") {
                self.broken(Promise::Clean, format!("the file {shown} is left over"));
            }
        }
        Ok(())
    }
}

/// Waits until everything answers, for as long as that may take; how long it took.
pub(crate) fn answers(rig: &Rig, load: &mut Load, limit: Duration) -> Result<Duration> {
    let started = Instant::now();
    let mut why = "nothing was asked".to_owned();
    let answered = wait_for("everything answers", limit, || {
        match all_answer(rig, load, limit.saturating_sub(started.elapsed()).max(LEAST)) {
            Ok(()) => Ok(Some(())),
            Err(error) => {
                why = format!("{error:#}");
                Ok(None)
            }
        }
    });
    ensure!(answered.is_ok(), "not everything answers after {} ms: {why}", started.elapsed().as_millis());
    Ok(started.elapsed())
}

fn all_answer(rig: &Rig, load: &mut Load, limit: Duration) -> Result<()> {
    let ControlResponse::Status { status, gateway, .. } =
        rig.ask(&ControlRequest::Status, limit.min(LOOK))?
    else {
        anyhow::bail!("the control channel gave another answer");
    };
    ensure!(matches!(status.socket, SocketState::Listening), "the approval socket is {:?}", status.socket);
    ensure!(matches!(gateway, EmbeddedState::Serving { .. }), "the app's gateway is {gateway:?}");
    rig.pending()?;
    load.by_rule(rig, limit)?;
    rig.agent().map(drop)
}

/// What the history says of a request by its marker.
fn said_of(lines: &[Value], marker: &Path) -> Vec<String> {
    let marker = marker.to_string_lossy();
    let about = |line: &&Value| line["event"].to_string().contains(&*marker);
    lines.iter().filter(about).map(|line| line["event"]["outcome"].to_string()).collect()
}

/// Every line of the history, oldest first, as the command line tells it.
pub(crate) fn history(rig: &Rig) -> Result<Vec<Value>> {
    let told = rig.countersign(&["--json", "history", "-n", "10000"], PATIENCE)?.expect_code(0)?;
    Ok(told.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Whether the doctor names it: a finding that is not well and says one of these.
pub(crate) fn doctor_tells(findings: &[Finding], words: &[&str]) -> bool {
    let says = |finding: &Finding| {
        let said = format!("{} {}", finding.check, finding.says).to_lowercase();
        words.iter().any(|word| said.contains(&word.to_lowercase()))
    };
    findings.iter().any(|finding| finding.level != "ok" && says(finding))
}

/// What windows and tray say of the machine, and what was notified of.
pub(crate) fn shown(rig: &Rig) -> Result<String> {
    // Without files the app hears no caller, and its icon tells all the same.
    let machine = match rig.ask(&ControlRequest::Status, LOOK) {
        Ok(ControlResponse::Status { status, .. }) => sentences::machine(&status, Language::English),
        _ => Vec::new(),
    };
    let menu: Vec<String> = rig.desktop.menu()?.into_iter().map(|line| line.label).collect();
    let sent: Vec<_> =
        rig.desktop.sent().into_iter().map(|sent| format!("{} {}", sent.summary, sent.body)).collect();
    Ok(format!("{machine:?} {menu:?} {sent:?}"))
}

/// What findings are not well.
pub(crate) fn unwell(findings: &[Finding]) -> String {
    let unwell: BTreeSet<_> = findings
        .iter()
        .filter(|finding| finding.level != "ok")
        .map(|finding| format!("{}: {}", finding.check, cut(&finding.says)))
        .collect();
    unwell.into_iter().collect::<Vec<_>>().join("; ")
}

/// Files that the app has open.
pub(crate) fn open_files(rig: &mut Rig) -> usize {
    rig.app_pid().map_or(0, processes::open_files)
}

/// The beginning of a text.
pub(crate) fn cut(text: &str) -> String {
    let text = text.replace('\n', " ");
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// How soon everything answers again: where that is measured and published as long as the promise says, and
/// where it is only looked whether it does, for as long as any machine may take.
pub(crate) const fn again(is_short: bool) -> Duration {
    if is_short { PATIENCE } else { Duration::from_secs(5) }
}

/// Shortest wait for one answer.
const LEAST: Duration = Duration::from_millis(500);

/// Characters of what somebody said that the report repeats.
const SHOWN_CHARS: usize = 200;

/// Nobody says this to a person.
const CODE_WORDS: [&str; 5] = ["panicked at", "RUST_BACKTRACE", "Os {", "Err(", "called `"];
