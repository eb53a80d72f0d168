import { expect, test } from 'vitest';
import { diffOf, type Row } from '../../src/lib/diff';
import type { DiffHunk } from '../../src/lib/protocol';
import { plain } from '../../src/lib/shown';
import { hunk } from '../mock/tools';

/** Every line of the diff as `numbers sign text`, and what is said between. */
function check(hunks: DiffHunk[], complete = true): string[] {
  const signs: Record<Row['kind'], string> = { added: '+', removed: '-', context: ' ' };
  return diffOf({ hunks, complete }).blocks.flatMap((block) =>
    block.kind === 'gap'
      ? [block.lines === null ? '?' : `${block.lines} unchanged`]
      : block.rows.map(({ kind, numbers, text }) => `${numbers} ${signs[kind]}${plain(text)}`),
  );
}

test('each line has its numbers before and after, and lines between hunks are counted', () => {
  const hunks = [hunk(3, 3, [' a', '-b', '+B', '+C', ' d']), hunk(9, 10, [' x', '-y'])];
  expect(check(hunks)).toEqual([
    '2 unchanged',
    ' 3  3  a',
    ' 4    -b',
    '    4 +B',
    '    5 +C',
    ' 5  6  d',
    '3 unchanged',
    ' 9 10  x',
    '10    -y',
  ]);
});

test('a new file and a deleted one begin at their first line', () => {
  expect(check([hunk(1, 1, ['+a', '+b'])])).toEqual(['  1 +a', '  2 +b']);
  expect(check([hunk(1, 1, ['-a', '-b'])])).toEqual(['1   -a', '2   -b']);
  expect(check([hunk(0, 1, ['+a'])])[0]).toMatch(/\+a$/);
  expect(check([])).toEqual([]);
});

test('nothing is called unchanged where the diff is not whole or its numbers do not agree', () => {
  const hunks = [hunk(1, 1, ['-a']), hunk(9, 8, ['-b'])];
  expect(check(hunks)).toEqual(['1   -a', '7 unchanged', '9   -b']);
  expect(check(hunks, false)).toEqual(['1   -a', '?', '9   -b']);
  expect(check([hunk(1, 1, ['-a']), hunk(9, 20, ['-b'])])[1]).toBe('?');
  expect(check([hunk(5, 9, ['+a'])])[0]).toBe('?');
});

test('no line of a long diff is left out, and its pieces are small', () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `+line ${index}`);
  const { blocks, digits } = diffOf({ hunks: [hunk(1, 1, lines)], complete: true });
  const rows = blocks.flatMap((block) => (block.kind === 'rows' ? [block.rows] : []));
  expect(rows.flat().map(({ text }) => `+${plain(text)}`)).toEqual(lines);
  expect(Math.max(...rows.map((some) => some.length))).toBeLessThanOrEqual(64);
  expect(digits).toBe(5);
});
