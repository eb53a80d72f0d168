import { afterEach, expect, test } from 'vitest';
import { setLocale } from '../../src/lib/i18n/index.svelte';
import { countWords, isKnown, sizesWords, sizeWords } from '../../src/lib/kept';
import type { HistoryEvent, KeptSpan } from '../../src/lib/protocol';
import { plain } from '../../src/lib/shown';
import { Feed } from '../../src/stores/feed.svelte';
import { HistoryStore } from '../../src/stores/history.svelte';
import { KeptStore, LISTED } from '../../src/stores/kept.svelte';
import { MockBackend } from '../mock/backend';
import { build, line, many, ran, ranTwice, together, type KeptFolder } from '../mock/kept';
import { eventually } from './eventually';

afterEach(() => setLocale('en'));

const SEQ = 20;

/** What changed by a line, opened. */
async function opened(folder: KeptFolder) {
  const mock = new MockBackend();
  mock.kept[SEQ] = folder;
  const store = new KeptStore(mock, SEQ);
  await store.toggle();
  return { mock, store };
}

/** The history with a run that changed a folder. */
async function history() {
  const mock = new MockBackend();
  const feed = new Feed(mock);
  const store = new HistoryStore(feed);
  store.start();
  await feed.start();
  await eventually(() => expect(store.loaded).toBe(true));
  ran(mock, build());
  await eventually(() => expect(store.rows[0]?.changes).toHaveLength(1));
  return { mock, store };
}

const file = (store: KeptStore, number: number) => {
  const found = store.files?.[number];
  if (!found) throw new Error(`there is no file ${number}`);
  return found;
};

const called = (mock: MockBackend, name: string) =>
  mock.calls.filter((call) => call.name === name).map(({ args }) => args[0]);

test('numbers of changes and sizes have their words in each language', () => {
  const none = { made: 0, changed: 0, deleted: 0 };
  for (const [language, span, words] of [
    ['en', { made: 3, changed: 1, deleted: 2 }, '3 made, 1 changed, 2 deleted'],
    ['en', { ...none, deleted: 1 }, '1 deleted'],
    ['en', none, '0 changed'],
    ['zh', { ...none, made: 3, changed: 1 }, '新建 3 个，修改 1 个'],
    ['ko', { ...none, changed: 1, deleted: 2 }, '1개 수정, 2개 삭제'],
  ] as const) {
    setLocale(language);
    expect(countWords(span)).toBe(words);
  }
  setLocale('en');
  for (const [bytes, words] of [
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1_000, '1 kB'],
    [1_250_000, '1.3 MB'],
    [9_000_000_000_000_000, '9,000 TB'],
  ] as const) {
    expect(sizeWords(bytes)).toBe(words);
  }
  for (const [sizes, words] of [
    [{}, null],
    [{ after: 27 }, '27 bytes'],
    [{ before: 28 }, 'was 28 bytes'],
    [{ before: 5, after: 13 }, '5 bytes → 13 bytes'],
    [{ before: 1_204, after: 1_229 }, '1.2 kB'],
  ] as const) {
    expect(sizesWords(sizes)).toBe(words);
  }
});

test('only what has both states and no problem can be looked at', () => {
  const span: KeptSpan = { folder: '/srv', before: 'a', after: 'b', made: 0, changed: 0, deleted: 0, leftOut: 0 };
  const { after, ...half } = span;
  expect(after).toBe('b');
  for (const [one, known] of [
    [span, true],
    [half, false],
    [{ ...span, problem: 'no space' }, false],
  ] as const) {
    expect(isKnown(one)).toBe(known);
  }
});

test('what a run changed belongs to the line that asked for it, and has no row of its own', async () => {
  const { store } = await history();
  const seqs = store.rows.map(({ entry }) => entry.seq);
  expect(seqs).toContain(18);
  expect(seqs).not.toContain(20);
  expect(store.rows.find(({ entry }) => entry.seq === 18)?.changes.map(({ seq }) => seq)).toEqual([20]);
  expect(store.rows.filter(({ changes }) => changes.length > 0)).toHaveLength(1);
});

test('what changed is a row where its run has none here, among what was allowed, and is found by its folder', async () => {
  const { mock, store } = await history();
  mock.changed(line(21, Date.now(), build(), 'somebody-elses', { folder: '/srv/Lonely' }), build());
  await eventually(() => expect(store.rows[0]?.entry.seq).toBe(21));
  expect(store.rows[0]?.changes.map(({ seq }) => seq)).toEqual([21]);
  for (const [group, search, found] of [
    ['allowed', '', true],
    ['changes', '', false],
    ['tools', '', false],
    ['denied', '', false],
    ['all', 'lonely', true],
    ['all', 'no such folder', false],
  ] as const) {
    store.group = group;
    store.search = search;
    expect(
      store.shown.some(({ entry }) => entry.seq === 21),
      `${group} ${search}`,
    ).toBe(found);
  }
});

