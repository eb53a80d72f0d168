import { causeSentence } from './fields';
import { tr } from './i18n/rules/index.svelte';
import type { Comes, Uncounted } from './protocol';
import { plain } from './shown';

/** Why a permission that is stored lets nothing run, and for how long. */
export function uncountedSentence({ cause, lasts, what }: Uncounted): string {
  const why = causeSentence(cause, what && plain(what));
  return lasts === 'ever' ? tr().neverCounts(why) : tr().notNow(why);
}

/** What keeps a permission that was just stored from letting something run; nothing where it is in force. */
export function comesSentence(comes: Comes): string | null {
  switch (comes.kind) {
    case 'in-force':
      return null;
    case 'idle':
      return uncountedSentence(comes.why);
    default:
      return tr().comes[comes.kind];
  }
}
