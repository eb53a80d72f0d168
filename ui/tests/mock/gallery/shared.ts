import Alarm from '../../../src/components/shared/Alarm.svelte';
import ArmedButton from '../../../src/components/shared/ArmedButton.svelte';
import BreadthBar from '../../../src/components/shared/BreadthBar.svelte';
import CopyButton from '../../../src/components/shared/CopyButton.svelte';
import Empty from '../../../src/components/shared/Empty.svelte';
import Mark from '../../../src/components/shared/Mark.svelte';
import Note from '../../../src/components/shared/Note.svelte';
import OutcomeBadge from '../../../src/components/shared/OutcomeBadge.svelte';
import PageFrame from '../../../src/components/shared/PageFrame.svelte';
import Progress from '../../../src/components/shared/Progress.svelte';
import Ring from '../../../src/components/shared/Ring.svelte';
import Rich from '../../../src/components/shared/Rich.svelte';
import RowButton from '../../../src/components/shared/RowButton.svelte';
import SelfArming from '../../../src/components/shared/SelfArming.svelte';
import ShownText from '../../../src/components/shared/ShownText.svelte';
import Sidebar from '../../../src/components/shared/Sidebar.svelte';
import type { Outcome, Shown, Standing, Status } from '../../../src/lib/protocol';
import { shown } from '../text';
import { entry, type Area } from './entry';
import { arming, ESCAPED, HOSTILE, markup, nothing, NOW, words, world } from './world';

const OUTCOMES: Record<string, Outcome> = {
  'allowed once': { kind: 'allowed-once' },
  'allowed always': { kind: 'allowed-always' },
  'allowed by a rule': { kind: 'allowed-by-rule' },
  'allowed by the policy': { kind: 'allowed-by-policy' },
  'allowed elsewhere': { kind: 'allowed-elsewhere' },
  'allowed by the fallback': { kind: 'allowed-by-fallback' },
  contained: { kind: 'contained' },
  denied: { kind: 'denied' },
  'denied by the policy': { kind: 'denied-by-policy', reason: 'security=deny' },
  'denied elsewhere': { kind: 'denied-elsewhere' },
  expired: { kind: 'expired' },
  'requester gone': { kind: 'cancelled', cause: 'requester-gone' },
  'connection lost': { kind: 'cancelled', cause: 'connection-lost' },
  withdrawn: { kind: 'cancelled', cause: 'withdrawn' },
  'shut down': { kind: 'cancelled', cause: 'shutdown' },
  'not shown': { kind: 'not-shown' },
  refused: { kind: 'refused', reason: 'the program changed' },
};

const UNASKED: Standing = {
  kind: 'runs-unasked',
  cause: { agent: 'ops', shown: shown('ops'), layer: 'agent', place: 'here', when: 'always', others: 2 },
};

const button = (differs: object = {}) => ({
  arming: arming('armed'),
  label: 'Allow once',
  testid: 'gallery-armed',
  onact: nothing,
  ...differs,
});

/** The navigation while the app is like this. */
async function beside(differs: Partial<Status> = {}, counts: object = {}) {
  const { mock } = await world();
  const status: Status = { ...mock.status, ...differs };
  const at = { page: 'inbox', waiting: 3, devices: 0, lost: false, status, ...counts } as const;
  return { ...at, ongo: nothing, onpause: nothing, ondenyall: nothing };
}

const text = (of: Shown, differs: object = {}) => ({ shown: of, ...differs });

