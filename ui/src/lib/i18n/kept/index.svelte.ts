import { currentLocale, type Locale } from '../index.svelte';
import { en, type KeptCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { KeptCatalogue };

/** Texts about what runs changed and about putting it back; the prompt window does not load them. */
export const KEPT_CATALOGUES: Record<Locale, KeptCatalogue> = { en, zh, ko };

/** The texts in the present language; reading them in a component follows the language. */
export function ofKept(): KeptCatalogue {
  return KEPT_CATALOGUES[currentLocale()];
}
