import { describe, expect, test } from 'vitest';
import { folded, isSameRun } from '../../src/lib/bursts';
import { shown } from '../mock/text';
import { alike, card } from '../mock/cards';

const NOW = 1_700_000_000_000;

describe('requests that ask exactly the same', () => {
  test('are folded in the order of the oldest, whenever and by whichever process each was asked', () => {
    const cards = [alike('a', NOW), card('other', NOW), alike('b', NOW + 5_000, { generation: 7 }), alike('c', NOW)];
    const folds = folded(cards).map((fold) => [fold.card.id, fold.alike.map(({ id }) => id)]);
    expect(folds).toEqual([
      ['a', ['a', 'b', 'c']],
      ['other', ['other']],
    ]);
  });

  test('are stood for by the one that is shown', () => {
    const cards = [alike('a', NOW), alike('b', NOW)];
    expect(folded(cards, cards[1])[0]?.card.id).toBe('b');
  });

  test('differ as soon as anything differs that a person reads', () => {
    const differences = [
      { agent: shown('ops') },
      { session: shown('another') },
      { via: 'gateway' },
      { gateway: shown('harbor') },
      { host: { kind: 'sandbox' } },
      { facts: [{ kind: 'folder', path: shown('/elsewhere') }] },
      { decisions: ['deny'] },
      { onExpiry: 'no-answer' },
    ] as const;
    for (const difference of differences) {
      const other = alike('b', NOW, difference as Partial<ReturnType<typeof alike>>);
      expect(folded([alike('a', NOW), other]).length, JSON.stringify(difference)).toBe(2);
    }
  });
});

test('a run is one session of one agent, and without a session one door', () => {
  const one = card('a', NOW);
  expect(isSameRun(one, card('b', NOW, { via: 'tool', host: { kind: 'sandbox' } }))).toBe(true);
  expect(isSameRun(one, card('b', NOW, { agent: shown('ops') }))).toBe(false);
  expect(isSameRun(one, card('b', NOW, { session: shown('another') }))).toBe(false);
  expect(isSameRun(one, card('b', NOW, { gateway: shown('harbor') }))).toBe(false);
  const unnamed = (id: string, via: 'socket' | 'tool') => {
    const made = card(id, NOW, { via });
    delete made.session;
    return made;
  };
  expect(isSameRun(unnamed('a', 'socket'), unnamed('b', 'socket'))).toBe(true);
  expect(isSameRun(unnamed('a', 'socket'), unnamed('b', 'tool'))).toBe(false);
});
