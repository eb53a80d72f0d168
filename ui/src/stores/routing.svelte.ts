import { BackendError } from '../lib/ipc';
import type { Loosening, RouteEdit, RouteResult, RouteSetting, RoutingView, SessionView } from '../lib/protocol';
import type { Feed } from './feed.svelte';

/** Something that lets more run than before, and waits until the person has confirmed it. */
export interface Unconfirmed {
  loosenings: Loosening[];
  apply: () => Promise<boolean>;
}

/** Where commands run. Followed while the page is open. */
export class RoutingStore {
  view = $state.raw<RoutingView | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);
  unconfirmed = $state.raw<Unconfirmed | null>(null);

  #loading = false;
  /** Whether something changed while it was read. */
  #stale = false;

  constructor(readonly feed: Feed) {}

  /** Reads now and whenever something changes, until the returned function is called. */
  follow(): () => void {
    const stops = [
      this.feed.on((event) => {
        if (event.kind === 'connections-changed') void this.load();
      }),
      this.feed.onSync(() => void this.load()),
    ];
    void this.load();
    return () => {
      for (const stop of stops) stop();
    };
  }

  async load(): Promise<void> {
    this.#stale = true;
    if (this.#loading) return;
    this.#loading = true;
    try {
      while (this.#stale) {
        this.#stale = false;
        this.view = await this.feed.backend.routing();
      }
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    } finally {
      this.#loading = false;
    }
  }

  /** True when it was saved; else `unconfirmed` says what it would loosen, or `error` what is wrong. */
  save(agent: string | null, setting: RouteSetting): Promise<boolean> {
    const baseHash = this.view?.hash ?? '';
    const edit: Omit<RouteEdit, 'confirmed'> = { baseHash, setting, ...(agent === null ? {} : { agent }) };
    return this.#change((confirmed) => this.feed.backend.setRoute({ ...edit, confirmed }));
  }

  revoke({ agent, session }: SessionView): Promise<boolean> {
    return this.#change((confirmed) => this.feed.backend.revokeSession(agent, session, confirmed));
  }

  /** The person wants it as it is. */
  keep(): void {
    this.unconfirmed = null;
  }

  async #change(work: (confirmed: boolean) => Promise<RouteResult>, confirmed = false): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.error = null;
    try {
      const { applied, loosenings } = await work(confirmed);
      this.unconfirmed = applied ? null : { loosenings, apply: () => this.#change(work, true) };
      if (applied) await this.load();
      return applied;
    } catch (thrown) {
      this.error = BackendError.from(thrown);
      this.unconfirmed = null;
      // What it was about may have changed or gone.
      void this.load();
      return false;
    } finally {
      this.busy = false;
    }
  }
}
