import { currentLocale, type Locale } from '../index.svelte';
import { en, type ForwardCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { ForwardCatalogue };

/** Texts about handing on; the prompt window does not load them. */
export const FORWARD_CATALOGUES: Record<Locale, ForwardCatalogue> = { en, zh, ko };

/** The texts in the present language; reading them in a component follows the language. */
export function tf(): ForwardCatalogue {
  return FORWARD_CATALOGUES[currentLocale()];
}
