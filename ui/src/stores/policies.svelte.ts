import { BackendError } from '../lib/ipc';
import type { PolicyPlace, PolicyStore, PolicyStores } from '../lib/protocol';
import type { ConnectionsStore } from './connections.svelte';
import { DocumentStore } from './document.svelte';
import type { Feed } from './feed.svelte';
import { PolicyDraft } from './policy.svelte';

/** One document with what the person is about to do to it. Kept while the window lives, so that no draft is lost. */
export interface Subject {
  key: string;
  store: DocumentStore;
  draft: PolicyDraft;
  /** What was known of another machine's document when it was chosen; `null` for this machine's own. */
  about: PolicyStore | null;
}

/** Stands for this machine's document. */
export const LOCAL = 'local';

export function keyOf({ gateway, node }: PolicyPlace): string {
  return JSON.stringify([gateway, node ?? null]);
}

function subject(feed: Feed, about: PolicyStore | null): Subject {
  const store = new DocumentStore(feed, about?.place ?? null);
  return { key: about ? keyOf(about.place) : LOCAL, store, draft: new PolicyDraft(store), about };
}

/** Which documents there are, and which one the policy and allowlist pages show. */
export class PoliciesStore {
  list = $state.raw<PolicyStores | null>(null);
  loading = $state(false);
  error = $state.raw<BackendError | null>(null);
  subject: Subject;

  readonly local: Subject;
  #known = new Map<string, Subject>();
  #stale = false;

  constructor(
    readonly feed: Feed,
    readonly connections: ConnectionsStore,
  ) {
    this.local = subject(feed, null);
    this.#known.set(LOCAL, this.local);
    this.subject = $state.raw(this.local);
  }

  /** Changes when other documents may be there, or may be had, than before. */
  readonly signature = $derived.by(() =>
    JSON.stringify(
      (this.connections.view?.gateways ?? []).map(({ id, name, state }) => [
        id,
        name,
        state.kind,
        state.kind === 'connected' ? [state.link.sinceMs, state.link.scopes] : null,
      ]),
    ),
  );

  /** Documents of other machines; one that is shown stays among them when it is gone. */
  readonly stores = $derived.by(() => {
    const stores = this.list?.stores ?? [];
    const { about, key } = this.subject;
    return about === null || stores.some(({ place }) => keyOf(place) === key) ? stores : [...stores, about];
  });

  /** What is known of the document that is shown. */
  readonly about = $derived.by(
    () => this.stores.find(({ place }) => keyOf(place) === this.subject.key) ?? this.subject.about,
  );

  /** Shows another document, and reads it. */
  select(key: string): void {
    const about = this.stores.find(({ place }) => keyOf(place) === key) ?? null;
    const known = this.#known.get(key) ?? (about ? subject(this.feed, about) : this.local);
    this.#known.set(known.key, known);
    this.subject = known;
    if (known.about) void known.store.again();
  }

  /** Looks which documents there are, and reads the one that is shown again if it is another machine's. */
  async load(): Promise<void> {
    this.#stale = true;
    if (this.loading) return;
    this.loading = true;
    this.error = null;
    try {
      while (this.#stale) {
        this.#stale = false;
        this.list = await this.feed.backend.policies();
        if (this.subject.about) await this.subject.store.again();
      }
    } catch (thrown) {
      this.error = BackendError.from(thrown);
    } finally {
      this.loading = false;
    }
  }
}
