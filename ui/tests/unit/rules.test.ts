import { afterEach, expect, test } from 'vitest';
import { CATALOGUES, dateTime, setLocale } from '../../src/lib/i18n/index.svelte';
import { comesSentence, uncountedSentence } from '../../src/lib/counting';
import { lastingWords, limitsOf } from '../../src/lib/lasting';
import { opening } from '../../src/lib/kinds';
import type {
  HeldCause,
  Loosening,
  ReachedArguments,
  RuleReach,
  TraceStep,
  Usually,
  WorkspaceView,
} from '../../src/lib/protocol';
import { reached } from '../../src/lib/reach';
import {
  attending,
  beginningWith,
  effectOf,
  ending,
  endWords,
  isOver,
  leftWords,
  reachOf,
  ruleMatches,
} from '../../src/lib/rules';
import { plain } from '../../src/lib/shown';
import { explained } from '../../src/lib/trace';
import { looseningSentence } from '../../src/lib/words';
import { Feed } from '../../src/stores/feed.svelte';
import { RulesStore } from '../../src/stores/rules.svelte';
import { MockBackend } from '../mock/backend';
import { card, openable, unanalysed } from '../mock/cards';
import { opens } from '../mock/reach';
import { rules } from '../mock/rules';
import { shown } from '../mock/text';
import { eventually } from './eventually';

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

function folder(id: string): WorkspaceView {
  const found = rules(0).workspaces.find(({ rule }) => rule.id === id);
  if (!found) throw new Error(`the sample has no folder ${id}`);
  return found;
}

test('an open folder is a rule like every other', () => {
  const [engine, storefront, nightly] = ['w-1', 'w-2', 'w-3'].map(folder) as [
    WorkspaceView,
    WorkspaceView,
    WorkspaceView,
  ];
  expect(effectOf(engine)).toBe('contain');
  expect(reachOf(engine)).toEqual({ kind: 'workspace', folder: engine.folder });
  expect(leftWords(engine, 0)).toEqual(['7 h left']);
  expect(leftWords(nightly, 0)).toEqual(['always']);
  expect([isOver(engine, 0), isOver(engine, 8 * 3_600_000), isOver(folder('w-5'), 0)]).toEqual([false, true, true]);
  expect(['engine', 'coder', 'nobody is there'].map((wanted) => ruleMatches(engine, wanted))).toEqual([
    true,
    true,
    false,
  ]);
  expect(ruleMatches(nightly, 'nobody is there')).toBe(true);
  const { note, places } = nightly.rule;
  expect(places).toHaveLength(3);
  expect(ending(nightly, { untilMs: 5 })).toEqual({
    kind: 'replace-workspace',
    id: 'w-3',
    rule: { agent: '*', folder: '/srv/nightly', attendance: 'unattended', places, limits: { untilMs: 5 }, note },
  });
  const { limits } = storefront.rule;
  expect(attending(storefront, 'unattended')).toEqual({
    kind: 'replace-workspace',
    id: 'w-2',
    rule: { agent: 'coder', folder: '/home/mina/src/storefront', attendance: 'unattended', limits },
  });
});

test('a folder can be opened only where the answer is taken and the card can be allowed at all', () => {
  expect(opening(openable('a', 0))).toEqual(opens());
  expect(opening(card('a', 0))).toBe(null);
  expect(opening(openable('a', 0, { allowBlocked: 'too-long' }))).toBe(null);
  expect(opening(unanalysed('a', 0))).toBe(null);
  expect(opening(openable('a', 0, { decisions: ['allow-once', 'deny'] }))).toBe(null);
});

