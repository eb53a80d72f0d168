import { tick } from 'svelte';
import { folded, isSameRun } from '../lib/bursts';
import { deniable, denyEach } from '../lib/denials';
import { painted, paintedWithin, pause, visible } from '../lib/frames';
import { BackendError } from '../lib/ipc';
import { isWhole } from '../lib/reading';
import type { Breadth, Card, Decision, Outcome, Remember, Rung, UiEvent } from '../lib/protocol';
import { Arming } from './arming.svelte';
import type { Clock } from './clock.svelte';
import type { Closed, Feed } from './feed.svelte';
import { Keyboard } from './keyboard.svelte';
import { Room } from './room';

/** What the window shows. */
export type Phase = 'blank' | 'card' | 'outcome';

/** Something that went wrong with an answer; the card stays. */
export type Problem = { kind: 'store' | 'not-armed' | 'not-painted' | 'failed'; message: string };

/** How the shown card ended; `null` when that was not told. */
export type Ending = Closed | 'unknown';

/** Milliseconds an outcome stays: long enough to read a few words, and the next request is not held up. */
const OUTCOME_MS = 1_000;

/** The same for an outcome that the person did not expect after allowing. */
const SURPRISE_MS = 4_000;

/** Milliseconds of the movement that replaces a card, as `--t-move` in the tokens. */
const MOVE_MS = 160;

/** Milliseconds that the sheet waits for its figures: hardly felt, and many times what they take. */
const WEIGH_MS = 300;

/** Milliseconds to wait for a frame that only blanks the window; a hidden window draws none. */
const BLANK_MS = 100;

/**
 * The prompt window: which card is shown, when it may be answered, and what became of it. A card is replaced only after
 * the person acted or it ended, and always through a blank frame.
 */
export class Prompt {
  phase = $state<Phase>('blank');
  card = $state.raw<Card | null>(null);
  ending = $state.raw<Ending | null>(null);
  problem = $state.raw<Problem | null>(null);
  /** Whether the card is on its way out. */
  leaving = $state(false);
  /** Whether the card took the place of another; one that comes into a blank window is there at once. */
  replacing = $state(false);
  /** Whether an answer is under way. */
  answering = $state(false);
  /** The "Allow…" sheet. */
  sheet = $state(false);
  /** The rung that the sheet opens at; `null` for the first that there is. */
  sheetAt = $state.raw<Rung | null>(null);
  /** What each rung of the sheet would have let run; `null` when that is not known. */
  breadths = $state.raw<ReadonlyMap<Rung, Breadth> | null>(null);
  /** Whether masked values are readable. */
  revealed = $state(false);
  readonly arming = new Arming();
  readonly keyboard = new Keyboard();

  readonly #room: Room;
  /** Requests that the person sent to the inbox. */
  #aside = $state.raw<ReadonlySet<string>>(new Set());
  /** The showing for which the sheet is about to open. */
  #opening: number | null = null;
  /** The request that the person chose to see next. */
  #chosen: string | null = null;
  /** The showing that waits for the window to be seen at all. */
  #unseen: number | null = null;
  /** Tells a showing of a card from every other one, also of the same card: what was seen in one counts in no other. */
  showing = $state(0);
  #paint: Promise<number> | null = null;
  #moving = false;
  #stops: (() => void)[] = [];

  constructor(
    readonly feed: Feed,
    readonly clock: Clock,
  ) {
    this.#room = new Room(feed.backend);
  }

