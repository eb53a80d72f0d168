import { BackendError } from '../lib/ipc';
import { keptLine, sessionKey, tally, type KeptLine } from '../lib/kept';
import { outcomeTone } from '../lib/outcome';
import type { ChainReport, HistoryEntry, HistoryEvent, RunningView, RunView } from '../lib/protocol';
import type { Feed } from './feed.svelte';

/** Lines asked for at once: a few screens. */
const PAGE_LINES = 100;

/**
 * Lines held at once, which bounds what the page has to paint; newer ones give way to older ones that are asked for.
 */
const MOST_LINES = 500;

/** Which lines are shown. */
export type Group = 'all' | 'allowed' | 'denied' | 'unanswered' | 'tools' | 'crossings' | 'changes';

export const GROUPS: readonly Group[] = ['all', 'allowed', 'denied', 'unanswered', 'tools', 'crossings', 'changes'];

/** A line, and what came of the run that it allowed, when that is known. */
export interface Row {
  entry: HistoryEntry;
  run: RunView | null;
  /** What the run changed in its folder, or what this line is about. */
  changes: readonly KeptLine[];
  /** Those of them whose session has, or may have, other runs that changed the same folder. */
  shared: readonly KeptLine[];
  /** The command whose changes were put back, as far as it has a line here. */
  undone: string | null;
}

/** Lines of the history, newest first, as far back as was asked for. */
export class HistoryStore {
  entries = $state.raw<HistoryEntry[]>([]);
  /** What is under way, oldest first. */
  running = $state.raw<RunningView[]>([]);
  nextBefore = $state.raw<number | null>(null);
  /** Whether the newest lines are among those that are held. */
  atNewest = $state(true);
  loaded = $state(false);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);
  report = $state.raw<ChainReport | null>(null);
  group = $state<Group>('all');
  search = $state('');

  #stop: (() => void)[] = [];

  constructor(readonly feed: Feed) {}

  /** Lines as rows: what came of a run, and what it changed, belongs to the line that allowed it. */
  readonly rows = $derived.by(() => {
    const runs = new Map<string, RunView>();
    const asked = new Map<string, string>();
    for (const { requestId, event } of this.entries) {
      if (requestId === undefined) continue;
      if (event.kind === 'run') runs.set(requestId, event.run);
      if (event.kind === 'request') asked.set(requestId, event.command);
    }
    const changes = changesOf(this.entries, new Set([...runs.keys(), ...asked.keys()]));
    const rows = this.entries
      .filter((entry) => !isPartOf(entry, asked, changes))
      .map((entry) => ({
        entry,
        run: runOf(entry, runs),
        changes: changesAt(entry, changes),
        undone: undoneBy(entry.event, asked),
      }));
    const runsOf = tally(rows.flatMap(({ entry, changes }) => changes.map((line) => ofSession(entry, line))));
    const isShared = (key: string | null) => key !== null && (this.nextBefore !== null || (runsOf.get(key) ?? 0) > 1);
    return rows.map((row): Row => ({
      ...row,
      shared: row.changes.filter((line) => isShared(ofSession(row.entry, line))),
    }));
  });

  readonly shown = $derived.by(() => {
    const wanted = this.search.trim().toLowerCase();
    return this.rows.filter(
      (row) =>
        inGroup(row, this.group) &&
        (wanted === '' || words(row).includes(wanted) || row.changes.some((line) => inFolder(line, wanted))),
    );
  });

  start(): void {
    this.#stop.push(
      this.feed.on((event) => {
        if (event.kind === 'history-appended') this.#append(event.entry);
        if (event.kind === 'running-changed') void this.#watch();
      }),
      this.feed.onSync(() => void this.load()),
    );
  }

  stop(): void {
    for (const stop of this.#stop) stop();
  }

  /** Reads from the newest line again. */
  load(): Promise<void> {
    return this.#run(async () => {
      const page = await this.feed.backend.history(null, PAGE_LINES);
      this.entries = page.entries;
      this.atNewest = true;
      this.#outdate();
      this.nextBefore = page.nextBefore ?? null;
      this.loaded = true;
      this.running = await this.feed.backend.running();
    });
  }

  older(): Promise<void> {
    const before = this.nextBefore;
    if (before === null) return Promise.resolve();
    return this.#run(async () => {
      const page = await this.feed.backend.history(before, PAGE_LINES);
      const all = [...this.entries, ...page.entries];
      this.atNewest &&= all.length <= MOST_LINES;
      this.entries = all.slice(-MOST_LINES);
      this.nextBefore = page.nextBefore ?? null;
    });
  }

  verify(): Promise<void> {
    return this.#run(async () => {
      this.report = null;
      this.report = await this.feed.backend.verifyHistory();
    });
  }

  /** Ends a run. One that has ended meanwhile is no error: that was wanted. */
  async stopRun(id: string): Promise<void> {
    try {
      await this.feed.backend.stopRun(id);
    } catch (thrown) {
      const error = BackendError.from(thrown);
      if (error.code !== 'gone') this.error = error;
    }
  }

  /** Has a server in the box of a run be reached on this machine, or not any more. */
  async showServer(id: string, port: number, shown: boolean): Promise<void> {
    const { backend } = this.feed;
    try {
      await (shown ? backend.showServer(id, port) : backend.hideServer(id, port));
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    }
  }

  async #watch(): Promise<void> {
    try {
      this.running = await this.feed.backend.running();
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    }
  }

  #append(entry: HistoryEntry): void {
    if (this.atNewest && this.entries.every(({ seq }) => seq < entry.seq)) this.#keep([entry, ...this.entries]);
    this.#outdate();
  }

  /** Keeps the newest ones; older ones can be asked for again. */
  #keep(entries: HistoryEntry[]): void {
    this.entries = entries.slice(0, MOST_LINES);
    const oldest = this.entries.at(-1);
    if (entries.length > MOST_LINES && oldest) this.nextBefore = oldest.seq;
  }

  /** That all lines fit was said of fewer; a break stays one. */
  #outdate(): void {
    if (this.report?.broken === undefined) this.report = null;
  }

  async #run(work: () => Promise<void>): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    this.error = null;
    try {
      await work();
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    } finally {
      this.busy = false;
    }
  }
}

