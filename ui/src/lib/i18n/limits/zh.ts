import type { Catalogue } from '../en';

/** How much of everything there may be, in simplified Chinese. */
export const limits: Pick<Catalogue, 'limits'> = {
  limits: {
    title: '上限',
    waiting: {
      name: '等待中的请求',
      unit: '个',
      help: (least, most) => `本机最多有多少请求同时等待您，${least} 至 ${most}。再多一个会立即被拒绝。`,
    },
    runSeconds: {
      name: '最长运行时间',
      unit: '秒',
      help: (least, most) =>
        `超过此时间，在这里运行的任何命令都会被终止，不管智能体要求多久；${least} 表示由智能体决定，${most} 是一天。提示窗口会显示生效的时限。`,
    },
    outputKb: {
      name: '命令的输出',
      unit: 'kB',
      help: (least, most) =>
        `命令打印的内容有多少会交给智能体，${least} 至 ${most}。其余的会被丢弃并标明，命令继续运行。`,
    },
    historyMb: {
      name: '历史记录的大小',
      unit: 'MiB',
      help: (least, most) =>
        `您的决定保留多少，${least} 至 ${most}；未经询问就运行的另保留其一倍半。满了以后最旧的行会被删除，并留下一行说明删了哪些。`,
    },
  },
};
