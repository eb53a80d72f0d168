/** Which document the policy and allowlist pages show, in English. */
export const en = {
  document: 'Document of',
  local: 'This machine',
  node: (gateway: string, node: string) => `${gateway} › ${node}`,
  of: (name: string) => `Document of ${name}`,
  again: 'Read again',
  reading: 'Reading the document…',
  leftOut: (n: number) =>
    n === 1 ? '1 more node is not listed: there are too many.' : `${n} more nodes are not listed: there are too many.`,
  nodesUnknown: 'Its nodes are not known, so their documents are not listed.',
  says: 'It says:',
  toConnections: 'Connections',

  beside: {
    title: 'Beside the entries',
    lead: 'tools.json says which programs may run as filters without an entry, and whether code on an interpreter’s command line is asked about.',
    every: 'Every agent',
    everyone: 'Every other agent',
    agent: 'Agent',
    programs: 'Filters',
    folders: 'In these folders',
    code: 'Code on a command line',
    none: 'None',
    strict: 'Asked about',
    covered: 'Covered by the interpreter’s entry',
    problems: 'Counts for nothing:',
  },

  tools: {
    title: 'Tools of an agent',
    lead: 'Which tools it gets, and which step of the tool policy takes the others. Nothing is called.',
    agent: 'Agent',
    session: 'Session',
    provider: 'Provider',
    model: 'Model',
    any: 'any',
    show: 'Show',
    tool: 'Tool',
    verdict: 'Whether it gets it',
    gets: 'yes',
    takenBy: 'no, taken by',
    sandboxed: 'Its commands run in a sandbox.',
    notSandboxed: 'Its commands run outside a sandbox.',
    subAgent: (depth: number) => `It is a sub-agent, ${depth} below the first.`,
    group: 'It speaks for the group',
    owner: 'Nothing shows who the owner is or who sent a message, so nobody counts as the owner.',
    steps: 'Steps, in order:',
    warnings: 'Odd about the policy:',
  },

  short: {
    off: 'off',
    'not-connected': 'not connected',
    'not-permitted': 'not permitted',
    'not-offered': 'not offered',
    gone: 'gone',
    refused: 'refused',
    'no-answer': 'no answer',
    malformed: 'unreadable',
  },

  decides: {
    yes: 'Decides',
    doubt: 'Not certain',
    local: 'what runs on this machine through Countersign.',
    'gateway-host':
      'what runs on that gateway’s own machine, together with its settings: the stricter of both holds. What it has a node run is decided by the node’s document.',
    node: 'what runs on this node, together with the settings of its gateway: the stricter of both holds.',
    'node-alone': 'what runs on this node. A node of this release may allow more than the settings of its gateway do.',
    'node-unclear':
      'It is used for what runs on this node. How this node’s release joins it with the settings of its gateway is not known.',
  },

  access: {
    off: { what: 'This gateway is switched off.', help: 'Switch it on under Connections.' },
    'not-connected': { what: 'It is not connected.', help: 'Connections tells why, and what helps.' },
    'node-not-connected': {
      what: 'This node is not connected to its gateway.',
      help: 'Its document can be read when it is back.',
    },
    'not-permitted': {
      what: 'Countersign may not read policies there: the connection does not hold operator.admin.',
      help: 'Switch on “See approvals that agents raise” for this gateway under Connections, and let Countersign in there once more.',
    },
    'not-offered': {
      what: 'This node runs commands and does not tell its policy.',
      help: 'Look at it on the node itself; newer releases tell it.',
    },
    gone: { what: 'There is no such gateway or node any more.', help: 'Choose another document above.' },
    refused: { what: 'The document was refused.', help: 'What it says below may tell why.' },
    'no-answer': {
      what: (seconds: number) => `No answer came within ${seconds} s.`,
      help: 'It may be busy. Read again in a while.',
    },
    malformed: {
      what: 'What came is no document that can be understood.',
      help: 'Nothing is written there. Look at it on that machine.',
    },
  },
  kept: 'Below is what it said last. A draft is kept.',

  readOnly: {
    'no-hash': 'It can only be looked at: it came without a hash, so a change could overwrite somebody else’s.',
    native: 'It can only be looked at: this node keeps rules of a kind of its own. Change them on the node.',
    disabled: 'This node’s own rules are switched off there, and it keeps no document.',
    'not-taken': 'It can only be looked at: this node takes no changes from elsewhere.',
  },
  unreadable: 'This document cannot be used. Countersign writes nothing there; correct it on that machine.',
  sameAsLocal: 'This is this machine’s own document, as a gateway on this machine serves it.',
  builtInUnknown:
    'Where nothing is set the release’s built-in value holds, and it is not known which. The loosest possibility is shown.',
  changedElsewhere: 'It was read again; your draft is kept.',
  noTest: 'Commands can be tried against this machine’s document only.',
  written: 'The change was taken there.',

  native: {
    title: 'Rules of this node’s own kind',
    pattern: 'Pattern',
    action: 'Action',
    actions: { allow: 'allow', deny: 'deny', prompt: 'ask' },
    off: 'switched off',
    otherwise: (action: string) => `Where no rule fits: ${action}.`,
    none: 'There are no rules.',
    leftOut: (n: number) => `${n} more are not shown.`,
  },
};

/** A catalogue with the keys and parameters of the English one. */
export type PoliciesCatalogue = typeof en;
