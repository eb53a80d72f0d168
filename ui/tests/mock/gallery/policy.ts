import EntryDialog from '../../../src/components/allowlist/EntryDialog.svelte';
import EntryTable from '../../../src/components/allowlist/EntryTable.svelte';
import TestPanel from '../../../src/components/allowlist/TestPanel.svelte';
import BesideEntries from '../../../src/components/policy/BesideEntries.svelte';
import EffectiveTable from '../../../src/components/policy/EffectiveTable.svelte';
import FarNotes from '../../../src/components/policy/FarNotes.svelte';
import NativeRules from '../../../src/components/policy/NativeRules.svelte';
import StorePicker from '../../../src/components/policy/StorePicker.svelte';
import SwitchRow from '../../../src/components/policy/SwitchRow.svelte';
import ToolsTable from '../../../src/components/policy/ToolsTable.svelte';
import type { PolicyAccess, PolicyRead } from '../../../src/lib/protocol';
import { DocumentStore } from '../../../src/stores/document.svelte';
import { inForce, PolicyDraft, type Switch } from '../../../src/stores/policy.svelte';
import type { MockBackend } from '../backend';
import { document as sampleDocument } from '../document';
import { far, hostile, keyOf, native, read, store, unavailable } from '../policies';
import { shown } from '../text';
import { after, entry, press, shows, types, type Area } from './entry';
import { DEEP, ESCAPED, HOSTILE, nothing, NOW, world } from './world';

const entries = sampleDocument(NOW).scopes.flatMap((scope) => scope.entries);

const [generated] = entries.filter(({ kind }) => kind === 'generated');
const [path] = entries.filter(({ kind }) => kind === 'path');
if (!generated || !path) throw new Error('entries of both kinds');

const table = (differs: object = {}) => ({
  entries,
  now: NOW,
  selected: new Set<string>(),
  disabled: false,
  onselect: nothing,
  onselectall: nothing,
  onedit: nothing,
  ondelete: nothing,
  ...differs,
});

const dialog = (differs: object = {}) => ({
  entry: null,
  gone: false,
  busy: false,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});

async function tries(change: (mock: MockBackend) => void = nothing, agent = 'coder') {
  const { mock } = await world(change);
  return { backend: mock, agent, hash: 'hash-1' };
}

const tried = (command: string, change?: (mock: MockBackend) => void) =>
  after(() => tries(change), types('test-command', command), shows('[data-testid="test-verdict"], .note'));

/** The document of another machine, as it was read. */
async function elsewhere(reading: PolicyRead, change: (mock: MockBackend) => void = nothing) {
  const { policies } = await world((mock) => {
    mock.farReads[keyOf({ gateway: 'studio' })] = reading;
    change(mock);
  });
  await policies.load();
  policies.select(keyOf({ gateway: 'studio' }));
  await policies.load();
  return { policies, delay: 1_500, ongo: nothing };
}

const without = (access: PolicyAccess) => () => elsewhere(unavailable(access));

async function picker(change: (mock: MockBackend) => void = nothing, chosen?: string) {
  const { policies } = await world(change);
  await policies.load();
  if (chosen !== undefined) policies.select(chosen);
  return { policies };
}

/** The draft of this machine's document at a scope. */
async function draft(scope: string, change: (draft: PolicyDraft) => void = nothing) {
  const { feed } = await world();
  const store = new DocumentStore(feed);
  await store.load();
  const made = new PolicyDraft(store);
  made.scope = scope;
  change(made);
  await made.preview();
  const { view } = store;
  if (!view) throw new Error('it was read');
  return { draft: made, view };
}

async function row(scope: string, field: Switch, change: (draft: PolicyDraft) => void = nothing, disabled = false) {
  const { draft: made, view } = await draft(scope, change);
  const meaning = made.wouldHold(scope)?.meaning ?? null;
  return { draft: made, field, effective: inForce(view, scope), meaning, disabled };
}

async function tools(change: (mock: MockBackend) => void = nothing) {
  const { mock } = await world(change);
  return { backend: mock, scope: 'coder' };
}

const natively = native().native;
if (!natively) throw new Error('rules of its own kind');

const { beside } = sampleDocument(NOW);
if (!beside) throw new Error('what runs beside entries');

