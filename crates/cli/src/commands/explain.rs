//! A trace in plain words, for people at a terminal, in the languages of the windows.

use countersign_companion::sentences::Language;
use countersign_protocol::trace::{
    Advice, EntryFit, HeldCause, MissCause, PolicyLayer, RuleStanding, TestVerdict, TraceStep, UnboundCause,
    VerdictCause,
};

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
    format!("{mark} {}", sentence(step, language))
}

fn sentence(step: &TraceStep, language: Language) -> String {
    let say = |english: String, chinese: String, korean: String| language.pick(english, chinese, korean);
    match step {
        TraceStep::Policy { security, security_layer, ask, ask_layer, fallback, fallback_layer } => {
            let layer = |one: &PolicyLayer| layer(*one, language);
            let (s, a, f) = (layer(security_layer), layer(ask_layer), layer(fallback_layer));
            say(
                format!("policy: security {security} ({s}), ask {ask} ({a}), fallback {fallback} ({f})"),
                format!("策略：安全级别 {security}（{s}），询问 {ask}（{a}），无人应答时 {fallback}（{f}）"),
                format!("정책: 보안 {security}({s}), 묻기 {ask}({a}), 답이 없을 때 {fallback}({f})"),
            )
        }
        TraceStep::Sandbox { network: false } => language
            .pick(
                "in a sandbox on this machine, without the network",
                "在本机的沙箱中，没有网络",
                "이 컴퓨터의 샌드박스 안, 네트워크 없음",
            )
            .to_owned(),
        TraceStep::Sandbox { network: true } => language
            .pick(
                "in a sandbox on this machine, with the network",
                "在本机的沙箱中，有网络",
                "이 컴퓨터의 샌드박스 안, 네트워크 있음",
            )
            .to_owned(),
        TraceStep::Opaque { cause, text } => say(
            format!("cannot be analysed ({cause}): {text}"),
            format!("无法分析（{cause}）：{text}"),
            format!("분석할 수 없음({cause}): {text}"),
        ),
        TraceStep::Extension { name, text } => say(
            format!("understood and harmless ({name}): {text}"),
            format!("可以理解且无害（{name}）：{text}"),
            format!("이해되고 해가 없음({name}): {text}"),
        ),
        TraceStep::Segment { typed } => {
            say(format!("command {typed}"), format!("命令 {typed}"), format!("명령 {typed}"))
        }
        TraceStep::Wrapper { through, program } => {
            let through = through.join(" → ");
            say(
                format!("{through} only starts {program}"),
                format!("{through} 只是启动 {program}"),
                format!("{through}은(는) {program}을(를) 시작할 뿐임"),
            )
        }
        TraceStep::Resolution { path: Some(path) } => {
            say(format!("the program is {path}"), format!("程序是 {path}"), format!("프로그램: {path}"))
        }
        TraceStep::Resolution { path: None } => {
            language.pick("the program was not found", "找不到程序", "프로그램을 찾지 못함").to_owned()
        }
        TraceStep::Builtin => language
            .pick("a harmless builtin of the shell", "无害的 shell 内建命令", "해가 없는 셸 내장 명령")
            .to_owned(),
        TraceStep::Entry { pattern, agent, fit } => {
            let fit = entry_fit(*fit, language);
            say(
                format!("entry {pattern} ({agent}): {fit}"),
                format!("条目 {pattern}（{agent}）：{fit}"),
                format!("항목 {pattern}({agent}): {fit}"),
            )
        }
        TraceStep::Rule { standing, rule } => {
            let standing = rule_standing(*standing, language);
            rule.as_ref().map_or_else(|| standing.to_owned(), |rule| format!("{standing}: {rule}"))
        }
        TraceStep::SafeBin { refusal: None } => language
            .pick("it may only filter its input", "它只过滤自己的输入", "입력을 거르기만 하는 프로그램임")
            .to_owned(),
        TraceStep::SafeBin { refusal: Some(refusal) } => say(
            format!("not as a filter of its input: {refusal}"),
            format!("不能作为过滤输入的程序：{refusal}"),
            format!("입력을 거르는 프로그램으로도 안 됨: {refusal}"),
        ),
        TraceStep::Skill => language
            .pick("a program of an installed skill", "已安装技能的程序", "설치된 스킬의 프로그램")
            .to_owned(),
        TraceStep::Missed { cause, detail } => {
            let cause = miss(*cause, language);
            detail.as_ref().map_or_else(|| cause.to_owned(), |detail| format!("{cause}: {detail}"))
        }
        TraceStep::Bound { programs } => {
            let programs = programs.join(", ");
            say(
                format!("exactly these programs would run: {programs}"),
                format!("只会运行这些程序：{programs}"),
                format!("정확히 이 프로그램만 실행됨: {programs}"),
            )
        }
        TraceStep::Unbound { cause } => {
            let cause = unbound(*cause, language);
            say(
                format!("cannot be pinned: {cause}"),
                format!("无法固定：{cause}"),
                format!("고정할 수 없음: {cause}"),
            )
        }
        TraceStep::Environment { names } => {
            let names = names.join(", ");
            say(
                format!("no entry covers these environment overrides: {names}"),
                format!("没有条目涵盖这些环境变量：{names}"),
                format!("이 환경 변수를 허용하는 항목이 없음: {names}"),
            )
        }
        TraceStep::Advice { advice: what, subject, more } => {
            let what = advice(*what, subject.as_deref().unwrap_or_default(), language);
            let more = match more {
                0 => String::new(),
                more => language.pick(
                    format!(" (and {more} more)"),
                    format!("（另有 {more} 个）"),
                    format!(" (외 {more}개)"),
                ),
            };
            say(
                format!("smallest change: {what}{more}"),
                format!("最小的改动：{what}{more}"),
                format!("가장 작은 변경: {what}{more}"),
            )
        }
        TraceStep::Open { folder, agent } => {
            let whom = match agent.as_str() {
                "*" => layer(PolicyLayer::Wildcard, language),
                agent => agent,
            };
            say(
                format!("the folder {folder} is open for {whom}"),
                format!("文件夹 {folder} 已对 {whom} 打开"),
                format!("{folder} 폴더가 {whom}에게 열려 있음"),
            )
        }
        TraceStep::Held { cause, detail } => {
            let detail = detail.as_deref().map(|detail| format!(" ({detail})")).unwrap_or_default();
            let cause = held(*cause, language);
            say(
                format!("its folder is open, and it is not contained: {cause}{detail}"),
                format!("文件夹已打开，但它不在箱子中运行：{cause}{detail}"),
                format!("폴더가 열려 있지만 상자 안에서 실행되지 않음: {cause}{detail}"),
            )
        }
        TraceStep::Verdict { verdict, cause } => {
            let verdict = match verdict {
                TestVerdict::Allow => {
                    language.pick("would run without asking", "会直接运行", "묻지 않고 실행됨")
                }
                TestVerdict::Contain => language.pick(
                    "would run in a box without asking",
                    "会直接在箱子中运行",
                    "묻지 않고 상자 안에서 실행됨",
                ),
                TestVerdict::Ask => language.pick("would ask", "会询问", "물어봄"),
                TestVerdict::Deny => language.pick("would be denied", "会被拒绝", "거부됨"),
            };
            format!("{verdict}: {}", verdict_cause(*cause, language))
        }
    }
}

