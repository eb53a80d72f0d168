import { expect, test } from 'vitest';
import type { PolicyPlace } from '../../src/lib/protocol';
import { ConnectionsStore } from '../../src/stores/connections.svelte';
import { Feed } from '../../src/stores/feed.svelte';
import { keyOf, LOCAL, PoliciesStore } from '../../src/stores/policies.svelte';
import { MockBackend } from '../mock/backend';
import { unavailable } from '../mock/policies';
import { eventually } from './eventually';

const STUDIO: PolicyPlace = { gateway: 'studio' };
const STRICTER = { kind: 'set-policy', scope: '*', field: 'security', value: 'deny' } as const;

async function opened(place: PolicyPlace | null = STUDIO) {
  const mock = new MockBackend();
  const feed = new Feed(mock);
  const policies = new PoliciesStore(feed, new ConnectionsStore(feed));
  policies.local.store.start();
  await feed.start();
  await policies.load();
  if (place) {
    policies.select(keyOf(place));
    await eventually(() => expect(policies.subject.store.far).not.toBeNull());
  }
  return { mock, policies, store: policies.subject.store, draft: policies.subject.draft };
}

test('this machine’s document comes first and the others are found', async () => {
  const { policies } = await opened(null);
  expect([policies.subject.key, policies.subject.about, policies.stores.length]).toEqual([LOCAL, null, 7]);
  expect(policies.about).toBeNull();
});

test('an edit goes to the document that is shown, with the hash of what was shown', async () => {
  const { mock, store } = await opened();
  expect(await store.edit([STRICTER], 'policy')).toBe(true);
  expect(mock.calls.filter(({ name }) => name.startsWith('edit'))).toEqual([
    {
      name: 'editPolicy',
      args: [{ place: STUDIO, baseHash: 'hash-studio', edits: [STRICTER], confirmed: false }],
    },
  ]);
  await store.undo('policy');
  expect(store.view?.scopes.find(({ scope }) => scope === '*')?.security).toBeUndefined();
});

test('a draft is kept while another document is shown', async () => {
  const { policies, draft } = await opened();
  draft.set('main', 'ask', 'always');
  policies.select(LOCAL);
  expect(policies.subject.draft.changes).toEqual([]);
  policies.select(keyOf(STUDIO));
  expect(policies.subject.draft.changes).toEqual([{ scope: 'main', field: 'ask', from: null, to: 'always' }]);
});

test('a stale edit is refused, what is there now is read, and the draft stays beside it', async () => {
  const { mock, store, draft } = await opened();
  draft.set('*', 'security', 'deny');
  const there = mock.farReads[keyOf(STUDIO)]?.document;
  if (!there) throw new Error('no sample');
  there.hash = 'newer';
  there.scopes[1] = { ...there.scopes[1]!, security: 'full' };
  expect(await store.edit(draft.edits(), 'policy')).toBe(false);
  expect([store.error?.code, store.view?.hash]).toEqual(['stale', 'newer']);
  expect(draft.changes).toEqual([{ scope: '*', field: 'security', from: 'full', to: 'deny' }]);
});

test('a gateway that is lost in the middle of an edit leaves what it said and the draft, and nothing can be written', async () => {
  const { mock, store, draft } = await opened();
  draft.set('*', 'security', 'deny');
  mock.farReads[keyOf(STUDIO)] = unavailable({ kind: 'not-connected' });
  expect(await store.edit(draft.edits(), 'policy')).toBe(false);
  expect(store.error?.code).toBe('store');
  expect([store.far?.access.kind, store.view?.hash, store.writable]).toEqual(['not-connected', 'hash-studio', false]);
  expect(draft.changes).toHaveLength(1);
});

test('a change by somebody else is said, a use of an entry is not', async () => {
  const { mock, policies, store } = await opened();
  const there = mock.farReads[keyOf(STUDIO)]?.document;
  const entry = there?.scopes[2]?.entries[0];
  if (!there || !entry) throw new Error('no sample');
  entry.lastUsedAtMs = 5;
  there.hash = 'used';
  await policies.load();
  expect([store.view?.hash, store.changedBy]).toEqual(['used', null]);
  there.scopes[1] = { ...there.scopes[1]!, security: 'full' };
  await policies.load();
  expect(store.changedBy).toBe('somebody');
});

test('rules of a node’s own kind are there to be looked at', async () => {
  const { store } = await opened({ gateway: 'studio', node: 'mac-mini' });
  expect([store.view, store.writable, store.far?.native?.rules.length]).toEqual([null, false, 3]);
});

test('a document that is shown stays on the list when its gateway is removed', async () => {
  const { mock, policies, store } = await opened();
  mock.farStores = { stores: [], leftOut: 0 };
  mock.farReads = {};
  await policies.load();
  expect(policies.stores.map(({ place }) => place)).toEqual([STUDIO]);
  expect([store.far?.access.kind, store.view?.hash]).toEqual(['gone', 'hash-studio']);
  policies.select(LOCAL);
  expect(policies.stores).toEqual([]);
});

test('what a policy comes to follows the rules while a page shows it, a draft’s too', async () => {
  const { mock, store, draft, policies } = await opened(null);
  const refusals = (some: 'some' | 'none') => {
    mock.refusals = some;
    mock.emit({ kind: 'rules-changed', hash: `rules-${some}` });
  };
  const leave = policies.subject.store.look();
  refusals('some');
  await eventually(() => expect(draft.wouldHold('*')?.meaning.refusals).toBe('some'));
  draft.set('*', 'ask', 'always');
  await draft.preview();
  expect(draft.wouldHold('*')?.meaning).toMatchObject({ refusals: 'some', usually: 'everything-asks' });
  const before = store.view;
  refusals('none');
  await eventually(() => expect(store.view).not.toBe(before));
  await draft.preview();
  expect(draft.wouldHold('*')?.meaning).toMatchObject({ refusals: 'none', usually: 'everything-asks' });
  leave();
  refusals('some');
  expect(store.view?.effective[0]?.meaning.refusals, 'nobody looks').toBe('none');
  policies.subject.store.look();
  await eventually(() => expect(store.view?.effective[0]?.meaning.refusals).toBe('some'));
});