test('why a command is contained, or is not although its folder is open, is said in each language', () => {
  const causes: HeldCause[] = ['ask-always', 'environment', 'no-box', 'unattended'];
  const steps: TraceStep[] = [
    { kind: 'open', folder: '/src', agent: 'coder' },
    { kind: 'open', folder: '/src', agent: '*' },
    { kind: 'verdict', verdict: 'contain', cause: 'contained' },
    ...causes.map((cause): TraceStep => ({ kind: 'held', cause })),
  ];
  for (const locale of ['en', 'zh', 'ko'] as const) {
    setLocale(locale);
    const said = steps.map(explained);
    expect(new Set(said.map(({ text }) => text)).size).toBe(steps.length);
    expect(said.map(({ stance }) => stance)).toEqual(['for', 'for', 'for', ...causes.map(() => 'against')]);
    expect(said[0]).toMatchObject({ code: '/src', text: expect.stringContaining('coder') });
    expect(explained({ kind: 'held', cause: 'no-box', detail: 'no bwrap' }).code).toBe('no bwrap');
  }
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
  expect(
    mock.calls.some(({ name }) => name === 'breadthOfRules'),
    'nobody looks at the figures',
  ).toBe(false);
  await store.weigh();
  await eventually(() => expect(store.breadths.size).toBe(8));
  mock.emit({ kind: 'rules-changed', hash: store.view?.hash ?? '' });
  await eventually(() => expect(read()).toBe(3));
  mock.emit({ kind: 'rules-changed', hash: 'answered', by: 'answer' });
  await eventually(() => expect(read()).toBe(4));
  expect(store.changedBy).toBe(null);
  // Told of twice, in either order: without who did it, so that it is read, and with.
  mock.emit({ kind: 'rules-changed', hash: 'another' });
  mock.emit({ kind: 'rules-changed', hash: 'another', by: 'another-program' });
  await eventually(() => expect(store.changedBy).toBe('another-program'));
  store.stop();
});

test('a permission that lets nothing run says why, in every language', () => {
  const never = { cause: 'words', lasts: 'ever' } as const;
  expect(uncountedSentence(never)).toBe(
    'Never counts. No program is called so: words behind a program are its arguments. Name the program alone.',
  );
  const moved = { cause: 'elsewhere', lasts: 'now', what: shown('/usr/bin/x') } as const;
  expect(uncountedSentence(moved)).toContain('as this machine is now');
  expect(uncountedSentence(moved)).toContain('It really is /usr/bin/x.');
  expect(comesSentence({ kind: 'in-force' })).toBe(null);
  expect(comesSentence({ kind: 'idle', why: never })).toBe(uncountedSentence(never));
  expect(comesSentence({ kind: 'refused' })).toBe('It is stored. A refusal stands before it.');
  const [view] = rules(0).rules;
  if (!view) throw new Error('a rule');
  const idle = { ...view, state: 'never-counts' as const, uncounted: never };
  expect([isOver(idle, 0), leftWords(idle, 0)]).toEqual([true, ['never counts']]);
  setLocale('ko');
  expect(uncountedSentence(never)).toContain('결코');
});

test('what keeps a stored permission from counting is kept until the next edit', async () => {
  const mock = new MockBackend();
  const backend = Object.assign(Object.create(mock) as MockBackend, {
    editRules: async (params: Parameters<MockBackend['editRules']>[0]) => ({
      ...(await mock.editRules(params)),
      comes: [{ kind: 'in-force' as const }, { kind: 'refused' as const }],
    }),
  });
  const store = new RulesStore(new Feed(backend));
  await store.look();
  expect(await store.edit([{ kind: 'remove-rule', id: 'r-1' }], 'rules')).toBe(true);
  expect(store.idle).toEqual([{ kind: 'refused' }]);
});

test('what loosens says what the policy makes of it, in the reader’s language and by the reader’s clock', () => {
  const entry = (usually?: Usually): Loosening => ({
    scope: '*',
    from: '',
    to: '/usr/bin/rg',
    ...(usually === undefined ? {} : { usually }),
  });
  expect(looseningSentence(entry('rest-asks'))).toContain('You are not asked about them');
  for (const usually of ['everything-asks', 'nothing-runs', 'everything-runs'] as const) {
    const said = looseningSentence(entry(usually));
    expect(said).not.toContain('not asked about them');
    expect(said, 'the words of the page Policy').toContain(CATALOGUES.en.meaning.usually[usually]);
  }
  expect(looseningSentence(entry()), 'where it is not known').toBe(
    'All agents: commands matching this pattern are allowed.',
  );
  const untilMs = Date.UTC(2026, 10, 21, 16, 6);
  const end = { untilMs, uses: 3, session: shown('s') };
  for (const locale of ['en', 'zh', 'ko'] as const) {
    setLocale(locale);
    const words = endWords(end);
    expect(words).toContain(dateTime(untilMs));
    expect(words).not.toContain('UTC');
    if (locale !== 'en') expect(words).not.toMatch(/until|times|only/);
  }
});
