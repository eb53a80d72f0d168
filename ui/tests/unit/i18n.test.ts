import { afterEach, expect, test } from 'vitest';
import { CATALOGUES, dateTime, duration, localeFor, setLocale, type Locale } from '../../src/lib/i18n/index.svelte';
import { CONNECTIONS_CATALOGUES } from '../../src/lib/i18n/connections/index.svelte';
import { POLICIES_CATALOGUES } from '../../src/lib/i18n/policies/index.svelte';
import { FORWARD_CATALOGUES } from '../../src/lib/i18n/forward/index.svelte';
import { PETS_CATALOGUES } from '../../src/lib/i18n/pets/index.svelte';
import { ROUTING_CATALOGUES } from '../../src/lib/i18n/routing/index.svelte';
import { RULES_CATALOGUES } from '../../src/lib/i18n/rules/index.svelte';
import { outcomeWords } from '../../src/lib/outcome';
import type { Outcome } from '../../src/lib/protocol';

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
      connections: CONNECTIONS_CATALOGUES[locale],
      policies: POLICIES_CATALOGUES[locale],
      forward: FORWARD_CATALOGUES[locale],
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

test('each outcome has words of its own in each language', () => {
  const outcomes: Outcome[] = [
    { kind: 'allowed-by-policy' },
    { kind: 'allowed-by-rule' },
    { kind: 'allowed-once' },
    { kind: 'allowed-always' },
    { kind: 'allowed-elsewhere' },
    { kind: 'allowed-by-fallback' },
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
    expect(new Set(outcomes.map(outcomeWords)).size).toBe(outcomes.length);
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