fn held(cause: HeldCause, language: Language) -> &'static str {
    match cause {
        HeldCause::AskAlways => language.pick("ask is always", "总是询问", "항상 묻도록 되어 있음"),
        HeldCause::Environment => language.pick(
            "it sets variables that reach the program which makes the box",
            "它设置的变量会影响制作箱子的程序",
            "상자를 만드는 프로그램에 미치는 변수를 설정함",
        ),
        HeldCause::Discards => language.pick(
            "it loses work that cannot be put back",
            "它会丢弃无法恢复的工作",
            "되돌릴 수 없는 작업을 버림",
        ),
        HeldCause::Machine => language.pick(
            "it changes the machine beyond the folder",
            "它会更改文件夹以外的系统",
            "폴더 밖의 컴퓨터를 바꿈",
        ),
        HeldCause::Remote => language.pick(
            "it reaches other machines, or data that is kept there",
            "它会访问其他机器或其中的数据",
            "다른 컴퓨터나 그곳의 데이터에 닿음",
        ),
        HeldCause::Rights => {
            language.pick("it takes or gives rights", "它会取得或授予权限", "권한을 얻거나 줌")
        }
        HeldCause::Secrets => language.pick(
            "it reads keys, tokens, passwords or the whole environment",
            "它会读取密钥、令牌、密码或整个环境",
            "키, 토큰, 비밀번호나 환경 전체를 읽음",
        ),
        HeldCause::Sends => language.pick(
            "it tells or gives other people something",
            "它会向他人发送内容",
            "다른 사람에게 무언가를 알리거나 줌",
        ),
        HeldCause::NoBox => language.pick("no box can be made", "无法制作箱子", "상자를 만들 수 없음"),
        HeldCause::Unattended => language.pick(
            "nobody is asked, and it is open only where somebody could be",
            "没有人会被询问，而它只在能询问时打开",
            "아무에게도 묻지 않으며, 물을 수 있을 때에만 열려 있음",
        ),
    }
}

