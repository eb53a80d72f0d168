import type { Feed } from './feed.svelte';

/** Milliseconds between ticks: shown times are whole seconds, so four in a second never skip one. */
const TICK_MS = 250;

/** The app's clock, ticking while somebody looks. */
export class Clock {
  now = $state(0);

  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(readonly feed: Feed) {
    this.now = this.#read();
  }

  start(): void {
    this.#timer ??= setInterval(() => (this.now = this.#read()), TICK_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** The app's time at this moment, not at the last tick. */
  exact(): number {
    return this.#read();
  }

  #read(): number {
    return Date.now() + this.feed.offset;
  }
}
