/** What keeps the app from its work, in English. */
export const trouble = {
  trouble: {
    store: 'The document needs attention',
    socketRetrying: 'The socket is not open',
    socketOff: 'The socket is off',
    slow: 'The disk is slow: commands wait for it',
    recording: {
      broken: 'The disk fails: nothing can be recorded',
      full: 'The disk is full: nothing can be recorded',
      other: 'Nothing can be recorded',
      'read-only': 'The disk is read-only: nothing can be recorded',
    },
    shortage: {
      files: 'No more files can be opened',
      processes: 'No more processes can be started',
    },
    since: (line: string, time: string) => `${line} (since ${time})`,
    record: 'History',
    recordWorks: 'is written',
    recordHelp: 'Until it can be written again nothing runs unasked; you are asked instead.',
    lost: {
      badge: 'Socket lost',
      of: { approval: 'The approval socket:', control: 'The socket of the command line:' },
      how: {
        lock: 'its lock was removed or replaced',
        removed: 'its file was removed',
        replaced: 'its file was replaced',
      },
      again: (how: string, times: number) =>
        times > 1 ? `${how}, ${times} times; it is open again.` : `${how}; it is open again.`,
    },
  },
};
