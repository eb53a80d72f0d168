import { expect, test } from 'vitest';
import {
  agentOf,
  connectionsOf,
  destinationRule,
  openFolders,
  registryRule,
  registrySwitch,
  wishOf,
} from '../../src/lib/folders';
import type { CallRule, HistoryEntry, HistoryEvent, WorkspacePlace } from '../../src/lib/protocol';
import { Feed } from '../../src/stores/feed.svelte';
import { FoldersStore } from '../../src/stores/folders.svelte';
import { MockBackend } from '../mock/backend';
import { atHand } from '../mock/folders';
import { callViewOf, rules } from '../mock/rules';
import { eventually } from './eventually';

const HERE = '/src/engine';
const NOW = 1_000_000;

function rule(about: CallRule['about'], differs: Partial<CallRule> = {}) {
  return callViewOf({ id: 'c', agent: '*', effect: 'allow', about, createdAtMs: 1, from: 'typed', ...differs });
}

const registries = (group: string, within?: string, differs: Partial<CallRule> = {}) =>
  rule({ registries: within === undefined ? { group } : { group, within } }, differs);

test('a folder is listed once, and what is added to it is for whom it is open', () => {
  const [first, ...others] = rules(NOW).workspaces;
  if (!first) throw new Error('the sample has folders');
  const again = { ...first, rule: { ...first.rule, id: 'again' } };
  const other = { ...first, rule: { ...first.rule, id: 'other', agent: 'home' } };
  const folders = openFolders([first, ...others, again]);
  expect(folders.map(({ folder }) => folder)).toEqual([first, ...others].map((view) => view.rule.folder));
  expect(folders[0]?.openings.map((view) => view.rule.id)).toEqual([first.rule.id, 'again']);
  expect(openFolders([first, again]).map(agentOf)).toEqual(['coder']);
  expect(openFolders([first, other]).map(agentOf)).toEqual(['*']);
});

test('a run asks for a place where a rule could give it and none does', () => {
  const [opening] = rules(NOW).workspaces;
  if (!opening) throw new Error('the sample has folders');
  const check = (within: string | undefined, place: string | undefined, places: WorkspacePlace[], asks: boolean) => {
    const run = { timedOut: false, durationMs: 1, outputTail: '' };
    const ended = { ...run, ...(within && { within }), unwritten: { path: '/etc/x', ...(place && { place }) } };
    const wish = wishOf(ended, [{ ...opening, rule: { ...opening.rule, folder: HERE, places } }]);
    expect(wish).toEqual(asks ? { folder: HERE, path: place } : null);
  };
  check(HERE, '/opt/tool', [], true);
  check(HERE, '/opt/tool', [{ path: '/opt/tool', access: 'hidden' }], true);
  check(HERE, '/opt/tool', [{ path: '/opt/tool', access: 'write' }], false);
  check(HERE, undefined, [], false);
  check(undefined, '/opt/tool', [], false);
  check('/src/closed', '/opt/tool', [], false);
  check(`${HERE}\\u{202E}`, '/opt/tool', [], false);
});

test('rules count for a folder that are for its boxes or for any', () => {
  const own = registries('npm', HERE);
  const any = registries('npm');
  const calls = [
    any,
    registries('npm', `${HERE}/lib`),
    rule({ crossing: { host: 'docs.rs', port: 443, place: 'internet', within: '/src' } }),
    rule({ host: { host: 'docs.rs' } }),
    own,
  ];
  expect(connectionsOf(calls, HERE)).toEqual([own, any]);
});

test('a switch is on by rules of this folder alone, and says what decides beside it', () => {
  const own = registries('npm', HERE);
  const check = (calls: Parameters<typeof registrySwitch>[0], on: number, beside: string | null) => {
    const found = registrySwitch(calls, HERE, 'npm', NOW);
    expect([found.on.length, found.beside]).toEqual([on, beside]);
  };
  check([], 0, null);
  check([own], 1, null);
  check([own, own], 2, null);
  check([registries('pypi', HERE), registries('npm', '/other')], 0, null);
  check([registries('npm')], 0, 'anywhere');
  check([own, registries('npm')], 1, 'anywhere');
  check([own, registries('npm', undefined, { effect: 'deny' })], 1, 'refused');
  check([registries('npm', HERE, { limits: { untilMs: NOW } })], 0, null);
});

test('new rules are for boxes around the folder and nothing else', () => {
  expect(registryRule('coder', HERE, 'npm')).toEqual({
    agent: 'coder',
    effect: 'allow',
    about: { registries: { group: 'npm', within: HERE } },
  });
  const named = { host: 'localhost', port: 5432, place: 'this-machine' } as const;
  expect(destinationRule('*', HERE, named, { untilMs: 5 })).toEqual({
    agent: '*',
    effect: 'allow',
    about: { crossing: { ...named, within: HERE } },
    limits: { untilMs: 5 },
  });
});

/** A store that looks, with the backend behind it. */
async function looking() {
  const mock = new MockBackend();
  mock.atHand = atHand();
  const feed = new Feed(mock);
  const store = new FoldersStore(feed);
  await feed.start();
  await store.look();
  return { mock, store, read: () => mock.calls.filter(({ name }) => name === 'folders').length };
}

function entry(event: HistoryEvent): HistoryEntry {
  return { seq: 900, atMs: NOW, requestId: 'r', event };
}

const run = { exitCode: 0, timedOut: false, durationMs: 1, outputTail: '' };

test('the store follows what happens while somebody looks, each time with all of it', async () => {
  const { mock, store, read } = await looking();
  expect(store.view?.folders).toHaveLength(5);
  expect(store.atHand?.agent).toBe('claude-code');
  expect(read()).toBe(1);
  mock.emit({ kind: 'history-appended', entry: entry({ kind: 'run', run }) });
  await eventually(() => expect(read()).toBe(2));
  mock.emit({ kind: 'history-appended', entry: entry({ kind: 'page', window: 'main', end: 'crashed', again: true }) });
  mock.emit({ kind: 'running-changed' });
  store.leave();
  mock.emit({ kind: 'history-appended', entry: entry({ kind: 'run', run }) });
  mock.emit({ kind: 'rules-changed', hash: 'other' });
  await Promise.resolve();
  expect(read()).toBe(2);
});

test('what happens while it reads is read once afterwards, and an error leaves what was there', async () => {
  const { mock, store, read } = await looking();
  let release = () => {};
  mock.held['folders'] = new Promise((resolve) => (release = resolve));
  for (let times = 0; times < 5; times += 1)
    mock.emit({ kind: 'history-appended', entry: entry({ kind: 'run', run }) });
  expect(read()).toBe(2);
  release();
  await eventually(() => expect(read()).toBe(3));
  mock.fail('folders', 'internal', 'damaged');
  await store.load();
  expect(store.error?.message).toBe('damaged');
  expect(store.view?.folders).toHaveLength(5);
  await store.load();
  expect(store.error).toBeNull();
});
