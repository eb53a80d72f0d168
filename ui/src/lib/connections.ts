import { tc } from './i18n/connections/index.svelte';
import { sentences } from './i18n/index.svelte';
import type { GatewayView, LinkGap, LinkProblem, LinkState } from './protocol';

/** Hexadecimal digits in a group of a shortened id or of a fingerprint. */
const GROUP = 4;

/** Groups of an id that are shown at each end: nobody compares more, and the whole id can be copied. */
const END_GROUPS = 2;

/** Microseconds from which a round trip is said in milliseconds. */
const MILLI = 1_000;

/** What a gateway lists and approves devices with, where no request is named. */
const LIST_COMMAND = 'openclaw devices list';

/** Names of requests that may stand in a command for a person to copy: nothing that a shell would take apart. */
const PLAIN_REQUEST = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** A long hexadecimal id by its two ends. */
export function shortId(id: string): string {
  const groups = grouped(id).split(' ');
  if (groups.length <= 2 * END_GROUPS) return groups.join(' ');
  return `${groups.slice(0, END_GROUPS).join(' ')} … ${groups.slice(-END_GROUPS).join(' ')}`;
}

/** Hexadecimal digits in groups, as people compare them. */
export function grouped(digits: string): string {
  return digits.match(new RegExp(`.{1,${GROUP}}`, 'gu'))?.join(' ') ?? '';
}

/** How long a round trip takes, with two digits that matter. */
export function roundTrip(us: number): string {
  const words = tc().link;
  if (us < MILLI) return words.micros(String(Math.round(us)));
  const ms = us / MILLI;
  return words.millis(ms < 10 ? ms.toFixed(1) : String(Math.round(ms)));
}

/** The sentence for a scope, and whether it is one to think about. */
export function scopeWords(scope: string): { text: string; grave: boolean; known: boolean } {
  const words = tc().scope;
  switch (scope) {
    case 'operator.admin':
    case 'operator.approvals':
    case 'operator.pairing':
    case 'operator.write':
      return { text: words[scope], grave: true, known: true };
    case 'operator.read':
      return { text: words[scope], grave: false, known: true };
    default:
      return { text: words.unknown, grave: true, known: false };
  }
}

/** A role in one word or two. */
export function roleName(role: string): string {
  const names = tc().roleName;
  return role === 'operator' || role === 'node' ? names[role] : names.unknown;
}

/** What somebody with this role is. */
export function roleWords(role: string): string {
  const words = tc().role;
  return role === 'operator' || role === 'node' ? words[role] : words.unknown;
}

/** How a connection is, with the mark that goes with it. */
export function stateWords(state: LinkState): { text: string; tone: 'allowed' | 'attention' | 'danger' | 'expired' } {
  const words = tc().state;
  switch (state.kind) {
    case 'off':
      return { text: words.off, tone: 'expired' };
    case 'connecting':
      return { text: words.connecting, tone: 'expired' };
    case 'connected':
      return state.link.gaps.length > 0
        ? { text: words.limited, tone: 'attention' }
        : { text: words.connected, tone: 'allowed' };
    case 'waiting':
      return { text: words.waiting, tone: 'attention' };
    case 'stopped':
      return { text: words.stopped, tone: 'danger' };
  }
}

/** What is wrong and what helps. */
export interface Remedy {
  /** What is wrong. */
  what: string;
  /** What to do about it. */
  help: string;
  /** The other end's own words. */
  says: string | null;
  /** Commands to type on the gateway's machine. */
  commands: string[];
  /** Fingerprints to compare, each with what it is of. */
  pins: { label: string; digits: string }[];
  /** Whether the way out leads through the form. */
  edit: boolean;
}

/** Everything to say about a problem of `gateway`. */
export function problemRemedy(problem: LinkProblem, gateway: Pick<GatewayView, 'pin'>): Remedy {
  const words = tc().problem;
  switch (problem.kind) {
    case 'unreachable':
    case 'certificate':
    case 'not-a-gateway':
      return remedy(words[problem.kind], { says: problem.text, edit: true });
    case 'refused':
      return remedy(words.refused, { says: [problem.code, problem.text].filter(Boolean).join(': ') });
    case 'closed': {
      const { what, help, code } = words.closed;
      return remedy({ what: sentences([what, code(problem.code)]), help }, { says: problem.text });
    }
    case 'timed-out':
    case 'starting':
      return remedy(words[problem.kind], {});
    case 'rate-limited':
    case 'secret-missing':
    case 'secret-wrong':
    case 'secret-withheld':
      return remedy(words[problem.kind], { edit: true });
    case 'not-paired': {
      const { what, help, helpList, reason } = words['not-paired'];
      const because = problem.reason in reason ? reason[problem.reason as keyof typeof reason] : null;
      const named = problem.requestId !== undefined && PLAIN_REQUEST.test(problem.requestId);
      const said = {
        what: because === null ? what : sentences([what, because]),
        help: named ? help : helpList,
      };
      return remedy(said, { commands: named ? [approve(problem.requestId ?? '')] : approveListed() });
    }
    case 'protocol': {
      const { what, expects, help } = words.protocol;
      return remedy(
        { what: problem.expected === undefined ? what : sentences([what, expects(problem.expected)]), help },
        {},
      );
    }
    case 'pin-mismatch':
      return remedy(words['pin-mismatch'], {
        pins: [
          { label: tc().link.pinIs, digits: gateway.pin ?? '' },
          { label: tc().link.pinFound, digits: problem.found },
        ],
        edit: true,
      });
  }
}

/** Everything to say about what a connected gateway keeps from us. */
export function gapRemedy(gap: LinkGap): Remedy {
  const words = tc().gap;
  switch (gap.kind) {
    case 'no-approvals':
      return remedy(words[gap.kind], { commands: approveListed() });
    case 'agents-hidden':
      return remedy(words[gap.kind], { edit: true });
    case 'no-list':
      return remedy(words[gap.kind], {});
    case 'scopes-narrow': {
      const { what, help, helpSecret } = words[gap.kind];
      if (gap.requestId === undefined) return remedy({ what, help: helpSecret }, { edit: true });
      const named = PLAIN_REQUEST.test(gap.requestId);
      return remedy({ what, help }, { commands: named ? [approve(gap.requestId)] : approveListed() });
    }
  }
}

function remedy({ what, help }: { what: string; help: string }, more: Partial<Remedy>): Remedy {
  const says = more.says ? more.says : null;
  return { what, help, commands: [], pins: [], edit: false, ...more, says };
}

function approve(request: string): string {
  return `openclaw devices approve ${request}`;
}

function approveListed(): string[] {
  return [LIST_COMMAND, approve('REQUEST')];
}
