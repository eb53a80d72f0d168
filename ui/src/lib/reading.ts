import type { Card, ChangeView, Fact, Shown } from './protocol';
import { isUnremarkable } from './shown';

/**
 * A fact that has to be read through before the card can be allowed: what would be done, not what was
 * found out about it.
 */
export type Part = Extract<Fact, { kind: 'change' | 'arguments' | 'task' }>;

/** The tool that was called. */
export type ToolFact = Extract<Fact, { kind: 'tool' }>;

/** How many characters of a text a reader has to know of. */
export interface Strange {
  hidden: number;
  lookalikes: number;
  secrets: number;
}

export function partsOf({ facts }: Pick<Card, 'facts'>): Part[] {
  return facts.filter((fact) => isPart(fact));
}

/**
 * Whether a fact stands in the part of a card that is read through, or in its verb line, instead of among
 * the checked facts.
 */
export function isElsewhere(fact: Fact): fact is Part | ToolFact {
  return fact.kind === 'tool' || isPart(fact);
}

export function changesOf({ facts }: Pick<Card, 'facts'>): ChangeView[] {
  return facts.flatMap((fact) => (fact.kind === 'change' ? [fact.change] : []));
}

export function toolOf({ facts }: Pick<Card, 'facts'>): ToolFact | undefined {
  return facts.find((fact) => fact.kind === 'tool');
}

/** Whether every change is shown whole; what is not cannot be allowed, whatever else the card says. */
export function isWhole(card: Pick<Card, 'facts'>): boolean {
  return changesOf(card).every(({ complete }) => complete);
}

/** Lines that come and go in all of `changes`. */
export function totalOf(changes: readonly ChangeView[]): Pick<ChangeView, 'added' | 'removed'> {
  return changes.reduce(
    (total, { added, removed }) => ({ added: total.added + added, removed: total.removed + removed }),
    { added: 0, removed: 0 },
  );
}

/** Every text that a part shows. */
export function textsOf(part: Part): Shown[] {
  if (part.kind !== 'change') return [part.text];
  const { path, from, hunks } = part.change;
  const lines = hunks.flatMap((hunk) => hunk.lines.map(({ text }) => text));
  return from ? [path, from, ...lines] : [path, ...lines];
}

/** Counts what a reader has to know of; ends of lines and tabs are nothing strange in a file. */
export function strangeIn(texts: readonly Shown[]): Strange {
  const found: Strange = { hidden: 0, lookalikes: 0, secrets: 0 };
  for (const { spans } of texts) {
    for (const span of spans) {
      if (span.kind === 'escape' && !isUnremarkable(span)) found.hidden += 1;
      else if (span.kind === 'lookalike') found.lookalikes += Array.from(span.text).length;
      else if (span.kind === 'secret') found.secrets += 1;
    }
  }
  return found;
}

function isPart(fact: Fact): fact is Part {
  return fact.kind === 'change' || fact.kind === 'arguments' || fact.kind === 'task';
}
