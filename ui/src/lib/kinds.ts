import { crossingOf, keysOf } from './crossing';
import { t } from './i18n/index.svelte';
import type { Card, CardKind, LadderStep, Via } from './protocol';
import { changesOf, isWhole } from './reading';

/** Whether a card is about a command, whoever runs it. */
export function isCommand(kind: CardKind): boolean {
  return kind === 'exec' || kind === 'ask' || kind === 'permit';
}

/** Whether whoever asked remembers an answer by itself, in a way that nobody here knows. */
export function remembersItself(kind: CardKind): boolean {
  return kind === 'ask' || kind === 'plugin' || kind === 'system-agent';
}

/** What the agent wants, with marks for the host and the tool. */
export function wanted(card: Card): string {
  const { crossing, prompt, tool } = t();
  switch (card.kind) {
    case 'exec':
      return prompt.wantsExec;
    case 'ask':
      return prompt.wantsAsk;
    case 'plugin':
      return prompt.wantsPlugin;
    case 'system-agent':
      return prompt.wantsChange;
    case 'permit':
      return tool.wantsPermit;
    case 'crossing':
      if (keysOf(card)) return crossing.keys.wants;
      return crossingOf(card)?.sent === undefined ? crossing.wants : crossing.wantsMore;
    case 'tool': {
      // Whoever asks over a pet channel uses the tool itself: nothing is done here.
      if (card.via === 'pet') return tool.wantsPet;
      const files = changesOf(card).length;
      if (files > 0) return tool.wantsFiles(files);
      const task = card.facts.find((fact) => fact.kind === 'task');
      return !task ? tool.wantsOther : task.typed ? tool.wantsTyping : tool.wantsTask;
    }
  }
}

/** Why a card can never be allowed; `null` when it can. */
export function impossible(card: Card): string | null {
  const { prompt, tool } = t();
  if (!isWhole(card)) return tool.blocked;
  if (card.allowBlocked === 'too-long') return prompt.blockedTooLong;
  return card.allowBlocked === 'too-many-arguments' ? prompt.blockedTooMany : null;
}

/** Whether an allow for longer is for the asker to remember: there is nothing here to choose from. */
export function askerKeeps({ kind, decisions, always, alwaysUnavailable }: Card): boolean {
  const offered = decisions.includes('allow-always') && always.length === 0;
  return offered && remembersItself(kind) && alwaysUnavailable === undefined;
}

/** The offer to open the card's folder; `null` when there is none. */
export function opening(card: Card): Extract<LadderStep, { kind: 'opens' }> | null {
  if (impossible(card) !== null || !card.decisions.includes('allow-always')) return null;
  return card.always.find((step) => step.kind === 'opens') ?? null;
}

/** Why a card cannot be allowed for longer, where it can be allowed at all; `null` when it can. */
export function onlyOnce(card: Card): string | null {
  const { common, prompt, sheet, unavailable } = t();
  if (impossible(card) !== null) return null;
  if (card.decisions.includes('allow-always') && (card.always.length > 0 || askerKeeps(card))) return null;
  if (card.alwaysUnavailable !== undefined)
    return common.sentences([sheet.unavailable, unavailable[card.alwaysUnavailable]]);
  return card.decisions.includes('allow-once') ? prompt.onceOnly : prompt.notOffered;
}

/** What becomes of a request when nobody answers in time. */
export function consequence({ kind, onExpiry }: Pick<Card, 'kind' | 'onExpiry'>): string {
  const { crossing, prompt, tool } = t();
  if (onExpiry === 'no-answer') return prompt.noAnswer;
  if (kind === 'crossing') return crossing.refused;
  return kind === 'tool' ? tool.notDone : prompt.notRun;
}

/** The door that a request came through. */
export function viaWord(via: Via): string {
  const { prompt, tool } = t();
  switch (via) {
    case 'socket':
      return prompt.viaSocket;
    case 'command-line':
      return prompt.viaCommandLine;
    case 'gateway':
      return prompt.viaGateway;
    case 'connection':
      return prompt.viaConnection;
    case 'node':
      return prompt.viaNode;
    case 'tool':
    case 'hook':
    case 'pet':
      return tool.via[via];
  }
}
