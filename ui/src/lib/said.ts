import type { ArgView, Card, CommandView, Shown } from './protocol';
import { isProse, marked } from './shown';
import { toolOf } from './reading';

/** Most characters of a command that are read out, and of an agent and of what it wants in a title. */
const SPOKEN = 300;
const NAMED = 30;
const TITLED = 48;

/** The title of a window that shows this card: who wants what, as "coder: git push". */
export function titleOf(card: Card): string {
  const who = card.kind === 'system-agent' && card.gateway ? card.gateway : card.agent;
  return `${cut(marked(who), NAMED)}: ${cut(wish(card), TITLED)}`;
}

/** The command as one line to be read out: its words as they are shown, with what joins its parts. */
export function commandOf({ command, kind }: Pick<Card, 'command' | 'kind'>): string {
  const words: string[] = (command.shell ?? []).map(({ shown }) => marked(shown));
  let length = 0;
  for (const { operator, args } of command.segments) {
    if (operator !== undefined) words.push(operator);
    for (const { shown } of args) {
      words.push(said(shown));
      length += (words.at(-1)?.length ?? 0) + 1;
      // What follows is cut in any case.
      if (length > SPOKEN) return cut(words.join(' '), SPOKEN);
    }
  }
  return cut(words.join(isProse(kind) ? '. ' : ' '), SPOKEN);
}

/**
 * The tool, the title of somebody's words, or the programs of the part that is asked about and the word behind them.
 */
function wish(card: Card): string {
  const tool = toolOf(card);
  if (tool) return marked(tool.tool);
  const { segments } = card.command;
  const segment = segments.find(({ missed }) => missed) ?? segments[0];
  if (!segment) return '';
  const last = segment.args.findLastIndex(isProgram);
  if (last === -1) return marked(segment.args[0]?.shown ?? { spans: [] });
  const words = segment.args.filter(isProgram).map(({ shown }) => marked(shown));
  const next = segment.args[last + 1];
  if (next && !startsFlag(next)) words.push(said(next.shown));
  return words.join(' ');
}

function isProgram({ role }: CommandView['segments'][number]['args'][number]): boolean {
  return role === 'executable';
}

function startsFlag({ shown }: ArgView): boolean {
  return shown.spans[0]?.text.startsWith('-') ?? false;
}

/** As it is written on the card, an empty argument too. */
function said(shown: Shown): string {
  return shown.spans.length === 0 ? '""' : marked(shown);
}

function cut(text: string, characters: number): string {
  const found = Array.from(text.slice(0, 2 * characters + 2));
  return found.length > characters ? `${found.slice(0, characters - 1).join('')}…` : text;
}
