import { BackendError } from '../lib/ipc';
import type { Loosening } from '../lib/protocol';

/** An edit that loosens and waits for the person's word. */
export interface Pending<Edit> {
  edits: Edit[];
  loosenings: Loosening[];
  kind: EditKind;
}

/** Where an edit belongs in the chain of undoing and redoing. */
type EditKind = 'edit' | 'undo' | 'redo';

/** What the app answers to an edit. */
interface Edited<Edit> {
  applied: boolean;
  loosenings: Loosening[];
  undo: Edit[];
}

/** Steps back that are remembered: more than anybody goes. */
const UNDO_STEPS = 50;

/** Something on disk as the pages show and edit it, with undo, confirmations and changes by others. */
export abstract class EditedStore<View extends { hash: string }, Edit> {
  view = $state.raw<View | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);
  pending = $state.raw<Pending<Edit> | null>(null);
  /** Whether another program changed it since the person last looked. */
  changedElsewhere = $state(false);

  #undo = $state.raw<Edit[][]>([]);
  #redo = $state.raw<Edit[][]>([]);

  readonly canUndo = $derived(this.#undo.length > 0 && !this.busy);
  readonly canRedo = $derived(this.#redo.length > 0 && !this.busy);

  /** What there is now; nothing where there is nothing to show. */
  protected abstract read(): Promise<View | null>;
  protected abstract write(baseHash: string, edits: Edit[], confirmed: boolean): Promise<Edited<Edit>>;

  async load(): Promise<void> {
    try {
      this.view = await this.read();
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    }
  }

  /** Writes the edits, or leaves them in `pending` when they loosen. True when they were written. */
  edit(edits: Edit[]): Promise<boolean> {
    return this.#write(edits, 'edit', false);
  }

  /** Writes what was pending: the person saw what gets looser. */
  confirm(): Promise<boolean> {
    const pending = this.pending;
    return pending ? this.#write(pending.edits, pending.kind, true) : Promise.resolve(false);
  }

  /** Forgets what was pending; nothing was written. */
  keep(): void {
    this.pending = null;
  }

  undo(): Promise<boolean> {
    const edits = this.#undo.at(-1);
    return edits ? this.#write(edits, 'undo', false) : Promise.resolve(false);
  }

  redo(): Promise<boolean> {
    const edits = this.#redo.at(-1);
    return edits ? this.#write(edits, 'redo', false) : Promise.resolve(false);
  }

  /** The event of one's own edit carries the hash that is known, or arrives while the edit is under way. */
  protected async changed(hash: string): Promise<void> {
    if (this.busy) return;
    const isOther = hash !== this.view?.hash;
    await this.load();
    if (isOther) this.changedElsewhere = true;
  }

  async #write(edits: Edit[], kind: EditKind, confirmed: boolean): Promise<boolean> {
    if (!this.view || this.busy) return false;
    this.busy = true;
    this.error = null;
    this.changedElsewhere = false;
    try {
      const result = await this.write(this.view.hash, edits, confirmed);
      if (!result.applied) {
        this.pending = { edits, loosenings: result.loosenings, kind };
        return false;
      }
      this.pending = null;
      this.#remember(kind, result.undo);
      await this.load();
      return true;
    } catch (thrown) {
      this.pending = null;
      this.error = BackendError.from(thrown);
      // Someone else changed it, or it cannot be had any more: either way what is shown is out of date.
      if (this.error.code === 'stale' || this.error.code === 'store') await this.load();
      return false;
    } finally {
      this.busy = false;
    }
  }

  #remember(kind: EditKind, back: Edit[]): void {
    if (kind === 'undo') {
      this.#undo = this.#undo.slice(0, -1);
      this.#redo = [...this.#redo, back].slice(-UNDO_STEPS);
    } else {
      this.#redo = kind === 'redo' ? this.#redo.slice(0, -1) : [];
      this.#undo = [...this.#undo, back].slice(-UNDO_STEPS);
    }
  }
}
