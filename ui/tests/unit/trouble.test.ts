import { afterEach, expect, test } from 'vitest';
import { clockTime, setLocale } from '../../src/lib/i18n/index.svelte';
import { troubleLine } from '../../src/lib/trouble';
import type { RecordingState, Status } from '../../src/lib/protocol';
import { MockBackend } from '../mock/backend';

afterEach(() => setLocale('en'));

const line = (change: Partial<Status>) => troubleLine({ ...new MockBackend().status, ...change });
const AT = Date.UTC(2026, 4, 1, 12, 3);
const fails = (cause: 'broken' | 'full' | 'other' | 'read-only'): RecordingState => ({
  kind: 'fails',
  sinceMs: AT,
  cause,
  text: 'write: No space left on device',
});

test('where nothing is wrong nothing is said', () => {
  expect(line({})).toBeNull();
});

test('what cannot be recorded is said with why and since when, in every language', () => {
  expect(line({ recording: fails('full') })).toBe(`The disk is full: nothing can be recorded (since ${clockTime(AT)})`);
  const said = (['broken', 'full', 'other', 'read-only'] as const).flatMap((cause) =>
    (['en', 'zh', 'ko'] as const).map((locale) => {
      setLocale(locale);
      const text = line({ recording: fails(cause) });
      expect(text).toContain(clockTime(AT));
      return text;
    }),
  );
  expect(new Set(said).size).toBe(said.length);
});

test('the gravest trouble is said', () => {
  const all: Partial<Status> = {
    store: { kind: 'unreadable', problem: 'x' },
    socket: { kind: 'retrying', problem: 'x' },
    recording: fails('read-only'),
    shortages: ['processes', 'files'],
  };
  expect(line(all)).toBe('The document needs attention');
  expect(line({ ...all, store: { kind: 'ready' } })).toBe('The socket is not open');
  const listening: Partial<Status> = { ...all, store: { kind: 'ready' }, socket: { kind: 'listening' } };
  expect(line(listening)).toContain('read-only');
  expect(line({ ...listening, recording: { kind: 'slow' } })).toBe('No more processes can be started');
  expect(line({ ...listening, recording: fails('other') })).toBe('No more processes can be started');
  expect(line({ shortages: ['files'] })).toBe('No more files can be opened');
  expect(line({ recording: { kind: 'slow' } })).toBe('The disk is slow: commands wait for it');
});