fn layer(layer: PolicyLayer, language: Language) -> &'static str {
    match layer {
        PolicyLayer::Requested => language.pick("requested", "请求", "요청"),
        PolicyLayer::Agent => language.pick("agent", "智能体", "에이전트"),
        PolicyLayer::Wildcard => language.pick("every agent", "所有智能体", "모든 에이전트"),
        PolicyLayer::Defaults => language.pick("defaults", "默认值", "기본값"),
        PolicyLayer::BuiltIn => language.pick("built in", "内置", "내장"),
    }
}

fn entry_fit(fit: EntryFit, language: Language) -> &'static str {
    match fit {
        EntryFit::Covers => language.pick("covers it", "涵盖此命令", "해당함"),
        EntryFit::OtherArguments => language.pick("other arguments", "参数不同", "인수가 다름"),
        EntryFit::OtherArgumentsOrFolder => {
            language.pick("other arguments or another folder", "参数或文件夹不同", "인수나 폴더가 다름")
        }
        EntryFit::OtherFile => language.pick("another file", "是另一个文件", "다른 파일임"),
    }
}

fn rule_standing(standing: RuleStanding, language: Language) -> &'static str {
    match standing {
        RuleStanding::Allows => language.pick("your rule allows it", "您的规则允许它", "내 규칙이 허용함"),
        RuleStanding::MayRefuse => language.pick(
            "it hides what it runs or does, and a rule of yours may refuse that",
            "它隐藏了实际运行或改动的内容，而您的规则可能会拒绝",
            "실행하거나 바꾸는 내용을 숨기고 있으며 내 규칙이 거부할 수 있음",
        ),
        RuleStanding::Refuses => language.pick("your rule refuses it", "您的规则拒绝它", "내 규칙이 거부함"),
        RuleStanding::Unreadable => language.pick(
            "your rules cannot be read, and one may refuse it",
            "无法读取您的规则，其中可能有拒绝它的规则",
            "내 규칙을 읽을 수 없으며 거부하는 규칙이 있을 수 있음",
        ),
    }
}

