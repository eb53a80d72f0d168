import { MIN_ARM_DELAY_MS } from '../lib/protocol/bounds';

/**
 * When a button that lets something run may work: a delay after the content was painted, and only after the end of the
 * command was in view. Anything that makes the reader start again starts the whole delay again.
 */
export class Arming {
  armed = $state(false);
  /** Whether the delay is running. */
  counting = $state(false);
  endSeen = $state(false);
  /** Whether the content is on the screen, and the app knows. */
  isPainted = $state(false);
  /** Counts up whenever the delay starts again, so that its picture can start again too. */
  round = $state(0);

  #delay = MIN_ARM_DELAY_MS;
  #elapsed = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  get delay(): number {
    return this.#delay;
  }

  /**
   * Milliseconds, never less than the least delay, also when the settings say less or are not there yet; holds
   * from the next start.
   */
  set delay(ms: number) {
    this.#delay = Number.isFinite(ms) ? Math.max(MIN_ARM_DELAY_MS, ms) : MIN_ARM_DELAY_MS;
  }

  /** Nothing is painted. */
  reset(): void {
    this.isPainted = false;
    this.endSeen = false;
    this.#stop();
  }

  /** The content is on the screen, and the app knows. */
  painted(): void {
    this.isPainted = true;
    this.restart();
  }

  /** Starts the whole delay again: the window came back, or the content changed. */
  restart(): void {
    this.#stop();
    if (!this.isPainted) return;
    this.counting = true;
    this.round += 1;
    this.#timer = setTimeout(() => {
      this.counting = false;
      this.#elapsed = true;
      this.#update();
    }, this.#delay);
  }

  /** The end of the command is in view. */
  sawEnd(): void {
    this.endSeen = true;
    this.#update();
  }

  /** The content grew or moved: its end counts only when it is seen again. */
  forgetEnd(): void {
    this.endSeen = false;
    this.restart();
  }

  #update(): void {
    this.armed = this.isPainted && this.#elapsed && this.endSeen;
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#elapsed = false;
    this.counting = false;
    this.armed = false;
  }
}
