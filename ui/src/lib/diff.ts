import type { ChangeView, DiffLineKind, Shown } from './protocol';

/** One line as it is painted. */
export interface Row {
  kind: DiffLineKind;
  /** Its numbers before and after, padded to columns: both, and the one that is enough where there is little room. */
  numbers: string;
  number: string;
  text: Shown;
}

/** Lines that are painted together, or lines between hunks that are not shown. */
export type Block =
  | { kind: 'rows'; rows: Row[] }
  /** `lines` is `null` where it is not known what was left out. */
  | { kind: 'gap'; lines: number | null };

/** A diff in pieces small enough that those out of view need no layout. */
export interface Diff {
  blocks: Block[];
  /** Digits of the highest line number. */
  digits: number;
}

/** Lines of one block: a few screens. */
const BLOCK_ROWS = 64;

/** The lines of a change with their numbers. */
export function diffOf({ hunks, complete }: Pick<ChangeView, 'hunks' | 'complete'>): Diff {
  const digits = String(highest(hunks)).length;
  const pad = (number: number | null) => String(number ?? '').padStart(digits);
  const blocks: Block[] = [];
  let next = { before: 1, after: 1 };
  for (const hunk of hunks) {
    const gap = gapTo(next, hunk, complete);
    if (gap !== null) blocks.push(gap);
    let { before, after } = hunk;
    let rows: Row[] = [];
    for (const { kind, text } of hunk.lines) {
      const was = kind === 'added' ? null : before++;
      const is = kind === 'removed' ? null : after++;
      if (rows.length === 0) blocks.push({ kind: 'rows', rows });
      rows.push({ kind, numbers: `${pad(was)} ${pad(is)}`, number: pad(is ?? was), text });
      if (rows.length === BLOCK_ROWS) rows = [];
    }
    next = { before, after };
  }
  return { blocks, digits };
}

interface Place {
  before: number;
  after: number;
}

/**
 * What lies between two hunks. Only a diff that is whole, and whose numbers agree, lets one say that
 * nothing changes there.
 */
function gapTo(next: Place, hunk: Place, complete: boolean): Block | null {
  const before = hunk.before - next.before;
  const after = hunk.after - next.after;
  if (before <= 0 && after <= 0) return null;
  return { kind: 'gap', lines: complete && before === after && before > 0 ? before : null };
}

function highest(hunks: ChangeView['hunks']): number {
  const last = hunks.at(-1);
  if (!last) return 1;
  const count = (kind: DiffLineKind) => last.lines.filter((line) => line.kind === kind).length;
  const context = count('context');
  return Math.max(1, last.before + context + count('removed') - 1, last.after + context + count('added') - 1);
}
