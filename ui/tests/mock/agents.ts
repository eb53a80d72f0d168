import type {
  AgentConnection,
  AgentObstacle,
  AgentPreview,
  AgentPreviewParams,
  AgentsView,
  AgentView,
  AgentWay,
} from '../../src/lib/protocol';
import { change, hunk } from './tools';
import { shown } from './text';

const HOME = '/home/mina';
const PROGRAM = '/usr/local/bin/countersign';
const OWN_TOOLS = 'its own tools: take its shell away, or connect it by a hook where it has one';

/** Where each keeps its settings, by way, and what its hook covers and misses. */
const KNOWN: Record<
  string,
  { title: string; hook?: [string, string, string]; mcp: [string, string]; tested?: string }
> = {
  'claude-code': {
    title: 'Claude Code',
    hook: [
      '.claude/settings.json',
      'every call of a tool, those of sub-agents and MCP servers too',
      'files that a prompt names with @; sessions with --bare, --safe-mode or other --setting-sources',
    ],
    mcp: ['.claude.json', OWN_TOOLS],
    tested: '2.1.330',
  },
  codex: {
    title: 'Codex',
    hook: [
      '.codex/hooks.json',
      'commands, patches and calls of MCP tools, once you trusted the hook in Codex',
      'most other tools, text typed into a command that runs, and everything until the hook is trusted',
    ],
    mcp: ['.codex/config.toml', OWN_TOOLS],
    tested: '0.169.0',
  },
  gemini: {
    title: 'Gemini CLI',
    hook: [
      '.gemini/settings.json',
      'every call of a tool in folders that it trusts',
      'folders that it does not trust; its own questions come besides',
    ],
    mcp: ['.gemini/settings.json', OWN_TOOLS],
    tested: '0.61.0',
  },
  opencode: {
    title: 'opencode',
    mcp: [
      '.config/opencode/opencode.jsonc',
      'its own tools: it starts no program before it uses them; "permission": { "bash": "deny" } takes its shell away',
    ],
    tested: '1.18.33',
  },
  cursor: {
    title: 'Cursor',
    mcp: ['.cursor/mcp.json', 'its own tools: no hook of it was tried, so they are not asked about here'],
  },
  zed: {
    title: 'Zed',
    mcp: ['.config/zed/settings.json', 'its own tools: no hook of it was tried, so they are not asked about here'],
  },
};

const pathOf = (name: string, way: AgentWay) =>
  `${HOME}/${(way === 'hook' ? KNOWN[name]?.hook?.[0] : KNOWN[name]?.mcp[0]) ?? name}`;

/** What of ours is in settings. */
export function connection(name: string, way: AgentWay, now: number, differs: Partial<AgentConnection> = {}) {
  const at: AgentConnection = {
    path: shown(pathOf(name, way)),
    sinceMs: now - 3 * 86_400_000,
    program: shown(PROGRAM),
    programIsThere: true,
  };
  return { ...at, ...differs };
}

/** An agent that is here and does not ask. */
export function agent(name: string, differs: Partial<AgentView> = {}): AgentView {
  const known = KNOWN[name];
  if (!known) throw new Error(`no sample of ${name}`);
  const { title, hook, mcp, tested } = known;
  const ways: AgentView['ways'] = [
    {
      way: 'mcp',
      covers: 'commands, files and other tools of Countersign that it calls',
      misses: mcp[1],
    },
  ];
  if (hook) ways.unshift({ way: 'hook', covers: hook[1], misses: hook[2] });
  return {
    name,
    title,
    found: true,
    program: shown(`${HOME}/.local/bin/${name}`),
    ...(tested === undefined ? {} : { release: shown(tested), tested }),
    ways,
    lastSeen: { kind: 'never' },
    calls: 'nothing',
    obstacles: [],
    unread: [],
    ...differs,
  };
}

/** The same, asking by this way. */
export function asking(name: string, way: AgentWay, now: number, differs: Partial<AgentConnection> = {}): AgentView {
  const view = agent(name, { lastSeen: { kind: 'at', atMs: now - 240_000 } });
  const ways = view.ways.map((one) =>
    one.way === way ? { ...one, connected: connection(name, way, now, differs) } : one,
  );
  return { ...view, ways, ...reach(ways) };
}

