import { vi } from 'vitest';

/** Milliseconds until what has to happen is given up. They say that a test fails, and never how fast the machine is. */
const PATIENCE_MS = 120_000;

/** Waits until `check` no longer throws. */
export function eventually(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: PATIENCE_MS, interval: 5 });
}