test('a run that was not asked about keeps what it changed', async () => {
  const { mock, store } = await history();
  const run = { exitCode: 0, timedOut: false, durationMs: 5, outputTail: '' };
  mock.emit({
    kind: 'history-appended',
    entry: { seq: 30, atMs: Date.now(), requestId: 'alone', event: { kind: 'run', run } },
  });
  mock.changed(line(31, Date.now(), build(), 'alone'), build());
  await eventually(() => expect(store.rows[0]?.changes).toHaveLength(1));
  expect(store.rows[0]?.entry.seq).toBe(30);
});

test('a session is offered at runs where it has, or may have, another run in the folder', async () => {
  const { mock, store } = await history();
  const offered = () => store.rows.filter(({ shared }) => shared.length > 0).map(({ entry }) => entry.seq);
  const beyond = store.nextBefore;
  store.nextBefore = null;
  expect(offered()).toEqual([]);
  store.nextBefore = 1;
  expect(offered()).toEqual([18]);
  store.nextBefore = beyond;
  const first = mock.lines.find(({ seq }) => seq === 18);
  if (first?.event.kind !== 'request') throw new Error('it is a request');
  const again = (seq: number, session: string | undefined, folder?: string) => {
    const event = { ...first.event } as Extract<HistoryEvent, { kind: 'request' }>;
    if (session === undefined) delete event.session;
    else event.session = session;
    mock.emit({ kind: 'history-appended', entry: { seq, atMs: Date.now(), requestId: `again-${seq}`, event } });
    mock.changed(line(seq + 1, Date.now(), build(), `again-${seq}`, folder === undefined ? {} : { folder }), build());
  };
  store.nextBefore = null;
  again(30, 'another-one');
  again(32, undefined);
  again(34, undefined);
  again(36, 'move-to-cargo', '/srv/elsewhere');
  await eventually(() => expect(store.rows[0]?.entry.seq).toBe(36));
  expect(offered()).toEqual([]);
  again(38, 'move-to-cargo');
  await eventually(() => expect(store.rows[0]?.changes).toHaveLength(1));
  expect(offered()).toEqual([38, 18]);
});

/** What a session changed, opened at its newer run. */
async function session(range?: Parameters<typeof together>[0]) {
  const mock = new MockBackend();
  ranTwice(mock, together(range));
  const store = new KeptStore(mock, 23, 'session');
  await store.toggle();
  return { mock, store };
}

const RANGE = { first: 20, last: 23, runs: 2 };

test('a session is told from its lines, and all that is asked about it is about these', async () => {
  const { mock, store } = await session();
  expect(called(mock, 'keptSession')).toEqual([{ seq: 23 }]);
  expect([store.session?.range, store.files?.length]).toEqual([RANGE, 4]);
  await store.toggleFile(file(store, 0));
  expect(called(mock, 'keptDiff')).toEqual([{ seq: 23, session: RANGE, change: 0 }]);
  await store.putBack(file(store, 2));
  await store.putBack(file(store, 1));
  store.ask();
  await store.putBackAll();
  expect(called(mock, 'putBack')).toEqual([
    { seq: 23, session: RANGE, change: 2 },
    { seq: 23, session: RANGE },
  ]);
  expect(called(mock, 'keptChanges')).toEqual([]);
  expect(store.result?.conflicts.map(({ path, why }) => `${plain(path)} ${why.kind}`)).toEqual(['README.md between']);
});

test('a session is read again when it is opened again, since another run may have come', async () => {
  const { mock, store } = await session();
  mock.sessions[23] = together({ first: 20, last: 40, runs: 3 });
  store.ask();
  await store.putBackAll();
  expect([store.error?.code, store.result]).toEqual(['stale', null]);
  await store.toggle();
  await store.toggle();
  expect([store.session?.range.runs, store.error, called(mock, 'keptSession').length]).toEqual([3, null, 2]);
});

test('nothing is read before it is opened, and nothing twice', async () => {
  const { mock, store } = await opened(build());
  await store.toggle();
  await store.toggle();
  expect(called(mock, 'keptChanges')).toEqual([{ seq: SEQ }]);
  expect(called(mock, 'keptDiff')).toEqual([]);
  const readme = file(store, 2);
  for (let times = 0; times < 3; times++) await store.toggleFile(readme);
  expect(readme.diff?.kind).toBe('text');
  expect(called(mock, 'keptDiff')).toEqual([{ seq: SEQ, change: 2 }]);
});

