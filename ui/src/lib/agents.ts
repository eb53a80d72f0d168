import { ta } from './i18n/agents/index.svelte';
import { ago, dateTime } from './i18n/index.svelte';
import type {
  AgentCalls,
  AgentNote,
  AgentObstacle,
  AgentSeen,
  AgentsView,
  AgentView,
  AgentWay,
  Shown,
} from './protocol';
import { marked } from './shown';

/** How an agent stands, for its badge. */
export type AgentState = 'asks' | 'trouble' | 'questions' | 'ours' | 'silent' | 'idle' | 'gone';

/** Those whose settings have something of ours. */
export function connectedIn(agents: readonly AgentView[]): AgentView[] {
  return agents.filter((agent) => waysOf(agent).length > 0);
}

/** The ways in which it asks already. */
export function waysOf({ ways }: Pick<AgentView, 'ways'>): AgentWay[] {
  return ways.filter(({ connected }) => connected !== undefined).map(({ way }) => way);
}

/** What keeps its calls from coming here, and what only the person can look up, a sentence each. */
export function troubleOf(agent: AgentView): string[] {
  const found = agent.obstacles.map((obstacle) => obstacleWords(obstacle, agent.title));
  const isDoubtful = agent.ways.some(({ connected }) => connected?.trust === 'not-known');
  return isDoubtful ? [...found, ta().trustNotKnown(agent.title)] : found;
}

/** How it stands, by what of its calls comes here: never by what stands in its settings alone. */
export function stateOf(agent: AgentView): AgentState {
  if (!agent.found) return 'gone';
  if (waysOf(agent).length === 0) return 'idle';
  return STATES[agent.calls];
}

/** An agent that something can be said about: its id, and what people call it. */
export interface KnownAgent {
  id: string;
  text: string;
}

/** Everyone who is connected or has asked. */
export function knownIn({ agents, others }: AgentsView): KnownAgent[] {
  const asked = agents.filter((agent) => waysOf(agent).length > 0 || agent.lastSeen.kind === 'at');
  return [
    ...asked.map(({ name, title }) => ({ id: name, text: title })),
    ...others.map(({ id, shown }) => ({ id, text: marked(shown) })),
  ];
}

/** What an agent is called on a choice: with its id where the document has something under that very name. */
export function calledOn(known: readonly KnownAgent[], scopes: readonly string[], id: string): string | undefined {
  const text = known.find((agent) => agent.id === id)?.text;
  return text !== undefined && text !== id && scopes.includes(text) ? `${text} (${id})` : text;
}

/** The id that a name stands for: that of an agent which people know by it, else the name itself. */
export function idOf(view: AgentsView | null, name: string): string {
  const plain = (text: string) => text.trim().toLowerCase().replaceAll(/[ _]/g, '-');
  const found = view?.agents.find((agent) => [agent.name, agent.title].some((known) => plain(known) === plain(name)));
  return found?.name ?? name.trim();
}

/** Those that stand so. */
export function standingSo(agents: readonly AgentView[], state: AgentState): AgentView[] {
  return agents.filter((agent) => stateOf(agent) === state);
}

const STATES: Record<AgentCalls, AgentState> = {
  own: 'asks',
  'not-all': 'trouble',
  questions: 'questions',
  'our-tools': 'ours',
  nothing: 'silent',
};

/** The choices of ways that change something and take nothing away: what is there stays until it is taken back. */
export function choicesOf(agent: AgentView): AgentWay[][] {
  const all = agent.ways.map(({ way }) => way);
  const choices = all.length > 1 ? [...all.map((way) => [way]), all] : [all];
  const there = waysOf(agent);
  const adds = (choice: AgentWay[]) => choice.length > there.length || isBroken(agent);
  return choices.filter((choice) => there.every((way) => choice.includes(way)) && adds(choice));
}

/** Whether there is anything that connecting could change. */
export function canConnect(agent: AgentView): boolean {
  return choicesOf(agent).length > 0;
}

/** Whether what it would start is gone. */
function isBroken({ ways }: Pick<AgentView, 'ways'>): boolean {
  return ways.some(({ connected }) => connected?.programIsThere === false);
}

/** What the app says in English, in the reader's words; what this version does not know stays as it is. */
export function saidOf(english: string): string {
  const said: Record<string, string> = ta().said;
  return (Object.hasOwn(said, english) ? said[english] : undefined) ?? english;
}

export function noteWords(note: AgentNote, agent: string): string {
  const words = ta().note;
  switch (note.kind) {
    case 'hooks-twice':
      return words.hooksTwice(agent);
    case 'switched-off':
      return offWords(note, agent);
    case 'trust-first':
      return words.trustFirst(agent);
    case 'trusted-folders':
      return words.trustedFolders(agent);
  }
}

function obstacleWords(obstacle: AgentObstacle, agent: string): string {
  const words = ta().obstacle;
  switch (obstacle.kind) {
    case 'narrowed':
      return words.narrowed(agent, marked(obstacle.path));
    case 'program-gone':
      return ta().programGone(marked(obstacle.program));
    case 'silent':
      return obstacle.heardMs === undefined
        ? words.neverHeard(agent, dateTime(obstacle.actedMs))
        : words.silent(agent, dateTime(obstacle.actedMs), dateTime(obstacle.heardMs));
    case 'switched-off':
      return offWords(obstacle, agent);
    case 'untrusted':
      return words.untrusted(agent);
  }
}

function offWords({ setting, path, within }: { setting: string; path: Shown; within?: Shown }, agent: string): string {
  const words = ta().obstacle;
  return within === undefined
    ? words.off(agent, marked(path), setting)
    : words.offWithin(agent, marked(path), setting, marked(within));
}

export function seenWords(seen: AgentSeen, now: number): string {
  return seen.kind === 'at' ? ago(seen.atMs, now) : ta().seen[seen.kind];
}
