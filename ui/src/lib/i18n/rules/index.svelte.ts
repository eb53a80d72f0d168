import { currentLocale, type Locale } from '../index.svelte';
import { en, type RulesCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { RulesCatalogue };

/** Texts of the page of rules; the prompt window does not load them. */
export const RULES_CATALOGUES: Record<Locale, RulesCatalogue> = { en, zh, ko };

/** The page's texts in the present language; reading them in a component follows the language. */
export function tr(): RulesCatalogue {
  return RULES_CATALOGUES[currentLocale()];
}
