import type { ChangeName } from '../lib/changes';
import { BackendError } from '../lib/ipc';
import type { ChangedBy, Comes, Impact, Loosening } from '../lib/protocol';

/** An edit that loosens and waits for the person's word. */
export interface Pending {
  loosenings: Loosening[];
  /** What it would do, where that can be told. */
  impact: Impact | null;
  /** Whether it is a new change of the page's, and not one that is taken back or made once more. */
  isNew: boolean;
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

/** A change that can be taken back, or made once more. */
export interface Step<Edit> {
  /** What does that. */
  edits: Edit[];
  /** How the change left what these touch. Whatever else is there by then, something else changed it. */
  left: string;
  /** The name of the change. */
  name: () => ChangeName;
}

/** Back through the changes of a page, or forth again. */
type Chain = 'undo' | 'redo';

/** Where an edit belongs in a page's chain of undoing and redoing. */
interface Kind<Edit, Place> {
  place: Place;
  /** The step that is gone, and where it is from; none for a new change. */
  from: { chain: Chain; step: Step<Edit> } | null;
}

/** What the app answers to an edit. */
interface Edited<Edit> {
  hash: string;
  applied: boolean;
  loosenings: Loosening[];
  impact?: Impact;
  undo: Edit[];
  comes?: Comes[];
}

/** Steps back that are remembered: more than anybody goes. */
const UNDO_STEPS = 50;

/** Both ways from where a page is. */
type Chains<Edit> = Record<Chain, Step<Edit>[]>;

/**
 * Something on disk as the pages show and edit it, with undo, confirmations and changes by others. Each page takes back
 * what was changed on it and nothing else.
 */
export abstract class EditedStore<View extends { hash: string }, Edit, Place extends string = string> {
  view = $state.raw<View | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);
  pending = $state.raw<Pending | null>(null);
  /** Who changed it since the person last looked, other than the person. */
  changedBy = $state<OtherWriter | null>(null);
  /** What came of the permissions that were stored last, as far as they let nothing run. */
  idle = $state.raw<Comes[]>([]);
  /** The change that could not be taken back, or made again, because what it is about changed since. */
  overtaken = $state.raw<{ chain: Chain; name: () => ChangeName } | null>(null);

  #chains = $state.raw<Partial<Record<Place, Chains<Edit>>>>({});
  /** The edits that `pending` is about. */
  #waiting: { edits: Edit[]; kind: Kind<Edit, Place> } | null = null;

  /** What there is now; nothing where there is nothing to show. */
  protected abstract read(): Promise<View | null>;
  protected abstract write(baseHash: string, edits: Edit[], confirmed: boolean): Promise<Edited<Edit>>;

  /** What the edits made of `before`, which `undo` takes back from `after`. */
  protected abstract named(edits: Edit[], undo: Edit[], before: View, after: View): () => ChangeName;

  /** How everything stands in a view that these edits touch: two texts are the same only where all of it is. */
  protected abstract standing(edits: Edit[], view: View): string;

  async load(): Promise<void> {
    try {
      this.view = await this.read();
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    }
  }

  /** Writes a page's edits, or leaves them in `pending` when they loosen. True when they were written. */
  edit(edits: Edit[], place: Place): Promise<boolean> {
    return this.#write(edits, { place, from: null }, false);
  }

  /** Writes what was pending: the person saw what gets looser. */
  confirm(): Promise<boolean> {
    const waiting = this.pending && this.#waiting;
    return waiting ? this.#write(waiting.edits, waiting.kind, true) : Promise.resolve(false);
  }

  /** Forgets what was pending; nothing was written. */
  keep(): void {
    this.pending = null;
  }

  /** The change that a page would take back, or make once more; `null` where there is none now. */
  next(chain: Chain, place: Place): Step<Edit> | null {
    return (this.busy ? undefined : this.#chains[place]?.[chain].at(-1)) ?? null;
  }

  undo(place: Place): Promise<boolean> {
    return this.#step('undo', place);
  }

  redo(place: Place): Promise<boolean> {
    return this.#step('redo', place);
  }

  /** It is another one now; who made it so is known but for changes that are told of twice. */
  protected async changed(hash: string, by?: ChangedBy): Promise<void> {
    // An edit under way reads again by itself.
    if (!this.busy && (by === undefined || hash !== this.view?.hash)) await this.load();
    const other = otherWriter(by);
    if (other) this.changedBy = other;
  }

  /** Takes exactly one change back: not where something else changed what it is about. */
  async #step(chain: Chain, place: Place): Promise<boolean> {
    const step = this.next(chain, place);
    if (!step || !this.view) return false;
    if (step.left !== this.standing(step.edits, this.view)) {
      this.#put(chain, place, (steps) => steps.filter((other) => other !== step));
      this.error = null;
      this.overtaken = { chain, name: step.name };
      return false;
    }
    // What is written says which view it was made from: a change that comes in between is refused there.
    return this.#write(step.edits, { place, from: { chain, step } }, false);
  }

  async #write(edits: Edit[], kind: Kind<Edit, Place>, confirmed: boolean): Promise<boolean> {
    const before = this.view;
    if (!before || this.busy) return false;
    this.busy = true;
    this.error = null;
    this.changedBy = null;
    this.overtaken = null;
    this.idle = [];
    try {
      const result = await this.write(before.hash, edits, confirmed);
      if (!result.applied) {
        this.#waiting = { edits, kind };
        const { loosenings, impact = null } = result;
        this.pending = { loosenings, impact, isNew: kind.from === null };
        return false;
      }
      this.pending = null;
      this.idle = (result.comes ?? []).filter(({ kind }) => kind !== 'in-force');
      await this.load();
      this.#remember(edits, kind, result, before);
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

  #remember(edits: Edit[], { place, from }: Kind<Edit, Place>, result: Edited<Edit>, before: View): void {
    if (from) this.#put(from.chain, place, (steps) => steps.filter((step) => step !== from.step));
    else this.#put('redo', place, () => []);
    const after = this.view;
    // Nothing changed, or somebody else changed more before it was read: that is never taken back with it.
    if (result.undo.length === 0 || !after || (result.hash !== '' && result.hash !== after.hash)) return;
    const step = {
      edits: result.undo,
      left: this.standing(result.undo, after),
      name: from?.step.name ?? this.named(edits, result.undo, before, after),
    };
    this.#put(from?.chain === 'undo' ? 'redo' : 'undo', place, (steps) => [...steps, step].slice(-UNDO_STEPS));
  }

  #put(chain: Chain, place: Place, next: (steps: Step<Edit>[]) => Step<Edit>[]): void {
    const chains = this.#chains[place] ?? { undo: [], redo: [] };
    this.#chains = { ...this.#chains, [place]: { ...chains, [chain]: next(chains[chain]) } };
  }
}
