import { BackendError } from '../lib/ipc';
import type { Card } from '../lib/protocol';
import type { Feed } from './feed.svelte';

/** A denial shows nothing that had to be read first, so it names no paint. */
const NO_PAINT = 0;

/** Answers from the list: denials of one or several, and confirmations. */
export class Inbox {
  selected = $state.raw<ReadonlySet<string>>(new Set());
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);

  constructor(readonly feed: Feed) {}

  /** Selected requests that still wait. */
  readonly chosen = $derived.by(() => this.feed.cards.filter((card) => this.selected.has(card.id)));

  select(id: string, selected: boolean): void {
    const next = new Set(this.selected);
    if (selected) next.add(id);
    else next.delete(id);
    this.selected = next;
  }

  clear(): void {
    this.selected = new Set();
  }

  async deny(cards: Card[]): Promise<void> {
    await this.#run(async () => {
      for (const { id, generation } of cards) {
        await this.feed.backend
          .decide({ id, generation, paint: NO_PAINT, decision: 'deny' })
          .catch((thrown: unknown) => this.#unlessGone(thrown));
      }
      this.clear();
    });
  }

  async open(id: string): Promise<void> {
    await this.#run(() => this.feed.backend.openPrompt(id));
  }

  async answer(id: string, apply: boolean): Promise<void> {
    await this.#run(() => this.feed.backend.answerConfirmation(id, apply));
  }

  /** What is gone needs no denial any more. */
  #unlessGone(thrown: unknown): void {
    const error = BackendError.from(thrown);
    if (error.code !== 'gone') throw error;
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
