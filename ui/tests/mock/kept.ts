import type {
  DiffHunk,
  DiffLineKind,
  HistoryEntry,
  KeptChange,
  KeptChanges,
  KeptConflict,
  KeptDiff,
  KeptHow,
  KeptParams,
  KeptRange,
  KeptSession,
  KeptSpan,
  KeptWhy,
  PutBack,
  PutBackResult,
} from '../../src/lib/protocol';
import { BackendError } from '../../src/lib/ipc';
import type { MockBackend } from './backend';
import { shown } from './text';
import { hunk } from './tools';

/** One change with what differs in it, and why it would not be put back, if it would not. */
export interface KeptSample {
  change: KeptChange;
  diff: KeptDiff;
  why?: KeptWhy;
}

/** What is behind a line of the history. */
export interface KeptFolder {
  samples: KeptSample[];
  more: number;
}

/** What is behind all runs of a session, and the lines that it is told from. */
export interface KeptWhole extends KeptFolder {
  range: KeptRange;
  lost: number;
  sinceMs?: number;
}

export const FOLDER = '/home/mina/src/engine';

const text = (...hunks: DiffHunk[]): KeptDiff => ({ kind: 'text', hunks, complete: true });

function sample(
  how: KeptHow,
  path: string,
  diff: KeptDiff,
  differs: Partial<KeptChange> = {},
  why?: KeptWhy,
): KeptSample {
  const change: KeptChange = { number: 0, path: shown(path), how, returns: true, between: false, ...differs };
  return why === undefined ? { change, diff } : { change, diff, why };
}

const numbered = (samples: KeptSample[], more = 0): KeptFolder => ({
  samples: samples.map((one, number) => ({ ...one, change: { ...one.change, number } })),
  more,
});

const CHANGED_SINCE = { kind: 'changed' } as const;

/** What a build script did to a folder. With `conflicts` two of it would not be put back. */
export function build(conflicts: 'conflicts' | null = null): KeptFolder {
  const why = (reason: KeptWhy) => (conflicts === null ? undefined : reason);
  const readme = hunk(3, 3, [' ## Building', ' ', '-Run `make`.', '+Run `cargo build`.', '+It takes a minute.', ' ']);
  return numbered([
    sample('changed', '.gitignore', text(hunk(1, 1, [' /out', '+/target'])), { before: 5, after: 13 }),
    sample('deleted', 'Makefile', text(hunk(1, 1, ['-all:', '-\tcc -o engine src/*.c'])), { before: 28 }),
    sample('changed', 'README.md', text(readme), { before: 1_204, after: 1_229 }, why(CHANGED_SINCE)),
    sample('made', 'Cargo.toml', text(hunk(1, 1, ['+[package]', '+name = "engine"'])), { after: 27 }),
    sample(
      'made',
      'assets/logo.png',
      { kind: 'other', before: { kind: 'absent' }, after: { kind: 'binary', bytes: 48_211 } },
      { after: 48_211 },
    ),
    sample('moved', 'docs/notes/plan.md', text(), { from: shown('plan.md'), before: 840, after: 840 }),
    sample(
      'deleted',
      'latest',
      { kind: 'other', before: { kind: 'link', target: shown('out/engine-2.1') }, after: { kind: 'absent' } },
      {},
      why({ kind: 'system', said: shown('Permission denied (os error 13)') }),
    ),
    sample(
      'changed',
      'data/world.bin',
      { kind: 'other', before: { kind: 'not-kept' }, after: { kind: 'too-large', bytes: 812_000_000 } },
      { before: 790_000_000, after: 812_000_000, returns: false },
    ),
  ]);
}

