import CheckField from '../../../src/components/shared/CheckField.svelte';
import Choice from '../../../src/components/shared/Choice.svelte';
import ConfirmLoosening from '../../../src/components/shared/ConfirmLoosening.svelte';
import DenyAllDialog from '../../../src/components/shared/DenyAllDialog.svelte';
import Dialog from '../../../src/components/shared/Dialog.svelte';
import FieldError from '../../../src/components/shared/FieldError.svelte';
import FormDialog from '../../../src/components/shared/FormDialog.svelte';
import FormError from '../../../src/components/shared/FormError.svelte';
import FormField from '../../../src/components/shared/FormField.svelte';
import LastingPicker from '../../../src/components/shared/LastingPicker.svelte';
import SearchField from '../../../src/components/shared/SearchField.svelte';
import type { Lasting, Loosening, RuleSaid } from '../../../src/lib/protocol';
import { beginningWith } from '../../../src/lib/rules';
import { reach } from '../reach';
import { shown } from '../text';
import { after, entry, types, type Area } from './entry';
import { DEEP, ESCAPED, HOSTILE, markup, nothing, NOW, words, wrong } from './world';

const TAKEN = { field: 'name', text: 'Another one has this name.' };
const STALE = wrong('stale', 'the hash differs');

/** Ways in which a change loosens, the last one with a name that is to be in the way. */
/** What a rule about commands says. */
const said = (differs: Partial<Extract<RuleSaid, { kind: 'commands' }>>): RuleSaid => ({
  kind: 'commands',
  effect: 'allow',
  reach: reach('/usr/bin/git', 'any'),
  end: {},
  ...differs,
});

const opened: RuleSaid = {
  kind: 'folder',
  folder: shown('/srv/work'),
  standing: 'open',
  attendance: 'unattended',
  places: [{ access: 'write', path: shown('/srv/cache') }],
  end: { session: shown('agent:main:main') },
};

export const RULES_SAID: Record<string, RuleSaid> = {
  allows: said({}),
  'refuses, for a time': said({ effect: 'deny', end: { untilMs: NOW + 7_200_000, uses: 3 } }),
  'opens a folder': opened,
  'closes a folder': { ...opened, standing: 'closed' },
  'about calls': { kind: 'calls', effect: 'allow', reach: { kind: 'host', host: shown('docs.example.org') }, end: {} },
  hostile: said({ reach: reach(ESCAPED, { exact: { args: [DEEP, HOSTILE], folder: DEEP } }) }),
};

export const LOOSENINGS: Loosening[] = [
  { scope: 'coder', field: 'ask', from: 'always', to: 'on-miss' },
  { scope: '*', field: 'security', from: 'deny', to: 'full' },
  { scope: '*', rule: 'preset', from: '', to: 'everyday' },
  { scope: 'coder', rule: 'allows', from: '', to: 'allow /usr/bin/git push' },
  {
    scope: 'coder',
    rule: 'allows',
    from: '',
    to: 'allow /usr/bin/npm test …',
    becomes: said({ reach: reach('/usr/bin/npm', beginningWith('test'), '/home/mina/src'), end: { uses: 5 } }),
    usually: 'rest-asks',
  },
  {
    scope: '*',
    rule: 'refuses-less',
    from: 'refuse git push …',
    to: 'refuse git push …',
    was: said({ effect: 'deny', reach: reach('git', beginningWith('push')) }),
    becomes: said({ effect: 'deny', reach: reach('git', beginningWith('push')), end: { untilMs: NOW + 7_200_000 } }),
    usually: 'rest-asks',
  },
  {
    scope: 'coder',
    rule: 'allows',
    from: '',
    to: 'allow in a box what runs in /srv/work',
    becomes: opened,
    usually: 'everything-asks',
  },
  { scope: '*', from: '', to: '/usr/bin/rg', usually: 'everything-asks' },
  { scope: 'main', route: 'host', from: 'sandbox', to: 'gateway' },
  { scope: ESCAPED, field: 'ask-fallback', from: 'deny', to: 'full' },
];

const OPTIONS = [
  { value: 'deny', text: 'Deny' },
  { value: 'allowlist', text: 'Allowlist' },
  { value: 'full', text: 'Full' },
];

const choice = (differs: object = {}) => ({
  name: `choice-${JSON.stringify(differs)}`,
  label: 'Security',
  options: OPTIONS,
  value: 'allowlist',
  onpick: nothing,
  ...differs,
});

const BUTTONS = markup('<button type="button" class="btn solid">Keep</button>');

const field = (differs: object = {}) => ({
  id: `field-${Object.keys(differs).join('-')}`,
  testid: 'field',
  key: 'name',
  label: 'Name',
  help: 'As you call it.',
  value: 'studio',
  ...differs,
});

