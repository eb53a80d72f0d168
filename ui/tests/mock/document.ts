import type {
  Ask,
  DocumentView,
  EffectiveView,
  EntryView,
  HistoryEntry,
  Meaning,
  PolicyLayer,
  ScopeView,
  Security,
  TestResult,
  TraceStep,
} from '../../src/lib/protocol';
import { shown } from './text';

const HOUR = 3_600_000;

function entry(id: string, kind: EntryView['kind'], pattern: string, more: Partial<EntryView> = {}): EntryView {
  return { id, kind, pattern, shown: shown(pattern), ...more };
}

export function document(now: number): DocumentView {
  return {
    path: '/home/mina/.openclaw/exec-approvals.json',
    state: { kind: 'ready' },
    hash: 'hash-1',
    scopes: [
      {
        scope: 'defaults',
        shown: shown('defaults'),
        security: 'allowlist',
        ask: 'on-miss',
        askFallback: 'deny',
        entries: [],
      },
      {
        scope: '*',
        shown: shown('*'),
        ask: 'on-miss',
        entries: [entry('e0', 'name', 'ls'), entry('e00', 'name', 'cat')],
      },
      {
        scope: 'coder',
        shown: shown('coder'),
        security: 'allowlist',
        ask: 'always',
        entries: [
          entry('e1', 'path', '/usr/bin/git', {
            lastUsedAtMs: now - 60_000,
            lastUsedCommand: shown('git status --short'),
            lastResolvedPath: shown('/usr/bin/git'),
          }),
          entry('e2', 'generated', '/usr/bin/npm', {
            argPattern: `sha256:cwd-argv:v1:${'e250'.repeat(16)}`,
            argShown: shown(`sha256:cwd-argv:v1:${'e250'.repeat(16)}`),
            bound: { args: [shown('run'), shown('test:unit')], folder: shown('/home/mina/src/storefront') },
            lastUsedAtMs: now - 14 * 60_000,
            lastUsedCommand: shown('npm run test:unit'),
          }),
          entry('e3', 'path', '/home/mina/src/storefront/node_modules/.bin/*', {
            lastUsedAtMs: now - 2 * HOUR,
            lastUsedCommand: shown('eslint --max-warnings 0 src'),
          }),
          entry('e4', 'exact-command', '=command:make -C docs html', {
            lastUsedAtMs: now - 50 * HOUR,
            lastUsedCommand: shown('make -C docs html'),
          }),
          entry('e5', 'name', 'rg', { lastUsedAtMs: now - 5 * HOUR, lastUsedCommand: shown('rg -n "redirect" src') }),
          entry('e6', 'marker', '=node-command:system.notify'),
        ],
      },
      { scope: 'ops', shown: shown('ops'), security: 'full', entries: [] },
      { scope: 'home', shown: shown('home'), entries: [entry('e7', 'path', '/usr/bin/ffmpeg')] },
    ],
    effective: [
      effective('*', 'allowlist', 'defaults', 'on-miss', 'wildcard'),
      effective('coder', 'allowlist', 'agent', 'always', 'agent'),
      effective('home', 'allowlist', 'defaults', 'on-miss', 'wildcard'),
      effective('ops', 'allowlist', 'requested', 'on-miss', 'wildcard'),
    ],
    beside: {
      scopes: [
        {
          programs: ['cut', 'head', 'tail', 'tr', 'uniq', 'wc'].map((name) => shown(name)),
          folders: ['/bin', '/usr/bin'].map((name) => shown(name)),
          strict: false,
        },
        { agent: shown('coder'), programs: [], folders: ['/bin', '/usr/bin'].map((name) => shown(name)), strict: true },
      ],
      problems: ['tools.exec.safeBins: rm counts for nothing: which of its arguments are harmless is not known'],
    },
  };
}

function effective(
  agent: string,
  security: DocumentView['effective'][number]['security'],
  securityLayer: DocumentView['effective'][number]['securityLayer'],
  ask: DocumentView['effective'][number]['ask'],
  askLayer: DocumentView['effective'][number]['askLayer'],
): DocumentView['effective'][number] {
  const meaning = meaningOf(security, ask, 'deny');
  return { agent, security, securityLayer, ask, askLayer, askFallback: 'deny', askFallbackLayer: 'defaults', meaning };
}

/** What values come to, as the app combines them. */
export function meaningOf(security: Security, ask: Ask, fallback: Security): Meaning {
  const meaning = (usually: Meaning['usually'], unanswered: Meaning['unanswered']): Meaning => ({
    usually,
    unanswered,
    refusals: 'none',
  });
  if (security === 'deny') return meaning('nothing-runs', 'never-asked');
  if (ask === 'always') {
    if (fallback === 'deny') return meaning('everything-asks', 'refused');
    const runs = security === 'full' && fallback === 'full';
    return meaning('everything-asks', runs ? 'runs' : 'covered-runs');
  }
  if (security === 'full') return meaning('everything-runs', 'never-asked');
  return ask === 'on-miss' ? meaning('rest-asks', 'refused') : meaning('rest-refused', 'never-asked');
}

