import { expect, test } from 'vitest';
import type { Loosening } from '../../src/lib/protocol';
import { nodeChoices, routeDenies, routePlace, settingText } from '../../src/lib/routing';
import { looseningDetail, looseningSentence } from '../../src/lib/words';
import { Feed } from '../../src/stores/feed.svelte';
import { RoutingStore } from '../../src/stores/routing.svelte';
import { MockBackend } from '../mock/backend';
import { routing, scope, session } from '../mock/routing';

test('where commands go is said in words', () => {
  const place = (own: Parameters<typeof scope>[1]) => routePlace(scope('a', own).effective);
  expect(place({})).toBe('a sandbox');
  expect(place({ host: 'auto' })).toBe('a sandbox if there is one, else here');
  expect(place({ host: 'node' })).toBe('a node (any that can run commands)');
  expect(place({ host: 'node', node: 'n1' })).toBe('the node n1');
  expect(routePlace(scope('a', { host: 'node', node: 'b7e4' }).effective, routing(0).nodes)).toBe('the node Studio');
});

test('a place that nothing is set for denies', () => {
  const denies = (own: Parameters<typeof scope>[1]) => routeDenies(scope('a', own).effective);
  expect(denies({})).toBe(false);
  expect(denies({ host: 'gateway' })).toBe(true);
  expect(denies({ host: 'gateway', security: 'deny' })).toBe(false);
});

test('the node that is set can be chosen whether or not it is known', () => {
  const { nodes } = routing(0);
  const texts = (set: string) => nodeChoices(nodes, set).map(({ value, text }) => `${value}=${text}`);
  expect(texts('')).toEqual(['b7e4=Studio', '19ac=Attic (away)']);
  expect(texts('b7e4')).toHaveLength(2);
  expect(texts('Studio')[0]).toBe('Studio=Studio');
  expect(texts('elsewhere')[0]).toBe('elsewhere=elsewhere (not known)');
});

test('what a session sets is said in words', () => {
  expect(session('s').settings.map(settingText)).toEqual(['this machine', 'always']);
});

test('each way that a place gets looser is one sentence', () => {
  const sentence = (route: Loosening['route'], from: string, to: string) =>
    looseningSentence({ scope: 'main', route, from, to });
  expect(sentence('host', 'sandbox', 'gateway')).toMatch(/Agent main: .*a sandbox.*this machine/);
  expect(sentence('node', 'n1', '')).toMatch(/n1.*not set/);
  expect(sentence('elevated', 'off', 'full')).toMatch(/off.*full/);
  expect(looseningDetail({ scope: 'main', route: 'host', from: 'a', to: 'b' })).toEqual([]);
});

async function started(): Promise<{ store: RoutingStore; backend: MockBackend }> {
  const backend = new MockBackend();
  const feed = new Feed(backend);
  const store = new RoutingStore(feed);
  await store.load();
  return { store, backend };
}

test('what loosens waits until it is confirmed', async () => {
  const { store, backend } = await started();
  expect(await store.save('new', { host: 'gateway' })).toBe(false);
  expect(store.unconfirmed?.loosenings).toHaveLength(1);
  expect(backend.routes.scopes.some(({ agent }) => agent === 'new')).toBe(false);
  expect(await store.unconfirmed?.apply()).toBe(true);
  expect(store.unconfirmed).toBeNull();
  expect(store.view?.scopes.find(({ agent }) => agent === 'new')?.own).toEqual({ host: 'gateway' });
});

test('what only hardens is saved at once, and an older view is refused', async () => {
  const { store, backend } = await started();
  expect(await store.save('main', { host: 'sandbox' })).toBe(true);
  backend.routes = { ...backend.routes, hash: 'another' };
  expect(await store.save('main', {})).toBe(false);
  expect(store.error?.code).toBe('stale');
});

test('a session is revoked, and one that hardened only after a word', async () => {
  const { store } = await started();
  const [release, night] = store.view?.sessions ?? [];
  expect(await store.revoke(night!)).toBe(true);
  expect(await store.revoke(release!)).toBe(false);
  store.keep();
  expect(store.view?.sessions.map(({ session }) => session)).toEqual(['release']);
  await store.revoke(release!);
  expect(await store.unconfirmed?.apply()).toBe(true);
  expect(store.view?.sessions).toEqual([]);
});
