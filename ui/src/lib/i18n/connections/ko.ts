import type { ConnectionsCatalogue } from './en';

/** The page about connections, in Korean. */
export const ko: ConnectionsCatalogue = {
  title: '연결',
  lead: (connected, all) =>
    all === 0
      ? '누가 여기로 연결하고, 또 어디에서 묻는지 보여 줍니다. 연결이 끊겨도 아무것도 허용되지 않습니다.'
      : `게이트웨이 ${all}개 중 ${connected}개 연결됨. 연결이 끊겨도 아무것도 허용되지 않습니다.`,
  here: '이 컴퓨터',
  hereLead: '이 컴퓨터의 프로그램을 위한 Countersign 자체 게이트웨이입니다. 밖에서는 연결할 수 없습니다.',
  others: '다른 게이트웨이',
  othersLead: '그곳 에이전트의 요청이 여기에 표시되고, 답은 그곳으로 전달됩니다.',

  own: {
    name: '자체 게이트웨이',
    state: { off: '꺼짐', serving: '열림', failed: '열리지 않음' },
    on: '켬',
    off: '끔',
    failedHelp: '다른 포트를 고르거나, 그 포트를 쓰는 프로그램을 끝내세요.',
    offHelp: '아무것도 연결할 수 없습니다. 승인 소켓과 다른 게이트웨이는 그대로 작동합니다.',
    address: '주소',
    port: '포트',
    portHelp: '1024에서 65535까지. 연결된 프로그램은 다시 연결해야 합니다.',
    portOther: (real) =>
      `지금은 ${real} 포트를 씁니다. Countersign을 시작할 때 설정된 환경 변수 COUNTERSIGN_GATEWAY_PORT가 이 설정보다 우선합니다.`,
    portWrong: '1024에서 65535 사이의 정수가 필요합니다.',
    portSave: '이 포트 사용',
    tokenFile: '토큰 파일',
    tokenHelp:
      '프로그램은 이 주소로 연결해 이 파일의 내용을 보냅니다. OpenClaw 프로그램은 두 값을 OPENCLAW_GATEWAY_URL과 OPENCLAW_GATEWAY_TOKEN에서 읽습니다.',
    copyAddress: '주소 복사',
    copyTokenFile: '토큰 파일 경로 복사',
  },

  clients: {
    title: '연결된 프로그램',
    none: '지금은 없습니다.',
    noDevice: '자체 기기 ID 없음',
  },

  devices: {
    title: '연결을 허용한 기기',
    none: '없습니다. 자체 키를 보이는 프로그램은 위에 나타나 답을 기다립니다.',
    since: (when) => `${when} 허용`,
    connected: '연결됨',
    notConnected: '연결 안 됨',
    takes: '받는다고 하는 명령:',
    remove: '제거',
    removeOf: (name) => `기기 ${name} 제거`,
    removeTitle: '이 기기를 제거할까요?',
    removeText: '바로 연결이 끊기며, 다시 연결 허용을 요청해야 합니다.',
    removeDo: '기기 제거',
  },

  waiting: {
    title: (n) => (n === 1 ? '기기 한 대가 연결 허용을 요청합니다' : `기기 ${n}대가 연결 허용을 요청합니다`),
    lead: '방금 직접 시작한 것만 허용하세요.',
    wants: '{name} 기기가 연결 허용을 요청합니다',
    device: '기기',
    copyDevice: '기기 ID 전체 복사',
    platform: '스스로 밝힌 환경',
    why: '묻는 이유',
    since: '요청 시각',
    asks: '되려는 것',
    may: '그러면 할 수 있는 일',
    nothing: '연결 외에는 없음',
    letIn: '연결 허용',
    refuse: '거절',
  },

  reason: {
    'not-paired': '처음 온 기기입니다.',
    'role-upgrade': '전에 허용한 기기가 이제 다른 역할도 하려고 합니다.',
    'scope-upgrade': '전에 허용한 기기가 이제 더 많은 일을 하려고 합니다.',
    'metadata-upgrade': '전에 허용한 기기가 이제 다른 환경에서 실행된다고 합니다. 키가 복사되었을 수 있습니다.',
    unknown: '게이트웨이가 밝히지 않습니다.',
  },

  roleName: { operator: '운영자', node: '노드', unknown: '알 수 없는 역할' },
  role: {
    operator: '운영자: 지켜보고 답하는 프로그램',
    node: '노드: 에이전트를 위해 명령을 실행하는 컴퓨터',
    unknown: '이 버전이 모르는 역할',
  },

  scope: {
    'operator.admin': '모든 일: 요청에 답하고, 다른 기기의 연결을 허용하고, 설정을 바꿈',
    'operator.approvals': '기다리는 모든 요청을 보고 대신 답함',
    'operator.pairing': '다른 기기의 연결을 허용하거나 제거함',
    'operator.read': '일어나는 일을 봄',
    'operator.write': '연결된 컴퓨터에서 명령을 실행하게 하고, 일어나는 일을 봄',
    unknown: '이 버전이 모르는 일',
  },

  add: '게이트웨이 추가',
  emptyTitle: '다른 게이트웨이가 없습니다',
  emptyText:
    '이 컴퓨터나 다른 컴퓨터의 OpenClaw 게이트웨이를 연결하면 그곳 에이전트의 요청이 받은 요청함에서 기다립니다.',

  state: {
    off: '꺼짐',
    connecting: '연결 중…',
    connected: '연결됨',
    limited: '연결됨, 일부 제한',
    waiting: '연결 안 됨',
    stopped: '멈춤',
  },

  link: {
    release: '릴리스',
    releaseIs: (version, protocol) => `${version}, 프로토콜 ${protocol}`,
    roundTrip: '응답 시간',
    micros: (n) => `${n} µs`,
    millis: (n) => `${n} ms`,
    since: '연결 시간',
    may: '할 수 있는 일',
    mayUnknown: '이 릴리스는 알려 주지 않습니다.',
    mayNothing: '없음',
    certificate: '인증서',
    pinned: '이것만 신뢰',
    authorities: '이 시스템이 신뢰하는 모든 인증서',
    plainText: '없음: 암호화되지 않은 연결',
    secret: { token: '토큰', password: '비밀번호' },
    place: {
      none: '없음',
      keyring: '데스크톱 키링에 보관',
      file: '키링이 없어 비공개 파일에 보관',
      'open-claw': '이 컴퓨터의 OpenClaw 것',
    },
    sessions: '이름에 다음이 든 세션만',
    agents: '에이전트의 승인',
    agentsSeen: 'operator.admin으로 요청함',
    agentsNotSeen: '요청하지 않음',
    nodes: '노드',
    nodesRun: '이 컴퓨터의 명령을 operator.write로 그곳에서 실행할 수 있음',
    pending: '여기서 대기',
    pendingIs: (n) => (n === 0 ? '없음' : `요청 ${n}개`),
    edit: '바꾸기',
    editOf: (name) => `게이트웨이 ${name} 바꾸기`,
    remove: '제거',
    removeOf: (name) => `게이트웨이 ${name} 제거`,
    retryIn: (time) => `${time} 후 다시 시도합니다.`,
    retrying: '지금 다시 시도합니다.',
    stopped: '저절로 다시 시도하지 않습니다.',
    retry: '지금 시도',
    retryOf: (name) => `게이트웨이 ${name} 지금 시도`,
    says: '상대가 한 말:',
    pinIs: '고정됨',
    pinFound: '제시됨',
    onThatMachine: '그 게이트웨이의 컴퓨터에서:',
    copyCommand: '명령 복사',
  },

  problem: {
    unreachable: {
      what: '이 주소에서 응답이 없습니다.',
      help: '게이트웨이가 그곳에서 실행 중인지, 주소와 포트가 맞는지 확인하세요.',
    },
    'timed-out': { what: '응답하다가 끊겼습니다.', help: '바쁘거나 중간 네트워크가 끊겼을 수 있습니다.' },
    starting: { what: '게이트웨이가 시작하는 중입니다.', help: '할 일은 없습니다.' },
    closed: {
      what: '상대가 연결을 끝냈습니다.',
      help: '계속 반복되면 그쪽 로그에 이유가 있습니다.',
      code: (code) => `코드 ${code}.`,
    },
    'secret-missing': {
      what: '토큰이나 비밀번호가 필요하지만 여기에 없습니다.',
      help: '그 게이트웨이의 설정에 있는 것을 입력하세요.',
    },
    'secret-withheld': {
      what: '토큰이나 비밀번호가 데스크톱 키링에 있는데, 키링이 잠겼거나 응답하지 않습니다.',
      help: '키링의 잠금을 풀고 다시 시도하거나 비밀 값을 다시 입력하세요.',
    },
    'secret-wrong': {
      what: '다른 토큰이나 비밀번호가 필요합니다.',
      help: '그 게이트웨이의 설정에 지금 있는 것을 입력하세요.',
    },
    'rate-limited': {
      what: '틀린 토큰이나 비밀번호가 너무 많아 당분간 받지 않습니다.',
      help: '토큰이나 비밀번호를 고치고 몇 분 기다린 뒤 다시 시도하세요.',
    },
    'not-paired': {
      what: '먼저 그곳에서 Countersign의 연결을 허용해야 합니다.',
      help: '그곳에 권한이 있는 사람이 이 요청을 승인해야 합니다.',
      helpList: '그곳에서 Countersign의 최신 요청을 찾아 승인하세요:',
      reason: {
        'role-upgrade': '전에 허용되었지만 운영자로는 아니었습니다.',
        'scope-upgrade': '전에 허용되었지만 지금 요청하는 것보다 적은 권한이었습니다.',
        'metadata-upgrade': '전에 허용되었지만, 이 컴퓨터의 정보가 바뀐 것을 게이트웨이가 알아챘습니다.',
      },
    },
    protocol: {
      what: '다른 세대의 프로토콜을 씁니다.',
      expects: (expected) => `상대는 ${expected}을(를) 기대하고, Countersign은 3과 4를 씁니다.`,
      help: '둘 중 오래된 쪽을 업데이트하세요.',
    },
    'pin-mismatch': {
      what: '인증서가 고정된 것이 아닙니다.',
      help: '인증서를 갱신했다면 그 컴퓨터에서 제시된 지문을 대조한 뒤 고정하세요. 아니라면 누군가 사이에 있을 수 있으니 그대로 두세요.',
    },
    certificate: {
      what: '인증서를 신뢰할 수 없습니다.',
      help: '이 시스템이 신뢰하는 인증서를 쓰거나, 지금 인증서의 지문을 고정하세요.',
    },
    refused: { what: '연결을 거절했습니다.', help: '아래 상대의 말에 그쪽에서 바꿀 것이 있을 수 있습니다.' },
    'not-a-gateway': {
      what: '그곳에서 응답하는 것은 게이트웨이가 아닙니다.',
      help: '주소와 포트가 맞는지 확인하세요.',
    },
  },

  gap: {
    'no-approvals': {
      what: 'operator.approvals를 주지 않아 아무것도 보거나 답할 수 없습니다.',
      help: '그곳에서 그 권한으로 Countersign의 연결을 다시 허용한 뒤 시도하세요:',
    },
    'agents-hidden': {
      what: '그곳 에이전트의 요청이 보이지 않습니다.',
      help: '이 릴리스는 operator.admin에게만 보여 줍니다. 괜찮다면 “에이전트가 올린 승인 보기”를 켜세요.',
    },
    'no-list': {
      what: '기다리는 요청을 나열하지 못합니다.',
      help: '연결하기 전의 요청은 여기에 보이지 않으니 그곳에서 답하세요. 새 릴리스는 나열할 수 있습니다.',
    },
    'scopes-narrow': {
      what: '그곳에서 지금 원하는 것보다 적은 권한으로 허용되어, 그 권한으로 연결되어 있습니다.',
      help: '그곳에서 권한이 있는 사람이 이 요청을 승인해야 하며, 그러면 Countersign이 스스로 새 권한으로 연결합니다:',
      helpSecret:
        '그 게이트웨이의 토큰이나 비밀번호를 다시 입력하세요. 그래야 그곳에서 더 많은 권한을 청할 수 있습니다.',
    },
  },

  form: {
    addTitle: '게이트웨이 추가',
    editTitle: '게이트웨이 바꾸기',
    lead: 'Countersign은 독립된 기기로 연결하며, 먼저 그곳에서 연결을 허용해야 할 수 있습니다.',
    name: '이름',
    nameHelp: '이 게이트웨이에 붙이는 이름. 그곳에서 온 모든 요청에 표시됩니다.',
    url: '주소',
    urlHelp: '이 컴퓨터는 ws://127.0.0.1:18789, 다른 컴퓨터는 wss://.',
    secretKind: '필요한 것',
    secret: '비밀 값',
    keep: (place) => `지금 것 유지 (${place})`,
    keepNone: '유지: 없음',
    set: '이것',
    clear: '없음',
    'open-claw': '이 컴퓨터의 OpenClaw 것',
    openClawHelp: '연결할 때마다 OpenClaw의 설정이나 환경에서 읽으며, 다른 곳에 보관하지 않습니다.',
    value: { token: '토큰', password: '비밀번호' },
    valueHelp: '데스크톱 키링에, 없으면 비공개 파일에 보관합니다. 다시 표시되지 않습니다.',
    pin: '인증서',
    pinHelp: '신뢰할 유일한 인증서의 SHA-256, 16진수 64자리. 비우면 이 시스템이 신뢰하는 모든 인증서.',
    agents: '에이전트가 올린 승인 보기',
    agentsHelp:
      '2026.5 릴리스부터 게이트웨이는 operator.admin에게만 보여 주는데, 그 권한은 그곳에서 모든 일을 할 수 있습니다. Countersign은 오직 이 목적으로만 요청합니다. 없으면 다른 프로그램의 요청만 보입니다.',
    nodes: '이 게이트웨이의 노드에서 명령 실행 허용',
    nodesHelp:
      '이 컴퓨터의 에이전트를 이름, ID 또는 주소로 그 노드에 보낼 수 있게 됩니다. 다른 노드처럼 여기서 먼저 묻고, 그다음은 노드 자신의 정책이 결정하며, 여기서 한 답은 그곳에서 효력이 없습니다. Countersign은 operator.write를 요청합니다.',
    session: '이름에 다음이 든 세션만',
    sessionHelp: '세션 이름의 일부. 비우면 모든 세션.',
    enabled: '이 게이트웨이에 연결',
    cancel: '뒤로',
    save: '저장',
    saveNew: '추가하고 연결',
  },

  removeTitle: '이 게이트웨이를 제거할까요?',
  removeText:
    'Countersign이 연결을 끊고 비밀 값을 지웁니다. 여기서 기다리는 요청은 답하지 않고 보류되며, 그곳에서 계속 기다립니다.',
  removeKeep: '유지',
  removeDo: '게이트웨이 제거',
  gone: '이 게이트웨이는 더 이상 없습니다.',
};
