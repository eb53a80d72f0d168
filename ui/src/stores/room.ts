import type { Backend } from '../lib/ipc';

/** CSS pixels that the sheet of a lasting answer takes, so that nothing of it has to be scrolled to. */
const SHEET = { width: 680, height: 830 };

/** The size of the prompt's window: more while the sheet is open, and afterwards what it was. */
export class Room {
  #before: { width: number; height: number } | null = null;

  constructor(readonly backend: Pick<Backend, 'sizePrompt'>) {}

  /** Asks for room for the sheet; a window that has it stays as it is. */
  grow(): void {
    const { innerWidth: width, innerHeight: height } = window;
    if (this.#before !== null || (width >= SHEET.width && height >= SHEET.height)) return;
    this.#before = { width, height };
    this.#ask(Math.max(width, SHEET.width), Math.max(height, SHEET.height));
  }

  /** Gives back what was asked for. */
  restore(): void {
    if (this.#before === null) return;
    this.#ask(this.#before.width, this.#before.height);
    this.#before = null;
  }

  /** A window that keeps its size shows the same, and what is too much for it scrolls. */
  #ask(width: number, height: number): void {
    void this.backend.sizePrompt(width, height).catch(() => undefined);
  }
}