export const policy: Area = {
  name: 'policy and allowlist',
  entries: [
    entry(EntryTable, {
      'every kind': table(),
      selected: table({ selected: new Set(['e1', 'e3']) }),
      disabled: table({ disabled: true }),
      'never counts': table({
        entries: [
          { ...path, pattern: 'git *', shown: shown('git *'), uncounted: { cause: 'words', lasts: 'ever' } },
          { ...path, id: 'moved', uncounted: { cause: 'elsewhere', lasts: 'now', what: shown(DEEP) } },
        ],
      }),
      hostile: table({
        entries: [
          { ...path, pattern: ESCAPED, shown: shown(HOSTILE), lastUsedCommand: shown(HOSTILE) },
          { ...path, id: 'deep', shown: shown(DEEP) },
        ],
      }),
    }),
    entry(EntryDialog, {
      add: dialog(),
      change: dialog({ entry: path }),
      gone: dialog({ entry: path, gone: true }),
      generated: dialog({ entry: generated }),
      busy: dialog({ entry: path, busy: true }),
    }),
    entry(TestPanel, {
      empty: () => tries(),
      'any agent': () => tries(nothing, '*'),
      allowed: tried('git status'),
      asked: tried('npm run build'),
      denied: tried('sudo reboot'),
      contained: tried('make all'),
      failed: tried('git status', (mock) => mock.fail('testCommand', 'invalid', ESCAPED)),
    }),
    entry(BesideEntries, {
      programs: { beside },
      nothing: { beside: { scopes: [], problems: [] } },
      hostile: {
        beside: {
          scopes: [{ agent: shown(HOSTILE), programs: [shown(DEEP)], folders: [shown(DEEP)], strict: true }],
          problems: [ESCAPED],
        },
      },
    }),
    entry(EffectiveTable, {
      'in force': () => draft('defaults'),
      'with a draft': () => draft('coder', (at) => at.set('coder', 'ask', 'off')),
    }),
    entry(SwitchRow, {
      inherited: () => row('home', 'security'),
      set: () => row('coder', 'ask'),
      changed: () => row('coder', 'security', (at) => at.set('coder', 'security', 'full')),
      'without effect': () => row('defaults', 'ask'),
      disabled: () => row('defaults', 'ask-fallback', nothing, true),
    }),
    entry(NativeRules, {
      some: { native: natively },
      none: { native: { defaultAction: 'deny', rules: [], leftOut: 0 } },
      hostile: {
        native: {
          ...natively,
          rules: [{ pattern: shown(HOSTILE), action: 'allow', enabled: true, description: shown(DEEP) }],
        },
      },
    }),
    entry(StorePicker, {
      'this machine': () => picker(),
      'a node': () => picker(nothing, keyOf({ gateway: 'studio', node: 'kitchen-pi' })),
      'not told by a node': () => picker(nothing, keyOf({ gateway: 'studio', node: 'mac-mini' })),
      'nodes not known, and more': () =>
        picker(
          (mock) => (mock.farStores = { stores: [store('studio', undefined, { nodesUnknown: ESCAPED })], leftOut: 12 }),
        ),
    }),
    entry(FarNotes, {
      'cannot be written': () =>
        elsewhere(read(far('h', 'allowlist', '/usr/bin/git'), { readOnly: { kind: 'no-hash' } })),
      'rules of its own kind': () => elsewhere(native()),
      disabled: () =>
        elsewhere(
          read(far('h', 'allowlist', '/usr/bin/git'), { readOnly: { kind: 'disabled', text: shown(HOSTILE) } }),
        ),
      'not taken': () => elsewhere(read(hostile(), { readOnly: { kind: 'not-taken' }, builtInKnown: false })),
      off: without({ kind: 'off' }),
      'not connected': without({ kind: 'not-connected' }),
      'not permitted': without({ kind: 'not-permitted' }),
      'not offered': without({ kind: 'not-offered' }),
      gone: without({ kind: 'gone' }),
      refused: without({ kind: 'refused', text: ESCAPED }),
      'no answer': without({ kind: 'no-answer', seconds: 20 }),
      malformed: without({ kind: 'malformed', text: `expected a hash ${DEEP}` }),
    }),
    entry(ToolsTable, {
      rest: () => tools(),
      explained: after(() => tools(), press('tools-show'), shows('[data-testid="tools-about"]')),
      failed: after(
        () => tools((mock) => mock.fail('explainTools', 'invalid', ESCAPED)),
        press('tools-show'),
        shows('[data-testid="tools-error"]'),
      ),
    }),
  ],
};
