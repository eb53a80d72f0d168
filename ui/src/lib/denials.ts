import { BackendError, type Backend } from './ipc';
import type { Card } from './protocol';

/** A denial shows nothing that had to be read first, so it names no paint. */
const NO_PAINT = 0;

/** Denials on their way at once: one after the other would take a round trip to a distant gateway each. */
const AT_ONCE = 8;

/**
 * Denies each of these and calls `each` after every one. The first denial that fails ends the rest and is returned;
 * what was not sent goes on waiting. What is gone needs no denial any more.
 */
export async function denyEach(
  backend: Backend,
  cards: readonly Card[],
  each: () => void = () => {},
): Promise<BackendError | null> {
  let failed: BackendError | null = null;
  const left = cards.values();
  const worker = async () => {
    for (const { id, generation } of left) {
      if (failed) return;
      await backend
        .decide({ id, generation, paint: NO_PAINT, decision: 'deny' })
        .then(each)
        .catch((thrown: unknown) => {
          const error = BackendError.from(thrown);
          if (error.code !== 'gone') failed = error;
        });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failed;
}

/** Whether the asker takes a denial. */
export function deniable(card: Card): boolean {
  return card.decisions.includes('deny');
}
