import { t } from './i18n/index.svelte';
import type { CardKind, Outcome, RunView } from './protocol';

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
    case 'contained':
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

/**
 * The words for an outcome; each outcome has its own. Nothing runs by a connection out of a box, so that has others.
 */
export function outcomeWords(outcome: Outcome, card: CardKind | 'keys' = 'exec'): string {
  const words = t().outcome;
  if (card === 'keys') {
    const ofKeys: Partial<Record<Outcome['kind'], string>> = t().crossing.keys.outcome;
    return ofKeys[outcome.kind] ?? outcomeWords(outcome, 'crossing');
  }
  if (card === 'crossing') {
    const ofCrossing: Partial<Record<Outcome['kind'], string>> = t().crossing.outcome;
    const found = ofCrossing[outcome.kind];
    if (found !== undefined) return found;
  }
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

/** Why the policy denied it, in words, or the technical reason of a refusal to run it. */
export function outcomeDetail(outcome: Outcome): string | null {
  if (outcome.kind === 'refused') return outcome.reason;
  if (outcome.kind !== 'denied-by-policy') return null;
  const { rule, ...words } = t().outcome.reason;
  const { reason } = outcome;
  if (reason.startsWith(RULE)) return rule(reason.slice(RULE.length));
  return Object.hasOwn(words, reason) ? words[reason as keyof typeof words] : reason;
}

/** How a reason begins that names a rule. */
const RULE = 'rule ';

/** How those begin who are named by somebody else, as the app writes them down. */
const GATEWAY = 'gateway: ';
const PET = 'pet ';
const REMEMBERED = ' (remembered)';
const TARGET = 'handed on to ';

/** The app's own places to answer from. */
const HERE = ['window', 'command-line', 'tray', 'notification'] as const;

/**
 * Who decided, in words. What another gateway says about that is its own words, also where it sounds like
 * a place of ours.
 */
export function decidedBy(by: string, outcome: Outcome): string {
  const words = t().outcome.by;
  if (outcome.kind === 'allowed-elsewhere' || outcome.kind === 'denied-elsewhere' || outcome.kind === 'cancelled')
    return words.other(by);
  const here = HERE.find((place) => place === by);
  if (here !== undefined) return words[here];
  if (by.startsWith(GATEWAY)) return words.gateway(by.slice(GATEWAY.length));
  if (by.startsWith(TARGET)) return words.target(by.slice(TARGET.length));
  if (!by.startsWith(PET)) return words.other(by);
  return by.endsWith(REMEMBERED)
    ? words.petRemembered(by.slice(PET.length, -REMEMBERED.length))
    : words.pet(by.slice(PET.length));
}

/** Through what the document or the rules were changed, in words. */
export function writerWords(writer: string): string {
  const words = t().history.writers;
  return Object.hasOwn(words, writer) ? words[writer as keyof typeof words] : words.unknown;
}

/**
 * Whether it ran at all: what failed to start has neither a code nor a length. Older lines name a failing
 * code as a cause too.
 */
export function hasStarted({ timedOut, exitCode, durationMs }: RunView): boolean {
  return timedOut || exitCode !== undefined || durationMs > 0;
}

/** How a run ended. */
export function runWords(run: RunView): string {
  const words = t().history;
  if (run.timedOut) return words.timedOut;
  if (run.exitCode !== undefined) return words.exit(run.exitCode);
  return hasStarted(run) ? words.ended : words.notStarted;
}
