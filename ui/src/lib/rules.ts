import { ago, dateTime, duration, t } from './i18n/index.svelte';
import { tr } from './i18n/rules/index.svelte';
import type {
  ArgumentRule,
  Attendance,
  CallRule,
  CallRuleDraft,
  CallReach,
  CallRuleView,
  CommandRule,
  PresetView,
  RuleDraft,
  RuleEdit,
  RuleEnd,
  RuleLimits,
  RuleReach,
  RuleView,
  Workspace,
  WorkspaceDraft,
  WorkspaceView,
} from './protocol';
import { OPEN_SHAPE } from './protocol/bounds';
import type { FolderReach } from './reach';
import { plain } from './shown';

/** A preset's name in the reader's words; one that nobody knows keeps its own. */
export function presetTitle(preset: PresetView): string {
  return known(preset.name)?.title ?? (preset.title || preset.name);
}

/** What a preset lets run. */
export function presetWords(preset: PresetView): string {
  return known(preset.name)?.words ?? (preset.words || tr().presetUnknown);
}

/**
 * A preset that is switched on, in words; the app names it `name: title`. `null` when this version has no words for it.
 */
export function presetNamed(said: string): { title: string; words: string } | null {
  return known(said.split(':')[0] ?? '') ?? null;
}

function known(name: string): { title: string; words: string } | undefined {
  const table: Record<string, { title: string; words: string }> = tr().preset;
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A rule about commands, about calls that are none, or a folder that is open. */
export type AnyRuleView = RuleView | CallRuleView | WorkspaceView;

/** What a rule is about. */
export function reachOf(view: AnyRuleView): RuleReach | CallReach | FolderReach {
  return 'reach' in view ? view.reach : { kind: 'workspace', folder: view.folder };
}

/** What a rule does with what it is about; an open folder lets it run in a box. */
export function effectOf({ rule }: AnyRuleView): 'allow' | 'deny' | 'contain' {
  return 'effect' in rule ? rule.effect : 'contain';
}

/** What is left of a rule: everything that will end it. */
export function leftWords(view: AnyRuleView, now: number): string[] {
  const words = tr();
  const { untilMs, uses, session } = view.rule.limits ?? {};
  if (view.state !== 'live') return [words.state[view.state]];
  const left: string[] = [];
  if (uses !== undefined) left.push(words.usesLeft(Math.max(0, uses - view.uses), uses));
  if (untilMs !== undefined) left.push(untilMs > now ? words.timeLeft(duration(untilMs - now)) : words.state.expired);
  if (session !== undefined) left.push(words.session);
  return left.length > 0 ? left : [words.always];
}

/** What ends a rule that somebody is about to make, by the reader's clock; the session itself follows as code. */
export function endWords({ untilMs, uses, session }: RuleEnd): string {
  const words = tr();
  const ends: string[] = [];
  if (uses !== undefined) ends.push(words.times(uses));
  if (untilMs !== undefined) ends.push(words.until(dateTime(untilMs)));
  if (session !== undefined) ends.push(words.session);
  return ends.length > 0 ? t().common.list(ends) : words.always;
}

/** Whether a rule no longer counts. */
export function isOver(view: AnyRuleView, now: number): boolean {
  const untilMs = view.rule.limits?.untilMs;
  return view.state !== 'live' || (untilMs !== undefined && untilMs <= now);
}

/** When a rule was made and last used, in one sentence for a title. */
export function timesOf(view: AnyRuleView, now: number): string {
  const made = tr().made(dateTime(view.rule.createdAtMs));
  return view.lastUsedAtMs === undefined ? made : `${made}; ${tr().lastUsed(ago(view.lastUsedAtMs, now))}`;
}

/** Whether any field of a rule has the text in it. */
export function ruleMatches({ shown, rule }: AnyRuleView, wanted: string): boolean {
  const about = 'program' in rule ? [rule.program, rule.folder] : 'folder' in rule ? [rule.folder] : [];
  const fields = [plain(shown), rule.id, rule.agent, rule.note, rule.limits?.session, ...about];
  return fields.some((field) => field?.toLowerCase().includes(wanted));
}

/** The edit that has a rule end otherwise. */
export function ending({ rule }: AnyRuleView, limits: RuleLimits): RuleEdit {
  const { id } = rule;
  if ('program' in rule) return { kind: 'replace-rule', id, rule: { ...draftOf(rule), limits } };
  if ('about' in rule) return { kind: 'replace-call-rule', id, rule: { ...callDraftOf(rule), limits } };
  return { kind: 'replace-workspace', id, rule: { ...workspaceDraftOf(rule), limits } };
}

/** The edit that has a folder be open for other runs. */
export function attending({ rule }: WorkspaceView, attendance: Attendance): RuleEdit {
  return { kind: 'replace-workspace', id: rule.id, rule: { ...workspaceDraftOf(rule), attendance } };
}

/** What an open folder says, without what the store gave it. */
export function workspaceDraftOf(rule: Workspace): WorkspaceDraft {
  const { agent, folder, standing, attendance, places, limits, note } = rule;
  const draft: WorkspaceDraft = { agent, folder, attendance };
  if (standing !== undefined) draft.standing = standing;
  if (places !== undefined) draft.places = places;
  if (limits !== undefined) draft.limits = limits;
  if (note !== undefined) draft.note = note;
  return draft;
}

function callDraftOf({ agent, effect, about, note }: CallRule): CallRuleDraft {
  return note === undefined ? { agent, effect, about } : { agent, effect, about, note };
}

/** What a rule says, without what the store gave it. */
export function draftOf(rule: CommandRule): RuleDraft {
  const { agent, effect, program, arguments: args, folder, contents, limits, note } = rule;
  const draft: RuleDraft = { agent, effect, program, arguments: args };
  if (folder !== undefined) draft.folder = folder;
  if (contents !== undefined) draft.contents = contents;
  if (limits !== undefined) draft.limits = limits;
  if (note !== undefined) draft.note = note;
  return draft;
}

/** Arguments that begin with these words; any, when there are none. */
export function beginningWith(words: string): ArgumentRule {
  const subcommand = words.split(/\s+/).filter((word) => word !== '');
  return subcommand.length === 0 ? 'any' : { shape: { ...OPEN_SHAPE, subcommand } };
}
