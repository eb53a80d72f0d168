import { groupName } from './crossing';
import { t } from './i18n/index.svelte';
import type { CallReach, ReachedFlags, ReachedOperand, RuleReach, Shown } from './protocol';

/** One thing that a rule says about arguments: words, what they are about, and what is said after it. */
export interface Said {
  text: string;
  codes: Shown[];
  after?: string;
}

/** What an open folder reaches: whatever runs in it. */
export interface FolderReach {
  kind: 'workspace';
  folder: Shown;
}

/** Arguments of an exact rule that are named one by one; the command itself has all of them. */
const NAMED = 40;

/** What a rule reaches beyond its program, in words of the present language. */
export function reached({ arguments: args, folder, unchanged }: RuleReach): Said[] {
  const words = t().reach;
  const said: Said[] = [];
  if (args.kind === 'any') said.push({ text: words.any, codes: [] });
  else if (args.kind === 'exact') {
    said.push(args.args.length === 0 ? { text: words.none, codes: [] } : exactly(args.args));
    said.push({ text: words.inFolder, codes: [args.folder] });
  } else if (args.flags.kind === 'any' && args.operands.some(({ kind }) => kind === 'any')) {
    said.push({ text: words.anything, codes: [] });
  } else {
    said.push(...flags(args.flags), ...operands(args.operands));
  }
  if (folder) said.push({ text: words.folder, codes: [folder] });
  for (const file of unchanged ?? []) said.push({ text: words.unchanged[file], codes: [] });
  return said;
}

/** What a rule about calls that are no commands reaches; the first of it names the subject. */
export function reachedCalls(reach: CallReach): Said[] {
  const words = t().reach.call;
  switch (reach.kind) {
    case 'files': {
      const below = { text: words.files, codes: [reach.below] };
      return reach.names ? [below, { text: words.names, codes: [reach.names] }] : [below];
    }
    case 'host':
      return [{ text: words.host, codes: [reach.host] }];
    case 'crossing': {
      const { place, reach: about } = t().crossing;
      const there: Said = { text: about.destination, codes: [reach.destination] };
      const lies: Said[] = reach.place === 'internet' ? [] : [{ text: place[reach.place], codes: [] }];
      return [there, ...lies, from(reach.within)];
    }
    case 'registries':
      return [{ text: t().crossing.reach.registries, codes: [groupName(reach.group)] }, from(reach.within)];
    case 'tool':
      return [{ text: words.tool, codes: [reach.tool] }];
  }
}

/** Out of which boxes. */
function from(within: Shown | undefined): Said {
  const words = t().crossing.reach;
  return within ? { text: words.within, codes: [within] } : { text: words.anywhere, codes: [] };
}

function exactly(args: Shown[]): Said {
  const words = t().reach;
  const said: Said = { text: words.exact, codes: args.slice(0, NAMED) };
  return args.length > NAMED ? { ...said, after: words.more(args.length - NAMED) } : said;
}

function flags(found: ReachedFlags): Said[] {
  const words = t().reach;
  if (found.kind === 'any') return [{ text: words.flagsAny, codes: [] }];
  if (found.names.length === 0) return [{ text: words.flagsNone, codes: [] }];
  const named: Said = { text: words.flags, codes: found.names };
  if (found.more > 0) named.after = words.more(found.more);
  return found.required.length > 0 ? [named, { text: words.required, codes: found.required }] : [named];
}

function operands(kinds: ReachedOperand[]): Said[] {
  const words = t().reach;
  if (kinds.length === 0) return [{ text: words.operandsNone, codes: [] }];
  return kinds.map((kind): Said => {
    switch (kind.kind) {
      case 'any':
      case 'data':
      case 'edit-script':
      case 'print-script':
        return { text: words.operand[kind.kind], codes: [] };
      case 'one-of':
        return { text: words.operand['one-of'], codes: kind.words };
      case 'path':
        return kind.below.length === 0
          ? { text: words.operand.here, codes: [] }
          : { text: words.operand.path, codes: kind.below };
      case 'visible-path':
        return kind.below.length === 0
          ? { text: words.operand.visibleHere, codes: [] }
          : { text: words.operand['visible-path'], codes: kind.below };
      case 'prefix':
        return { text: words.operand.prefix, codes: kind.beginnings };
    }
  });
}
