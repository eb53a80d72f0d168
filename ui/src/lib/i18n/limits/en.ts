/** How much of everything there may be, in English. */
export const limits = {
  limits: {
    title: 'Limits',
    waiting: {
      name: 'Waiting requests',
      unit: 'requests',
      help: (least: number, most: number) =>
        `How many requests of this machine may wait for you at once, ${least} to ${most}. One more is refused at once.`,
    },
    runSeconds: {
      name: 'Longest run',
      unit: 's',
      help: (least: number, most: number) =>
        `After this time any command that runs here is ended, whatever its agent asks for; ${least} leaves that to the agent, ${most} is a day. A prompt shows the limit that holds.`,
    },
    outputKb: {
      name: 'Output of a command',
      unit: 'kB',
      help: (least: number, most: number) =>
        `How much of what a command prints reaches its agent, ${least} to ${most}. The rest is dropped and marked; the command goes on.`,
    },
    historyMb: {
      name: 'Size of the history',
      unit: 'MiB',
      help: (least: number, most: number) =>
        `How much of your decisions is kept, ${least} to ${most}, and half as much again of what ran unasked. When it is full the oldest lines go, and a line says which.`,
    },
  },
};
