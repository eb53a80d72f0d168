// Writes verdicts of an installed OpenClaw release about cases that are made up here.
//
//     node generate.mjs PACKAGE FOLDER [SEED [TIMES]]
//
// PACKAGE is the release's package folder; FOLDER gets a file for each operation, in the form of the vectors. The same
// seed makes the same cases. TIMES multiplies how many there are of each class: with many, and seeds that nobody has
// used yet, this finds what the stored verdicts do not have.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { CLASSES } from './cases/index.mjs';
import { line, verdicts, version } from './oracle.mjs';
import { Random } from './random.mjs';

// How the vectors begin the ids of each operation.
const PREFIXES = {
  'allow-always': 'AA', 'analyze-shell': 'AS', display: 'DI', document: 'DO', 'env-override': 'EN', evaluate: 'EV', 'evaluate-argv': 'EA',
  hash: 'HA', 'inline-eval': 'IE', 'match-pattern': 'MP', 'raw-command': 'RC', 'requires-approval': 'RA', 'safe-bin': 'SB', windows: 'WI',
  wrapper: 'WR',
};

const [folder, target, seed = '1', times = '1'] = process.argv.slice(2);
const release = version(folder);
const cases = [];
const counted = {};
for (const [at, [op, name, count, make]] of CLASSES.entries()) {
  const random = new Random(Number(seed) * 1000 + at);
  const seen = new Set();
  // A class may have fewer cases than wanted; then it ends when hardly any is new.
  for (let tries = count * Number(times) * 20; tries > 0 && seen.size < count * Number(times); tries -= 1) {
    const input = make(random);
    const key = JSON.stringify(input);
    if (seen.has(key)) continue;
    seen.add(key);
    counted[op] = (counted[op] ?? 0) + 1;
    cases.push({ id: `${PREFIXES[op]}-n${String(counted[op]).padStart(4, '0')}`, op, class: name, input });
  }
}
const files = {};
const answered = await verdicts(folder, cases);
for (const one of answered) files[one.op] = (files[one.op] ?? '') + line({ ...one, oracle: release });
mkdirSync(target, { recursive: true });
for (const [op, text] of Object.entries(files)) writeFileSync(path.join(target, `${op}.jsonl`), text);
process.stdout.write(`${answered.length} verdicts of ${release}; ${cases.length - answered.length} cases have none\n`);
process.exit(0);
