import type { Card } from '../../src/lib/protocol';
import samples from './samples.json';

type Sample = Pick<Card, 'command' | 'facts' | 'why'>;

/** What the app shows of a command, written by a test of the app's own analysis. */
export function sample(name: keyof typeof samples): Sample {
  // The words of the unions are only texts in a file.
  return structuredClone(samples[name]) as unknown as Sample;
}
