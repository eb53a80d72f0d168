import { BackendError } from '../../src/lib/ipc';
import type {
  CallReach,
  CallRule,
  CallRuleDraft,
  CallRuleView,
  CommandRule,
  PresetView,
  RuleDraft,
  RuleEdit,
  RuleState,
  RulesView,
  RuleView,
  Workspace,
  WorkspaceDraft,
  WorkspaceView,
} from '../../src/lib/protocol';
import { beginningWith } from '../../src/lib/rules';
import { reach } from './reach';
import { shown } from './text';

const HOUR_MS = 3_600_000;

/** Rules in each state, and the presets that there are. */
export function rules(nowMs: number): RulesView {
  const rule = (id: string, state: RuleState, more: Partial<CommandRule>, uses = 0): RuleView => ({
    ...viewOf(
      {
        id,
        agent: '*',
        effect: 'allow',
        program: 'git',
        arguments: 'any',
        createdAtMs: nowMs - 30 * HOUR_MS,
        from: 'typed',
        ...more,
      },
      state,
    ),
    uses,
  });
  const folder = '/home/mina/src/storefront';
  return {
    path: '/home/mina/.config/countersign/rules.json',
    state: { kind: 'ready' },
    hash: 'hash-1',
    presets: presets(),
    rules: [
      rule('r-1', 'live', {
        effect: 'deny',
        arguments: beginningWith('push'),
        note: 'Publishing is mine. Ask me for a review instead.',
      }),
      rule('r-2', 'live', { agent: 'coder', program: '/usr/bin/git', arguments: beginningWith('log'), from: 'answer' }),
      rule(
        'r-3',
        'live',
        {
          agent: 'coder',
          program: '/usr/bin/npm',
          arguments: beginningWith('test'),
          folder,
          limits: { uses: 5 },
          from: 'answer',
        },
        2,
      ),
      rule('r-4', 'live', {
        agent: 'coder',
        program: '/usr/bin/cargo',
        arguments: beginningWith('build'),
        folder: '/home/mina/src/engine',
        limits: { untilMs: nowMs + 2 * HOUR_MS },
        from: 'answer',
      }),
      rule('r-5', 'live', {
        agent: 'home',
        program: '/usr/bin/ffmpeg',
        arguments: { exact: { args: ['-i', '/srv/cam/2026-11-21.mkv', '-c', 'copy', '/srv/out/day one.mp4'], folder } },
        limits: { session: 'agent:home:camera-digest' },
        from: 'answer',
      }),
      rule('r-6', 'expired', { program: 'docker', limits: { untilMs: nowMs - HOUR_MS } }),
      rule('r-7', 'spent', { program: 'make', limits: { uses: 1 }, from: 'answer' }, 1),
      rule('r-8', 'session-over', { program: 'ls', limits: { session: 'agent:main:main' }, from: 'answer' }),
    ],
    calls: [
      callViewOf({
        id: 'c-1',
        agent: 'claude-code',
        effect: 'allow',
        about: { files: { below: folder, names: '*.ts' } },
        limits: { session: 'agent:main:main' },
        createdAtMs: nowMs - HOUR_MS,
        from: 'answer',
      }),
      callViewOf({
        id: 'c-2',
        agent: '*',
        effect: 'deny',
        about: { host: { host: '*.example.org' } },
        note: 'Not from here.',
        createdAtMs: nowMs - HOUR_MS,
        from: 'typed',
      }),
    ],
    workspaces: workspaces(nowMs),
  };
}

