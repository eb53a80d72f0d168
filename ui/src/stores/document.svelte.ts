import { documentChange, documentStanding } from '../lib/changes';
import type {
  DocumentEdit,
  DocumentView,
  NativePolicy,
  PolicyAccess,
  PolicyPlace,
  PolicyReadOnly,
} from '../lib/protocol';
import { EditedStore } from './edited.svelte';
import type { Feed } from './feed.svelte';

/** What is known of a document of another machine beside what it says. */
export interface Far {
  access: PolicyAccess;
  readOnly: PolicyReadOnly | null;
  native: NativePolicy | null;
  builtInKnown: boolean;
  isLocal: boolean;
}

/** The pages on which a document is changed. */
export type DocumentPlace = 'policy' | 'allowlist';

/** An approvals document, policy and allowlist: this machine's, or that of another gateway or node. */
export class DocumentStore extends EditedStore<DocumentView, DocumentEdit, DocumentPlace> {
  /** `null` for this machine's own, and until another machine's was read. */
  far = $state.raw<Far | null>(null);
  /** Whether another machine is being asked for it. */
  reading = $state(false);

  #stop: (() => void)[] = [];
  /** How many pages show what it comes to. */
  #looks = 0;

  constructor(
    readonly feed: Feed,
    readonly place: PolicyPlace | null = null,
  ) {
    super();
  }

  /** Whether edits can be written at the moment, as far as is known. */
  readonly writable = $derived.by(() => {
    const kind = this.view?.state.kind;
    const free = this.place === null || (this.far?.access.kind === 'open' && this.far.readOnly === null);
    return free && (kind === 'ready' || kind === 'missing');
  });

  /** Follows this machine's document. Another machine tells of no changes: {@link again} looks for them. */
  start(): void {
    this.#stop.push(
      this.feed.on((event) => {
        if (event.kind === 'document-changed') void this.changed(event.hash, event.by);
        // What it comes to hangs on refusals too; an edit under way reads again by itself.
        if (event.kind === 'rules-changed' && this.#looks > 0 && !this.busy) void this.load();
      }),
      this.feed.onSync(() => void this.load()),
    );
  }

  stop(): void {
    for (const stop of this.#stop) stop();
  }

  /** A page shows what it comes to: reads it, and follows the rules until what comes back is called. */
  look(): () => void {
    this.#looks += 1;
    if (this.place === null) void this.load();
    return () => (this.#looks -= 1);
  }

  /** Reads it again, and says when somebody changed what it says. */
  async again(): Promise<void> {
    if (this.busy) return;
    const before = this.view;
    await this.load();
    if (before && this.view && said(before) !== said(this.view)) this.changedBy = 'somebody';
  }

  protected async read(): Promise<DocumentView | null> {
    if (this.place === null) return this.feed.backend.document();
    this.reading = true;
    const answer = await this.feed.backend.policy(this.place).finally(() => (this.reading = false));
    const { access, document, readOnly, native, builtInKnown, isLocal } = answer;
    this.far = { access, readOnly: readOnly ?? null, native: native ?? null, builtInKnown, isLocal };
    // What it said last stays in view while it cannot be had: a draft is read beside it.
    return document ?? (access.kind === 'open' ? null : this.view);
  }

  protected write(baseHash: string, edits: DocumentEdit[], confirmed: boolean) {
    if (this.place === null) return this.feed.backend.editDocument({ baseHash, edits, confirmed });
    return this.feed.backend.editPolicy({ place: this.place, baseHash, edits, confirmed });
  }

  protected named(edits: DocumentEdit[], _undo: DocumentEdit[], before: DocumentView) {
    return documentChange(edits, before);
  }

  protected standing(edits: DocumentEdit[], view: DocumentView): string {
    return documentStanding(edits, view);
  }
}

/** What a document says, but for the last uses of its entries: a busy machine notes those all the time. */
function said({ state, scopes }: DocumentView): string {
  return JSON.stringify([state, scopes], (name, value: unknown) => (name.startsWith('last') ? undefined : value));
}
