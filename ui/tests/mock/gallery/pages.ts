import Appearance from '../../../src/components/shared/Appearance.svelte';
import AgentsPage from '../../../src/pages/AgentsPage.svelte';
import AllowlistPage from '../../../src/pages/AllowlistPage.svelte';
import ConnectionsPage from '../../../src/pages/ConnectionsPage.svelte';
import FirstStepsPage from '../../../src/pages/FirstStepsPage.svelte';
import FoldersPage from '../../../src/pages/FoldersPage.svelte';
import HistoryPage from '../../../src/pages/HistoryPage.svelte';
import InboxPage from '../../../src/pages/InboxPage.svelte';
import MainPage from '../../../src/pages/MainPage.svelte';
import PolicyPage from '../../../src/pages/PolicyPage.svelte';
import PromptPage from '../../../src/pages/PromptPage.svelte';
import RulesPage from '../../../src/pages/RulesPage.svelte';
import SettingsPage from '../../../src/pages/SettingsPage.svelte';
import { none } from '../agents';
import { MockBackend } from '../backend';
import { connections } from '../connections';
import { WAITING } from '../plain';
import { entry, framed, type Area } from './entry';
import { NOW } from './world';

const { status } = new MockBackend();

const at = (page: string, start?: object) => framed('index', { page }, start);

const unreadable = { status: { ...status, store: { kind: 'unreadable', problem: 'expected a comma' } } };

/** Pages of a window, each in a frame: they are as large as their window, and there is one of them in it. */
export const pages: Area = {
  name: 'pages',
  entries: [
    entry(PromptPage, {
      ...Object.fromEntries(Object.keys(WAITING).map((name) => [name, framed('prompt', { card: name })])),
      'nothing waits': framed('prompt', {}, {}),
    }),
    entry(MainPage, { paused: at('inbox', { status: { ...status, paused: true, standing: { kind: 'paused' } } }) }),
    entry(FirstStepsPage, { due: at('inbox', { firstSteps: 'due' }) }),
    entry(InboxPage, {
      'much waits': at('inbox'),
      'nothing waits': at('inbox', {}),
      'nothing asks here': at('inbox', { agentsView: none(), gateways: { ...connections(NOW), gateways: [] } }),
    }),
    entry(AgentsPage, { several: at('agents'), none: at('agents', { agentsView: none() }) }),
    entry(AllowlistPage, { entries: at('allowlist'), unreadable: at('allowlist', unreadable) }),
    entry(RulesPage, { rules: at('rules') }),
    entry(FoldersPage, { folders: at('folders') }),
    entry(PolicyPage, { policy: at('policy') }),
    entry(HistoryPage, { lines: at('history'), empty: at('history', { lines: [] }) }),
    entry(ConnectionsPage, { several: at('connections') }),
    entry(SettingsPage, { settings: at('settings'), trouble: at('settings', unreadable) }),
    entry(Appearance, { 'theme and language': at('settings') }),
  ],
};
