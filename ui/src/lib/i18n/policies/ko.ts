import type { PoliciesCatalogue } from './en';

/** Which document the policy and allowlist pages show, in Korean. */
export const ko: PoliciesCatalogue = {
  document: '어디의 문서인지',
  local: '이 컴퓨터',
  node: (gateway, node) => `${gateway} › ${node}`,
  of: (name) => `${name}의 문서`,
  again: '다시 읽기',
  reading: '문서를 읽는 중…',
  leftOut: (n) => `노드가 너무 많아 ${n}개는 나열하지 않았습니다.`,
  nodesUnknown: '노드를 알 수 없어 노드의 문서는 나열하지 않았습니다.',
  says: '상대의 설명:',
  toConnections: '연결',

  beside: {
    title: '항목 밖에서',
    lead: 'tools.json은 어떤 프로그램이 항목 없이 필터로 실행되는지, 인터프리터 명령줄의 코드를 물을지를 정합니다.',
    every: '모든 에이전트',
    everyone: '그 밖의 모든 에이전트',
    agent: '에이전트',
    programs: '필터',
    folders: '이 폴더에서',
    code: '명령줄의 코드',
    none: '없음',
    strict: '묻습니다',
    covered: '인터프리터의 항목이 허용',
    problems: '효과 없음:',
  },

  tools: {
    title: '에이전트의 도구',
    lead: '어떤 도구를 받는지, 나머지는 도구 정책의 어느 단계가 가져가는지. 아무것도 호출하지 않습니다.',
    agent: '에이전트',
    session: '세션',
    provider: '제공자',
    model: '모델',
    any: '모두',
    show: '보기',
    tool: '도구',
    verdict: '받는지 여부',
    gets: '예',
    takenBy: '아니요, 다음 단계가 가져감:',
    sandboxed: '그 명령은 샌드박스에서 실행됩니다.',
    notSandboxed: '그 명령은 샌드박스 밖에서 실행됩니다.',
    subAgent: (depth) => `하위 에이전트이며, 처음보다 ${depth}단계 아래입니다.`,
    group: '대신하는 그룹:',
    owner: '누가 소유자인지, 누가 메시지를 보냈는지는 어디에도 나타나지 않으므로 아무도 소유자로 치지 않습니다.',
    steps: '순서대로 단계:',
    warnings: '정책에서 이상한 점:',
  },

  short: {
    off: '꺼짐',
    'not-connected': '연결 안 됨',
    'not-permitted': '권한 없음',
    'not-offered': '제공 안 함',
    gone: '없어짐',
    refused: '거절됨',
    'no-answer': '응답 없음',
    malformed: '읽을 수 없음',
  },

  decides: {
    yes: '결정함',
    doubt: '확실하지 않음',
    local: '이 문서가 Countersign을 거쳐 이 컴퓨터에서 실행되는 것을 결정합니다.',
    'gateway-host':
      '이 문서가 게이트웨이의 설정과 함께 그 컴퓨터에서 실행되는 것을 결정하며, 둘 중 더 엄격한 쪽이 적용됩니다. 노드에서 실행하는 것은 노드의 문서가 결정합니다.',
    node: '이 문서가 게이트웨이의 설정과 함께 이 노드에서 실행되는 것을 결정하며, 둘 중 더 엄격한 쪽이 적용됩니다.',
    'node-alone':
      '이 문서가 이 노드에서 실행되는 것을 결정합니다. 이 릴리스의 노드는 게이트웨이 설정보다 더 많이 허용할 수 있습니다.',
    'node-unclear':
      '이 노드에서 실행되는 것에 쓰입니다. 이 노드의 릴리스가 게이트웨이 설정과 어떻게 합치는지는 알 수 없습니다.',
  },

  access: {
    off: { what: '이 게이트웨이는 꺼져 있습니다.', help: '연결 페이지에서 켜세요.' },
    'not-connected': { what: '연결되어 있지 않습니다.', help: '이유와 해결 방법은 연결 페이지에 있습니다.' },
    'node-not-connected': {
      what: '이 노드는 게이트웨이에 연결되어 있지 않습니다.',
      help: '다시 연결되면 문서를 읽을 수 있습니다.',
    },
    'not-permitted': {
      what: 'Countersign은 그곳의 정책을 읽을 수 없습니다. 연결에 operator.admin 권한이 없습니다.',
      help: '연결 페이지에서 이 게이트웨이의 “에이전트가 올린 승인 보기”를 켜고, 그곳에서 Countersign의 연결을 다시 허용하세요.',
    },
    'not-offered': {
      what: '이 노드는 명령을 실행하지만 정책을 알려 주지 않습니다.',
      help: '그 노드에서 직접 확인하세요. 새 릴리스는 알려 줍니다.',
    },
    gone: { what: '그런 게이트웨이나 노드가 더는 없습니다.', help: '위에서 다른 문서를 고르세요.' },
    refused: { what: '문서를 거절당했습니다.', help: '아래 상대의 설명에 이유가 있을 수 있습니다.' },
    'no-answer': {
      what: (seconds) => `${seconds}초 안에 응답이 없었습니다.`,
      help: '바쁠 수 있습니다. 잠시 뒤 다시 읽으세요.',
    },
    malformed: {
      what: '받은 것은 이해할 수 있는 문서가 아닙니다.',
      help: '그곳에는 아무것도 쓰지 않습니다. 그 컴퓨터에서 확인하세요.',
    },
  },
  kept: '아래는 마지막으로 알려 준 내용입니다. 초안은 그대로 둡니다.',

  readOnly: {
    'no-hash': '보기만 할 수 있습니다. 해시 없이 와서, 바꾸면 다른 사람의 변경을 덮어쓸 수 있습니다.',
    native: '보기만 할 수 있습니다. 이 노드는 자체 종류의 규칙을 둡니다. 노드에서 바꾸세요.',
    disabled: '이 노드의 자체 규칙은 그곳에서 꺼져 있고, 문서도 두지 않습니다.',
    'not-taken': '보기만 할 수 있습니다. 이 노드는 다른 곳에서 오는 변경을 받지 않습니다.',
  },
  unreadable: '이 문서는 쓸 수 없습니다. Countersign은 그곳에 아무것도 쓰지 않습니다. 그 컴퓨터에서 고치세요.',
  sameAsLocal: '이 컴퓨터의 게이트웨이가 내어 주는, 이 컴퓨터 자신의 문서입니다.',
  builtInUnknown:
    '설정하지 않은 곳에는 릴리스의 내장 값이 적용되는데, 어떤 값인지 알 수 없습니다. 가장 느슨한 경우를 보여 줍니다.',
  changedElsewhere: '다시 읽었고 초안은 그대로입니다.',
  noTest: '명령은 이 컴퓨터의 문서로만 시험할 수 있습니다.',
  written: '그곳에서 변경을 받아들였습니다.',

  native: {
    title: '이 노드의 자체 규칙',
    pattern: '패턴',
    action: '동작',
    actions: { allow: '허용', deny: '거부', prompt: '묻기' },
    off: '꺼짐',
    otherwise: (action) => `맞는 규칙이 없으면: ${action}.`,
    none: '규칙이 없습니다.',
    leftOut: (n) => `${n}개는 보여 주지 않았습니다.`,
  },
};
