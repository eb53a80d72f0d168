import { te } from './i18n/expected/index.svelte';
import type { BackendError } from './ipc';
import { sentences } from './i18n/index.svelte';
import type { Expected, UncountedCause } from './protocol';

/** What an error says at the field of a form that it is about. */
export interface Wrong<Field extends string> {
  field: Field;
  text: string;
}

/** Which of `fields` an error is about, and what would be right there; `null` when it is about none of them. */
export function wrongField<Field extends string>(
  error: BackendError | null,
  fields: readonly Field[],
): Wrong<Field> | null {
  const mistake = error?.code === 'invalid' ? error.mistake : null;
  const field = fields.find((name) => name === mistake?.field);
  return field === undefined || !mistake ? null : { field, text: expectedSentence(mistake.expected) };
}

/** Why a permission cannot let anything run, and what to do instead; `what` is the file or path that it really is. */
export function causeSentence(cause: UncountedCause, what?: string): string {
  const words = te();
  return what === undefined ? words.uncounted[cause] : sentences([words.uncounted[cause], words.reallyIs(what)]);
}

/** What would be right in place of what was typed. */
export function expectedSentence(expected: Expected): string {
  const words = te();
  switch (expected.kind) {
    case 'length':
      return words.length(expected.least, expected.most);
    case 'range':
      return words.range(expected.least, expected.most);
    case 'at-most':
      return words.atMost(expected.count);
    case 'filters':
      return words.filters(expected.count, expected.length);
    case 'counting':
      return causeSentence(expected.cause, expected.what);
    case 'executable':
      return words.executable(expected.why);
    default:
      return words[expected.kind];
  }
}
