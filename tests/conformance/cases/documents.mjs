// Approvals documents: sound ones, and sound ones with one thing wrong.

const VERSION = '2026.9.6';
const AGENTS = ['ops', 'main', 'default', '*', 'dev'];

const SECURITY = ['deny', 'allowlist', 'full'];
const ASK = ['off', 'on-miss', 'always'];
const ODD = [null, '', ' ', ' full ', 'Full', 'allow', 0, 1, true, false, [], {}, 'always', 'deny'];

function policy(random, odd) {
  const members = {};
  const value = (sound) => (random.chance(odd) ? random.pick(ODD) : random.pick(sound));
  if (random.chance(60)) members.security = value(SECURITY);
  if (random.chance(60)) members.ask = value(ASK);
  if (random.chance(40)) members.askFallback = value(SECURITY);
  if (random.chance(40)) members.autoAllowSkills = value([true, false]);
  return members;
}

function allowlistEntry(random, odd) {
  const pattern = random.pick(['/opt/acme/bin/x', '/opt/acme/bin/y', 'scan', '*', '~/bin/z', ' /opt/acme/bin/w ', '=command:aeeea9528b56de06', 'SCAN']);
  if (random.chance(20)) return random.chance(odd) ? random.pick(['', ' ', 5, null, [], true]) : pattern;
  const one = { pattern: random.chance(odd) ? random.pick(['', ' ', 5, null, [], {}]) : pattern };
  const member = (name, chance, sound, wrong) => {
    if (random.chance(chance)) one[name] = random.chance(odd) ? random.pick(wrong) : random.pick(sound);
  };
  member('id', 60, ['1', '2', '3', ''], [5, null, {}, [], true]);
  member('source', 40, ['allow-always', 'manual', ''], [5, null, {}, [], true]);
  member('argPattern', 40, ['^a$', '^b$', '', 'sha256:cwd-argv:v1:00', 'sha256:argv:00'], [5, null, {}, []]);
  member('commandText', 15, ['scan', ''], [5, null, {}]);
  member('lastUsedAt', 20, [5, 0, -1, 1.5, 1e300], ['5', null, true, {}]);
  member('lastUsedCommand', 15, ['scan', ''], [5, null, []]);
  member('lastResolvedPath', 15, ['/opt/acme/bin/x', ''], [5, null, []]);
  member('note', 10, ['x', 5, null, {}], [[]]);
  return one;
}

// A member that only newer releases know.
function grant(random, odd) {
  const value = (sound, wrong) => (random.chance(odd) ? random.pick(wrong) : random.pick(sound));
  const one = {
    server: value(['files', 'web'], ['', ' ', 5, null]),
    tool: value(['read', 'write'], ['', ' ', 5, null]),
    source: value(['allow-always'], ['manual', '', 5, null]),
    addedAt: value([1, 0, 1.5], [-1, '1', null, true]),
  };
  if (random.chance(40)) one.lastUsedAt = value([2, 0], [-1, '2', null]);
  if (random.chance(odd)) delete one[random.pick(['server', 'tool', 'source', 'addedAt'])];
  if (random.chance(10)) one.note = 'x';
  return one;
}

function agent(random, odd) {
  const members = policy(random, odd);
  if (random.chance(80)) {
    members.allowlist = random.chance(odd / 2)
      ? random.pick([null, 'x', {}, 5, false])
      : Array.from({ length: random.below(4) }, () => allowlistEntry(random, odd));
  }
  if (random.chance(35)) {
    members.mcpTools = random.chance(odd) ? random.pick([null, 'x', {}, 5]) : Array.from({ length: random.below(3) }, () => grant(random, odd));
  }
  if (random.chance(10)) members.note = random.pick(['x', 5, null]);
  return members;
}

// `odd` is how likely, in percent, each member is to be of a wrong kind.
export function document(random, odd) {
  const members = { version: random.chance(odd / 2) ? random.pick([0, 2, '1', null, 1.5, true]) : 1 };
  if (random.chance(40)) {
    const text = () => (random.chance(odd) ? random.pick([5, null, [], {}]) : random.pick(['/run/a.sock', ' /run/b.sock ', 'secret', '']));
    members.socket = random.chance(odd / 2) ? random.pick([null, 'x', [], 5]) : {};
    if (members.socket !== null && typeof members.socket === 'object' && !Array.isArray(members.socket)) {
      if (random.chance(70)) members.socket.path = text();
      if (random.chance(70)) members.socket.token = text();
      if (random.chance(10)) members.socket.note = 'x';
    }
  }
  if (random.chance(70)) members.defaults = random.chance(odd / 2) ? random.pick([null, 'x', [], 5]) : policy(random, odd);
  if (random.chance(85)) {
    members.agents = random.chance(odd / 2) ? random.pick([null, 'x', [], 5]) : {};
    if (members.agents !== null && typeof members.agents === 'object' && !Array.isArray(members.agents)) {
      for (const name of random.some(AGENTS, 0, 3)) {
        members.agents[name] = random.chance(odd / 2) ? random.pick([null, 'x', [], 5]) : agent(random, odd);
      }
    }
  }
  if (random.chance(10)) members.note = random.pick(['x', null, { a: 1 }]);
  return members;
}

