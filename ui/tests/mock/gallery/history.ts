import HistoryRow from '../../../src/components/history/HistoryRow.svelte';
import Output from '../../../src/components/history/Output.svelte';
import Reached from '../../../src/components/history/Reached.svelte';
import RunningList from '../../../src/components/history/RunningList.svelte';
import Unwritten from '../../../src/components/history/Unwritten.svelte';
import ChangeDiff from '../../../src/components/history/kept/ChangeDiff.svelte';
import ChangeFile from '../../../src/components/history/kept/ChangeFile.svelte';
import Changes from '../../../src/components/history/kept/Changes.svelte';
import PutBackLine from '../../../src/components/history/kept/PutBackLine.svelte';
import PutBackNote from '../../../src/components/history/kept/PutBackNote.svelte';
import { keptLine } from '../../../src/lib/kept';
import type { HistoryEntry, HistoryEvent, KeptWhy, RecordNote, RunningView } from '../../../src/lib/protocol';
import { KeptFile } from '../../../src/stores/kept.svelte';
import type { MockBackend } from '../backend';
import * as crossings from '../crossings';
import { history as sampleHistory } from '../document';
import * as kept from '../kept';
import { shown } from '../text';
import { after, entry, press, shows, unfolds, type Area } from './entry';
import { LOOSENINGS } from './forms';
import { DEEP, ESCAPED, HOSTILE, nothing, NOW, world, wrong } from './world';

type Request = Extract<HistoryEvent, { kind: 'request' }>;

/** The line that a history of these entries shows at `seq`, or first. */
async function row(entries: HistoryEntry[], seq?: number, change: (mock: MockBackend) => void = nothing) {
  const { feed, history, rules } = await world((mock) => {
    mock.lines = entries;
    change(mock);
  });
  await Promise.all([history.load(), rules.look()]);
  const found = history.rows.find((one) => seq === undefined || one.entry.seq === seq);
  if (!found) throw new Error(`there is no line ${seq}`);
  return { row: found, feed, openings: rules.view?.workspaces ?? [], ongive: nothing };
}

const alone = (event: HistoryEvent) => () => row([{ seq: 1, atMs: NOW - 60_000, requestId: 'request-1', event }]);

function asked(differs: Partial<Request>) {
  const found = sampleHistory(NOW).find(({ seq }) => seq === 14);
  if (found?.event.kind !== 'request') throw new Error('line 14 is a request');
  return alone({ ...found.event, ...differs });
}

/** The end of a run of which nothing else is known, and some of the places where it was. */
function wandered(): HistoryEntry {
  const entry = crossings.wandered(NOW);
  if (entry.event.kind !== 'run') throw new Error('it is the end of a run');
  const { run } = entry.event;
  return { ...entry, event: { kind: 'run', run: { ...run, reached: run.reached?.slice(0, 12) } } };
}

const noted = (note: RecordNote) => alone({ kind: 'record', note });

/** What a run changed, as its line shows it. */
async function changes(
  folder: kept.KeptFolder,
  differs: Partial<kept.KeptWhole['range']> = {},
  whole?: kept.KeptWhole,
) {
  const { feed } = await world((mock) => {
    mock.kept[20] = folder;
    if (whole) mock.sessions[20] = { ...whole, range: { ...whole.range, ...differs } };
  });
  const line = keptLine(kept.line(20, NOW, folder, 'req'));
  if (!line) throw new Error('it is about changes');
  return whole ? { line, feed, whole: 'session' as const } : { line, feed };
}

function file(folder: kept.KeptFolder, at: number, change: (file: KeptFile) => void = nothing, differs: object = {}) {
  const sample = folder.samples[at];
  if (!sample) throw new Error(`there is no change ${at}`);
  const one = new KeptFile(sample.change);
  change(one);
  return {
    file: one,
    said: (error: Error) => error.message,
    isBusy: false,
    isWorking: false,
    ontoggle: nothing,
    onclose: nothing,
    onputback: nothing,
    ...differs,
  };
}

