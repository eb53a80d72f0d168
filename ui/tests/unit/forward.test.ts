import { expect, test } from 'vitest';
import { argumentsOf, fieldOf, filterWords, linesOf, targetState } from '../../src/lib/forward';
import { setLocale } from '../../src/lib/i18n/index.svelte';
import { BackendError } from '../../src/lib/ipc';
import type { Expected } from '../../src/lib/protocol';
import { errorSentence } from '../../src/lib/words';
import { ConnectionsStore } from '../../src/stores/connections.svelte';
import { Feed } from '../../src/stores/feed.svelte';
import { MockBackend } from '../mock/backend';
import { forward, target } from '../mock/forward';

test('arguments are passed exactly as their lines, filters without blanks', () => {
  expect(argumentsOf('')).toEqual([]);
  expect(argumentsOf('--a\n b \n\n')).toEqual(['--a', ' b ', '', '']);
  expect(linesOf(' main \n\ncoder\n')).toEqual(['main', 'coder']);
});

test('an error is shown at the field that it is about, in the language of the windows', () => {
  const expected: [Expected, string][] = [
    [{ kind: 'length', least: 1, most: 80 }, 'Write 1 to 80 characters.'],
    [{ kind: 'length', least: 0, most: 200 }, 'At most 200 characters fit here.'],
    [{ kind: 'range', least: 1, most: 9 }, 'Choose a number from 1 to 9.'],
    [{ kind: 'filters', count: 2, length: 9 }, 'At most 2 filters fit here, each of at most 9 characters.'],
    [{ kind: 'executable', why: 'a folder' }, 'This is no program that can be started (a folder).'],
    [{ kind: 'arguments' }, 'These are too many or too long arguments.'],
  ];
  for (const [kind, text] of expected) {
    const error = new BackendError('invalid', 'in English', { field: 'name', expected: kind });
    expect(fieldOf(error)).toEqual({ field: 'name', text });
    expect(errorSentence(error)).toBe(`That is not possible. ${text}`);
  }
  const inKorean = new BackendError('invalid', 'in English', { field: 'name', expected: { kind: 'gateway' } });
  setLocale('ko');
  expect(fieldOf(inKorean)?.text).toBe('연결된 게이트웨이 중 하나를 고르세요.');
  setLocale('en');
  expect(fieldOf(new BackendError('store', 'name: disk full'))).toBeNull();
  expect(fieldOf(null)).toBeNull();
});

test('how it goes at a target is one of five words', () => {
  const now = target('t').now;
  const state = (more: Parameters<typeof target>[1]) => targetState(target('t', more)).kind;
  const failure = { atMs: 1, text: 'x', retries: true };
  expect(state({ enabled: false, now: { ...now, failure } })).toBe('off');
  expect(state({})).toBe('idle');
  expect(state({ now: { ...now, delivered: 1 } })).toBe('fine');
  expect(state({ now: { ...now, delivered: 1, failure } })).toBe('retries');
  expect(state({ now: { ...now, delivered: 1, failure: { ...failure, retries: false } } })).toBe('failed');
});

test('filters are a sentence', () => {
  const view = forward(0);
  expect(filterWords({ ...view, agentFilter: [] })).toBe('everything that is asked');
  expect(filterWords(view)).toBe('Only agents main, coder');
  expect(filterWords({ ...view, sessionFilter: ['^agent'] })).toBe('Only agents main, coder · sessions with ^agent');
});

test('what came of a sample stays with its target until that is changed', async () => {
  const backend = new MockBackend();
  const store = new ConnectionsStore(new Feed(backend));
  await store.load();
  const sending = store.sendSample('Team channel');
  expect(store.samples['Team channel']).toBe('sending');
  await Promise.all([sending, store.sendSample('Desk light')]);
  expect(store.samples).toMatchObject({ 'Team channel': { kind: 'delivered' }, 'Desk light': { kind: 'failed' } });
  const place = { kind: 'command' as const, argv: ['/bin/true'] };
  const edit = { id: 'Desk light', name: 'n', enabled: true, place, secret: { kind: 'clear' as const } };
  expect(await store.saveTarget(edit)).toBe(true);
  expect(Object.keys(store.samples)).toEqual(['Team channel']);
  await store.sendSample('gone');
  expect(store.error?.code).toBe('gone');
});
