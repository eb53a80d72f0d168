import Arguments from '../../../src/components/prompt/Arguments.svelte';
import CommandBlock from '../../../src/components/prompt/CommandBlock.svelte';
import CrossingFacts from '../../../src/components/prompt/CrossingFacts.svelte';
import DiffNotes from '../../../src/components/prompt/DiffNotes.svelte';
import DiffRows from '../../../src/components/prompt/DiffRows.svelte';
import DiffView from '../../../src/components/prompt/DiffView.svelte';
import FactFrame from '../../../src/components/prompt/FactFrame.svelte';
import FactList from '../../../src/components/prompt/FactList.svelte';
import FactRow from '../../../src/components/prompt/FactRow.svelte';
import ReadOn from '../../../src/components/prompt/ReadOn.svelte';
import ReadingBlock from '../../../src/components/prompt/ReadingBlock.svelte';
import ReadingText from '../../../src/components/prompt/ReadingText.svelte';
import Strange from '../../../src/components/prompt/Strange.svelte';
import Terminal from '~icons/lucide/terminal';
import { crossingOf, keysOf } from '../../../src/lib/crossing';
import { diffOf } from '../../../src/lib/diff';
import { groups } from '../../../src/lib/excerpt';
import type { Card, ChangeView, Fact } from '../../../src/lib/protocol';
import { changesOf, partsOf } from '../../../src/lib/reading';
import * as cards from '../cards';
import * as crossings from '../crossings';
import * as lines from '../lines';
import { shown } from '../text';
import * as tools from '../tools';
import { entry, type Area } from './entry';
import { DEEP, ESCAPED, nothing, NOW, words } from './world';

const command = (card: Card, differs: object = {}) => ({
  command: card.command,
  kind: card.kind,
  keys: keysOf(card) !== undefined,
  showing: 1,
  revealed: false,
  endSeen: true,
  followed: false,
  tooLarge: false,
  onend: nothing,
  onreveal: nothing,
  say: nothing,
  ...differs,
});

const facts = (card: Card, revealed = false) => ({ card, revealed });

/** A card of which nothing but these facts is looked at. */
const found = (...all: Fact[]) => facts(cards.card('f', NOW, { facts: all }));

function crossing(card: Card, revealed = false) {
  const fact = crossingOf(card) ?? keysOf(card);
  if (!fact) throw new Error('it is about no connection');
  return { fact, revealed };
}

function change(card: Card): ChangeView {
  const [first] = changesOf(card);
  if (!first) throw new Error('it changes nothing');
  return first;
}

const read = (card: Card, differs: object = {}) => ({
  card,
  showing: 1,
  revealed: false,
  endSeen: true,
  onend: nothing,
  onreveal: nothing,
  ...differs,
});

function text(card: Card, revealed = false) {
  const part = partsOf(card).find((one) => one.kind !== 'change');
  if (part === undefined) throw new Error('it has no text');
  return { part, revealed };
}

const rows = (card: Card, differs: object = {}) => {
  const [block] = diffOf(change(card)).blocks.filter((one) => one.kind === 'rows');
  return { rows: block?.kind === 'rows' ? block.rows : [], revealed: false, lazy: false, ...differs };
};

const args = (card: Card) => groups(card.command.segments[0]?.args ?? []);

