import { t } from './i18n/index.svelte';
import type { Outcome } from './protocol';

/** Which mark an outcome carries. */
export type OutcomeTone = 'allowed' | 'denied' | 'expired' | 'neutral' | 'attention';

export function outcomeTone(outcome: Outcome): OutcomeTone {
  switch (outcome.kind) {
    case 'allowed-by-policy':
    case 'allowed-by-rule':
    case 'allowed-once':
    case 'allowed-always':
    case 'allowed-elsewhere':
    case 'allowed-by-fallback':
      return 'allowed';
    case 'denied':
    case 'denied-by-policy':
    case 'denied-elsewhere':
      return 'denied';
    case 'expired':
      return 'expired';
    case 'cancelled':
      return 'neutral';
    case 'not-shown':
    case 'refused':
      return 'attention';
  }
}

/** The words for an outcome; each outcome has its own. */
export function outcomeWords(outcome: Outcome): string {
  const words = t().outcome;
  if (outcome.kind !== 'cancelled') return words[outcome.kind];
  switch (outcome.cause) {
    case 'connection-lost':
      return words.connectionLost;
    case 'requester-gone':
      return words.requesterGone;
    case 'shutdown':
      return words.shutdown;
    case 'withdrawn':
      return words.withdrawn;
  }
}

/** The technical reason that came with an outcome, if any. */
export function outcomeDetail(outcome: Outcome): string | null {
  return outcome.kind === 'denied-by-policy' || outcome.kind === 'refused' ? outcome.reason : null;
}
