//! What a policy comes to, and the one status line, in plain words: for the tray and the command line. The
//! windows say the same in their catalogues, and a test holds both together. No words are chosen here by
//! looking at a single switch.

use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::meaning::{
    Meaning, Refusals, Standing, Unanswered, Unasked, UnaskedPlace, UnaskedWhen, Usually,
};
use countersign_protocol::settings::Settings;
use countersign_protocol::shown::Shown;
use countersign_protocol::state::{PageEnd, RecordingCause, RecordingState, Shortage};
use countersign_protocol::ui::Status;

/// Languages that there are words in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Language {
    /// English.
    English,
    /// 简体中文.
    Chinese,
    /// 한국어.
    Korean,
}

impl Language {
    /// What the environment asks for, as the C library decides it.
    pub fn of_process() -> Self {
        let named = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        Self::of(&named.unwrap_or_default())
    }

    /// What the person's settings ask for.
    pub fn of_settings(settings: &Settings) -> Self {
        use countersign_protocol::settings::Language as Chosen;
        match settings.language {
            Chosen::System => Self::of_process(),
            Chosen::En => Self::English,
            Chosen::Zh => Self::Chinese,
            Chosen::Ko => Self::Korean,
        }
    }

    /// The language of a locale such as `de_DE.UTF-8`; English where there is none of ours.
    pub fn of(locale: &str) -> Self {
        match locale.get(..2) {
            Some("zh") => Self::Chinese,
            Some("ko") => Self::Korean,
            _ => Self::English,
        }
    }

    /// The one in this language.
    pub fn pick<T>(self, english: T, chinese: T, korean: T) -> T {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
            Self::Korean => korean,
        }
    }
}

/// The one status line, a few words long.
pub fn standing(standing: &Standing, language: Language) -> &'static str {
    match standing {
        Standing::Asking => language.pick("Asking", "需要时询问", "필요할 때 묻는 중"),
        Standing::Paused { .. } => language.pick("Paused", "已暂停", "일시 중지됨"),
        Standing::RunsUnasked { .. } => language.pick("Runs unasked", "未经询问即运行", "묻지 않고 실행됨"),
        Standing::CannotShow { .. } => {
            language.pick("Cannot show prompts", "无法显示审批窗口", "승인 창을 표시할 수 없음")
        }
    }
}

/// Why prompts cannot be shown.
pub fn page_end(end: PageEnd, language: Language) -> &'static str {
    match end {
        PageEnd::Crashed => language.pick(
            "its page ended by itself again and again",
            "其页面一再意外终止",
            "페이지가 거듭 저절로 종료됨",
        ),
        PageEnd::Hung => language.pick(
            "its page did not answer, again and again",
            "其页面一再没有响应",
            "페이지가 거듭 응답하지 않음",
        ),
        PageEnd::OutOfMemory => language.pick(
            "its page took too much memory, again and again",
            "其页面一再占用过多内存",
            "페이지가 거듭 메모리를 너무 많이 사용함",
        ),
    }
}

/// What is wrong with the machine, a line each, the gravest first. What the disk is no cause of comes of what
/// there is too little of.
pub fn machine(status: &Status, language: Language) -> Vec<&'static str> {
    let mut lines: Vec<_> = recording(&status.recording, language).into_iter().collect();
    lines.extend(status.shortages.iter().map(|short| shortage(*short, language)));
    if matches!(status.recording, RecordingState::Fails { cause: RecordingCause::Other, .. }) {
        lines.rotate_left(1);
    }
    lines
}

