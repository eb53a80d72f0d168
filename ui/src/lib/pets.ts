import { problemRemedy, type Remedy } from './connections';
import { wrongField, type Wrong } from './fields';
import { tp } from './i18n/pets/index.svelte';
import type { BackendError } from './ipc';
import type { LinkProblem, PetServerView, PetSourceView } from './protocol';

/** Members of a pet server that an error can be about, by the word that it begins with. */
const FIELDS = ['name', 'address', 'session', 'token', 'certificate'] as const;

export type Field = (typeof FIELDS)[number];

/** Which field an error is about, and what to say there; `null` when it is about none. */
export function fieldOf(error: BackendError | null): Wrong<Field> | null {
  return wrongField(error, FIELDS);
}

/** How our own channel is. `blocked`: it is on, but the gateway that it is a part of does not serve. */
export function serverState({ enabled, address }: PetServerView): 'off' | 'serving' | 'blocked' {
  if (!enabled) return 'off';
  return address === undefined ? 'blocked' : 'serving';
}

/** Everything to say about a problem of a pet server: what is said of gateways, where that says nothing of gateways. */
export function sourceRemedy(problem: LinkProblem, source: Pick<PetSourceView, 'pin'>): Remedy {
  const remedy = { ...problemRemedy(problem, source), commands: [] };
  const { problem: problems, refused } = tp();
  if (problem.kind === 'refused') {
    const known = Object.hasOwn(refused, problem.code) ? refused[problem.code as keyof typeof refused] : {};
    return { ...remedy, ...known, edit: true };
  }
  return problem.kind in problems ? { ...remedy, ...problems[problem.kind as keyof typeof problems] } : remedy;
}
