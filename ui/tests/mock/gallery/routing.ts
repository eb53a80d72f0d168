import RouteForm from '../../../src/components/routing/RouteForm.svelte';
import RouteRow from '../../../src/components/routing/RouteRow.svelte';
import Routing from '../../../src/components/routing/Routing.svelte';
import Sessions from '../../../src/components/routing/Sessions.svelte';
import type { RouteScopeView, RoutingView } from '../../../src/lib/protocol';
import type { RoutingStore } from '../../../src/stores/routing.svelte';
import { routing as sampleRouting, scope, session } from '../routing';
import { shown } from '../text';
import { entry, type Area } from './entry';
import { LOOSENINGS } from './forms';
import { DEEP, ESCAPED, HOSTILE, nothing, NOW, world, wrong } from './world';

const view = sampleRouting(NOW);
const [all, coder] = view.scopes;
if (!all || !coder) throw new Error('routes to look at');

const row = (of: RouteScopeView, busy = false) => ({ scope: of, nodes: view.nodes, busy, onchange: nothing });

const form = (differs: object = {}) => ({
  scope: null,
  nodes: view.nodes,
  busy: false,
  error: null,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});

async function section(differs: Partial<RoutingView> = {}, change: (store: RoutingStore) => void = nothing) {
  const { routing } = await world((mock) => (mock.routes = { ...mock.routes, ...differs }));
  await routing.load();
  change(routing);
  return { store: routing, now: NOW, delay: 1_500 };
}

const sessions = (differs: object = {}) => ({
  sessions: view.sessions,
  now: NOW,
  busy: false,
  onrevoke: nothing,
  ...differs,
});

const problem = {
  ...coder,
  effective: { ...coder.effective, problem: `exec host=sandbox requires a runtime ${DEEP}` },
};

export const routing: Area = {
  name: 'routing',
  entries: [
    entry(
      RouteRow,
      {
        'all agents': row(all),
        'on a node': row(coder),
        'with a problem': row(problem),
        busy: row(coder, true),
        hostile: row({ ...scope('x', { host: 'node', node: ESCAPED }), shown: shown(HOSTILE) }),
      },
      'list',
    ),
    entry(RouteForm, {
      add: form(),
      'all agents': form({ scope: all }),
      change: form({ scope: coder }),
      busy: form({ scope: coder, busy: true }),
      wrong: form({
        error: wrong('invalid', 'agent: expected another one', { field: 'agent', expected: { kind: 'agent-name' } }),
      }),
    }),
    entry(Sessions, {
      some: sessions(),
      none: sessions({ sessions: [] }),
      busy: sessions({ busy: true }),
      hostile: sessions({
        sessions: [session('h', { agentShown: shown(HOSTILE), sessionShown: shown(HOSTILE) }, NOW)],
      }),
    }),
    entry(Routing, {
      some: () => section(),
      'no sandbox': () =>
        section({
          sessions: [],
          nodes: [],
          sandbox: { kind: 'bubblewrap', network: false, missing: 'expected bwrap in /usr/bin' },
        }),
      broken: () => section({ broken: `${DEEP}: line 4: expected a comma` }),
      failed: () => section({}, (store) => (store.error = wrong('store', ESCAPED))),
      'to be confirmed': () =>
        section(
          {},
          (store) => (store.unconfirmed = { loosenings: LOOSENINGS.slice(4, 5), apply: () => Promise.resolve(true) }),
        ),
    }),
  ],
};
