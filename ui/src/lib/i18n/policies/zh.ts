import type { PoliciesCatalogue } from './en';

/** Which document the policy and allowlist pages show, in simplified Chinese. */
export const zh: PoliciesCatalogue = {
  document: '文档所属',
  local: '本机',
  node: (gateway, node) => `${gateway} › ${node}`,
  of: (name) => `${name} 的文档`,
  again: '重新读取',
  reading: '正在读取文档…',
  leftOut: (n) => `还有 ${n} 个节点未列出：数量太多。`,
  nodesUnknown: '它的节点未知，因此没有列出节点的文档。',
  says: '对方说：',
  toConnections: '连接',

  beside: {
    title: '条目之外',
    lead: 'tools.json 决定哪些程序可以不经条目作为过滤器运行，以及解释器命令行中的代码是否需要询问。',
    every: '所有智能体',
    everyone: '其他所有智能体',
    agent: '智能体',
    programs: '过滤器',
    folders: '位于这些文件夹',
    code: '命令行中的代码',
    none: '无',
    strict: '需要询问',
    covered: '由解释器的条目允许',
    problems: '不起作用：',
  },

  short: {
    off: '已关闭',
    'not-connected': '未连接',
    'not-permitted': '无权限',
    'not-offered': '不提供',
    gone: '已不存在',
    refused: '被拒绝',
    'no-answer': '无应答',
    malformed: '无法读取',
  },

  decides: {
    yes: '起决定作用',
    doubt: '不确定',
    local: '它决定通过 Countersign 在本机运行的内容。',
    'gateway-host':
      '它与该网关的设置一起决定在网关所在机器上运行的内容，以较严格者为准。网关交给节点运行的内容由节点的文档决定。',
    node: '它与所属网关的设置一起决定在此节点上运行的内容，以较严格者为准。',
    'node-alone': '它决定在此节点上运行的内容。这个版本的节点允许的内容可能比网关设置更多。',
    'node-unclear': '它用于在此节点上运行的内容。这个节点的版本如何把它与网关设置结合起来，目前未知。',
  },

  access: {
    off: { what: '此网关已关闭。', help: '请在“连接”中打开它。' },
    'not-connected': { what: '未连接。', help: '“连接”页会说明原因和解决办法。' },
    'node-not-connected': { what: '此节点没有连接到它的网关。', help: '它恢复连接后即可读取文档。' },
    'not-permitted': {
      what: 'Countersign 不能读取那里的策略：连接没有 operator.admin 权限。',
      help: '请在“连接”中为此网关打开“查看智能体提出的审批”，并在那里再次准入 Countersign。',
    },
    'not-offered': { what: '此节点会运行命令，但不告知其策略。', help: '请在该节点上查看；较新的版本会告知。' },
    gone: { what: '该网关或节点已不存在。', help: '请在上方选择其他文档。' },
    refused: { what: '对方拒绝提供文档。', help: '下方对方的说明也许会给出原因。' },
    'no-answer': { what: (seconds) => `${seconds} 秒内没有应答。`, help: '它可能正忙。请稍后重新读取。' },
    malformed: { what: '收到的内容不是可以理解的文档。', help: '不会向那里写入任何内容。请在那台机器上查看。' },
  },
  kept: '下方是它最后一次的内容。草稿会保留。',

  readOnly: {
    'no-hash': '只能查看：它没有附带哈希值，更改可能会覆盖他人的更改。',
    native: '只能查看：此节点保存的是它自己类型的规则。请在该节点上更改。',
    disabled: '此节点自己的规则在那里已关闭，而且它不保存文档。',
    'not-taken': '只能查看：此节点不接受来自别处的更改。',
  },
  unreadable: '此文档无法使用。Countersign 不会向那里写入任何内容；请在那台机器上修正。',
  sameAsLocal: '这就是本机自己的文档，由本机上的一个网关提供。',
  builtInUnknown: '未设置之处采用该版本的内置值，但不知道是哪个值。此处显示最宽松的可能。',
  changedElsewhere: '已重新读取；您的草稿已保留。',
  noTest: '只能针对本机的文档测试命令。',
  written: '对方已接受更改。',

  native: {
    title: '此节点自己类型的规则',
    pattern: '模式',
    action: '动作',
    actions: { allow: '允许', deny: '拒绝', prompt: '询问' },
    off: '已关闭',
    otherwise: (action) => `没有规则匹配时：${action}。`,
    none: '没有规则。',
    leftOut: (n) => `还有 ${n} 条未显示。`,
  },
};
