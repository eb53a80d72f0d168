/** The page about connections, in English. `{word}` marks where a component puts something. */
export const en = {
  title: 'Connections',
  lead: (connected: number, all: number) =>
    all === 0
      ? 'Who reaches you here, and where else you are asked. A lost connection never allows anything.'
      : `${connected} of ${all} gateways connected. A lost connection never allows anything.`,
  here: 'On this machine',
  hereLead: 'Countersign’s own gateway, for programs on this machine. Nothing outside of it can connect.',
  others: 'Other gateways',
  othersLead: 'What their agents ask is shown here, and your answer is sent back.',

  own: {
    name: 'Own gateway',
    state: { off: 'off', serving: 'open', failed: 'not open' },
    on: 'On',
    off: 'Off',
    failedHelp: 'Choose another port, or end the program that has it.',
    offHelp: 'Nothing can connect to it. The approval socket and other gateways work all the same.',
    address: 'Address',
    port: 'Port',
    portHelp: 'From 1024 to 65535. Programs that are connected have to connect again.',
    portOther: (real: string) =>
      `It serves on ${real} now: the variable COUNTERSIGN_GATEWAY_PORT was set where Countersign was started, and comes before this setting.`,
    portWrong: 'A whole number from 1024 to 65535 is needed.',
    portSave: 'Use this port',
    tokenFile: 'Token file',
    tokenHelp:
      'A program connects to the address and sends what this file holds; OpenClaw’s programs read both from OPENCLAW_GATEWAY_URL and OPENCLAW_GATEWAY_TOKEN.',
    copyAddress: 'Copy the address',
    copyTokenFile: 'Copy the path of the token file',
  },

  clients: {
    title: 'Connected programs',
    none: 'None at the moment.',
    noDevice: 'without a device of its own',
  },

  devices: {
    title: 'Devices that were let in',
    none: 'None. A program that shows a key of its own appears above and waits for you.',
    since: (when: string) => `let in ${when}`,
    connected: 'connected',
    notConnected: 'not connected',
    takes: 'Says it takes',
    remove: 'Remove',
    removeOf: (name: string) => `Remove the device ${name}`,
    removeTitle: 'Remove this device?',
    removeText: 'It is disconnected at once and has to ask to be let in again.',
    removeDo: 'Remove the device',
  },

  waiting: {
    title: (n: number) => (n === 1 ? 'A device wants to be let in' : `${n} devices want to be let in`),
    lead: 'Let in only what you started yourself just now.',
    wants: '{name} wants to be let in',
    device: 'Device',
    copyDevice: 'Copy the whole id of the device',
    platform: 'Says it runs on',
    why: 'Why it asks',
    since: 'Asked',
    asks: 'It wants to be',
    may: 'It could then',
    nothing: 'nothing beyond being connected',
    letIn: 'Let in',
    refuse: 'Refuse',
  },

  reason: {
    'not-paired': 'It was never here.',
    'role-upgrade': 'It was let in before and now wants to be something else too.',
    'scope-upgrade': 'It was let in before and now wants to do more.',
    'metadata-upgrade':
      'It was let in before and now says that it runs on something else. Its key may have been copied.',
    unknown: 'The gateway does not say.',
  },

  roleName: { operator: 'operator', node: 'node', unknown: 'unknown role' },
  role: {
    operator: 'an operator: a program that looks on and answers',
    node: 'a node: a machine that runs commands for agents',
    unknown: 'something that this version does not know',
  },

  scope: {
    'operator.admin': 'do everything: answer requests, let others in, change settings',
    'operator.approvals': 'see every request that waits and answer it in your place',
    'operator.pairing': 'let other devices in and remove them',
    'operator.read': 'look at what is going on',
    'operator.write': 'have connected machines run commands, and look at what is going on',
    unknown: 'something that this version does not know',
  },

  add: 'Add gateway',
  emptyTitle: 'No other gateway',
  emptyText: 'Connect OpenClaw’s gateway, here or on another machine: what its agents ask then waits in this inbox.',

  state: {
    off: 'off',
    connecting: 'connecting…',
    connected: 'connected',
    limited: 'connected, with gaps',
    waiting: 'not connected',
    stopped: 'stopped',
  },

  link: {
    release: 'Release',
    releaseIs: (version: string, protocol: number) => `${version}, protocol ${protocol}`,
    roundTrip: 'Answers in',
    micros: (n: string) => `${n} µs`,
    millis: (n: string) => `${n} ms`,
    since: 'Connected for',
    may: 'May do',
    mayUnknown: 'This release does not tell.',
    mayNothing: 'nothing',
    certificate: 'Certificate',
    pinned: 'only the one with',
    authorities: 'any that this system trusts',
    plainText: 'none: the connection is not encrypted',
    secret: { token: 'Token', password: 'Password' },
    place: {
      none: 'none',
      keyring: 'kept in the keyring of the desktop',
      file: 'kept in a private file, because no keyring answers',
      'open-claw': 'OpenClaw’s own on this machine',
    },
    sessions: 'Only sessions with',
    agents: 'Agents’ approvals',
    agentsSeen: 'asked for, with operator.admin',
    agentsNotSeen: 'not asked for',
    nodes: 'Its nodes',
    nodesRun: 'commands of this machine may run there, with operator.write',
    pending: 'Waiting here',
    pendingIs: (n: number) => (n === 0 ? 'nothing' : n === 1 ? '1 request' : `${n} requests`),
    edit: 'Change',
    editOf: (name: string) => `Change the gateway ${name}`,
    remove: 'Remove',
    removeOf: (name: string) => `Remove the gateway ${name}`,
    retryIn: (time: string) => `Trying again in ${time}.`,
    retrying: 'Trying again now.',
    stopped: 'It is not tried again by itself.',
    retry: 'Try now',
    retryOf: (name: string) => `Try now: the gateway ${name}`,
    says: 'It says:',
    pinIs: 'Pinned',
    pinFound: 'Shown',
    onThatMachine: 'On that gateway’s machine:',
    copyCommand: 'Copy the command',
  },

  problem: {
    unreachable: {
      what: 'Nothing answers at this address.',
      help: 'Look whether the gateway runs there, and whether address and port are right.',
    },
    'timed-out': { what: 'It answered, then fell silent.', help: 'It may be busy, or the network between is broken.' },
    starting: { what: 'The gateway is starting.', help: 'There is nothing to do.' },
    closed: {
      what: 'It ended the connection.',
      help: 'If this happens again and again, its own log says why.',
      code: (code: number) => `Code ${code}.`,
    },
    'secret-missing': {
      what: 'It wants a token or a password, and there is none here.',
      help: 'Give the one that is in that gateway’s configuration.',
    },
    'secret-withheld': {
      what: 'Its token or password is in the desktop’s keyring, which is locked or does not answer.',
      help: 'Unlock the keyring, then try again; or give the secret once more.',
    },
    'secret-wrong': {
      what: 'It wants another token or password.',
      help: 'Give the one that is in that gateway’s configuration now.',
    },
    'rate-limited': {
      what: 'There were too many wrong tokens or passwords, and it wants to be left alone.',
      help: 'Correct the secret, wait some minutes, then try again.',
    },
    'not-paired': {
      what: 'Countersign has to be let in there first.',
      help: 'Somebody who may do that there has to approve this request.',
      helpList: 'Look there for the newest request of Countersign, and approve it:',
      reason: {
        'role-upgrade': 'It was let in before, but not as an operator.',
        'scope-upgrade': 'It was let in before, but to do less than it asks for now.',
        'metadata-upgrade': 'It was let in before, and the gateway noticed that something about this machine changed.',
      },
    },
    protocol: {
      what: 'It speaks another version of the protocol.',
      expects: (expected: number) => `It expects ${expected}; Countersign speaks 3 and 4.`,
      help: 'Update the older of the two.',
    },
    'pin-mismatch': {
      what: 'Its certificate is not the pinned one.',
      help: 'If the certificate was renewed, compare the shown fingerprint on that machine and pin it. If not, somebody may stand in between: leave it.',
    },
    certificate: {
      what: 'Its certificate is not trusted.',
      help: 'Give it one that this system trusts, or pin the fingerprint of the one it has.',
    },
    refused: { what: 'It refused the connection.', help: 'What it says below may tell what to change there.' },
    'not-a-gateway': {
      what: 'What answers there is no gateway.',
      help: 'Look whether address and port are right.',
    },
  },

  gap: {
    'no-approvals': {
      what: 'It did not give operator.approvals: nothing can be seen or answered.',
      help: 'Let Countersign in there once more with that scope, then try again:',
    },
    'agents-hidden': {
      what: 'What its agents ask is not shown.',
      help: 'This release shows that only to operator.admin. If you trust that, switch on “See approvals that agents raise”.',
    },
    'no-list': {
      what: 'It cannot list what waits.',
      help: 'What was asked before the connection was made is not seen here; answer that there. Newer releases can.',
    },
    'scopes-narrow': {
      what: 'It was let in there to do less than it asks for now, and is connected with that.',
      help: 'Somebody who may do that there has to approve this request; Countersign then connects with it by itself:',
      helpSecret: 'Give that gateway’s token or password once more: only with it can more be asked for there.',
    },
  },

  form: {
    addTitle: 'Add a gateway',
    editTitle: 'Change this gateway',
    lead: 'Countersign connects to it as a device of its own, and may have to be let in there.',
    name: 'Name',
    nameHelp: 'Yours, for this gateway. It stands on every request from there.',
    url: 'Address',
    urlHelp: 'ws://127.0.0.1:18789 on this machine, wss:// for any other.',
    secretKind: 'What it wants',
    secret: 'Secret',
    keep: (place: string) => `Keep the present one (${place})`,
    keepNone: 'Keep: none',
    set: 'This one',
    clear: 'None',
    'open-claw': 'OpenClaw’s own on this machine',
    openClawHelp: 'Read from OpenClaw’s configuration or environment whenever it connects, and kept nowhere else.',
    value: { token: 'Token', password: 'Password' },
    valueHelp: 'Kept in the desktop’s keyring, or in a private file where there is none. It is never shown again.',
    pin: 'Certificate',
    pinHelp: 'SHA-256 of the only certificate to trust, 64 hexadecimal digits. Blank: any that this system trusts.',
    agents: 'See approvals that agents raise',
    agentsHelp:
      'From release 2026.5 on a gateway shows them only to operator.admin, which may do everything there. Countersign asks for it for this purpose alone. Without it, only what other programs ask is seen.',
    nodes: 'Let commands run on its nodes',
    nodesHelp:
      'Agents of this machine can then be sent to its nodes, by name, id or address. You are asked here as for any node; after that the node’s own policy decides, and nothing you answered here counts there. Countersign asks for operator.write.',
    session: 'Only sessions with',
    sessionHelp: 'A part of the session’s name. Blank: all sessions.',
    enabled: 'Connect to it',
    cancel: 'Back',
    save: 'Save',
    saveNew: 'Add and connect',
  },

  removeTitle: 'Remove this gateway?',
  removeText:
    'Countersign disconnects and forgets its secret. Requests that wait here are set aside, not answered; they go on waiting there.',
  removeKeep: 'Keep it',
  removeDo: 'Remove the gateway',
  gone: 'This gateway is no longer there.',
};

/** A catalogue with the keys and parameters of the English one. */
export type ConnectionsCatalogue = typeof en;
