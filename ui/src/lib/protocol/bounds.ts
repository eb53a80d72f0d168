// Written by `cargo test -p countersign-protocol`; do not edit.

/** Least time between painting a card and allowing it. */
export const MIN_ARM_DELAY_MS = 1500;

/** Most time that can be set for it. */
export const MAX_ARM_DELAY_MS = 10000;