export const reading: Area = {
  name: 'reading a request',
  width: 560,
  entries: [
    entry(CommandBlock, {
      short: command(cards.card('a', NOW)),
      chain: command(cards.chained('a', NOW)),
      hostile: command(cards.hostile('a', NOW)),
      'secrets readable': command(cards.hostile('a', NOW), { revealed: true }),
      'a text of a shell': command(cards.unanalysed('a', NOW)),
      'a here-document': command(lines.hereDocument('a', NOW)),
      'a hostile here-document': command(lines.hostileHereDocument('a', NOW)),
      'lines in arguments': command(lines.linesInArguments('a', NOW)),
      'end not seen': command(cards.longArgument('a', NOW, 4_000), { endSeen: false }),
      'too large': command(cards.longArgument('a', NOW, 4_000), { tooLarge: true, endSeen: false }),
      plugin: command(cards.plugin('a', NOW)),
      destination: command(crossings.crossing('a', NOW)),
      keys: command(crossings.sshKeys('a', NOW)),
      tool: command(tools.foreignTool('a', NOW), { followed: true }),
    }),
    entry(
      Arguments,
      {
        words: { groups: args(cards.card('a', NOW)) },
        hostile: { groups: args(cards.hostile('a', NOW)) },
        'secrets readable': { groups: args(cards.hostile('a', NOW)), revealed: true },
        prose: { groups: args(cards.plugin('a', NOW)), prose: true },
      },
      'command',
    ),
    entry(Strange, {
      hidden: { hidden: 3, lookalikes: 0 },
      'look-alikes': { hidden: 0, lookalikes: 1 },
      both: { hidden: 12, lookalikes: 1_234 },
    }),
    entry(ReadOn, {
      'goes on': { endSeen: false, allows: true, below: '12 more lines', testid: 'read-on' },
      'goes on, cannot be allowed': { endSeen: false, allows: false, below: '12 more lines', testid: 'read-on' },
      'to the end': { endSeen: true, allows: true, below: '12 more lines', testid: 'read-on' },
    }),
    entry(ReadingBlock, {
      'a change': read(tools.edit('a', NOW)),
      'three changes': read(tools.patch('a', NOW)),
      'a task': read(tools.handOver('a', NOW)),
      'end not seen': read(tools.overwrite('a', NOW, 40), { endSeen: false }),
      secrets: read(tools.secretLines('a', NOW)),
      hostile: read(tools.hostileTool('a', NOW)),
    }),
    entry(ReadingText, {
      parameters: text(tools.foreignTool('a', NOW)),
      task: text(tools.handOver('a', NOW)),
    }),
    entry(DiffView, {
      edit: { change: change(tools.edit('a', NOW)), revealed: false },
      create: { change: change(tools.create('a', NOW)), revealed: false },
      delete: { change: change(tools.remove('a', NOW)), revealed: false },
      move: { change: change(tools.move('a', NOW)), revealed: false },
      binary: { change: change(tools.binary('a', NOW)), revealed: false },
      incomplete: { change: change(tools.incomplete('a', NOW)), revealed: false },
      hostile: { change: change(tools.hostileTool('a', NOW)), revealed: false },
      'secrets readable': { change: change(tools.secretLines('a', NOW)), revealed: true },
    }),
    entry(DiffRows, { lines: rows(tools.edit('a', NOW)), long: rows(tools.secretLines('a', NOW), { lazy: true }) }),
    entry(DiffNotes, {
      'runs by itself': {
        change: { ...change(tools.edit('a', NOW)), notes: ['runs-by-itself', 'executable', 'no-final-newline'] },
      },
      'not whole': {
        change: { ...change(tools.incomplete('a', NOW)), notes: ['binary', 'hard-linked', 'line-endings', 'outside'] },
      },
    }),
    entry(FactFrame, {
      low: { label: 'Came through', size: 'low', children: words(DEEP) },
      high: { label: 'The script', size: 'high', children: words('echo one; '.repeat(200)) },
    }),
    entry(
      FactRow,
      {
        ordinary: { kind: 'folder', grade: 'ordinary', icon: Terminal, label: 'Folder', children: words('/srv/work') },
        attention: { kind: 'network', grade: 'attention', icon: Terminal, label: 'Network', children: words('curl') },
        danger: { kind: 'elevation', grade: 'danger', icon: Terminal, label: 'Rights', children: words(DEEP) },
      },
      'facts',
    ),
    entry(FactList, {
      plain: facts(cards.card('a', NOW)),
      hostile: facts(cards.hostile('a', NOW)),
      readable: facts(cards.hostile('a', NOW), true),
      'in a sandbox': facts(cards.boxed('a', NOW)),
      'in an image': facts(cards.boxed('a', NOW, `harbor/${'tools-'.repeat(20)}`)),
      container: facts(cards.container('a', NOW)),
      gateway: facts(cards.foreign('a', NOW)),
      plugin: facts(cards.hostilePlugin('a', NOW)),
      'sub-agent': facts(lines.ofHostileSubAgent('a', NOW)),
      connection: facts(crossings.hostileCrossing('a', NOW)),
      tool: facts(tools.hostileTool('a', NOW)),
      'programs that anybody can write': found(
        { kind: 'program', name: shown('deploy'), path: shown(DEEP), realPath: shown(`${DEEP}/real`), writable: true },
        { kind: 'program', name: shown('nowhere'), writable: false },
      ),
      'environment, terminal, time': found(
        { kind: 'environment-names', names: ['HOME', 'LD_PRELOAD', ESCAPED].map((name) => shown(name)) },
        { kind: 'terminal', typed: true },
        { kind: 'terminal', typed: false },
        { kind: 'time-limit', ms: 7_200_000 },
        { kind: 'unrecorded', problem: shown('No space left on device (os error 28)') },
        { kind: 'background' },
      ),
      nothing: found(),
    }),
    entry(
      CrossingFacts,
      {
        internet: crossing(crossings.crossing('a', NOW)),
        'led elsewhere': crossing(crossings.rebound('a', NOW)),
        upload: crossing(crossings.upload('a', NOW)),
        keys: crossing(crossings.sshKeys('a', NOW)),
        hostile: crossing(crossings.hostileCrossing('a', NOW)),
      },
      'facts',
    ),
  ],
};