/** Open folders in each state; one of them has a hostile name. */
function workspaces(nowMs: number): WorkspaceView[] {
  const open = (id: string, folder: string, state: RuleState, more: Partial<Workspace> = {}, uses = 0) => ({
    ...workspaceViewOf(
      {
        id,
        agent: 'coder',
        folder,
        attendance: 'attended',
        createdAtMs: nowMs - 30 * HOUR_MS,
        from: 'answer',
        ...more,
      },
      state,
    ),
    uses,
    ...(uses > 0 ? { lastUsedAtMs: nowMs - 3 * HOUR_MS } : {}),
  });
  return [
    open('w-1', '/home/mina/src/engine', 'live', { limits: { untilMs: nowMs + 7 * HOUR_MS } }, 212),
    open('w-2', '/home/mina/src/storefront', 'live', { limits: { session: 'agent:coder:fix-login' } }, 1),
    open('w-3', '/srv/nightly', 'live', {
      agent: '*',
      places: [
        { path: '/home/mina/.config/nightly', access: 'write' },
        { path: '/srv/nightly/.env', access: 'read' },
        { path: `/home/mina/${'kept-private/'.repeat(9)}\u202eteiuq`, access: 'hidden' },
      ],
      attendance: 'unattended',
      from: 'typed',
      note: 'The nightly builds: nobody is there to ask.',
    }),
    open('w-4', `/home/mina/src/${'deep-folder/'.repeat(9)}\u202eecruos  x`, 'expired', {
      limits: { untilMs: nowMs - HOUR_MS },
    }),
    open('w-5', '/home/mina/src/old', 'session-over', { limits: { session: 'agent:main:main' } }, 8),
  ];
}

function presets(): PresetView[] {
  const preset = (name: string, rules: number, includes: string[] = []): PresetView => ({
    name,
    title: `The app’s own name of ${name}`,
    words: `The app’s own words about ${name}.`,
    switch: 'off',
    rules,
    includes,
  });
  return [
    preset('everyday', 214, ['files', 'git-history', 'versions']),
    preset('files', 152),
    preset('git-history', 35),
    preset('versions', 27),
  ];
}

/** Applies one edit and returns what takes it back. */
export function applyRuleEdit(view: RulesView, edit: RuleEdit): RuleEdit {
  switch (edit.kind) {
    case 'add-rule': {
      const id = `new-${view.rules.length}`;
      view.rules.push(viewOf({ ...edit.rule, id, createdAtMs: Date.now(), from: 'typed' }, 'live'));
      return { kind: 'remove-rule', id };
    }
    case 'add-call-rule': {
      const id = `new-call-${view.calls.length}`;
      view.calls.push(callViewOf({ ...edit.rule, id, createdAtMs: Date.now(), from: 'typed' }));
      return { kind: 'remove-rule', id };
    }
    case 'open-workspace': {
      usable(edit.rule);
      const id = `new-folder-${view.workspaces.length}`;
      view.workspaces.push(workspaceViewOf({ ...edit.rule, id, createdAtMs: Date.now(), from: 'typed' }, 'live'));
      return { kind: 'remove-rule', id };
    }
    case 'close-workspace': {
      const opening = view.workspaces.find(({ rule }) => rule.folder === edit.folder && rule.agent === edit.agent);
      if (!opening) throw new BackendError('invalid', `${edit.folder} is not open`);
      return applyRuleEdit(view, { kind: 'remove-rule', id: opening.rule.id });
    }
    case 'move-rule': {
      const from = indexOf(view.rules, edit.id);
      view.rules.splice(edit.index, 0, ...view.rules.splice(from, 1));
      return { ...edit, index: from };
    }
    case 'remove-rule': {
      if (view.calls.some(({ rule }) => rule.id === edit.id)) {
        const index = indexOf(view.calls, edit.id);
        const [removed] = view.calls.splice(index, 1);
        if (!removed) throw new BackendError('invalid', 'no such rule');
        return { kind: 'restore-call-rule', index, rule: removed.rule };
      }
      if (view.workspaces.some(({ rule }) => rule.id === edit.id)) {
        const index = indexOf(view.workspaces, edit.id);
        const [removed] = view.workspaces.splice(index, 1);
        if (!removed) throw new BackendError('invalid', 'no such rule');
        return { kind: 'restore-workspace', index, rule: removed.rule };
      }
      const index = indexOf(view.rules, edit.id);
      const [removed] = view.rules.splice(index, 1);
      if (!removed) throw new BackendError('invalid', 'no such rule');
      return { kind: 'restore-rule', index, rule: removed.rule };
    }
    case 'replace-rule': {
      const index = indexOf(view.rules, edit.id);
      const before = view.rules[index];
      if (!before) throw new BackendError('invalid', 'no such rule');
      const { id, createdAtMs, from, ...draft } = before.rule;
      view.rules[index] = viewOf({ ...edit.rule, id, createdAtMs, from }, 'live');
      return { kind: 'replace-rule', id, rule: draft satisfies RuleDraft };
    }
    case 'replace-call-rule': {
      const index = indexOf(view.calls, edit.id);
      const before = view.calls[index];
      if (!before) throw new BackendError('invalid', 'no such rule');
      const { id, createdAtMs, from, ...draft } = before.rule;
      view.calls[index] = callViewOf({ ...edit.rule, id, createdAtMs, from });
      return { kind: 'replace-call-rule', id, rule: draft satisfies CallRuleDraft };
    }
    case 'replace-workspace': {
      const index = indexOf(view.workspaces, edit.id);
      const before = view.workspaces[index];
      if (!before) throw new BackendError('invalid', 'no such rule');
      const { id, createdAtMs, from, ...draft } = before.rule;
      view.workspaces[index] = { ...before, ...workspaceViewOf({ ...edit.rule, id, createdAtMs, from }, 'live') };
      return { kind: 'replace-workspace', id, rule: draft satisfies WorkspaceDraft };
    }
    case 'restore-workspace':
      view.workspaces.splice(edit.index, 0, workspaceViewOf(edit.rule, 'live'));
      return { kind: 'remove-rule', id: edit.rule.id };
    case 'restore-rule':
      view.rules.splice(edit.index, 0, viewOf(edit.rule, 'live'));
      return { kind: 'remove-rule', id: edit.rule.id };
    case 'restore-call-rule':
      view.calls.splice(edit.index, 0, callViewOf(edit.rule));
      return { kind: 'remove-rule', id: edit.rule.id };
    case 'switch-preset': {
      const preset = view.presets.find(({ name }) => name === edit.name);
      if (!preset) throw new BackendError('invalid', 'no such preset');
      const before = preset.switch;
      preset.switch = edit.to;
      return { ...edit, to: before };
    }
  }
}

