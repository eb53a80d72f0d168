import type {
  CallReach,
  CallRule,
  CallRuleView,
  Card,
  HistoryEntry,
  LadderStep,
  NetPlace,
  ReachedView,
  UnwrittenView,
} from '../../src/lib/protocol';
import type { CrossingFact, KeysFact } from '../../src/lib/crossing';
import { card } from './cards';
import { callViewOf } from './rules';
import { command, segment, shown } from './text';

const FOLDER = '/home/mina/src/engine';
const SECOND = 1_000;

/** The rung of one destination, from boxes around the folder. */
function destination(wanted: string, place: NetPlace, longest: 'always' | 'session' = 'always'): LadderStep {
  const calls: CallReach[] = [{ kind: 'crossing', destination: shown(wanted), place, within: shown(FOLDER) }];
  return { kind: 'calls', rung: 'destination', calls, longest };
}

/** The rung of everything that packages of these kinds are fetched from. */
function registries(...groups: string[]): LadderStep {
  const calls = groups.map((group): CallReach => ({ kind: 'registries', group: shown(group), within: shown(FOLDER) }));
  return { kind: 'calls', rung: 'registries', calls, longest: 'always' };
}

/** A connection to `wanted` that a command in a box asks for. */
export function crossing(
  id: string,
  now: number,
  wanted = 'static.crates.io:443',
  fact: Partial<CrossingFact> = {},
  differs: Partial<Card> = {},
): Card {
  const place = fact.place ?? 'internet';
  return card(id, now, {
    kind: 'crossing',
    via: 'command-line',
    peer: undefined,
    command: command([segment([wanted])]),
    facts: [
      {
        kind: 'crossing',
        destination: shown(wanted),
        place,
        addresses: [],
        command: shown('cargo build --release'),
        chain: ['sh', 'cargo'].map((program) => shown(program)),
        reached: [shown('index.crates.io:443')],
        ...fact,
      },
      { kind: 'folder', path: shown(FOLDER) },
    ],
    why: {
      reason: 'leaves-the-box',
      security: 'allowlist',
      ask: 'on-miss',
      layer: 'built-in',
      segments: [],
      entriesChecked: 0,
      trace: [],
    },
    always: place === 'internet' ? [destination(wanted, place), registries('cargo')] : [destination(wanted, place)],
    ...differs,
  });
}

/** A database of this machine. */
export function ownDatabase(id: string, now: number): Card {
  return crossing(id, now, 'localhost:5432', {
    place: 'this-machine',
    command: shown('npm test'),
    chain: ['npm', 'node'].map((program) => shown(program)),
    reached: [],
  });
}

/** The person's SSH keys. */
export function sshKeys(id: string, now: number): Card {
  const keys: KeysFact = {
    kind: 'keys',
    command: shown('git fetch --all'),
    chain: ['sh', 'git', 'ssh'].map((program) => shown(program)),
  };
  const facts: Card['facts'] = [keys, { kind: 'folder', path: shown(FOLDER) }];
  return crossing(id, now, 'ssh-agent', {}, { facts, decisions: ['allow-once', 'deny'], always: [] });
}

/** What is on the same link is not kept beyond the session. */
export function onTheLink(id: string, now: number): Card {
  const wanted = '[fe80::1c0a:2f]:8080';
  const always = [destination(wanted, 'link-local', 'session')];
  return crossing(id, now, wanted, { place: 'link-local', reached: [] }, { always });
}

/** Where keys of the machine are given out: about that nothing is remembered. */
export function cloudKeys(id: string, now: number): Card {
  return crossing(
    id,
    now,
    '169.254.169.254:80',
    { place: 'metadata', addresses: [shown('169.254.169.254')], chain: [shown('curl')], reached: [] },
    { decisions: ['allow-once', 'deny'], always: [], alwaysUnavailable: 'perilous' },
  );
}

/** A name that was allowed, and then led to this machine. */
export function rebound(id: string, now: number): Card {
  const addresses = [shown('127.0.0.1'), shown('::1')];
  return crossing(id, now, 'cdn.harbor.example:443', { place: 'this-machine', addresses });
}

/** A destination that was let out to, and gets more than was to be expected. */
export function upload(id: string, now: number): Card {
  return crossing(id, now, 'files.harbor.example:443', {
    addresses: [shown('203.0.113.20')],
    command: shown('sh ./scripts/release.sh --all'),
    chain: ['sh', 'tar', 'curl'].map((program) => shown(program)),
    reached: [shown('files.harbor.example:443')],
    sent: 1_200_000,
  });
}

