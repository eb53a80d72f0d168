import type { Catalogue } from '../en';

/** How much of everything there may be, in Korean. */
export const limits: Pick<Catalogue, 'limits'> = {
  limits: {
    title: '한도',
    waiting: {
      name: '대기 중인 요청',
      unit: '건',
      help: (least, most) =>
        `이 컴퓨터의 요청이 한꺼번에 몇 건까지 기다릴 수 있는지, ${least}~${most}. 하나라도 넘으면 바로 거부됩니다.`,
    },
    runSeconds: {
      name: '최대 실행 시간',
      unit: '초',
      help: (least, most) =>
        `이 시간이 지나면 에이전트가 무엇을 요구하든 여기서 실행되는 모든 명령이 끝납니다. ${least}이면 에이전트에게 맡기고, ${most}이면 하루입니다. 적용되는 제한은 요청 창에 표시됩니다.`,
    },
    outputKb: {
      name: '명령의 출력',
      unit: 'kB',
      help: (least, most) =>
        `명령이 출력한 내용 중 에이전트에게 전달되는 양, ${least}~${most}. 나머지는 버려지고 표시되며, 명령은 계속됩니다.`,
    },
    historyMb: {
      name: '기록의 크기',
      unit: 'MiB',
      help: (least, most) =>
        `결정을 얼마나 보관할지, ${least}~${most}. 묻지 않고 실행된 것은 그 한 배 반을 보관합니다. 가득 차면 가장 오래된 줄이 사라지고, 무엇이 사라졌는지 한 줄로 남습니다.`,
    },
  },
};
