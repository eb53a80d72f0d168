import { clockTime, t } from './i18n/index.svelte';
import type { Standing, Unasked } from './protocol';
import { marked } from './shown';
import { ALL_AGENTS } from './words';

/** The one status line. */
export function standingLine(standing: Standing): string {
  const words = t().nav;
  if (standing.kind === 'paused' && standing.untilMs !== undefined)
    return words.pausedUntil(clockTime(standing.untilMs));
  return words.statusLine[standing.kind];
}

/** Whether it has to be said loudly for as long as it is so. */
export function isAlarm({ kind }: Standing): boolean {
  return kind === 'runs-unasked' || kind === 'cannot-show';
}

/** Why anything runs unasked, a sentence each. */
export function causeSentences({ agent, shown, session, layer, place, when, others }: Unasked): string[] {
  const words = t().alarm;
  const name = marked(shown);
  const named = agent === ALL_AGENTS ? words.everybody : words.agent(name);
  const who = session === undefined ? named : words.session(name, marked(session));
  return [
    words[place](who),
    ...(layer === undefined ? [] : [words.says(t().layer[layer])]),
    ...(when === 'nobody-asked' ? [words.nobody] : []),
    ...(others > 0 ? [words.others(others)] : []),
  ];
}
