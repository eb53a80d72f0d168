import { afterEach, expect, test } from 'vitest';
import { setLocale, t } from '../../src/lib/i18n/index.svelte';
import { viaWord, wanted } from '../../src/lib/kinds';
import type { Card, CardKind, Via } from '../../src/lib/protocol';
import { changesOf, isWhole, partsOf, strangeIn, textsOf, totalOf } from '../../src/lib/reading';
import { whyAsked } from '../../src/lib/why';
import { card } from '../mock/cards';
import { shown } from '../mock/text';
import * as tools from '../mock/tools';

afterEach(() => setLocale('en'));

const LOCALES = ['en', 'zh', 'ko'] as const;
const KINDS: CardKind[] = ['exec', 'ask', 'plugin', 'system-agent', 'permit', 'tool'];
const DOORS: Via[] = ['socket', 'command-line', 'gateway', 'connection', 'node', 'tool', 'hook', 'pet'];

test('what would be done is to be read through, what was found out about it is not', () => {
  const cases: [Card, string[]][] = [
    [card('a', 0), []],
    [tools.permit('a', 0), []],
    [tools.patch('a', 0), ['change', 'change', 'change']],
    [tools.foreignTool('a', 0), ['arguments']],
    [tools.handOver('a', 0), ['task']],
  ];
  for (const [shownCard, kinds] of cases) expect(partsOf(shownCard).map(({ kind }) => kind)).toEqual(kinds);
});

test('one change that is not whole makes the card one that is not', () => {
  const whole = tools.patch('a', 0);
  const part = tools.incomplete('a', 0);
  expect([isWhole(whole), isWhole(part), isWhole(card('a', 0))]).toEqual([true, false, true]);
  expect(isWhole({ facts: [...whole.facts, ...part.facts] })).toBe(false);
});

test('lines of several files are counted together', () => {
  expect(totalOf(changesOf(tools.patch('a', 0)))).toEqual({ added: 5, removed: 5 });
  expect(totalOf([])).toEqual({ added: 0, removed: 0 });
});

test('hidden characters and look-alikes count in paths and lines; tabs and ends of lines do not', () => {
  const found = (shownCard: Card) => strangeIn(partsOf(shownCard).flatMap(textsOf));
  expect(found(tools.create('a', 0))).toEqual({ hidden: 5, lookalikes: 2, secrets: 0 });
  expect(found(tools.edit('a', 0))).toEqual({ hidden: 0, lookalikes: 0, secrets: 0 });
  expect(found(tools.foreignTool('a', 0)).lookalikes).toBe(1);
  expect(found(tools.secretLines('a', 0)).secrets).toBe(1);
  expect(strangeIn([shown('a\tb\nc\rd')]).hidden).toBe(1);
});

test('each kind of card says what is wanted, and each door has its own word, in each language', () => {
  for (const locale of LOCALES) {
    setLocale(locale);
    const wants = [
      ...KINDS.map((kind) => wanted(card('a', 0, { kind }))),
      wanted(tools.edit('a', 0)),
      wanted(tools.patch('a', 0)),
      wanted(tools.handOver('a', 0)),
      wanted(tools.petQuestion('a', 0)),
    ];
    expect(new Set(wants).size, locale).toBe(
      KINDS.length + (t().tool.wantsFiles(1) === t().tool.wantsFiles(3) ? 3 : 4),
    );
    for (const words of wants.slice(KINDS.indexOf('tool'))) expect(words).toMatch(/(?=.*\{host\}).*\{tool\}/);
    expect(new Set(DOORS.map(viaWord)).size, locale).toBe(DOORS.length);
  }
});

test('why a tool asks follows the door, and never speaks of a command', () => {
  const asks = (differs: Partial<Card>) => whyAsked(tools.foreignTool('a', 0, differs));
  const said = [
    asks({ via: 'tool' }),
    asks({ via: 'hook' }),
    asks({ via: 'pet' }),
    asks({ via: 'pet', gateway: shown('Goose on the desk') }),
    asks({ via: 'connection', gateway: shown('harbor-office') }),
    ...(['ask-always', 'allowlist-miss', 'opaque'] as const).map((reason) =>
      whyAsked(tools.edit('a', 0, { why: { ...card('a', 0).why, reason } })),
    ),
  ];
  expect(new Set(said).size).toBe(said.length);
  for (const words of said) expect(words).not.toMatch(/command|entries/);
});
