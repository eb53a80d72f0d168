import { currentLocale, type Locale } from '../index.svelte';
import { en, type RoutingCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { RoutingCatalogue };

/** Texts about where commands run; the prompt window does not load them. */
export const ROUTING_CATALOGUES: Record<Locale, RoutingCatalogue> = { en, zh, ko };

/** The texts in the present language; reading them in a component follows the language. */
export function tr(): RoutingCatalogue {
  return ROUTING_CATALOGUES[currentLocale()];
}
