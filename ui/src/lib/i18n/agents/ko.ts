import type { AgentsCatalogue } from './en';

/** 에이전트 페이지와 첫 단계, 한국어. */
export const ko: AgentsCatalogue = {
  title: '에이전트',
  lead: '이 컴퓨터에서 누가 일하고, 누가 행동하기 전에 여기서 묻는지 보여 줍니다.',
  again: '다시 찾기',
  showSteps: '첫 단계 보기',
  here: '이 컴퓨터에 있음',
  notHere: '찾았지만 없음',
  notHereHelp: '에이전트는 검색 경로의 프로그램이나 설정 폴더로 찾습니다.',
  noneTitle: '여기에서 에이전트를 찾지 못했습니다',
  noneText: '하나를 설치하거나 한 번 시작한 뒤 다시 찾으세요.',
  state: {
    asks: '여기서 물음',
    trouble: '항상 묻지는 않음',
    questions: '여기서 거의 묻지 않음',
    ours: '우리 도구만 물음',
    silent: '묻지 않음',
    idle: '연결 안 됨',
    gone: '더는 찾을 수 없음',
  },
  way: { hook: '훅', mcp: 'MCP' },
  both: '둘 다',
  wayHelp: {
    hook: '자신의 도구를 호출하기 전에 여기서 묻습니다.',
    mcp: '자신의 도구 외에 Countersign의 도구를 받고, 그 도구에 대해 여기서 묻습니다.',
  },
  since: (when) => `${when}부터`,
  sinceUnknown: '언제부터인지 알 수 없음',
  covers: '여기서 묻는 것',
  misses: '묻지 않는 것',
  wayOf: (way, what) => `${way}: ${what}`,
  program: '프로그램',
  release: '버전',
  released: (installed, tested) => `${installed} (시험한 버전: ${tested})`,
  lastSeen: '마지막 요청',
  seen: {
    never: '아직 없음',
    'not-lately': '최근에는 없음',
    'not-known': '알 수 없음, 기록을 읽을 수 없습니다',
  },
  programGone: (program) => `시작할 프로그램이 없습니다: ${program}. 다시 연결하세요.`,
  trustNotKnown: (agent) =>
    `${agent}에서 같은 자리의 훅을 신뢰한 적이 있습니다. 이 훅인지는 ${agent}만 압니다. 그곳에서 /hooks를 입력해 확인하세요.`,
  obstacle: {
    narrowed: (agent, path) =>
      `${agent}에서 모든 호출을 묻지는 않을 수 있습니다. 훅이 Countersign이 쓴 것과 다릅니다. 위치: ${path}`,
    neverHeard: (agent, when) =>
      `${agent}에서 ${when}에 도구를 사용했지만 여기서 물은 적이 없습니다. 다시 시작하고, 그래도 그대로이면 어떻게 시작되었는지 확인하세요.`,
    silent: (agent, when, heard) =>
      `${agent}에서 ${when}에 도구를 사용했지만 여기서 마지막으로 물은 때는 ${heard}입니다. 다시 시작하고, 그래도 그대로이면 어떻게 시작되었는지 확인하세요.`,
    off: (agent, path, setting) => `${agent}에서 묻지 않습니다. ${path}에 그렇게 되어 있습니다(${setting}).`,
    offWithin: (agent, path, setting, within) =>
      `${agent}: ${within}에서는 묻지 않습니다. ${path}에 그렇게 되어 있습니다(${setting}).`,
    untrusted: (agent) => `${agent}에서 훅을 신뢰하지 않아 묻지 않고 계속합니다. 그곳에서 /hooks를 입력해 신뢰하세요.`,
  },
  note: {
    hooksTwice: (agent) => `config.toml에도 훅이 있습니다. ${agent}에서 둘 다 쓰며 시작할 때마다 경고합니다.`,
    trustFirst: (agent) =>
      `훅은 신뢰한 뒤에야 호출됩니다. ${agent}에서 /hooks를 입력하세요. 그 전까지, 그리고 바뀔 때마다 여기서 묻지 않고 계속합니다.`,
    trustedFolders: (agent) => `${agent}에서 신뢰하지 않는 폴더에서는 훅이 호출되지 않습니다.`,
  },
  unread: '설정을 볼 수 없습니다.',
  connect: '연결…',
  connectOf: (agent) => `${agent} 연결`,
  change: '변경…',
  changeOf: (agent) => `${agent}의 묻는 방식 변경`,
  takeBack: '되돌리기…',
  takeBackOf: (agent) => `${agent}에 쓴 내용 되돌리기`,
  how: '묻는 방식',
  connectLead: '바뀌는 내용입니다. 아직 아무것도 쓰지 않았습니다.',
  takeBackLead: '우리가 쓴 내용을 뺍니다. 그 뒤로는 여기서 묻지 않습니다.',
  cannot: '설정을 바꿀 수 없어 아무것도 쓰지 않습니다.',
  looking: '설정을 보는 중…',
  same: '이미 그렇게 되어 있습니다. 쓸 내용이 없습니다.',
  nothingBack: '설정에 우리가 쓴 내용이 없습니다.',
  changedMeanwhile: '그사이 설정이 바뀌어 아무것도 쓰지 않았습니다. 지금 기준으로 바뀌는 내용입니다.',
  leftAlone: '설정은 그대로 둡니다:',
  byHand: '지금 내용에 직접 넣을 부분:',
  cancel: '취소',
  write: '쓰기',
  takeOut: '되돌리기',
  written: '썼습니다.',
  takenBack: '되돌렸습니다.',
  backup: '이전 내용이 있는 곳:',
  restart: (agent) => `${agent}을(를) 실행 중이라면 다시 시작하세요. 설정은 시작할 때 읽습니다.`,
  undo: '되돌리기…',
  openclaw: {
    gateway: 'OpenClaw의 게이트웨이',
    gatewayText: '이 게이트웨이에 연결하면 여기서 묻습니다. 설정에는 아무것도 쓰지 않습니다.',
    gatewayConnected: (names) => `연결됨: ${names}.`,
    node: 'OpenClaw의 노드',
    nodeText: 'Countersign이 열어 두는 승인 소켓으로 묻습니다. 설정에는 아무것도 쓰지 않습니다.',
    nodeOpen: '소켓 열림',
    nodeClosed: '소켓 닫힘',
    open: '연결 페이지 열기',
    openSettings: '설정 페이지 열기',
  },
  steps: {
    title: '첫 단계',
    position: (step, of) => `${of}단계 중 ${step}단계`,
    who: '누가 여기서 일하나요?',
    whoText:
      '에이전트를 연결하면 행동하기 전에 여기서 묻습니다. 쓰기 전에 바뀌는 내용을 볼 수 있고, 되돌릴 수도 있습니다.',
    harmless: '무엇이 해롭지 않나요?',
    harmlessText: '켜 두면 에이전트가 파일을 보거나 git 기록을 읽을 때 묻지 않습니다. 그 밖의 모든 것은 묻습니다.',
    harmlessHelp: '다른 규칙 묶음과 직접 만든 규칙은 규칙 페이지에 있습니다.',
    try: '해 보기',
    tryText: '예시가 에이전트처럼 해롭지 않은 명령을 요청합니다. 읽고 잠시 기다린 뒤 답하세요.',
    send: '예시 요청 보내기',
    sendAgain: '하나 더 보내기',
    waits: '방금 나타난 창에서 답을 기다립니다.',
    waitsPaused: '승인 창이 일시 중지되어 받은 요청함에서 기다립니다.',
    ran: '허용하여 실행되었습니다. 출력:',
    notRun: (outcome) => `실행되지 않았습니다: ${outcome}.`,
    asking: (names) => `이제 여기서 묻는 에이전트: ${names}.`,
    oursAsk: (names) => `다음은 Countersign의 도구만 여기서 묻습니다: ${names}. 자체 셸과 파일 변경은 묻지 않습니다.`,
    back: '뒤로',
    next: '다음',
    skip: '이 단계 건너뛰기',
    skipAll: '모두 건너뛰기',
    done: '완료',
    notKept: '첫 단계를 마쳤다고 적어 두지 못해 다음에 시작할 때 다시 나타납니다.',
  },
  said: {
    'every call of a tool, those of sub-agents and MCP servers too':
      '모든 도구 호출, 하위 에이전트와 MCP 서버의 호출 포함',
    'files that a prompt names with @; sessions with --bare, --safe-mode or other --setting-sources':
      '프롬프트에서 @로 가리킨 파일, --bare, --safe-mode 또는 다른 --setting-sources를 쓴 세션',
    'commands, files and other tools of Countersign that it calls':
      '에이전트가 호출하는 Countersign의 명령, 파일과 다른 도구',
    'commands, files and other tools of Countersign that its agents call':
      '그 안의 에이전트가 호출하는 Countersign의 명령, 파일과 다른 도구',
    'its own tools: take its shell away, or connect it by a hook where it has one':
      '에이전트 자신의 도구: 셸을 막거나, 훅이 있으면 훅으로 연결하세요',
    'its own tools: no hook of it was tried, so they are not asked about here':
      '에이전트 자신의 도구: 훅을 시험해 보지 않아 여기서 묻지 않습니다',
    'its own tools: it starts no program before it uses them; "permission": { "bash": "deny" } takes its shell away':
      '에이전트 자신의 도구: 쓰기 전에 아무 프로그램도 시작하지 않습니다. "permission": { "bash": "deny" }로 셸을 막을 수 있습니다',
    'commands, patches and calls of MCP tools, once you trusted the hook in Codex':
      '명령, 패치와 MCP 도구 호출, Codex에서 훅을 신뢰한 뒤부터',
    'most other tools, text typed into a command that runs, and everything until the hook is trusted':
      '대부분의 다른 도구, 실행 중인 명령에 입력한 텍스트, 그리고 훅을 신뢰하기 전의 모든 것',
    'every call of a tool in folders that it trusts': '에이전트가 신뢰하는 폴더에서의 모든 도구 호출',
    'folders that it does not trust; its own questions come besides':
      '신뢰하지 않는 폴더. 에이전트 자신의 질문은 따로 나옵니다',
    "sessions with --bare or --safe-mode; a project's hook in a folder that it does not trust":
      '--bare 또는 --safe-mode 세션, 신뢰하지 않는 폴더의 프로젝트 훅',
    'every call of a tool': '모든 도구 호출',
    'nothing that is known; it goes on when the hook takes longer than its limit':
      '알려진 것 없음. 훅이 제한 시간보다 오래 걸리면 그냥 계속합니다',
  },
};
