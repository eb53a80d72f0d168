import { flushSync } from 'svelte';
import { expect, test, vi } from 'vitest';
import { Feed } from '../../src/stores/feed.svelte';
import { MockBackend } from '../mock/backend';
import { card, many } from '../mock/cards';
import { eventually } from './eventually';

const NOW = Date.now();

async function started(mock = new MockBackend()): Promise<{ mock: MockBackend; feed: Feed }> {
  const feed = new Feed(mock);
  await feed.start();
  return { mock, feed };
}

const ids = (feed: Feed) => feed.cards.map(({ id }) => id);

test('it has what the snapshot had and follows what comes after', async () => {
  const mock = new MockBackend();
  mock.cards = [card('a', NOW)];
  const { feed } = await started(mock);
  mock.emit({ kind: 'card-added', card: card('b', NOW) });
  expect(ids(feed)).toEqual(['a', 'b']);
  mock.emit({ kind: 'card-closed', id: 'a', outcome: { kind: 'expired' }, by: 'clock' });
  expect(ids(feed)).toEqual(['b']);
  expect(feed.closed('a')).toEqual({ outcome: { kind: 'expired' }, by: 'clock' });
});

test('messages that arrive during the snapshot are applied once', async () => {
  const mock = new MockBackend();
  const snapshot = mock.snapshot;
  mock.snapshot = async () => {
    mock.emit({ kind: 'card-added', card: card('before', NOW) });
    const taken = await snapshot();
    mock.emit({ kind: 'card-added', card: card('after', NOW) });
    return taken;
  };
  const { feed } = await started(mock);
  expect(ids(feed)).toEqual(['before', 'after']);
});

test('a gap in the numbers brings a new snapshot', async () => {
  const { mock, feed } = await started();
  mock.cards = [card('lost', NOW)];
  mock.skip();
  const synced = vi.fn();
  feed.onSync(synced);
  mock.emit({ kind: 'card-added', card: card('seen', NOW) });
  await eventually(() => expect(synced).toHaveBeenCalledOnce());
  expect(ids(feed)).toEqual(['lost', 'seen']);
});

test('what other windows are told is no gap', async () => {
  const { mock, feed } = await started();
  const synced = vi.fn();
  feed.onSync(synced);
  mock.emit({ kind: 'card-added', card: card('a', NOW) });
  mock.elsewhere();
  mock.elsewhere();
  mock.emit({ kind: 'card-added', card: card('b', NOW) });
  expect(ids(feed)).toEqual(['a', 'b']);
  expect(synced).not.toHaveBeenCalled();
});

test('a request that closed before it was added stays closed, also through a snapshot', async () => {
  const { mock, feed } = await started();
  mock.emit({ kind: 'card-closed', id: 'a', outcome: { kind: 'denied' } });
  mock.emit({ kind: 'card-added', card: card('a', NOW) });
  expect(ids(feed)).toEqual([]);
  mock.skip();
  mock.emit({ kind: 'document-changed', hash: 'x', by: 'window' });
  await eventually(() => expect(mock.calls.filter(({ name }) => name === 'snapshot')).toHaveLength(2));
  expect(ids(feed)).toEqual([]);
});

test('the memory of closed requests is bounded', async () => {
  const { mock, feed } = await started();
  for (let index = 0; index <= 10_000; index += 1) {
    mock.emit({ kind: 'card-closed', id: `r${index}`, outcome: { kind: 'denied' } });
  }
  expect(feed.closed('r0')).toBeNull();
  expect(feed.closed('r10000')).not.toBeNull();
});

test('a snapshot that fails is asked for again', async () => {
  vi.useFakeTimers();
  const mock = new MockBackend();
  mock.fail('snapshot', 'internal', 'not yet');
  const feed = new Feed(mock);
  const start = feed.start();
  await vi.advanceTimersByTimeAsync(1_000);
  await start;
  vi.useRealTimers();
  expect(feed.ready).toBe(true);
});

test('a request whose connection was lost may be asked again, also by a snapshot', async () => {
  const { mock, feed } = await started();
  const lost = { kind: 'cancelled', cause: 'connection-lost' } as const;
  mock.emit({ kind: 'card-added', card: card('a', NOW) });
  mock.emit({ kind: 'card-closed', id: 'a', outcome: lost });
  expect([ids(feed), feed.closed('a')?.outcome]).toEqual([[], lost]);
  mock.emit({ kind: 'card-added', card: card('a', NOW, { generation: 2 }) });
  expect([feed.card('a')?.generation, feed.closed('a')]).toEqual([2, null]);
  mock.emit({ kind: 'card-closed', id: 'a', outcome: lost });
  mock.cards = [card('a', NOW, { generation: 3 })];
  mock.skip();
  mock.emit({ kind: 'connections-changed' });
  await eventually(() => expect(feed.card('a')?.generation).toBe(3));
});

test('those who look at the list are not told of each of very many requests', async () => {
  vi.useFakeTimers();
  const { mock, feed } = await started();
  let looks = 0;
  const stop = $effect.root(() => {
    $effect(() => {
      void feed.cards.length;
      looks += 1;
    });
  });
  flushSync();
  const before = looks;
  for (const added of many(10_000, 10, NOW)) {
    mock.emit({ kind: 'card-added', card: added });
    flushSync();
  }
  expect([looks - before <= 1, feed.count, feed.cards.length]).toEqual([true, 10_000, 10_000]);
  await vi.advanceTimersByTimeAsync(1_000);
  flushSync();
  expect(looks - before).toBeLessThanOrEqual(2);
  mock.emit({ kind: 'card-closed', id: 'many-9999', outcome: { kind: 'expired' } });
  flushSync();
  expect(looks - before).toBeLessThanOrEqual(3);
  stop();
  vi.useRealTimers();
});

test('a look that came while the list rested sees the last change', async () => {
  vi.useFakeTimers();
  const { mock, feed } = await started();
  let seen: string[] = [];
  const stop = $effect.root(() => {
    $effect(() => {
      seen = ids(feed);
    });
  });
  for (const id of ['a', 'b', 'c']) mock.emit({ kind: 'card-added', card: card(id, NOW) });
  mock.emit({ kind: 'card-closed', id: 'b', outcome: { kind: 'denied' } });
  await vi.advanceTimersByTimeAsync(1_000);
  flushSync();
  expect(seen).toEqual(['a', 'c']);
  stop();
  vi.useRealTimers();
});
