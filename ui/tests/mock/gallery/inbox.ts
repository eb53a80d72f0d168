import CardBadges from '../../../src/components/inbox/CardBadges.svelte';
import CommandLine from '../../../src/components/inbox/CommandLine.svelte';
import ConfirmationCard from '../../../src/components/inbox/ConfirmationCard.svelte';
import InboxBar from '../../../src/components/inbox/InboxBar.svelte';
import InboxRow from '../../../src/components/inbox/InboxRow.svelte';
import type { Card, Confirmation, Impact, Loosening } from '../../../src/lib/protocol';
import type { Inbox } from '../../../src/stores/inbox.svelte';
import * as cards from '../cards';
import * as crossings from '../crossings';
import { WAITING } from '../plain';
import { shown } from '../text';
import { entry, type Area } from './entry';
import { LOOSENINGS } from './forms';
import { HOSTILE, nothing, NOW, world } from './world';

const every = <Props>(of: (card: Card) => Props): Record<string, Props> =>
  Object.fromEntries(Object.entries(WAITING).map(([name, make]) => [name, of(make(name, NOW))]));

const row = (card: Card, differs: object = {}) => ({
  card,
  alike: 1,
  now: NOW,
  selected: false,
  busy: false,
  onselect: nothing,
  ondeny: nothing,
  onopen: nothing,
  ...differs,
});

/** What these have in common, and what is chosen of them. */
async function bar(waiting: Card[], change: (inbox: Inbox) => void = nothing) {
  const { inbox } = await world((mock) => (mock.cards = waiting));
  change(inbox);
  return { inbox };
}

const confirmation = (loosenings: Loosening[], impact?: Impact): Confirmation => ({
  id: 'gallery',
  createdAtMs: NOW - 9_000,
  expiresAtMs: NOW + 51_000,
  loosenings,
  ...(impact === undefined ? {} : { impact }),
});

const asked = (of: Confirmation, busy = false) => ({
  confirmation: of,
  now: NOW,
  delay: 1_500,
  busy,
  onanswer: nothing,
});

export const inbox: Area = {
  name: 'inbox',
  entries: [
    entry(InboxRow, {
      ...every((card) => row(card)),
      selected: row(cards.card('a', NOW), { selected: true }),
      'several of the same': row(cards.alike('a', NOW), { alike: 12 }),
      'under way': row(cards.card('a', NOW), { busy: true }),
      'cannot be denied': row(cards.card('a', NOW, { decisions: ['allow-once'] })),
      'time is over': row(cards.card('a', NOW, { expiresAtMs: NOW - 1 })),
      'hostile gateway': row(cards.hostilePlugin('a', NOW)),
      'hostile connection': row(crossings.hostileCrossing('a', NOW)),
    }),
    entry(
      CommandLine,
      every(({ command, kind }) => ({ command, kind })),
    ),
    entry(
      CardBadges,
      every((card) => ({ card })),
    ),
    entry(InboxBar, {
      'one source': () => bar(cards.several(NOW)),
      'several sources': () => bar([...cards.several(NOW), ...cards.many(9, 3, NOW)]),
      'some are selected': () =>
        bar(cards.several(NOW), (inbox) =>
          inbox.select({ card: cards.card('req-git', NOW), alike: [cards.card('req-git', NOW)] }, true),
        ),
      'all are selected': () => bar(cards.several(NOW), (inbox) => inbox.selectAll()),
      'one agent': () =>
        bar([...cards.several(NOW), cards.hostilePlugin('h', NOW)], (inbox) => (inbox.agent = 'coder')),
    }),
    entry(ConfirmationCard, {
      one: asked(confirmation(LOOSENINGS.slice(0, 1))),
      'many, with what they do': asked(
        confirmation(LOOSENINGS, {
          of: 200,
          more: 64,
          widening: { whose: 'agent', shown: shown(HOSTILE), kind: 'anything' },
        }),
      ),
      'under way': asked(confirmation(LOOSENINGS.slice(0, 1)), true),
    }),
  ],
};
