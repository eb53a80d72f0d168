import { currentLocale } from './i18n/index.svelte';
import { ofKept } from './i18n/kept/index.svelte';
import type { HistoryEntry, KeptChange, KeptSpan } from './protocol';

/** A line of the history about what changed in a folder. */
export interface KeptLine {
  /** Position of the line, by which the app knows what is meant. */
  seq: number;
  span: KeptSpan;
}

/** What is looked at from a line: it alone, or all that the session of its run changed in that folder. */
export type Whole = 'line' | 'session';

/** Counts what each key stands for, such as runs of one session in one folder; what has none is not counted. */
export function tally(keys: Iterable<string | null>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** Names what one session did in one folder. Escaped texts have no NUL in them. */
export function sessionKey(agent: string, session: string | undefined, { folder }: KeptSpan): string | null {
  return session === undefined ? null : [agent, session, folder].join('\0');
}

/** What a line says of changes; `null` where it is about something else. */
export function keptLine({ seq, event }: HistoryEntry): KeptLine | null {
  return event.kind === 'changes' ? { seq, span: event.changes } : null;
}

/** Whether both states are there, so that it can be looked at and put back. */
export function isKnown({ before, after, problem }: KeptSpan): boolean {
  return before !== undefined && after !== undefined && problem === undefined;
}

/** How much was made, changed and deleted, in words, without what there was none of. */
export function countWords(span: Pick<KeptSpan, 'made' | 'changed' | 'deleted'>): string {
  const words = ofKept();
  const parts = (['made', 'changed', 'deleted'] as const).filter((what) => span[what] > 0);
  return words.together((parts.length > 0 ? parts : (['changed'] as const)).map((what) => words[what](span[what])));
}

/** Units of a thousand each. */
const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** A number of bytes in words, with a digit behind the point where that says more. */
export function sizeWords(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const format = new Intl.NumberFormat(currentLocale(), {
    style: 'unit',
    unit: UNITS[power] ?? 'byte',
    unitDisplay: power === 0 ? 'long' : 'short',
    maximumFractionDigits: 1,
  });
  return format.format(bytes / 1_000 ** power);
}

/** How large a file was and is; `null` for what has no size, such as a folder. */
export function sizesWords({ before, after }: Pick<KeptChange, 'before' | 'after'>): string | null {
  if (before === undefined) return after === undefined ? null : sizeWords(after);
  const was = sizeWords(before);
  if (after === undefined) return ofKept().was(was);
  const is = sizeWords(after);
  return was === is ? is : ofKept().sizes(was, is);
}
