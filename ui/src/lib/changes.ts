import { t } from './i18n/index.svelte';
import { tr } from './i18n/rules/index.svelte';
import type { DocumentEdit, DocumentView, RuleEdit, RulesView, Shown, WorkspaceView } from './protocol';
import { reachedCalls } from './reach';
import { type AnyRuleView, presetTitle } from './rules';
import { marked } from './shown';
import { agentText, ALL_AGENTS, policyValue, scopeName } from './words';

/** What a change is called, in the present language: for a button, and whole. */
export interface ChangeName {
  short: string;
  whole: string;
}

/** What a change is called: with the last part of each path for a button, or with the whole of it. */
type Form = keyof ChangeName;

/** The name of what edits of the rules made of `before`, which `undo` takes back from `after`. */
export function rulesChange(
  edits: RuleEdit[],
  undo: RuleEdit[],
  before: RulesView,
  after: RulesView,
): () => ChangeName {
  // What takes the last change back comes first.
  const made = undo
    .flatMap((back) => (back.kind === 'remove-rule' ? [everyRule(after).find(({ rule }) => rule.id === back.id)] : []))
    .filter((view) => view !== undefined && !('folder' in view))
    .reverse();
  const added = edits.filter(({ kind }) => kind === 'add-rule' || kind === 'add-call-rule');
  return () =>
    named(edits, (edit, form) => {
      const view = made[added.indexOf(edit)];
      return view ? ruleName(view, form) : ruleEditName(edit, before, form);
    });
}

/** The same of the approvals document. */
export function documentChange(edits: DocumentEdit[], before: DocumentView): () => ChangeName {
  return () => named(edits, (edit, form) => documentEditName(edit, before, form));
}

/** How the rules stand that these edits touch. */
export function rulesStanding(edits: RuleEdit[], view: RulesView): string {
  const at = (id: string) => {
    const index = view.rules.findIndex(({ rule }) => rule.id === id);
    return { index, rule: everyRule(view).find(({ rule }) => rule.id === id)?.rule ?? null };
  };
  const touched = edits.map((edit): unknown => {
    switch (edit.kind) {
      case 'move-rule':
        return at(edit.id);
      case 'remove-rule':
      case 'replace-rule':
      case 'replace-call-rule':
      case 'replace-workspace':
        return at(edit.id).rule;
      case 'restore-rule':
      case 'restore-call-rule':
        return at(edit.rule.id).rule;
      case 'restore-workspace':
        return opening(view, edit.rule.folder, edit.rule.agent);
      case 'open-workspace':
        return opening(view, edit.rule.folder, edit.rule.agent);
      case 'close-workspace':
        return view.workspaces.map(({ rule }) => rule);
      case 'switch-preset':
        return view.presets.find(({ name }) => name === edit.name)?.switch;
      case 'add-rule':
      case 'add-call-rule':
        return null;
    }
  });
  return JSON.stringify(touched);
}

/** How the members and entries of a document stand that these edits touch. Uses of an entry are none of it. */
export function documentStanding(edits: DocumentEdit[], view: DocumentView): string {
  const scope = (name: string) => view.scopes.find((one) => one.scope === name);
  const says = (found: { pattern: string; argPattern?: string }) => [found.pattern, found.argPattern ?? null];
  const touched = edits.map((edit): unknown => {
    switch (edit.kind) {
      case 'set-policy': {
        const found = scope(edit.scope);
        const { security, ask, askFallback, autoAllowSkills } = found ?? {};
        const values = { security, ask, 'ask-fallback': askFallback, 'auto-allow-skills': autoAllowSkills };
        return values[edit.field] ?? null;
      }
      case 'edit-entry':
      case 'delete-entry': {
        const entry = scope(edit.agent)?.entries.find(({ id }) => id === edit.entry);
        return entry ? [entry.kind, ...says(entry)] : null;
      }
      case 'restore-entry': {
        const wanted = JSON.stringify(says(entryOf(edit.json)));
        return scope(edit.agent)?.entries.filter((entry) => JSON.stringify(says(entry)) === wanted).length ?? 0;
      }
      case 'add-entry':
        return null;
    }
  });
  return JSON.stringify(touched);
}

function named<Edit>(edits: Edit[], nameOf: (edit: Edit, form: Form) => string): ChangeName {
  const names = (form: Form) => [...new Set(edits.map((edit) => nameOf(edit, form)))];
  const short = names('short');
  return {
    short: short.length > 1 ? tr().changes.more(short[0] ?? '', short.length - 1) : (short[0] ?? ''),
    whole: t().common.list(names('whole')),
  };
}

