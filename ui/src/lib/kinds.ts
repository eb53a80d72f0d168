import { t } from './i18n/index.svelte';
import type { Card, CardKind, Via } from './protocol';
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
  const { prompt, tool } = t();
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
    case 'tool': {
      // Whoever asks over a pet channel uses the tool itself: nothing is done here.
      if (card.via === 'pet') return tool.wantsPet;
      const files = changesOf(card).length;
      if (files > 0) return tool.wantsFiles(files);
      return card.facts.some(({ kind }) => kind === 'task') ? tool.wantsTask : tool.wantsOther;
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

/** The title of a window that shows this card. */
export function titleOf(kind: CardKind): string {
  const { prompt, tool } = t();
  switch (kind) {
    case 'plugin':
      return prompt.titlePlugin;
    case 'system-agent':
      return prompt.titleChange;
    case 'tool':
      return tool.title;
    case 'exec':
    case 'ask':
    case 'permit':
      return prompt.title;
  }
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
