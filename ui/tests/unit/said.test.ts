import { expect, test } from 'vitest';
import { commandOf, titleOf } from '../../src/lib/said';
import * as cards from '../mock/cards';
import { command, segment, shown } from '../mock/text';
import * as tools from '../mock/tools';

test.each([
  ['coder: git push', cards.card('a', 0)],
  ['coder: git log', cards.harmless('a', 0)],
  ['coder: git', cards.card('a', 0, { command: command([segment(['git', '--version'])]) })],
  ['coder: touch ""', cards.card('a', 0, { command: command([segment(['touch', ''])]) })],
  [
    'coder: sudo bash /tmp/a.sh',
    cards.card('a', 0, { command: command([segment(['sudo', '-E', '#bash', '/tmp/a.sh'])]) }),
  ],
  ['coder: npm run build 2>&1', cards.chained('a', 0)],
  ['coder: for f in *.log; do gzip -9 "$f" > /srv/archive/…', cards.unanalysed('a', 0)],
  ['ops: Send 14 invitations by mail', cards.plugin('a', 0)],
  ['harbor-office: OpenClaw change', cards.proposal('a', 0)],
])('a window is titled “%s”, after who wants what', (title, card) => {
  expect(titleOf(card)).toBe(title);
});

test('a title of a tool names it, and no title hides or reorders anything or grows long', () => {
  expect(titleOf(tools.edit('a', 0))).toMatch(/^coder: \S+$/);
  const hostile = cards.card('a', 0, {
    agent: shown(`\u202eagent ${'x'.repeat(300)}`),
    command: command([segment(['g\u0456t', `push\u200b${'y'.repeat(300)}`])]),
  });
  const title = titleOf(hostile);
  expect(title).toMatch(/^U\+202Eagent x+…: gі\[U\+0456\]t pushU\+200By+…$/);
  expect(title.length).toBeLessThan(90);
});

test('what is read out of a command is all of a short one and the beginning of a long one', () => {
  expect(commandOf(cards.card('a', 0))).toBe('git push --force origin main');
  expect(commandOf(cards.chained('a', 0))).toBe('sh -c cd storefront && npm run build 2>&1 | tail -n 20');
  const long = commandOf(cards.manyArguments('a', 0, 4_000));
  expect(long).toMatch(/^touch file-0\.txt .*…$/);
  expect(long.length).toBe(300);
  expect(commandOf(cards.hostile('a', 0))).not.toContain('ghp_');
});
