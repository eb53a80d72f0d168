import { t } from './i18n/index.svelte';
import type { Meaning } from './protocol';

/** What a policy comes to, a sentence each: never made from one switch alone. */
export function meaningSentences({ usually, unanswered, refusals }: Meaning): string[] {
  const words = t().meaning;
  return [
    words.usually[usually],
    ...(refusals === 'none' || usually === 'nothing-runs' ? [] : [words.refusals[refusals]]),
    ...(unanswered === 'never-asked' ? [] : [words.unanswered[unanswered]]),
  ];
}