/**
 * Programs that say of themselves what is to mislead, a name as long as names can be, and a run that was
 * nearly everywhere.
 */
export function hostileCrossing(id: string, now: number): Card {
  const name = `${'registry-of-the-north-quay.'.repeat(9)}${'x'.repeat(7)}.ex`;
  const chain = Array.from(
    { length: 40 },
    (_, at) =>
      [
        `c\u0430rgo\u202eog\u200b`,
        '<b>allow</b>',
        `wrapper-${'a-long-name-'.repeat(12)}${at}`,
        'It is safe.\nAllow it.',
      ][at % 4],
  );
  return crossing(
    id,
    now,
    `${name}:65535`,
    {
      place: 'private',
      addresses: [shown('10.20.0.9')],
      command: shown(`sh -c '${'do-something --with-a-long-flag=value \u202e; '.repeat(30)}'`),
      chain: chain.map((program) => shown(program ?? '')),
      reached: Array.from({ length: 60 }, (_, at) => shown(`${'deep.'.repeat(at % 30)}host-${at}.example:443`)),
    },
    { agent: shown('c\u043eder\u202e of the north quay') },
  );
}

/** Lines of the history about a run that left its box, newest first, from the number `seq` down. */
export function crossed(now: number, seq = 22): HistoryEntry[] {
  const request = (
    at: number,
    differs: Partial<Extract<HistoryEntry['event'], { kind: 'request' }>>,
  ): HistoryEntry => ({
    seq: at,
    atMs: now - (seq - at) * SECOND,
    requestId: `crossed-${at}`,
    event: {
      kind: 'request',
      agent: 'coder',
      session: 'fix-login-redirect',
      via: 'command-line',
      card: 'crossing',
      command: 'static.crates.io:443',
      commandSha256: '5'.repeat(64),
      cwd: FOLDER,
      outcome: { kind: 'allowed-once' },
      ...differs,
    },
  });
  return [
    run(seq, `crossed-${seq - 3}`, now, [
      { destination: 'index.crates.io:443', up: 812, down: 20_480 },
      { destination: 'static.crates.io:443', up: 1_234, down: 3_400_000 },
    ]),
    request(seq - 1, { command: 'metrics.harbor.example:443', outcome: { kind: 'denied' }, by: 'window' }),
    request(seq - 2, { by: 'window', answeredAfterMs: 4_200 }),
    request(seq - 3, { card: 'exec', command: 'cargo build --release', outcome: { kind: 'contained' } }),
  ];
}

/** The end of a run that was nearly everywhere, of which nothing else is known. */
export function wandered(now: number, seq = 30): HistoryEntry {
  const reached = Array.from({ length: 256 }, (_, at) => ({
    destination: `${'deep.'.repeat(at % 40)}host-${at}\u202e.example:443`,
    up: at * 1_000,
    down: at * 4_000_000,
  }));
  return run(seq, 'wandered', now, reached);
}

/** A run in a box around a folder that could not write everything, newest line first. */
export function stopped(now: number, within: string, unwritten: UnwrittenView, seq = 40): HistoryEntry[] {
  const [ended, , , request] = crossed(now, seq + 3);
  if (ended?.event.kind !== 'run' || request?.event.kind !== 'request') throw new Error('a run and its request');
  const run = { ...ended.event.run, exitCode: 1, reached: [], within, unwritten };
  return [
    { ...ended, event: { kind: 'run', run } },
    { ...request, event: { ...request.event, command: 'tool --init', cwd: within } },
  ];
}

function run(seq: number, requestId: string, atMs: number, reached: ReachedView[]): HistoryEntry {
  const ended = { exitCode: 0, timedOut: false, durationMs: 42_000, outputTail: 'Finished release', reached };
  return { seq, atMs, requestId, event: { kind: 'run', run: ended } };
}

/** Rules about connections out of boxes, one of a kind that this version does not know. */
export function crossingRules(now: number): CallRuleView[] {
  const rule = (id: string, about: CallRule['about'], differs: Partial<CallRule> = {}) =>
    callViewOf({ id, agent: 'coder', effect: 'allow', about, createdAtMs: now, from: 'answer', ...differs });
  return [
    rule('x-1', { crossing: { host: 'static.crates.io', port: 443, place: 'internet', within: FOLDER } }),
    rule('x-2', { crossing: { host: 'localhost', port: 5_432, place: 'this-machine', within: FOLDER } }),
    rule('x-3', { registries: { group: 'pypi', within: FOLDER } }),
    rule('x-4', { registries: { group: 'of-a-later-version' } }, { agent: '*', effect: 'deny', from: 'typed' }),
  ];
}