test('a list that could not be read is read when it is opened again', async () => {
  const mock = new MockBackend();
  mock.kept[SEQ] = build();
  mock.fail('keptChanges', 'internal', 'no such state');
  const store = new KeptStore(mock, SEQ);
  await store.toggle();
  expect([store.files, store.error?.message]).toEqual([null, 'no such state']);
  await store.toggle();
  await store.toggle();
  expect([store.files?.length, store.error]).toEqual([8, null]);
});

test('a long list is shown in parts, and says how much is in none of them', async () => {
  const { store } = await opened(many());
  expect([store.shown.length, store.next, store.unlisted]).toEqual([LISTED, LISTED, 4_210]);
  for (let part = 1; part < 10; part++) store.showNext();
  expect([store.shown.length, store.next]).toEqual([1_000, 0]);
});

test('one file is put back by its number, and what cannot return is never asked for', async () => {
  const { mock, store } = await opened(build());
  await store.putBack(file(store, 1));
  expect(called(mock, 'putBack')).toEqual([{ seq: SEQ, change: 1 }]);
  expect(file(store, 1).result).toEqual({ put: 1, conflicts: [], more: 0 });
  expect(store.result).toBeNull();
  await store.putBack(file(store, 7));
  expect(called(mock, 'putBack')).toHaveLength(1);
});

test('everything is put back only after it was asked once more', async () => {
  const { mock, store } = await opened(build('conflicts'));
  await store.putBackAll();
  expect(called(mock, 'putBack')).toEqual([]);
  store.ask();
  store.keep();
  await store.putBackAll();
  expect(called(mock, 'putBack')).toEqual([]);
  store.ask();
  await store.putBackAll();
  expect(called(mock, 'putBack')).toEqual([{ seq: SEQ }]);
  expect(store.isAsking).toBe(false);
  const { put, conflicts } = store.result ?? { put: 0, conflicts: [] };
  expect([put, conflicts.map(({ path, why }) => `${plain(path)} ${why.kind}`)]).toEqual([
    5,
    ['README.md changed', 'latest system', 'data/world.bin not-kept'],
  ]);
});

test('one thing is put back at a time', async () => {
  const { mock, store } = await opened(build());
  let release = () => {};
  mock.held.putBack = new Promise((resolve) => (release = resolve));
  const first = store.putBack(file(store, 0));
  expect(store.working).toBe(file(store, 0));
  store.ask();
  await store.putBackAll();
  await store.putBack(file(store, 1));
  expect(called(mock, 'putBack')).toEqual([{ seq: SEQ, change: 0 }]);
  release();
  await first;
  expect(store.working).toBeNull();
});

test('a failure to put back is said where it was wanted, and can be tried again', async () => {
  const { mock, store } = await opened(build());
  mock.fail('putBack', 'internal', 'the folder is another one');
  await store.putBack(file(store, 0));
  expect([file(store, 0).error?.message, store.error]).toEqual(['the folder is another one', null]);
  await store.putBack(file(store, 0));
  expect([file(store, 0).error, file(store, 0).result?.put]).toEqual([null, 1]);
  mock.fail('putBack', 'internal', 'the disk is full');
  store.ask();
  await store.putBackAll();
  expect([store.error?.message, store.result, store.isAsking]).toEqual(['the disk is full', null, false]);
});

test('what was put back is a line that can be put back too', async () => {
  const { mock, store } = await opened(build());
  store.ask();
  await store.putBackAll();
  const newest = mock.lines[0];
  expect(newest?.event.kind).toBe('changes');
  const undo = new KeptStore(mock, newest?.seq ?? 0);
  await undo.toggle();
  const hows = (kept: KeptStore) => kept.files?.map(({ change }) => change.how);
  expect(hows(undo)).toEqual(['changed', 'made', 'changed', 'deleted', 'deleted', 'moved', 'made']);
});

test('what was put back names the command whose changes it was, as far as that is known', async () => {
  const { mock, store } = await history();
  const back = (seq: number) => store.rows.find(({ entry }) => entry.seq === seq);
  await mock.putBack({ seq: SEQ });
  await eventually(() => expect(back(SEQ + 1)).toBeDefined());
  expect(back(SEQ + 1)?.undone).toBe('./scripts/move-to-cargo.sh --tidy');
  // It is a line of its own, not one of the run's.
  expect(store.rows.find(({ entry }) => entry.seq === 18)?.changes).toHaveLength(1);
  await mock.putBack({ seq: SEQ + 1 });
  await eventually(() => expect(back(SEQ + 2)).toBeDefined());
  expect(back(SEQ + 2)?.undone).toBeNull();
});
