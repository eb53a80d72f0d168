import { afterEach, expect, test } from 'vitest';
import {
  addressesOf,
  crossingOf,
  groupName,
  leadsElsewhere,
  placeGrade,
  rungName,
  rungRight,
  whereIs,
} from '../../src/lib/crossing';
import { amount, setLocale } from '../../src/lib/i18n/index.svelte';
import { consequence, isCommand, onlyOnce, wanted } from '../../src/lib/kinds';
import { reachedCalls } from '../../src/lib/reach';
import { ruleMatches } from '../../src/lib/rules';
import { plain } from '../../src/lib/shown';
import { whyAsked } from '../../src/lib/why';
import type { Card, LadderStep, NetPlace } from '../../src/lib/protocol';
import { card } from '../mock/cards';
import { cloudKeys, crossing, crossingRules, rebound, upload } from '../mock/crossings';
import { shown } from '../mock/text';

afterEach(() => setLocale('en'));

function factOf(of: Card) {
  const fact = crossingOf(of);
  if (!fact) throw new Error('the sample has no connection');
  return fact;
}

test('only a connection has a destination', () => {
  expect(crossingOf(card('a', 0))).toBeUndefined();
  expect(isCommand('crossing')).toBe(false);
  expect(plain(factOf(crossing('a', 0)).destination)).toBe('static.crates.io:443');
});

test('each place outside of the internet deserves attention, and some are dangerous', () => {
  const grades: Record<NetPlace, string> = {
    internet: 'ordinary',
    private: 'attention',
    'this-machine': 'attention',
    'link-local': 'attention',
    metadata: 'danger',
    unroutable: 'danger',
  };
  for (const [place, grade] of Object.entries(grades)) expect(placeGrade(place as NetPlace), place).toBe(grade);
});

test('a service of this machine is named for what it usually is', () => {
  const cases: [string, NetPlace, string][] = [
    ['localhost:5432', 'this-machine', 'the port of PostgreSQL on this very machine'],
    ['[::1]:6379', 'this-machine', 'the port of Redis on this very machine'],
    ['localhost:54321', 'this-machine', 'on this very machine, such as your database'],
    ['10.0.0.5:5432', 'private', 'in your own network'],
  ];
  for (const [destination, place, where] of cases) {
    expect(whereIs(factOf(crossing('a', 0, destination, { place }))), destination).toBe(where);
  }
});

test('addresses tell something only where they are not the destination itself', () => {
  const cases: [string, string[], string[]][] = [
    ['example.com:443', ['10.0.0.1', '::1'], ['10.0.0.1', '::1']],
    ['127.0.0.1:80', ['127.0.0.1'], []],
    ['[::1]:80', ['::1'], []],
    ['1.2.3.45:80', ['1.2.3.4'], ['1.2.3.4']],
  ];
  for (const [destination, given, told] of cases) {
    const fact = factOf(crossing('a', 0, destination, { addresses: given.map((address) => shown(address)) }));
    expect(addressesOf(fact).map(plain), destination).toEqual(told);
    expect(leadsElsewhere(fact), destination).toBe(told.length > 0);
  }
  expect(leadsElsewhere(factOf(rebound('a', 0)))).toBe(true);
  expect(leadsElsewhere(factOf(upload('a', 0))), 'it is asked about for what it sends').toBe(false);
});

test('what is asked, why, and what happens then is said in each language', () => {
  for (const locale of ['en', 'zh', 'ko'] as const) {
    setLocale(locale);
    const [first, again] = [crossing('a', 0), upload('a', 0)];
    expect(wanted(first)).not.toBe(wanted(again));
    expect(whyAsked(first)).not.toBe(whyAsked(again));
    expect(consequence(first)).not.toBe(consequence(card('a', 0)));
    expect(onlyOnce(first)).toBe(null);
    expect(onlyOnce(cloudKeys('a', 0))).not.toBe(null);
  }
});

test('a rung of registries names the kinds of packages, and one that nobody knows as it is', () => {
  const step = (...groups: string[]): LadderStep => ({
    kind: 'calls',
    rung: 'registries',
    calls: groups.map((group) => ({ kind: 'registries', group: shown(group) })),
    longest: 'always',
  });
  expect(rungName(step('cargo'))).toBe('All registries of Rust crates');
  expect(rungName(step('npm', 'jsr'))).toBe('All registries of npm, JSR');
  expect(rungRight(step('nobody-knows'))).toBe('all registries of nobody-knows');
  expect(rungRight(step('c\u0430rgo')), 'a look-alike is marked').toContain('U+0430');
  expect(rungName({ kind: 'withheld', rung: 'registries', cause: 'no-effect' })).toBe('All such registries');
  expect(plain(groupName(shown('constructor')))).toBe('constructor');
  setLocale('zh');
  expect(rungName(step('go'))).toContain('Go 模块');
});

test('a rule says where its destination is unless that is the internet, and out of which boxes', () => {
  const [open, own, python, unknown] = crossingRules(0).map(({ reach }) => {
    return reachedCalls(reach).map(({ text, codes }) => [text, ...codes.map(plain)].join(' '));
  });
  expect(open).toEqual([
    'Connections out of a box to static.crates.io:443',
    'only from boxes around /home/mina/src/engine',
  ]);
  expect(own?.[1]).toBe('on this very machine, such as your database');
  expect(python?.[0]).toBe('Connections out of a box to all registries of Python packages');
  expect(unknown).toEqual(['Connections out of a box to all registries of of-a-later-version', 'from any box']);
  const [view] = crossingRules(0);
  expect(view && ruleMatches(view, 'crates.io')).toBe(true);
});

test('amounts of data have one digit behind the point at most, and the next unit in time', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1 kB'],
    [1_234, '1.2 kB'],
    [999_949, '999.9 kB'],
    [999_950, '1 MB'],
    [3_400_000, '3.4 MB'],
    [5e15, '5,000 TB'],
  ];
  for (const [bytes, words] of cases) expect(amount(bytes), String(bytes)).toBe(words);
});
