import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { CATALOGUES, dateTime, duration, localeFor, setLocale, t, type Locale } from '../../src/lib/i18n/index.svelte';
import { AGENTS_CATALOGUES } from '../../src/lib/i18n/agents/index.svelte';
import { CONNECTIONS_CATALOGUES } from '../../src/lib/i18n/connections/index.svelte';
import { POLICIES_CATALOGUES } from '../../src/lib/i18n/policies/index.svelte';
import { EXPECTED_CATALOGUES } from '../../src/lib/i18n/expected/index.svelte';
import { FOLDERS_CATALOGUES } from '../../src/lib/i18n/folders/index.svelte';
import { FORWARD_CATALOGUES } from '../../src/lib/i18n/forward/index.svelte';
import { KEPT_CATALOGUES } from '../../src/lib/i18n/kept/index.svelte';
import { PETS_CATALOGUES } from '../../src/lib/i18n/pets/index.svelte';
import { ROUTING_CATALOGUES } from '../../src/lib/i18n/routing/index.svelte';
import { RULES_CATALOGUES } from '../../src/lib/i18n/rules/index.svelte';
import { roleName } from '../../src/lib/connections';
import { viaWord } from '../../src/lib/kinds';
import { decidedBy, outcomeDetail, outcomeWords, writerWords } from '../../src/lib/outcome';
import type { ChangedBy, Outcome, Via } from '../../src/lib/protocol';

afterEach(() => setLocale('en'));

type Node = string | ((...args: never[]) => string) | { [key: string]: Node };

/** Every entry of a catalogue, by its path. */
function entries(node: Node, path = ''): [string, Exclude<Node, { [key: string]: Node }>][] {
  if (typeof node !== 'object') return [[path, node]];
  return Object.entries(node).flatMap(([key, child]) => entries(child, path === '' ? key : `${path}.${key}`));
}

/** All catalogues of a language: the one of all windows and those of single pages. */
const of = (locale: Locale) =>
  new Map(
    entries({
      all: CATALOGUES[locale],
      agents: AGENTS_CATALOGUES[locale],
      connections: CONNECTIONS_CATALOGUES[locale],
      policies: POLICIES_CATALOGUES[locale],
      expected: EXPECTED_CATALOGUES[locale],
      folders: FOLDERS_CATALOGUES[locale],
      forward: FORWARD_CATALOGUES[locale],
      kept: KEPT_CATALOGUES[locale],
      pets: PETS_CATALOGUES[locale],
      routing: ROUTING_CATALOGUES[locale],
      rules: RULES_CATALOGUES[locale],
    } as unknown as Node),
  );

const marks = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([mark]) => mark).sort();

test('every catalogue has the same entries, none empty, with the same marks', () => {
  const english = of('en');
  for (const locale of ['zh', 'ko'] as const) {
    const other = of(locale);
    expect([...other.keys()]).toEqual([...english.keys()]);
    for (const [path, value] of other) {
      const source = english.get(path);
      expect(typeof value, path).toBe(typeof source);
      if (typeof value === 'string' && typeof source === 'string') {
        expect(value.trim(), path).not.toBe('');
        expect(marks(value), path).toEqual(marks(source));
      }
    }
  }
});

test('sentences are translated, not copied', () => {
  const english = of('en');
  for (const locale of ['zh', 'ko'] as const) {
    for (const [path, value] of of(locale)) {
      if (typeof value === 'string' && value.includes(' ')) expect(value, path).not.toBe(english.get(path));
    }
  }
});

test('functions of a catalogue use every parameter that the English one uses', () => {
  const probe = (value: unknown) =>
    typeof value === 'function' && value.length > 0
      ? (value as (...args: unknown[]) => string)(...Array.from({ length: value.length }, (_, index) => `‹${index}›`))
      : null;
  const safe = (value: unknown) => {
    try {
      return probe(value);
    } catch {
      // Those that take a list or compare a number.
      return null;
    }
  };
  for (const locale of ['zh', 'ko'] as const) {
    const english = of('en');
    for (const [path, value] of of(locale)) {
      const source = safe(english.get(path));
      const translated = safe(value);
      if (source === null || translated === null) continue;
      const used = (text: string) => [...new Set(text.match(/‹\d›/g) ?? [])].sort();
      expect(used(translated), path).toEqual(used(source));
    }
  }
});

