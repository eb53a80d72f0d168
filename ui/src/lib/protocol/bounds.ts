// Written by `cargo test -p countersign-protocol`; do not edit.

import type { ArgumentShape } from './index';

/** Least time between painting a card and allowing it. */
export const MIN_ARM_DELAY_MS = 1500;

/** Most time that can be set for it. */
export const MAX_ARM_DELAY_MS = 10000;

/** Between what each limit may be. */
export const LIMITS = {
  waiting: { least: 8, most: 1024 },
  runSeconds: { least: 0, most: 86400 },
  outputKb: { least: 4, most: 200 },
  historyMb: { least: 16, most: 1024 },
} as const;

/** Any arguments that name no secret and give no order. */
export const OPEN_SHAPE: ArgumentShape = {
  "style": "clustered",
  "flags": "any",
  "operands": {
    "min": 0,
    "max": 4294967295,
    "kinds": [
      "any"
    ],
    "first": []
  },
  "secrets": "refused",
  "orders": "refused",
  "subcommand": [],
  "leading": []
};
