import { afterEach, expect, test, vi } from 'vitest';
import { setLocale } from '../../src/lib/i18n/index.svelte';
import { lastingWords, limitsOf } from '../../src/lib/lasting';
import type { ReachedArguments, RuleReach } from '../../src/lib/protocol';
import { reached } from '../../src/lib/reach';
import { beginningWith } from '../../src/lib/rules';
import { plain } from '../../src/lib/shown';
import { Feed } from '../../src/stores/feed.svelte';
import { RulesStore } from '../../src/stores/rules.svelte';
import { MockBackend } from '../mock/backend';
import { shown } from '../mock/text';

afterEach(() => setLocale('en'));

function said(args: ReachedArguments, more: Partial<RuleReach> = {}): string[] {
  const reach: RuleReach = { program: shown('git'), words: [], arguments: args, ...more };
  return reached(reach).map(({ text, codes, after }) => [text, ...codes.map(plain), after].filter(Boolean).join(' '));
}

test('what a rule reaches is said in words', () => {
  const folder = shown('/src');
  expect(said({ kind: 'any' }, { folder })).toEqual(['with any arguments', 'only below /src']);
  expect(said({ kind: 'exact', args: [], folder })).toEqual(['without arguments', 'in the folder /src']);
  expect(said({ kind: 'exact', args: [shown('a.py')], folder }, { unchanged: ['script'] })).toEqual([
    'with exactly these arguments a.py',
    'in the folder /src',
    'while the script itself stays as it is; files that it loads may change',
  ]);
  expect(said({ kind: 'shape', flags: { kind: 'any' }, operands: [{ kind: 'any' }] })).toEqual(['whatever follows']);
  const listed = { kind: 'listed', names: [shown('-n')], more: 3, required: [shown('--dry-run')] } as const;
  expect(
    said({
      kind: 'shape',
      flags: { ...listed, names: [...listed.names], required: [...listed.required] },
      operands: [
        { kind: 'path', below: [] },
        { kind: 'one-of', words: [shown('main')] },
      ],
    }),
  ).toEqual([
    'flags -n and 3 more',
    'never without --dry-run',
    'files in the working folder and below',
    'the words main',
  ]);
  const none = { kind: 'listed', names: [], more: 0, required: [] } as const;
  expect(said({ kind: 'shape', flags: { ...none, names: [], required: [] }, operands: [] })).toEqual([
    'no flags',
    'no other words',
  ]);
});

test('a time becomes limits, and a session that is not there never becomes a rule without an end', () => {
  expect(limitsOf({ kind: 'uses', uses: 3 }, 1_000, 2, undefined)).toEqual({ uses: 5 });
  expect(limitsOf({ kind: 'for', ms: 500 }, 1_000, 0, undefined)).toEqual({ untilMs: 1_500 });
  expect(limitsOf({ kind: 'session' }, 1_000, 0, 's')).toEqual({ session: 's' });
  expect(limitsOf({ kind: 'session' }, 1_000, 0, undefined)).toEqual({ untilMs: 1_000 });
  expect(limitsOf({ kind: 'always' }, 1_000, 9, 's')).toEqual({});
});

test('how long is said in each language', () => {
  expect(lastingWords({ kind: 'for', ms: 7 * 86_400_000 })).toBe('for 7 days');
  expect(lastingWords({ kind: 'uses', uses: 1 })).toBe('once more');
  setLocale('ko');
  expect(lastingWords({ kind: 'for', ms: 3_600_000 })).toBe('1시간 동안');
});

test('first words become a shape, no words any arguments', () => {
  expect(beginningWith('  ')).toBe('any');
  expect(beginningWith(' remote  show ')).toMatchObject({ shape: { subcommand: ['remote', 'show'] } });
});

test('rules are read when somebody looks, and followed from then on', async () => {
  const mock = new MockBackend();
  const feed = new Feed(mock);
  const store = new RulesStore(feed);
  store.start();
  await feed.start();
  const read = () => mock.calls.filter(({ name }) => name === 'rules').length;
  expect(read()).toBe(0);
  await store.look();
  expect(store.view?.rules.length).toBe(8);
  await vi.waitFor(() => expect(store.breadths.size).toBe(8));
  mock.emit({ kind: 'rules-changed', hash: store.view?.hash ?? '' });
  await vi.waitFor(() => expect(read()).toBe(2));
  mock.emit({ kind: 'rules-changed', hash: 'answered', by: 'answer' });
  await vi.waitFor(() => expect(read()).toBe(3));
  expect(store.changedBy).toBe(null);
  // Told of twice, in either order: without who did it, so that it is read, and with.
  mock.emit({ kind: 'rules-changed', hash: 'another' });
  mock.emit({ kind: 'rules-changed', hash: 'another', by: 'another-program' });
  await vi.waitFor(() => expect(store.changedBy).toBe('another-program'));
  store.stop();
});
