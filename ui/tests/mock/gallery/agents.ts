import AgentCard from '../../../src/components/agents/AgentCard.svelte';
import AgentList from '../../../src/components/agents/AgentList.svelte';
import ChangePanel from '../../../src/components/agents/ChangePanel.svelte';
import OpenClawCards from '../../../src/components/agents/OpenClawCards.svelte';
import TryStep from '../../../src/components/agents/TryStep.svelte';
import WrittenNote from '../../../src/components/agents/WrittenNote.svelte';
import type { AgentPreview, AgentsView, AgentView, SampleRun } from '../../../src/lib/protocol';
import type { AgentsStore, Looking } from '../../../src/stores/agents.svelte';
import * as samples from '../agents';
import { connections as sampleConnections } from '../connections';
import { shown } from '../text';
import { after, entry, press, shows, type Area } from './entry';
import { DEEP, ESCAPED, nothing, NOW, world } from './world';

async function card(agent: AgentView, change: (store: AgentsStore) => unknown = nothing, brief = false) {
  const { agents } = await world((mock) => (mock.agentsView = { agents: [agent], others: [] }));
  await agents.load();
  await change(agents);
  return { agent, store: agents, now: NOW, brief };
}

async function list(view: AgentsView, brief = false) {
  const { agents, connections } = await world((mock) => (mock.agentsView = view));
  await Promise.all([agents.load(), connections.load()]);
  return { store: agents, connections, now: NOW, brief, ongo: nothing };
}

/** A change that is looked at, and what it comes to. */
async function panel(agent: AgentView, kind: Looking['kind'], preview?: AgentPreview) {
  const { agents } = await world((mock) => {
    mock.agentsView = { agents: [agent], others: [] };
    if (preview) mock.previews = [preview];
  });
  await agents.load();
  await (kind === 'connect' ? agents.connect(agent) : agents.takeBack(agent.name));
  if (!agents.looking) throw new Error('it is looked at');
  return { agent, looking: agents.looking, store: agents };
}

async function tries(sample?: SampleRun) {
  const { agents } = await world((mock) => {
    if (sample) mock.sample = sample;
    else mock.held.trySample = new Promise(() => {});
  });
  await agents.load();
  return { store: agents };
}

const sent = (sample: SampleRun | undefined, then: string) =>
  after(() => tries(sample), press('sample-send'), shows(`[data-testid="${then}"]`));

const hostile = samples.hostile(NOW).agents;
const [claude, codex] = hostile;
if (!claude || !codex) throw new Error('two agents with hostile names');

const { gateways } = sampleConnections(NOW);

const openclaw = (differs: object = {}) => ({
  openclaw: { isNode: true },
  gateways,
  socket: { kind: 'listening' } as const,
  ongo: nothing,
  ...differs,
});

const note = async (kind: Looking['kind'], backups: string[]) => {
  const { agents } = await world();
  const written = { agent: 'gemini', kind, backups: backups.map((path) => shown(path)) };
  return { agent: samples.agent('gemini'), written, store: agents };
};

const off: AgentView = {
  ...samples.asking('claude-code', 'hook', NOW),
  calls: 'nothing',
  obstacles: [
    {
      kind: 'switched-off',
      setting: 'allowManagedHooksOnly',
      path: shown('/etc/claude-code/managed-settings.json'),
    },
  ],
};

export const agents: Area = {
  name: 'agents',
  entries: [
    entry(AgentCard, {
      'only our tools ask': () => card(samples.asking('cursor', 'mcp', NOW)),
      'a file is against it': () => card(off),
      'was not heard': () => card({ ...off, obstacles: [{ kind: 'silent', actedMs: NOW, heardMs: NOW - 86_400_000 }] }),
      asks: () => card(samples.asking('claude-code', 'hook', NOW)),
      'asks, briefly': () => card(samples.asking('claude-code', 'mcp', NOW), nothing, true),
      'does not ask': () => card(samples.agent('gemini')),
      'not tried': () => card(samples.agent('zed')),
      'hook not trusted': () => card(samples.asking('codex', 'hook', NOW, { trust: 'no' })),
      'program gone': () => card(samples.asking('gemini', 'hook', NOW, { programIsThere: false })),
      'not found any more': () => card({ ...samples.asking('gemini', 'hook', NOW), found: false }),
      'is to be connected': () => card(samples.agent('gemini'), (store) => store.connect(samples.agent('gemini'))),
      'was written': () =>
        card(
          samples.asking('gemini', 'hook', NOW),
          (store) => (store.written = { agent: 'gemini', kind: 'connect', backups: [shown(DEEP)] }),
        ),
      hostile: () => card(claude),
      'hostile, not connected': () => card(codex),
    }),
    entry(AgentList, {
      several: () => list(samples.agents(NOW)),
      'briefly, fresh': () => list(samples.fresh(), true),
      none: () => list(samples.none()),
      hostile: () => list(samples.hostile(NOW)),
    }),
    entry(ChangePanel, {
      connect: () => panel(samples.agent('gemini'), 'connect'),
      'take back': () => panel(samples.asking('claude-code', 'hook', NOW), 'take-back'),
      'trust first': () => panel(samples.agent('codex'), 'connect'),
      nothing: () => panel(samples.agent('gemini'), 'connect', { kind: 'ready', id: 'p', changes: [], notes: [] }),
      'left alone': () =>
        panel(samples.agent('gemini'), 'connect', {
          kind: 'left-alone',
          why: `${DEEP}: expected JSON`,
          byHand: `{ "hooks": "${DEEP}" }`,
        }),
    }),
    entry(WrittenNote, {
      connected: () => note('connect', ['/home/mina/.gemini/settings.json.before-countersign']),
      'taken back': () => note('take-back', []),
      'long path': () => note('connect', [DEEP, ESCAPED]),
    }),
    entry(TryStep, {
      rest: () => tries({ kind: 'ran', output: shown('Linux') }),
      waits: sent(undefined, 'sample-waits'),
      ran: sent({ kind: 'ran', output: shown('Linux mina 6.8.0 x86_64 GNU/Linux') }, 'sample-ran'),
      denied: sent({ kind: 'not-run', outcome: { kind: 'denied' } }, 'sample-not-run'),
      expired: sent({ kind: 'not-run', outcome: { kind: 'expired' } }, 'sample-not-run'),
    }),
    entry(OpenClawCards, {
      connected: openclaw(),
      'not connected': openclaw({ gateways: [] }),
      'no node': openclaw({ openclaw: { isNode: false } }),
      'socket taken': openclaw({ socket: { kind: 'retrying', problem: 'taken' } }),
    }),
  ],
};
