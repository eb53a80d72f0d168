//! What the running app lacks of the machine: a disk that takes its record, files, processes.

use super::{Finding, Level, ok, problem};
use countersign_companion::sentences::{self, Language};
use countersign_protocol::state::{RecordingState, Shortage};

/// Whether what happens is written down, as the app says, and what is `owed` to the record.
pub(super) fn recording(app: Option<&RecordingState>, owed: Option<String>) -> Finding {
    match (app, owed) {
        (Some(state @ RecordingState::Fails { since_ms, text, .. }), owed) => {
            let line = sentences::recording(state, Language::English).unwrap_or_default();
            let since = jiff::Timestamp::from_millisecond(*since_ms)
                .map(|at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%F %T").to_string())
                .unwrap_or_default();
            // What is owed has the same cause, most of the time.
            let owed = owed.map(|owed| format!("; {owed}")).unwrap_or_default();
            problem("recording", format!("{line}, since {since}: {text}{owed}"), DISK_REMEDY.to_owned())
        }
        (_, Some(owed)) => problem("recording", owed, DISK_REMEDY.to_owned()),
        (Some(state @ RecordingState::Slow), None) => Finding {
            check: "recording",
            level: Level::Warning,
            message: sentences::recording(state, Language::English).unwrap_or_default().to_owned(),
            remedy: Some("look into what keeps the disk busy".to_owned()),
        },
        (Some(RecordingState::Works), None) => ok("recording", "what happens is written down".to_owned()),
        (None, None) => ok("recording", "no line is owed".to_owned()),
    }
}

/// What there is too little of.
pub(super) fn shortages(all: &[Shortage]) -> Finding {
    if all.is_empty() {
        return ok("resources", "the app can open files and start processes".to_owned());
    }
    let lines: Vec<&str> = all.iter().map(|short| sentences::shortage(*short, Language::English)).collect();
    let remedies: Vec<&str> = all.iter().map(|short| remedy(*short)).collect();
    problem("resources", lines.join("; "), remedies.join("; "))
}

const fn remedy(shortage: Shortage) -> &'static str {
    match shortage {
        Shortage::Files => {
            "end what keeps so many connections to the app, or raise the limit of open files and start it again"
        }
        Shortage::Processes => "end what runs and is not needed, or raise the limit of processes",
    }
}

const DISK_REMEDY: &str =
    "make room on the disk, or see that it can be written to; until then nothing runs unasked";

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::state::RecordingCause;

    #[test]
    fn what_cannot_be_recorded_is_told_with_why_and_since_when() {
        let fails = |cause| RecordingState::Fails { since_ms: 0, cause, text: "write x: why".to_owned() };
        let full =
            recording(Some(&fails(RecordingCause::Full)), Some("3 lines could not be written".to_owned()));
        assert_eq!(full.level, Level::Problem);
        for part in ["disk is full", "since 19", "write x: why", "3 lines"] {
            assert!(full.message.contains(part), "{part}: {}", full.message);
        }
        assert!(recording(Some(&fails(RecordingCause::ReadOnly)), None).message.contains("read-only"));
        assert_eq!(recording(None, Some("1 lines".to_owned())).level, Level::Problem);
        assert_eq!(recording(Some(&RecordingState::Slow), None).level, Level::Warning);
        assert_eq!(recording(Some(&RecordingState::Works), None).level, Level::Ok);
    }

    #[test]
    fn what_there_is_too_little_of_is_named() {
        assert_eq!(shortages(&[]).level, Level::Ok);
        let both = shortages(&[Shortage::Files, Shortage::Processes]);
        assert_eq!(both.message, "No more files can be opened; No more processes can be started");
        assert_eq!(both.level, Level::Problem);
    }
}
