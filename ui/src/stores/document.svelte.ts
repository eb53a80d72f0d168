import type { DocumentEdit, DocumentView } from '../lib/protocol';
import { EditedStore } from './edited.svelte';
import type { Feed } from './feed.svelte';

/** The document of the approvals: policy and allowlist. */
export class DocumentStore extends EditedStore<DocumentView, DocumentEdit> {
  #stop: (() => void)[] = [];

  constructor(readonly feed: Feed) {
    super();
  }

  start(): void {
    this.#stop.push(
      this.feed.on((event) => {
        if (event.kind === 'document-changed' && event.hash !== this.view?.hash) void this.changed(event.hash);
      }),
      this.feed.onSync(() => void this.load()),
    );
  }

  stop(): void {
    for (const stop of this.#stop) stop();
  }

  protected read(): Promise<DocumentView> {
    return this.feed.backend.document();
  }

  protected write(baseHash: string, edits: DocumentEdit[], confirmed: boolean) {
    return this.feed.backend.editDocument({ baseHash, edits, confirmed });
  }
}