function open(folder: kept.KeptFolder, at: number) {
  return file(folder, at, (one) => {
    one.isOpen = true;
    one.diff = folder.samples[at]?.diff ?? null;
  });
}

const diffs = Object.fromEntries(
  [...kept.build().samples, ...kept.hostile().samples].map(({ change, diff }, at) => [
    `${at}, ${change.how}`,
    { change, diff },
  ]),
);

const run = (differs: Partial<RunningView> = {}): RunningView => ({
  requestId: 'run',
  agent: 'coder',
  session: 'fix-login-redirect',
  command: 'npm run dev -- --port 5173',
  startedAtMs: NOW - 61_000,
  outputTail: '  ready in 312 ms\n',
  isCut: false,
  ...differs,
});

const running = (...runs: RunningView[]) => ({ runs, now: NOW, onstop: nothing, onshow: nothing });

const WHYS: KeptWhy[] = [
  ...(['between', 'cancelled', 'changed', 'damaged', 'not-empty', 'not-kept', 'protected'] as const).map((kind) => ({
    kind,
  })),
  { kind: 'system', said: shown(HOSTILE) },
];

export const history: Area = {
  name: 'history',
  entries: [
    entry(
      HistoryRow,
      {
        ...Object.fromEntries(
          sampleHistory(NOW)
            .filter(({ event }) => event.kind !== 'run')
            .map(({ seq, event }) => [
              event.kind === 'request' ? `${event.outcome.kind}, ${seq}` : `${event.kind}, ${seq}`,
              () => row(sampleHistory(NOW), seq),
            ]),
        ),
        'with its details': after(() => row(sampleHistory(NOW), 13), unfolds),
        'a long command': after(
          asked({ command: 'word '.repeat(600), agent: ESCAPED, session: ESCAPED, cwd: DEEP }),
          unfolds,
        ),
        'a tool': asked({ card: 'tool', via: 'hook', outcome: { kind: 'denied' }, by: 'window' }),
        'run by its agent': asked({ card: 'permit', via: 'hook', outcome: { kind: 'allowed-once' }, by: 'window' }),
        'in a sandbox': asked({ host: 'sandbox' }),
        'a connection': asked({ card: 'crossing', command: 'docs.rs:443', outcome: { kind: 'allowed-once' } }),
        'the keys': asked({ card: 'crossing', command: 'ssh-agent', outcome: { kind: 'denied' } }),
        refused: asked({ outcome: { kind: 'refused', reason: `${DEEP}: changed` } }),
        'what it reached': after(() => row(crossings.crossed(NOW), 19), unfolds),
        'what it could not write': () =>
          row(crossings.stopped(NOW, '/home/mina/src/engine', { path: DEEP, place: '/home/mina/notes/tool' }), 40),
        'a run alone': () => row([wandered()]),
        'rules, looser': alone({ kind: 'rules', writer: 'window', before: 'a', after: 'b', loosenings: LOOSENINGS }),
        'a document elsewhere': alone({
          kind: 'document',
          writer: 'window',
          store: 'studio',
          before: 'a',
          after: '',
          loosenings: [],
        }),
        'a page ended': alone({ kind: 'page', window: 'prompt', end: 'hung', again: true }),
        'a socket was lost': alone({ kind: 'socket', door: 'approval', lost: 'replaced', times: 3 }),
        'lines are damaged': noted({ kind: 'damaged', chain: 'unasked', problem: `expected line 41 ${DEEP}` }),
        'lines are missing': noted({ kind: 'unrecorded', lines: 3, sinceMs: NOW - 90_000, problem: 'No space left' }),
        'power was lost': noted({ kind: 'power-lost', chain: 'decisions', last: 77 }),
        'lines of a program': noted({
          kind: 'folded',
          source: 'MCP',
          lines: 44_790,
          sinceMs: NOW,
          programs: ['true', 'cat'],
        }),
        'older lines are gone': noted({ kind: 'rotated', chain: 'decisions' }),
        'an older history': noted({ kind: 'adopted', last: 60 }),
      },
      'list',
    ),
    entry(Output, {
      short: { text: '2 failed, 211 passed' },
      long: { text: `${'line of output\n'.repeat(60)}${'wide '.repeat(200)}` },
      followed: { text: 'line of output\n'.repeat(60), follows: true },
    }),
    entry(Reached, {
      one: { reached: [{ destination: 'docs.rs:443', up: 812, down: 20_480 }] },
      many: {
        reached: Array.from({ length: 60 }, (_, at) => ({
          destination: `${'deep.'.repeat(at)}example:443`,
          up: at,
          down: at * 4_000_000,
        })),
      },
    }),
    entry(Unwritten, {
      'a rule could let it': {
        unwritten: { path: '/home/mina/notes/tool/new', place: '/home/mina/notes/tool' },
        ongive: nothing,
      },
      'no rule could': { unwritten: { path: `/etc/${'deep/'.repeat(60)}x` }, ongive: null },
      'no path named': { unwritten: {}, ongive: null },
    }),
    entry(RunningList, {
      one: running(run()),
      'a long one': running(run({ command: 'word '.repeat(200), isCut: true, outputTail: 'line\n'.repeat(80) })),
      'with servers': running(
        run({ servers: [{ port: 5_173, shown: 5_173 }, { port: 24_678 }] }),
        run({ requestId: 'other' }),
      ),
    }),
    entry(
      ChangeFile,
      {
        made: file(kept.build(), 3),
        changed: file(kept.build(), 2),
        deleted: file(kept.build(), 1),
        moved: file(kept.build(), 5),
        'not kept': file(kept.build(), 7),
        'changed by somebody else': file(kept.together(), 1),
        open: open(kept.build(), 2),
        reading: file(kept.build(), 2, (one) => (one.isOpen = true)),
        working: file(kept.build(), 2, nothing, { isBusy: true, isWorking: true }),
        'put back': file(kept.build(), 2, (one) => (one.result = { put: 1, conflicts: [], more: 0 })),
        failed: file(kept.build(), 2, (one) => (one.error = wrong('internal', ESCAPED))),
        hostile: open(kept.hostile(), 1),
      },
      'list',
    ),
    entry(Changes, {
      closed: () => changes(kept.build()),
      open: after(() => changes(kept.build()), press('changes-open'), shows('[data-testid="change-row"]')),
      'asked once more': after(
        () => changes(kept.build('conflicts')),
        press('changes-open'),
        press('changes-put-back-all'),
        shows('[data-testid="changes-put-back-confirm"]'),
      ),
      'many, and more': after(
        () => changes({ samples: kept.many().samples.slice(0, 120), more: 4_210 }),
        press('changes-open'),
        shows('[data-testid="change-row"]'),
      ),
      'a session': after(
        () => changes(kept.build(), {}, kept.together()),
        press('changes-open'),
        shows('[data-testid="change-row"]'),
      ),
      hostile: after(() => changes(kept.hostile()), press('changes-open'), shows('[data-testid="change-row"]')),
    }),
    entry(ChangeDiff, diffs),
    entry(PutBackLine, {
      'of a command': { of: { by: 'window', seq: 4, atMs: NOW, requestId: 'r' }, command: 'cargo build --release' },
      'of one that is not here': { of: { by: 'command-line', seq: 4, atMs: NOW }, command: null },
      'of a session': {
        of: { by: 'window', seq: 4, atMs: NOW, session: { agent: 'coder', session: ESCAPED, runs: 9 } },
        command: null,
      },
    }),
    entry(PutBackNote, {
      all: { result: { put: 8, conflicts: [], more: 0 } },
      'not all': { result: { put: 3, conflicts: WHYS.map((why) => ({ path: shown(DEEP), why })), more: 12 } },
      none: { result: { put: 0, conflicts: [{ path: shown('README.md'), why: { kind: 'changed' } }], more: 0 } },
      'as it was': { result: { put: 0, conflicts: [], more: 0 } },
    }),
  ],
};