/** What two runs did to it, one of them before somebody else changed a file that the other changed too. */
export function together(range: KeptRange = { first: 20, last: 23, runs: 2 }, lost = 0): KeptWhole {
  const readme = hunk(3, 3, [' ## Building', ' ', '-Run `make`.', '+Run `cargo build --release`.', ' ']);
  const why: KeptWhy = { kind: 'between' };
  const { samples, more } = numbered([
    sample('deleted', 'Makefile', text(hunk(1, 1, ['-all:', '-\tcc -o engine src/*.c'])), { before: 28 }),
    sample('changed', 'README.md', text(readme), { before: 1_204, after: 1_240, between: true }, why),
    sample('made', 'Cargo.lock', text(hunk(1, 1, ['+version = 4'])), { after: 12 }),
    sample('made', 'Cargo.toml', text(hunk(1, 1, ['+[package]', '+name = "engine"'])), { after: 27 }),
  ]);
  return { samples, more, range, lost };
}

/** Names and lines that would pass for something else, or for nothing. */
export function hostile(): KeptFolder {
  const name = (start: string) => `${start}\u202egnp.exe\n\nput back by itself\u200b \u0430ll ${'deep/'.repeat(60)}x`;
  return numbered([
    sample('made', name('a'), text(hunk(1, 1, [`+${'wide '.repeat(400)}\u202e`, '+<b>bold</b>\u0007']))),
    sample(
      'changed',
      name('<img src=x>'),
      {
        kind: 'other',
        before: { kind: 'link', target: shown(`/etc/\u2066shadow\u2069 ${'y'.repeat(400)}`) },
        after: { kind: 'damaged' },
      },
      { before: 1, after: 2 },
      { kind: 'system', said: shown(`no\u202e\n${'really '.repeat(80)}`) },
    ),
    sample('deleted', ' ', { kind: 'text', hunks: [], complete: false }, { before: 9_000_000_000 }, CHANGED_SINCE),
  ]);
}

/** More than anybody reads, and more than is listed. */
export function many(): KeptFolder {
  const one = (index: number) =>
    sample('made', `target/debug/deps/part-${index}.o`, text(hunk(1, 1, [`+${index}`])), { after: index * 100 });
  return numbered(
    Array.from({ length: 1_000 }, (_, index) => one(index)),
    4_210,
  );
}

function counted({ samples, more }: KeptFolder): Pick<KeptSpan, 'made' | 'changed' | 'deleted'> {
  const count = (...wanted: KeptHow[]) => samples.filter(({ change }) => wanted.includes(change.how)).length;
  return { made: count('made') + more, changed: count('changed', 'moved'), deleted: count('deleted') };
}

/** A line of the history about such a folder. */
export function line(
  seq: number,
  atMs: number,
  folder: KeptFolder,
  requestId?: string,
  differs: Partial<KeptSpan> = {},
): HistoryEntry {
  const changes = { folder: FOLDER, before: 'a1', after: 'b2', ...counted(folder), leftOut: 0, ...differs };
  const event = { kind: 'changes' as const, changes };
  return requestId === undefined ? { seq, atMs, event } : { seq, atMs, requestId, event };
}

const SESSION = 'move-to-cargo';

/**
 * The line that putting back leaves, `of` being the one whose changes it is, or the last one of so many
 * runs of a session.
 */
export function putBackLine(
  seq: number,
  atMs: number,
  folder: KeptFolder,
  of: Pick<HistoryEntry, 'seq' | 'atMs' | 'requestId'>,
  runs: number | null = null,
): HistoryEntry {
  const { event } = line(seq, atMs, folder);
  const putBack: PutBack = { by: 'window', seq: of.seq, atMs: of.atMs };
  if (runs !== null) putBack.session = { agent: 'coder', session: SESSION, runs };
  else if (of.requestId !== undefined) putBack.requestId = of.requestId;
  return event.kind === 'changes' ? { seq, atMs, event: { ...event, putBack } } : { seq, atMs, event };
}

/** A command that ran in a box and did this to its folder: its request, its end, and what changed, which is line 20. */
export function ran(mock: MockBackend, folder: KeptFolder, differs: Partial<KeptSpan> = {}): void {
  run(mock, 18, './scripts/move-to-cargo.sh --tidy', folder, differs);
}

