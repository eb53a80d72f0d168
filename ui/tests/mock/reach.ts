import type { ArgumentRule, LadderStep, ReachedArguments, RuleReach, Rung } from '../../src/lib/protocol';
import { shown } from './text';

/** What a rule of this program with these arguments is about, near enough for the pages. */
export function reach(program: string, rule: ArgumentRule, folder?: string): RuleReach {
  const found: RuleReach = { program: shown(program), words: [], arguments: argumentsOf(rule) };
  if (typeof rule === 'object' && 'shape' in rule)
    found.words = (rule.shape.subcommand ?? []).map((word) => shown(word));
  if (folder !== undefined) found.folder = shown(folder);
  return found;
}

function argumentsOf(rule: ArgumentRule): ReachedArguments {
  if (rule === 'any') return { kind: 'any' };
  if ('exact' in rule) {
    const { args, folder } = rule.exact;
    return { kind: 'exact', args: args.map((arg) => shown(arg, 'word')), folder: shown(folder) };
  }
  const { flags } = rule.shape;
  const names = flags === undefined || flags === 'any' ? [] : flags.listed.map(({ names }) => shown(names[0] ?? ''));
  return {
    kind: 'shape',
    flags: flags === 'any' ? { kind: 'any' } : { kind: 'listed', names, more: 0, required: [] },
    operands: [{ kind: 'any' }],
  };
}

/** A ladder on which the first rungs are offered, as many as are given, and the others are not. */
export function ladder(offered: [Rung, RuleReach[]][]): LadderStep[] {
  const rungs: Rung[] = ['exact', 'shape', 'subcommand', 'program'];
  return rungs.map((rung) => {
    const rules = offered.find(([name]) => name === rung)?.[1];
    return rules ? { kind: 'offered', rung, rules, longest: 'always' } : { kind: 'withheld', rung, cause: 'dangerous' };
  });
}

const FOLDER = '/home/mina/src/storefront';

/** The offer to open this folder. */
export function opens(folder = FOLDER): LadderStep {
  return { kind: 'opens', rung: 'workspace', folder: shown(folder) };
}

/** Only the exact command is offered. */
export const EXACT_ONLY: LadderStep[] = ladder([
  ['exact', [reach('/usr/bin/git', { exact: { args: ['push', '--force', 'origin', 'main'], folder: FOLDER } })]],
]);

/** All rungs but the widest. */
export const TESTS: LadderStep[] = ladder([
  [
    'exact',
    [reach('/usr/bin/git', { exact: { args: ['log', '--oneline', '-n', '20', 'src/a file.ts'], folder: FOLDER } })],
  ],
  [
    'shape',
    [
      {
        program: shown('/usr/bin/git'),
        words: [shown('log')],
        arguments: {
          kind: 'shape',
          flags: { kind: 'listed', names: [shown('--oneline'), shown('-n')], more: 0, required: [] },
          operands: [{ kind: 'path', below: [] }],
        },
      },
    ],
  ],
  [
    'subcommand',
    [
      {
        program: shown('/usr/bin/git'),
        words: [shown('log')],
        arguments: {
          kind: 'shape',
          flags: {
            kind: 'listed',
            names: ['-n', '-p', '-S', '-G', '-L', '--all', '--oneline', '--graph', '--stat', '--since', '--until'].map(
              (name) => shown(name),
            ),
            more: 41,
            required: [],
          },
          operands: [{ kind: 'any' }],
        },
      },
    ],
  ],
]);

/** Rules for a chain with hostile words in them. */
export const HOSTILE: LadderStep[] = ladder([
  [
    'exact',
    [
      reach('/home/mina/.local/share/mise/installs/node/22.4.0/bin/npm', {
        exact: {
          args: ['run', 'build:\u202egnp.exe', '--', `--out=${'very-long-name/'.repeat(12)}`, 'a  b', ''],
          folder: `/home/mina/src/${'a-folder-with-a-long-name/'.repeat(5)}`,
        },
      }),
      reach('/usr/bin/tee', { exact: { args: ['-a', '/var/log/p\u0430ckages.log'], folder: FOLDER } }),
    ],
  ],
]);
