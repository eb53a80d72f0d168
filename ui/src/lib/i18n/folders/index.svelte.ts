import { currentLocale, type Locale } from '../index.svelte';
import { en, type FoldersCatalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { FoldersCatalogue };

/** Texts of the page of folders; the prompt window does not load them. */
export const FOLDERS_CATALOGUES: Record<Locale, FoldersCatalogue> = { en, zh, ko };

/** The texts in the present language; reading them in a component follows the language. */
export function tf(): FoldersCatalogue {
  return FOLDERS_CATALOGUES[currentLocale()];
}