/// What is wrong with the writing of the history.
pub fn recording(state: &RecordingState, language: Language) -> Option<&'static str> {
    let cause = match state {
        RecordingState::Works => return None,
        RecordingState::Slow => {
            return Some(language.pick(
                "The disk is slow: commands wait for it",
                "磁盘很慢：命令在等待磁盘",
                "디스크가 느려 명령이 기다리는 중",
            ));
        }
        RecordingState::Fails { cause, .. } => cause,
    };
    Some(match cause {
        RecordingCause::Full => language.pick(
            "The disk is full: nothing can be recorded",
            "磁盘已满：无法记录任何内容",
            "디스크가 가득 차 기록할 수 없음",
        ),
        RecordingCause::ReadOnly => language.pick(
            "The disk is read-only: nothing can be recorded",
            "磁盘为只读：无法记录任何内容",
            "디스크가 읽기 전용이라 기록할 수 없음",
        ),
        RecordingCause::Broken => language.pick(
            "The disk fails: nothing can be recorded",
            "磁盘出错：无法记录任何内容",
            "디스크 오류로 기록할 수 없음",
        ),
        RecordingCause::Other => {
            language.pick("Nothing can be recorded", "无法记录任何内容", "아무것도 기록할 수 없음")
        }
    })
}

/// What the machine has too little of.
pub fn shortage(shortage: Shortage, language: Language) -> &'static str {
    match shortage {
        Shortage::Files => {
            language.pick("No more files can be opened", "无法再打开更多文件", "더 이상 파일을 열 수 없음")
        }
        Shortage::Processes => language.pick(
            "No more processes can be started",
            "无法再启动更多进程",
            "더 이상 프로세스를 시작할 수 없음",
        ),
    }
}

/// What a policy comes to, a sentence each.
pub fn meaning(meaning: Meaning, language: Language) -> Vec<&'static str> {
    let mut said = vec![usually(meaning.usually, language)];
    if meaning.usually != Usually::NothingRuns {
        said.extend(refusals(meaning.refusals, language));
    }
    said.extend(unanswered(meaning.unanswered, language));
    said
}

/// Why anything runs unasked.
pub fn cause(cause: &Unasked, language: Language) -> String {
    let agent = plain(&cause.shown);
    let who = match (&cause.session, cause.agent.as_str()) {
        (None, WILDCARD_AGENT) => language
            .pick(
                "Every agent without settings of its own",
                "没有单独设置的每个智能体",
                "따로 설정하지 않은 모든 에이전트",
            )
            .to_owned(),
        (None, _) => {
            language.pick(format!("Agent {agent}"), format!("智能体 {agent}"), format!("에이전트 {agent}"))
        }
        (Some(session), _) => {
            let session = plain(session);
            language.pick(
                format!("Agent {agent} in session {session}"),
                format!("会话 {session} 中的智能体 {agent}"),
                format!("세션 {session}의 에이전트 {agent}"),
            )
        }
    };
    let anything = match cause.place {
        UnaskedPlace::Here => language.pick(
            format!("{who} may run anything without asking."),
            format!("{who}可以不经询问运行任何命令。"),
            format!("{who}: 무엇이든 묻지 않고 실행할 수 있습니다."),
        ),
        UnaskedPlace::Sandbox => language.pick(
            format!("{who} may run anything in a sandbox without asking."),
            format!("{who}可以不经询问在沙箱中运行任何命令。"),
            format!("{who}: 샌드박스에서 무엇이든 묻지 않고 실행할 수 있습니다."),
        ),
    };
    let nobody = match cause.when {
        UnaskedWhen::Always => None,
        UnaskedWhen::NobodyAsked => Some(language.pick(
            "Prompts cannot be shown, and everything is allowed then.",
            "无法显示审批窗口，此时一切都会获准。",
            "승인 창을 표시할 수 없고, 그때는 모두 허용됩니다.",
        )),
    };
    let others = match cause.others {
        0 => None,
        1 => Some(language.pick(
            "The same is true of 1 more.".to_owned(),
            "另有 1 个也是如此。".to_owned(),
            "그 밖에 1개도 마찬가지입니다.".to_owned(),
        )),
        n => Some(language.pick(
            format!("The same is true of {n} more."),
            format!("另有 {n} 个也是如此。"),
            format!("그 밖에 {n}개도 마찬가지입니다."),
        )),
    };
    let parts = [Some(anything), nobody.map(str::to_owned), others];
    parts.into_iter().flatten().collect::<Vec<_>>().join(language.pick(" ", "", " "))
}

