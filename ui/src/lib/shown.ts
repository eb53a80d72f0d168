import type { CardKind, Shown, Span } from './protocol';

/** The text that a reader sees, for names and titles; masked values stay masked. */
export function plain(shown: Shown): string {
  return shown.spans.map((span) => span.text).join('');
}

/**
 * The same in one line, for places that cannot mark anything: the code follows each letter of another script among
 * look-alikes, and ends of lines have their sign.
 */
export function marked(shown: Shown): string {
  const code = (char: string) => `${char}[U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;
  const text = (span: Span) => {
    if (span.kind === 'lookalike') return Array.from(span.text, code).join('');
    if (span.kind === 'layout') return endsLine(span) ? VISIBLE_LINE_END : ' ';
    return span.text;
  };
  return shown.spans.map(text).join('');
}

/** The code of the end of a line. */
export const LINE_FEED = 'U+000A';

/** The code of a tab. */
export const TAB = 'U+0009';

/** Whether a character with a code is nothing strange in a file: the end of a line, and a tab. */
export function isUnremarkable({ text }: Pick<Span, 'text'>): boolean {
  return text === LINE_FEED || text === TAB;
}

/** Whether a card shows somebody's words, in paragraphs with a title, instead of a command. */
export function isProse(kind: CardKind): boolean {
  return kind === 'plugin' || kind === 'system-agent';
}

/** Whether a span ends a line of a text that may have lines. */
export function endsLine({ kind, text }: Pick<Span, 'kind' | 'text'>): boolean {
  return kind === 'layout' && text === LINE_FEED;
}

/** One line of a text, and whether the text has an end of a line behind it. */
export interface Line {
  shown: Shown;
  isEnded: boolean;
}

/** The lines of a text; nothing stands for what would follow a last end of a line. */
export function linesIn({ spans }: Shown): Line[] {
  const lines: Line[] = [];
  let line: Span[] = [];
  for (const span of spans) {
    if (endsLine(span)) {
      lines.push({ shown: { spans: line }, isEnded: true });
      line = [];
    } else line.push(span);
  }
  if (line.length > 0) lines.push({ shown: { spans: line }, isEnded: false });
  return lines;
}

/** A text itself where nothing in it needs an element: most lines of a file, and there may be thousands. */
export function bare({ spans }: Shown): string | null {
  const [first, second] = spans;
  if (first === undefined) return '';
  return second === undefined && first.kind === 'plain' ? first.text : null;
}

/** What stands for the end of a line where the next one does not follow below it. */
export const VISIBLE_LINE_END = '↵';

/** What stands for each blank inside an argument. */
export const VISIBLE_SPACE = '␣';

/** Spans of one argument beyond which blanks are no longer elements of their own. */
const MANY_SPANS = 200;

/** Whether an argument has so many spans that a page with an element for each would be slow, and slow is unreadable. */
export function isCrowded(shown: Shown): boolean {
  return shown.spans.length > MANY_SPANS;
}

/** Spans to paint. In a crowded argument blanks become part of the text around them, as `blank`. */
export function toPaint(shown: Shown, blank: string): Span[] {
  if (!isCrowded(shown)) return shown.spans;
  const merged: Span[] = [];
  let text = '';
  const flush = () => {
    if (text) merged.push({ kind: 'plain', text });
    text = '';
  };
  for (const span of shown.spans) {
    if (span.kind === 'plain') text += span.text;
    else if (span.kind === 'space') text += blank.repeat(span.text.length);
    else {
      flush();
      merged.push(span);
    }
  }
  flush();
  return merged;
}

/** The beginning of a text of at most `characters`: whole spans as long as there is room, and a part of a plain one. */
export function beginning(shown: Shown, characters: number): { shown: Shown; isCut: boolean } {
  const spans: Span[] = [];
  let room = characters;
  for (const span of shown.spans) {
    if (span.text.length > room) {
      if (span.kind === 'plain') spans.push({ ...span, text: span.text.slice(0, room) });
      return { shown: { spans }, isCut: true };
    }
    spans.push(span);
    room -= span.text.length;
  }
  return { shown: { spans }, isCut: false };
}

/** What cannot be seen, or turns what follows around. */
const UNSEEN = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}])/u;

/** Another program's words that came as they are, with codes for what a reader would not see in them. */
export function escaped(text: string): Shown {
  const spans: Span[] = [];
  text.split(UNSEEN).forEach((part, index) => {
    if (part === '') return;
    const code = (part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    spans.push(index % 2 === 0 ? { kind: 'plain', text: part } : { kind: 'escape', text: `U+${code}` });
  });
  return { spans };
}