function text(random) {
  const written = JSON.stringify(document(random, random.pick([0, 0, 3, 10, 30])));
  if (random.chance(92)) return written;
  const cut = written.slice(0, random.below(written.length));
  return random.pick([cut, `${written} `, `${written}x`, `\ufeff${written}`, '', 'null', '[]', '1', '"x"', `[${written}]`, written.replace('{', '{"__proto__":{},')]);
}

export function load(random) {
  return { version: VERSION, action: 'load', text: text(random) };
}

export function resolve(random) {
  const input = { version: VERSION, action: 'resolve', text: text(random), agentId: random.pick(AGENTS) };
  if (random.chance(25)) input.overrides = { security: random.pick(SECURITY), ask: random.pick(ASK) };
  return input;
}

export function normalise(random) {
  const action = random.pick(['normalise', 'redact', 'serialise']);
  const made = document(random, random.pick([0, 0, 5]));
  // Ids that are made up on the way would be part of the text.
  if (action === 'serialise') identify(made);
  return { version: VERSION, action, document: made };
}

function identify({ agents }) {
  for (const scope of Object.values(agents ?? {})) {
    const list = scope?.allowlist;
    if (!Array.isArray(list)) continue;
    list.forEach((one, at) => {
      if (typeof one === 'string') list[at] = { pattern: one, id: `${at}` };
      else if (one && typeof one === 'object') one.id ||= `${at}`;
    });
  }
}

export function snapshot(random) {
  return { version: VERSION, action: 'snapshot', agentId: random.pick(AGENTS), document: document(random, 0) };
}

// A document before and after something in it changed.
export function current(random) {
  const before = document(random, 0);
  before.agents ??= {};
  const agentId = random.pick(['ops', 'ops', 'ops', 'main', 'dev']);
  before.agents[agentId] ??= agent(random, 0);
  before.agents[agentId].allowlist ??= [allowlistEntry(random, 0), allowlistEntry(random, 0)];
  const after = structuredClone(before);
  for (let changes = random.below(3); changes >= 0; changes -= 1) change(random, after, agentId);
  return { version: VERSION, action: 'snapshot-current', agentId, before, after };
}

function change(random, after, agentId) {
  const scope = after.agents[random.chance(75) ? agentId : random.pick(Object.keys(after.agents))];
  const list = (scope.allowlist ??= []);
  const at = random.below(Math.max(list.length, 1));
  const one = typeof list[at] === 'string' ? (list[at] = { pattern: list[at] }) : list[at];
  const members = ['argPattern', 'source', 'pattern', 'id', 'lastUsedAt', 'commandText', 'note'];
  const changes = [
    () => one && (one[random.pick(members)] = random.pick(['^a$', '^b$', 'allow-always', 'manual', '', '/opt/acme/bin/x'])),
    () => one && delete one[random.pick(members.filter((name) => name !== 'pattern'))],
    () => one && (one.source = 'allow-always'),
    () => one && delete one.source,
    () => one && (one.argPattern = random.pick(['^a$', '^b$', '', undefined])),
    () => list.splice(at, 1),
    () => list.push(allowlistEntry(random, 0)),
    () => list.reverse(),
    () => Object.assign(scope, policy(random, 0)),
    () => (after.defaults = { ...after.defaults, ...policy(random, 0) }),
    () => (scope.mcpTools = [grant(random, 0)]),
    () => delete scope[random.pick(['security', 'ask', 'askFallback', 'autoAllowSkills'])],
    () => (after.socket = { path: '/run/c.sock' }),
  ];
  random.pick(changes)();
}

export function mergeSocket(random) {
  return {
    version: VERSION,
    action: 'merge-socket',
    incoming: { version: 1, socket: document(random, 0).socket ?? {}, agents: {} },
    current: { version: 1, socket: document(random, 0).socket ?? {}, agents: {} },
  };
}
