import { clockTime, t } from './i18n/index.svelte';
import type { RecordingState, Status } from './protocol';

/** Why nothing can be recorded, and since when. */
export function recordingLine({ cause, sinceMs }: Extract<RecordingState, { kind: 'fails' }>): string {
  const words = t().trouble;
  return words.since(words.recording[cause], clockTime(sinceMs));
}

/** The gravest thing that keeps the app from its work, beside what the standing says. */
export function troubleLine({ store, socket, recording, shortages }: Status): string | null {
  const words = t().trouble;
  if (store.kind === 'unreadable' || store.kind === 'sqlite') return words.store;
  if (socket.kind === 'retrying') return words.socketRetrying;
  if (socket.kind === 'off') return words.socketOff;
  const [short] = shortages;
  // What the disk is no cause of comes of what there is too little of.
  const isOfDisk = recording.kind === 'fails' && (recording.cause !== 'other' || short === undefined);
  if (isOfDisk) return recordingLine(recording);
  if (short !== undefined) return words.shortage[short];
  return recording.kind === 'slow' ? words.slow : null;
}