export const shared: Area = {
  name: 'shared',
  entries: [
    entry(Alarm, {
      'runs unasked': { standing: UNASKED, page: 'inbox', ongo: nothing },
      'on the page that helps': { standing: UNASKED, page: 'policy', ongo: nothing },
      'hostile agent': {
        standing: { ...UNASKED, cause: { ...UNASKED.cause, agent: ESCAPED, shown: shown(HOSTILE) } },
        page: 'inbox',
        ongo: nothing,
      },
      'cannot show': { standing: { kind: 'cannot-show', end: 'crashed' }, page: 'inbox', ongo: nothing },
    }),
    entry(ArmedButton, {
      'end not seen': button({ arming: arming('unread') }),
      'delay runs': button({ arming: arming('counting') }),
      armed: button(),
      busy: button({ busy: true }),
      blocked: button({ blocked: 'It is too long to be shown whole.' }),
    }),
    entry(SelfArming, {
      arms: { label: 'Apply now', testid: 'gallery-self', onact: nothing, delay: 1_500 },
      busy: { label: 'Apply now', testid: 'gallery-self', onact: nothing, busy: true },
      blocked: { label: 'Apply now', testid: 'gallery-self', onact: nothing, blocked: 'Not now.' },
    }),
    entry(Ring, { rest: { arming: arming('unread') }, running: { arming: arming('counting') } }),
    entry(BreadthBar, {
      'a few': { breadth: { of: 200, matched: 12, denied: 0 } },
      'many, some denied': { breadth: { of: 200, matched: 120, denied: 31 } },
      all: { breadth: { of: 1_000_000, matched: 1_000_000, denied: 1_000_000 } },
      'no history': { breadth: { of: 0, matched: 0, denied: 0 } },
    }),
    entry(CopyButton, { rest: { text: 'git status', label: 'Copy the command', testid: 'gallery-copy' } }),
    entry(RowButton, {
      rest: {
        label: 'Remove',
        of: 'git',
        testid: 'r',
        disabled: false,
        onact: nothing,
        children: markup('<b>×</b>'),
      },
      disabled: {
        label: 'Remove',
        of: ESCAPED,
        testid: 'r',
        disabled: true,
        onact: nothing,
        children: markup('<b>×</b>'),
      },
    }),
    entry(Mark, { mark: {} }),
    entry(Note, {
      plain: { children: words('3 requests were denied.') },
      attention: { tone: 'attention', children: words('Another program changed the document.') },
      danger: { tone: 'danger', children: words('It could not be written.') },
      allowed: { tone: 'allowed', children: words('8 files are what they were.') },
      'can be closed': {
        tone: 'attention',
        onclose: nothing,
        children: words('Another program changed the document.'),
      },
      long: { tone: 'danger', onclose: nothing, children: words('wörd'.repeat(90)) },
    }),
    entry(Empty, {
      'nothing but words': { title: 'Nothing waits', text: 'What agents ask for comes here.' },
      'with an action': {
        title: 'Nothing waits',
        text: 'What agents ask for comes here.',
        action: markup('<button type="button" class="btn firm">Connect an agent</button>'),
      },
    }),
    entry(Progress, { usual: {}, 'other words': { text: 'Connecting …' } }),
    entry(OutcomeBadge, {
      ...Object.fromEntries(Object.entries(OUTCOMES).map(([name, outcome]) => [name, { outcome }])),
      'a connection, allowed': { outcome: { kind: 'allowed-once' }, card: 'crossing' },
      'keys, denied': { outcome: { kind: 'denied' }, card: 'keys' },
      'a tool, expired': { outcome: { kind: 'expired' }, card: 'tool' },
    }),
    entry(PageFrame, {
      'heading and content': { title: 'History', lead: 'What was asked, and what came of it.', children: words('…') },
      'actions and a foot': {
        title: 'History '.repeat(20),
        lead: 'What was asked, and what came of it. '.repeat(8),
        actions: markup('<button type="button" class="btn">Check</button>'),
        foot: markup('<footer>2 selected</footer>'),
        children: words('…'),
      },
    }),
    entry(Rich, {
      'parts in a sentence': {
        text: 'Connects {program} to {where}.',
        parts: { program: words('curl'), where: words('docs.rs') },
      },
    }),
    entry(ShownText, {
      plain: text(shown('git push origin main')),
      'blanks as blanks': text(shown('a  file name ', 'word')),
      'blanks painted': text(shown('a  file name ', 'word'), { spaces: true }),
      'hidden characters': text(shown('hs.llatsni\u202e\u200b\u0007')),
      'letters of another script': text(shown('p\u0430ckages.harbor.example')),
      'secret, masked': text(shown('ghp_x81jQm2')),
      'secret, readable': text(shown('ghp_x81jQm2'), { revealed: true }),
      'lines marked': text(shown('one\ntwo\n', 'word')),
      'lines of a file': text(shown('one\n\ttwo\n', 'text'), { lines: 'plain', tabs: 'plain' }),
      hostile: text(shown(HOSTILE)),
    }),
    entry(
      Sidebar,
      {
        asks: () => beside(),
        'much waits': () => beside({}, { waiting: 12_345, devices: 2, page: 'connections' }),
        paused: () => beside({ paused: true, standing: { kind: 'paused' } }),
        'runs unasked': () => beside({ standing: UNASKED }, { page: 'policy' }),
        'cannot show': () => beside({ standing: { kind: 'cannot-show', end: 'hung' } }),
        trouble: () =>
          beside({ store: { kind: 'unreadable', problem: 'expected a comma' } }, { lost: true, waiting: 0 }),
        'nothing recorded': () =>
          beside({
            recording: { kind: 'fails', sinceMs: NOW - 90_000, cause: 'full', text: 'No space left on device' },
          }),
        connecting: () => beside({}, { status: null, waiting: 0 }),
      },
      'side',
    ),
  ],
};
