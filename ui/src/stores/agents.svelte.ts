import { choicesOf, connectedIn, knownIn } from '../lib/agents';
import { BackendError } from '../lib/ipc';
import type { AgentChange, AgentPreview, AgentsView, AgentView, AgentWay, Shown } from '../lib/protocol';
import type { Feed } from './feed.svelte';

/** A change that is looked at. */
export interface Looking {
  agent: string;
  kind: 'connect' | 'take-back';
  /** How it is to ask; of no meaning when it is taken back. */
  ways: AgentWay[];
}

/** What was written last. */
export interface Written extends Pick<Looking, 'agent' | 'kind'> {
  backups: Shown[];
}

/** The agents of this machine, and the one change of settings that is looked at. */
export class AgentsStore {
  view = $state.raw<AgentsView | null>(null);
  error = $state.raw<BackendError | null>(null);
  looking = $state.raw<Looking | null>(null);
  /** What it comes to; `null` while that is worked out. */
  preview = $state.raw<AgentPreview | null>(null);
  /** Whether what was to be written had changed, so that another change is shown now. */
  changed = $state(false);
  busy = $state(false);
  written = $state.raw<Written | null>(null);

  /** Tells the present look from those before, whose answer is of no use any more. */
  #look = 0;

  constructor(readonly feed: Feed) {}

  readonly connected = $derived(connectedIn(this.view?.agents ?? []));

  /** Everyone whom policy and entries can be for, as far as they are known here. */
  readonly known = $derived(this.view ? knownIn(this.view) : []);

  /** Found here, or connected though it is not found any more. */
  readonly here = $derived(this.view?.agents.filter((agent) => agent.found || this.connected.includes(agent)) ?? []);
  readonly missing = $derived(this.view?.agents.filter((agent) => !this.here.includes(agent)) ?? []);

  async load(): Promise<void> {
    try {
      this.view = await this.feed.backend.agents();
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    }
  }

  /** Shows what connecting would change, beginning with the way that asks about most. */
  connect(agent: AgentView): Promise<void> {
    return this.#show({ agent: agent.name, kind: 'connect', ways: choicesOf(agent)[0] ?? [] });
  }

  takeBack(agent: string): Promise<void> {
    return this.#show({ agent, kind: 'take-back', ways: [] });
  }

  /** Shows the same for other ways. */
  async pick(ways: AgentWay[]): Promise<void> {
    if (this.looking && !this.busy) await this.#show({ ...this.looking, ways });
  }

  cancel(): void {
    this.#look += 1;
    this.looking = null;
    this.preview = null;
  }

  /** Writes exactly what is shown. Where that is not possible any more, it is shown anew. */
  async write(): Promise<void> {
    const { looking, preview } = this;
    if (!looking || preview?.kind !== 'ready' || this.busy) return;
    this.busy = true;
    this.error = null;
    try {
      const { backups, view } = await this.feed.backend.writeAgent(preview.id);
      this.view = view;
      this.written = { agent: looking.agent, kind: looking.kind, backups };
      this.cancel();
    } catch (thrown) {
      const error = BackendError.from(thrown);
      if (error.code === 'stale') {
        await this.#show(looking);
        this.changed = true;
      } else {
        this.error = error;
        this.cancel();
        await this.load();
      }
    } finally {
      this.busy = false;
    }
  }

  async #show(looking: Looking): Promise<void> {
    const look = (this.#look += 1);
    this.error = null;
    this.changed = false;
    this.written = null;
    this.looking = looking;
    this.preview = null;
    const change: AgentChange =
      looking.kind === 'connect' ? { kind: 'connect', ways: looking.ways } : { kind: 'take-back' };
    try {
      const preview = await this.feed.backend.previewAgent({ agent: looking.agent, change });
      if (look === this.#look) this.preview = preview;
    } catch (thrown) {
      if (look !== this.#look) return;
      this.error = BackendError.from(thrown);
      this.cancel();
    }
  }
}
