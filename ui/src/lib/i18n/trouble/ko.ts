import type { Catalogue } from '../en';

/** What keeps the app from its work, in Korean. */
export const trouble: Pick<Catalogue, 'trouble'> = {
  trouble: {
    store: '문서 확인 필요',
    socketRetrying: '소켓이 열려 있지 않음',
    socketOff: '소켓이 꺼져 있음',
    slow: '디스크가 느려 명령이 기다리는 중',
    recording: {
      broken: '디스크 오류로 기록할 수 없음',
      full: '디스크가 가득 차 기록할 수 없음',
      other: '아무것도 기록할 수 없음',
      'read-only': '디스크가 읽기 전용이라 기록할 수 없음',
    },
    shortage: {
      files: '더 이상 파일을 열 수 없음',
      processes: '더 이상 프로세스를 시작할 수 없음',
    },
    since: (line, time) => `${line} (${time}부터)`,
    record: '기록',
    recordWorks: '기록되고 있음',
    recordHelp: '다시 기록할 수 있을 때까지는 아무것도 묻지 않고 실행되지 않으며, 대신 묻습니다.',
    lost: {
      badge: '소켓 사라짐',
      of: { approval: '승인 소켓:', control: '명령줄 소켓:' },
      how: {
        lock: '잠금 파일이 지워지거나 바뀌었습니다',
        removed: '파일이 지워졌습니다',
        replaced: '파일이 바뀌었습니다',
      },
      again: (how, times) => (times > 1 ? `${how}(${times}번). 다시 열었습니다.` : `${how}. 다시 열었습니다.`),
    },
  },
};
