import type { Card } from '../../src/lib/protocol';
import { card } from './cards';
import { command, segment, shellText } from './text';

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

/** Arguments with lines in them, and a name and a path that must have none. */
export function linesInArguments(id: string, now: number): Card {
  const words = ['git', 'commit', '-m', 'Fix the log-in\n\nrm -rf /srv\n', '--author', 'Mina'];
  const strange = segment(['/usr/bin/scan', '/srv/notes']);
  const [name, path] = strange.args;
  for (const arg of [name, path])
    arg?.shown.spans.push({ kind: 'escape', text: 'U+000A' }, { kind: 'plain', text: 'x' });
  return card(id, now, { command: command([segment(words), { ...strange, operator: '&&' }]) });
}
