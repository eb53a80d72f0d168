import type { Card } from '../../src/lib/protocol';
import { card } from './cards';
import { command, segment, shellText, shown } from './text';
import { change, edit, hunk } from './tools';

const NOTES = `cat > docs/harbour.md <<'EOF'
# Harbour
\tThe pier is closed on Thursday.  
Use dock 4; the crane of dock 2 is being repaired until the end of the month and nobody is to moor below it.

EOF
npm run --silent lint
`;

/** A command of an agent's shell tool, as a hook brings it. */
function ofShell(id: string, now: number, text: string, differs: Partial<Card> = {}): Card {
  return card(id, now, { kind: 'permit', via: 'hook', command: shellText(text), ...differs });
}

/** A here-document. */
export function hereDocument(id: string, now: number): Card {
  return ofShell(id, now, NOTES);
}

/** One of `lines` lines. */
export function longHereDocument(id: string, now: number, lines: number): Card {
  const body = Array.from({ length: lines }, (_, at) => `  "key-${at}": "${'value '.repeat(at % 9)}",`);
  return ofShell(id, now, `cat > data.json <<'EOF'\n${body.join('\n')}\nEOF\n`);
}

/** One with characters that hide something, and with what passes for something else. */
export function hostileHereDocument(id: string, now: number): Card {
  const text = `cat > a.sh <<'EOF'\r
if (user != "admin\u202e \u2066// check\u2069 \u2066") exit
${'x'.repeat(70)}${' '.repeat(90)}rm -rf ~
  rm \u0430ll\u200b
EOF
`;
  return ofShell(id, now, text);
}

/** A patch in a command, with what it would change beside it. */
export function patchInCommand(id: string, now: number): Card {
  const patch = ['*** Add File: docs/pier.md', '+# Pier', '+', '+Closed.', '*** Delete File: docs/old.md'];
  const text = `apply_patch <<'EOF'\n*** Begin Patch\n${patch.join('\n')}\n*** End Patch\nEOF\n`;
  const changes = [
    change('create', '/home/mina/src/storefront/docs/pier.md', [hunk(1, 1, ['+# Pier', '+', '+Closed.'])]),
    change('delete', '/home/mina/src/storefront/docs/old.md', [hunk(1, 1, ['-Nothing.'])]),
  ];
  const { facts } = card(id, now);
  return ofShell(id, now, text, {
    facts: [...changes.map((one) => ({ kind: 'change', change: one }) as const), ...facts],
  });
}

/** What an agent below the asking one wants, and does not wait for. */
export function ofSubAgent(id: string, now: number): Card {
  const { facts } = card(id, now);
  const who = { kind: 'sub-agent', id: shown('a2d16c525aa208a02'), madeFor: shown('general-purpose') } as const;
  return ofShell(id, now, 'npm run serve', { facts: [who, { kind: 'background' }, ...facts] });
}

/** The same with a name that would pass for something else. */
export function ofHostileSubAgent(id: string, now: number): Card {
  const made = ofSubAgent(id, now);
  const who = {
    kind: 'sub-agent',
    id: shown('a'.repeat(200)),
    madeFor: shown(`\u202ereviewer of the m\u0430in agent ${'x '.repeat(120)}`),
  } as const;
  return { ...made, facts: [who, ...made.facts.slice(1)] };
}

/** A file that is not in the agent's folder. */
export function outside(id: string, now: number): Card {
  const made = edit(id, now, { via: 'hook' });
  const marked = change('create', '/home/mina/.config/shop.toml', [hunk(1, 1, ['+open = true'])], {
    notes: ['outside'],
  });
  return {
    ...made,
    facts: made.facts.map((fact) => (fact.kind === 'change' ? { kind: 'change', change: marked } : fact)),
  };
}

/** Arguments with lines in them, and a name and a path that must have none. */
export function linesInArguments(id: string, now: number): Card {
  const words = ['git', 'commit', '-m', 'Fix the log-in\n\nrm -rf /srv\n', '--author', 'Mina'];
  const strange = segment(['/usr/bin/scan', '/srv/notes']);
  const [name, path] = strange.args;
  for (const arg of [name, path])
    arg?.shown.spans.push({ kind: 'escape', text: 'U+000A' }, { kind: 'plain', text: 'x' });
  return card(id, now, { command: command([segment(words), { ...strange, operator: '&&' }]) });
}
