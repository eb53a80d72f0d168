import { crossingOf, keysOf } from './crossing';
import { t } from './i18n/index.svelte';
import type { Card } from './protocol';
import { type Explained, explained } from './trace';

/** Why the person is asked; the mark `{gateway}` stands for the gateway or pet server that brought the card. */
export function whyAsked(card: Card): string {
  const words = t().why;
  const { why } = card;
  switch (why.reason) {
    case 'ask-always':
      return card.kind === 'tool' ? t().tool.why.askAlways : words.askAlways;
    case 'allowlist-miss':
      return missed(card);
    case 'opaque':
      if (card.kind === 'tool') return t().tool.why.opaque;
      return t().common.sentences([
        why.opaque === undefined ? words.opaque : words.opaqueCode(why.opaque),
        ...(isRemembered(card) ? [] : [words.opaqueRule]),
      ]);
    case 'uncoverable':
      return words.uncoverable(t().trace.miss[why.cause ?? 'no-entry']);
    case 'unbound':
      return words.unbound(t().trace.unboundCause[why.unbound ?? 'not-static']);
    case 'environment':
      return words.environment;
    case 'may-be-refused':
      return words.mayBeRefused;
    case 'rules-unreadable':
      return words.rulesUnreadable;
    case 'leaves-the-box': {
      const { leaves, more } = t().crossing.why;
      if (keysOf(card)) return t().crossing.keys.why;
      return crossingOf(card)?.sent === undefined ? leaves : more;
    }
    case 'peer-asks':
      return peerAsks(card);
  }
}

/**
 * What keeps a command out of the box of its open folder, in words of the trace: that is why the person is asked, where
 * a box would have held it. `null` where nothing is open, or every command is asked about anyway.
 */
export function heldBack({ why }: Card): Explained | null {
  const held = why.trace.find((step) => step.kind === 'held');
  return held && held.cause !== 'ask-always' ? explained(held) : null;
}

function missed({ kind, why, command }: Card): string {
  const words = t().why;
  if (kind === 'tool') return t().tool.why.miss;
  const parts = why.segments.map((segment) => String(segment + 1));
  return parts.length > 0 && command.segments.length > 1
    ? words.missParts(t().common.list(parts), why.entriesChecked, parts.length)
    : words.miss(why.entriesChecked);
}

/** Whether an answer can leave something behind that covers it. */
function isRemembered({ always, decisions }: Card): boolean {
  if (always.length === 0) return decisions.includes('allow-always');
  return always.some((step) => step.kind !== 'withheld' && step.kind !== 'opens');
}

function peerAsks({ kind, via, gateway }: Card): string {
  const words = t().why;
  switch (kind) {
    case 'plugin':
      return gateway ? words.gatewayPluginAsks : words.pluginAsks;
    case 'system-agent':
      return words.gatewayProposes;
    case 'tool': {
      const { why } = t().tool;
      if (via === 'pet') return gateway ? why.petNamedAsks : why.petAsks;
      if (gateway) return why.gatewayAsks;
      return via === 'hook' ? why.hookAsks : why.asks;
    }
    case 'exec':
    case 'ask':
    case 'permit':
    case 'crossing':
      return gateway ? words.gatewayAsks : words.peerAsks;
  }
}
