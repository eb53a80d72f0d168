import FilterForm from '../../../src/components/forward/FilterForm.svelte';
import HandOn from '../../../src/components/forward/HandOn.svelte';
import TargetCard from '../../../src/components/forward/TargetCard.svelte';
import TargetForm from '../../../src/components/forward/TargetForm.svelte';
import type { ForwardTargetView, ForwardView, SampleResult } from '../../../src/lib/protocol';
import { connections as sampleConnections } from '../connections';
import { forward as sampleForward, target } from '../forward';
import { shown } from '../text';
import { entry, type Area } from './entry';
import { DEEP, ESCAPED, HOSTILE, nothing, NOW, world, wrong } from './world';

const view = sampleForward(NOW);
const { gateways } = sampleConnections(NOW);
const [hook, command, gateway] = view.targets;
if (!hook || !command || !gateway) throw new Error('targets of each kind');

const card = (of: ForwardTargetView, sample: SampleResult | 'sending' | null = null) => ({
  target: of,
  gateways,
  sample,
  onedit: nothing,
  onremove: nothing,
  onsample: nothing,
});

const form = (differs: object = {}) => ({
  target: null,
  gateways,
  gone: false,
  busy: false,
  error: null,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});

const filter = (differs: object = {}) => ({
  forward: view,
  busy: false,
  error: null,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});

async function section(differs: Partial<ForwardView> = {}) {
  const forward = { ...view, ...differs };
  const { connections } = await world((mock) => (mock.gateways = { ...mock.gateways, forward }));
  await connections.load();
  return { forward, gateways, store: connections };
}

const lost = { waiting: 0, delivered: 1, failed: 4, dropped: 12, notCounted: 2 };

export const forward: Area = {
  name: 'handing on',
  entries: [
    entry(TargetCard, {
      webhook: card(hook),
      'command, fails': card(command),
      gateway: card(gateway),
      'gateway gone': card(target('gone', { place: { kind: 'gateway', gateway: 'nowhere', mayAllow: true } })),
      off: card(target('off', { enabled: false })),
      'gave up': card(
        target('gave-up', { now: { ...lost, failure: { atMs: NOW - 9_000, text: ESCAPED, retries: false } } }),
      ),
      'sample on its way': card(hook, 'sending'),
      'sample delivered': card(hook, { kind: 'delivered', ms: 87 }),
      'sample failed': card(hook, { kind: 'failed', text: ESCAPED }),
      hostile: card(target('hostile', { name: shown(HOSTILE), place: { kind: 'command', argv: [DEEP, ESCAPED] } })),
    }),
    entry(TargetForm, {
      add: form(),
      webhook: form({ target: hook }),
      command: form({ target: command }),
      gateway: form({ target: gateway }),
      gone: form({ target: hook, gone: true }),
      busy: form({ target: hook, busy: true }),
      wrong: form({
        target: command,
        error: wrong('invalid', 'program', { field: 'program', expected: { kind: 'absolute-path' } }),
      }),
    }),
    entry(FilterForm, {
      some: filter(),
      everything: filter({ forward: { ...view, agentFilter: [], sessionFilter: [] } }),
      busy: filter({ busy: true }),
      wrong: filter({
        error: wrong('invalid', 'agents: too many', {
          field: 'agents',
          expected: { kind: 'filters', count: 64, length: 200 },
        }),
      }),
    }),
    entry(HandOn, {
      some: () => section(),
      off: () => section({ enabled: false }),
      none: () => section({ targets: [] }),
      broken: () => section({ broken: `${DEEP}: line 4: expected a comma` }),
    }),
  ],
};
