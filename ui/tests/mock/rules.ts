import { BackendError } from '../../src/lib/ipc';
import type { CommandRule, RuleDraft, RuleEdit, RuleState, RulesView, RuleView } from '../../src/lib/protocol';

const HOUR_MS = 3_600_000;

/** One rule in each state, and two presets. */
export function rules(nowMs: number): RulesView {
  const rule = (id: string, state: RuleState, more: Partial<CommandRule>): RuleView =>
    viewOf(
      {
        id,
        agent: '*',
        effect: 'allow',
        program: 'git',
        arguments: 'any',
        createdAtMs: nowMs - HOUR_MS,
        from: 'typed',
        ...more,
      },
      state,
    );
  return {
    path: '/home/mina/.config/countersign/rules.json',
    state: { kind: 'ready' },
    hash: 'hash-1',
    presets: [
      {
        name: 'everyday',
        title: 'Everyday reading',
        words: 'Look at files and the history of git repositories.',
        switch: 'off',
        rules: 120,
      },
      {
        name: 'versions',
        title: 'Asking for versions',
        words: 'Ask tools for their version.',
        switch: 'on',
        rules: 27,
      },
    ],
    rules: [
      rule('r-1', 'live', { limits: { uses: 3 } }),
      rule('r-2', 'live', { effect: 'deny', program: 'rm' }),
      rule('r-3', 'expired', { limits: { untilMs: nowMs - 1 } }),
      rule('r-4', 'spent', { limits: { uses: 1 } }),
      rule('r-5', 'session-over', { limits: { session: 'agent:main:main' } }),
    ],
  };
}

/** Applies one edit and returns what takes it back. */
export function applyRuleEdit(view: RulesView, edit: RuleEdit): RuleEdit {
  switch (edit.kind) {
    case 'add-rule': {
      const id = `new-${view.rules.length}`;
      view.rules.push(viewOf({ ...edit.rule, id, createdAtMs: Date.now(), from: 'typed' }, 'live'));
      return { kind: 'remove-rule', id };
    }
    case 'move-rule': {
      const from = indexOf(view, edit.id);
      view.rules.splice(edit.index, 0, ...view.rules.splice(from, 1));
      return { ...edit, index: from };
    }
    case 'remove-rule': {
      const index = indexOf(view, edit.id);
      const [removed] = view.rules.splice(index, 1);
      if (!removed) throw new BackendError('invalid', 'no such rule');
      return { kind: 'restore-rule', index, rule: removed.rule };
    }
    case 'replace-rule': {
      const index = indexOf(view, edit.id);
      const before = view.rules[index];
      if (!before) throw new BackendError('invalid', 'no such rule');
      const { id, createdAtMs, from, ...draft } = before.rule;
      view.rules[index] = viewOf({ ...edit.rule, id, createdAtMs, from }, 'live');
      return { kind: 'replace-rule', id, rule: draft satisfies RuleDraft };
    }
    case 'restore-rule':
      view.rules.splice(edit.index, 0, viewOf(edit.rule, 'live'));
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
  const text = `${rule.effect === 'deny' ? 'refuse' : 'allow'} ${rule.program} with any arguments`;
  return { rule, shown: { spans: [{ kind: 'plain', text }] }, state, uses: 0 };
}

function indexOf(view: RulesView, id: string): number {
  const index = view.rules.findIndex(({ rule }) => rule.id === id);
  if (index < 0) throw new BackendError('invalid', 'no such rule');
  return index;
}
