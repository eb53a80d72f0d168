import type { RecordCatalogue } from './en';

export const ko: RecordCatalogue = {
  of: { decisions: '결정', unasked: '묻지 않고 실행된 것' },
  damage: {
    'cut-at-start': '가장 오래된 줄이 잘려 나갔습니다.',
    'cut-inside': '중간의 줄이 삭제되었습니다.',
    'cut-at-end': '가장 새로운 줄이 잘려 나갔습니다.',
    emptied: '기록이 비워졌습니다.',
    missing: '기록이 삭제되었습니다.',
    replaced: '기록이 다른 것으로 바뀌었습니다.',
    changed: '어떤 줄이 바뀌거나 추가되거나 옮겨졌습니다.',
  },
  badge: { note: '기록에 대하여', alarm: '기록 손상' },
  adopted: (last) => `이전 버전의 줄을 ${last}번째까지 이어서 보관합니다.`,
  rotated: (of) => `가득 찬 파일을 따로 두었습니다(${of}).`,
  removed: (lines, of) => `자리를 만들기 위해 가장 오래된 ${lines}줄을 지웠습니다(${of}).`,
  folded: (lines, source) => `${source}의 ${lines}줄은 세기만 했습니다. 이 시간의 몫을 다 썼습니다.`,
  unrecorded: (lines) => `${lines}줄을 쓸 수 없었습니다:`,
  damaged: (of) => `빠지거나 바뀐 줄이 있었습니다(${of}):`,
  powerLost: (of) => `가장 새로운 줄이 디스크에 기록되기 전에 컴퓨터가 멈췄습니다(${of}).`,
  newest: '가장 새로운 줄로 돌아가기',
  newer: (lines) => `더 새로운 줄은 여기에 없습니다. ${lines}줄을 불러왔습니다.`,
};
