import type {
  CallRuleDraft,
  CallRuleView,
  NamedDestination,
  PlaceAccess,
  RuleEdit,
  RuleLimits,
  RunView,
  Shown,
  WorkspaceView,
} from './protocol';
import { isOver, workspaceDraftOf } from './rules';
import { ALL_AGENTS } from './words';

/** A folder with everything that opens it: it may be open for several agents, each in its own way. */
export interface OpenFolder {
  /** As rules name it. */
  folder: string;
  shown: Shown;
  openings: WorkspaceView[];
}

/** Open folders, each once, in the order of the rules. */
export function openFolders(openings: readonly WorkspaceView[]): OpenFolder[] {
  const found = new Map<string, OpenFolder>();
  for (const view of openings) {
    const { folder } = view.rule;
    const one = found.get(folder) ?? { folder, shown: view.folder, openings: [] };
    one.openings.push(view);
    found.set(folder, one);
  }
  return [...found.values()];
}

/** Whether a rule closes its folder instead of opening it. */
export function closes({ rule }: WorkspaceView): boolean {
  return rule.standing === 'closed';
}

/**
 * The edit that closes a folder for whom a rule opens it. Where others are told apart beside all agents, only
 * that rule goes; a rule that closes is taken out.
 */
export function closing(view: WorkspaceView, { openings }: OpenFolder): RuleEdit {
  const { id, folder, agent } = view.rule;
  const hasOthers = agent === ALL_AGENTS && openings.some((other) => other.rule.agent !== ALL_AGENTS);
  return closes(view) || hasOthers ? { kind: 'remove-rule', id } : { kind: 'close-workspace', folder, agent };
}

/**
 * For whom a rule about connections out of a folder is made: for its only agent, or for all where it is
 * open for several.
 */
export function agentOf({ openings }: OpenFolder): string {
  const [first, ...others] = openings.map(({ rule }) => rule.agent);
  return first !== undefined && others.every((agent) => agent === first) ? first : ALL_AGENTS;
}

/** A file or folder that boxes have otherwise, in one of the ways in which their folder is open. */
export interface FolderPlace {
  path: string;
  shown: Shown;
  access: PlaceAccess;
  opening: WorkspaceView;
}

export function placesOf({ openings }: OpenFolder): FolderPlace[] {
  return openings
    .filter((opening) => !closes(opening))
    .flatMap((opening) =>
      (opening.rule.places ?? []).map(({ path, access }, at) => {
        const shown = opening.places?.[at] ?? opening.folder;
        return { path, shown, access, opening };
      }),
    );
}

/** The edits that have boxes do this with a path; with `null` it is as in every box again. */
export function placing(openings: readonly WorkspaceView[], path: string, access: PlaceAccess | null): RuleEdit[] {
  return openings
    .filter((opening) => !closes(opening))
    .map(({ rule }) => {
      const others = (rule.places ?? []).filter((place) => place.path !== path);
      const places = access === null ? others : [...others, { path, access }];
      return { kind: 'replace-workspace', id: rule.id, rule: { ...workspaceDraftOf(rule), places } };
    });
}

/** A place that boxes around an open folder are wanted to write. */
export interface PlaceWish {
  folder: string;
  path: string;
}

/**
 * What a run could not write and a rule could let it; `null` where none could, where one does, and where its
 * folder is closed now.
 */
export function wishOf({ within, unwritten }: RunView, openings: readonly WorkspaceView[]): PlaceWish | null {
  const path = unwritten?.place;
  // The history has folders escaped: one with something to escape could be taken for another.
  if (within === undefined || path === undefined || within.includes('\\')) return null;
  const open = openings.filter((opening) => opening.rule.folder === within && !closes(opening));
  if (open.length === 0) return null;
  const has = ({ rule }: WorkspaceView) =>
    (rule.places ?? []).some((place) => place.path === path && place.access === 'write');
  return open.every(has) ? null : { folder: within, path };
}

/** The folder that a rule about connections is for; `null` for any box, `undefined` for a rule about something else. */
function within({ rule: { about } }: CallRuleView): string | null | undefined {
  if ('crossing' in about) return about.crossing.within ?? null;
  return 'registries' in about ? (about.registries.within ?? null) : undefined;
}

/** Whether a rule about connections is for boxes around exactly this folder. */
export function isOf(view: CallRuleView, folder: string): boolean {
  return within(view) === folder;
}

/** Rules about connections out of a box around this folder, those for any box at the end. */
export function connectionsOf(calls: readonly CallRuleView[], folder: string): CallRuleView[] {
  const anywhere = calls.filter((view) => within(view) === null);
  return [...calls.filter((view) => isOf(view, folder)), ...anywhere];
}

/** What rules say about the registries of one kind, from one folder. */
export interface RegistrySwitch {
  /** Rules that a switch takes away. */
  on: CallRuleView[];
  /** What decides beside the switch, if anything does. */
  beside: 'anywhere' | 'refused' | null;
}

export function registrySwitch(
  calls: readonly CallRuleView[],
  folder: string,
  group: string,
  now: number,
): RegistrySwitch {
  const about = connectionsOf(calls, folder).filter(
    (view) => 'registries' in view.rule.about && view.rule.about.registries.group === group && !isOver(view, now),
  );
  const allowing = about.filter(({ rule }) => rule.effect === 'allow');
  const on = allowing.filter((view) => isOf(view, folder));
  if (about.length > allowing.length) return { on, beside: 'refused' };
  return { on, beside: allowing.length > on.length ? 'anywhere' : null };
}

/** The rule that lets registries of a kind be reached from a folder. */
export function registryRule(agent: string, folder: string, group: string): CallRuleDraft {
  return { agent, effect: 'allow', about: { registries: { group, within: folder } } };
}

/** The rule that lets a destination be reached from a folder. */
export function destinationRule(
  agent: string,
  folder: string,
  { host, port, place }: NamedDestination,
  limits: RuleLimits,
): CallRuleDraft {
  return { agent, effect: 'allow', about: { crossing: { host, port, place, within: folder } }, limits };
}
