import type { ArgView, SegmentView, Shown, Span } from './protocol';
import { beginning, endsLine } from './shown';

/** Arguments, and characters of all of them, that are shown of what cannot be allowed for its size. */
const MOST_ARGUMENTS = 500;
const MOST_CHARACTERS = 20_000;

/** Most arguments, and about the most characters, that are laid out as one. */
const GROUP = 100;
const LONG = 4_000;

/** Characters of a long argument that are laid out as one, and how far behind that it may be cut. */
const PIECE = 2_000;
const SLACK = 200;

/** Characters that fit on a line of the usual window. */
const LINE = 52;

/** What the edges of a box and the gap behind it take, in characters. */
const BETWEEN = 3;

/**
 * The beginning of a command that nobody could read through, and how many arguments are left out. What is cut inside of
 * an argument counts as nothing left out, but as cut.
 */
export function excerpt(segments: readonly SegmentView[]): { segments: SegmentView[]; left: number; isCut: boolean } {
  const kept: SegmentView[] = [];
  let room = MOST_CHARACTERS;
  let places = MOST_ARGUMENTS;
  let left = 0;
  let isCut = false;
  for (const segment of segments) {
    const args: ArgView[] = [];
    for (const arg of segment.args) {
      if (places === 0 || room === 0) {
        left += 1;
        continue;
      }
      const begun = beginning(arg.shown, room);
      const length = lengthOf(begun.shown);
      places -= 1;
      room = begun.isCut ? 0 : room - length;
      isCut ||= begun.isCut;
      args.push({ ...arg, shown: begun.shown });
    }
    if (args.length > 0) kept.push({ ...segment, args });
  }
  return { segments: kept, left, isCut: isCut || left > 0 };
}

/** What is laid out as one: some whole arguments, or a part of a long one. */
export interface Group {
  args: ArgView[];
  /** About how many characters it is long, with what is between its boxes. */
  length: number;
  /** Ends of lines in it. */
  ends: number;
  /** Of a part of an argument, whether that begins and ends with it. */
  part?: { isFirst: boolean; isLast: boolean };
}

/** Arguments in groups: a page lays out one after the other, and only those near its view. */
export function groups(args: readonly ArgView[]): Group[] {
  const found: Group[] = [];
  let open: Group | null = null;
  for (const arg of args) {
    const length = lengthOf(arg.shown);
    if (length > LONG) {
      const all = pieces(arg.shown);
      all.forEach((shown, index) => {
        const part = { isFirst: index === 0, isLast: index === all.length - 1 };
        found.push({ args: [{ ...arg, shown }], length: lengthOf(shown), ends: endsIn(shown), part });
      });
      open = null;
      continue;
    }
    if (open === null || open.args.length >= GROUP || open.length >= LONG)
      found.push((open = { args: [], length: 0, ends: 0 }));
    open.args.push(arg);
    open.length += length + BETWEEN;
    open.ends += endsIn(arg.shown);
  }
  return found;
}

/** About how many lines of the usual window a group takes. */
export function linesOf({ length, ends }: Group): number {
  return Math.max(Math.ceil(length / LINE), ends + 1);
}

/** A long text in pieces, cut at the end of a line or after a blank where there is one. */
function pieces({ spans }: Shown): Shown[] {
  const found: Shown[] = [];
  let piece: Span[] = [];
  let room = PIECE;
  const cut = () => {
    found.push({ spans: piece });
    piece = [];
    room = PIECE;
  };
  for (const span of spans) {
    let rest = span;
    while (rest.kind === 'plain' && rest.text.length > room + SLACK) {
      const at = whereToCut(rest.text, room);
      piece.push({ ...rest, text: rest.text.slice(0, at) });
      rest = { ...rest, text: rest.text.slice(at) };
      cut();
    }
    piece.push(rest);
    room -= rest.text.length;
    if (endsLine(rest) ? room <= SLACK : room <= 0 && (rest.kind !== 'plain' || room < -SLACK)) cut();
  }
  if (piece.length > 0) found.push({ spans: piece });
  return found;
}

/** Behind the first blank from `from` on, or there, but never inside of a character. */
function whereToCut(text: string, from: number): number {
  const start = Math.max(1, from);
  const blank = text.indexOf(' ', start);
  if (blank !== -1 && blank < start + SLACK) return blank + 1;
  const code = text.charCodeAt(start - 1);
  return code >= 0xd800 && code < 0xdc00 ? start + 1 : start;
}

function endsIn({ spans }: Shown): number {
  return spans.filter(endsLine).length;
}

function lengthOf({ spans }: Shown): number {
  return spans.reduce((sum, { text }) => sum + text.length, 0);
}
