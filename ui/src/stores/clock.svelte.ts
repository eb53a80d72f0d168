import type { Feed } from './feed.svelte';

/** Milliseconds between ticks: shown times are whole seconds, so four in a second never skip one. */
const TICK_MS = 250;

/** The app's clock, ticking while somebody looks. */
export class Clock {
  #local = $state(Date.now());
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(readonly feed: Feed) {}

  /** Unix milliseconds at the last tick. */
  get now(): number {
    return this.#local + this.feed.offset;
  }

  start(): void {
    this.#timer ??= setInterval(() => (this.#local = Date.now()), TICK_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
