import { BackendError, type Backend } from '../lib/ipc';
import type { Whole } from '../lib/kept';
import type { KeptChange, KeptChanges, KeptDiff, KeptParams, KeptSession, PutBackResult } from '../lib/protocol';

/** Files that are listed at once: a few screens, and as many again for the asking. */
export const LISTED = 100;

/** What of the app is needed here. */
export type KeptBackend = Pick<Backend, 'keptChanges' | 'keptDiff' | 'keptSession' | 'putBack'>;

/** One file or folder that changed. */
export class KeptFile {
  isOpen = $state(false);
  /** What differs, once it was looked at: it lies between two fixed states and stays as it is. */
  diff = $state.raw<KeptDiff | null>(null);
  result = $state.raw<PutBackResult | null>(null);
  error = $state.raw<BackendError | null>(null);

  constructor(readonly change: KeptChange) {}
}

/**
 * What changed by one line of the history, or by all runs of its session: looked at only when somebody wants to see it,
 * and put back when somebody says so.
 */
export class KeptStore {
  isOpen = $state(false);
  /** `null` until the list was read. */
  files = $state.raw<readonly KeptFile[] | null>(null);
  /** What the session changed in sum, where that is looked at, once it was read. */
  session = $state.raw<KeptSession | null>(null);
  /** How many changes are in no list that comes here. */
  unlisted = $state(0);
  /** Whether it waits to be told once more that all is to be put back. */
  isAsking = $state(false);
  /** What is being put back at the moment. */
  working = $state.raw<KeptFile | 'all' | null>(null);
  /** What came of putting all of it back. */
  result = $state.raw<PutBackResult | null>(null);
  error = $state.raw<BackendError | null>(null);

  #listed = $state(LISTED);
  #isReading = false;

  constructor(
    readonly backend: KeptBackend,
    readonly seq: number,
    readonly whole: Whole = 'line',
  ) {}

  readonly shown = $derived.by(() => this.files?.slice(0, this.#listed) ?? []);
  /** How many more of the list the next press of a button shows. */
  readonly next = $derived.by(() => Math.min(LISTED, Math.max(0, (this.files?.length ?? 0) - this.#listed)));

  showNext(): void {
    this.#listed += LISTED;
  }

  /**
   * Opens the list and reads it, or closes it. What did not work is tried again when it is opened again, and a session
   * is always read again: there may be another run.
   */
  async toggle(): Promise<void> {
    this.isOpen = !this.isOpen;
    if (!this.isOpen) {
      this.isAsking = false;
      return;
    }
    if (this.#isReading || (this.files !== null && (this.whole === 'line' || this.working !== null))) return;
    this.#isReading = true;
    this.files = null;
    this.result = null;
    this.error = null;
    try {
      const { changes, more } = await this.#read();
      this.files = changes.map((change) => new KeptFile(change));
      this.unlisted = more;
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    } finally {
      this.#isReading = false;
    }
  }

  /** Opens what differs in a file, or closes it. */
  async toggleFile(file: KeptFile): Promise<void> {
    file.isOpen = !file.isOpen;
    if (!file.isOpen || file.diff !== null) return;
    file.error = null;
    try {
      file.diff = await this.backend.keptDiff({ ...this.#meant(), change: file.change.number });
    } catch (thrown) {
      file.error = BackendError.from(thrown);
    }
  }

  /** Puts one file back; at one time only one thing is put back. */
  putBack(file: KeptFile): Promise<void> {
    if (!file.change.returns || file.change.between) return Promise.resolve();
    return this.#put(file, file, file.change.number);
  }

  /** Asks once more; what came of the last time is over. */
  ask(): void {
    if (this.working !== null) return;
    this.result = null;
    this.isAsking = true;
  }

  /** Nothing is put back; what has begun goes on. */
  keep(): void {
    if (this.working === null) this.isAsking = false;
  }

  /** Puts everything back, unlisted changes too. Only after it was asked. */
  async putBackAll(): Promise<void> {
    if (!this.isAsking || this.working !== null) return;
    await this.#put('all', this);
    this.isAsking = false;
  }

  async #read(): Promise<KeptChanges> {
    if (this.whole === 'line') return await this.backend.keptChanges(this.#meant());
    this.session = null;
    this.session = await this.backend.keptSession(this.#meant());
    return this.session.listed;
  }

  /** Numbers of changes are those of the lines that were read. */
  #meant(): KeptParams {
    return this.session === null ? { seq: this.seq } : { seq: this.seq, session: this.session.range };
  }

  async #put(what: KeptFile | 'all', said: Pick<KeptFile, 'result' | 'error'>, change?: number): Promise<void> {
    if (this.working !== null) return;
    this.working = what;
    said.result = null;
    said.error = null;
    try {
      said.result = await this.backend.putBack(change === undefined ? this.#meant() : { ...this.#meant(), change });
    } catch (thrown) {
      said.error = BackendError.from(thrown);
    } finally {
      this.working = null;
    }
  }
}
