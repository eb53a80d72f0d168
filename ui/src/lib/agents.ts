import { ta } from './i18n/agents/index.svelte';
import { ago } from './i18n/index.svelte';
import type { AgentNote, AgentSeen, AgentView, AgentWay } from './protocol';
import { marked } from './shown';

/** How an agent stands, for its badge. */
export type AgentState = 'asks' | 'trouble' | 'idle' | 'gone';

/** Those that ask here, as far as their settings say. */
export function connectedIn(agents: readonly AgentView[]): AgentView[] {
  return agents.filter((agent) => waysOf(agent).length > 0);
}

/** The ways in which it asks already. */
export function waysOf({ ways }: Pick<AgentView, 'ways'>): AgentWay[] {
  return ways.filter(({ connected }) => connected !== undefined).map(({ way }) => way);
}

/** What of it only the person can mend, a sentence each. */
export function troubleOf(agent: AgentView): string[] {
  const found: string[] = [];
  for (const { connected } of agent.ways) {
    if (!connected) continue;
    if (!connected.programIsThere) found.push(ta().programGone(marked(connected.program)));
    if (connected.trust !== undefined) found.push(ta().trust[connected.trust](agent.title));
  }
  const hasHook = agent.ways.some(({ way, connected }) => way === 'hook' && connected !== undefined);
  // Without a hook nothing is lost by that.
  if (hasHook) found.push(...agent.notes.map((note) => noteWords(note, agent.title)));
  return found;
}

export function stateOf(agent: AgentView): AgentState {
  const ways = waysOf(agent);
  if (ways.length === 0) return agent.found ? 'idle' : 'gone';
  const isSure = agent.ways.every(({ connected }) => connected?.programIsThere !== false && connected?.trust !== 'no');
  const isOff = ways.includes('hook') && agent.notes.length > 0;
  return isSure && !isOff && agent.found ? 'asks' : agent.found ? 'trouble' : 'gone';
}

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
      return `${words.switchedOff(note.setting)} ${marked(note.path)}`;
    case 'trust-first':
      return words.trustFirst(agent);
    case 'trusted-folders':
      return words.trustedFolders(agent);
  }
}

export function seenWords(seen: AgentSeen, now: number): string {
  return seen.kind === 'at' ? ago(seen.atMs, now) : ta().seen[seen.kind];
}
