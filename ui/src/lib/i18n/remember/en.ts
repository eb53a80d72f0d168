/** What an answer leaves behind and what a rule reaches, in English. */
export const remember = {
  sheet: {
    title: 'Allow from now on',
    lead: 'It runs now, and a rule stays. Nothing is stored yet.',
    what: 'How much',
    rung: {
      exact: 'This exact command',
      shape: 'Commands of this shape',
      subcommand: 'This subcommand',
      program: 'This program',
    },
    means: {
      exact: 'The same words in the same folder.',
      subcommand:
        'With the other arguments that are known to be harmless for it. You are still asked about all others, and about names that look like secrets.',
      program:
        'With the other arguments that are known to be harmless for it. You are still asked about all others, and about names that look like secrets.',
    },
    shapeMeans: {
      any: 'The same subcommand with any flags, and words of the same kinds.',
      none: 'The same subcommand without flags, with words of the same kinds.',
      same: 'The same subcommand and flags, with words of the same kinds.',
      some: (flags: number) =>
        flags === 1
          ? 'The same subcommand with or without one flag, and words of the same kinds.'
          : `The same subcommand with any of ${flags} flags, and words of the same kinds.`,
    },
    brief:
      'It could delete, overwrite, publish or fetch something else another time. So it is kept for this session, or 8 hours at most.',
    parts: (n: number) => `${n} rules, one for each part that needs one:`,
    breadth: (matched: number, of: number) => `${matched} of ${of}`,
    breadthMeans: (matched: number, of: number) => `Would have matched ${matched} of the last ${of} commands.`,
    breadthDenied: (n: number) => (n === 1 ? 'You denied 1 of them.' : `You denied ${n} of them.`),
    breadthNone: 'There are no past commands to compare with.',
    notOfferedSteps: (steps: string) => `Not offered: ${steps}`,
    withheld: {
      unresolved: 'The program was not found, or its path cannot be stored.',
      'another-by-name':
        'It is a link to a program that is another one under each name, and a rule knows only the file.',
      'no-folder': 'The working folder is not known.',
      expands: 'A shell could make something else of a word.',
      'runs-its-arguments': 'It runs its arguments, or reads what it does from a file.',
      writable: 'You, and so the agent, could replace the program.',
      dangerous: 'It could delete, overwrite, publish or send, or change rights or settings.',
      'not-known-harmless': 'Something in it is not known to be harmless.',
      undescribed: 'Nothing is known here about what this program does with other arguments.',
      secret: 'It names what looks like the place of a secret.',
      'no-subcommand': 'No subcommand is named.',
      'nothing-more': 'It would cover no more than the step before.',
      'no-effect': 'You would be asked all the same.',
    },
    askerRemembers: 'The asker remembers this answer in its own way. Countersign stores nothing.',
    right: {
      exact: 'this exact command',
      shape: 'this shape',
      subcommand: 'this subcommand',
      program: 'this program',
    },
    confirm: (what: string, long: string) => `Allow ${what} ${long}`,
    gatewayRemembers:
      'The gateway {gateway} keeps this rule, not Countersign. It decides what the rule covers and for how long, and only there can it be taken back.',
    confirmAsker: 'Allow always, by the asker',
    confirmGateway: 'Allow always, kept by the gateway',
    unavailable: 'Cannot be remembered:',
    keys: 'With the keyboard: move to the button, then Ctrl+Shift+Enter.',
  },
  lasting: {
    title: 'How long',
    kinds: { uses: 'A few times', for: 'For a time', session: 'This session', always: 'Always' },
    uses: 'more times',
    usesLabel: 'How many more times',
    usesWrong: (most: number) => `A number from 1 to ${most} is needed.`,
    timeLabel: 'For how long',
    noSession: 'The request names no session.',
    until: { session: 'As long as requests name this session.', always: 'Until you remove the rule.' },
    long: {
      uses: (n: number) => (n === 1 ? 'once more' : `${n} more times`),
      for: (time: string) => `for ${time}`,
      session: 'in this session',
      always: 'always',
    },
  },
  reach: {
    any: 'with any arguments',
    none: 'without arguments',
    exact: 'with exactly these arguments',
    inFolder: 'in the folder',
    anything: 'whatever follows',
    flagsAny: 'any flags',
    flagsNone: 'no flags',
    flags: 'flags',
    more: (n: number) => `and ${n} more`,
    required: 'never without',
    operandsNone: 'no other words',
    operand: {
      any: 'any other words',
      data: 'numbers, ids and the like',
      'one-of': 'the words',
      here: 'files in the working folder and below',
      path: 'files below',
      visibleHere: 'files that are not hidden, in the working folder and below',
      'visible-path': 'files that are not hidden, below',
      prefix: 'words that begin with',
      'edit-script': 'a sed script that changes lines',
      'print-script': 'a sed, awk or jq script that only prints',
    },
    folder: 'only below',
    unchanged: {
      program: 'while the program stays as it is',
      script: 'while the script itself stays as it is; files that it loads may change',
    },
  },
};
