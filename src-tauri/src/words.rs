//! What tray and notifications say, in the person's language. The windows have catalogues of their own; these
//! few words are drawn by the desktop and never pass through a page.

use countersign_protocol::settings::Language;

/// The words of one language.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) not_connected: &'static str,
    pub(crate) socket_closed: &'static str,
    pub(crate) document_broken: &'static str,
    pub(crate) open: &'static str,
    pub(crate) pause: &'static str,
    pub(crate) deny_all: &'static str,
    pub(crate) quit: &'static str,
    pub(crate) deny: &'static str,
    pub(crate) show: &'static str,
    pub(crate) body: &'static str,
    pub(crate) device_summary: &'static str,
    pub(crate) device_body: &'static str,
    pub(crate) answer_summary: &'static str,
    pub(crate) answer_body: &'static str,
    pub(crate) display_summary: &'static str,
    pub(crate) display_body: &'static str,
    /// `{agent}` and `{program}` stand for names; so they do in the next two.
    wants_to_run: &'static str,
    wants_a_command: &'static str,
    /// `{agent}` and `{destination}` stand for names.
    wants_to_reach: &'static str,
    asks: &'static str,
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

    /// An agent wants to run a program, or several.
    pub(crate) fn wants_to_run(&self, agent: &str, program: &str) -> String {
        // A name may look like the mark of the other one.
        let parts: Vec<String> =
            self.wants_to_run.split("{agent}").map(|part| part.replace("{program}", program)).collect();
        parts.join(agent)
    }

    /// A command of an agent's wants to reach something outside of its box.
    pub(crate) fn wants_to_reach(&self, agent: &str, destination: &str) -> String {
        let parts = self.wants_to_reach.split("{agent}");
        let parts: Vec<String> = parts.map(|part| part.replace("{destination}", destination)).collect();
        parts.join(agent)
    }

    /// An agent wants to run something whose programs are not known.
    pub(crate) fn wants_a_command(&self, agent: &str) -> String {
        self.wants_a_command.replace("{agent}", agent)
    }

    /// An agent wants something that is no command.
    pub(crate) fn asks(&self, agent: &str) -> String {
        self.asks.replace("{agent}", agent)
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
    not_connected: "A gateway is not connected",
    socket_closed: "The approval socket is not open",
    document_broken: "The approvals document cannot be read",
    open: "Open Countersign",
    pause: "Pause prompts",
    deny_all: "Deny everything that waits now",
    quit: "Quit",
    deny: "Deny",
    show: "Open",
    body: "Open it to read it in full.",
    device_summary: "A device waits for you",
    device_body: "A program wants to connect to Countersign. Open it to see what it asks for.",
    answer_summary: "Your answer did not count",
    answer_body: "A gateway did not take it. Open the inbox to see which one.",
    display_summary: "Prompts cannot be shown",
    display_body: "Their window ended again and again. For a minute the fallback decides, then it is tried again.",
    wants_to_run: "{agent} wants to run {program}",
    wants_a_command: "{agent} wants to run a command",
    wants_to_reach: "{agent} wants to reach {destination}",
    asks: "{agent} waits for your answer",
    none: "Nothing waits for you",
    one: "1 request waits for you",
    many: "{} requests wait for you",
};

static ZH: Words = Words {
    not_connected: "有网关未连接",
    socket_closed: "审批套接字未打开",
    document_broken: "无法读取审批文档",
    open: "打开 Countersign",
    pause: "暂停审批窗口",
    deny_all: "拒绝当前等待中的所有请求",
    quit: "退出",
    deny: "拒绝",
    show: "打开",
    body: "请打开查看完整内容。",
    device_summary: "有一台设备请求准入",
    device_body: "有程序想连接到 Countersign。请打开查看它请求的权限。",
    answer_summary: "您的答复未生效",
    answer_body: "某个网关没有接受它。请打开收件箱查看是哪一个。",
    display_summary: "无法显示审批窗口",
    display_body: "审批窗口反复终止。一分钟内由后备设置决定，之后会重试。",
    wants_to_run: "{agent} 想运行 {program}",
    wants_a_command: "{agent} 想运行一条命令",
    wants_to_reach: "{agent} 想连接 {destination}",
    asks: "{agent} 在等待您的答复",
    none: "没有等待的请求",
    one: "有 1 个请求在等待",
    many: "有 {} 个请求在等待",
};

static KO: Words = Words {
    not_connected: "연결되지 않은 게이트웨이가 있음",
    socket_closed: "승인 소켓이 열려 있지 않음",
    document_broken: "승인 문서를 읽을 수 없음",
    open: "Countersign 열기",
    pause: "승인 창 일시 중지",
    deny_all: "지금 대기 중인 요청 모두 거부",
    quit: "종료",
    deny: "거부",
    show: "열기",
    body: "열어서 전체 내용을 확인하세요.",
    device_summary: "기기가 연결 허용을 기다립니다",
    device_body: "프로그램이 Countersign에 연결하려고 합니다. 열어서 무엇을 요청하는지 확인하세요.",
    answer_summary: "답이 반영되지 않았습니다",
    answer_body: "게이트웨이가 답을 받아들이지 않았습니다. 받은 요청함을 열어 확인하세요.",
    display_summary: "승인 창을 표시할 수 없습니다",
    display_body: "승인 창이 반복해서 종료되었습니다. 1분 동안 대체 설정이 결정하고, 그 후 다시 시도합니다.",
    wants_to_run: "{agent}: {program} 실행 요청",
    wants_a_command: "{agent}: 명령 실행 요청",
    wants_to_reach: "{agent}: {destination} 연결 요청",
    asks: "{agent}: 답을 기다리는 중",
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
