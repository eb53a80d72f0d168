import { pause } from '../lib/frames';
import type { Backend } from '../lib/ipc';
import type { Card, Confirmation, Outcome, Settings, Status, UiEvent, UiMessage } from '../lib/protocol';

/** How a card ended, as told by the event that closed it. */
export interface Closed {
  outcome: Outcome;
  by: string | null;
}

/** Ended requests that are remembered, so that a late "added" cannot bring one back: far more than can wait at once. */
const TOMBSTONES = 1_000;

/** Milliseconds before asking again for a snapshot that could not be had. */
const RETRY_MS = 1_000;

/** Milliseconds before asking again for a snapshot that was older than what had already arrived. */
const GAP_MS = 50;

/**
 * What waits and what works, as the app tells it. Subscribes first, then takes a snapshot, then applies newer messages;
 * a gap in the numbers means a new snapshot.
 */
export class Feed {
  ready = $state(false);
  /** Oldest first. */
  cards = $state.raw<Card[]>([]);
  confirmations = $state.raw<Confirmation[]>([]);
  /** Requests that the person had put aside when the last snapshot was taken. */
  dismissed: readonly string[] = [];
  status = $state.raw<Status | null>(null);
  settings = $state.raw<Settings | null>(null);
  /** Milliseconds to add to the local clock to get the app's. */
  offset = $state(0);

  #seq = 0;
  #waiting: UiMessage[] | null = [];
  #closed = new Map<string, Closed>();
  #listeners = new Set<(event: UiEvent) => void>();
  #syncListeners = new Set<() => void>();
  #stop: (() => void) | null = null;
  #stopped = false;

  constructor(readonly backend: Backend) {}

  async start(): Promise<void> {
    const stop = await this.backend.follow((message) => this.#receive(message));
    if (this.#stopped) return stop();
    this.#stop = stop;
    await this.#resync();
  }

  stop(): void {
    this.#stopped = true;
    this.#stop?.();
  }

  /** Calls `listener` after each event has been applied; returns how to stop. */
  on(listener: (event: UiEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` after each snapshot, when anything may have changed; returns how to stop. */
  onSync(listener: () => void): () => void {
    this.#syncListeners.add(listener);
    return () => this.#syncListeners.delete(listener);
  }

  card(id: string): Card | null {
    return this.cards.find((card) => card.id === id) ?? null;
  }

  /** How a request ended, when that is still remembered. */
  closed(id: string): Closed | null {
    return this.#closed.get(id) ?? null;
  }

  #receive(message: UiMessage): void {
    if (this.#waiting) {
      this.#waiting.push(message);
    } else if (message.seq === this.#seq + 1) {
      this.#seq = message.seq;
      this.#apply(message.event);
    } else if (message.seq > this.#seq) {
      this.#waiting = [message];
      void this.#resync();
    }
  }

  /** Takes a snapshot and then what arrived meanwhile; tries again until there is one without a gap behind it. */
  async #resync(): Promise<void> {
    while (!this.#stopped) {
      try {
        const snapshot = await this.backend.snapshot();
        this.offset = snapshot.nowMs - Date.now();
        this.#seq = snapshot.seq;
        this.cards = snapshot.cards.filter((card) => !this.#closed.has(card.id));
        this.confirmations = snapshot.confirmations;
        this.dismissed = snapshot.dismissed;
        this.status = snapshot.status;
        this.settings = snapshot.settings;
        this.ready = true;
        for (const listener of this.#syncListeners) listener();
        if (this.#drain()) return;
        await pause(GAP_MS);
      } catch {
        await pause(RETRY_MS);
      }
    }
  }

  /** Applies what arrived during the snapshot; false when a message in between is missing. */
  #drain(): boolean {
    const waiting = (this.#waiting ?? []).sort((a, b) => a.seq - b.seq);
    for (const [index, message] of waiting.entries()) {
      if (message.seq <= this.#seq) continue;
      if (message.seq !== this.#seq + 1) {
        this.#waiting = waiting.slice(index);
        return false;
      }
      this.#seq = message.seq;
      this.#apply(message.event);
    }
    this.#waiting = null;
    return true;
  }

  #apply(event: UiEvent): void {
    switch (event.kind) {
      case 'card-added':
        this.#add(event.card);
        break;
      case 'card-closed':
        this.#bury(event.id, { outcome: event.outcome, by: event.by ?? null });
        this.cards = this.cards.filter((card) => card.id !== event.id);
        break;
      case 'confirmation-added':
        this.confirmations = [
          ...this.confirmations.filter((waiting) => waiting.id !== event.confirmation.id),
          event.confirmation,
        ];
        break;
      case 'confirmation-closed':
        this.confirmations = this.confirmations.filter((waiting) => waiting.id !== event.id);
        break;
      case 'settings-changed':
        this.settings = event.settings;
        break;
      case 'status-changed':
        this.status = event.status;
        break;
      case 'document-changed':
      case 'history-appended':
      case 'rules-changed':
      case 'show-card':
      case 'show-page':
        break;
    }
    for (const listener of this.#listeners) listener(event);
  }

  #add(card: Card): void {
    if (this.#closed.has(card.id)) return;
    const index = this.cards.findIndex((known) => known.id === card.id);
    this.cards = index < 0 ? [...this.cards, card] : this.cards.with(index, card);
  }

  #bury(id: string, closed: Closed): void {
    this.#closed.set(id, closed);
    if (this.#closed.size > TOMBSTONES) {
      const oldest = this.#closed.keys().next();
      if (!oldest.done) this.#closed.delete(oldest.value);
    }
  }
}
