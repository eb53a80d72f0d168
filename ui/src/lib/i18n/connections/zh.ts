import type { ConnectionsCatalogue } from './en';

/** The page about connections, in simplified Chinese. */
export const zh: ConnectionsCatalogue = {
  title: '连接',
  lead: (connected, all) =>
    all === 0
      ? '哪些程序可以连接到这里，以及还有哪些地方会询问您。连接中断时绝不会允许任何内容。'
      : `${all} 个网关中已连接 ${connected} 个。连接中断时绝不会允许任何内容。`,
  here: '本机',
  hereLead: 'Countersign 自带的网关，供本机上的程序使用。本机以外无法连接。',
  others: '其他网关',
  othersLead: '那里的智能体提出的请求会显示在这里，您的答复会送回去。',

  own: {
    name: '自带网关',
    state: { off: '已关闭', serving: '已打开', failed: '未打开' },
    on: '开',
    off: '关',
    failedHelp: '请换一个端口，或结束占用它的程序。',
    offHelp: '没有程序能连接到它。审批套接字和其他网关照常工作。',
    address: '地址',
    port: '端口',
    portHelp: '1024 到 65535。已连接的程序需要重新连接。',
    portOther: (real) =>
      `目前使用端口 ${real}：启动 Countersign 时设置了环境变量 COUNTERSIGN_GATEWAY_PORT，它优先于此设置。`,
    portWrong: '需要 1024 到 65535 之间的整数。',
    portSave: '使用此端口',
    tokenFile: '令牌文件',
    tokenHelp:
      '程序连接到该地址并发送此文件的内容；OpenClaw 的程序从 OPENCLAW_GATEWAY_URL 和 OPENCLAW_GATEWAY_TOKEN 读取这两项。',
    copyAddress: '复制地址',
    copyTokenFile: '复制令牌文件的路径',
  },

  clients: {
    title: '已连接的程序',
    none: '目前没有。',
    noDevice: '没有自己的设备身份',
  },

  devices: {
    title: '已准入的设备',
    none: '没有。出示自己密钥的程序会显示在上方，等待您的答复。',
    since: (when) => `${when}准入`,
    connected: '已连接',
    notConnected: '未连接',
    takes: '自称可执行',
    remove: '移除',
    removeOf: (name) => `移除设备 ${name}`,
    removeTitle: '移除此设备？',
    removeText: '它会立即断开，并且必须重新请求准入。',
    removeDo: '移除设备',
  },

  waiting: {
    title: (n) => (n === 1 ? '有设备请求准入' : `${n} 台设备请求准入`),
    lead: '只准入您自己刚刚启动的程序。',
    wants: '{name} 请求准入',
    device: '设备',
    copyDevice: '复制完整的设备 ID',
    platform: '自称运行于',
    why: '请求原因',
    since: '请求时间',
    asks: '它想成为',
    may: '之后它可以',
    nothing: '除了保持连接，什么也不能做',
    letIn: '准入',
    refuse: '拒绝',
  },

  reason: {
    'not-paired': '它从未在这里准入过。',
    'role-upgrade': '它以前已准入，现在还想成为别的角色。',
    'scope-upgrade': '它以前已准入，现在想做更多的事。',
    'metadata-upgrade': '它以前已准入，现在自称运行在别的系统上。它的密钥可能被复制了。',
    unknown: '网关没有说明。',
  },

  roleName: { operator: '操作者', node: '节点', unknown: '未知角色' },
  role: {
    operator: '操作者：查看并答复的程序',
    node: '节点：为智能体运行命令的机器',
    unknown: '此版本不认识的角色',
  },

  scope: {
    'operator.admin': '做任何事：答复请求、准入其他设备、更改设置',
    'operator.approvals': '看到每个等待中的请求，并代替您答复',
    'operator.pairing': '准入其他设备，也可以移除它们',
    'operator.read': '查看正在发生的事',
    'operator.write': '让已连接的机器运行命令，并查看正在发生的事',
    unknown: '做此版本不认识的事',
  },

  add: '添加网关',
  emptyTitle: '没有其他网关',
  emptyText: '连接本机或其他机器上的 OpenClaw 网关：那里的智能体提出的请求会在这个收件箱中等待。',

  state: {
    off: '已关闭',
    connecting: '正在连接…',
    connected: '已连接',
    limited: '已连接，但有缺失',
    waiting: '未连接',
    stopped: '已停止',
  },

  link: {
    release: '版本',
    releaseIs: (version, protocol) => `${version}，协议 ${protocol}`,
    roundTrip: '应答时间',
    micros: (n) => `${n} 微秒`,
    millis: (n) => `${n} 毫秒`,
    since: '已连接',
    may: '权限',
    mayUnknown: '此版本的网关不说明。',
    mayNothing: '没有任何权限',
    certificate: '证书',
    pinned: '只信任这一个',
    authorities: '本系统信任的任何证书',
    plainText: '没有：连接未加密',
    secret: { token: '令牌', password: '密码' },
    place: {
      none: '没有',
      keyring: '保存在桌面的密钥环中',
      file: '没有可用的密钥环，保存在私有文件中',
      'open-claw': '本机上 OpenClaw 自己的',
    },
    sessions: '仅限名称包含以下内容的会话',
    agents: '智能体的审批',
    agentsSeen: '通过 operator.admin 请求查看',
    agentsNotSeen: '未请求查看',
    nodes: '它的节点',
    nodesRun: '本机的命令可以通过 operator.write 在那里运行',
    pending: '在此等待',
    pendingIs: (n) => (n === 0 ? '没有' : `${n} 个请求`),
    edit: '更改',
    editOf: (name) => `更改网关 ${name}`,
    remove: '移除',
    removeOf: (name) => `移除网关 ${name}`,
    retryIn: (time) => `${time}后重试。`,
    retrying: '正在重试。',
    stopped: '不会自动重试。',
    retry: '立即重试',
    retryOf: (name) => `立即重试网关 ${name}`,
    says: '它说：',
    pinIs: '固定的',
    pinFound: '出示的',
    onThatMachine: '在那个网关的机器上：',
    copyCommand: '复制命令',
  },

  problem: {
    unreachable: { what: '这个地址没有应答。', help: '请查看网关是否在那里运行，地址和端口是否正确。' },
    'timed-out': { what: '它应答过，随后没有动静。', help: '它可能很忙，或者中间的网络断了。' },
    starting: { what: '网关正在启动。', help: '不需要做什么。' },
    closed: {
      what: '它结束了连接。',
      help: '如果反复发生，它自己的日志会说明原因。',
      code: (code) => `代码 ${code}。`,
    },
    'secret-missing': { what: '它需要令牌或密码，而这里没有。', help: '请填写那个网关配置中的令牌或密码。' },
    'secret-withheld': {
      what: '它的令牌或密码在桌面的密钥环中，而密钥环已锁定或没有应答。',
      help: '请解锁密钥环后重试，或者重新填写一次。',
    },
    'secret-wrong': { what: '它需要另一个令牌或密码。', help: '请填写那个网关配置中现在的令牌或密码。' },
    'rate-limited': {
      what: '错误的令牌或密码太多，它暂时不再接受。',
      help: '请更正令牌或密码，等几分钟后重试。',
    },
    'not-paired': {
      what: '需要先在那里准入 Countersign。',
      help: '需要由在那里有权限的人批准这个请求。',
      helpList: '请在那里找到 Countersign 最新的请求并批准：',
      reason: {
        'role-upgrade': '它以前已准入，但不是作为操作者。',
        'scope-upgrade': '它以前已准入，但权限比现在要求的少。',
        'metadata-upgrade': '它以前已准入，但网关发现本机的某些信息变了。',
      },
    },
    protocol: {
      what: '它使用另一代协议。',
      expects: (expected) => `它要求 ${expected}；Countersign 支持 3 和 4。`,
      help: '请更新两者中较旧的一个。',
    },
    'pin-mismatch': {
      what: '它的证书不是固定的那一个。',
      help: '如果证书更新过，请在那台机器上核对出示的指纹并固定它。否则可能有人从中拦截：请不要更改。',
    },
    certificate: {
      what: '它的证书不受信任。',
      help: '请换成本系统信任的证书，或固定它现有证书的指纹。',
    },
    refused: { what: '它拒绝了连接。', help: '下面它的说明可能指出需要在那里更改什么。' },
    'not-a-gateway': { what: '在那里应答的不是网关。', help: '请查看地址和端口是否正确。' },
  },

  gap: {
    'no-approvals': {
      what: '它没有给予 operator.approvals：看不到任何请求，也无法答复。',
      help: '请在那里以该权限再次准入 Countersign，然后重试：',
    },
    'agents-hidden': {
      what: '看不到那里的智能体提出的请求。',
      help: '这个版本只向 operator.admin 显示它们。如果您信任这样做，请打开“查看智能体提出的审批”。',
    },
    'no-list': {
      what: '它无法列出等待中的请求。',
      help: '连接之前提出的请求在这里看不到，请在那里答复。较新的版本可以列出。',
    },
    'scopes-narrow': {
      what: '那里准入它时给的权限比现在要的少，目前以那些权限连接。',
      help: '需要有权限的人在那里批准这个请求，之后 Countersign 会自动以新权限连接：',
      helpSecret: '请再次输入那个网关的令牌或密码：只有凭它才能在那里请求更多权限。',
    },
  },

  form: {
    addTitle: '添加网关',
    editTitle: '更改此网关',
    lead: 'Countersign 作为独立的设备连接到它，可能需要先在那里获得准入。',
    name: '名称',
    nameHelp: '您给这个网关起的名称。来自那里的每个请求都会标明它。',
    url: '地址',
    urlHelp: '本机用 ws://127.0.0.1:18789，其他机器用 wss://。',
    secretKind: '它需要',
    secret: '凭据',
    keep: (place) => `保留现有的（${place}）`,
    keepNone: '保持：没有',
    set: '使用这个',
    clear: '没有',
    'open-claw': '本机上 OpenClaw 自己的',
    openClawHelp: '每次连接时从 OpenClaw 的配置或环境读取，不另行保存。',
    value: { token: '令牌', password: '密码' },
    valueHelp: '保存在桌面的密钥环中；没有密钥环时保存在私有文件中。不会再次显示。',
    pin: '证书',
    pinHelp: '唯一信任的证书的 SHA-256，64 位十六进制数。留空：本系统信任的任何证书。',
    agents: '查看智能体提出的审批',
    agentsHelp:
      '从 2026.5 版本起，网关只向 operator.admin 显示它们，而该权限在那里可以做任何事。Countersign 只为此目的请求它。没有它，就只能看到其他程序提出的请求。',
    nodes: '允许命令在它的节点上运行',
    nodesHelp:
      '本机的智能体可以按名称、ID 或地址被指定到它的节点。和其他节点一样先在这里询问您；之后由该节点自己的策略决定，您在这里的答复在那里不算数。Countersign 会请求 operator.write。',
    session: '仅限名称包含以下内容的会话',
    sessionHelp: '会话名称的一部分。留空：所有会话。',
    enabled: '连接到它',
    cancel: '返回',
    save: '保存',
    saveNew: '添加并连接',
  },

  removeTitle: '移除此网关？',
  removeText: 'Countersign 会断开连接并忘记它的凭据。在此等待的请求会被搁置而不答复，它们会在那里继续等待。',
  removeKeep: '保留',
  removeDo: '移除网关',
  gone: '这个网关已不存在。',
};
