import { BackendError } from '../lib/ipc';
import type { FolderAtHand, FoldersView, HistoryEvent } from '../lib/protocol';
import type { Feed } from './feed.svelte';

/** What happened in open folders, for as long as somebody looks. */
export class FoldersStore {
  view = $state.raw<FoldersView | null>(null);
  /** The folder that could be opened next. */
  atHand = $state.raw<FolderAtHand | null>(null);
  error = $state.raw<BackendError | null>(null);

  #stop: (() => void)[] = [];
  #reading = false;
  /** Something happened while it was read. */
  #again = false;

  constructor(readonly feed: Feed) {}

  /** Somebody looks: reads, and follows what happens until `leave`. */
  async look(): Promise<void> {
    this.leave();
    this.#stop.push(
      this.feed.on((event) => {
        if (event.kind === 'rules-changed' || (event.kind === 'history-appended' && matters(event.entry.event)))
          void this.load();
      }),
      this.feed.onSync(() => void this.load()),
    );
    await this.load();
  }

  leave(): void {
    for (const stop of this.#stop) stop();
    this.#stop = [];
  }

  /** Reads once at a time: what happens meanwhile is read in one go afterwards. */
  async load(): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    while (this.#again) {
      this.#again = false;
      await this.#read();
    }
    this.#reading = false;
  }

  async #read(): Promise<void> {
    try {
      [this.view, this.atHand] = await Promise.all([this.feed.backend.folders(), this.feed.backend.folderAtHand()]);
      this.error = null;
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    }
  }
}

/** Whether a line of the history can change what is shown. */
function matters({ kind }: HistoryEvent): boolean {
  return kind === 'run' || kind === 'changes' || kind === 'request';
}
