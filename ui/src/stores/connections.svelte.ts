import { targetState } from '../lib/forward';
import { BackendError } from '../lib/ipc';
import type {
  ConnectionsView,
  EmbeddedEdit,
  ForwardSettings,
  ForwardTargetEdit,
  GatewayEdit,
  GatewayView,
  PetSourceEdit,
  PetSourceView,
  SampleResult,
} from '../lib/protocol';
import type { Feed } from './feed.svelte';

/**
 * Gateways and pet servers: the app's own and others. Followed from the start, because devices that wait are
 * counted on every page.
 */
export class ConnectionsStore {
  view = $state.raw<ConnectionsView | null>(null);
  busy = $state(false);
  /** What came of the last sample to each target, or that it is on its way. */
  samples = $state.raw<Record<string, SampleResult | 'sending'>>({});
  error = $state.raw<BackendError | null>(null);

  #stops: (() => void)[] = [];
  #loading = false;
  /** Whether something changed while it was read. */
  #stale = false;

  constructor(readonly feed: Feed) {}

  /** Devices that wait to be let in. */
  readonly waiting = $derived(this.view?.embedded.waiting.length ?? 0);

  readonly connected = $derived((this.view?.gateways ?? []).filter(({ state }) => state.kind === 'connected').length);

  /** Whether something here helps only when the person does something. */
  readonly trouble = $derived(
    this.view !== null &&
      (this.view.embedded.state.kind === 'failed' ||
        this.view.gateways.some(needsHelp) ||
        this.view.forward.broken !== undefined ||
        this.view.forward.targets.some((target) => targetState(target).kind === 'failed') ||
        this.view.pets.broken !== undefined ||
        this.view.pets.sources.some(needsHelp)),
  );

  start(): void {
    this.#stops.push(
      this.feed.on((event) => {
        if (event.kind === 'connections-changed') void this.load();
      }),
      this.feed.onSync(() => void this.load()),
    );
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  /** Reads everything again; changes that are told while it reads are one more reading together. */
  async load(): Promise<void> {
    this.#stale = true;
    if (this.#loading) return;
    this.#loading = true;
    try {
      while (this.#stale) {
        this.#stale = false;
        this.view = await this.feed.backend.connections();
      }
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    } finally {
      this.#loading = false;
    }
  }

  /** True when it was saved; else `error` says what is wrong with it. */
  save(edit: GatewayEdit): Promise<boolean> {
    return this.#change((backend) => backend.saveGateway(edit));
  }

  remove(id: string): Promise<boolean> {
    return this.#change((backend) => backend.removeGateway(id));
  }

  retry(id: string): Promise<boolean> {
    return this.#change((backend) => backend.retryGateway(id));
  }

  setEmbedded(edit: EmbeddedEdit): Promise<boolean> {
    return this.#change((backend) => backend.setEmbedded(edit));
  }

  answer(requestId: string, approve: boolean): Promise<boolean> {
    return this.#change((backend) => backend.answerPairing(requestId, approve));
  }

  removeDevice(id: string): Promise<boolean> {
    return this.#change((backend) => backend.removeDevice(id));
  }

  setForward(settings: ForwardSettings): Promise<boolean> {
    return this.#change((backend) => backend.setForward(settings));
  }

  saveTarget(edit: ForwardTargetEdit): Promise<boolean> {
    if (edit.id !== undefined) this.#sampled(edit.id, null);
    return this.#change((backend) => backend.saveForwardTarget(edit));
  }

  removeTarget(id: string): Promise<boolean> {
    return this.#change((backend) => backend.removeForwardTarget(id));
  }

  setPetServer(enabled: boolean): Promise<boolean> {
    return this.#change((backend) => backend.setPetServer(enabled));
  }

  disconnectPet(sessionId: string): Promise<boolean> {
    return this.#change((backend) => backend.disconnectPet(sessionId));
  }

  forgetPetChoice(sessionId: string, id: string): Promise<boolean> {
    return this.#change((backend) => backend.forgetPetChoice(sessionId, id));
  }

  savePetSource(edit: PetSourceEdit): Promise<boolean> {
    return this.#change((backend) => backend.savePetSource(edit));
  }

  removePetSource(id: string): Promise<boolean> {
    return this.#change((backend) => backend.removePetSource(id));
  }

  retryPetSource(id: string): Promise<boolean> {
    return this.#change((backend) => backend.retryPetSource(id));
  }

  /** Others can be changed meanwhile: a target may take its time. */
  async sendSample(id: string): Promise<void> {
    if (this.samples[id] === 'sending') return;
    this.#sampled(id, 'sending');
    try {
      this.#sampled(id, await this.feed.backend.sendForwardSample(id));
    } catch (thrown) {
      this.#sampled(id, null);
      this.error = BackendError.from(thrown);
    }
  }

  #sampled(id: string, result: SampleResult | 'sending' | null): void {
    const others = Object.entries(this.samples).filter(([target]) => target !== id);
    this.samples = Object.fromEntries(result === null ? others : [...others, [id, result]]);
  }

  async #change(work: (backend: Feed['backend']) => Promise<ConnectionsView>): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.error = null;
    try {
      this.view = await work(this.feed.backend);
      return true;
    } catch (thrown) {
      this.error = BackendError.from(thrown);
      // What it was about may have changed or gone.
      void this.load();
      return false;
    } finally {
      this.busy = false;
    }
  }
}

/** Whether a connection works again, or works fully, only when the person does something. */
function needsHelp({ state }: GatewayView | PetSourceView): boolean {
  return state.kind === 'stopped' || (state.kind === 'connected' && state.link.gaps.length > 0);
}
