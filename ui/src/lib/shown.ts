import type { Card, CardKind, Shown, Span } from './protocol';

/** The text that a reader sees, for names and titles; masked values stay masked. */
export function plain(shown: Shown): string {
  return shown.spans.map((span) => span.text).join('');
}

/** The same for places that cannot mark anything: the code follows each letter of another script among look-alikes. */
export function marked(shown: Shown): string {
  const code = (char: string) => `${char}[U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;
  return shown.spans.map(({ kind, text }) => (kind === 'lookalike' ? Array.from(text, code).join('') : text)).join('');
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

/** Hidden characters that a reader has to know of: in words the end of a line is nothing strange. */
export function hiddenIn({ command, kind }: Pick<Card, 'command' | 'kind'>): number {
  if (!isProse(kind)) return command.hidden;
  const spans = command.segments.flatMap(({ args }) => args.flatMap(({ shown }) => shown.spans));
  return command.hidden - spans.filter((span) => span.kind === 'escape' && span.text === LINE_FEED).length;
}

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
