import { currentLocale, type Locale } from '../index.svelte';
import { en, type AgentsCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { AgentsCatalogue };

/** Texts of the page of agents and of the first steps; the prompt window does not load them. */
export const AGENTS_CATALOGUES: Record<Locale, AgentsCatalogue> = { en, zh, ko };

/** The page's texts in the present language; reading them in a component follows the language. */
export function ta(): AgentsCatalogue {
  return AGENTS_CATALOGUES[currentLocale()];
}