function viewOf(rule: CommandRule, state: RuleState): RuleView {
  const text = `${rule.effect === 'deny' ? 'refuse' : 'allow'} ${rule.program}`;
  return { ...told(rule, text), rule, reach: reach(rule.program, rule.arguments, rule.folder), state };
}

/** A rule about calls as the page gets it. */
export function callViewOf(rule: CallRule): CallRuleView {
  return { ...told(rule, `${rule.effect} ${JSON.stringify(rule.about)}`), rule, reach: callReach(rule), state: 'live' };
}

function workspaceViewOf(rule: Workspace, state: RuleState): WorkspaceView {
  const view = { ...told(rule, `allow in a box what runs in ${rule.folder}`), rule, folder: shown(rule.folder), state };
  return rule.places === undefined ? view : { ...view, places: rule.places.map(({ path }) => shown(path)) };
}

/** As the app refuses what no box may be made of. */
function usable({ folder }: WorkspaceDraft): void {
  if (['/', '/etc', '/home/mina'].includes(folder))
    throw new BackendError('invalid', `the folder cannot be opened: ${folder} holds more than one work`);
}

function callReach({ about }: CallRule): CallReach {
  if ('host' in about) return { kind: 'host', host: shown(about.host.host) };
  if ('tool' in about) return { kind: 'tool', tool: shown(about.tool.name) };
  if ('crossing' in about) {
    const { host, port, place, within } = about.crossing;
    const found: CallReach = { kind: 'crossing', destination: shown(`${host}:${port}`), place };
    return within === undefined ? found : { ...found, within: shown(within) };
  }
  if ('registries' in about) {
    const { group, within } = about.registries;
    const found: CallReach = { kind: 'registries', group: shown(group) };
    return within === undefined ? found : { ...found, within: shown(within) };
  }
  const { below, names } = about.files;
  const found: CallReach = { kind: 'files', below: shown(below) };
  return names === undefined ? found : { ...found, names: shown(names) };
}

/** What every rule is shown with. */
function told({ agent, limits, note }: CommandRule | CallRule | Workspace, text: string) {
  const session = limits?.session;
  return {
    shown: shown(text),
    agent: shown(agent),
    uses: 0,
    ...(session === undefined ? {} : { session: shown(session) }),
    ...(note === undefined ? {} : { note: shown(note) }),
  };
}

function indexOf(views: { rule: { id: string } }[], id: string): number {
  const index = views.findIndex(({ rule }) => rule.id === id);
  if (index < 0) throw new BackendError('invalid', 'no such rule');
  return index;
}
