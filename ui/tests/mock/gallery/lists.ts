import DocumentNotes from '../../../src/components/shared/DocumentNotes.svelte';
import EditNotes from '../../../src/components/shared/EditNotes.svelte';
import ImpactLine from '../../../src/components/shared/ImpactLine.svelte';
import LooseningList from '../../../src/components/shared/LooseningList.svelte';
import Reach from '../../../src/components/shared/Reach.svelte';
import RuleSaid from '../../../src/components/shared/RuleSaid.svelte';
import Trace from '../../../src/components/shared/Trace.svelte';
import UndoRedo from '../../../src/components/shared/UndoRedo.svelte';
import WindowedList from '../../../src/components/shared/WindowedList.svelte';
import { createRawSnippet } from 'svelte';
import type { DocumentView } from '../../../src/lib/protocol';
import { DocumentStore } from '../../../src/stores/document.svelte';
import { missed, tested } from '../document';
import { reach } from '../reach';
import { shown } from '../text';
import { entry, type Area } from './entry';
import { LOOSENINGS, RULES_SAID } from './forms';
import { DEEP, ESCAPED, HOSTILE, nothing, world, wrong } from './world';

/** This machine's document, and what is to be said of it. */
async function edited(change: (store: DocumentStore) => void, state: DocumentView['state'] = { kind: 'ready' }) {
  const { feed } = await world((mock) => (mock.view = { ...mock.view, state }));
  const store = new DocumentStore(feed);
  await store.load();
  change(store);
  return { store, changed: 'What you see is up to date.', delay: 1_500 };
}

const pending = { loosenings: LOOSENINGS.slice(0, 2), impact: null, isNew: true };

const able = (undo: string | null, redo: string | null) => {
  const name = (text: string | null) =>
    text === null ? null : { edits: [], left: '', name: () => ({ short: text, whole: text }) };
  const steps = { undo: name(undo), redo: name(redo) };
  return {
    store: {
      next: (chain: 'undo' | 'redo') => steps[chain],
      undo: () => Promise.resolve(true),
      redo: () => Promise.resolve(true),
    },
    place: 'rules',
  };
};

/** A list takes anything for an item. */
const nameOf = (one: object) => ('name' in one ? String(one.name) : '');

const item = createRawSnippet<[object]>((one) => ({
  render: () => `<p><button type="button" class="btn">Open</button> <span>${nameOf(one())}</span></p>`,
}));

export const lists: Area = {
  name: 'lists and notes',
  entries: [
    entry(DocumentNotes, {
      unreadable: () => edited(nothing, { kind: 'unreadable', problem: 'line 4: expected a comma' }),
      'in a database': () => edited(nothing, { kind: 'sqlite', database: '/home/mina/.openclaw/state.sqlite' }),
      'changed by another program': () => edited((store) => (store.changedBy = 'another-program')),
    }),
    entry(EditNotes, {
      'not written': () => edited((store) => (store.error = wrong('store', `${DEEP}: Permission denied`))),
      'changed by the command line': () => edited((store) => (store.changedBy = 'command-line')),
      'changed by a gateway': () => edited((store) => (store.changedBy = 'gateway')),
      'changed by somebody': () => edited((store) => (store.changedBy = 'somebody')),
      'not taken back': () =>
        edited((store) => {
          const name = () => ({ short: 'cat', whole: 'allow /usr/bin/cat' });
          store.overtaken = { chain: 'undo', name };
        }),
      'to be confirmed': () => edited((store) => (store.pending = pending)),
    }),
    entry(ImpactLine, {
      'more of the past': { impact: { of: 200, more: 12 } },
      'nearly everything': {
        impact: { of: 200, more: 180, widening: { whose: 'everybody', shown: shown('*'), kind: 'anything' } },
      },
      'of a folder': {
        impact: {
          of: 200,
          more: 90,
          widening: { whose: 'agent', shown: shown(HOSTILE), kind: 'programs', folder: shown(DEEP) },
        },
      },
    }),
    entry(LooseningList, { every: { loosenings: LOOSENINGS } }),
    entry(Reach, {
      exact: { reach: reach('/usr/bin/git', { exact: { args: ['log', '-n', '20', ''], folder: '/home/mina/src' } }) },
      any: { reach: reach('docker', 'any') },
      'in a row': {
        reach: reach('/usr/bin/npm', { exact: { args: ['test', '--silent'], folder: '/srv/work' } }, '/srv/work'),
        words: 'row',
      },
      files: { reach: { kind: 'files', below: shown('/home/mina/src'), names: shown('*.ts') } },
      connection: {
        reach: { kind: 'crossing', destination: shown('docs.rs:443'), place: 'internet', within: shown(DEEP) },
      },
      registries: { reach: { kind: 'registries', group: shown('cargo') } },
      hostile: { reach: reach(`/usr/bin/\u202e${'x'.repeat(120)}`, { exact: { args: [ESCAPED], folder: DEEP } }) },
    }),
    entry(RuleSaid, Object.fromEntries(Object.entries(RULES_SAID).map(([name, said]) => [name, { said }]))),
    entry(Trace, {
      asked: { steps: missed('git') },
      contained: { steps: tested('make').trace },
      long: {
        steps: [
          { kind: 'opaque', cause: 'redirect', text: ESCAPED },
          { kind: 'entry', pattern: DEEP, agent: ESCAPED, fit: 'other-file' },
        ],
      },
    }),
    entry(UndoRedo, {
      neither: able(null, null),
      both: able('allow cat in src', 'open storefront for coder'),
      'only back': able(`allow ${DEEP} in ${DEEP}`, null),
    }),
    entry(WindowedList, {
      'a few': {
        items: [{ name: 'one' }, { name: 'two' }],
        keyOf: nameOf,
        label: 'Few',
        row: item,
      },
      'with long words': {
        items: [{ name: 'wörd'.repeat(99) }],
        keyOf: nameOf,
        label: 'Long',
        row: item,
      },
    }),
  ],
};
