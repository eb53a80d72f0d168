import type { Catalogue } from './en';

/** The same in Korean. */
export const ko: Catalogue = {
  length: (least, most) =>
    least === 0 ? `최대 ${most}자까지 입력할 수 있습니다.` : `${least}자에서 ${most}자까지 입력하세요.`,
  range: (least, most) => `${least}에서 ${most} 사이의 숫자를 고르세요.`,
  atMost: (count) => `최대 ${count}개까지 둘 수 있습니다. 먼저 하나를 제거하세요.`,
  filters: (count, length) => `필터는 최대 ${count}개이고, 각각 최대 ${length}자입니다.`,
  executable: (why) => `시작할 수 있는 프로그램이 아닙니다 (${why}).`,
  'socket-address': 'ws://127.0.0.1:18789 또는 wss://host.example 같은 주소를 입력하세요.',
  'web-address':
    'https://host.example/path 같은 주소를 입력하세요. 이 컴퓨터는 http://127.0.0.1:8080처럼 쓸 수 있습니다.',
  'no-credentials': '주소에서 사용자 이름과 비밀번호를 빼세요. 비밀값에는 별도의 입력란이 있습니다.',
  encrypted: '암호화된 주소(wss:// 또는 https://)를 사용하세요. 다른 컴퓨터로 가는 도중에 남이 읽을 수 있습니다.',
  'another-program': '이 앱 자신의 주소입니다. 그곳으로 오는 요청은 어차피 묻습니다.',
  digest: '인증서의 SHA-256을 입력하세요. 0에서 f까지의 숫자 64개이며 콜론은 있어도 없어도 됩니다.',
  certificate: '암호화된 주소(wss:// 또는 https://)만 인증서를 보여 줍니다. 그런 주소를 쓰거나 인증서를 비워 두세요.',
  printable: '공백 없이 일반 ASCII 문자, 숫자, 기호만 사용하세요.',
  'own-secret': '이것은 OpenClaw의 게이트웨이용 비밀값입니다. 이곳에는 따로 정하세요.',
  'secret-again': '비밀값을 다시 입력하세요. 쓰이는 곳이 바뀌었습니다.',
  secret: '상대가 이 앱을 알아보는 비밀값을 입력하세요.',
  gateway: '연결된 게이트웨이 중 하나를 고르세요.',
  'absolute-path': '/usr/bin/notify-send 같은 프로그램의 전체 경로를 입력하세요.',
  arguments: '인수가 너무 많거나 깁니다.',
  pattern: '경로, 이름 또는 패턴을 입력하세요. 비어 있거나 “=”로 시작할 수 없습니다.',
  'agent-name': '여기서 에이전트가 쓸 수 없는 이름입니다.',
  'session-name': '세션의 이름을 입력하세요.',
  present: '더 이상 없습니다. 그사이 누군가 제거하거나 바꾸었습니다.',
  absent: '이미 있습니다.',
  'program-name': '프로그램의 이름이나 전체 경로를 앞뒤 공백 없이 입력하세요.',
  'absolute-folder': '/home/you/work 같은 폴더의 전체 경로를 입력하세요.',
  'file-digest': '파일의 SHA-256을 입력하세요. 0에서 f까지의 숫자 64개입니다.',
  'argument-shape': '인수가 서로 모순되거나 너무 많습니다. 옵션은 “-”로 시작하고, 필수인 것은 허용된 것이어야 합니다.',
  uses: '허용은 한 번 이상 쓰이고, 거부에는 사용 횟수가 없습니다.',
  'offered-answer': '이 요청에는 제시되지 않은 답입니다. 다른 답을 고르세요.',
  readable: '이 요청은 너무 길어 읽을 수 없으므로 거부만 할 수 있습니다.',
};
