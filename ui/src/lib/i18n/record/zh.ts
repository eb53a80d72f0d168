import type { RecordCatalogue } from './en';

export const zh: RecordCatalogue = {
  of: { decisions: '决定', unasked: '未经询问的运行' },
  damage: {
    'cut-at-start': '最早的记录被截去。',
    'cut-inside': '中间的记录被删去。',
    'cut-at-end': '最新的记录被截去。',
    emptied: '记录被清空。',
    missing: '记录被删除。',
    replaced: '记录被换成了另一份。',
    changed: '有一行被更改、添加或移动。',
  },
  badge: { note: '关于记录本身', alarm: '记录受损' },
  adopted: (last) => `沿用较早版本的记录，直到第 ${last} 条。`,
  rotated: (of) => `已将写满的文件归档（${of}）。`,
  removed: (lines, of) => `为腾出空间，删除了最早的 ${lines} 行（${of}）。`,
  folded: (lines, source) => `${source} 的 ${lines} 行只计了数：它已用完这一小时的份额。`,
  unrecorded: (lines) => `${lines} 行未能写入：`,
  damaged: (of) => `有记录缺失或被替换（${of}）：`,
  powerLost: (of) => `最新的记录写入磁盘之前，机器停止了（${of}）。`,
  newest: '回到最新记录',
  newer: (lines) => `此处未显示更新的记录；已加载 ${lines} 行。`,
};
