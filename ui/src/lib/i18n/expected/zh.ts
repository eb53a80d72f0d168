import type { Catalogue } from './en';

/** The same in Chinese. */
export const zh: Catalogue = {
  length: (least, most) => (least === 0 ? `此处最多 ${most} 个字符。` : `请填写 ${least} 到 ${most} 个字符。`),
  range: (least, most) => `请选择 ${least} 到 ${most} 之间的数字。`,
  atMost: (count) => `最多只能有 ${count} 个。请先移除一个。`,
  filters: (count, length) => `此处最多 ${count} 个筛选条件，每个最多 ${length} 个字符。`,
  executable: (why) => `这不是可以启动的程序（${why}）。`,
  'socket-address': '请填写类似 ws://127.0.0.1:18789 或 wss://host.example 的地址。',
  'web-address': '请填写类似 https://host.example/path 的地址；本机可用 http://127.0.0.1:8080。',
  'no-credentials': '地址中不要包含用户名和密码：密钥有单独的输入框。',
  encrypted: '请使用加密地址（wss:// 或 https://）：发往另一台机器的途中可能被他人读取。',
  'another-program': '这是本应用自己的地址。发到那里的请求本来就会询问。',
  digest: '请填写证书的 SHA-256：64 位 0 到 f 的数字，可带或不带冒号。',
  certificate: '只有加密地址（wss:// 或 https://）才会出示证书。请使用加密地址，或将证书留空。',
  printable: '只能使用普通 ASCII 的字母、数字和符号，不能有空格。',
  'own-secret': '这是 OpenClaw 的密钥，只用于它的网关。请为此处设置单独的密钥。',
  'secret-again': '请重新填写密钥：它的用途已改变。',
  secret: '请填写对方用来识别本应用的密钥。',
  gateway: '请选择一个已连接的网关。',
  'absolute-path': '请填写程序的完整路径，例如 /usr/bin/notify-send。',
  arguments: '参数过多或过长。',
};
