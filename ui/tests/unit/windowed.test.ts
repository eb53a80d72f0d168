import { expect, test } from 'vitest';
import { firstBelow, offsetsOf } from '../../src/lib/windowed';

const HEIGHTS = [10, 30, 5, 20];

function check(heights: number[], y: number): number {
  return firstBelow(
    offsetsOf(
      heights.map((height) => ({ height })),
      ({ height }) => height,
    ),
    y,
  );
}

test('offsets are where items begin, and the last one is where the list ends', () => {
  expect([...offsetsOf(HEIGHTS, (height) => height)]).toEqual([0, 10, 40, 45, 65]);
  expect([...offsetsOf([], () => 1)]).toEqual([0]);
});

test('the first item below a line is found, also above and beyond the list', () => {
  const cases: [number, number][] = [
    [-50, 0],
    [0, 0],
    [9, 0],
    [10, 1],
    [39.5, 1],
    [40, 2],
    [45, 3],
    [64, 3],
    [65, 3],
    [1_000, 3],
  ];
  for (const [y, index] of cases) expect([y, check(HEIGHTS, y)]).toEqual([y, index]);
  expect(check([], 10)).toBe(0);
});
