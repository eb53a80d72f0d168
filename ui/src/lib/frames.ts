const frame = () => new Promise<void>((resolve) => requestAnimationFrame(() => resolve()));

/** Resolves when the window can be seen. */
export async function visible(): Promise<void> {
  while (document.hidden) {
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
  }
}

/**
 * Resolves after the present content was painted where it can be seen: in the callback of the second frame from now.
 */
export async function painted(): Promise<void> {
  await visible();
  await frame();
  await frame();
}

/** As {@link painted}, but gives up after `ms`: a hidden window draws no frames. */
export function paintedWithin(ms: number): Promise<void> {
  return Promise.race([painted(), pause(ms)]);
}

/** Resolves after `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
