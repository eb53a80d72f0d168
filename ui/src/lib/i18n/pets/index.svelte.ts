import { currentLocale, type Locale } from '../index.svelte';
import { en, type PetsCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { PetsCatalogue };

/** Texts about companion clients and pet servers; the prompt window does not load them. */
export const PETS_CATALOGUES: Record<Locale, PetsCatalogue> = { en, zh, ko };

/** The texts in the present language; reading them in a component follows the language. */
export function tp(): PetsCatalogue {
  return PETS_CATALOGUES[currentLocale()];
}
