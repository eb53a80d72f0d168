import PetChoice from '../../../src/components/pets/PetChoice.svelte';
import Pets from '../../../src/components/pets/Pets.svelte';
import PetServer from '../../../src/components/pets/PetServer.svelte';
import PetSessions from '../../../src/components/pets/PetSessions.svelte';
import PetSourceCard from '../../../src/components/pets/PetSourceCard.svelte';
import PetSourceForm from '../../../src/components/pets/PetSourceForm.svelte';
import type { PetChoiceView, PetServerView, PetSourceView, PetsView } from '../../../src/lib/protocol';
import * as samples from '../pets';
import { shown } from '../text';
import { PROBLEMS } from './connections';
import { after, entry, unfolds, type Area } from './entry';
import { DEEP, HOSTILE, nothing, NOW, world, wrong } from './world';

const view = samples.pets(NOW);
const [goose] = view.sources;
if (!goose) throw new Error('a server to look at');

const choice = (of: PetChoiceView, busy = false) => ({ choice: of, now: NOW, busy, onforget: nothing });
const long = samples.hostileSession(NOW).remembered[0] ?? samples.choice('c', NOW);

const server = (differs: Partial<PetServerView> = {}, more: object = {}) => ({
  server: { ...view.server, ...differs },
  fixed: false,
  busy: false,
  onturn: () => Promise.resolve(true),
  ...more,
});

const sessions = (differs: object = {}) => ({
  sessions: view.server.sessions,
  now: NOW,
  busy: false,
  ondisconnect: nothing,
  onforget: nothing,
  ...differs,
});

const card = (of: PetSourceView, busy = false) => ({
  source: of,
  now: NOW,
  busy,
  onedit: nothing,
  onremove: nothing,
  onretry: nothing,
});

const form = (differs: object = {}) => ({
  source: null,
  gone: false,
  busy: false,
  error: null,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});

async function section(differs: Partial<PetsView> = {}) {
  const pets = { ...view, ...differs };
  const { connections } = await world((mock) => (mock.gateways = { ...mock.gateways, pets }));
  await connections.load();
  return { pets, now: NOW, store: connections };
}

export const pets: Area = {
  name: 'companion clients',
  entries: [
    entry(
      PetChoice,
      {
        approved: choice(samples.choice('c', NOW)),
        denied: choice(samples.choice('c', NOW, { approved: false })),
        whole: after(choice(samples.choice('c', NOW)), unfolds),
        busy: choice(samples.choice('c', NOW), true),
        hostile: choice({ ...long, tool: shown(HOSTILE) }),
      },
      'list',
    ),
    entry(PetServer, {
      serving: server(),
      off: server({ enabled: false, sessions: [] }),
      blocked: server({ address: undefined }),
      busy: server({}, { busy: true }),
      'file broken': server({}, { fixed: true }),
    }),
    entry(PetSessions, {
      some: sessions(),
      none: sessions({ sessions: [] }),
      busy: sessions({ busy: true }),
      hostile: sessions({ sessions: [samples.hostileSession(NOW)] }),
    }),
    entry(PetSourceCard, {
      ...Object.fromEntries(view.sources.map((one) => [`${one.id}, ${one.state.kind}`, card(one)])),
      ...Object.fromEntries(
        PROBLEMS.map((problem) => [
          `stopped, ${problem.kind}`,
          card(samples.source(problem.kind, { state: { kind: 'stopped', problem } })),
        ]),
      ),
      busy: card(goose, true),
      hostile: card(samples.hostileSource(NOW)),
    }),
    entry(PetSourceForm, {
      add: form(),
      change: form({ source: goose }),
      gone: form({ source: goose, gone: true }),
      busy: form({ source: goose, busy: true }),
      wrong: form({ error: wrong('invalid', 'url', { field: 'url', expected: { kind: 'socket-address' } }) }),
      'cannot be written': form({ source: goose, error: wrong('store', `${DEEP}: read-only`) }),
    }),
    entry(Pets, {
      some: () => section(),
      none: () => section({ server: { ...view.server, enabled: false, sessions: [] }, sources: [] }),
      broken: () => section({ broken: `${DEEP}: line 4: expected a comma` }),
    }),
  ],
};
