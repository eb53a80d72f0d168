import { folded, type Fold } from '../lib/bursts';
import { deniable, denyEach } from '../lib/denials';
import { BackendError } from '../lib/ipc';
import type { Card } from '../lib/protocol';
import { plain } from '../lib/shown';
import type { Feed } from './feed.svelte';

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
  /** The agent whose requests are listed; `null` for all. */
  agent = $state<string | null>(null);
  selected = $state.raw<ReadonlySet<string>>(new Set());
  /** Requests whose denial is on its way. */
  denying = $state.raw<ReadonlySet<string>>(new Set());
  progress = $state.raw<Progress | null>(null);
  busy = $state(false);
  error = $state.raw<BackendError | null>(null);

  constructor(readonly feed: Feed) {}

  /** How many wait from each gateway, in the order of the oldest; the chosen one stays when it has none left. */
  readonly sources = $derived.by(() => counted(this.feed.cards, sourceOf, this.source));

  /** Requests of the chosen gateway. */
  readonly #fromSource = $derived.by((): readonly Card[] => {
    const { source } = this;
    return source === null ? this.feed.cards : this.feed.cards.filter((card) => sourceOf(card) === source);
  });

  /** How many of these wait from each agent, likewise. */
  readonly agents = $derived.by(() => counted(this.#fromSource, agentOf, this.agent));

  /** Whether not everything is listed. */
  readonly isFiltered = $derived(this.source !== null || this.agent !== null);

  /** How many wait from all agents of the chosen gateway. */
  readonly ofAllAgents = $derived(this.#fromSource.length);

  /** Requests of the chosen gateway and agent, oldest first. */
  readonly listed = $derived.by((): readonly Card[] => {
    const { agent } = this;
    return agent === null ? this.#fromSource : this.#fromSource.filter((card) => agentOf(card) === agent);
  });

  /** The same, with those that ask exactly the same in one row, by the oldest of each. */
  readonly #folds = $derived(new Map(folded(this.listed).map((fold) => [fold.card, fold])));

  /** The request that stands for each row: the same object for as long as the row is there. */
  readonly rows = $derived([...this.#folds.keys()]);

  /** All requests of a row. */
  foldOf(card: Card): Fold {
    return this.#folds.get(card) ?? { card, alike: [card] };
  }

  /** Selected requests that are listed and still wait. */
  readonly chosen = $derived(this.selected.size === 0 ? [] : this.listed.filter((card) => this.selected.has(card.id)));

  select({ alike }: Fold, selected: boolean): void {
    const next = new Set(this.selected);
    for (const { id } of alike) {
      if (selected) next.add(id);
      else next.delete(id);
    }
    this.selected = next;
  }

  /** Selects everything listed that can be denied. */
  selectAll(): void {
    this.selected = new Set(this.listed.filter(deniable).map(({ id }) => id));
  }

  clear(): void {
    this.selected = new Set();
  }

  /** Denies the requests of one row; others can be denied meanwhile. */
  async deny({ alike }: Fold): Promise<void> {
    const cards = alike.filter(({ id }) => !this.denying.has(id));
    if (cards.length > 0) await this.#deny(cards, () => {});
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
    this.error = await denyEach(this.feed.backend, cards, each);
    this.denying = new Set([...this.denying].filter((id) => !ids.has(id)));
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

/** How many requests there are of each, in the order of the oldest, and of the chosen one also when there are none. */
function counted(cards: readonly Card[], of: (card: Card) => string, chosen: string | null): Map<string, number> {
  const counts = new Map<string, number>();
  for (const card of cards) counts.set(of(card), (counts.get(of(card)) ?? 0) + 1);
  if (chosen !== null && !counts.has(chosen)) counts.set(chosen, 0);
  return counts;
}

function agentOf(card: Card): string {
  return plain(card.agent);
}

function sourceOf(card: Card): string {
  return card.gateway ? plain(card.gateway) : HERE;
}
