import type { Ask, DocumentEdit, DocumentView, EffectiveView, PolicyLayer, ScopeView, Security } from '../lib/protocol';
import { ALL_AGENTS, DEFAULTS } from '../lib/words';
import type { DocumentStore } from './document.svelte';

/** The three switches. */
export type Switch = 'security' | 'ask' | 'ask-fallback';

export const SWITCHES: readonly Switch[] = ['security', 'ask', 'ask-fallback'];

/** Values of the switches, strict to permissive, as they are laid out. */
export const VALUES = {
  security: ['deny', 'allowlist', 'full'],
  ask: ['always', 'on-miss', 'off'],
  'ask-fallback': ['deny', 'allowlist', 'full'],
} as const satisfies Record<Switch, readonly (Security | Ask)[]>;

/** Ready-made settings of the three switches. */
export const PRESETS = {
  locked: { security: 'deny', ask: 'off', 'ask-fallback': 'deny' },
  cautious: { security: 'allowlist', ask: 'on-miss', 'ask-fallback': 'deny' },
  trusting: { security: 'full', ask: 'off', 'ask-fallback': 'deny' },
} as const satisfies Record<string, Record<Switch, Security | Ask>>;

export type Preset = keyof typeof PRESETS;

/** One difference between the draft and the document. `null` clears the value. */
export interface Change {
  scope: string;
  field: Switch;
  from: string | null;
  to: string | null;
}

/** What a person wants the switches to be, beside what the document says. It survives changes by others. */
export class PolicyDraft {
  scope = $state(DEFAULTS);
  /** Agents that are only in the draft. */
  added = $state.raw<string[]>([]);

  #draft = $state.raw<Record<string, Partial<Record<Switch, string | null>>>>({});

  /** What would be in force with the draft, the edits that this is about, and what was read when it was asked. */
  #preview = $state.raw<{ of: string; from: DocumentView | null; effective: EffectiveView[] } | null>(null);

  constructor(readonly document: DocumentStore) {}

  /** `defaults`, `*`, agents of the document, then agents of the draft. */
  readonly scopes = $derived.by(() => {
    const known = (this.document.view?.scopes ?? []).map(({ scope }) => scope);
    const named = known.filter((scope) => scope !== DEFAULTS && scope !== ALL_AGENTS);
    return [DEFAULTS, ALL_AGENTS, ...named, ...this.added.filter((agent) => !known.includes(agent))];
  });

  readonly changes = $derived.by(() => {
    const changes: Change[] = [];
    for (const scope of this.scopes) {
      for (const field of SWITCHES) {
        const wanted = this.#draft[scope]?.[field];
        const from = stored(this.document.view, scope, field);
        if (wanted !== undefined && wanted !== from) changes.push({ scope, field, from, to: wanted });
      }
    }
    return changes;
  });

  /** The value of the draft, else of the document; `null` when neither sets it. */
  value(scope: string, field: Switch): string | null {
    const wanted = this.#draft[scope]?.[field];
    return wanted === undefined ? stored(this.document.view, scope, field) : wanted;
  }

  set(scope: string, field: Switch, value: string | null): void {
    this.#draft = { ...this.#draft, [scope]: { ...this.#draft[scope], [field]: value } };
  }

  apply(preset: Preset): void {
    this.#draft = { ...this.#draft, [this.scope]: { ...PRESETS[preset] } };
  }

  preset(scope: string): Preset | null {
    const matches = (preset: Preset) => SWITCHES.every((field) => this.value(scope, field) === PRESETS[preset][field]);
    return (Object.keys(PRESETS) as Preset[]).find(matches) ?? null;
  }

  addAgent(agent: string): void {
    if (!this.scopes.includes(agent)) this.added = [...this.added, agent];
    this.scope = agent;
  }

  clear(): void {
    this.#draft = {};
    this.added = [];
    if (!this.scopes.includes(this.scope)) this.scope = DEFAULTS;
  }

  /** What is in force for a scope with the draft; without one, and until it is known, what is in force now. */
  wouldHold(scope: string): EffectiveView | null {
    const { view } = this.document;
    if (!view) return null;
    const previewed = this.#preview?.of === this.#signature() ? this.#preview.effective : view.effective;
    return inForce({ ...view, effective: previewed }, scope);
  }

  /** Asks what the draft comes to. Nothing is written. */
  async preview(): Promise<void> {
    const edits = this.edits();
    const of = this.#signature();
    const { feed, place, view: from } = this.document;
    if (edits.length === 0 || (this.#preview?.of === of && this.#preview.from === from)) return;
    const params = place === null ? { edits } : { place, edits };
    // Where it cannot be told, what is in force now stays in view, and what is written says what it does.
    const effective = await feed.backend.previewPolicy(params).catch(() => null);
    if (effective && of === this.#signature()) this.#preview = { of, from, effective };
  }

  #signature(): string {
    return JSON.stringify([this.document.view?.hash ?? null, this.edits()]);
  }

  edits(): DocumentEdit[] {
    return this.changes.map(({ scope, field, to }) =>
      to === null ? { kind: 'set-policy', scope, field } : { kind: 'set-policy', scope, field, value: to },
    );
  }
}

function stored(view: DocumentView | null, scope: string, field: Switch): string | null {
  const found = view?.scopes.find((candidate) => candidate.scope === scope);
  return found ? valueOf(found, field) : null;
}

/** What a scope itself says. */
export function valueOf(scope: ScopeView, field: Switch): string | null {
  switch (field) {
    case 'security':
      return scope.security ?? null;
    case 'ask':
      return scope.ask ?? null;
    case 'ask-fallback':
      return scope.askFallback ?? null;
  }
}

/** What is in force for a scope: an agent that the document does not name has what `*` stands for. */
export function inForce(view: DocumentView, scope: string): EffectiveView | null {
  const find = (agent: string) => view.effective.find((effective) => effective.agent === agent);
  return (scope === DEFAULTS ? null : find(scope)) ?? find(ALL_AGENTS) ?? null;
}

export function effectiveOf(effective: EffectiveView, field: Switch): { value: string; layer: PolicyLayer } {
  switch (field) {
    case 'security':
      return { value: effective.security, layer: effective.securityLayer };
    case 'ask':
      return { value: effective.ask, layer: effective.askLayer };
    case 'ask-fallback':
      return { value: effective.askFallback, layer: effective.askFallbackLayer };
  }
}

/** The layer that a scope of the document is. */
export function layerOf(scope: string): PolicyLayer {
  if (scope === DEFAULTS) return 'defaults';
  return scope === ALL_AGENTS ? 'wildcard' : 'agent';
}
