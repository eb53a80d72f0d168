/** Milliseconds without a key before keys count. Somebody who types leaves less between two of them. */
export const QUIET_MS = 700;

/**
 * Whose keys a prompt takes. It comes up while somebody types into something else, and some window managers give what
 * comes up the keyboard. So no key counts until the person put the keyboard here, by a click in the window or by going
 * to a window that was there before, and until no key came for a while then. From then on keys count for as long as
 * window and request stay.
 */
export class Keyboard {
  /** Whether keys count now. */
  counts = $state(false);
  /** Whether one came that did not. */
  ignored = $state(false);

  /** Whether the person put the keyboard here. */
  #given = false;
  #shownAt: number;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(now = performance.now()) {
    this.#shownAt = now;
  }

  /** The window came up: what has the keyboard in it was not put there by a person. */
  shown(now = performance.now()): void {
    this.#shownAt = now;
    this.lost();
  }

  /** The window got the keyboard. With the window itself, it came from the window manager. */
  focused(now = performance.now()): void {
    if (now - this.#shownAt >= QUIET_MS) this.given();
  }

  /** The person put the keyboard here. */
  given(): void {
    if (this.#given) return;
    this.#given = true;
    this.#wait();
  }

  /** The keyboard is elsewhere. */
  lost(): void {
    this.#given = false;
    this.#stop();
  }

  /** Another request is shown: keys that were meant for the one before are not for this one. */
  next(): void {
    this.#stop();
    if (this.#given) this.#wait();
  }

  /** A key came. Whether it counts. */
  key(): boolean {
    if (this.counts) return true;
    this.ignored = true;
    if (this.#given) this.#wait();
    return false;
  }

  #wait(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.counts = true;
      this.ignored = false;
    }, QUIET_MS);
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.counts = false;
    this.ignored = false;
  }
}
