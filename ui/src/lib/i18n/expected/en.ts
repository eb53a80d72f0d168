/** What is right in a form, in English. */
export const en = {
  length: (least: number, most: number) =>
    least === 0 ? `At most ${most} characters fit here.` : `Write ${least} to ${most} characters.`,
  range: (least: number, most: number) => `Choose a number from ${least} to ${most}.`,
  atMost: (count: number) => `There is room for ${count}. Remove one first.`,
  filters: (count: number, length: number) =>
    `At most ${count} filters fit here, each of at most ${length} characters.`,
  executable: (why: string) => `This is no program that can be started (${why}).`,
  uncounted: {
    'starts-others': 'It starts other programs, and which ones is not pinned. Allow what it starts instead.',
    shell: 'A shell is judged by the programs in its text. Allow those instead.',
    evaluates: 'The shell itself reads what comes behind this word. Allow the programs there instead.',
    'any-task': 'Any program or task runs by the word behind it. Name that word too.',
    words: 'No program is called so: words behind a program are its arguments. Name the program alone.',
    relative: 'The path depends on where one stands. Write the whole path.',
    elsewhere: 'Programs are compared by their real paths, and this is another one. Write the real path.',
    'left-out': 'Its own words are an order or the place of a secret, which it leaves out.',
    outdated: 'It no longer says what it was about. Remove it, and answer anew when you are asked.',
    missing: 'There is no such program.',
    replaceable: 'Its own user could replace the program, and a bare name stands for no such. Write its path.',
    unpinned: 'What would run cannot be pinned.',
    'tool-acts':
      'No rule about a tool’s name lets it run commands or change files. Allow the commands, or the changes of a folder.',
    'tool-fetches': 'What such a tool may do hangs on where it fetches from. Allow the host instead.',
    'tool-pattern': 'A tool is allowed by its whole name alone. Name each of them.',
    'runs-by-itself': 'No rule allows a change of what something runs or obeys by itself. You are asked each time.',
    'secret-place': 'No rule allows a change where secrets are kept. You are asked each time.',
  },
  reallyIs: (path: string) => `It really is ${path}.`,
  'socket-address': 'Write an address such as ws://127.0.0.1:18789 or wss://host.example.',
  'web-address': 'Write an address such as https://host.example/path, or http://127.0.0.1:8080 for this machine.',
  'no-credentials': 'Leave user name and password out of the address: the secret has a field of its own.',
  encrypted: 'Use an encrypted address (wss:// or https://): on the way to another machine, others could read along.',
  'another-program': 'This is the app’s own address. What comes there is asked about anyway.',
  digest: 'Write the SHA-256 of the certificate: 64 digits from 0 to f, with or without colons.',
  certificate:
    'Only an encrypted address (wss:// or https://) shows a certificate. Use one, or leave the certificate empty.',
  printable: 'Use letters, digits and signs of plain ASCII only, without spaces.',
  'own-secret': 'This is OpenClaw’s secret, which is for its gateways. Give this place one of its own.',
  'secret-again': 'Write the secret again: what it is for has changed.',
  secret: 'Write the secret by which that place knows this app.',
  gateway: 'Choose one of the connected gateways.',
  'absolute-path': 'Write the whole path of the program, such as /usr/bin/notify-send.',
  arguments: 'These are too many or too long arguments.',
  pattern: 'Write a path, a name or a pattern. It must not be empty or begin with “=”.',
  'agent-name': 'This is not a name that an agent can have here.',
  'session-name': 'Write the name of the session.',
  present: 'It is no longer there: somebody removed or changed it meanwhile.',
  absent: 'It is there already.',
  'program-name': 'Write the name or the whole path of a program, without spaces around it.',
  'absolute-folder': 'Write the whole path of a folder, such as /home/you/work.',
  'file-digest': 'Write the SHA-256 of the file: 64 digits from 0 to f.',
  'argument-shape':
    'These arguments contradict themselves, or are too many: each flag begins with “-”, and what is required is also allowed.',
  uses: 'A permission is used at least once; a refusal has no number of uses.',
  'offered-answer': 'This answer was not offered for this request. Choose another one.',
  readable: 'This request is too long to be read, so it can only be denied.',
};

/** A catalogue with the keys and parameters of the English one. */
export type Catalogue = {
  [K in keyof typeof en]: (typeof en)[K] extends (...args: infer A) => string
    ? (...args: A) => string
    : (typeof en)[K] extends string
      ? string
      : { [P in keyof (typeof en)[K]]: string };
};
