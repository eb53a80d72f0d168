import type { DocumentView, PolicyPlace, PolicyRead, PolicyStore, PolicyStores } from '../../src/lib/protocol';
import { document as sampleDocument } from './document';
import { meaningOf } from './document';
import { shown } from './text';

/** How a page of the mock finds what is read: as `PoliciesStore` does. */
export function keyOf({ gateway, node }: PolicyPlace): string {
  return JSON.stringify([gateway, node ?? null]);
}

export function store(gateway: string, node: string | undefined, more: Partial<PolicyStore> = {}): PolicyStore {
  return {
    place: node === undefined ? { gateway } : { gateway, node },
    name: shown(node ?? gateway),
    ...(node === undefined ? {} : { gateway: shown(gateway) }),
    access: { kind: 'open' },
    reach: node === undefined ? 'gateway-host' : 'node',
    ...more,
  };
}

/** A document that can be read and written. */
export function read(document: DocumentView, more: Partial<PolicyRead> = {}): PolicyRead {
  return { access: { kind: 'open' }, document, builtInKnown: true, isLocal: false, ...more };
}

/** Nothing but the reason. */
export function unavailable(access: PolicyRead['access']): PolicyRead {
  return { access, builtInKnown: true, isLocal: false };
}

/** As this machine's, without what only this machine knows. */
function elsewhere(now: number): DocumentView {
  const document = { ...sampleDocument(now), hash: 'hash-pi' };
  delete document.beside;
  return document;
}

export function far(hash: string, security: 'deny' | 'allowlist' | 'full', pattern: string): DocumentView {
  return {
    path: '~/.openclaw/state/openclaw.sqlite#exec_approvals_config',
    state: { kind: 'ready' },
    hash,
    scopes: [
      { scope: 'defaults', shown: shown('defaults'), security, entries: [] },
      { scope: '*', shown: shown('*'), entries: [] },
      {
        scope: 'main',
        shown: shown('main'),
        entries: [{ id: `e-${hash}`, kind: 'path', pattern, shown: shown(pattern) }],
      },
    ],
    effective: ['*', 'main'].map((agent) => ({
      agent,
      security,
      securityLayer: 'defaults',
      ask: 'off',
      askLayer: 'built-in',
      askFallback: 'deny',
      askFallbackLayer: 'built-in',
      meaning: meaningOf(security, 'off', 'deny'),
    })),
  };
}

/** A document whose every name tries to look like something else. */
export function hostile(): DocumentView {
  const view = far('hash-hostile', 'full', '/usr/bin/\u202egit');
  const agent = 'm\u0430in\u202e<b>x</b>';
  return {
    ...view,
    path: '\\u{202e}path '.repeat(30),
    scopes: [...view.scopes, { scope: agent, shown: shown(agent), ask: 'off', entries: [] }],
  };
}

/** Rules of a node's own kind. */
export function native(): PolicyRead {
  const rule = (pattern: string, action: 'allow' | 'deny' | 'prompt', enabled = true) => ({
    pattern: shown(pattern),
    action,
    enabled,
  });
  return {
    access: { kind: 'open' },
    readOnly: { kind: 'native' },
    native: {
      defaultAction: 'prompt',
      rules: [
        rule('git status*', 'allow'),
        { ...rule('rm -rf *', 'deny'), description: shown('never') },
        rule('curl *', 'prompt', false),
      ],
      leftOut: 12,
    },
    builtInKnown: true,
    isLocal: false,
  };
}

/** Documents of the gateways in the sample of connections, in every state. */
export function stores(): PolicyStores {
  return {
    stores: [
      store('studio', undefined),
      store('studio', 'kitchen-pi'),
      store('studio', 'mac-mini', { reach: 'node-unclear' }),
      store('studio', 'old-nas', { reach: 'node-alone', access: { kind: 'not-connected' } }),
      store('harbor-office', undefined, { access: { kind: 'not-permitted' } }),
      store('garage-pi', undefined, { access: { kind: 'not-connected' } }),
      store('old-lab', undefined, { access: { kind: 'off' } }),
    ],
    leftOut: 0,
  };
}

/** What comes of reading each, by {@link keyOf}. */
export function reads(now: number): Record<string, PolicyRead> {
  const all: [PolicyPlace, PolicyRead][] = [
    [{ gateway: 'studio' }, read(far('hash-studio', 'allowlist', '/usr/bin/git'))],
    [{ gateway: 'studio', node: 'kitchen-pi' }, read(elsewhere(now))],
    [{ gateway: 'studio', node: 'mac-mini' }, native()],
    [{ gateway: 'studio', node: 'old-nas' }, unavailable({ kind: 'not-connected' })],
    [{ gateway: 'harbor-office' }, unavailable({ kind: 'not-permitted' })],
    [{ gateway: 'garage-pi' }, unavailable({ kind: 'not-connected' })],
    [{ gateway: 'old-lab' }, unavailable({ kind: 'off' })],
  ];
  return Object.fromEntries(all.map(([place, read]) => [keyOf(place), read]));
}
