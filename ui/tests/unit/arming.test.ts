import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MIN_ARM_DELAY_MS } from '../../src/lib/protocol/bounds';
import { Arming } from '../../src/stores/arming.svelte';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An arming on which the steps were done; the text says what was awaited. */
function check(steps: (arming: Arming) => void): boolean {
  const arming = new Arming();
  steps(arming);
  return arming.armed;
}

const wait = (ms: number) => void vi.advanceTimersByTime(ms);

test('it arms after the delay and the end, in either order', () => {
  const endFirst = check((arming) => {
    arming.sawEnd();
    arming.painted();
    wait(MIN_ARM_DELAY_MS);
  });
  const delayFirst = check((arming) => {
    arming.painted();
    wait(MIN_ARM_DELAY_MS);
    arming.sawEnd();
  });
  expect([endFirst, delayFirst]).toEqual([true, true]);
});

test('one millisecond early, without the end, or without the paint it is not armed', () => {
  const early = check((arming) => {
    arming.sawEnd();
    arming.painted();
    wait(MIN_ARM_DELAY_MS - 1);
  });
  const noEnd = check((arming) => {
    arming.painted();
    wait(MIN_ARM_DELAY_MS * 10);
  });
  const noPaint = check((arming) => {
    arming.sawEnd();
    arming.restart();
    wait(MIN_ARM_DELAY_MS * 10);
  });
  expect([early, noEnd, noPaint]).toEqual([false, false, false]);
});

test('the delay can be longer but never shorter than its minimum', () => {
  const arming = new Arming();
  for (const [given, used] of [
    [0, MIN_ARM_DELAY_MS],
    [-5, MIN_ARM_DELAY_MS],
    [Number.NaN, MIN_ARM_DELAY_MS],
    [4_000, 4_000],
  ] as const) {
    arming.delay = given;
    expect(arming.delay).toBe(used);
  }
});

test('starting again takes the whole delay again and keeps that the end was seen', () => {
  const arming = new Arming();
  arming.sawEnd();
  arming.painted();
  wait(MIN_ARM_DELAY_MS);
  arming.restart();
  expect(arming.armed).toBe(false);
  wait(MIN_ARM_DELAY_MS - 1);
  expect(arming.armed).toBe(false);
  wait(1);
  expect(arming.armed).toBe(true);
});

test('new content has to be read to its end again', () => {
  const arming = new Arming();
  arming.sawEnd();
  arming.painted();
  wait(MIN_ARM_DELAY_MS);
  arming.forgetEnd();
  wait(MIN_ARM_DELAY_MS);
  expect(arming.armed).toBe(false);
  arming.sawEnd();
  expect(arming.armed).toBe(true);
});

test('after a reset nothing arms by itself', () => {
  const arming = new Arming();
  arming.sawEnd();
  arming.painted();
  arming.reset();
  arming.sawEnd();
  wait(MIN_ARM_DELAY_MS * 10);
  expect(arming.armed).toBe(false);
});
