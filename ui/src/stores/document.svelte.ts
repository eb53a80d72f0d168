import { BackendError } from '../lib/ipc';
import type { DocumentEdit, DocumentView, Loosening } from '../lib/protocol';
import type { Feed } from './feed.svelte';

/** An edit that loosens and waits for the person's word. */
export interface Pending {
  edits: DocumentEdit[];
  loosenings: Loosening[];
  kind: EditKind;
}

/** Where an edit belongs in the chain of undoing and redoing. */
type EditKind = 'edit' | 'undo' | 'redo';

/** Steps back that are remembered: more than anybody goes. */
const UNDO_STEPS = 50;

/** The document as the pages show and edit it, with undo, confirmations and changes by others. */
export class DocumentStore {
  view = $state.raw<DocumentView | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);
  pending = $state.raw<Pending | null>(null);
  /** Whether another program changed the document since the person last looked. */
  changedElsewhere = $state(false);

  #undo = $state.raw<DocumentEdit[][]>([]);
  #redo = $state.raw<DocumentEdit[][]>([]);
  #stop: (() => void)[] = [];

  constructor(readonly feed: Feed) {}

  readonly canUndo = $derived(this.#undo.length > 0 && !this.busy);
  readonly canRedo = $derived(this.#redo.length > 0 && !this.busy);

  start(): void {
    this.#stop.push(
      this.feed.on((event) => {
        if (event.kind === 'document-changed') void this.#changed(event.hash);
      }),
      this.feed.onSync(() => void this.load()),
    );
  }

  stop(): void {
    for (const stop of this.#stop) stop();
  }

  async load(): Promise<void> {
    try {
      this.view = await this.feed.backend.document();
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    }
  }

  /** Writes the edits, or leaves them in `pending` when they loosen. True when they were written. */
  edit(edits: DocumentEdit[]): Promise<boolean> {
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

  async #write(edits: DocumentEdit[], kind: EditKind, confirmed: boolean): Promise<boolean> {
    if (!this.view || this.busy) return false;
    this.busy = true;
    this.error = null;
    this.changedElsewhere = false;
    try {
      const result = await this.feed.backend.editDocument({ baseHash: this.view.hash, edits, confirmed });
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
      if (this.error.code === 'stale') await this.load();
      return false;
    } finally {
      this.busy = false;
    }
  }

  #remember(kind: EditKind, back: DocumentEdit[]): void {
    if (kind === 'undo') {
      this.#undo = this.#undo.slice(0, -1);
      this.#redo = [...this.#redo, back].slice(-UNDO_STEPS);
    } else {
      this.#redo = kind === 'redo' ? this.#redo.slice(0, -1) : [];
      this.#undo = [...this.#undo, back].slice(-UNDO_STEPS);
    }
  }

  /** The event of one's own edit carries the hash that is known, or arrives while the edit is under way. */
  async #changed(hash: string): Promise<void> {
    if (this.busy || hash === this.view?.hash) return;
    await this.load();
    this.changedElsewhere = true;
  }
}
