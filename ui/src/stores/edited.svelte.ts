import { BackendError } from '../lib/ipc';
import type { ChangedBy, Comes, Impact, Loosening } from '../lib/protocol';

/** An edit that loosens and waits for the person's word. */
export interface Pending<Edit> {
  edits: Edit[];
  loosenings: Loosening[];
  /** What it would do, where that can be told. */
  impact: Impact | null;
  kind: EditKind;
}

/** Somebody else than the person at the windows and this program on their behalf. */
export type OtherWriter = 'another-program' | 'command-line' | 'gateway' | 'somebody';

function otherWriter(by: ChangedBy | undefined): OtherWriter | null {
  switch (by) {
    case 'another-program':
    case 'command-line':
    case 'gateway':
      return by;
    case 'answer':
    case 'first-run':
    case 'upkeep':
    case 'window':
    case undefined:
      return null;
  }
}

/** Where an edit belongs in the chain of undoing and redoing. */
type EditKind = 'edit' | 'undo' | 'redo';

/** What the app answers to an edit. */
interface Edited<Edit> {
  applied: boolean;
  loosenings: Loosening[];
  impact?: Impact;
  undo: Edit[];
  comes?: Comes[];
}

/** Steps back that are remembered: more than anybody goes. */
const UNDO_STEPS = 50;

/** Something on disk as the pages show and edit it, with undo, confirmations and changes by others. */
export abstract class EditedStore<View extends { hash: string }, Edit> {
  view = $state.raw<View | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);
  pending = $state.raw<Pending<Edit> | null>(null);
  /** Who changed it since the person last looked, other than the person. */
  changedBy = $state<OtherWriter | null>(null);
  /** What came of the permissions that were stored last, as far as they let nothing run. */
  idle = $state.raw<Comes[]>([]);

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

  /** It is another one now; who made it so is known but for changes that are told of twice. */
  protected async changed(hash: string, by?: ChangedBy): Promise<void> {
    // An edit under way reads again by itself.
    if (!this.busy && (by === undefined || hash !== this.view?.hash)) await this.load();
    const other = otherWriter(by);
    if (other) this.changedBy = other;
  }

  async #write(edits: Edit[], kind: EditKind, confirmed: boolean): Promise<boolean> {
    if (!this.view || this.busy) return false;
    this.busy = true;
    this.error = null;
    this.changedBy = null;
    this.idle = [];
    try {
      const result = await this.write(this.view.hash, edits, confirmed);
      if (!result.applied) {
        this.pending = { edits, loosenings: result.loosenings, impact: result.impact ?? null, kind };
        return false;
      }
      this.pending = null;
      this.idle = (result.comes ?? []).filter(({ kind }) => kind !== 'in-force');
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