function runOf({ requestId, event }: HistoryEntry, runs: Map<string, RunView>): RunView | null {
  if (event.kind === 'run') return event.run;
  return event.kind === 'request' && requestId !== undefined ? (runs.get(requestId) ?? null) : null;
}

/** What changed, oldest first, by the request that it belongs to, as far as that has a line here. */
function changesOf(entries: readonly HistoryEntry[], known: ReadonlySet<string>): Map<string, KeptLine[]> {
  const changes = new Map<string, KeptLine[]>();
  for (const entry of entries) {
    const { requestId } = entry;
    const line = keptLine(entry);
    if (line === null || requestId === undefined || !known.has(requestId)) continue;
    changes.set(requestId, [line, ...(changes.get(requestId) ?? [])]);
  }
  return changes;
}

/** Whether a line is shown at another one. */
function isPartOf(
  { requestId, event }: HistoryEntry,
  asked: ReadonlyMap<string, string>,
  changes: ReadonlyMap<string, KeptLine[]>,
): boolean {
  if (requestId === undefined) return false;
  return event.kind === 'run' ? asked.has(requestId) : event.kind === 'changes' && changes.has(requestId);
}

function changesAt(entry: HistoryEntry, changes: ReadonlyMap<string, KeptLine[]>): readonly KeptLine[] {
  const own = keptLine(entry);
  if (own !== null) return [own];
  const { requestId, event } = entry;
  const isOwner = event.kind === 'request' || event.kind === 'run';
  return (isOwner && requestId !== undefined && changes.get(requestId)) || [];
}

/** Names the session of a run and the folder that it changed; `null` where there is none. */
function ofSession({ event }: HistoryEntry, { span }: KeptLine): string | null {
  return event.kind === 'request' ? sessionKey(event.agent, event.session, span) : null;
}

function undoneBy(event: HistoryEvent, asked: ReadonlyMap<string, string>): string | null {
  const requestId = event.kind === 'changes' ? event.putBack?.requestId : undefined;
  return requestId === undefined ? null : (asked.get(requestId) ?? null);
}

function inFolder({ span }: KeptLine, wanted: string): boolean {
  return span.folder.toLowerCase().includes(wanted);
}

function inGroup({ entry: { event }, run }: Row, group: Group): boolean {
  if (group === 'all') return true;
  // Also what was reached unasked.
  if (group === 'crossings' && (run?.reached ?? []).length > 0) return true;
  if (group === 'changes') return event.kind === 'document' || event.kind === 'rules';
  // It comes of a command that was let run, or of the person.
  if (event.kind === 'changes') return group === 'allowed';
  if (event.kind !== 'request') return false;
  if (group === 'tools') return event.card === 'tool';
  if (group === 'crossings') return event.card === 'crossing';
  const tone = outcomeTone(event.outcome);
  if (group === 'allowed' || group === 'denied') return tone === group;
  return tone !== 'allowed' && tone !== 'denied';
}

/** What the filter looks at. */
function words({ entry, run }: Row): string {
  const reached = (run?.reached ?? []).map(({ destination }) => destination.toLowerCase());
  const unwritten = (run?.unwritten?.path ?? '').toLowerCase();
  return [ofEvent(entry.event), ...reached, unwritten].join('\n');
}

function ofEvent(event: HistoryEvent): string {
  switch (event.kind) {
    case 'request':
      return [event.command, event.agent, event.session ?? '', event.cwd ?? ''].join('\n').toLowerCase();
    case 'run':
      return event.run.outputTail.toLowerCase();
    case 'changes':
      return (event.changes.problem ?? '').toLowerCase();
    case 'document':
    case 'rules':
      return event.loosenings
        .map(({ scope, from, to }) => `${scope} ${from} ${to}`)
        .join('\n')
        .toLowerCase();
    case 'page':
      return `${event.window} ${event.end}`;
    case 'socket':
      return `${event.door} ${event.lost}`;
    case 'record':
      return JSON.stringify(event.note).toLowerCase();
  }
}
