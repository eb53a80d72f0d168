import { t } from './i18n/index.svelte';
import { expectedSentence } from './fields';
import type { BackendError } from './ipc';
import type { DocumentView, ExecTarget, Impact, Loosening, PolicyField, RouteField } from './protocol';
import { marked } from './shown';

/** The scope of the document that holds for every agent not named. */
export const ALL_AGENTS = '*';

/** The scope of the document's defaults. */
export const DEFAULTS = 'defaults';

export function scopeName(scope: string, agent = scope): string {
  const words = t().loosen;
  if (scope === DEFAULTS) return words.defaults;
  return scope === ALL_AGENTS ? words.all : words.agent(agent);
}

/**
 * An agent's id so that nothing in it is hidden: a document may come from anywhere. One that it does not
 * name was typed here.
 */
export function agentText(view: DocumentView | null, agent: string): string {
  const found = view?.scopes.find(({ scope }) => scope === agent);
  return found ? marked(found.shown) : agent;
}

/** The name of a scope on a choice, where "agent" goes without saying. */
export function scopeChoice(view: DocumentView | null, scope: string): string {
  return scope === DEFAULTS || scope === ALL_AGENTS ? scopeName(scope) : agentText(view, scope);
}

/** A policy value in the reader's words; a value nobody knows is shown as it is. */
export function policyValue(field: PolicyField, value: string | undefined): string {
  if (value === undefined || value === '') return t().common.notSet;
  const table: Record<string, string> = field === 'ask' ? t().ask : t().security;
  return table[value] ?? value;
}

/** A value of where and how commands run; what is not set is said to be. */
function routeValue(field: RouteField, value: string): string {
  if (field === 'security' || field === 'ask') return policyValue(field, value);
  if (field === 'host') return t().loosen.place[value as ExecTarget] ?? value;
  return value === '' ? t().common.notSet : value;
}

/** What gets looser, as one sentence or two. An entry's pattern or a rule follows and is not part of it. */
export function looseningSentence(loosening: Loosening): string {
  const { scope, field, rule, route, from, to, becomes } = loosening;
  const name = scopeName(scope);
  if (route === 'security') return t().loosen.security(name, to === 'full');
  if (route !== undefined) return t().loosen.route[route](name, routeValue(route, from), routeValue(route, to));
  if (rule === 'refuses-less') return t().loosen.rules[rule](name);
  if (rule === 'preset') return withFate(t().loosen.rules[rule](name), loosening);
  if (rule !== undefined) {
    const about = ({ commands: 'allows', calls: 'calls', folder: 'boxed' } as const)[becomes?.kind ?? 'commands'];
    return withFate(t().loosen.rules[about](name), loosening);
  }
  if (field === undefined) return withFate(t().loosen.entry(name), loosening);
  if (field === 'security') return t().loosen.security(name, to === 'full');
  return t().loosen[field](name, policyValue(field, from), policyValue(field, to));
}

/** What is allowed, and what the policy makes of that, where it is known. */
function withFate(allowed: string, { usually }: Loosening): string {
  if (usually === undefined) return allowed;
  const runs = usually === 'rest-asks' || usually === 'rest-refused';
  return t().common.sentences([allowed, runs ? t().loosen.unasked : t().meaning.usually[usually]]);
}

/** What a change would do; nothing where it can tell neither who may run anything nor what would have run more. */
export function impactSentence({ widening, of, more }: Impact): string | null {
  const words = t().loosen.impact;
  if (!widening) return of === 0 ? null : words.count(of, more);
  const agent = marked(widening.shown);
  const who = { everybody: words.everybody, unnamed: t().alarm.everybody, agent: words.agent(agent) }[widening.whose];
  const what = widening.folder ? words.folder(who, marked(widening.folder)) : words[widening.kind](who);
  return of === 0 ? words.end(what) : words.both(what, of, more);
}

/** The entry or rule that a loosening is about, before and after; nothing where the rule is told in words. */
export function looseningDetail({ field, rule, route, from, to, was, becomes }: Loosening): string[] {
  if (field !== undefined || route !== undefined || was !== undefined || becomes !== undefined) return [];
  if (rule === undefined || from === '') return [to];
  return to === '' ? [from] : [from, `→ ${to}`];
}

/** What happened, why, and what to do. */
export function errorSentence(error: BackendError): string {
  const words = t().error;
  switch (error.code) {
    case 'stale':
      return words.stale;
    case 'store':
      return words.store(error.message);
    case 'invalid':
    case 'not-armed':
      return words.invalid(error.mistake ? expectedSentence(error.mistake.expected) : error.message);
    case 'gone':
      return words.gone;
    case 'internal':
      return t().common.sentences([words.internal(error.message), words.retryHint]);
  }
}
