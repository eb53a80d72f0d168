import { afterEach, expect, test } from 'vitest';
import { CATALOGUES, type Locale, setLocale } from '../../src/lib/i18n/index.svelte';
import type { RuleEdit } from '../../src/lib/protocol';
import { beginningWith } from '../../src/lib/rules';
import { DocumentStore } from '../../src/stores/document.svelte';
import { Feed } from '../../src/stores/feed.svelte';
import { RulesStore } from '../../src/stores/rules.svelte';
import { MockBackend } from '../mock/backend';

const ON: RuleEdit = { kind: 'switch-preset', name: 'everyday', to: 'on' };
const FOLDER = '/home/mina/src/storefront';

afterEach(() => setLocale('en'));

async function rules() {
  const mock = new MockBackend();
  const store = new RulesStore(new Feed(mock));
  await store.look();
  const preset = () => store.view?.presets.find(({ name }) => name === 'everyday')?.switch;
  const folders = () => store.view?.workspaces.map(({ rule }) => rule.id);
  const sent = () => mock.calls.filter(({ name }) => name === 'editRules').length;
  return { mock, store, preset, folders, sent };
}

async function page() {
  const mock = new MockBackend();
  const store = new DocumentStore(new Feed(mock));
  await store.load();
  const patterns = () => store.view?.scopes.find(({ scope }) => scope === '*')?.entries.map(({ pattern }) => pattern);
  return { mock, store, patterns };
}

test('a page takes back what was changed on it and nothing of another page', async () => {
  const { store, preset, folders } = await rules();
  const before = folders();
  await store.edit([{ kind: 'remove-rule', id: 'w-1' }], 'folders');
  await store.edit([ON], 'rules');
  expect(store.next('undo', 'folders')?.name().short).toBe('close engine');
  expect(store.next('undo', 'rules')?.name().short).toBe('switch on “Everyday reading”');
  expect(await store.undo('folders')).toBe(true);
  expect([preset(), folders()]).toEqual(['on', before]);
  expect(store.next('undo', 'folders'), 'there is nothing more of this page').toBe(null);
  expect(await store.undo('folders')).toBe(false);
  expect(preset()).toBe('on');
  expect(store.next('redo', 'rules')).toBe(null);
  expect(await store.undo('rules')).toBe(true);
  expect(preset()).toBe('off');
});

test('what something else changed since is not taken back, and that is said', async () => {
  const { mock, store, sent } = await rules();
  await store.edit(
    [{ kind: 'add-rule', rule: { agent: '*', effect: 'deny', program: 'rm', arguments: 'any' } }],
    'rules',
  );
  const id = store.view?.rules.at(-1)?.rule.id ?? '';
  // Another door says something else under the same id.
  const other = mock.ruleView.rules.find(({ rule }) => rule.id === id);
  if (!other) throw new Error('a rule');
  other.rule = { ...other.rule, program: 'git' };
  mock.ruleView = { ...mock.ruleView, hash: 'newer' };
  await store.load();
  const before = sent();
  expect(await store.undo('rules')).toBe(false);
  expect([sent(), store.overtaken?.chain]).toEqual([before, 'undo']);
  expect(store.overtaken?.name().whole).toBe('refuse rm');
  expect(store.next('undo', 'rules'), 'it is not offered again').toBe(null);
  expect(store.view?.rules.some(({ rule }) => rule.id === id)).toBe(true);
});

test('a change that others made meanwhile of something else stays, and is never part of a step', async () => {
  const { mock, store } = await rules();
  await store.edit([ON], 'rules');
  const first = mock.ruleView.presets.find(({ name }) => name === 'files');
  if (!first) throw new Error('a preset');
  first.switch = 'on';
  mock.ruleView = { ...mock.ruleView, hash: 'newer' };
  await store.load();
  expect(await store.undo('rules')).toBe(true);
  const on = store.view?.presets.filter((preset) => preset.switch === 'on').map(({ name }) => name);
  expect(on).toEqual(['files']);
});

test('an edit that somebody else’s followed at once has no step back, as the two cannot be told apart', async () => {
  const { mock, store } = await rules();
  const backend = store.feed.backend as MockBackend;
  const edit = backend.editRules;
  backend.editRules = async (params) => {
    const result = await edit(params);
    mock.ruleView = { ...mock.ruleView, hash: 'theirs' };
    return result;
  };
  expect(await store.edit([ON], 'rules')).toBe(true);
  expect(store.next('undo', 'rules')).toBe(null);
});

test('an edit that changed nothing has no step back', async () => {
  const { mock, store } = await rules();
  mock.editRules = () => Promise.resolve({ hash: mock.ruleView.hash, applied: true, loosenings: [], undo: [] });
  expect(await store.edit([ON], 'rules')).toBe(true);
  expect(store.next('undo', 'rules')).toBe(null);
});

test('a folder that was opened otherwise since stays as it is', async () => {
  const { mock, store } = await rules();
  const opened = store.view?.workspaces.find(({ rule }) => rule.id === 'w-1')?.rule;
  if (!opened) throw new Error('a folder');
  await store.edit([{ kind: 'remove-rule', id: 'w-1' }], 'folders');
  const { folder, agent } = opened;
  const again = { agent, folder, attendance: 'unattended' as const };
  await mock.editRules({
    baseHash: mock.ruleView.hash,
    edits: [{ kind: 'open-workspace', rule: again }],
    confirmed: true,
  });
  await store.load();
  expect(await store.undo('folders')).toBe(false);
  expect(store.overtaken?.name().short).toBe('close engine');
});

