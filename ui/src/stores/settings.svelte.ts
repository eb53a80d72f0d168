import { BackendError } from '../lib/ipc';
import type { Settings } from '../lib/protocol';
import type { Feed } from './feed.svelte';

/** The settings page: changes hold at once and come back as an event. */
export class SettingsStore {
  autostart = $state<boolean | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);
  /** Where the old document is, after it was moved aside. */
  backup = $state<string | null>(null);

  constructor(readonly feed: Feed) {}

  load(): Promise<void> {
    return this.#run(async () => {
      this.autostart = await this.feed.backend.autostart();
    });
  }

  change(difference: Partial<Settings>): Promise<void> {
    const settings = this.feed.settings;
    if (!settings) return Promise.resolve();
    return this.#run(() => this.feed.backend.setSettings({ ...settings, ...difference }));
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
