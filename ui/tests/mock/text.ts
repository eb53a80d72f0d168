import type { ArgView, CommandView, SegmentView, Shown, Span } from '../../src/lib/protocol';

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const LAYOUT = /[\n\t]/;
const CYRILLIC = /[\u0400-\u04ff]/;
const SECRET = /^(ghp_|sk-)/;

function kindOf(char: string): Span['kind'] {
  if (HIDDEN.test(char)) return 'escape';
  if (CYRILLIC.test(char)) return 'lookalike';
  return char === ' ' ? 'space' : 'plain';
}

/** What a text is to its reader: one of several lines, one argument, or anything else. */
type Reading = 'text' | 'word' | 'plain';

/** Text as the app would send it, near enough for the pages. */
export function shown(text: string, reading: Reading = 'plain'): Shown {
  if (SECRET.test(text)) return { spans: [{ kind: 'secret', text: '••••••••••', raw: text }] };
  const spans: Span[] = [];
  const end = /[ \t]*$/.exec(text)?.index ?? text.length;
  for (const [at, char] of [...text].entries()) {
    const isTrailing = at >= end || /^[ \t]*\n/.test(text.slice(at));
    const isBlank = char === ' ' && reading !== 'word' && !(reading === 'text' && isTrailing);
    const kind = isBlank ? 'plain' : reading !== 'plain' && LAYOUT.test(char) ? 'layout' : kindOf(char);
    const last = spans.at(-1);
    if (kind === 'escape' || kind === 'layout') {
      spans.push({ kind, text: `U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}` });
    } else if (last?.kind === kind) last.text += char;
    else spans.push({ kind, text: char });
  }
  return { spans };
}

/** One simple command; words with a leading `!` missed the rule, words with a leading `#` are programs too. */
export function segment(words: string[], operator?: string, missed = false): SegmentView {
  const args = words.map((word, index): ArgView => {
    const marked = /^[!#]/.test(word);
    const role = index === 0 || word.startsWith('#') ? 'executable' : 'argument';
    return { role, shown: shown(marked ? word.slice(1) : word, 'word'), missed: word.startsWith('!') };
  });
  return operator === undefined ? { args, missed } : { operator, args, missed };
}

export function command(segments: SegmentView[], form: CommandView['form'] = 'argv'): CommandView {
  const args = segments.flatMap((part) => part.args);
  const spans = args.flatMap((arg) => arg.shown.spans);
  const of = (kind: Span['kind']) => spans.filter((span) => span.kind === kind);
  return {
    form,
    segments,
    copy: args.map((arg) => arg.shown.spans.map((span) => span.raw ?? span.text).join('')).join(' '),
    arguments: args.filter((arg) => arg.role === 'argument').length,
    hidden: of('escape').length,
    lookalikes: of('lookalike').reduce((letters, { text }) => letters + text.length, 0),
    secrets: of('secret').length,
  };
}

/** A text that `sh -c` runs, in its parts. */
export function chain(segments: SegmentView[]): CommandView {
  return { ...command(segments), shell: segment(['sh', '-c']).args };
}

/** A text that a shell runs and that could not be split. */
export function shellText(text: string, shell = ['bash', '-lc']): CommandView {
  return { ...opaque(text), form: 'argv', shell: segment(shell).args, copy: `${shell.join(' ')} '${text}'` };
}

/** A text that could not be split. */
export function opaque(text: string): CommandView {
  return command([{ args: [{ role: 'text', shown: shown(text, 'text'), missed: true }], missed: true }], 'text');
}

/** Text in paragraphs, as of a plugin. */
export function paragraphs(...texts: string[]): CommandView {
  return command(
    texts.map((text) => ({ args: [{ role: 'text', shown: shown(text, 'text'), missed: false }], missed: false })),
    'text',
  );
}
