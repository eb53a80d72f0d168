import { pause } from '../lib/frames';
import type { Backend } from '../lib/ipc';
import type { Card, Confirmation, FirstSteps, Outcome, Settings, Status, UiEvent, UiMessage } from '../lib/protocol';

/** An answer that a gateway did not take. */
export type NotTaken = Extract<UiEvent, { kind: 'answer-not-taken' }>;

/** Of these only the last ones are shown. */
const MAX_NOT_TAKEN = 5;

/** How a card ended, as told by the event that closed it. */
export interface Closed {
  outcome: Outcome;
  by: string | null;
}

/**
 * Ended requests that are remembered, so that a late "added" cannot bring one back: as many as ten busy gateways hold.
 */
const TOMBSTONES = 10_000;

/**
 * Milliseconds between two looks at the list while requests pour in: short for a reader, and far between for a machine.
 */
const LIST_MS = 50;

/** Milliseconds before asking again for a snapshot that could not be had. */
const RETRY_MS = 1_000;

/** Milliseconds before asking again for a snapshot that was older than what had already arrived. */
const GAP_MS = 50;

/**
 * What waits and what works, as the app tells it. Subscribes first, then takes a snapshot, then applies newer messages;
 * one that follows a message which never came means a new snapshot.
 */
export class Feed {
  ready = $state(false);
  confirmations = $state.raw<Confirmation[]>([]);
  /** Requests that the person had put aside when the last snapshot was taken. */
  dismissed: readonly string[] = [];
  status = $state.raw<Status | null>(null);
  /** Answers that did not count where their requests came from, oldest first. */
  notTaken = $state.raw<NotTaken[]>([]);
  settings = $state.raw<Settings | null>(null);
  /** Whether the first steps are due, as of the last snapshot. */
  firstSteps = $state<FirstSteps>('over');
  /** Milliseconds to add to the local clock to get the app's. */
  offset = $state(0);

  /** What waits, oldest first. Changed in place: a copy for each of thousands of requests would cost their square. */
  #cards = new Map<string, Card>();
  /** The same as a list, made when somebody looks. */
  #list: Card[] | null = null;
  /** Counts up when those who look should look again. */
  #version = $state(0);
  /** Runs while no further look is due; the next change waits for its end. */
  #rest: ReturnType<typeof setTimeout> | null = null;
  #changedInRest = false;
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
    if (this.#rest !== null) clearTimeout(this.#rest);
  }

  /**
   * What waits, oldest first. A component or derived value that reads it is brought up to date at the first change and
   * at most every {@link LIST_MS} after it; anything else reads what holds now.
   */
  get cards(): readonly Card[] {
    void this.#version;
    return (this.#list ??= [...this.#cards.values()]);
  }

  /** How many wait; followed as {@link cards} is. */
  get count(): number {
    void this.#version;
    return this.#cards.size;
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
    return this.#cards.get(id) ?? null;
  }

  /** The oldest request that `wanted` holds for, without a list of all. */
  first(wanted: (card: Card) => boolean): Card | null {
    for (const card of this.#cards.values()) if (wanted(card)) return card;
    return null;
  }

  /** How a request ended, when that is still remembered. */
  closed(id: string): Closed | null {
    return this.#closed.get(id) ?? null;
  }

  #receive(message: UiMessage): void {
    if (this.#waiting) {
      this.#waiting.push(message);
    } else if (message.seq <= this.#seq) {
      return;
    } else if (message.after <= this.#seq) {
      this.#seq = message.seq;
      this.#apply(message.event);
    } else {
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
        this.#cards = new Map(
          snapshot.cards.filter(({ id }) => !this.#isOver(id)).map((card): [string, Card] => [card.id, card]),
        );
        this.#listChanged();
        this.confirmations = snapshot.confirmations;
        this.dismissed = snapshot.dismissed;
        this.status = snapshot.status;
        this.settings = snapshot.settings;
        this.firstSteps = snapshot.firstSteps;
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
      if (message.after > this.#seq) {
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
        if (this.#cards.delete(event.id)) this.#listChanged();
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
      case 'answer-not-taken':
        this.notTaken = [...this.notTaken.filter(({ id }) => id !== event.id), event].slice(-MAX_NOT_TAKEN);
        break;
      case 'connections-changed':
      case 'document-changed':
      case 'history-appended':
      case 'rules-changed':
      case 'show-card':
      case 'show-page':
        break;
    }
    for (const listener of this.#listeners) listener(event);
  }

  /** The person has read it. */
  forgetNotTaken(id: string): void {
    this.notTaken = this.notTaken.filter((answer) => answer.id !== id);
  }

  #add(card: Card): void {
    if (this.#isOver(card.id)) return;
    this.#closed.delete(card.id);
    this.#cards.set(card.id, card);
    this.#listChanged();
  }

  /** Whether a request can never wait again. One whose connection was lost is asked again when that is back. */
  #isOver(id: string): boolean {
    const outcome = this.#closed.get(id)?.outcome;
    return outcome !== undefined && !(outcome.kind === 'cancelled' && outcome.cause === 'connection-lost');
  }

  #listChanged(): void {
    this.#list = null;
    if (this.#rest !== null) {
      this.#changedInRest = true;
      return;
    }
    this.#version += 1;
    this.#rest = setTimeout(() => {
      this.#rest = null;
      if (!this.#changedInRest) return;
      this.#changedInRest = false;
      this.#listChanged();
    }, LIST_MS);
  }

  #bury(id: string, closed: Closed): void {
    this.#closed.set(id, closed);
    if (this.#closed.size > TOMBSTONES) {
      const oldest = this.#closed.keys().next();
      if (!oldest.done) this.#closed.delete(oldest.value);
    }
  }
}
