import type { ToolsExplained, ToolsQuery } from '../../src/lib/protocol';
import { shown } from './text';

/** What a tool policy of some steps comes to for a caller. */
export function explained({ agent, session }: ToolsQuery): ToolsExplained {
  return {
    sandboxed: agent === 'scout',
    subAgentDepth: session?.includes(':subagent:') ? 1 : 0,
    tools: [
      { name: shown('exec') },
      { name: shown('read_file') },
      { name: shown('write_file'), takenBy: shown(`tools.agent (${agent})`) },
      { name: shown('sessions_spawn'), takenBy: shown('subagent tools.allow') },
    ],
    steps: [shown('tools.profile (coding)'), shown(`tools.agent (${agent})`)],
    warnings: agent === 'main' ? [] : [shown('tools.toolsBySender is not taken into account')],
  };
}
