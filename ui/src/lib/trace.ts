import { t } from './i18n/index.svelte';
import type { TraceStep } from './protocol';

/** Whether a step speaks for running, against it, or neither. */
export type Stance = 'for' | 'against' | 'neither';

/** A step in words: a sentence, and what it is about, which is shown as code. */
export interface Explained {
  stance: Stance;
  text: string;
  code?: string;
  /** Said after the code. */
  after?: string;
}

/** A sentence with values in place of its marks, such as `{cause}`. */
function fill(sentence: string, values: Record<string, string>): string {
  return sentence.replace(/\{(\w+)\}/g, (mark, name: string) => values[name] ?? mark);
}

/**
 * A step in words of the present language. The command line says the same, out of the same file of words
 * (`crates/cli/src/commands/explain.rs`).
 */
export function explained(step: TraceStep): Explained {
  const words = t().trace;
  const list = (items: string[]) => t().common.list(items);
  switch (step.kind) {
    case 'policy':
      return {
        stance: 'neither',
        text: fill(words.policy, {
          security: t().security[step.security],
          ask: t().ask[step.ask],
          fallback: t().security[step.fallback],
        }),
      };
    case 'sandbox':
      return { stance: 'neither', text: step.network ? words.sandbox.with : words.sandbox.without };
    case 'opaque':
      return { stance: 'against', text: fill(words.opaque, { cause: step.cause }), code: step.text };
    case 'extension':
      return { stance: 'neither', text: fill(words.extension, { name: step.name }), code: step.text };
    case 'segment':
      return { stance: 'neither', text: words.segment, code: step.typed };
    case 'wrapper':
      return {
        stance: 'neither',
        text: fill(words.wrapper, { through: step.through.join(' → ') }),
        code: step.program,
      };
    case 'resolution':
      return step.path === undefined
        ? { stance: 'against', text: words.notFound }
        : { stance: 'for', text: words.program, code: step.path };
    case 'builtin':
      return { stance: 'for', text: words.builtin };
    case 'entry':
      return {
        stance: step.fit === 'covers' ? 'for' : 'against',
        text: words.entry,
        code: step.pattern,
        after: words.fit[step.fit],
      };
    case 'rule':
      return {
        stance: step.standing === 'allows' ? 'for' : 'against',
        text: words.rule[step.standing],
        ...(step.rule ? { code: step.rule } : {}),
      };
    case 'safe-bin':
      return step.refusal === undefined
        ? { stance: 'for', text: words.filter }
        : { stance: 'against', text: words.noFilter, code: step.refusal };
    case 'skill':
      return { stance: 'for', text: words.skill };
    case 'missed':
      return { stance: 'against', text: words.miss[step.cause], ...(step.detail ? { code: step.detail } : {}) };
    case 'bound':
      return { stance: 'for', text: words.bound, code: list(step.programs) };
    case 'unbound':
      return { stance: 'against', text: t().common.sentences([words.unbound, words.unboundCause[step.cause]]) };
    case 'environment':
      return { stance: 'against', text: words.environment, code: list(step.names) };
    case 'open':
      return {
        stance: 'for',
        text: step.agent === '*' ? words.openForAll : fill(words.open, { agent: step.agent }),
        code: step.folder,
      };
    case 'held':
      return { stance: 'against', text: words.held[step.cause], ...(step.detail ? { code: step.detail } : {}) };
    case 'advice':
      return {
        stance: 'neither',
        text: words.advice[step.advice],
        ...(step.subject ? { code: step.subject } : {}),
        ...(step.more > 0 ? { after: fill(words.more, { count: String(step.more) }) } : {}),
      };
    case 'verdict':
      return {
        stance: step.verdict === 'allow' || step.verdict === 'contain' ? 'for' : 'against',
        text: words.verdict[step.cause],
      };
  }
}
