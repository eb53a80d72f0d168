import { expect, test } from 'vitest';
import { hasStarted, runWords } from '../../src/lib/outcome';
import type { Card, HeldCause, RunView } from '../../src/lib/protocol';
import { heldBack, whyAsked } from '../../src/lib/why';
import { card, chained, onlyOpenable, unanalysed } from '../mock/cards';
import { sample } from '../mock/samples';

function because(from: Card, why: Partial<Card['why']>): Card {
  return { ...from, why: { ...from.why, ...why } };
}

test('that no rule can cover it is only said where none is offered', () => {
  expect(whyAsked(unanalysed('a', 0))).toMatch(/No rule can cover it/);
  const offered = because(card('a', 0), { reason: 'opaque', opaque: 'redirect' });
  expect(whyAsked(offered)).not.toMatch(/No rule/);
  expect(whyAsked(onlyOpenable('a', 0)), 'to open a folder is no rule about it').toMatch(/No rule can cover it/);
});

test('every part that needs an entry is named', () => {
  const parts = card('a', 0, { ...sample('several') });
  expect(parts.why.segments.length).toBeGreaterThan(1);
  expect(whyAsked(parts)).toMatch(/parts 1, 2/);
  expect(parts.command.segments.filter(({ missed }) => missed)).toHaveLength(parts.why.segments.length);
});

test('what was taken apart is never called not analysed', () => {
  const hidden = because(chained('a', 0), { reason: 'uncoverable', cause: 'carrier' });
  expect(whyAsked(hidden)).toBe(
    'The program is named among the arguments of another one, so no allowlist entry counts for it.',
  );
  const unbound = because(card('a', 0), { reason: 'unbound', unbound: 'carrier' });
  expect(whyAsked(unbound)).toMatch(/^It is covered/);
});

test('sample cards agree with themselves', () => {
  const made = chained('a', 0);
  const programs = made.facts.filter(({ kind }) => kind === 'program');
  expect(JSON.stringify(programs)).toMatch(/npm/);
  expect(JSON.stringify(programs)).not.toMatch(/git/);
  expect(sample('push').facts).toContainEqual({ kind: 'network', program: 'git push' });
  expect(sample('container').facts).toContainEqual({ kind: 'elevation', program: 'docker run' });
});

test('a command that failed has started', () => {
  const run: RunView = { timedOut: false, durationMs: 3, outputTail: '' };
  for (const [differs, words, started] of [
    [{ exitCode: 128, error: 'exit 128' }, 'exit 128', true],
    [{ exitCode: 0 }, 'exit 0', true],
    [{ timedOut: true, error: 'timeout' }, 'timed out', true],
    [{ error: 'cancelled' }, 'ended', true],
    [{ durationMs: 0, error: 'failed to start: x was not found' }, 'did not start', false],
  ] as const) {
    const made = { ...run, ...differs };
    expect([runWords(made), hasStarted(made)]).toEqual([words, started]);
  }
});

test('what covers a command is an entry or a rule, and neither is left out where nothing does', () => {
  for (const entriesChecked of [0, 1, 14]) {
    const alone = because(card('a', 0), { reason: 'allowlist-miss', segments: [0], entriesChecked });
    const parts = because(card('a', 0, { ...sample('several') }), { entriesChecked });
    for (const asked of [alone, parts]) {
      expect(whyAsked(asked), `${entriesChecked}`).toMatch(/rule/);
      expect(whyAsked(asked), 'a group that is switched on has no entries').not.toMatch(/has no entries/);
    }
  }
});

test('what a box would not be let do is the reason in an open folder, whoever runs the command', () => {
  const held = (cause: HeldCause, detail?: string): Card['why']['trace'] => [
    { kind: 'held', cause, ...(detail === undefined ? {} : { detail }) },
  ];
  const secret = because(card('a', 0), { reason: 'allowlist-miss', segments: [0], trace: held('secrets', '.env') });
  expect(heldBack(secret)).toMatchObject({ text: expect.stringMatching(/open, but this reads keys/), code: '.env' });
  expect(heldBack(because(card('a', 0), { trace: held('ask-always') }))).toBe(null);
  expect(heldBack(card('a', 0))).toBe(null);
});