fn usually(usually: Usually, language: Language) -> &'static str {
    match usually {
        Usually::EverythingRuns => language.pick(
            "Anything runs unasked.",
            "任何命令都不经询问即运行。",
            "무엇이든 묻지 않고 실행됩니다.",
        ),
        Usually::RestAsks => language.pick(
            "What the allowlist or a rule covers runs; you are asked about the rest.",
            "允许列表或规则涵盖的命令会运行；其余的会询问您。",
            "허용 목록이나 규칙에 맞는 것은 실행되고, 나머지는 묻습니다.",
        ),
        Usually::EverythingAsks => language.pick(
            "You are asked about every command.",
            "每条命令都会询问您。",
            "모든 명령에 대해 묻습니다.",
        ),
        Usually::RestRefused => language.pick(
            "What the allowlist or a rule covers runs; the rest is refused without asking.",
            "允许列表或规则涵盖的命令会运行；其余的不经询问即被拒绝。",
            "허용 목록이나 규칙에 맞는 것은 실행되고, 나머지는 묻지 않고 거부됩니다.",
        ),
        Usually::NothingRuns => {
            language.pick("Nothing runs.", "什么都不运行。", "아무것도 실행되지 않습니다.")
        }
    }
}

fn unanswered(unanswered: Unanswered, language: Language) -> Option<&'static str> {
    match unanswered {
        Unanswered::Runs => Some(language.pick(
            "If nobody answers, the command runs.",
            "无人答复时，命令会运行。",
            "아무도 답하지 않으면 명령이 실행됩니다.",
        )),
        Unanswered::CoveredRuns => Some(language.pick(
            "If nobody answers, only what the allowlist or a rule covers runs.",
            "无人答复时，只运行允许列表或规则涵盖的命令。",
            "아무도 답하지 않으면 허용 목록이나 규칙에 맞는 것만 실행됩니다.",
        )),
        Unanswered::Refused => Some(language.pick(
            "If nobody answers, the command does not run.",
            "无人答复时，命令不运行。",
            "아무도 답하지 않으면 명령은 실행되지 않습니다.",
        )),
        Unanswered::NeverAsked => None,
    }
}

fn refusals(refusals: Refusals, language: Language) -> Option<&'static str> {
    match refusals {
        Refusals::None => None,
        Refusals::Some => Some(language.pick(
            "What a rule of yours refuses does not run under that name, and you are asked about what hides what it runs.",
            "您的规则拒绝的命令不会以该名称运行；隐藏实际运行内容的命令会询问您。",
            "규칙이 거부하는 것은 그 이름으로 실행되지 않고, 무엇을 실행하는지 숨기는 명령은 묻습니다.",
        )),
        Refusals::Unreadable => Some(language.pick(
            "Your rules cannot be read, so everything is asked about.",
            "无法读取您的规则，因此一切都会询问。",
            "규칙을 읽을 수 없어 모두 묻습니다.",
        )),
    }
}

