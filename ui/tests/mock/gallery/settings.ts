import About from '../../../src/components/settings/About.svelte';
import Limits from '../../../src/components/settings/Limits.svelte';
import ResetDialog from '../../../src/components/settings/ResetDialog.svelte';
import SettingRow from '../../../src/components/settings/SettingRow.svelte';
import type { Status } from '../../../src/lib/protocol';
import { MockBackend } from '../backend';
import { entry, type Area } from './entry';
import { DEEP, ESCAPED, nothing, NOW, words } from './world';

const { status, settings: chosen } = new MockBackend();

const about = (differs: Partial<Status> = {}) => ({ status: { ...status, ...differs }, onreset: nothing });

const reset = (differs: object = {}) => ({
  title: 'Start a new document?',
  text: 'The old one is moved aside.',
  busy: false,
  delay: 1_500,
  onclose: nothing,
  onreset: nothing,
  ...differs,
});

export const settings: Area = {
  name: 'settings',
  entries: [
    entry(SettingRow, {
      'a control': {
        name: 'Theme',
        control: 'setting',
        children: words('<input id="setting" class="input" value="Dark" />'),
      },
      'words only': { name: 'Where the document is', children: words(DEEP) },
    }),
    entry(Limits, { usual: { limits: chosen.limits, onchange: nothing } }),
    entry(About, {
      works: about(),
      'document missing': about({ store: { kind: 'missing' } }),
      'document unreadable': about({ store: { kind: 'unreadable', problem: ESCAPED } }),
      'document in a database': about({ store: { kind: 'sqlite', database: DEEP } }),
      'socket taken': about({ socket: { kind: 'retrying', problem: ESCAPED }, socketPath: DEEP }),
      'socket off': about({ socket: { kind: 'off', reason: 'turned off' } }),
      'no tray, no notifications': about({ tray: 'missing', notifications: 'unknown' }),
      'nothing recorded': about({ recording: { kind: 'fails', sinceMs: NOW - 9_000, cause: 'read-only', text: DEEP } }),
      'too little of everything': about({
        shortages: ['files', 'processes'],
        display: { kind: 'failed', end: 'crashed' },
      }),
    }),
    entry(ResetDialog, {
      rest: reset(),
      busy: reset({ busy: true }),
      long: reset({ title: ESCAPED, text: `${DEEP} `.repeat(4) }),
    }),
  ],
};
