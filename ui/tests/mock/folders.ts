import { BackendError } from '../../src/lib/ipc';
import type { FolderAtHand, FolderChange, FolderView, NamedDestination, RegistryKind } from '../../src/lib/protocol';
import { build, FOLDER, line, together, type KeptFolder, type KeptWhole } from './kept';
import { shown } from './text';

/** What happened in a folder, without its name. */
export type Doings = Partial<Omit<FolderView, 'folder'>>;

const MINUTE_MS = 60_000;

/** Where the line of a run that changed the sample folder stands in the history. */
export const CHANGED_AT = 70;

/** A few kinds, as the app lists them. */
export const registries: RegistryKind[] = [
  { group: 'cargo', hosts: ['index.crates.io:443', 'static.crates.io:443'] },
  { group: 'npm', hosts: ['registry.npmjs.org:443'] },
  { group: 'pypi', hosts: ['pypi.org:443', 'files.pythonhosted.org:443'] },
  { group: 'go', hosts: ['proxy.golang.org:443', 'sum.golang.org:443'] },
  { group: 'of-a-later-version', hosts: ['*.packages.example:8443'] },
];

function change(seq: number, atMs: number, command: string | null): FolderChange {
  const { event } = line(seq, atMs, build());
  if (event.kind !== 'changes') throw new Error('it is about changes');
  const found: FolderChange = { seq, atMs, span: event.changes };
  return command === null ? found : { ...found, by: { agent: 'coder', session: 'agent:coder:move', command } };
}

/** One folder with much behind it, one whose names would pass for others. */
export function doings(nowMs: number): Record<string, Doings> {
  return {
    [FOLDER]: {
      runs: 212,
      reached: [
        { destination: 'static.crates.io:443', up: 31_400, down: 48_200_000, runs: 41 },
        { destination: 'index.crates.io:443', up: 12_000, down: 3_100_000, runs: 40 },
        { destination: 'localhost:5432', up: 9_100, down: 22_000, runs: 1 },
      ],
      reachedMore: 0,
      changes: [
        change(CHANGED_AT + 1, nowMs - 4 * MINUTE_MS, null),
        change(CHANGED_AT, nowMs - 9 * MINUTE_MS, './scripts/move-to-cargo.sh --tidy'),
      ],
      changesMore: 17,
    },
    '/srv/nightly': {
      runs: 3,
      reached: [{ destination: `${'deep.'.repeat(40)}\\u{202E}gro.example:443`, up: 1, down: 2, runs: 3 }],
      reachedMore: 1,
      changes: [],
      changesMore: 0,
    },
  };
}

/** What is behind the lines of the sample folder. */
export function behind(): Record<number, KeptFolder> {
  return { [CHANGED_AT]: build(), [CHANGED_AT + 1]: build() };
}

/** What is behind the sessions of these lines. */
export function sessionsBehind(): Record<number, KeptWhole> {
  return { [CHANGED_AT]: together({ first: 41, last: CHANGED_AT, runs: 9 }, 2) };
}

/** A folder that an agent works in and that is not open. */
export function atHand(folder = '/home/mina/src/harbor'): FolderAtHand {
  return { agent: 'claude-code', folder, agentShown: shown('claude-code'), folderShown: shown(folder) };
}

/** As the app reads what a person typed. */
export function namedDestination(text: string): NamedDestination {
  const [, host, port] = /^((?:\*\.)?[a-z0-9.-]+):(\d{1,5})$/i.exec(text.trim()) ?? [];
  if (host === undefined || port === undefined || Number(port) > 65_535)
    throw new BackendError('invalid', `expected HOST:PORT, got "${text}": the port is missing`);
  const place = host === 'localhost' ? 'this-machine' : 'internet';
  return { host: host.toLowerCase(), port: Number(port), place };
}
