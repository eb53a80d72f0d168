import AlwaysSheet from '../../../src/components/prompt/AlwaysSheet.svelte';
import Countdown from '../../../src/components/prompt/Countdown.svelte';
import Ladder from '../../../src/components/prompt/Ladder.svelte';
import OpenChoice from '../../../src/components/prompt/OpenChoice.svelte';
import OutcomeBar from '../../../src/components/prompt/OutcomeBar.svelte';
import QueueMenu from '../../../src/components/prompt/QueueMenu.svelte';
import VerbLine from '../../../src/components/prompt/VerbLine.svelte';
import VerdictRow from '../../../src/components/prompt/VerdictRow.svelte';
import WhereTo from '../../../src/components/prompt/WhereTo.svelte';
import WhoHeader from '../../../src/components/prompt/WhoHeader.svelte';
import WhyBlock from '../../../src/components/prompt/WhyBlock.svelte';
import { folded } from '../../../src/lib/bursts';
import type { Breadth, Card, NetPlace, Rung } from '../../../src/lib/protocol';
import * as cards from '../cards';
import * as crossings from '../crossings';
import { WAITING, waiting } from '../plain';
import { HOSTILE as HOSTILE_LADDER, TESTS } from '../reach';
import { shown } from '../text';
import * as tools from '../tools';
import { after, entry, press, shows, unfolds, type Area } from './entry';
import { DEEP, ESCAPED, HOSTILE, markup, nothing, NOW, prompting } from './world';

const BREADTHS = new Map<Rung, Breadth>([
  ['exact', { of: 200, matched: 4, denied: 0 }],
  ['shape', { of: 200, matched: 12, denied: 0 }],
  ['subcommand', { of: 200, matched: 120, denied: 31 }],
]);

/** A state for each kind of request. */
const every = <Props>(of: (card: Card) => Props): Record<string, Props> =>
  Object.fromEntries(Object.entries(WAITING).map(([name, make]) => [name, of(make(name, NOW))]));

const queue = (cards: Card[], current: string, ofRun = 0) => ({
  folds: folded(cards),
  current,
  ofRun,
  onchoose: nothing,
  ondenyrun: nothing,
});

const sheet = (card: Card, at: Rung | null = null) =>
  prompting(card, (prompt) => {
    prompt.sheet = true;
    prompt.sheetAt = at;
    prompt.breadths = BREADTHS;
  });

const PLACES: NetPlace[] = ['internet', 'private', 'link-local', 'this-machine', 'metadata', 'unroutable'];

const left = (ms: number, differs: Partial<Card> = {}) => ({
  card: cards.card('a', NOW, { expiresAtMs: NOW + ms, ...differs }),
  now: NOW,
});

