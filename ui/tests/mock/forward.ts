import { BackendError } from '../../src/lib/ipc';
import type {
  ForwardNow,
  ForwardSettings,
  ForwardTargetEdit,
  ForwardTargetView,
  ForwardView,
  Mistake,
  SampleResult,
} from '../../src/lib/protocol';
import { shown } from './text';

const MINUTE_MS = 60_000;

const NOTHING: ForwardNow = { waiting: 0, delivered: 0, failed: 0, dropped: 0, notCounted: 0 };

export function target(id: string, more: Partial<ForwardTargetView> = {}): ForwardTargetView {
  return {
    id,
    name: shown(id),
    enabled: true,
    place: { kind: 'webhook', url: `https://${id}.example/hook`, auth: 'none' },
    hasSecret: false,
    now: NOTHING,
    ...more,
  };
}

/** Targets of each kind in several states. */
export function forward(now: number): ForwardView {
  return {
    enabled: true,
    mode: 'targets',
    agentFilter: ['main', 'coder'],
    sessionFilter: [],
    targets: [
      target('Team channel', {
        place: { kind: 'webhook', url: 'https://hooks.harbor.example/approvals', auth: 'hmac' },
        hasSecret: true,
        now: { ...NOTHING, delivered: 214, deliveredAtMs: now - 2 * MINUTE_MS },
      }),
      target('Desk light', {
        place: { kind: 'command', argv: ['/home/mina/bin/desk-light', '--colour', 'amber'] },
        now: {
          ...NOTHING,
          waiting: 3,
          delivered: 12,
          deliveredAtMs: now - 40 * MINUTE_MS,
          failure: { atMs: now - 4_000, text: 'exit 1: no such device: /dev/hidraw3', retries: true },
        },
      }),
      target('Harbor office', {
        place: { kind: 'gateway', gateway: 'harbor-office', mayAllow: false },
        now: { ...NOTHING, delivered: 8, notCounted: 1, deliveredAtMs: now - 5 * MINUTE_MS },
      }),
    ],
  };
}

/** What there is after a change. */
export function saveTarget(view: ForwardView, edit: ForwardTargetEdit): ForwardView {
  const { id = `target-${view.targets.length + 1}`, name, enabled, place, secret } = edit;
  const known = view.targets.find((one) => one.id === id);
  if (edit.id !== undefined && !known) throw new BackendError('gone', 'no such target');
  if (place.kind === 'command' && !place.argv[0]?.startsWith('/')) {
    const mistake: Mistake = { field: 'program', expected: { kind: 'absolute-path' } };
    throw new BackendError('invalid', `program: expected an absolute path, got "${place.argv[0]}"`, mistake);
  }
  const hasSecret = secret.kind === 'set' || (secret.kind === 'keep' && (known?.hasSecret ?? false));
  const next: ForwardTargetView = { ...target(id), name: shown(name), enabled, place, hasSecret };
  const targets = known ? view.targets.map((one) => (one.id === id ? next : one)) : [...view.targets, next];
  return { ...view, targets };
}

export function removeTarget(view: ForwardView, id: string): ForwardView {
  return { ...view, targets: view.targets.filter((one) => one.id !== id) };
}

export function setForward(view: ForwardView, settings: ForwardSettings): ForwardView {
  return { ...view, ...settings };
}

export function sampled(view: ForwardView, id: string): SampleResult {
  const found = view.targets.find((one) => one.id === id);
  if (!found) throw new BackendError('gone', 'no such target');
  return found.now.failure ? { kind: 'failed', text: found.now.failure.text } : { kind: 'delivered', ms: 87 };
}
