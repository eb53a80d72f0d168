import type { BackendError } from './ipc';

/** What an error says at the field of a form that it is about. */
export interface Wrong<Field extends string> {
  field: Field;
  text: string;
}

/** Which of `fields` an error is about, by the word that it begins with; `null` when it is about none of them. */
export function wrongField<Field extends string>(
  error: BackendError | null,
  fields: readonly Field[],
): Wrong<Field> | null {
  if (error?.code !== 'invalid') return null;
  const at = error.message.indexOf(': ');
  const field = fields.find((name) => name === error.message.slice(0, at));
  return field === undefined ? null : { field, text: error.message.slice(at + 2) };
}
