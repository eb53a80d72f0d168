import { wrongField, type Wrong } from './fields';
import { tf } from './i18n/forward/index.svelte';
import type { BackendError } from './ipc';
import type { ForwardTargetView, ForwardView } from './protocol';

/** Members of a target that an error can be about, by the word that it begins with. */
const FIELDS = ['name', 'gateway', 'program', 'arguments', 'address', 'certificate', 'secret'] as const;

export type Field = (typeof FIELDS)[number];

/** The lines of a field with several, without blank ones. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Arguments, one in each line. Every line counts as it is; an empty field has none. */
export function argumentsOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

/** Which field an error is about, and what to say there; `null` when it is about none. */
export function fieldOf(error: BackendError | null): Wrong<Field> | null {
  return wrongField(error, FIELDS);
}

/** How it goes at a target, with the mark that goes with it. */
export function targetState({ enabled, now }: ForwardTargetView): {
  kind: 'off' | 'idle' | 'fine' | 'retries' | 'failed';
  tone: 'allowed' | 'attention' | 'danger' | 'expired';
} {
  if (!enabled) return { kind: 'off', tone: 'expired' };
  if (now.failure)
    return now.failure.retries ? { kind: 'retries', tone: 'attention' } : { kind: 'failed', tone: 'danger' };
  return now.delivered > 0 ? { kind: 'fine', tone: 'allowed' } : { kind: 'idle', tone: 'expired' };
}

/** What is handed on, as a sentence. */
export function filterWords({ agentFilter, sessionFilter }: ForwardView): string {
  const words = tf();
  const parts = [];
  if (agentFilter.length > 0) parts.push(words.agents(agentFilter.join(', ')));
  if (sessionFilter.length > 0) parts.push(words.sessions(sessionFilter.join(', ')));
  return parts.length === 0 ? words.everything : words.only(parts.join(' · '));
}