/** What an entry says; a function is tried with every small number, and with words where it takes none. */
function said(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  const make = value as (...args: unknown[]) => unknown;
  const words = ['Xx', 'Yy', 'Zz', 'Ww'];
  const tries: unknown[][] = [words, [0, 0, 0], [1, 1, 1], [2, 2, 2], [['Xx', 'Yy']], ['Xx', 2, 0], ['Xx', 2, 1]];
  return tries.flatMap((args) => {
    try {
      const text = make(...args);
      return typeof text === 'string' ? [text] : [];
    } catch {
      // It takes something else.
      return [];
    }
  });
}

/** Every sentence of a language, with the path of its entry. */
const spoken = (locale: Locale) =>
  [...of(locale)].flatMap(([path, value]) => said(value).map((text): [string, string] => [path, text]));

test('an agent is never called a proxy, by the windows or outside of them', () => {
  for (const [path, text] of spoken('zh')) expect(text, path).not.toMatch(/代理/);
  for (const file of [
    'src-tauri/src/words.rs',
    'crates/companion/src/sentences.rs',
    'crates/cli/src/commands/explain.rs',
  ])
    for (const [text] of readFileSync(`../${file}`, 'utf8').matchAll(/"[^"]*"/g))
      expect(text, file).not.toMatch(/代理|\p{Script=Han}[.,;:!?()]/u);
});

test('Chinese has its own stops, commas, colons and brackets', () => {
  for (const [path, text] of spoken('zh')) {
    expect(text, path).not.toMatch(/\p{Script=Han}[.,;:!?()]/u);
    expect(text, path).not.toMatch(/[,;:!?(]\p{Script=Han}/u);
    // Between two sentences there is no space.
    expect(text, path).not.toMatch(/[。，；：！？] /u);
  }
});

test('Korean has neither Chinese stops nor semicolons', () => {
  for (const [path, text] of spoken('ko')) expect(text, path).not.toMatch(/[。，；：！？;]/u);
});

test('each language has one word for one thing', () => {
  const faults = { zh: /回答|散列|设定|标识|外壳|你的/, ko: /알림 ?창|대답|식별자|단추|암호(?!화)|받은 요청(?!함)/ };
  for (const locale of ['zh', 'ko'] as const)
    for (const [path, text] of spoken(locale)) expect(text, path).not.toMatch(faults[locale]);
});

/** Words that the app has for itself and for other programs, in no language a person’s own. */
const RAW =
  /\b(another-program|command-line|first-run|upkeep|allowlist-miss|allowlist-unbound|rule-doubt|user-denied)\b|=/;
/** The same, where words of Latin letters are raw in any case. */
const RAW_ABROAD = /\b(window|tray|notification|gateway|answer|socket|connection|node|tool|hook|pet|operator)\b/;

function expectWords(words: Map<string, string>, locale: Locale) {
  for (const [value, text] of words) {
    expect(text, value).not.toBe('');
    expect(text, value).not.toMatch(RAW);
    if (locale !== 'en') expect(text, value).not.toMatch(RAW_ABROAD);
  }
  expect(new Set(words.values()).size).toBe(words.size);
}

test('whoever decided or changed something is named in words, in every language', () => {
  const writers: Record<ChangedBy, true> = {
    answer: true,
    'another-program': true,
    'command-line': true,
    'first-run': true,
    gateway: true,
    upkeep: true,
    window: true,
  };
  const vias: Record<Via, true> = {
    'command-line': true,
    connection: true,
    gateway: true,
    hook: true,
    node: true,
    pet: true,
    socket: true,
    tool: true,
  };
  const by = [
    'window',
    'command-line',
    'tray',
    'notification',
    'gateway: Phone',
    'pet main',
    'pet main (remembered)',
    'handed on to Phone',
  ];
  const reasons = [
    'security=deny',
    'user-denied',
    'ask=always',
    'allowlist-miss',
    'allowlist-unbound',
    'rule-doubt',
    'rule r1',
  ];
  const wordsOf = (values: string[], words: (value: string) => string) => new Map(values.map((v) => [v, words(v)]));
  for (const locale of ['en', 'zh', 'ko'] as const) {
    setLocale(locale);
    expectWords(wordsOf([...Object.keys(writers), 'of-a-later-version'], writerWords), locale);
    expectWords(
      wordsOf(Object.keys(vias), (via) => viaWord(via as Via)),
      locale,
    );
    expectWords(
      wordsOf(by, (who) => decidedBy(who, { kind: 'denied' })),
      locale,
    );
    expectWords(
      wordsOf(reasons, (reason) => outcomeDetail({ kind: 'denied-by-policy', reason }) ?? ''),
      locale,
    );
    expectWords(wordsOf(['operator', 'node', 'of-a-later-version'], roleName), locale);
  }
});

test('a name from elsewhere does not pass for a place here', () => {
  for (const locale of ['en', 'zh', 'ko'] as const) {
    setLocale(locale);
    for (const place of ['window', 'tray', 'gateway: Phone', 'pet main']) {
      const elsewhere = decidedBy(place, { kind: 'allowed-elsewhere' });
      expect(elsewhere).toContain(place);
      expect(elsewhere).not.toBe(decidedBy(place, { kind: 'allowed-once' }));
    }
  }
});

test('what was changed stands where the language wants it', () => {
  const changed = () => t().history.changed('rules', writerWords('window'));
  expect(changed()).toBe('Rules changed in the main window');
  setLocale('zh');
  expect(changed()).toBe('在主窗口中更改了规则');
  setLocale('ko');
  expect(changed()).toBe('기본 창에서 규칙이 바뀜');
});

test('each outcome has words of its own in each language', () => {
  const outcomes: Outcome[] = [
    { kind: 'allowed-by-policy' },
    { kind: 'allowed-by-rule' },
    { kind: 'allowed-once' },
    { kind: 'allowed-always' },
    { kind: 'allowed-elsewhere' },
    { kind: 'allowed-by-fallback' },
    { kind: 'contained' },
    { kind: 'denied' },
    { kind: 'denied-by-policy', reason: 'x' },
    { kind: 'denied-elsewhere' },
    { kind: 'expired' },
    { kind: 'cancelled', cause: 'requester-gone' },
    { kind: 'cancelled', cause: 'shutdown' },
    { kind: 'cancelled', cause: 'connection-lost' },
    { kind: 'cancelled', cause: 'withdrawn' },
    { kind: 'not-shown' },
    { kind: 'refused', reason: 'x' },
  ];
  for (const locale of ['en', 'zh', 'ko'] as const) {
    setLocale(locale);
    for (const card of ['exec', 'crossing'] as const)
      expect(new Set(outcomes.map((outcome) => outcomeWords(outcome, card))).size).toBe(outcomes.length);
    expect(outcomeWords({ kind: 'allowed-once' }, 'crossing')).not.toBe(outcomeWords({ kind: 'allowed-once' }));
  }
});

test('durations are words of at most two units, rounded up to whole seconds', () => {
  const cases: [number, string][] = [
    [0, '0 s'],
    [-5, '0 s'],
    [1, '1 s'],
    [47_001, '48 s'],
    [60_000, '1 min'],
    [102_000, '1 min 42 s'],
    [3_600_000, '1 h'],
    [7_530_000, '2 h 5 min'],
  ];
  for (const [ms, words] of cases) expect(duration(ms)).toBe(words);
  setLocale('zh');
  expect(duration(102_000)).toBe('1 分 42 秒');
  setLocale('ko');
  expect(duration(102_000)).toBe('1분 42초');
});

test('the desktop’s language is used where there is a catalogue, else English', () => {
  expect(localeFor('system', ['zh-Hant-TW', 'en'])).toBe('zh');
  expect(localeFor('system', ['fr-FR', 'ko-KR'])).toBe('ko');
  expect(localeFor('system', ['fr'])).toBe('en');
  expect(localeFor('ko', ['en'])).toBe('ko');
});

test('dates follow the language', () => {
  setLocale('ko');
  expect(dateTime(0)).toMatch(/1970/);
});
