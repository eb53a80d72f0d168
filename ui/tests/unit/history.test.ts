import { expect, test } from 'vitest';
import { Feed } from '../../src/stores/feed.svelte';
import { HistoryStore, type Group } from '../../src/stores/history.svelte';
import { MockBackend } from '../mock/backend';
import { crossed } from '../mock/crossings';
import { eventually } from './eventually';

async function opened() {
  const mock = new MockBackend();
  const feed = new Feed(mock);
  const store = new HistoryStore(feed);
  store.start();
  await feed.start();
  await eventually(() => expect(store.loaded).toBe(true));
  return { mock, store };
}

const seqs = (store: HistoryStore) => store.shown.map(({ entry }) => entry.seq);

test('what came of a run is shown at the line that allowed it', async () => {
  const { store } = await opened();
  const row = store.rows.find(({ entry }) => entry.seq === 14);
  expect(row?.run?.exitCode).toBe(0);
  expect(seqs(store)).not.toContain(17);
});

test('each group shows its own lines', async () => {
  const { store } = await opened();
  const expected: Record<Group, number[]> = {
    all: [14, 13, 12, 11, 10, 9, 8, 7, 6, 5],
    allowed: [14, 13, 9],
    denied: [12, 7, 6],
    unanswered: [10, 8, 5],
    tools: [],
    crossings: [],
    changes: [11],
  };
  for (const [group, lines] of Object.entries(expected)) {
    store.group = group as Group;
    expect(seqs(store), group).toEqual(lines);
  }
});

test('the filter looks at command, agent and folder', async () => {
  const { store } = await opened();
  for (const [search, lines] of [
    ['FORCE', [12]],
    ['ops', [10, 8]],
    ['nothing like it', []],
  ] as const) {
    store.search = search;
    expect(seqs(store)).toEqual(lines);
  }
});

test('what tools would have done is a group of its own', async () => {
  const { mock, store } = await opened();
  const request = mock.lines.find(({ event }) => event.kind === 'request');
  if (request?.event.kind !== 'request') throw new Error('the sample has requests');
  const event = { ...request.event, card: 'tool' as const, via: 'hook' as const };
  mock.emit({ kind: 'history-appended', entry: { ...request, seq: 18, requestId: 'tool', event } });
  store.group = 'tools';
  expect(seqs(store)).toEqual([18]);
  store.group = 'allowed';
  expect(seqs(store)).toContain(18);
});

test('connections are a group of their own, with the runs that reached something', async () => {
  const { mock, store } = await opened();
  for (const entry of crossed(0).reverse()) mock.emit({ kind: 'history-appended', entry });
  store.group = 'crossings';
  expect(seqs(store)).toEqual([21, 20, 19]);
  store.search = 'STATIC.crates';
  expect(seqs(store), 'also by what a run reached').toEqual([20, 19]);
  store.group = 'denied';
  store.search = '';
  expect(seqs(store)).toContain(21);
});

test('a new line appears on top, and only once', async () => {
  const { mock, store } = await opened();
  const [newest] = mock.lines;
  if (!newest) throw new Error('the sample has lines');
  const entry = { ...newest, seq: 18, requestId: 'other' };
  mock.emit({ kind: 'history-appended', entry });
  mock.emit({ kind: 'history-appended', entry });
  expect(seqs(store).filter((seq) => seq === 18)).toHaveLength(1);
  expect(seqs(store)[0]).toBe(18);
});

test('that all lines fit together is said until there is another line', async () => {
  const { mock, store } = await opened();
  await eventually(() => expect(store.busy).toBe(false));
  await store.verify();
  expect(store.report?.broken).toBeUndefined();
  expect(store.report).not.toBeNull();
  const [first] = mock.lines;
  if (!first) throw new Error('the sample has lines');
  mock.emit({ kind: 'history-appended', entry: { ...first, seq: 18, requestId: 'later' } });
  expect(store.report).toBeNull();
  store.report = { lines: 18, broken: { file: 'history.jsonl', line: 3, damage: 'changed', problem: 'another hash' } };
  mock.emit({ kind: 'history-appended', entry: { ...first, seq: 19, requestId: 'more' } });
  expect(store.report?.broken?.line).toBe(3);
});

test('however far back one goes, a bounded number of lines is held', async () => {
  const { mock, store } = await opened();
  await eventually(() => expect(store.busy).toBe(false));
  const [sample] = mock.lines;
  if (!sample) throw new Error('the sample has lines');
  const line = (seq: number) => ({ ...sample, seq, requestId: `r${seq}` });
  mock.lines = Array.from({ length: 2_000 }, (_, at) => line(2_000 - at));
  await store.load();
  while (store.nextBefore !== null) {
    await store.older();
    expect(store.entries.length).toBeLessThanOrEqual(500);
  }
  expect([store.entries[0]?.seq, store.entries.at(-1)?.seq, store.atNewest]).toEqual([500, 1, false]);
  mock.emit({ kind: 'history-appended', entry: line(2_001) });
  expect(store.entries[0]?.seq, 'a new line is not among old ones').toBe(500);
  await store.load();
  expect([store.entries[0]?.seq, store.atNewest]).toEqual([2_000, true]);
  for (let seq = 2_002; seq < 3_000; seq += 1) mock.emit({ kind: 'history-appended', entry: line(seq) });
  expect([store.entries.length, store.entries[0]?.seq, store.nextBefore]).toEqual([500, 2_999, 2_500]);
});