fn miss(cause: MissCause, language: Language) -> &'static str {
    match cause {
        MissCause::Alias => {
            language.pick("an alias changes later words", "别名会改变后面的词", "별칭이 뒤의 단어를 바꿈")
        }
        MissCause::Builtin => language.pick(
            "the shell itself may evaluate its words",
            "shell 自身可能会对其中的词求值",
            "셸이 직접 그 단어를 평가할 수 있습니다",
        ),
        MissCause::Assignment => language.pick(
            "variables are set before the command",
            "命令前设置了变量",
            "명령 앞에서 변수를 설정함",
        ),
        MissCause::BlockedWrapper => language.pick(
            "a wrapper that changes or hides what runs",
            "包装程序会改变或隐藏实际运行的内容",
            "래퍼가 실행 내용을 바꾸거나 숨김",
        ),
        MissCause::Carrier => language.pick(
            "the program is named among the arguments of another one",
            "要运行的程序写在另一个程序的参数里",
            "실행할 프로그램이 다른 프로그램의 인수에 있음",
        ),
        MissCause::Eval => language.pick("eval runs text", "eval 会运行文本", "eval이 텍스트를 실행함"),
        MissCause::InlineEval => language.pick(
            "a program on the command line",
            "命令行里写着程序代码",
            "명령줄에 프로그램 코드가 있음",
        ),
        MissCause::Launcher => language.pick(
            "a file in the folder or above decides which program runs",
            "该文件夹或其上级中的文件决定实际运行哪个程序",
            "폴더나 그 위의 파일이 실제로 실행될 프로그램을 정함",
        ),
        MissCause::NoEntry => language.pick(
            "no entry and no rule covers it",
            "没有条目或规则涵盖它",
            "해당하는 항목이나 규칙이 없음",
        ),
        MissCause::OddName => language.pick(
            "the name begins or ends with a blank",
            "名称以空白开头或结尾",
            "이름이 공백으로 시작하거나 끝남",
        ),
        MissCause::RelativeAfterMove => language.pick(
            "a relative program after the folder changed",
            "切换文件夹后使用了相对路径的程序",
            "폴더를 옮긴 뒤의 상대 경로 프로그램",
        ),
        MissCause::Renamed => language.pick(
            "the program would see another name",
            "程序会看到另一个名称",
            "프로그램이 다른 이름을 보게 됨",
        ),
        MissCause::Repository => language.pick(
            "the repository's own configuration may start a program",
            "仓库自身的配置可能会启动程序",
            "저장소 자체의 설정이 프로그램을 시작할 수 있음",
        ),
        MissCause::ShellThroughCarrier => {
            language.pick("a shell behind a wrapper", "包装程序后面是 shell", "래퍼 뒤에 셸이 있음")
        }
        MissCause::Source => {
            language.pick("a file is run as text", "会把文件当作命令运行", "파일을 명령으로 실행함")
        }
        MissCause::TooDeep => language.pick("too many wrappers", "包装层数过多", "래퍼가 너무 많음"),
        MissCause::TouchesHome => language.pick(
            "a wrapper would create a file in the home directory",
            "包装程序会在主目录中创建文件",
            "래퍼가 홈 폴더에 파일을 만들게 됨",
        ),
    }
}

fn unbound(cause: UnboundCause, language: Language) -> &'static str {
    match cause {
        UnboundCause::Carrier => language.pick(
            "a program runs another one",
            "程序会运行另一个程序",
            "프로그램이 다른 프로그램을 실행함",
        ),
        UnboundCause::Expansion => {
            language.pick("a shell would expand a word", "shell 会展开某个词", "셸이 단어를 확장함")
        }
        UnboundCause::NotStatic => {
            language.pick("not only plain commands", "不只是普通命令", "단순한 명령만이 아님")
        }
        UnboundCause::RelativeAfterMove => miss(MissCause::RelativeAfterMove, language),
        UnboundCause::ShellText => {
            language.pick("a text for another shell", "是给另一个 shell 的文本", "다른 셸을 위한 텍스트임")
        }
        UnboundCause::Unresolved => {
            language.pick("a program was not found", "找不到某个程序", "프로그램을 찾지 못함")
        }
    }
}

fn advice(advice: Advice, subject: &str, language: Language) -> String {
    let say = |english: String, chinese: String, korean: String| language.pick(english, chinese, korean);
    match advice {
        Advice::AddEntry => say(
            format!("an entry for {subject}"),
            format!("为 {subject} 添加条目"),
            format!("{subject} 항목 추가"),
        ),
        Advice::DropRedirection => say(
            format!("leave out the redirection {subject}"),
            format!("去掉重定向 {subject}"),
            format!("리디렉션 {subject} 빼기"),
        ),
        Advice::DropAssignments => {
            say(format!("leave out {subject}"), format!("去掉 {subject}"), format!("{subject} 빼기"))
        }
        Advice::NameFiles => language
            .pick(
                "write the names out instead of a wildcard, braces or ~",
                "写出名称，不用通配符、花括号或 ~",
                "와일드카드, 중괄호, ~ 대신 이름을 쓰기",
            )
            .to_owned(),
        Advice::OneLine => language.pick("write it on one line", "写成一行", "한 줄로 쓰기").to_owned(),
        Advice::RunInForeground => {
            language.pick("run it in the foreground", "在前台运行", "포그라운드에서 실행하기").to_owned()
        }
        Advice::RunSeparately => say(
            format!("run {subject} as a command of its own"),
            format!("把 {subject} 作为单独的命令运行"),
            format!("{subject}을(를) 따로 실행하기"),
        ),
        Advice::WithoutShell => language
            .pick(
                "run the inner text without the shell around it",
                "直接运行里面的命令，不套 shell",
                "셸을 거치지 않고 안쪽 명령을 실행하기",
            )
            .to_owned(),
        Advice::WithoutWrapper => say(
            format!("run the command without {subject}"),
            format!("不用 {subject} 运行该命令"),
            format!("{subject} 없이 실행하기"),
        ),
        Advice::WholePath => language
            .pick("name the program by its whole path", "用完整路径指定程序", "프로그램을 전체 경로로 쓰기")
            .to_owned(),
        Advice::WriteValueOut => say(
            format!("write the value of {subject} out"),
            format!("直接写出 {subject} 的值"),
            format!("{subject}의 값을 직접 쓰기"),
        ),
    }
}