const lasting = (value: Lasting | null, differs: object = {}) => ({
  name: `lasting-${JSON.stringify([value, differs])}`,
  kinds: ['uses', 'for', 'session', 'always'] as const,
  value,
  onpick: nothing,
  ...differs,
});

export const forms: Area = {
  name: 'forms',
  entries: [
    entry(
      CheckField,
      {
        off: { testid: 'check', label: 'Start with the desktop', checked: false },
        'on, with help': {
          testid: 'check',
          label: 'Runs on nodes',
          help: 'Nodes of this gateway may run commands here.',
          checked: true,
        },
        long: { testid: 'check', label: ESCAPED, help: ESCAPED, checked: true },
      },
      'fields',
    ),
    entry(Choice, {
      one: choice(),
      'without effect': choice({ off: true }),
      disabled: choice({ disabled: true }),
      many: choice({
        options: Array.from({ length: 9 }, (_, at) => ({ value: String(at), text: `Choice number ${at}` })),
        value: '4',
      }),
    }),
    entry(SearchField, {
      empty: { value: '', label: 'Search rules', testid: 'search' },
      filled: { value: 'git push', label: 'Search rules' },
    }),
    entry(LastingPicker, {
      'a number of times': lasting({ kind: 'uses', uses: 5 }),
      'no such number': after(lasting(null, { name: 'lasting-wrong' }), types('lasting-wrong-uses', '0')),
      'a time': lasting({ kind: 'for', ms: 3_600_000 }),
      'this session': lasting({ kind: 'session' }),
      always: lasting({ kind: 'always' }),
      'nothing else': lasting({ kind: 'always' }, { kinds: ['always'] }),
    }),
    entry(
      FormField,
      {
        filled: field(),
        wrong: field({ wrong: TAKEN, error: wrong('invalid', 'name: taken') }),
        'for a machine': field({ key: 'url', label: 'Address', value: `wss://${'long-label.'.repeat(20)}example` }),
        'for people': field({ mono: false, value: 'Mina’s tablet' }),
      },
      'fields',
    ),
    entry(FieldError, {
      'this field': {
        id: 'form',
        field: 'name',
        testid: 'field',
        wrong: TAKEN,
        error: wrong('invalid', 'name: taken'),
      },
      long: { id: 'form', field: 'name', testid: 'field', wrong: { field: 'name', text: ESCAPED }, error: STALE },
    }),
    entry(FormError, {
      stale: { error: STALE, testid: 'form-error' },
      'cannot be written': {
        error: wrong('store', `${DEEP}: Read-only file system (os error 30)`),
        testid: 'form-error',
      },
      'not foreseen': { error: wrong('internal', ESCAPED), testid: 'form-error' },
    }),
    entry(Dialog, {
      short: {
        title: 'Remove this gateway?',
        testid: 'dialog',
        onclose: nothing,
        children: words('It is forgotten.'),
        buttons: BUTTONS,
      },
      long: {
        title: ESCAPED,
        testid: 'dialog',
        onclose: nothing,
        children: words('A sentence of many. '.repeat(80)),
        buttons: markup(`<button type="button" class="btn">${'Keep it as it is '.repeat(3)}</button>`),
      },
    }),
    entry(FormDialog, {
      ready: {
        id: 'ready',
        testid: 'ready',
        title: 'Add a gateway',
        lead: 'It asks here from then on.',
        keep: 'Cancel',
        save: 'Add',
        ready: true,
        onclose: nothing,
        onsave: nothing,
        children: markup('<div class="field"><label for="in">Name</label><input id="in" class="input" /></div>'),
      },
      'not ready, keeping is usual': {
        id: 'unready',
        testid: 'unready',
        title: 'Open a folder',
        about: words('/home/mina/src/engine'),
        keep: 'Keep it closed',
        save: 'Open',
        usual: 'keep',
        ready: false,
        onclose: nothing,
        onsave: nothing,
        children: words('What runs there runs in a box.'),
      },
    }),
    entry(DenyAllDialog, {
      some: { waiting: 12, busy: false, onclose: nothing, ondeny: nothing },
      'under way': { waiting: 1, busy: true, onclose: nothing, ondeny: nothing },
    }),
    entry(ConfirmLoosening, {
      one: { loosenings: LOOSENINGS.slice(0, 1), delay: 1_500, onkeep: nothing, onapply: nothing },
      'many, with what they do': {
        loosenings: LOOSENINGS,
        impact: { of: 200, more: 64, widening: { whose: 'agent', shown: shown('coder'), kind: 'anything' } },
        of: 'harbor-office',
        delay: 1_500,
        onkeep: nothing,
        onapply: nothing,
      },
      'under way': { loosenings: LOOSENINGS.slice(1, 2), busy: true, delay: 1_500, onkeep: nothing, onapply: nothing },
    }),
  ],
};