  /** Cards of this window, oldest first, each with those that ask exactly the same. */
  readonly queue = $derived.by(() => {
    const cards = this.feed.cards.filter((card) => card.id === this.card?.id || !this.#aside.has(card.id));
    return folded(cards, this.card);
  });

  /** Requests that ask exactly what the card asks, it included. */
  readonly alike = $derived.by((): readonly Card[] => {
    const shown = this.card?.id;
    return this.queue.find(({ card }) => card.id === shown)?.alike ?? [];
  });

  /** Requests of the card's run that take a denial, it included. */
  readonly ofRun = $derived.by((): readonly Card[] => {
    const shown = this.card;
    return shown ? this.feed.cards.filter((card) => isSameRun(shown, card) && deniable(card)) : [];
  });

  /** Whether the card can still be answered. */
  readonly answerable = $derived(this.phase === 'card' && !this.leaving && this.card !== null);

  /** Shows `first` when the feed knows it, else the oldest, and follows the feed from then on. */
  start(first: string | null): void {
    this.#chosen = first;
    if (first !== null) this.keyboard.given();
    this.#stops.push(
      this.feed.on((event) => this.#receive(event)),
      this.feed.onSync(() => this.#synced()),
    );
    if (this.feed.ready) this.#synced();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.showing += 1;
    this.arming.reset();
  }

  /** Whether "allow" means anything for this card now. */
  readonly allowable = $derived.by(() => {
    if (!this.answerable || !this.card || this.card.allowBlocked !== undefined || !isWhole(this.card)) return false;
    return this.clock.now < this.card.expiresAtMs;
  });

  offers(decision: Decision): boolean {
    return this.card?.decisions.includes(decision) ?? false;
  }

  async allowOnce(): Promise<void> {
    if (!this.offers('allow-once') || !this.allowable || !this.arming.armed) return;
    await this.#decide('allow-once', null);
  }

  async allowAlways(remember: Remember | null): Promise<void> {
    if (!this.offers('allow-always') || !this.allowable || !this.arming.armed || !this.sheet) return;
    await this.#decide('allow-always', remember);
  }

  /** Denies the card, and with it what asks exactly the same. */
  async deny(): Promise<void> {
    if (!this.answerable || this.answering || !this.offers('deny')) return;
    const others = this.alike.filter(({ id }) => id !== this.card?.id);
    await Promise.all([this.#decide('deny', null), this.#denyUnseen(others)]);
  }

  /** Denies everything that the card's run asks now. */
  async denyRun(): Promise<void> {
    const card = this.card;
    if (!this.answerable || this.answering || !card || !this.offers('deny')) return;
    const { showing } = this;
    this.answering = true;
    this.problem = null;
    try {
      const denied = await this.feed.backend.denyRun(card.id);
      if (showing !== this.showing) return;
      this.answering = false;
      if (denied.includes(card.id)) await this.#replaceAnswered(denied);
      else await this.#end(this.feed.closed(card.id) ?? 'unknown', OUTCOME_MS);
    } catch (thrown) {
      if (showing !== this.showing) return;
      this.answering = false;
      await this.#refused(card, BackendError.from(thrown));
    }
  }

  /** The card goes to the inbox without an answer, and with it everything that its run asks now. */
  async dismiss(): Promise<void> {
    const card = this.card;
    if (!this.answerable || this.answering || !card || this.#aside.has(card.id)) return;
    const { showing } = this;
    this.#putAside([card.id]);
    // Without the app's word it is this card alone: what else waits is shown.
    this.#putAside(await this.feed.backend.dismiss(card.id).catch(() => []));
    if (showing === this.showing && this.phase === 'card') await this.#replace();
  }

  /** Shows another card; choosing it is an act of the person. */
  async choose(id: string): Promise<void> {
    this.#aside = new Set([...this.#aside].filter((other) => other !== id));
    if (this.answering || (this.answerable && this.card?.id === id)) return;
    this.#chosen = id;
    await this.#replace();
  }

  /**
   * Opens the sheet, at `rung` if that is given, once it is known how far the rungs reach, or without that when it
   * takes long: what is open does not move.
   */
  async openSheet(rung: Rung | null = null): Promise<void> {
    const { showing } = this;
    if (this.#opening === showing) return;
    this.#opening = showing;
    this.#room.grow();
    const breadths = await Promise.race([this.#weigh(), pause(WEIGH_MS).then(() => null)]);
    if (this.#opening === showing) this.#opening = null;
    if (showing !== this.showing) return;
    if (!this.answerable || this.answering) return this.#room.restore();
    this.breadths = breadths;
    this.sheetAt = rung;
    this.sheet = true;
    this.arming.restart();
  }

  closeSheet(): void {
    this.sheet = false;
    this.#room.restore();
    this.arming.restart();
  }

  /** Masked values become readable or masked again; that is new content, read from the start. */
  async reveal(revealed: boolean): Promise<void> {
    this.revealed = revealed;
    this.arming.forgetEnd();
    await tick();
  }

  /** The window has the keyboard again: what was armed before counts no longer. */
  focused(): void {
    this.keyboard.focused();
    if (this.problem?.kind === 'not-painted' && this.card) void this.#present(this.card);
    else this.arming.restart();
  }

  /** The window can be seen again: what it shows counts as painted only from now on. */
  shown(): void {
    this.keyboard.shown();
    if (this.#unseen === this.showing) return;
    if (this.answerable && !this.answering && this.card) void this.#present(this.card);
  }

  #receive(event: UiEvent): void {
    switch (event.kind) {
      case 'card-added':
        if (event.card.id === this.card?.id) void this.#changed(event.card);
        else this.#fill();
        break;
      case 'card-closed':
        this.#forget(event.id);
        if (event.id === this.card?.id && !this.answering) {
          void this.#end({ outcome: event.outcome, by: event.by ?? null }, OUTCOME_MS);
        }
        break;
      case 'show-card':
        // From the inbox or a notification: the person asked for the window.
        this.keyboard.given();
        void this.choose(event.id);
        break;
      case 'status-changed':
        this.#fill();
        break;
      default:
        break;
    }
  }

  #synced(): void {
    const aside = [...this.#aside, ...this.feed.dismissed].filter((id) => this.feed.card(id) !== null);
    this.#aside = new Set(aside);
    const shown = this.card;
    if (!shown) return this.#fill();
    if (this.phase !== 'card' || this.answering) return;
    const now = this.feed.card(shown.id);
    if (!now) void this.#end(this.feed.closed(shown.id) ?? 'unknown', OUTCOME_MS);
    else void this.#changed(now);
  }

  /** Shows the next card if there is room for one. */
  #fill(): void {
    if (this.phase === 'blank' && !this.#moving) void this.#replace();
  }

  #next(): Card | null {
    const chosen = this.#chosen === null ? null : this.feed.card(this.#chosen);
    if (chosen) return chosen;
    if (this.feed.status?.paused) return null;
    return this.feed.first((card) => !this.#aside.has(card.id));
  }

  async #changed(card: Card): Promise<void> {
    if (this.phase !== 'card' || JSON.stringify(card) === JSON.stringify(this.card)) return;
    this.#chosen = card.id;
    await this.#replace();
  }

  /** Takes the present card out, blanks the window, and brings the next card, if any. */
  async #replace(): Promise<void> {
    if (this.#moving) return;
    const old = this.card;
    if (old) {
      this.#moving = true;
      try {
        this.#disarm();
        this.leaving = true;
        await pause(MOVE_MS);
        this.#blank();
        await tick();
        await paintedWithin(BLANK_MS);
      } finally {
        this.#moving = false;
      }
    }
    this.replacing = old !== null;
    const next = this.#next();
    this.#chosen = null;
    if (next) await this.#present(next);
    else await this.feed.backend.promptBlank().catch(() => undefined);
  }

  #blank(): void {
    this.phase = 'blank';
    this.card = null;
    this.ending = null;
    this.problem = null;
    this.leaving = false;
    this.answering = false;
    this.revealed = false;
    this.#disarm();
  }

  #disarm(): void {
    this.showing += 1;
    this.#paint = null;
    this.sheet = false;
    this.#room.restore();
    this.breadths = null;
    this.arming.reset();
  }

  async #present(card: Card): Promise<void> {
    this.#disarm();
    this.keyboard.next();
    const { showing } = this;
    this.#unseen = showing;
    this.card = card;
    this.phase = 'card';
    this.problem = null;
    this.arming.delay = this.feed.settings?.armDelayMs ?? 0;
    await tick();
    await visible();
    if (showing !== this.showing) return;
    this.#unseen = null;
    await painted();
    if (showing !== this.showing) return;
    const paint = this.feed.backend.cardPainted(card.id, card.generation);
    this.#paint = paint;
    try {
      await paint;
      if (showing === this.showing) this.arming.painted();
    } catch (thrown) {
      if (showing !== this.showing) return;
      const error = BackendError.from(thrown);
      if (error.code === 'gone') await this.#end(this.feed.closed(card.id) ?? 'unknown', OUTCOME_MS);
      else this.problem = { kind: 'not-painted', message: error.message };
    }
  }

  /** How far the rungs reach; without the figures the sheet works as well. */
  async #weigh(): Promise<ReadonlyMap<Rung, Breadth> | null> {
    const { card } = this;
    if (!card?.always.some((step) => step.kind === 'offered')) return null;
    const found = await this.feed.backend.breadthOfCard(card.id).catch(() => null);
    return found && new Map(found.map(({ rung, breadth }) => [rung, breadth]));
  }

  async #decide(decision: Decision, remember: Remember | null): Promise<void> {
    const card = this.card;
    if (!card || this.answering) return;
    const showing = this.showing;
    this.answering = true;
    this.problem = null;
    try {
      const params = { id: card.id, generation: card.generation, paint: await this.#paintOf(decision), decision };
      const outcome = await this.feed.backend.decide(remember ? { ...params, remember } : params);
      if (showing !== this.showing) return;
      this.#forget(card.id);
      this.answering = false;
      if (!expected(decision, remember, outcome)) await this.#end({ outcome, by: null }, SURPRISE_MS);
      // Whoever asked withdraws the request once its command runs in the box; should it not, the person is still asked.
      else if (outcome.kind === 'contained' && this.feed.card(card.id) !== null) this.closeSheet();
      else await this.#replaceAnswered([card.id]);
    } catch (thrown) {
      if (showing !== this.showing) return;
      this.answering = false;
      await this.#refused(card, BackendError.from(thrown));
    }
  }

  /** A denial needs no paint to be valid, and must not wait for one that failed. */
  async #paintOf(decision: Decision): Promise<number> {
    if (decision !== 'deny') return (await this.#paint) ?? 0;
    return this.#paint ? await this.#paint.catch(() => 0) : 0;
  }

  async #replaceAnswered(ids: readonly string[]): Promise<void> {
    // The events that close them may still be on their way.
    this.#putAside(ids.filter((id) => this.feed.card(id) !== null));
    await this.#replace();
  }

  #putAside(ids: readonly string[]): void {
    if (ids.length > 0) this.#aside = new Set([...this.#aside, ...ids]);
  }

  /** Denies requests that are not shown meanwhile; one that could not be denied is shown again. */
  async #denyUnseen(cards: readonly Card[]): Promise<void> {
    if (cards.length === 0) return;
    this.#putAside(cards.map(({ id }) => id));
    if ((await denyEach(this.feed.backend, cards)) === null) return;
    for (const { id } of cards) this.#forget(id);
    this.#fill();
  }

  async #refused(card: Card, error: BackendError): Promise<void> {
    const closed = this.feed.closed(card.id);
    if (error.code === 'gone' || closed) return this.#end(closed ?? 'unknown', OUTCOME_MS);
    if (error.code === 'not-armed') {
      this.problem = { kind: 'not-armed', message: error.message };
      this.arming.restart();
    } else {
      this.problem = { kind: error.code === 'store' ? 'store' : 'failed', message: error.message };
    }
  }

  /** Says in the card what became of it, without buttons, and moves on. */
  async #end(ending: Ending, ms: number): Promise<void> {
    if (this.phase !== 'card' || this.leaving) return;
    this.#disarm();
    const showing = this.showing;
    this.phase = 'outcome';
    this.ending = ending;
    this.problem = null;
    this.revealed = false;
    await pause(ms);
    if (showing === this.showing) await this.#replace();
  }

  #forget(id: string): void {
    if (this.#aside.has(id)) this.#aside = new Set([...this.#aside].filter((other) => other !== id));
    if (this.#chosen === id) this.#chosen = null;
  }
}

/** Whether the answer had the effect that its button names. */
function expected(decision: Decision, remember: Remember | null, outcome: Outcome): boolean {
  switch (decision) {
    case 'allow-once':
      return outcome.kind === 'allowed-once';
    case 'allow-always':
      return outcome.kind === (remember?.rung === 'workspace' ? 'contained' : 'allowed-always');
    case 'deny':
      return outcome.kind === 'denied';
  }
}