/** What the app would say of it: a hook that is called asks about its own tools, a server about ours alone. */
function reach(ways: AgentView['ways']): Pick<AgentView, 'calls' | 'obstacles'> {
  const obstacles: AgentObstacle[] = [];
  const asks = (wanted: AgentWay) => {
    const there = ways.find(({ way }) => way === wanted)?.connected;
    if (there?.programIsThere === false) obstacles.push({ kind: 'program-gone', program: there.program });
    if (there?.trust === 'no') obstacles.push({ kind: 'untrusted' });
    return there?.programIsThere === true && there.trust !== 'no';
  };
  const [own, ours] = [asks('hook'), asks('mcp')];
  return { calls: own ? 'own' : ours ? 'our-tools' : 'nothing', obstacles };
}

/** A machine with agents in every state. */
export function agents(now: number): AgentsView {
  return {
    agents: [
      asking('claude-code', 'hook', now),
      asking('codex', 'hook', now, { trust: 'no' }),
      agent('gemini', { release: shown('0.62.0') }),
      agent('opencode'),
      agent('cursor', { found: false }),
      agent('zed', { found: false }),
    ],
    others: [{ id: 'coder', shown: shown('coder') }],
    openclaw: { program: shown(`${HOME}/.local/bin/openclaw`), isNode: true },
  };
}

/** A machine on which nothing asks yet. */
export function fresh(): AgentsView {
  const names = Object.keys(KNOWN);
  const found = (name: string) => name !== 'cursor' && name !== 'zed';
  return { agents: names.map((name) => agent(name, { found: found(name) })), others: [] };
}

/** A machine without agents. */
export function none(): AgentsView {
  return { agents: Object.keys(KNOWN).map((name) => agent(name, { found: false })), others: [] };
}

/** Names and places that somebody chose to be in the way. */
export function hostile(now: number): AgentsView {
  const long = `/home/mina/${'very-long-folder-name-without-any-end/'.repeat(8)}\u202egpj.bin`;
  const off: AgentObstacle = { kind: 'switched-off', setting: 'disableAllHooks', path: shown(long) };
  const claude = asking('claude-code', 'hook', now, { path: shown(long), program: shown(long), programIsThere: false });
  return {
    agents: [
      // As the app escapes what it says itself.
      {
        ...claude,
        obstacles: [...claude.obstacles, off, { ...off, within: shown(long) }, { kind: 'narrowed', path: shown(long) }],
        unread: [`${long.replace('\u202e', '\\u{202E}')}: expected JSON: ${'<b>word</b> '.repeat(40)}`],
      },
      agent('codex', { program: shown(long), release: shown('9'.repeat(300)) }),
    ],
    others: [],
    openclaw: { isNode: true },
  };
}

/** What a change comes to. */
export function preview(
  view: AgentsView,
  { agent: name, change: wanted }: AgentPreviewParams,
  id: string,
): AgentPreview {
  const found = view.agents.find((one) => one.name === name);
  const there = found?.ways.filter(({ connected }) => connected).map(({ way }) => way) ?? [];
  const ways = wanted.kind === 'connect' ? wanted.ways.filter((way) => !there.includes(way)) : there;
  const sign = wanted.kind === 'connect' ? '+' : '-';
  const changes = ways.map((way) =>
    change('edit', pathOf(name, way), [
      hunk(2, 2, [
        '   "model": "opus",',
        `${sign}  "${way === 'hook' ? 'hooks' : 'mcpServers'}": {`,
        `${sign}    "command": "\'${PROGRAM}\' ${way} ${name} || exit 2"`,
        `${sign}  },`,
        '   "theme": "dark"',
      ]),
    ]),
  );
  const isTrusted = name === 'codex' && wanted.kind === 'connect' && ways.includes('hook');
  return { kind: 'ready', id, changes, notes: isTrusted ? [{ kind: 'trust-first' }] : [] };
}

/** How all stand after a change was written. */
export function written(
  view: AgentsView,
  { agent: name, change: wanted }: AgentPreviewParams,
  now: number,
): AgentsView {
  const ways = (one: AgentView): AgentView['ways'] =>
    one.ways.map(({ connected, ...way }) => {
      if (wanted.kind === 'take-back') return way;
      const puts = connected ?? (wanted.ways.includes(way.way) ? connection(name, way.way, now) : undefined);
      return puts ? { ...way, connected: puts } : way;
    });
  const after = (one: AgentView) => ({ ...one, ways: ways(one), ...reach(ways(one)) });
  return { ...view, agents: view.agents.map((one) => (one.name === name ? after(one) : one)) };
}

/** Where the bytes from before are. */
export function backups({ agent: name, change: wanted }: AgentPreviewParams) {
  if (wanted.kind === 'take-back') return [];
  return wanted.ways.map((way) => shown(`${pathOf(name, way)}.before-countersign`));
}
