import AtHand from '../../../src/components/folders/AtHand.svelte';
import DestinationDialog from '../../../src/components/folders/DestinationDialog.svelte';
import FolderCard from '../../../src/components/folders/FolderCard.svelte';
import FolderChanges from '../../../src/components/folders/FolderChanges.svelte';
import FolderConnections from '../../../src/components/folders/FolderConnections.svelte';
import FolderPart from '../../../src/components/folders/FolderPart.svelte';
import FolderPlaces from '../../../src/components/folders/FolderPlaces.svelte';
import FolderReachedList from '../../../src/components/folders/FolderReached.svelte';
import PlaceDialog from '../../../src/components/folders/PlaceDialog.svelte';
import { openFolders, placesOf } from '../../../src/lib/folders';
import type { CallRule } from '../../../src/lib/protocol';
import { atHand, doings, registries } from '../folders';
import { FOLDER } from '../kept';
import { callViewOf, rules as sampleRules } from '../rules';
import { shown } from '../text';
import { entry, type Area } from './entry';
import { DEEP, HOSTILE, nothing, NOW, words, world, wrong } from './world';

const view = sampleRules(NOW);
const open = openFolders(view.workspaces);
const at = (folder: string) => {
  const found = open.find((one) => one.folder === folder);
  if (!found) throw new Error(`${folder} is not open`);
  return found;
};

const rule = (id: string, about: CallRule['about'], differs: Partial<CallRule> = {}) =>
  callViewOf({ id, agent: 'coder', effect: 'allow', about, createdAtMs: NOW, from: 'typed', ...differs });

const CALLS = [
  rule('one', { crossing: { host: 'docs.rs', port: 443, place: 'internet', within: FOLDER } }),
  rule('two', { registries: { group: 'cargo', within: FOLDER } }),
  rule('three', { registries: { group: 'npm', within: FOLDER } }, { effect: 'deny' }),
  rule('any', { registries: { group: 'go' } }),
];

const happened = { runs: 0, reached: [], reachedMore: 0, changes: [], changesMore: 0 };
const seen = (folder: string) => ({ folder, ...happened, ...doings(NOW)[folder] });

async function card(folder: string, known: 'known' | 'not yet' = 'known', disabled = false) {
  const { feed } = await world();
  return {
    open: at(folder),
    doings: known === 'known' ? seen(folder) : null,
    calls: CALLS,
    registries,
    feed,
    now: NOW,
    disabled,
    onchange: nothing,
    onremove: nothing,
    onattend: nothing,
    onhistory: nothing,
    onedit: nothing,
    onadd: nothing,
    onplace: nothing,
  };
}

async function changes(folder: string, differs: object = {}) {
  const { feed } = await world();
  const { changes, changesMore } = seen(folder);
  return { changes, more: changesMore, feed, now: NOW, onhistory: nothing, ...differs };
}

const connections = (differs: object = {}) => ({
  folder: FOLDER,
  agent: 'coder',
  rules: CALLS,
  registries,
  now: NOW,
  disabled: false,
  onedit: nothing,
  onadd: nothing,
  ...differs,
});

const destination = (differs: object = {}) => ({
  folder: shown(FOLDER),
  busy: false,
  error: null,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});
const place = (differs: object = {}) => ({ ...destination(), named: '', ...differs });
const found = (differs: object = {}) => ({ found: atHand(), now: NOW, disabled: false, onopen: nothing, ...differs });

export const folders: Area = {
  name: 'folders',
  entries: [
    entry(FolderCard, {
      'much behind it': () => card(FOLDER),
      'hostile names': () => card('/srv/nightly'),
      'not known yet': () => card('/home/mina/src/storefront', 'not yet'),
      disabled: () => card('/home/mina/src/old', 'known', true),
      'a long name': () => card(view.workspaces[3]?.rule.folder ?? ''),
    }),
    entry(FolderPart, {
      'has something': { title: '3 places reached', has: true, testid: 'part', children: words('docs.rs:443') },
      'has nothing': { title: 'Nothing reached', has: false, testid: 'part', children: words('Nothing.') },
    }),
    entry(FolderReachedList, {
      some: { reached: seen(FOLDER).reached, more: 0 },
      'long, and more': { reached: seen('/srv/nightly').reached, more: 12 },
      nothing: { reached: [], more: 0 },
    }),
    entry(FolderChanges, {
      some: () => changes(FOLDER),
      nothing: () => changes('/srv/nightly'),
    }),
    entry(FolderConnections, {
      some: connections(),
      none: connections({ rules: [] }),
      disabled: connections({ disabled: true }),
    }),
    entry(FolderPlaces, {
      some: { places: placesOf(at('/srv/nightly')), disabled: false, onedit: nothing, onadd: nothing },
      none: { places: [], disabled: false, onedit: nothing, onadd: nothing },
      disabled: { places: placesOf(at('/srv/nightly')), disabled: true, onedit: nothing, onadd: nothing },
    }),
    entry(AtHand, {
      found: found(),
      disabled: found({ disabled: true }),
      hostile: found({ found: { ...atHand(DEEP), agentShown: shown(HOSTILE) } }),
    }),
    entry(DestinationDialog, {
      rest: destination(),
      wrong: destination({ error: wrong('invalid', 'expected HOST:PORT, got "docs.rs": the port is missing') }),
      'busy, long name': destination({ busy: true, folder: shown(DEEP) }),
    }),
    entry(PlaceDialog, {
      rest: place(),
      named: place({ named: '/home/mina/.cache/shared' }),
      wrong: place({
        named: 'shared',
        error: wrong('invalid', 'expected an absolute path', { expected: { kind: 'absolute-path' } }),
      }),
      'busy, long name': place({ busy: true, named: DEEP, folder: shown(DEEP) }),
    }),
  ],
};