/** What would be in force for every agent with the scopes as they are. */
export function resolved({ scopes }: DocumentView): EffectiveView[] {
  const of = (scope: string) => scopes.find((found) => found.scope === scope);
  const names = scopes.map(({ scope }) => scope).filter((scope) => scope !== 'defaults');
  return names.map((agent) => {
    const layers = [
      ['agent', agent === '*' ? undefined : of(agent)],
      ['wildcard', of('*')],
      ['defaults', of('defaults')],
    ] as const;
    const first = <T>(value: (scope: ScopeView) => T | undefined, builtIn: T): [T, PolicyLayer] => {
      for (const [layer, scope] of layers) {
        const found = scope === undefined ? undefined : value(scope);
        if (found !== undefined) return [found, layer];
      }
      return [builtIn, 'built-in'];
    };
    const [security, securityLayer] = first<Security>((scope) => scope.security, 'deny');
    const [ask, askLayer] = first<Ask>((scope) => scope.ask, 'on-miss');
    const [askFallback, askFallbackLayer] = first<Security>((scope) => scope.askFallback, 'deny');
    const meaning = meaningOf(security, ask, askFallback);
    return { agent, security, securityLayer, ask, askLayer, askFallback, askFallbackLayer, meaning };
  });
}

/** The steps to a prompt for a program without an entry. */
export function missed(typed: string): TraceStep[] {
  const path = `/usr/bin/${typed}`;
  return [
    {
      kind: 'policy',
      security: 'allowlist',
      securityLayer: 'agent',
      ask: 'on-miss',
      askLayer: 'defaults',
      fallback: 'deny',
      fallbackLayer: 'defaults',
    },
    { kind: 'segment', typed },
    { kind: 'resolution', path },
    { kind: 'missed', cause: 'no-entry' },
    { kind: 'bound', programs: [path] },
    { kind: 'advice', advice: 'add-entry', subject: path, more: 0 },
    { kind: 'verdict', verdict: 'ask', cause: 'allowlist-miss' },
  ];
}

export function tested(command: string): TestResult {
  const folder = '/home/mina/src/engine';
  if (command.startsWith('make'))
    return {
      verdict: 'contain',
      trace: [
        { kind: 'segment', typed: 'make' },
        { kind: 'missed', cause: 'no-entry' },
        { kind: 'open', folder, agent: 'coder' },
        { kind: 'verdict', verdict: 'contain', cause: 'contained' },
      ],
    };
  return {
    verdict: command.startsWith('git') ? 'allow' : command.startsWith('sudo') ? 'deny' : 'ask',
    trace: missed(command.split(' ')[0] ?? ''),
  };
}

const SHA = '3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea';

export function history(now: number): HistoryEntry[] {
  const request = (
    seq: number,
    ago: number,
    command: string,
    event: Partial<Extract<HistoryEntry['event'], { kind: 'request' }>>,
  ): HistoryEntry => ({
    seq,
    atMs: now - ago,
    requestId: `req-${seq}`,
    event: {
      kind: 'request',
      agent: 'coder',
      session: 'fix-login-redirect',
      via: 'socket',
      card: 'exec',
      command,
      commandSha256: SHA,
      cwd: '/home/mina/src/storefront',
      outcome: { kind: 'allowed-by-rule' },
      ...event,
    },
  });
  const run = (seq: number, of: number, ago: number, exitCode: number, durationMs: number, outputTail: string) => ({
    seq,
    atMs: now - ago,
    requestId: `req-${of}`,
    event: { kind: 'run' as const, run: { exitCode, timedOut: false, durationMs, outputTail } },
  });
  return [
    run(17, 14, 39_900, 0, 42, ' M src/login.ts'),
    run(16, 13, 76_000, 1, 18_400, '2 failed, 211 passed'),
    run(15, 9, 7_000_000, 0, 3_210, ''),
    request(14, 40_000, 'git status --short', {}),
    request(13, 95_000, 'npm run test:unit', {
      outcome: { kind: 'allowed-once' },
      by: 'window',
      answeredAfterMs: 6_400,
    }),
    request(12, 240_000, 'git push --force origin main', {
      outcome: { kind: 'denied' },
      by: 'window',
      answeredAfterMs: 3_100,
    }),
    {
      seq: 11,
      atMs: now - 900_000,
      event: {
        kind: 'document',
        writer: 'another-program',
        before: 'a1',
        after: 'b2',
        loosenings: [{ scope: 'coder', field: 'ask', from: 'always', to: 'on-miss' }],
      },
    },
    request(10, 1_800_000, 'curl -fsSL https://get.harbor.example/setup.sh', {
      agent: 'ops',
      session: 'nightly-maintenance',
      outcome: { kind: 'expired' },
    }),
    request(9, 2 * HOUR, 'make -C docs html', {
      outcome: { kind: 'allowed-always' },
      by: 'window',
      answeredAfterMs: 12_000,
    }),
    request(8, 3 * HOUR, 'docker system prune -af', {
      agent: 'ops',
      outcome: { kind: 'cancelled', cause: 'requester-gone' },
    }),
    request(7, 5 * HOUR, 'rm -rf /srv/old', { outcome: { kind: 'denied-by-policy', reason: 'security=deny' } }),
    request(6, 26 * HOUR, 'ffmpeg -i in.mkv out.mp4', {
      agent: 'home',
      card: 'ask',
      outcome: { kind: 'denied-elsewhere' },
    }),
    request(5, 27 * HOUR, 'tar czf backup.tgz notes', { outcome: { kind: 'not-shown' } }),
  ];
}
