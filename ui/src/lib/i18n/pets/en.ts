/** Companion clients and other programs' pet servers, a part of the page about connections, in English. */
export const en = {
  title: 'Companion clients',
  lead: 'Pets and widgets on this machine can show the tool calls of their own session and answer them in your place.',

  own: {
    name: 'Pet channel',
    state: { off: 'off', serving: 'open', blocked: 'not open' },
    on: 'On',
    off: 'Off',
    offHelp: 'No companion client can connect.',
    trust: 'Whoever has its token may answer for the tool calls of the session that it names, and for no others.',
    blocked: 'Countersign’s own gateway is not open, and the channel is a part of it. Open it above.',
    address: 'Address',
    addressHelp: 'A client adds ?sessionId= and the name of its session.',
    tokenFile: 'Token file',
    tokenHelp: 'It is another token than the gateway’s. A client sends it as Authorization: Bearer, or as &token=.',
    copyAddress: 'Copy the address of the pet channel',
    copyTokenFile: 'Copy the path of the pet channel’s token file',
  },

  sessions: {
    title: 'Connected clients',
    none: 'None at the moment.',
    since: (when: string) => `connected ${when}`,
    waiting: (n: number) => (n === 0 ? 'nothing waits' : n === 1 ? '1 call waits' : `${n} calls wait`),
    disconnect: 'Disconnect',
    disconnectOf: (name: string) => `Disconnect ${name}`,
    disconnectHelp:
      'What waits for a client stays in the inbox when it is disconnected; its choices are forgotten. It may connect again.',
    choices: (n: number) => (n === 1 ? 'It remembers 1 choice:' : `It remembers ${n} choices:`),
    approved: 'approved',
    denied: 'denied',
    choiceSince: (when: string) => `since ${when}`,
    arguments: 'What it is called with',
    forget: 'Forget',
    forgetOf: (tool: string) => `Forget the choice about ${tool}`,
  },

  others: 'Other programs’ pet servers',
  othersLead: 'What they ask is shown here. An allow lets that program go on by itself; nothing runs here.',
  add: 'Add pet server',
  emptyTitle: 'No pet server',
  emptyText: 'Connect a program that asks over a pet channel: what it asks then waits in this inbox.',

  source: {
    session: 'Session',
    since: 'Connected for',
    pending: 'Waiting here',
    pendingIs: (n: number) => (n === 0 ? 'nothing' : n === 1 ? '1 question' : `${n} questions`),
    token: 'Token',
    tokenKept: 'kept, and sent when it connects',
    tokenNone: 'none',
    plainText: 'none: it stays on this machine',
    edit: 'Change',
    editOf: (name: string) => `Change the pet server ${name}`,
    remove: 'Remove',
    removeOf: (name: string) => `Remove the pet server ${name}`,
    retry: 'Try now',
    retryOf: (name: string) => `Try now: the pet server ${name}`,
  },

  problem: {
    unreachable: {
      what: 'Nothing answers at this address.',
      help: 'Look whether the program runs there, and whether address and port are right.',
    },
    starting: { what: 'The pet server is starting.', help: 'There is nothing to do.' },
    'secret-missing': {
      what: 'It wants a token, and there is none here.',
      help: 'Give the one that this program expects.',
    },
    'secret-wrong': { what: 'It wants another token.', help: 'Give the one that this program expects now.' },
    'secret-withheld': {
      what: 'Its token is in the desktop’s keyring, which is locked or does not answer.',
      help: 'Unlock the keyring, then try again; or give the token once more.',
    },
    'rate-limited': {
      what: 'There were too many wrong tokens, and it wants to be left alone.',
      help: 'Correct the token, wait some minutes, then try again.',
    },
    'not-paired': {
      what: 'It wants this device to be let in first.',
      help: 'Pet servers know nothing like that: look whether this is the address of one.',
    },
    protocol: { what: 'It speaks another language than pet servers do.', help: 'Look whether the address is right.' },
    'not-a-gateway': {
      what: 'What answers there is no pet server.',
      help: 'Look whether address, port and path are right.',
    },
  },
  /** Answers instead of a connection that have a meaning of their own, by their HTTP status. */
  refused: {
    '404': {
      what: 'There is no pet channel at this address, or it is turned off.',
      help: 'Turn it on in that program, or correct the path of the address.',
    },
    '409': {
      what: 'Another program is connected there for this session.',
      help: 'End that one, or give this one a session of its own.',
    },
  },

  form: {
    addTitle: 'Add a pet server',
    editTitle: 'Change this pet server',
    name: 'Name',
    nameHelp: 'Yours, for this server. It stands on every question from there.',
    url: 'Address',
    urlHelp: 'ws://127.0.0.1:8080 on this machine, wss:// for any other. The path is /ws unless it names one.',
    session: 'Session',
    sessionHelp: 'The sessionId to connect with: what is asked in this session comes here.',
    token: 'Token',
    keep: 'Keep the present one',
    clear: 'None',
    set: 'This one',
    tokenHelp: 'Sent to this server when it is connected to, and never shown again.',
    pin: 'Certificate',
    pinHelp:
      'SHA-256 of the only certificate to trust at a wss:// address, 64 hexadecimal digits. Blank: any that this system trusts.',
    enabled: 'Connect to it',
    cancel: 'Back',
    save: 'Save',
    saveNew: 'Add and connect',
  },

  removeTitle: 'Remove this pet server?',
  removeText:
    'Countersign disconnects and forgets its token. Questions that wait here are set aside, not answered; its program denies them when their time is over.',
  removeKeep: 'Keep it',
  removeDo: 'Remove the pet server',
  gone: 'This pet server is no longer there.',
};

/** A catalogue with the keys and parameters of the English one. */
export type PetsCatalogue = typeof en;
