import { currentLocale, type Locale } from '../index.svelte';
import { en, type Catalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

/** Texts about what is right in a form. */
export const EXPECTED_CATALOGUES: Record<Locale, Catalogue> = { en, zh, ko };

/** The texts in the present language; reading them in a component follows the language. */
export function te(): Catalogue {
  return EXPECTED_CATALOGUES[currentLocale()];
}
