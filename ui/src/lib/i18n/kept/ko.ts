import type { KeptCatalogue } from './en';

/** What runs changed in folders, and putting it back, in Korean. */
export const ko: KeptCatalogue = {
  badge: '파일 변경됨',
  region: (folder) => `${folder}의 변경 내용`,

  made: (n) => `${n}개 생성`,
  changed: (n) => `${n}개 수정`,
  deleted: (n) => `${n}개 삭제`,
  together: (parts) => parts.join(', '),
  where: '{folder}: {what}',
  unknown: '{folder}에서 무엇이 바뀌었는지 알 수 없습니다: {problem}',
  noState: '상태가 보관되지 않았습니다',
  leftOut: (n) => `파일 ${n}개는 여기에 없습니다. 너무 커서 보관하지 않았거나 읽을 수 없었습니다.`,

  reading: '바뀐 것을 살펴보는 중…',
  empty: '다른 것이 없습니다.',
  showMore: (n) => `${n}개 더 보기`,
  unlisted: (n) => `그 밖에 ${n}개는 여기에 나오지 않지만 ‘모두 되돌리기’에는 포함됩니다`,

  how: { made: '생성', changed: '수정', deleted: '삭제', moved: '이동' },
  from: '이전 위치',
  to: '새 위치',
  was: (size) => `이전 ${size}`,
  sizes: (before, after) => `${before} → ${after}`,

  differs: (path) => `${path}의 차이`,
  comparing: '비교하는 중…',
  notWhole: '차이가 모두 표시되지는 않았습니다.',
  same: {
    made: '빈 파일입니다.',
    changed: '다른 줄이 없습니다.',
    deleted: '빈 파일이었습니다.',
    moved: '내용은 그대로입니다.',
  },
  before: '이전',
  after: '이후',
  side: {
    absent: '없음',
    text: '텍스트',
    binary: (size) => `${size}, 텍스트가 아님`,
    'too-large': (size) => `${size}, 너무 커서 비교할 수 없음`,
    link: '{target}(으)로 가는 링크',
    folder: '폴더',
    'not-kept': '보관되지 않은 것',
    damaged: '보관본이 손상된 것',
  },

  putBack: '되돌리기',
  back: {
    badge: '되돌림',
    ofCommand: '{command}: {time}에 바꾼 것을 {who} 되돌렸습니다.',
    ofRun: '{time}에 실행한 명령이 바꾼 것을 {who} 되돌렸습니다.',
    ofBack: '{time}에 되돌린 것을 {who} 다시 되돌렸습니다.',
  },
  putBackOf: (path) => `${path} 되돌리기`,
  putAll: '모두 되돌리기',
  notKept: '이전 내용이 보관되지 않아 되돌릴 수 없습니다.',
  ask: '모두 되돌릴까요?',
  askText: (made) =>
    `수정되거나 삭제된 것은 이전 상태로 돌아갑니다${made === 0 ? '' : `(생성된 ${made}개는 제거됩니다)`}. 그 뒤에 누군가 바꾼 것은 그대로 둡니다.`,
  keep: '그대로 두기',
  confirm: '모두 되돌리기',
  working: '되돌리는 중…',

  put: (n) => `${n}개를 되돌렸습니다.`,
  undo: '이 일은 기록에 따로 한 줄로 남으며, 그 줄에서 다시 되돌릴 수 있습니다.',
  nothingPut: '되돌린 것이 없습니다.',
  already: '이미 이전과 같아 되돌린 것이 없습니다.',
  stays: (n) => `${n}개는 그대로입니다:`,
  more: (n) => `그 밖에 ${n}개`,
  why: {
    cancelled: '차례가 오기 전에 중단됨',
    changed: '그 뒤에 바뀜',
    damaged: '보관본이 손상됨',
    'not-empty': '폴더 안에 남을 것이 있음',
    'not-kept': '이전 내용이나 지금 내용이 보관되지 않음',
    protected: '다른 프로그램이 따르는 설정',
    system: '시스템이 허용하지 않음: {said}',
  },
};
