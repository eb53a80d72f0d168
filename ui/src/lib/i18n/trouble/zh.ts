import type { Catalogue } from '../en';

/** What keeps the app from its work, in simplified Chinese. */
export const trouble: Pick<Catalogue, 'trouble'> = {
  trouble: {
    store: '文档需要注意',
    socketRetrying: '套接字未打开',
    socketOff: '套接字已关闭',
    slow: '磁盘很慢：命令在等待磁盘',
    recording: {
      broken: '磁盘出错：无法记录任何内容',
      full: '磁盘已满：无法记录任何内容',
      other: '无法记录任何内容',
      'read-only': '磁盘为只读：无法记录任何内容',
    },
    shortage: {
      files: '无法再打开更多文件',
      processes: '无法再启动更多进程',
    },
    since: (line, time) => `${line}（自 ${time}）`,
    record: '历史记录',
    recordWorks: '正常写入',
    recordHelp: '在能够重新写入之前，任何命令都不会不经询问运行，而是会询问您。',
    lost: {
      badge: '套接字丢失',
      of: { approval: '审批套接字：', control: '命令行的套接字：' },
      how: {
        lock: '其锁被移除或替换',
        removed: '其文件被移除',
        replaced: '其文件被替换',
      },
      again: (how, times) => (times > 1 ? `${how}，共 ${times} 次；已重新打开。` : `${how}；已重新打开。`),
    },
  },
};
