import { currentLocale, type Locale } from '../index.svelte';
import { en, type RecordCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { RecordCatalogue };

/** Texts about the record itself; the prompt window does not load them. */
export const RECORD_CATALOGUES: Record<Locale, RecordCatalogue> = { en, zh, ko };

/** The texts in the present language; reading them in a component follows the language. */
export function ofRecord(): RecordCatalogue {
  return RECORD_CATALOGUES[currentLocale()];
}
