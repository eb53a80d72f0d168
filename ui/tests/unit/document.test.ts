import { expect, test } from 'vitest';
import { DocumentStore } from '../../src/stores/document.svelte';
import { Feed } from '../../src/stores/feed.svelte';
import { PolicyDraft } from '../../src/stores/policy.svelte';
import { MockBackend } from '../mock/backend';
import { eventually } from './eventually';

async function opened() {
  const mock = new MockBackend();
  const feed = new Feed(mock);
  const store = new DocumentStore(feed);
  store.start();
  await feed.start();
  await eventually(() => expect(store.view).not.toBeNull());
  const patterns = () => store.view?.scopes.find(({ scope }) => scope === '*')?.entries.map(({ pattern }) => pattern);
  return { mock, store, patterns };
}

const ADD = { kind: 'add-entry', agent: '*', pattern: '/usr/bin/rg' } as const;

test('an edit can be taken back and done again', async () => {
  const { store, patterns } = await opened();
  await store.edit([ADD], 'allowlist');
  expect(patterns()).toEqual(['ls', 'cat', '/usr/bin/rg']);
  await store.undo('allowlist');
  expect(patterns()).toEqual(['ls', 'cat']);
  await store.redo('allowlist');
  expect(patterns()).toEqual(['ls', 'cat', '/usr/bin/rg']);
  expect(store.next('undo', 'allowlist')?.name()).toEqual({ short: 'allow rg', whole: 'allow /usr/bin/rg' });
  expect(store.next('redo', 'allowlist')).toBe(null);
});

test('what loosens is not written before it is confirmed', async () => {
  const { mock, store, patterns } = await opened();
  mock.loosens = [{ scope: '*', from: '', to: '/usr/bin/rg' }];
  expect(await store.edit([ADD], 'allowlist')).toBe(false);
  expect(patterns()).toEqual(['ls', 'cat']);
  expect(store.pending?.loosenings).toHaveLength(1);
  expect(await store.confirm()).toBe(true);
  expect(patterns()).toEqual(['ls', 'cat', '/usr/bin/rg']);
  expect(store.pending).toBeNull();
});

test('keeping it as it is forgets what was pending', async () => {
  const { mock, store } = await opened();
  mock.loosens = [{ scope: '*', from: '', to: '/usr/bin/rg' }];
  await store.edit([ADD], 'allowlist');
  store.keep();
  expect(await store.confirm()).toBe(false);
});

test('a change by another program is read and said, one’s own is not', async () => {
  const { mock, store } = await opened();
  await store.edit([ADD], 'allowlist');
  expect(store.changedBy).toBe(null);
  mock.changeElsewhere();
  await eventually(() => expect(store.changedBy).toBe('another-program'));
  expect(store.view?.hash).toBe(mock.view.hash);
});

test('an own answer is no change by others, and who else wrote is named as far as it is known', async () => {
  const { mock, store } = await opened();
  for (const by of ['answer', 'window', 'upkeep', 'first-run'] as const) {
    mock.changeElsewhere(by);
    await eventually(() => expect(store.view?.hash).toBe(mock.view.hash));
    expect(store.changedBy, by).toBe(null);
  }
  for (const by of ['command-line', 'gateway', 'another-program'] as const) {
    mock.changeElsewhere(by);
    await eventually(() => expect(store.changedBy).toBe(by));
  }
});

test('a stale edit is refused, and the document is read again', async () => {
  const { mock, store } = await opened();
  mock.view = { ...mock.view, hash: 'newer' };
  expect(await store.edit([ADD], 'allowlist')).toBe(false);
  expect(store.error?.code).toBe('stale');
  expect(store.view?.hash).toBe('newer');
});

test('a draft survives changes by others and becomes edits of what differs only', async () => {
  const { mock, store } = await opened();
  const draft = new PolicyDraft(store);
  draft.scope = 'coder';
  draft.apply('cautious');
  mock.changeElsewhere();
  await eventually(() => expect(store.changedBy).toBe('another-program'));
  expect(draft.preset('coder')).toBe('cautious');
  expect(draft.edits()).toEqual([
    { kind: 'set-policy', scope: 'coder', field: 'ask', value: 'on-miss' },
    { kind: 'set-policy', scope: 'coder', field: 'ask-fallback', value: 'deny' },
  ]);
  draft.set('coder', 'security', null);
  expect(draft.edits()[0]).toEqual({ kind: 'set-policy', scope: 'coder', field: 'security' });
  draft.clear();
  expect(draft.changes).toEqual([]);
});
