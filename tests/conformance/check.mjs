// Whether `oracle.mjs` asks a release what its vectors were asked: it answers the stored cases of that
// release once more.
//
//     node check.mjs PACKAGE
//
// PACKAGE is the release's package folder. Ends with status 1 and the ids of the cases that differ when there are any.

import { readFileSync, readdirSync } from 'node:fs';
import process from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { verdicts, version } from './oracle.mjs';

const [folder] = process.argv.slice(2);
const release = version(folder);
const vectors = new URL('../vectors/', import.meta.url);
const files = readdirSync(vectors, { recursive: true }).filter((name) => name.endsWith('.jsonl'));
const lines = files.flatMap((name) => readFileSync(new URL(name, vectors), 'utf8').split('\n').filter(Boolean));

// What the release was not asked: cases of another one, and values that follow from a formula.
function isAsked({ oracle, input }) {
  const formula = input.fn === 'hmac' || input.fn === 'mode' || input.kind === 'output-tail';
  return (oracle === release || oracle === 'both') && (input.version ?? release) === release && !formula;
}

const cases = lines.map((line) => JSON.parse(line)).filter(isAsked);
const answers = await verdicts(folder, cases.map(({ id, op, class: name, input }, at) => ({ id, op, class: name, input, at })));
const differ = answers.filter(({ at, expect }) => {
  const stored = cases[at].expect;
  // A program of the machine is where the machine has it.
  const isSystem = JSON.stringify(stored).includes('<system>');
  return !isSystem && Object.keys(stored).some((name) => !isDeepStrictEqual(stored[name], expect[name]));
});
process.stdout.write(`${answers.length} of ${cases.length} cases asked again, ${differ.length} answers differ\n`);
for (const { id } of differ) process.stdout.write(`${id}\n`);
process.exit(differ.length > 0 ? 1 : 0);
