/** A command on its card, and what was found out about it, in English. */
export const card = {
  command: {
    label: (segments: number) => (segments === 1 ? 'Command' : `Command, ${segments} segments`),
    text: 'Command text',
    labelPlugin: 'What the plugin wants',
    labelChange: 'What the gateway would change',
    textPlugin: 'The plugin’s own words',
    textChange: 'The gateway’s own words',
    below: (segments: number) =>
      segments === 0
        ? 'It goes on below.'
        : segments === 1
          ? '1 more command below.'
          : `${segments} more commands below.`,
    readOn: 'Read to the end to enable Allow.',
    readAll: 'You are at the end.',
    summary: (args: number) =>
      args === 0
        ? 'Program without arguments'
        : args === 1
          ? 'Program and 1 argument'
          : `Program and ${args} arguments`,
    summarySegments: (segments: number, args: number) => `${segments} commands, ${args} arguments`,
    summaryShell: (segments: number) => (segments === 1 ? '1 command for a shell' : `${segments} commands for a shell`),
    shell: 'A shell runs this text:',
    summaryText: 'Text for a shell',
    whole: (what: string) => `${what}, shown in full`,
    begins: (what: string) => `${what}, of which only the beginning is shown`,
    leftOut: (args: number) =>
      args === 0
        ? 'It goes on. The rest is not shown; Copy has all of it.'
        : args === 1
          ? '1 more argument is not shown; Copy has all of it.'
          : `${args} more arguments are not shown; Copy has all of it.`,
    summaryPlugin: 'The plugin’s own words',
    summaryChange: 'The gateway’s own words',
    masked: (n: number) => (n === 1 ? '1 secret masked' : `${n} secrets masked`),
    hidden: (n: number) => (n === 1 ? '1 hidden character' : `${n} hidden characters`),
    lookalikes: (n: number) => (n === 1 ? '1 look-alike letter' : `${n} look-alike letters`),
    hiddenNote: 'Hidden ones are shown as codes.',
    lookalikeNote: 'Look-alikes are underlined.',
    and: ' and ',
    reveal: 'Reveal',
    mask: 'Mask',
    empty: 'empty',
    emptyArgument: 'empty argument',
    missed: 'no rule covers this',
    folded: (commands: number) =>
      commands === 1 ? 'and 1 more command, open to read' : `and ${commands} more commands, open to read`,
    foldedArguments: (args: number) => (args === 1 ? 'and 1 more argument' : `and ${args} more arguments`),
    foldedText: 'goes on, open to read',
  },
  fact: {
    title: 'Checked facts',
    program: 'Program',
    programMissing: 'was not found on this machine',
    programWritable: 'you, and so the agent, could replace this file',
    leadsTo: 'leads to',
    folder: 'Folder',
    givenAs: 'given as',
    environment: 'Environment',
    overrides: (n: number) => (n === 1 ? '1 override' : `${n} overrides`),
    elevation: 'Elevation',
    elevationText: 'runs with another user’s rights through {program}',
    network: 'Network',
    networkText: '{program} talks to other machines',
    script: 'Script',
    scriptLines: (n: number) => (n === 1 ? '1 line, would be run' : `${n} lines, would be run`),
    scriptCut: 'Only the beginning is shown here.',
    scriptContent: 'Script content',
    sandbox: 'Sandbox',
    sandboxNetwork: (network: boolean) => (network ? 'has the network' : 'has no network'),
    sandboxWrites: 'can write to',
    sandboxImage: 'programs of the image',
    also: (facts: string) => `Also checked: ${facts}.`,
    noOverrides: 'no environment overrides',
    subAgent: 'Sub-agent',
    subAgentText: 'One that works for this agent, as the agent says.',
    background: 'Background',
    backgroundText: 'It goes on after the agent has its answer.',
    noElevation: 'no sudo or the like',
    terminal: 'runs in a terminal of its own, nobody types',
    terminalTyped: 'runs in a terminal of its own; what its agent types is asked about',
    timeLimit: (time: string) => `ended after ${time}`,
    agentName: 'The agent calls itself {name}.',
    unrecorded: 'Not recorded',
    unrecordedText: 'The history cannot be written now, so nothing will tell later that this ran.',
    warning: 'Warning',
    warningFrom: 'The asker’s own words, not checked.',
    otherText: 'Other text',
    otherTextHelp: 'The asker shows this text. What would run is the command above.',
    namesOnly: 'The asker sets these variables and does not tell their values.',
    plugin: 'Plugin',
    pluginUnnamed: 'It does not say which one.',
    tool: 'Tool',
    severity: {
      info: 'It calls this worth knowing.',
      warning: 'It says to be careful with this.',
      critical: 'It calls this dangerous.',
    },
  },
};
