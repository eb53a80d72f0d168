import type { Card } from './protocol';

/** A request, and those that ask exactly the same, it included, oldest first. */
export interface Fold {
  card: Card;
  alike: readonly Card[];
}

/**
 * Whether two requests come from one run, as the app counts them: one session of one agent, or one door
 * without a session.
 */
export function isSameRun(one: Card, other: Card): boolean {
  if (text(one.gateway) !== text(other.gateway) || text(one.agent) !== text(other.agent)) return false;
  if (text(one.session) !== text(other.session)) return false;
  return one.session !== undefined || one.via === other.via;
}

/** Requests with those that ask exactly the same folded, in the order of the oldest; `shown` stands for its fold. */
export function folded(cards: readonly Card[], shown: Card | null = null): readonly Fold[] {
  const folds = new Map<string, { card: Card; alike: Card[] }>();
  for (const card of cards) {
    const key = keyOf(card);
    const fold = folds.get(key);
    if (!fold) {
      folds.set(key, { card, alike: [card] });
      continue;
    }
    fold.alike.push(card);
    if (card.id === shown?.id) fold.card = card;
  }
  return [...folds.values()];
}

const keys = new WeakMap<Card, string>();

/** Everything of a request that a person reads. Which process asked, and when, is not part of what is asked. */
function keyOf(card: Card): string {
  let key = keys.get(card);
  if (key === undefined) {
    const same: Partial<Card> = { ...card, id: '', generation: 0, createdAtMs: 0, expiresAtMs: 0 };
    delete same.peer;
    key = JSON.stringify(same);
    keys.set(card, key);
  }
  return key;
}

function text(shown: Card['session']): string {
  return JSON.stringify(shown ?? null);
}
