// Every class of cases: the operation, its name, how many are kept, and what makes one.

import * as documents from './documents.mjs';
import { anyList, interpreter, plain, runner, shell, wrapped } from './lists.mjs';
import * as parts from './parts.mjs';
import * as texts from './texts.mjs';
import { LISTS } from './words.mjs';

// Where a command runs, most often where it usually does.
function place(random) {
  return random.chance(88) ? {} : { cwd: random.pick(['$FX/work/sub', '$FX/home', '$FX/bin', '$FX/nowhere', '$FX/work/']) };
}

function held(make) {
  return (random) => ({ command: make(random), allowlist: random.pick(LISTS), ...place(random) });
}

function heldList(make) {
  return (random) => ({ argv: make(random), allowlist: random.pick(LISTS), ...place(random) });
}

function remembered(make) {
  return (random) => ({ command: make(random), cwd: random.pick(['/srv/reports', '/srv/reports/north']), ...(random.chance(30) && { strictInlineEval: true }) });
}

function taken(make) {
  return (random) => ({ command: make(random) });
}

const written = (make) => (random) => texts.written(make(random));

export const CLASSES = [
  ...texts.ALL.map((make) => ['evaluate', make.name, 110, held(make)]),
  ['evaluate', 'safeBinText', 80, parts.safeBinText],
  ...texts.ALL.map((make) => ['analyze-shell', make.name, 45, taken(make)]),
  ...[shell, wrapped, runner, interpreter, plain].map((make) => ['evaluate-argv', make.name, 35, heldList(make)]),
  ...[shell, wrapped, runner].map((make) => ['wrapper', make.name, 60, random => (random.chance(50) ? held(written(make)) : heldList(make))(random)]),
  ['allow-always', 'interpreter', 150, remembered(written(interpreter))],
  ['allow-always', 'shell', 100, remembered(written(shell))],
  ['allow-always', 'carrier', 50, remembered(texts.carrier)],
  ['allow-always', 'wrapper', 60, remembered(texts.wrapper)],
  ['allow-always', 'runner', 40, remembered(written(runner))],
  ['allow-always', 'any', 60, remembered(written(anyList))],
  ['allow-always', 'form', 60, remembered(texts.form)],
  ['allow-always', 'negation', 30, remembered(texts.negation)],
  ['match-pattern', 'pattern', 150, parts.pattern],
  ['safe-bin', 'safeBin', 200, parts.safeBin],
  ['inline-eval', 'list', 120, parts.codeList],
  ['inline-eval', 'flag', 200, parts.codeFlag],
  ['inline-eval', 'pattern', 100, parts.codePattern],
  ['env-override', 'variable', 150, parts.variable],
  ['raw-command', 'rawCommand', 250, parts.rawCommand],
  ['requires-approval', 'approval', 60, parts.approval],
  ['document', 'load', 120, documents.load],
  ['document', 'resolve', 80, documents.resolve],
  ['document', 'normalise', 60, documents.normalise],
  ['document', 'snapshot', 30, documents.snapshot],
  ['document', 'current', 150, documents.current],
  ['document', 'merge-socket', 20, documents.mergeSocket],
  ['display', 'shown', 60, parts.shown],
  ['windows', 'windowsText', 60, parts.windowsText],
  ['hash', 'hash', 40, parts.hash],
];
