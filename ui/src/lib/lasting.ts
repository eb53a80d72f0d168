import { duration, t } from './i18n/index.svelte';
import type { Lasting, RuleLimits } from './protocol';

/** Most further runs that may be allowed by number, as the app holds it. */
export const MAX_USES = 1_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Times to choose from, in milliseconds, shortest first. */
export const TIMES: readonly number[] = [10 * MINUTE_MS, HOUR_MS, 8 * HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS];

/** Those of them that a rule may last which is not kept beyond the session: a working day, as the app holds it. */
export const BRIEF_TIMES: readonly number[] = TIMES.filter((time) => time <= 8 * HOUR_MS);

/** How long, as the end of a sentence. */
export function lastingWords(lasting: Lasting): string {
  const words = t().lasting.long;
  switch (lasting.kind) {
    case 'uses':
      return words.uses(lasting.uses);
    case 'for':
      return words.for(duration(lasting.ms));
    case 'session':
      return words.session;
    case 'always':
      return words.always;
  }
}

/** What a rule says from now on that has been used `used` times. `session` is the one it is for, if any. */
export function limitsOf(lasting: Lasting, now: number, used: number, session: string | undefined): RuleLimits {
  switch (lasting.kind) {
    case 'uses':
      return { uses: used + lasting.uses };
    case 'for':
      return { untilMs: now + lasting.ms };
    case 'session':
      // Without a session there is nothing that it could count in.
      return session === undefined ? { untilMs: now } : { session };
    case 'always':
      return {};
  }
}
