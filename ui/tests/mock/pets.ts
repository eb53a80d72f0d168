import { BackendError } from '../../src/lib/ipc';
import type {
  Mistake,
  PetChoiceView,
  PetSessionView,
  PetSourceEdit,
  PetSourceView,
  PetsView,
} from '../../src/lib/protocol';
import { shown } from './text';

const MINUTE_MS = 60_000;

/** Where our own channel is while clients can connect. */
const ADDRESS = 'ws://127.0.0.1:18790/ws';

/** Text that tries to look like something else and to be in the way. */
const HOSTILE = `Forget\u202e \u0430ll <b>${'of-the-long-name-'.repeat(12)}`;

export function choice(id: string, now: number, more: Partial<PetChoiceView> = {}): PetChoiceView {
  return {
    id,
    tool: shown('exec'),
    arguments: shown('{"command":"git status --short"}'),
    approved: true,
    sinceMs: now - 3 * MINUTE_MS,
    ...more,
  };
}

export function session(id: string, now: number, more: Partial<PetSessionView> = {}): PetSessionView {
  return { id, name: shown(id), sinceMs: now - 12 * MINUTE_MS, waiting: 0, remembered: [], ...more };
}

/** A client whose own words are long and strange, in every place that shows some. */
export function hostileSession(now: number): PetSessionView {
  const argument = JSON.stringify({
    path: `/tmp/${'x'.repeat(3_000)}`,
    content: `a\u202eb\u0007 ${'w '.repeat(2_000)}`,
  });
  return session(HOSTILE, now, {
    waiting: 64,
    remembered: [
      choice('h-1', now, { tool: shown(HOSTILE), arguments: shown(argument), approved: false }),
      choice('h-2', now, { tool: shown('write_file'), arguments: shown('{\n  "path": "a",\n  "content": "b"\n}') }),
    ],
  });
}

export function source(id: string, more: Partial<PetSourceView> = {}): PetSourceView {
  return {
    id,
    name: shown(id),
    url: `wss://${id}.example/ws`,
    sessionId: 'desk',
    enabled: true,
    hasSecret: false,
    state: { kind: 'connecting' },
    pending: 0,
    ...more,
  };
}

export function hostileSource(now: number): PetSourceView {
  return source('hostile', {
    name: shown(HOSTILE),
    url: `wss://${'long-label.'.repeat(20)}example:8443/${'path/'.repeat(40)}`,
    sessionId: 's'.repeat(200),
    state: { kind: 'waiting', problem: { kind: 'refused', code: '500', text: HOSTILE }, retryAtMs: now + 9_000 },
  });
}

/** Our channel with two clients, and other programs' servers in several states. */
export function pets(now: number): PetsView {
  const link = { version: '', protocol: 0, sinceMs: now - 95 * MINUTE_MS, gaps: [] };
  return {
    server: {
      enabled: true,
      address: ADDRESS,
      tokenFile: '/home/mina/.local/state/countersign/gateway/pet-token',
      sessions: [
        session('agent:main:pet:mochi:desk', now, {
          waiting: 1,
          remembered: [
            choice('c-1', now),
            choice('c-2', now, {
              tool: shown('write_file'),
              arguments: shown('{"content":"buy milk\\n","path":"/home/mina/notes/today.md"}'),
              approved: false,
              sinceMs: now - 40_000,
            }),
          ],
        }),
        session('tray-widget', now),
      ],
    },
    sources: [
      source('Goose on the desk', {
        url: 'ws://127.0.0.1:8080/ws',
        sessionId: 'agent:main:pet:goose:desk',
        hasSecret: true,
        state: { kind: 'connected', link },
        pending: 2,
      }),
      source('Workshop', {
        url: 'wss://workshop.example/ws',
        sessionId: 'bench',
        state: { kind: 'waiting', problem: { kind: 'refused', code: '409', text: 'Conflict' }, retryAtMs: now + 8_000 },
      }),
      source('Old laptop', { enabled: false, state: { kind: 'off' } }),
    ],
  };
}

export function setServer(view: PetsView, enabled: boolean): PetsView {
  const { tokenFile, sessions } = view.server;
  const server = enabled ? { enabled, address: ADDRESS, tokenFile, sessions } : { enabled, tokenFile, sessions: [] };
  return { ...view, server };
}

export function disconnect(view: PetsView, sessionId: string): PetsView {
  const sessions = view.server.sessions.filter(({ id }) => id !== sessionId);
  if (sessions.length === view.server.sessions.length) throw new BackendError('gone', 'no such client');
  return { ...view, server: { ...view.server, sessions } };
}

export function forget(view: PetsView, sessionId: string, choiceId: string): PetsView {
  const sessions = view.server.sessions.map((one) =>
    one.id === sessionId ? { ...one, remembered: one.remembered.filter(({ id }) => id !== choiceId) } : one,
  );
  return { ...view, server: { ...view.server, sessions } };
}

export function saveSource(view: PetsView, edit: PetSourceEdit): PetsView {
  const { id = `source-${view.sources.length + 1}`, name, url, pin, sessionId, enabled, secret } = edit;
  const known = view.sources.find((one) => one.id === id);
  if (edit.id !== undefined && !known) throw new BackendError('gone', 'no such pet server');
  if (!/^wss:|^ws:\/\/(127\.0\.0\.1|localhost|\[::1\])([:/]|$)/.test(url)) {
    const mistake: Mistake = { field: 'address', expected: { kind: 'encrypted' } };
    throw new BackendError('invalid', `address: expected wss:// for another machine, got "${url}"`, mistake);
  }
  const next = source(id, {
    ...{ name: shown(name), url, pin, sessionId, enabled },
    hasSecret: secret.kind === 'set' || (secret.kind === 'keep' && (known?.hasSecret ?? false)),
    state: enabled ? { kind: 'connecting' } : { kind: 'off' },
  });
  const sources = known ? view.sources.map((one) => (one.id === id ? next : one)) : [...view.sources, next];
  return { ...view, sources };
}

export function removeSource(view: PetsView, id: string): PetsView {
  return { ...view, sources: view.sources.filter((one) => one.id !== id) };
}

export function retrySource(view: PetsView, id: string): PetsView {
  const sources = view.sources.map((one) => (one.id === id ? { ...one, state: { kind: 'connecting' as const } } : one));
  return { ...view, sources };
}
