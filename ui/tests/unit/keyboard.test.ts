import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Keyboard, QUIET_MS } from '../../src/stores/keyboard.svelte';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('keys of somebody who types when the window comes up with the keyboard never count', () => {
  const keyboard = new Keyboard(0);
  keyboard.focused(0);
  for (let pause = 0; pause < 50; pause += 1) {
    vi.advanceTimersByTime(pause * 100);
    expect(keyboard.key()).toBe(false);
  }
  expect(keyboard.ignored).toBe(true);
});

test('keys count once the person put the keyboard here and left it alone for a while', () => {
  const keyboard = new Keyboard(0);
  keyboard.given();
  vi.advanceTimersByTime(QUIET_MS - 1);
  expect(keyboard.key()).toBe(false);
  vi.advanceTimersByTime(QUIET_MS - 1);
  expect(keyboard.key(), 'each key begins the wait anew').toBe(false);
  vi.advanceTimersByTime(QUIET_MS);
  expect(keyboard.key()).toBe(true);
  expect(keyboard.key(), 'one key after another then').toBe(true);
  expect(keyboard.ignored).toBe(false);
});

test('going to a window that was there before puts the keyboard there', () => {
  const keyboard = new Keyboard(0);
  keyboard.focused(QUIET_MS);
  vi.advanceTimersByTime(QUIET_MS);
  expect(keyboard.key()).toBe(true);
});

test('another request, another window and a window that comes up again begin anew', () => {
  const keyboard = new Keyboard(0);
  const open = () => {
    keyboard.given();
    vi.advanceTimersByTime(QUIET_MS);
    expect(keyboard.counts).toBe(true);
  };
  open();
  keyboard.next();
  expect(keyboard.key()).toBe(false);
  vi.advanceTimersByTime(QUIET_MS);
  expect(keyboard.key(), 'the keyboard is still here').toBe(true);
  keyboard.lost();
  vi.advanceTimersByTime(10 * QUIET_MS);
  expect(keyboard.key()).toBe(false);
  open();
  keyboard.shown(5_000);
  keyboard.focused(5_001);
  vi.advanceTimersByTime(10 * QUIET_MS);
  expect(keyboard.key()).toBe(false);
});
