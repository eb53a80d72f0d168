import type { PetsCatalogue } from './en';

/** 연결 페이지의 ‘펫 클라이언트’ 부분, 한국어. */
export const ko: PetsCatalogue = {
  title: '펫 클라이언트',
  lead: '이 컴퓨터의 펫이나 위젯이 자기 세션의 도구 호출을 보여 주고 대신 답할 수 있습니다.',

  own: {
    name: '펫 채널',
    state: { off: '꺼짐', serving: '열림', blocked: '열리지 않음' },
    on: '켬',
    off: '끔',
    offHelp: '어떤 펫 클라이언트도 연결할 수 없습니다.',
    trust: '토큰을 가진 쪽은 자신이 밝힌 세션의 도구 호출에만 답할 수 있고, 다른 것에는 답할 수 없습니다.',
    blocked: 'Countersign 자체 게이트웨이가 열려 있지 않은데, 이 채널은 그 일부입니다. 위에서 여세요.',
    address: '주소',
    addressHelp: '클라이언트가 ?sessionId=와 자기 세션 이름을 덧붙입니다.',
    tokenFile: '토큰 파일',
    tokenHelp: '게이트웨이의 토큰과 다릅니다. 클라이언트는 Authorization: Bearer 또는 &token=으로 보냅니다.',
    copyAddress: '펫 채널 주소 복사',
    copyTokenFile: '펫 채널 토큰 파일 경로 복사',
  },

  sessions: {
    title: '연결된 클라이언트',
    none: '지금은 없습니다.',
    since: (when) => `${when} 연결`,
    waiting: (n) => (n === 0 ? '대기 중인 것 없음' : `호출 ${n}개 대기`),
    disconnect: '연결 끊기',
    disconnectOf: (name) => `${name} 연결 끊기`,
    disconnectHelp:
      '연결을 끊어도 그 클라이언트를 기다리던 것은 받은 요청함에 남고, 기억한 선택은 지워집니다. 다시 연결할 수 있습니다.',
    choices: (n) => `기억한 선택 ${n}개:`,
    approved: '승인',
    denied: '거부',
    choiceSince: (when) => `${when}부터`,
    arguments: '호출 인수',
    forget: '잊기',
    forgetOf: (tool) => `${tool}에 대한 선택 잊기`,
  },

  others: '다른 프로그램의 펫 서버',
  othersLead:
    '그곳에서 묻는 것이 여기에 표시됩니다. 허용하면 그 프로그램이 스스로 계속하며, 여기에서는 아무것도 실행되지 않습니다.',
  add: '펫 서버 추가',
  emptyTitle: '펫 서버 없음',
  emptyText: '펫 채널로 묻는 프로그램을 연결하면 그 질문이 받은 요청함에서 기다립니다.',

  source: {
    session: '세션',
    since: '연결 시간',
    pending: '여기서 대기',
    pendingIs: (n) => (n === 0 ? '없음' : `질문 ${n}개`),
    token: '토큰',
    tokenKept: '보관 중, 연결할 때 보냄',
    tokenNone: '없음',
    plainText: '없음: 이 컴퓨터를 벗어나지 않음',
    edit: '바꾸기',
    editOf: (name) => `펫 서버 ${name} 바꾸기`,
    remove: '제거',
    removeOf: (name) => `펫 서버 ${name} 제거`,
    retry: '지금 시도',
    retryOf: (name) => `펫 서버 ${name} 지금 시도`,
  },

  problem: {
    unreachable: {
      what: '이 주소에서 응답이 없습니다.',
      help: '프로그램이 그곳에서 실행 중인지, 주소와 포트가 맞는지 확인하세요.',
    },
    starting: { what: '펫 서버가 시작하는 중입니다.', help: '할 일은 없습니다.' },
    'secret-missing': {
      what: '토큰이 필요하지만 여기에 없습니다.',
      help: '그 프로그램이 기대하는 것을 입력하세요.',
    },
    'secret-wrong': { what: '다른 토큰이 필요합니다.', help: '그 프로그램이 지금 기대하는 것을 입력하세요.' },
    'secret-withheld': {
      what: '토큰이 데스크톱 키링에 있는데, 키링이 잠겼거나 응답하지 않습니다.',
      help: '키링의 잠금을 풀고 다시 시도하거나 토큰을 다시 입력하세요.',
    },
    'rate-limited': {
      what: '틀린 토큰이 너무 많아 당분간 받지 않습니다.',
      help: '토큰을 고치고 몇 분 기다린 뒤 다시 시도하세요.',
    },
    'not-paired': {
      what: '먼저 이 기기의 연결을 허용해야 한다고 합니다.',
      help: '펫 서버에는 그런 절차가 없습니다. 펫 서버의 주소가 맞는지 확인하세요.',
    },
    protocol: { what: '펫 서버와 다른 방식으로 말합니다.', help: '주소가 맞는지 확인하세요.' },
    'not-a-gateway': {
      what: '그곳에서 응답하는 것은 펫 서버가 아닙니다.',
      help: '주소, 포트, 경로가 맞는지 확인하세요.',
    },
  },
  refused: {
    '404': {
      what: '이 주소에 펫 채널이 없거나 꺼져 있습니다.',
      help: '그 프로그램에서 켜거나 주소의 경로를 고치세요.',
    },
    '409': {
      what: '이 세션에는 다른 프로그램이 이미 연결되어 있습니다.',
      help: '그 프로그램을 끝내거나 여기에 다른 세션을 쓰세요.',
    },
  },

  form: {
    addTitle: '펫 서버 추가',
    editTitle: '이 펫 서버 바꾸기',
    name: '이름',
    nameHelp: '이 서버에 붙이는 이름. 그곳에서 온 모든 질문에 표시됩니다.',
    url: '주소',
    urlHelp: '이 컴퓨터는 ws://127.0.0.1:8080, 다른 컴퓨터는 wss://. 경로가 없으면 /ws입니다.',
    session: '세션',
    sessionHelp: '연결할 때 쓸 sessionId. 이 세션에서 묻는 것이 여기로 옵니다.',
    token: '토큰',
    keep: '지금 것 유지',
    clear: '없음',
    set: '이것',
    tokenHelp: '연결할 때 이 서버로 보내며 다시 표시하지 않습니다.',
    pin: '인증서',
    pinHelp: 'wss:// 주소에서 신뢰할 유일한 인증서의 SHA-256, 16진수 64자리. 비우면 이 시스템이 신뢰하는 모든 인증서.',
    enabled: '이 서버에 연결',
    cancel: '뒤로',
    save: '저장',
    saveNew: '추가하고 연결',
  },

  removeTitle: '이 펫 서버를 제거할까요?',
  removeText:
    'Countersign이 연결을 끊고 토큰을 지웁니다. 여기서 기다리는 질문은 답하지 않고 보류되며, 시간이 지나면 그 프로그램이 거부합니다.',
  removeKeep: '유지',
  removeDo: '펫 서버 제거',
  gone: '이 펫 서버는 더 이상 없습니다.',
};
