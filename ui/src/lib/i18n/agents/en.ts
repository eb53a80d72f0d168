/** The page of agents and the first steps, in English. */
export const en = {
  title: 'Agents',
  lead: 'Who works on this machine, and who asks here before it acts.',
  again: 'Look again',
  showSteps: 'Show first steps',
  here: 'On this machine',
  notHere: 'Looked for and not found',
  notHereHelp: 'An agent is found by its program on the search path, or by its folder of settings.',
  noneTitle: 'No agent was found here',
  noneText: 'Install one, or start it once, then look again.',
  state: {
    asks: 'asks here',
    trouble: 'does not always ask',
    questions: 'asks little here',
    ours: 'only our tools ask',
    silent: 'does not ask',
    idle: 'not connected',
    gone: 'not found any more',
  },
  way: { hook: 'Hook', mcp: 'MCP' },
  both: 'Both',
  wayHelp: {
    hook: 'Before it calls a tool of its own, it asks here.',
    mcp: 'It gets tools of Countersign beside its own, and asks here about those.',
  },
  since: (when: string) => `since ${when}`,
  sinceUnknown: 'since when is not known',
  covers: 'Comes here',
  misses: 'Does not',
  wayOf: (way: string, what: string) => `${way}: ${what}`,
  program: 'Program',
  release: 'Release',
  released: (installed: string, tested: string) => `${installed} (tested: ${tested})`,
  lastSeen: 'Last asked',
  seen: {
    never: 'never yet',
    'not-lately': 'not lately',
    'not-known': 'not known, the history cannot be read',
  },
  programGone: (program: string) => `What it would start is gone: ${program}. Connect it again.`,
  trustNotKnown: (agent: string) =>
    `${agent} trusted a hook in its place. Whether it was this one only ${agent} knows: type /hooks there.`,
  obstacle: {
    narrowed: (agent: string, path: string) =>
      `${agent} may not ask about all calls: the hook is not as Countersign writes it. It is in ${path}`,
    neverHeard: (agent: string, when: string) =>
      `${agent} used a tool at ${when} and was never heard here. Start it again; if this stays, look what it was started with.`,
    silent: (agent: string, when: string, heard: string) =>
      `${agent} used a tool at ${when}, and was last heard here at ${heard}. Start it again; if this stays, look what it was started with.`,
    off: (agent: string, path: string, setting: string) => `${agent} does not ask: ${path} says so (${setting}).`,
    offWithin: (agent: string, path: string, setting: string, within: string) =>
      `${agent} does not ask in ${within}: ${path} says so (${setting}).`,
    untrusted: (agent: string) =>
      `${agent} does not trust the hook, so it goes on without asking. Type /hooks there and trust it.`,
  },
  note: {
    hooksTwice: (agent: string) =>
      `Its config.toml has hooks too. ${agent} takes both, and warns about it at every start.`,
    trustFirst: (agent: string) =>
      `${agent} calls the hook only after you trusted it: type /hooks in ${agent}. Until then, and after every change, it goes on without asking here.`,
    trustedFolders: (agent: string) => `${agent} calls no hook in a folder that it does not trust.`,
  },
  unread: 'Its settings could not be looked at.',
  connect: 'Connect…',
  connectOf: (agent: string) => `Connect ${agent}`,
  change: 'Change…',
  changeOf: (agent: string) => `Change how ${agent} asks`,
  takeBack: 'Take back…',
  takeBackOf: (agent: string) => `Take back what was written for ${agent}`,
  how: 'How it is to ask',
  connectLead: 'This is the change. Nothing is written yet.',
  takeBackLead: 'This takes out what is ours. From then on it does not ask here.',
  cannot: 'Its settings cannot be changed, so nothing is written.',
  looking: 'Looking at its settings…',
  same: 'It is so already. There is nothing to write.',
  nothingBack: 'There is nothing of ours in its settings.',
  changedMeanwhile: 'The settings changed meanwhile, so nothing was written. This is the change as it would be now.',
  leftAlone: 'Its settings stay as they are:',
  byHand: 'To be put in by hand, into what is there:',
  cancel: 'Cancel',
  write: 'Write',
  takeOut: 'Take back',
  written: 'Written.',
  takenBack: 'Taken back.',
  backup: 'What was there before:',
  restart: (agent: string) => `If ${agent} runs now, start it again: it reads its settings at its start.`,
  undo: 'Take back…',
  openclaw: {
    gateway: 'OpenClaw’s gateway',
    gatewayText: 'It asks here once Countersign is connected to it. Nothing is written into its settings.',
    gatewayConnected: (names: string) => `Connected: ${names}.`,
    node: 'OpenClaw’s node',
    nodeText: 'It asks over the approval socket, which Countersign opens for it. Nothing is written into its settings.',
    nodeOpen: 'socket open',
    nodeClosed: 'socket not open',
    open: 'Open Connections',
    openSettings: 'Open Settings',
  },
  steps: {
    title: 'First steps',
    position: (step: number, of: number) => `${step} of ${of}`,
    who: 'Who works here?',
    whoText:
      'Connect an agent, and it asks here before it acts. You see the change before it is written, and can take it back.',
    harmless: 'What is harmless?',
    harmlessText:
      'With this on, agents look at files and read the history of git without asking. Everything else is asked about.',
    harmlessHelp: 'More of these groups, and your own rules, are on the page Rules.',
    try: 'Try it',
    tryText: 'A sample asks for a harmless command, as an agent would. Read it, wait a moment, and answer.',
    send: 'Send a sample request',
    sendAgain: 'Send another one',
    waits: 'It waits for your answer in the window that came up.',
    waitsPaused: 'Prompts are paused, so it waits in the inbox.',
    ran: 'You allowed it, and it ran. It printed:',
    notRun: (outcome: string) => `It did not run: ${outcome}.`,
    asking: (names: string) => `From now on these ask here: ${names}.`,
    oursAsk: (names: string) =>
      `Of these only tools of Countersign ask here: ${names}. Their own shell and changes of files do not.`,
    back: 'Back',
    next: 'Next',
    skip: 'Skip this step',
    skipAll: 'Skip all',
    done: 'Done',
    notKept: 'That the first steps are over could not be written down, so they come again at the next start.',
  },
  said: {
    'every call of a tool, those of sub-agents and MCP servers too':
      'every call of a tool, those of sub-agents and MCP servers too',
    'files that a prompt names with @; sessions with --bare, --safe-mode or other --setting-sources':
      'files that a prompt names with @; sessions with --bare, --safe-mode or other --setting-sources',
    'commands, files and other tools of Countersign that it calls':
      'commands, files and other tools of Countersign that it calls',
    'commands, files and other tools of Countersign that its agents call':
      'commands, files and other tools of Countersign that its agents call',
    'its own tools: take its shell away, or connect it by a hook where it has one':
      'its own tools: take its shell away, or connect it by a hook where it has one',
    'its own tools: no hook of it was tried, so they are not asked about here':
      'its own tools: no hook of it was tried, so they are not asked about here',
    'its own tools: it starts no program before it uses them; "permission": { "bash": "deny" } takes its shell away':
      'its own tools: it starts no program before it uses them; "permission": { "bash": "deny" } takes its shell away',
    'commands, patches and calls of MCP tools, once you trusted the hook in Codex':
      'commands, patches and calls of MCP tools, once you trusted the hook in Codex',
    'most other tools, text typed into a command that runs, and everything until the hook is trusted':
      'most other tools, text typed into a command that runs, and everything until the hook is trusted',
    'every call of a tool in folders that it trusts': 'every call of a tool in folders that it trusts',
    'folders that it does not trust; its own questions come besides':
      'folders that it does not trust; its own questions come besides',
    "sessions with --bare or --safe-mode; a project's hook in a folder that it does not trust":
      "sessions with --bare or --safe-mode; a project's hook in a folder that it does not trust",
    'every call of a tool': 'every call of a tool',
    'nothing that is known; it goes on when the hook takes longer than its limit':
      'nothing that is known; it goes on when the hook takes longer than its limit',
  },
};

/** A catalogue with the keys and parameters of the English one. */
export type AgentsCatalogue = typeof en;
