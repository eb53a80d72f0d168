import { BackendError } from '../lib/ipc';
import type { Settings } from '../lib/protocol';
import type { Feed } from './feed.svelte';

/** What of the settings is to be other than it is. */
type Difference = Partial<Omit<Settings, 'limits'>> & { limits?: Partial<Settings['limits']> };

/** The settings page: changes hold at once and come back as an event. */
export class SettingsStore {
  autostart = $state<boolean | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);
  /** Where the old document is, after it was moved aside. */
  backup = $state<string | null>(null);

  /** Ends when every change that was made is kept, or was refused. */
  #changed = Promise.resolve();

  constructor(readonly feed: Feed) {}

  load(): Promise<void> {
    return this.#run(async () => {
      this.autostart = await this.feed.backend.autostart();
    });
  }

  /**
   * Changes settings, each on top of what was changed before: what is kept comes back as an event, and may still be
   * on its way when the next change is made. None is lost, and none takes another back.
   */
  change(difference: Difference): Promise<void> {
    this.#changed = this.#changed.then(async () => {
      const { settings } = this.feed;
      if (!settings) return;
      const limits = { ...settings.limits, ...difference.limits };
      const next = { ...settings, ...difference, limits };
      await this.#do(async () => {
        await this.feed.backend.setSettings(next);
        this.feed.settings = next;
      });
    });
    return this.#changed;
  }

  setAutostart(enabled: boolean): Promise<void> {
    return this.#run(async () => {
      this.autostart = await this.feed.backend.setAutostart(enabled);
    });
  }

  reset(): Promise<void> {
    return this.#run(async () => {
      this.backup = await this.feed.backend.resetDocument();
    });
  }

  async #run(work: () => Promise<void>): Promise<void> {
    if (!this.busy) await this.#do(work);
  }

  async #do(work: () => Promise<void>): Promise<void> {
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
