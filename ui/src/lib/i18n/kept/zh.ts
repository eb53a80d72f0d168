import type { KeptCatalogue } from './en';

/** What runs changed in folders, and putting it back, in simplified Chinese. */
export const zh: KeptCatalogue = {
  badge: '文件有变动',
  region: (folder) => `${folder} 中的变动`,

  made: (n) => `新建 ${n} 个`,
  changed: (n) => `修改 ${n} 个`,
  deleted: (n) => `删除 ${n} 个`,
  together: (parts) => parts.join('，'),
  where: '{folder} 中{what}',
  unknown: '无法得知 {folder} 中有何变动：{problem}',
  noState: '未保存其状态',
  leftOut: (n) => `其中不包括 ${n} 个文件：太大而未保存，或无法读取。`,

  reading: '正在查看变动…',
  empty: '没有差异。',
  showMore: (n) => `再显示 ${n} 个`,
  unlisted: (n) => `另有 ${n} 个未在此列出；“全部还原”也包括它们`,

  how: { made: '新建', changed: '修改', deleted: '删除', moved: '移动' },
  from: '从',
  to: '到',
  was: (size) => `原为 ${size}`,
  sizes: (before, after) => `${before} → ${after}`,

  differs: (path) => `${path} 中的差异`,
  comparing: '正在比较…',
  notWhole: '此处未显示全部差异。',
  same: {
    made: '文件是空的。',
    changed: '没有任何行不同。',
    deleted: '文件原本是空的。',
    moved: '内容保持不变。',
  },
  before: '之前',
  after: '之后',
  side: {
    absent: '什么也没有',
    text: '文本',
    binary: (size) => `${size}，不是文本`,
    'too-large': (size) => `${size}，太大而无法比较`,
    link: '指向 {target} 的链接',
    folder: '文件夹',
    'not-kept': '未保存的内容',
    damaged: '其保存的副本已损坏',
  },

  putBack: '还原',
  back: {
    badge: '已还原',
    ofCommand: '{who}还原了 {command} 在 {time} 所做的变动。',
    ofRun: '{who}还原了某次运行在 {time} 所做的变动。',
    ofBack: '{who}撤销了 {time} 的还原。',
  },
  putBackOf: (path) => `还原 ${path}`,
  putAll: '全部还原',
  notKept: '原来的内容未保存，因此无法还原。',
  ask: '要全部还原吗？',
  askText: (made) =>
    `被修改或删除的将恢复为之前的样子${made === 0 ? '' : `，新建的 ${made} 个将被移除`}。此后又被更改过的保持现状。`,
  keep: '保持现状',
  confirm: '全部还原',
  working: '正在还原…',

  put: (n) => `已还原 ${n} 个。`,
  undo: '这在历史记录中自成一行，也可以在那里还原。',
  nothingPut: '没有还原任何内容。',
  already: '现状与之前相同，因此没有还原任何内容。',
  stays: (n) => `${n} 个保持现状：`,
  more: (n) => `另有 ${n} 个`,
  why: {
    cancelled: '轮到它之前已中止',
    changed: '此后又被更改',
    damaged: '其保存的内容已损坏',
    'not-empty': '文件夹中还有要保留的内容',
    'not-kept': '原来的或现在的内容未保存',
    protected: '其他程序据以运行的设置',
    system: '系统不允许：{said}',
  },
};
