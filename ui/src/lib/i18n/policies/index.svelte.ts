import type { PolicyStore } from '../../protocol';
import { marked } from '../../shown';
import { currentLocale, type Locale } from '../index.svelte';
import { en, type PoliciesCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { PoliciesCatalogue };

/** Texts about documents of other machines; the prompt window does not load them. */
export const POLICIES_CATALOGUES: Record<Locale, PoliciesCatalogue> = { en, zh, ko };

/** The texts in the present language; reading them in a component follows the language. */
export function tp(): PoliciesCatalogue {
  return POLICIES_CATALOGUES[currentLocale()];
}

/** The name of a document of another machine: the person's for the gateway, with the node's own. */
export function storeName({ name, gateway }: PolicyStore): string {
  return gateway ? tp().node(marked(gateway), marked(name)) : marked(name);
}