export const prompt: Area = {
  name: 'prompt',
  width: 560,
  entries: [
    entry(WhoHeader, {
      ...every((card) => ({ card })),
      'hostile gateway': { card: cards.hostilePlugin('a', NOW) },
      'with a button': {
        card: cards.card('a', NOW, { agent: shown(HOSTILE), session: shown(HOSTILE) }),
        children: markup('<button type="button" class="btn quiet small">Inbox</button>'),
      },
    }),
    entry(
      VerbLine,
      every((card) => ({ card })),
    ),
    entry(WhereTo, {
      ...Object.fromEntries(
        PLACES.map((place) => [place, { card: crossings.crossing('a', NOW, 'files.example:443', { place }) }]),
      ),
      keys: { card: crossings.sshKeys('a', NOW) },
      hostile: { card: crossings.hostileCrossing('a', NOW) },
    }),
    entry(WhyBlock, {
      'not covered': { card: cards.card('a', NOW) },
      'asked every time': { card: cards.hostile('a', NOW) },
      'not understood': { card: cards.unanalysed('a', NOW) },
      'kept out of the box': { card: cards.heldBack('a', NOW) },
      'a gateway asks': { card: cards.foreign('a', NOW) },
      'leaves the box': { card: crossings.crossing('a', NOW) },
      'step by step': after({ card: cards.boxed('a', NOW) }, unfolds),
    }),
    entry(Countdown, {
      'much time': left(102_000),
      'little time': left(9_000),
      over: left(0),
      'nobody answers': left(50_000, { onExpiry: 'no-answer' }),
    }),
    entry(
      QueueMenu,
      {
        closed: queue(waiting(NOW), 'push'),
        'several of the same': queue(
          [1, 2, 3].map((at) => cards.alike(`alike-${at}`, NOW)),
          'alike-1',
          3,
        ),
        open: after(
          queue([...waiting(NOW), cards.hostilePlugin('h', NOW)], 'push', 4),
          press('queue-button'),
          shows('[role="listbox"]'),
        ),
      },
      'room',
    ),
    entry(VerdictRow, {
      'end not seen': () =>
        prompting(cards.card('a', NOW), ({ arming }) => Object.assign(arming, { endSeen: false, armed: false })),
      'delay runs': () =>
        prompting(cards.card('a', NOW), ({ arming }) => Object.assign(arming, { counting: true, armed: false })),
      armed: () => prompting(cards.card('a', NOW)),
      'under way': () => prompting(cards.card('a', NOW), (at) => (at.answering = true)),
      'time is over': () => prompting(cards.card('a', NOW, { expiresAtMs: NOW - 1 })),
      'the asker remembers': () => prompting(cards.peerAsk('a', NOW)),
      'only once': () => prompting(cards.hostile('a', NOW)),
      'the folder can be opened': () => prompting(cards.openable('a', NOW)),
      'cannot be allowed': () => prompting(tools.incomplete('a', NOW)),
      'too long': () => prompting(cards.card('a', NOW, { allowBlocked: 'too-long' })),
      'cannot be denied': () => prompting(cards.card('a', NOW, { decisions: ['allow-once'] })),
      'a connection': () => prompting(crossings.crossing('a', NOW)),
      'a key did not count': () => prompting(cards.card('a', NOW), ({ keyboard }) => (keyboard.ignored = true)),
      'not stored': () =>
        prompting(cards.card('a', NOW), (at) => (at.problem = { kind: 'store', message: `${DEEP}: read-only` })),
      'too early': () => prompting(cards.card('a', NOW), (at) => (at.problem = { kind: 'not-armed', message: '' })),
      'not painted': () =>
        prompting(cards.card('a', NOW), (at) => (at.problem = { kind: 'not-painted', message: 'no frame' })),
      failed: () => prompting(cards.card('a', NOW), (at) => (at.problem = { kind: 'failed', message: ESCAPED })),
    }),
    entry(OutcomeBar, {
      'allowed here': { ending: { outcome: { kind: 'allowed-once' }, by: 'window' }, card: 'exec' },
      'denied elsewhere': { ending: { outcome: { kind: 'denied-elsewhere' }, by: null }, card: 'exec' },
      expired: { ending: { outcome: { kind: 'expired' }, by: null }, card: 'exec' },
      refused: { ending: { outcome: { kind: 'refused', reason: `${DEEP} changed` }, by: 'window' }, card: 'exec' },
      contained: { ending: { outcome: { kind: 'contained' }, by: 'window' }, card: 'exec' },
      keys: { ending: { outcome: { kind: 'denied' }, by: 'command-line' }, card: 'keys' },
      'not told': { ending: 'unknown', card: 'exec' },
    }),
    entry(Ladder, {
      'with figures': { steps: TESTS, rung: 'shape', breadths: BREADTHS, onpick: nothing },
      'without figures': { steps: TESTS, rung: 'exact', breadths: null, onpick: nothing },
      hostile: { steps: HOSTILE_LADDER, rung: 'exact', breadths: null, onpick: nothing },
      files: { steps: tools.editOffered('a', NOW).always, rung: 'kind', breadths: null, onpick: nothing },
      connections: { steps: crossings.crossing('a', NOW).always, rung: 'registries', breadths: null, onpick: nothing },
    }),
    entry(OpenChoice, {
      'not picked': { agent: shown('coder'), folder: shown('/home/mina/src/engine'), picked: false, onpick: nothing },
      picked: { agent: shown('coder'), folder: shown('/home/mina/src/engine'), picked: true, onpick: nothing },
      hostile: { agent: shown(HOSTILE), folder: shown(DEEP), picked: true, onpick: nothing },
    }),
    entry(AlwaysSheet, {
      'the narrowest': () => sheet(cards.harmless('a', NOW)),
      'the shape': () => sheet(cards.harmless('a', NOW), 'shape'),
      hostile: () => sheet(cards.chained('a', NOW)),
      'open the folder': () => sheet(cards.openable('a', NOW), 'workspace'),
      'nothing but the folder': () => sheet(cards.onlyOpenable('a', NOW)),
      'a file': () => sheet(tools.editOffered('a', NOW)),
      'registries of a kind': () => sheet(crossings.crossing('a', NOW), 'registries'),
      'no longer than the session': () => sheet(crossings.onTheLink('a', NOW)),
      'the gateway remembers': () => sheet(cards.foreign('a', NOW)),
      'the asker remembers': () => sheet(cards.peerAsk('a', NOW)),
    }),
  ],
};
