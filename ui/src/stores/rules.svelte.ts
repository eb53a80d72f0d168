import { BackendError } from '../lib/ipc';
import { rulesChange, rulesStanding } from '../lib/changes';
import type { Breadth, RuleEdit, RulesView } from '../lib/protocol';
import { EditedStore } from './edited.svelte';
import type { Feed } from './feed.svelte';

/** The pages on which rules are changed. */
export type RulesPlace = 'rules' | 'folders';

/** The person's own rules and the presets. Loaded when the page is first looked at. */
export class RulesStore extends EditedStore<RulesView, RuleEdit, RulesPlace> {
  /** How many past requests each rule is about, by its id. */
  breadths = $state.raw<ReadonlyMap<string, Breadth>>(new Map());

  #stop: (() => void)[] = [];
  #wanted = false;
  /** Whether somebody looks at the figures: the app reads much of the history for them. */
  #weighing = false;
  /** Hash of the rules that the figures are about. */
  #weighed: string | null = null;

  constructor(readonly feed: Feed) {
    super();
  }

  readonly writable = $derived(this.view?.state.kind === 'ready' || this.view?.state.kind === 'missing');

  start(): void {
    this.#stop.push(
      this.feed.on((event) => {
        // Uses change nothing that the hash is of, but what is left of a rule.
        if (event.kind === 'rules-changed' && this.#wanted) void this.changed(event.hash, event.by);
      }),
      this.feed.onSync(() => {
        if (this.#wanted) void this.load();
      }),
    );
  }

  stop(): void {
    for (const stop of this.#stop) stop();
  }

  /** Somebody looks: reads the rules, and from then on follows them. */
  async look(): Promise<void> {
    this.#wanted = true;
    await this.load();
  }

  /** Somebody looks at the figures too. */
  async weigh(): Promise<void> {
    this.#weighing = true;
    await this.look();
  }

  /** Moves unusable rules aside; the path of the old ones, or `null` when that failed. */
  async reset(): Promise<string | null> {
    try {
      const aside = await this.feed.backend.resetRules();
      await this.load();
      return aside;
    } catch (thrown) {
      this.error = BackendError.from(thrown);
      return null;
    }
  }

  protected async read(): Promise<RulesView> {
    const view = await this.feed.backend.rules();
    if (this.#weighing && view.hash !== this.#weighed) void this.#count(view.hash);
    return view;
  }

  protected write(baseHash: string, edits: RuleEdit[], confirmed: boolean) {
    return this.feed.backend.editRules({ baseHash, edits, confirmed });
  }

  protected named(edits: RuleEdit[], undo: RuleEdit[], before: RulesView, after: RulesView) {
    return rulesChange(edits, undo, before, after);
  }

  protected standing(edits: RuleEdit[], view: RulesView): string {
    return rulesStanding(edits, view);
  }

  /** Figures for information: without them the page works as well. */
  async #count(hash: string): Promise<void> {
    this.#weighed = hash;
    const found = await this.feed.backend.breadthOfRules().catch(() => []);
    this.breadths = new Map(found.map(({ id, breadth }) => [id, breadth]));
  }
}
