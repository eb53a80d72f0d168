import type { ChainDamage, ChainName } from '../../protocol';

const of: Record<ChainName, string> = { decisions: 'decisions', unasked: 'what ran unasked' };
const damage: Record<ChainDamage, string> = {
  'cut-at-start': 'The oldest lines were cut off.',
  'cut-inside': 'Lines were cut out.',
  'cut-at-end': 'The newest lines were cut off.',
  emptied: 'The record was emptied.',
  missing: 'The record was removed.',
  replaced: 'The record was replaced by another one.',
  changed: 'A line was changed, added or moved.',
};

export const en = {
  of,
  damage,
  badge: { note: 'About the record', alarm: 'Record damaged' },
  adopted: (last: number) => `Lines of an earlier version are kept on, up to position ${last}.`,
  rotated: (of: string) => `A full file was set aside (${of}).`,
  removed: (lines: number, of: string) => `The oldest ${lines} lines were removed to make room (${of}).`,
  folded: (lines: number, source: string) =>
    `${lines} lines of ${source} were only counted: it had written its share of the hour.`,
  unrecorded: (lines: number) =>
    lines === 1 ? '1 line could not be written:' : `${lines} lines could not be written:`,
  damaged: (of: string) => `Lines were missing or replaced (${of}):`,
  powerLost: (of: string) => `The machine stopped before the newest lines were on its disk (${of}).`,
  newest: 'Back to the newest lines',
  newer: (lines: number) => `Newer lines are not shown here; ${lines} are loaded.`,
};

export type RecordCatalogue = typeof en;
