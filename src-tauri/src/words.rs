//! What tray and notifications say, in the person's language. The windows have catalogues of their own; these few words
//! are drawn by the desktop and never pass through a page.

use countersign_protocol::ui::Language;

/// The words of one language.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) open: &'static str,
    pub(crate) pause: &'static str,
    pub(crate) deny_all: &'static str,
    pub(crate) quit: &'static str,
    pub(crate) deny: &'static str,
    pub(crate) show: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) body: &'static str,
    pub(crate) device_summary: &'static str,
    pub(crate) device_body: &'static str,
    pub(crate) answer_summary: &'static str,
    pub(crate) answer_body: &'static str,
    none: &'static str,
    one: &'static str,
    /// `{}` stands for the number.
    many: &'static str,
}

impl Words {
    /// The words of the chosen language, or of the desktop's.
    pub(crate) fn of(language: Language) -> &'static Self {
        match language {
            Language::System => of_locale(&locale()),
            Language::En => &EN,
            Language::Zh => &ZH,
            Language::Ko => &KO,
        }
    }

    /// How many requests wait.
    pub(crate) fn waiting(&self, count: usize) -> String {
        match count {
            0 => self.none.to_owned(),
            1 => self.one.to_owned(),
            count => self.many.replace("{}", &count.to_string()),
        }
    }
}

/// The first of the locale variables that says anything, in the order that POSIX gives them.
fn locale() -> String {
    ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_default()
}

fn of_locale(locale: &str) -> &'static Words {
    match locale.get(..2) {
        Some("zh") => &ZH,
        Some("ko") => &KO,
        _ => &EN,
    }
}

static EN: Words = Words {
    open: "Open Countersign",
    pause: "Pause prompts",
    deny_all: "Deny everything that waits",
    quit: "Quit",
    deny: "Deny",
    show: "Open",
    summary: "A request waits for you",
    body: "An agent wants to run a command. Open it to read what it is.",
    device_summary: "A device waits for you",
    device_body: "A program wants to connect to Countersign. Open it to see what it asks for.",
    answer_summary: "Your answer did not count",
    answer_body: "A gateway did not take it. Open the inbox to see which one.",
    none: "Nothing waits for you",
    one: "1 request waits for you",
    many: "{} requests wait for you",
};

static ZH: Words = Words {
    open: "打开 Countersign",
    pause: "暂停提示",
    deny_all: "拒绝所有等待的请求",
    quit: "退出",
    deny: "拒绝",
    show: "打开",
    summary: "有一个请求在等待您",
    body: "某个代理想运行一条命令。请打开查看具体内容。",
    device_summary: "有一个设备在等待您",
    device_body: "某个程序想连接到 Countersign。请打开查看它要求的权限。",
    answer_summary: "您的回答未生效",
    answer_body: "某个网关没有接受它。请打开收件箱查看是哪一个。",
    none: "没有等待的请求",
    one: "有 1 个请求在等待",
    many: "有 {} 个请求在等待",
};

static KO: Words = Words {
    open: "Countersign 열기",
    pause: "알림 창 일시 중지",
    deny_all: "대기 중인 요청 모두 거부",
    quit: "종료",
    deny: "거부",
    show: "열기",
    summary: "요청이 대기 중입니다",
    body: "에이전트가 명령을 실행하려고 합니다. 열어서 내용을 확인하세요.",
    device_summary: "기기가 대기 중입니다",
    device_body: "프로그램이 Countersign에 연결하려고 합니다. 열어서 무엇을 요청하는지 확인하세요.",
    answer_summary: "응답이 반영되지 않았습니다",
    answer_body: "게이트웨이가 응답을 받아들이지 않았습니다. 받은 요청함을 열어 확인하세요.",
    none: "대기 중인 요청 없음",
    one: "요청 1개 대기 중",
    many: "요청 {}개 대기 중",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_desktops_locale_chooses_and_english_is_the_rest() {
        for (locale, expected) in [
            ("zh_CN.UTF-8", ZH.quit),
            ("ko_KR.UTF-8", KO.quit),
            ("de_DE.UTF-8", EN.quit),
            ("C", EN.quit),
            ("", EN.quit),
        ] {
            assert_eq!(of_locale(locale).quit, expected, "{locale}");
        }
    }

    #[test]
    fn the_number_is_said_in_every_language() {
        for words in [&EN, &ZH, &KO] {
            assert!(words.waiting(1).contains('1'), "{words:?}");
            assert!(words.waiting(12).contains("12") && !words.waiting(12).contains('{'), "{words:?}");
            assert_ne!(words.waiting(0), words.waiting(1));
        }
    }
}