test('a step back that loosens waits for a word of its own and is no new change of the page', async () => {
  const { mock, store, preset } = await rules();
  await store.edit([ON], 'rules');
  await store.edit([{ ...ON, to: 'off' }], 'rules');
  mock.loosens = [{ scope: '*', rule: 'preset', from: '', to: 'everyday: x' }];
  expect(await store.undo('rules')).toBe(false);
  expect(store.pending).toEqual({ loosenings: mock.loosens, impact: null, isNew: false });
  expect(await store.confirm()).toBe(true);
  expect(preset()).toBe('on');
  expect(store.next('redo', 'rules')?.name().short).toBe('switch off “Everyday reading”');
  expect(store.next('undo', 'rules')?.name().short).toBe('switch on “Everyday reading”');
});

test('policy and allowlist take back their own changes of the one document', async () => {
  const { mock, store, patterns } = await page();
  await store.edit([{ kind: 'add-entry', agent: '*', pattern: '/usr/bin/rg' }], 'allowlist');
  await store.edit([{ kind: 'set-policy', scope: 'coder', field: 'security', value: 'deny' }], 'policy');
  expect(store.next('undo', 'policy')?.name().short).toBe('Agent coder, Security: allowlist → deny');
  // A use of an entry is no change of it.
  const used = mock.view.scopes.find(({ scope }) => scope === '*')?.entries.at(-1);
  if (!used) throw new Error('an entry');
  used.lastUsedAtMs = 5;
  mock.changeElsewhere('upkeep');
  await store.load();
  expect(await store.undo('allowlist')).toBe(true);
  expect(patterns()).toEqual(['ls', 'cat']);
  const coder = () => store.view?.scopes.find(({ scope }) => scope === 'coder')?.security;
  expect(coder()).toBe('deny');
  const there = mock.view.scopes.find(({ scope }) => scope === 'coder');
  if (!there) throw new Error('a scope');
  there.security = 'full';
  mock.changeElsewhere();
  await store.load();
  expect(await store.undo('policy')).toBe(false);
  expect([coder(), store.overtaken?.name().short]).toEqual(['full', 'Agent coder, Security: allowlist → deny']);
});

test('an entry that somebody added again meanwhile does not come twice', async () => {
  const { mock, store, patterns } = await page();
  const entry = store.view?.scopes.find(({ scope }) => scope === '*')?.entries[0];
  if (!entry) throw new Error('an entry');
  await store.edit([{ kind: 'delete-entry', agent: '*', entry: entry.id }], 'allowlist');
  await mock.editDocument({
    baseHash: mock.view.hash,
    edits: [{ kind: 'add-entry', agent: '*', pattern: entry.pattern }],
    confirmed: true,
  });
  await store.load();
  expect(await store.undo('allowlist')).toBe(false);
  expect(patterns()?.filter((pattern) => pattern === entry.pattern)).toHaveLength(1);
});

test('a change is named by what it is about, short and whole', async () => {
  const { store } = await rules();
  const agent = 'coder';
  const cases: [RuleEdit, string, string][] = [
    [
      {
        kind: 'add-rule',
        rule: {
          agent,
          effect: 'allow',
          program: '/usr/bin/cat',
          arguments: { exact: { args: ['a b'], folder: '/home/mina/src' } },
        },
      },
      'allow cat a b in src',
      'allow /usr/bin/cat a b in /home/mina/src',
    ],
    [
      { kind: 'add-rule', rule: { agent, effect: 'deny', program: 'git', arguments: beginningWith('push') } },
      'refuse git push',
      'refuse git push',
    ],
    [
      { kind: 'open-workspace', rule: { agent, folder: '/srv/work', attendance: 'attended' } },
      'open work for coder',
      'open /srv/work for coder',
    ],
    [
      { kind: 'add-call-rule', rule: { agent, effect: 'allow', about: { host: { host: 'docs.example.org' } } } },
      'allow “Fetching from docs.example.org”',
      'allow “Fetching from docs.example.org”',
    ],
    [{ kind: 'remove-rule', id: 'r-2' }, 'remove “allow git log”', 'remove “allow /usr/bin/git log”'],
    [
      {
        kind: 'replace-rule',
        id: 'r-3',
        rule: { agent, effect: 'allow', program: '/usr/bin/npm', arguments: beginningWith('test'), folder: FOLDER },
      },
      'change “allow npm test in storefront”',
      `change “allow /usr/bin/npm test in ${FOLDER}”`,
    ],
  ];
  for (const [edit, short, whole] of cases) {
    expect(await store.edit([edit], 'rules'), short).toBe(true);
    expect(store.next('undo', 'rules')?.name()).toEqual({ short, whole });
  }
  for (const locale of Object.keys(CATALOGUES) as Locale[]) {
    setLocale(locale);
    expect(store.next('undo', 'rules')?.name().short).toContain('npm test');
  }
  expect(store.next('undo', 'rules')?.name().short, 'in the language of now').not.toContain('change');
});

test('many changes at once are counted behind the first', async () => {
  const { store } = await rules();
  await store.edit(
    [
      { kind: 'remove-rule', id: 'r-1' },
      { kind: 'remove-rule', id: 'r-2' },
    ],
    'rules',
  );
  const name = store.next('undo', 'rules')?.name();
  expect(name?.short).toBe('remove “refuse git push” and 1 more');
  expect(name?.whole).toBe('remove “refuse git push”, remove “allow /usr/bin/git log”');
});