fn verdict_cause(cause: VerdictCause, language: Language) -> &'static str {
    match cause {
        VerdictCause::Allowlist => language.pick(
            "entries or rules cover every part",
            "每个部分都有条目或规则涵盖",
            "모든 부분에 해당하는 항목이나 규칙이 있음",
        ),
        VerdictCause::Contained => {
            language.pick("its folder is open", "它的文件夹已打开", "폴더가 열려 있음")
        }
        VerdictCause::AllowlistMiss => language.pick(
            "neither the allowlist nor a rule covers it",
            "允许列表和规则都没有涵盖它",
            "허용 목록에도 규칙에도 없음",
        ),
        VerdictCause::AllowlistUnbound => language.pick(
            "covered, but what would run cannot be pinned",
            "虽被涵盖，但无法固定实际运行的内容",
            "허용되지만 실행 내용을 고정할 수 없음",
        ),
        VerdictCause::AskAlways => language.pick("ask is always", "总是询问", "항상 묻도록 되어 있음"),
        VerdictCause::Environment => {
            language.pick("unusual environment overrides", "不常见的环境变量", "흔치 않은 환경 변수")
        }
        VerdictCause::Fallback => {
            language.pick("the fallback is full", "无人应答时全部允许", "답이 없으면 모두 허용")
        }
        VerdictCause::FallbackAllowlist => language.pick(
            "the fallback is the allowlist",
            "无人应答时按允许列表",
            "답이 없으면 허용 목록대로",
        ),
        VerdictCause::Forwarded => {
            language.pick("a person allowed it elsewhere", "有人在别处允许了它", "다른 곳에서 사람이 허용함")
        }
        VerdictCause::Opaque => language.pick("it cannot be analysed", "无法分析", "분석할 수 없음"),
        VerdictCause::Person => language.pick("a person allowed it", "有人允许了它", "사람이 허용함"),
        VerdictCause::Reviewer => language.pick(
            "a reviewer let it pass elsewhere",
            "审查程序在别处放行了它",
            "다른 곳에서 검토 프로그램이 통과시킴",
        ),
        VerdictCause::RuleRefuses => rule_standing(RuleStanding::Refuses, language),
        VerdictCause::RuleDoubt => rule_standing(RuleStanding::MayRefuse, language),
        VerdictCause::SecurityDeny => {
            language.pick("security is deny", "安全级别为拒绝", "보안이 거부로 되어 있음")
        }
        VerdictCause::SecurityFull => {
            language.pick("security is full", "安全级别为全部允许", "보안이 모두 허용으로 되어 있음")
        }
        VerdictCause::UserDenied => language.pick("a person said no", "有人拒绝了", "사람이 거부함"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn every_language_says_what_would_have_helped() {
        let step =
            TraceStep::Advice { advice: Advice::AddEntry, subject: Some("/usr/bin/rg".into()), more: 2 };
        assert_eq!(
            line(&step, Language::English),
            "  smallest change: an entry for /usr/bin/rg (and 2 more)"
        );
        for language in [Language::Chinese, Language::Korean] {
            let said = line(&step, language);
            assert!(said.contains("/usr/bin/rg") && said.contains('2') && !said.is_ascii(), "{said}");
        }
    }
}
