import { expect, test } from 'vitest';
import { excerpt, groups, linesOf } from '../../src/lib/excerpt';
import type { ArgView, Shown } from '../../src/lib/protocol';
import { plain } from '../../src/lib/shown';
import { segment, shown } from '../mock/text';

function argument(text: string, reading: 'plain' | 'text' | 'word' = 'word'): ArgView {
  return { role: 'argument', shown: shown(text, reading), missed: false };
}

const textOf = (shown: Shown[]) => shown.map(plain).join('');

test('of a command that nobody could read through the beginning is kept, and what is left out is counted', () => {
  const words = Array.from({ length: 300 }, (_, index) => `word-${index}`);
  const both = [segment(words), segment(words, '&&')];
  const { segments, left, isCut } = excerpt(both);
  expect(segments.map(({ args }) => args.length)).toEqual([300, 200]);
  expect({ left, isCut }).toEqual({ left: 100, isCut: true });
  expect(excerpt(both.slice(0, 1))).toEqual({ segments: both.slice(0, 1), left: 0, isCut: false });
});

test('a long argument is cut where the room ends, and those behind it are left out', () => {
  const { segments, left, isCut } = excerpt([segment(['echo', 'x'.repeat(30_000), 'y'])]);
  const lengths = segments.flatMap(({ args }) => args.map((arg) => plain(arg.shown).length));
  expect(lengths).toEqual([4, 19_996]);
  expect({ left, isCut }).toEqual({ left: 1, isCut: true });
});

test('groups hold every argument once and in order, a long one in pieces', () => {
  const many = Array.from({ length: 250 }, (_, index) => argument(`a${index}`));
  const long = argument('some words '.repeat(2_000));
  const found = groups([...many, long, argument('last')]);
  expect(found.slice(0, 3).map(({ args }) => args.length)).toEqual([100, 100, 50]);
  expect(found.slice(0, 3).flatMap(({ args }) => args)).toEqual(many);
  const pieces = found.filter(({ part }) => part);
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.map(({ part }) => [part?.isFirst, part?.isLast])).toEqual(
    pieces.map((_, index) => [index === 0, index === pieces.length - 1]),
  );
  expect(textOf(pieces.flatMap(({ args }) => args.map((arg) => arg.shown)))).toBe(plain(long.shown));
  expect(found.at(-1)?.args.map((arg) => plain(arg.shown))).toEqual(['last']);
});

test.each([
  ['words', 'some words '.repeat(2_000), 'word'],
  ['words of a text', 'some words '.repeat(2_000), 'plain'],
  ['no blank', 'x'.repeat(9_000), 'plain'],
  ['pairs of units', '\u{1f600}'.repeat(5_000), 'plain'],
] as const)(
  'a long text of %s is cut after a blank where there is one, never inside of a character',
  (_, text, blanks) => {
    const pieces = groups([argument(text, blanks)]).flatMap(({ args }) => args.map((arg) => plain(arg.shown)));
    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBeGreaterThan(3);
    for (const piece of pieces) expect(piece).not.toMatch(/\p{Surrogate}/u);
    if (text.includes(' ')) for (const piece of pieces) expect(piece.endsWith(' ')).toBe(true);
  },
);

test('a long text of lines is cut at ends of lines, and takes as many lines as it has', () => {
  const found = groups([argument('a line of a text\n'.repeat(1_000), 'text')]);
  expect(found.length).toBeGreaterThan(3);
  for (const { args } of found) expect(plain(args[0]?.shown ?? { spans: [] }).endsWith('U+000A')).toBe(true);
  expect(found.reduce((sum, { ends }) => sum + ends, 0)).toBe(1_000);
  expect(found.every((group) => linesOf(group) > group.ends)).toBe(true);
});
