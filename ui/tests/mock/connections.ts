import { BackendError } from '../../src/lib/ipc';
import type { ConnectionsView, EmbeddedEdit, GatewayEdit, GatewayView, LinkView } from '../../src/lib/protocol';
import { forward } from './forward';
import { pets } from './pets';
import { shown } from './text';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** 64 hexadecimal digits that differ by `seed`. */
export function hex(seed: string): string {
  return Array.from({ length: 64 }, (_, index) =>
    ((seed.charCodeAt(index % seed.length) * (index + 7)) % 16).toString(16),
  ).join('');
}

function link(now: number, more: Partial<LinkView> = {}): LinkView {
  return {
    version: '2026.9.6',
    protocol: 4,
    scopes: ['operator.approvals', 'operator.read'],
    roundTripUs: 24_300,
    sinceMs: now - 2 * HOUR_MS,
    gaps: [],
    ...more,
  };
}

export function gateway(id: string, more: Partial<GatewayView> = {}): GatewayView {
  return {
    id,
    name: shown(id),
    url: `wss://${id}.example`,
    enabled: true,
    seesAgents: false,
    runsOnNodes: false,
    secretKind: 'token',
    secret: 'keyring',
    state: { kind: 'connecting' },
    pending: 0,
    ...more,
  };
}

/** The app's own gateway with a device that waits, and others in several states. */
export function connections(now: number): ConnectionsView {
  return {
    embedded: {
      state: { kind: 'serving', url: 'ws://127.0.0.1:18790' },
      port: 18_790,
      tokenFile: '/home/mina/.local/state/countersign/gateway/token',
      clients: [
        { id: 'c1', name: shown('openclaw'), role: 'operator', scopes: ['operator.approvals', 'operator.read'] },
        { id: 'c2', name: shown('studio'), role: 'node', scopes: [], deviceId: hex('studio') },
      ],
      devices: [
        {
          id: hex('studio'),
          name: shown('studio'),
          platform: shown('linux'),
          roles: ['node'],
          scopes: [],
          approvedAtMs: now - 50 * HOUR_MS,
          connected: true,
          commands: ['system.run', 'system.run.prepare', 'system.which'],
        },
        {
          id: hex('tablet'),
          name: shown('Mina’s tablet'),
          platform: shown('android'),
          roles: ['operator'],
          scopes: ['operator.approvals', 'operator.read'],
          approvedAtMs: now - 9 * HOUR_MS,
          connected: false,
          commands: [],
        },
      ],
      waiting: [],
    },
    gateways: [
      gateway('studio', {
        url: 'ws://127.0.0.1:18789',
        secret: 'open-claw',
        seesAgents: true,
        runsOnNodes: true,
        state: {
          kind: 'connected',
          link: link(now, {
            roundTripUs: 640,
            scopes: ['operator.admin', 'operator.approvals', 'operator.read'],
            sinceMs: now - 75 * HOUR_MS,
          }),
        },
        pending: 2,
      }),
      gateway('harbor-office', {
        url: 'wss://gw.harbor.example',
        pin: hex('harbor'),
        sessionFilter: 'deploy',
        state: { kind: 'connected', link: link(now, { gaps: [{ kind: 'agents-hidden' }] }) },
        pending: 1,
      }),
      gateway('garage-pi', {
        url: 'wss://10.20.0.14:18789',
        state: {
          kind: 'waiting',
          problem: { kind: 'not-paired', reason: 'not-paired', requestId: '7d1c04aa-91f2' },
          retryAtMs: now + 14_000,
        },
      }),
      gateway('old-lab', { enabled: false, secret: 'none', state: { kind: 'off' } }),
    ],
    forward: forward(now),
    pets: pets(now),
  };
}

/** A device that wants to be let in. */
export function pairing(id: string, now: number, more: Partial<ConnectionsView['embedded']['waiting'][number]> = {}) {
  return {
    requestId: id,
    deviceId: hex(id),
    name: shown('Mina’s phone'),
    platform: shown('ios'),
    role: 'operator',
    scopes: ['operator.approvals', 'operator.read'],
    reason: 'not-paired' as const,
    sinceMs: now - 40_000,
    ...more,
  };
}

/** A device that tries to look like something else. */
export function hostilePairing(id: string, now: number) {
  return pairing(id, now, {
    name: shown(`Let in\u202e \u0430dmin ${'of-the-long-name-'.repeat(20)}`),
    platform: shown('<script>alert(1)</script>\u0007'),
    role: 'worker',
    scopes: ['operator.admin', 'operator.pairing', 'operator.write', 'operator.talk.secrets', 'x'.repeat(120)],
    reason: 'metadata-upgrade',
  });
}

type Change =
  | { kind: 'save'; edit: GatewayEdit }
  | { kind: 'remove' | 'retry' | 'remove-device'; id: string }
  | { kind: 'embedded'; edit: EmbeddedEdit }
  | { kind: 'answer'; id: string; approve: boolean };

/** What there is after a change. */
export function apply(view: ConnectionsView, change: Change): ConnectionsView {
  const { embedded, gateways } = view;
  switch (change.kind) {
    case 'save':
      return { ...view, gateways: saved(gateways, change.edit) };
    case 'remove':
      return { ...view, gateways: gateways.filter(({ id }) => id !== change.id) };
    case 'retry':
      return {
        ...view,
        gateways: gateways.map((one) => (one.id === change.id ? { ...one, state: { kind: 'connecting' } } : one)),
      };
    case 'embedded': {
      const { enabled, port } = change.edit;
      const state = enabled
        ? ({ kind: 'serving', url: `ws://127.0.0.1:${port}` } as const)
        : ({ kind: 'off' } as const);
      return { ...view, embedded: { ...embedded, port, state } };
    }
    case 'answer': {
      const waiting = embedded.waiting.filter(({ requestId }) => requestId !== change.id);
      const answered = embedded.waiting.find(({ requestId }) => requestId === change.id);
      if (!answered) throw new BackendError('gone', 'no such request');
      const { deviceId, name, platform, role, scopes } = answered;
      const device = {
        id: deviceId,
        name,
        platform,
        roles: [role],
        scopes,
        approvedAtMs: Date.now(),
        connected: false,
        commands: [],
      };
      const devices = change.approve ? [...embedded.devices, device] : embedded.devices;
      return { ...view, embedded: { ...embedded, waiting, devices } };
    }
    case 'remove-device':
      return { ...view, embedded: { ...embedded, devices: embedded.devices.filter(({ id }) => id !== change.id) } };
  }
}

function saved(gateways: GatewayView[], edit: GatewayEdit): GatewayView[] {
  const {
    id = `gateway-${gateways.length + 1}`,
    name,
    url,
    pin,
    enabled,
    seesAgents,
    runsOnNodes = false,
    sessionFilter,
    secretKind,
  } = edit;
  const known = gateways.find((one) => one.id === id);
  const next: GatewayView = {
    ...(known ?? gateway(id)),
    ...{ name: shown(name), url, pin, enabled, seesAgents, runsOnNodes, sessionFilter, secretKind },
    secret: { keep: known?.secret ?? 'none', clear: 'none', set: 'keyring', 'open-claw': 'open-claw' }[
      edit.secret.kind
    ] as GatewayView['secret'],
    state: enabled ? { kind: 'connecting' } : { kind: 'off' },
  };
  return known ? gateways.map((one) => (one.id === id ? next : one)) : [...gateways, next];
}
