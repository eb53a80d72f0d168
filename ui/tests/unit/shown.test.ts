import { expect, test } from 'vitest';
import { BackendError } from '../../src/lib/ipc';
import { bare, escaped, linesIn, marked, plain, toPaint, VISIBLE_SPACE } from '../../src/lib/shown';
import { shown } from '../mock/text';

test('an argument of few spans is painted span by span', () => {
  const text = shown('a b\u202ec', 'word');
  expect(toPaint(text, VISIBLE_SPACE)).toBe(text.spans);
});

test('an argument of very many spans keeps every character in few elements', () => {
  const text = shown('word '.repeat(40_000) + '\u202eend', 'word');
  const painted = toPaint(text, VISIBLE_SPACE);
  expect(painted.map(({ kind }) => kind)).toEqual(['plain', 'escape', 'plain']);
  expect(painted[0]?.text).toBe(`word${VISIBLE_SPACE}`.repeat(40_000));
});

test('each blank of a run is painted, also in an argument of very many spans', () => {
  const painted = toPaint(shown('a   b '.repeat(200), 'word'), VISIBLE_SPACE);
  const run = VISIBLE_SPACE.repeat(3);
  expect(painted).toEqual([{ kind: 'plain', text: `a${run}b${VISIBLE_SPACE}`.repeat(200) }]);
});

test('a masked secret stays masked in plain text', () => {
  expect(plain(shown('ghp_secret'))).not.toContain('secret');
});

test('whatever is thrown becomes an error with a known code', () => {
  const code = (thrown: unknown) => BackendError.from(thrown).code;
  expect(code({ code: 'gone', message: 'x' })).toBe('gone');
  expect(code({ code: 'surprise', message: 'x' })).toBe('internal');
  expect(code('text')).toBe('internal');
  expect(code(null)).toBe('internal');
  expect(code(new Error('x'))).toBe('internal');
});

test('where nothing can be marked, look-alike letters carry their code', () => {
  expect(marked(shown('m\u0430in\u202e x'))).toBe('m\u0430[U+0430]inU+202E x');
});

test('a text is as many lines as it has ends, and the last one where something follows', () => {
  const lines = (text: string) => linesIn(shown(text, 'text')).map(({ shown, isEnded }) => [bare(shown), isEnded]);
  expect(lines('a\n\nb c')).toEqual([
    ['a', true],
    ['', true],
    ['b c', false],
  ]);
  expect(lines('a\n')).toEqual([['a', true]]);
  expect(lines('')).toEqual([]);
  // Blanks at an end are painted, and a tab is no end.
  expect(lines('a \n\tb')).toEqual([
    [null, true],
    [null, false],
  ]);
  // Where nobody expects lines, there are none.
  expect(linesIn(shown('a\nb')).length).toBe(1);
});

test('in one line an end of a line has its sign', () => {
  expect(marked(shown('a\n\tb', 'text'))).toBe('a↵ b');
  expect(marked(shown('a\nb'))).toBe('aU+000Ab');
});

test('words that came as they are show what would not be seen in them', () => {
  expect(escaped('a\u202eb\n\u{e0041}c')).toEqual({
    spans: [
      { kind: 'plain', text: 'a' },
      { kind: 'escape', text: 'U+202E' },
      { kind: 'plain', text: 'b' },
      { kind: 'escape', text: 'U+000A' },
      { kind: 'escape', text: 'U+E0041' },
      { kind: 'plain', text: 'c' },
    ],
  });
  expect(escaped('')).toEqual({ spans: [] });
});
