import { BackendError } from '../lib/ipc';
import type { Card } from '../lib/protocol';
import { plain } from '../lib/shown';
import type { Feed } from './feed.svelte';

/** A denial shows nothing that had to be read first, so it names no paint. */
const NO_PAINT = 0;

/** Denials on their way at once: one after the other would take a round trip to a distant gateway each. */
const AT_ONCE = 8;

/** The source of what did not come from another gateway. */
export const HERE = '';

/** How far the denial of several is. */
export interface Progress {
  done: number;
  of: number;
}

/** Answers from the list: denials of one or several, and confirmations. */
export class Inbox {
  /** The gateway whose requests are listed; `null` for all. */
  source = $state<string | null>(null);
  selected = $state.raw<ReadonlySet<string>>(new Set());
  /** Requests whose denial is on its way. */
  denying = $state.raw<ReadonlySet<string>>(new Set());
  progress = $state.raw<Progress | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);

  constructor(readonly feed: Feed) {}

  /** How many wait from each gateway, in the order of the oldest; the chosen one stays when it has none left. */
  readonly sources = $derived.by(() => {
    const counts = new Map<string, number>();
    for (const card of this.feed.cards) {
      const source = sourceOf(card);
      counts.set(source, (counts.get(source) ?? 0) + 1);
    }
    if (this.source !== null && !counts.has(this.source)) counts.set(this.source, 0);
    return counts;
  });

  /** Requests of the chosen gateway, oldest first. */
  readonly listed = $derived.by((): readonly Card[] => {
    const { source } = this;
    return source === null ? this.feed.cards : this.feed.cards.filter((card) => sourceOf(card) === source);
  });

  /** Selected requests that are listed and still wait. */
  readonly chosen = $derived(this.selected.size === 0 ? [] : this.listed.filter((card) => this.selected.has(card.id)));

  select(id: string, selected: boolean): void {
    const next = new Set(this.selected);
    if (selected) next.add(id);
    else next.delete(id);
    this.selected = next;
  }

  /** Selects everything listed that can be denied. */
  selectAll(): void {
    this.selected = new Set(this.listed.filter(deniable).map(({ id }) => id));
  }

  clear(): void {
    this.selected = new Set();
  }

  /** Denies one request; others can be denied meanwhile. */
  async deny(card: Card): Promise<void> {
    if (!this.denying.has(card.id)) await this.#deny([card], () => {});
  }

  /** Denies what is chosen, and says how far it is. */
  async denyChosen(): Promise<void> {
    if (this.progress) return;
    const cards = this.chosen.filter(({ id }) => !this.denying.has(id));
    let done = 0;
    this.progress = { done, of: cards.length };
    await this.#deny(cards, () => (this.progress = { done: (done += 1), of: cards.length }));
    this.progress = null;
    this.clear();
  }

  async open(id: string): Promise<void> {
    await this.#run(() => this.feed.backend.openPrompt(id));
  }

  async answer(id: string, apply: boolean): Promise<void> {
    await this.#run(() => this.feed.backend.answerConfirmation(id, apply));
  }

  /** Sends the denials; the first one that fails ends the rest, and what was not sent goes on waiting. */
  async #deny(cards: readonly Card[], each: () => void): Promise<void> {
    this.error = null;
    const ids = new Set(cards.map(({ id }) => id));
    this.denying = new Set([...this.denying, ...ids]);
    const left = cards.values();
    const worker = async () => {
      for (const { id, generation } of left) {
        if (this.error) return;
        await this.feed.backend
          .decide({ id, generation, paint: NO_PAINT, decision: 'deny' })
          .then(each)
          .catch((thrown: unknown) => this.#unlessGone(thrown));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    this.denying = new Set([...this.denying].filter((id) => !ids.has(id)));
  }

  /** What is gone needs no denial any more. */
  #unlessGone(thrown: unknown): void {
    const error = BackendError.from(thrown);
    if (error.code !== 'gone') this.error = error;
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

/** Whether the asker takes a denial. */
export function deniable(card: Card): boolean {
  return card.decisions.includes('deny');
}

function sourceOf(card: Card): string {
  return card.gateway ? plain(card.gateway) : HERE;
}