function ruleEditName(edit: RuleEdit, before: RulesView, form: Form): string {
  const words = tr().changes;
  switch (edit.kind) {
    case 'open-workspace':
      return words.open(pathName(edit.rule.folder, form), whom(edit.rule.agent));
    case 'close-workspace':
      return words.close(pathName(edit.folder, form));
    case 'remove-rule': {
      const gone = everyRule(before).find(({ rule }) => rule.id === edit.id);
      if (!gone) return words.rule;
      const isOpening = 'folder' in gone && gone.rule.standing !== 'closed';
      return isOpening ? words.close(pathName(marked(gone.folder), form)) : words.remove(ruleName(gone, form));
    }
    case 'move-rule':
    case 'replace-rule':
    case 'replace-call-rule':
    case 'replace-workspace': {
      const changed = everyRule(before).find(({ rule }) => rule.id === edit.id);
      return changed ? words.change(ruleName(changed, form)) : words.rule;
    }
    case 'switch-preset': {
      const preset = before.presets.find(({ name }) => name === edit.name);
      return words[edit.to](preset ? presetTitle(preset) : edit.name);
    }
    case 'add-rule':
    case 'add-call-rule':
    case 'restore-rule':
    case 'restore-call-rule':
    case 'restore-workspace':
      return words.rule;
  }
}

/** A rule in a few words: what it does, and what it is about. */
export function ruleName(view: AnyRuleView, form: Form): string {
  const words = tr().changes;
  if ('folder' in view) {
    const folder = pathName(marked(view.folder), form);
    return view.rule.standing === 'closed'
      ? words.close(folder)
      : words.open(folder, whom(view.rule.agent, view.agent));
  }
  return words[view.rule.effect](aboutOf(view, form));
}

function aboutOf(view: Exclude<AnyRuleView, WorkspaceView>, form: Form): string {
  const words = tr().changes;
  const { reach } = view;
  if (!('program' in reach)) {
    const said = reachedCalls(reach).flatMap(({ text, codes }) => [text, ...codes.map(marked)]);
    return words.quoted(said.join(' '));
  }
  const { program, words: first, arguments: args, folder } = reach;
  const exact = args.kind === 'exact' ? args.args : [];
  const command = [pathName(marked(program), form), ...[...first, ...exact].map(marked)].join(' ');
  const place = args.kind === 'exact' ? args.folder : folder;
  return place ? words.in(command, pathName(marked(place), form)) : command;
}

function documentEditName(edit: DocumentEdit, before: DocumentView, form: Form): string {
  const words = tr().changes;
  const entry = (agent: string, id: string) => {
    const found = before.scopes.find(({ scope }) => scope === agent)?.entries.find((one) => one.id === id);
    return found ? pathName(marked(found.shown), form) : words.rule;
  };
  switch (edit.kind) {
    case 'set-policy': {
      const from = before.scopes.find(({ scope }) => scope === edit.scope);
      const { security, ask, askFallback, autoAllowSkills } = from ?? {};
      const was = { security, ask, 'ask-fallback': askFallback, 'auto-allow-skills': autoAllowSkills?.toString() };
      return t().policy.change(
        scopeName(edit.scope, agentText(before, edit.scope)),
        edit.field === 'auto-allow-skills' ? edit.field : t().policy[edit.field],
        policyValue(edit.field, was[edit.field]),
        policyValue(edit.field, edit.value),
      );
    }
    case 'add-entry':
      return words.allow(pathName(edit.pattern, form));
    case 'edit-entry':
      return words.change(entry(edit.agent, edit.entry));
    case 'delete-entry':
      return words.remove(entry(edit.agent, edit.entry));
    case 'restore-entry':
      return words.allow(pathName(entryOf(edit.json).pattern, form));
  }
}

/** What an entry says that is kept as it was: a pattern alone, or with members beside it. */
function entryOf(json: string): { pattern: string; argPattern?: string } {
  const entry: unknown = JSON.parse(json);
  if (typeof entry !== 'object' || entry === null) return { pattern: String(entry) };
  const { pattern, argPattern } = entry as { pattern?: unknown; argPattern?: unknown };
  const text = typeof pattern === 'string' ? pattern : '';
  return typeof argPattern === 'string' ? { pattern: text, argPattern } : { pattern: text };
}

function everyRule({ rules, calls, workspaces }: RulesView): AnyRuleView[] {
  return [...rules, ...calls, ...workspaces];
}

/** What opens or closes a folder for an agent. */
function opening({ workspaces }: RulesView, folder: string, agent: string) {
  return workspaces.map(({ rule }) => rule).filter((rule) => rule.folder === folder && rule.agent === agent);
}

/** For whom, where that is not everybody. */
function whom(agent: string, shown?: Shown): string | null {
  return agent === ALL_AGENTS ? null : shown ? marked(shown) : agent;
}

function pathName(path: string, form: Form): string {
  const last = path.replace(/\/+$/, '').split('/').at(-1) ?? '';
  return form === 'whole' || last === '' ? path : last;
}
