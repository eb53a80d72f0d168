import { te } from './i18n/expected/index.svelte';
import type { BackendError } from './ipc';
import type { Expected } from './protocol';

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
    case 'executable':
      return words.executable(expected.why);
    default:
      return words[expected.kind];
  }
}
