import { BackendError } from '../../src/lib/ipc';
import type {
  Loosening,
  RouteEdit,
  RouteResult,
  RouteScopeView,
  RouteSetting,
  RouteView,
  RoutingView,
  SessionView,
} from '../../src/lib/protocol';
import { shown } from './text';

const MINUTE_MS = 60_000;

/** What holds for a scope that sets this. */
function effective(own: RouteSetting, all: RouteSetting): RouteView {
  const layer = (key: keyof RouteSetting) =>
    own[key] !== undefined ? 'agent' : all[key] !== undefined ? 'global' : 'built-in';
  const target = own.host ?? all.host ?? 'sandbox';
  const node = own.node ?? all.node;
  const host = target === 'auto' ? 'sandbox' : target;
  return {
    target,
    targetLayer: layer('host'),
    host,
    ...(node === undefined ? {} : { node: shown(node) }),
    nodeLayer: layer('node'),
    security: own.security ?? all.security ?? (host === 'sandbox' ? 'allowlist' : 'deny'),
    securityLayer: layer('security'),
    ask: own.ask ?? all.ask ?? 'on-miss',
    askLayer: layer('ask'),
  };
}

export function scope(agent: string | null, own: RouteSetting, all: RouteSetting = {}): RouteScopeView {
  const ofAll = agent === null ? { ...effective({}, own) } : effective(own, all);
  return { ...(agent === null ? {} : { agent }), shown: shown(agent ?? ''), own, effective: ofAll };
}

export function session(name: string, more: Partial<SessionView> = {}, now = 0): SessionView {
  return {
    agent: 'main',
    agentShown: shown('main'),
    session: name,
    sessionShown: shown(name),
    settings: [
      { field: 'host', value: shown('gateway'), lasting: 'session', sinceMs: now - 12 * MINUTE_MS, confirmed: true },
      { field: 'ask', value: shown('always'), lasting: 'next-run', sinceMs: now - MINUTE_MS, confirmed: false },
    ],
    ...more,
  };
}

/** Agents in several places, nodes in several states, and two sessions. */
export function routing(now: number): RoutingView {
  return {
    path: '/home/mina/.config/countersign/tools.json',
    hash: 'h1',
    sandbox: { kind: 'bubblewrap', network: false },
    scopes: [
      scope(null, {}),
      scope('coder', { host: 'node', node: 'b7e4', security: 'allowlist', ask: 'on-miss' }),
      scope('main', { host: 'gateway' }),
    ],
    nodes: [
      { id: 'b7e4', name: shown('Studio'), connected: true, runs: true },
      { id: '19ac', name: shown('Attic'), connected: false, runs: false },
    ],
    sessions: [
      session('release', {}, now),
      session(
        'agent:coder:night',
        {
          agent: 'coder',
          agentShown: shown('coder'),
          settings: [
            {
              field: 'elevated',
              value: shown('on'),
              lasting: 'session',
              sinceMs: now - 190 * MINUTE_MS,
              confirmed: true,
            },
          ],
        },
        now,
      ),
    ],
  };
}

/** What there is after a change, and the answer to it. Only leaving the sandbox counts as looser here. */
export function routed(view: RoutingView, edit: RouteEdit): { view: RoutingView; result: RouteResult } {
  if (edit.baseHash !== view.hash) throw new BackendError('stale', 'the file changed meanwhile');
  if (edit.agent === 'broken') throw new BackendError('invalid', 'agent: expected another one');
  const all = view.scopes[0]?.own ?? {};
  const agent = edit.agent ?? null;
  const before = view.scopes.find((one) => (one.agent ?? null) === agent) ?? scope(agent, {}, all);
  const after = scope(agent, edit.setting, all);
  const [from, to] = [before.effective.target, after.effective.target];
  const loosenings: Loosening[] =
    from === 'sandbox' && to !== from ? [{ scope: agent ?? '*', route: 'host', from, to }] : [];
  if (loosenings.length > 0 && !edit.confirmed) return { view, result: { applied: false, loosenings } };
  const others = view.scopes.filter((one) => (one.agent ?? null) !== agent);
  const scopes = [...others, after].sort((a, b) => (a.agent ?? '').localeCompare(b.agent ?? ''));
  return { view: { ...view, hash: `${view.hash}+`, scopes }, result: { applied: true, loosenings } };
}

/** The same for a session that is forgotten: what hardened it has to be confirmed. */
export function revoked(
  view: RoutingView,
  agent: string,
  name: string,
  confirmed: boolean,
): { view: RoutingView; result: RouteResult } {
  const found = view.sessions.find((one) => one.agent === agent && one.session === name);
  if (!found) throw new BackendError('gone', 'nothing is set for this session any more');
  const loosenings: Loosening[] = found.settings
    .filter((setting) => setting.field === 'ask')
    .map(() => ({ scope: `${agent} · ${name}`, route: 'ask', from: 'always', to: 'on-miss' }));
  if (loosenings.length > 0 && !confirmed) return { view, result: { applied: false, loosenings } };
  return {
    view: { ...view, sessions: view.sessions.filter((one) => one !== found) },
    result: { applied: true, loosenings },
  };
}
