import { currentLocale, type Locale } from '../index.svelte';
import { en, type ConnectionsCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { ConnectionsCatalogue };

/** Texts of the page about connections; the prompt window does not load them. */
export const CONNECTIONS_CATALOGUES: Record<Locale, ConnectionsCatalogue> = { en, zh, ko };

/** The page's texts in the present language; reading them in a component follows the language. */
export function tc(): ConnectionsCatalogue {
  return CONNECTIONS_CATALOGUES[currentLocale()];
}