/// The text as it is shown, hidden characters written out.
fn plain(shown: &Shown) -> String {
    shown.spans.iter().map(|span| span.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    const LANGUAGES: [(Language, &str); 3] = [
        (Language::English, include_str!("../../../ui/src/lib/i18n/en.ts")),
        (Language::Chinese, include_str!("../../../ui/src/lib/i18n/zh.ts")),
        (Language::Korean, include_str!("../../../ui/src/lib/i18n/ko.ts")),
    ];

    const TROUBLES: [(Language, &str); 3] = [
        (Language::English, include_str!("../../../ui/src/lib/i18n/trouble/en.ts")),
        (Language::Chinese, include_str!("../../../ui/src/lib/i18n/trouble/zh.ts")),
        (Language::Korean, include_str!("../../../ui/src/lib/i18n/trouble/ko.ts")),
    ];

    #[test]
    fn the_windows_say_it_in_the_same_words() {
        let standings = [
            Standing::Asking,
            Standing::Paused { until_ms: None },
            Standing::RunsUnasked { cause: everybody() },
            Standing::CannotShow { end: PageEnd::Crashed },
        ];
        for (language, catalogue) in LANGUAGES {
            let mut said: Vec<&str> = standings.iter().map(|line| standing(line, language)).collect();
            said.extend(
                [PageEnd::Crashed, PageEnd::Hung, PageEnd::OutOfMemory].map(|end| page_end(end, language)),
            );
            for one in [
                Usually::EverythingRuns,
                Usually::RestAsks,
                Usually::EverythingAsks,
                Usually::RestRefused,
                Usually::NothingRuns,
            ] {
                said.push(usually(one, language));
            }
            for one in [Unanswered::Runs, Unanswered::CoveredRuns, Unanswered::Refused] {
                said.extend(unanswered(one, language));
            }
            for one in [Refusals::Some, Refusals::Unreadable] {
                said.extend(refusals(one, language));
            }
            for sentence in said {
                let is_english = language == Language::English;
                assert!(!is_english || documented().contains(sentence), "undocumented: {sentence}");
                assert!(catalogue.contains(&format!("'{sentence}'")), "the windows do not say: {sentence}");
            }
        }
    }

    #[test]
    fn the_windows_say_what_is_wrong_with_the_machine_in_the_same_words() {
        let fails =
            |cause| RecordingState::Fails { since_ms: 0, cause, text: "write: No space left".to_owned() };
        let causes =
            [RecordingCause::Broken, RecordingCause::Full, RecordingCause::Other, RecordingCause::ReadOnly];
        assert_eq!(recording(&RecordingState::Works, Language::English), None);
        for (language, catalogue) in TROUBLES {
            let states = causes.map(fails).into_iter().chain([RecordingState::Slow]);
            let mut said: Vec<_> = states.filter_map(|state| recording(&state, language)).collect();
            said.extend([Shortage::Files, Shortage::Processes].map(|short| shortage(short, language)));
            assert_eq!(said.len(), 7);
            for line in said {
                assert!(catalogue.contains(&format!("'{line}'")), "the windows do not say: {line}");
            }
        }
    }

    #[test]
    fn what_is_wrong_with_the_machine_begins_with_its_cause() {
        let check = |cause: &str, expected: &[&str]| {
            let recording = json!({ "kind": "fails", "sinceMs": 1, "cause": cause, "text": "open" });
            let status = json!({
                "version": "1", "store": { "kind": "ready" }, "storePath": "", "socket": { "kind": "listening" },
                "socketPath": "", "tray": "present", "notifications": "present", "display": { "kind": "ok" },
                "recording": recording, "shortages": ["files"], "standing": { "kind": "asking" }, "paused": false,
            });
            let status: Status = serde_json::from_value(status).unwrap();
            assert_eq!(machine(&status, Language::English), expected);
        };
        check("full", &["The disk is full: nothing can be recorded", "No more files can be opened"]);
        check("other", &["No more files can be opened", "Nothing can be recorded"]);
    }

    #[test]
    fn the_cause_names_who_and_how_many_more() {
        assert_eq!(
            cause(&everybody(), Language::English),
            "Every agent without settings of its own may run anything without asking."
        );
        let ops = Unasked {
            agent: "ops".to_owned(),
            shown: countersign_policy::display::shown("ops", countersign_policy::display::Secrets::Show),
            when: UnaskedWhen::NobodyAsked,
            others: 2,
            ..everybody()
        };
        for (language, _) in LANGUAGES {
            let said = cause(&ops, language);
            assert!(said.contains("ops") && said.contains('2'), "{said}");
        }
    }

    #[test]
    fn no_sentence_speaks_of_asking_where_nobody_is_asked() {
        let full = Meaning {
            usually: Usually::EverythingRuns,
            unanswered: Unanswered::NeverAsked,
            refusals: Refusals::None,
        };
        assert_eq!(meaning(full, Language::English), ["Anything runs unasked."]);
    }

    /// The document about it, without its line breaks.
    fn documented() -> String {
        include_str!("../../../docs/policy.md").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn everybody() -> Unasked {
        Unasked {
            agent: WILDCARD_AGENT.to_owned(),
            shown: Shown { spans: Vec::new() },
            session: None,
            layer: None,
            place: UnaskedPlace::Here,
            when: UnaskedWhen::Always,
            others: 0,
        }
    }
}