/** The same, and then another command of the same session, whose changes are line 23; what both did is `whole`. */
export function ranTwice(mock: MockBackend, whole: KeptWhole = together()): void {
  mock.sessions[20] = whole;
  mock.sessions[23] = whole;
  ran(mock, build());
  run(mock, 21, 'cargo build --release', numbered(build().samples.slice(2, 4)));
}

function run(
  mock: MockBackend,
  seq: number,
  command: string,
  folder: KeptFolder,
  differs: Partial<KeptSpan> = {},
): void {
  const now = Date.now();
  const requestId = `req-${seq}`;
  const request = {
    kind: 'request' as const,
    agent: 'coder',
    session: SESSION,
    via: 'socket' as const,
    card: 'exec' as const,
    command,
    commandSha256: '5d41402abc4b2a76b9719d911017c592'.repeat(2),
    cwd: FOLDER,
    outcome: { kind: 'contained' as const },
  };
  const came = { exitCode: 0, timedOut: false, durationMs: 6_300, outputTail: 'done' };
  for (const entry of [
    { seq, atMs: now - 9_000, requestId, event: request },
    { seq: seq + 1, atMs: now - 2_000, requestId, event: { kind: 'run' as const, run: came } },
  ]) {
    mock.lines = [entry, ...mock.lines];
    mock.emit({ kind: 'history-appended', entry });
  }
  mock.changed(line(seq + 2, now - 1_000, folder, requestId, differs), folder);
}

export function changes({ samples, more }: KeptFolder): KeptChanges {
  return { changes: samples.map(({ change }) => change), more };
}

export function session(whole: KeptWhole): KeptSession {
  const { range, lost, sinceMs } = whole;
  const found = { folder: FOLDER, range, lost, ...counted(whole), listed: changes(whole) };
  return sinceMs === undefined ? found : { ...found, sinceMs };
}

export function diff({ samples }: KeptFolder, { change }: KeptParams): KeptDiff {
  const found = samples.find((one) => one.change.number === change);
  if (!found) throw new BackendError('invalid', 'change: expected a number of the list');
  return found.diff;
}

/** What comes of putting back, and what is behind the line that this leaves; `null` where it leaves none. */
export function putBack(folder: KeptFolder, { change }: KeptParams): [PutBackResult, KeptFolder | null] {
  const wanted = folder.samples.filter((one) => change === undefined || one.change.number === change);
  const stays = ({ change: { path, returns }, why }: KeptSample): KeptConflict[] => {
    if (why) return [{ path, why }];
    return returns ? [] : [{ path, why: { kind: 'not-kept' } }];
  };
  const put = wanted.filter((one) => stays(one).length === 0);
  const more = change === undefined ? folder.more : 0;
  const result = { put: put.length + more, conflicts: wanted.flatMap(stays), more: 0 };
  return [result, put.length > 0 ? numbered(put.map(undone), more) : null];
}

const OPPOSITE: Record<KeptHow, KeptHow> = { made: 'deleted', deleted: 'made', changed: 'changed', moved: 'moved' };

function undone({ change, diff }: KeptSample): KeptSample {
  const { before, after, from, path, ...rest } = change;
  const back: KeptChange = { ...rest, path: from ?? path, how: OPPOSITE[change.how] };
  if (from) back.from = path;
  if (after !== undefined) back.before = after;
  if (before !== undefined) back.after = before;
  return { change: back, diff: inverted(diff) };
}

function inverted(diff: KeptDiff): KeptDiff {
  if (diff.kind === 'other') return { kind: 'other', before: diff.after, after: diff.before };
  const kinds: Record<DiffLineKind, DiffLineKind> = { added: 'removed', removed: 'added', context: 'context' };
  const turned = ({ before, after, lines }: DiffHunk): DiffHunk => ({
    before: after,
    after: before,
    lines: lines.map(({ kind, text }) => ({ kind: kinds[kind], text })),
  });
  return { ...diff, hunks: diff.hunks.map(turned) };
}
