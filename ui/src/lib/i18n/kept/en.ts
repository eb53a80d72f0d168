import type { KeptHow } from '../../protocol';

const how: Record<KeptHow, string> = { made: 'new', changed: 'changed', deleted: 'deleted', moved: 'moved' };

/** What runs changed in folders, and putting it back, in English. */
export const en = {
  badge: 'Files changed',
  region: (folder: string) => `What changed in ${folder}`,

  made: (n: number) => `${n} made`,
  changed: (n: number) => `${n} changed`,
  deleted: (n: number) => `${n} deleted`,
  together: (parts: string[]) => parts.join(', '),
  where: '{what} in {folder}',
  unknown: 'Nothing is known of what changed in {folder}: {problem}',
  noState: 'its state was not kept',
  leftOut: (n: number) =>
    n === 1
      ? '1 file is not in it: it was too large to keep, or could not be read.'
      : `${n} files are not in it: they were too large to keep, or could not be read.`,

  reading: 'Looking at what changed…',
  empty: 'Nothing differs.',
  showMore: (n: number) => `Show ${n} more`,
  unlisted: (n: number) => `and ${n} more that are not listed here; “Put back all” is about them too`,

  how,
  from: 'from',
  to: 'to',
  was: (size: string) => `was ${size}`,
  sizes: (before: string, after: string) => `${before} → ${after}`,

  differs: (path: string) => `What differs in ${path}`,
  comparing: 'Comparing…',
  notWhole: 'Not all that differs is shown here.',
  same: {
    made: 'The file is empty.',
    changed: 'No line differs.',
    deleted: 'The file was empty.',
    moved: 'Its content stayed as it was.',
  },
  before: 'Before',
  after: 'After',
  side: {
    absent: 'nothing',
    text: 'a text',
    binary: (size: string) => `${size} that are no text`,
    'too-large': (size: string) => `${size}, too large to compare`,
    link: 'a link to {target}',
    folder: 'a folder',
    'not-kept': 'something that was not kept',
    damaged: 'something of which the kept copy is damaged',
  },

  putBack: 'Put back',
  back: {
    badge: 'Put back',
    ofCommand: 'What {command} had changed at {time}, put back {who}.',
    ofRun: 'What a run had changed at {time}, put back {who}.',
    ofBack: 'What had been put back at {time}, put back again {who}.',
    ofSession: 'What {runs} of session {session} of {agent} had changed up to {time}, put back {who}.',
  },
  putBackOf: (path: string) => `Put back ${path}`,
  putAll: 'Put back all',
  session: {
    opener: 'Everything this session changed here',
    where: 'Everything this session changed here ({runs}): {what} in {folder}',
    region: (folder: string) => `Everything the session changed in ${folder}`,
    runs: (n: number) => (n === 1 ? '1 run' : `${n} runs`),
    lost: (n: number) =>
      n === 1
        ? '1 more run changed something that is not kept, or not any more: it is not in this.'
        : `${n} more runs changed something that is not kept, or not any more: it is not in this.`,
    since: (when: string) => `Runs before ${when} are not in this.`,
    between: 'Somebody else changed it between the runs, so it is not put back.',
    ask: 'Put back all that the session changed?',
    others: 'What somebody else changed between the runs, or since, stays as it is.',
    stale: 'Some of it is not kept any more. Close this and open it again to see what is left.',
  },
  notKept: 'What was there was not kept, so it cannot be put back.',
  ask: 'Put all of it back?',
  askText: (made: number) =>
    `What was changed or deleted becomes what it was before${made === 0 ? '' : made === 1 ? ', and the 1 that was made is removed' : `, and the ${made} that were made are removed`}.`,
  others: 'What somebody changed since stays as it is.',
  keep: 'Leave it as it is',
  confirm: 'Put it all back',
  working: 'Putting back…',

  put: (n: number) => `${n} put back.`,
  undo: 'That is a line of its own in the history, where it can be put back as well.',
  nothingPut: 'Nothing was put back.',
  already: 'It is what it was already, so nothing was put back.',
  stays: (n: number) => (n === 1 ? '1 stays as it is:' : `${n} stay as they are:`),
  more: (n: number) => `and ${n} more`,
  why: {
    between: 'somebody else changed it between the runs',
    cancelled: 'called off before its turn',
    changed: 'changed since',
    damaged: 'what was kept of it is damaged',
    'not-empty': 'the folder has something in it that stays',
    'not-kept': 'what was there, or what is there now, is not kept',
    protected: 'a setting that other programs run things by',
    system: 'the system did not let it be done: {said}',
  },
};

export type KeptCatalogue = typeof en;
