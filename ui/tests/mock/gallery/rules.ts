import ChangeDialog from '../../../src/components/rules/ChangeDialog.svelte';
import ChangeRule from '../../../src/components/rules/ChangeRule.svelte';
import FolderRuns from '../../../src/components/rules/FolderRuns.svelte';
import OpenDialog from '../../../src/components/rules/OpenDialog.svelte';
import PresetList from '../../../src/components/rules/PresetList.svelte';
import RefuseDialog from '../../../src/components/rules/RefuseDialog.svelte';
import RuleTable from '../../../src/components/rules/RuleTable.svelte';
import type { PresetView, RuleView, WorkspaceView } from '../../../src/lib/protocol';
import { crossingRules } from '../crossings';
import { rules as sampleRules } from '../rules';
import { shown } from '../text';
import { entry, type Area } from './entry';
import { DEEP, ESCAPED, HOSTILE, nothing, NOW, world, wrong } from './world';

const view = sampleRules(NOW);
const [first] = view.rules;
const [open, session, unattended] = view.workspaces;
if (!first || !open || !session || !unattended) throw new Error('rules and folders to look at');

/** An older version took it, and no box gets it now. */
const refused: WorkspaceView = {
  ...open,
  rule: { ...open.rule, id: 'refused' },
  refused: shown(`${HOSTILE} cannot be a sandbox’s working directory: what begins with a dot is programs’ own`),
  lapsed: [shown(`a box cannot write ${DEEP}: programs outside of the box run or obey what is in it`)],
};

const BREADTHS = new Map(
  view.rules.map(({ rule }, at) => [rule.id, { of: 200, matched: (at * 23) % 90, denied: at % 3 }]),
);

const table = (differs: object = {}) => ({
  rules: [...view.rules, ...view.calls],
  now: NOW,
  disabled: false,
  onchange: nothing,
  onremove: nothing,
  onhistory: nothing,
  ...differs,
});

const changed = (differs: object = {}) => ({
  view: first,
  gone: false,
  busy: false,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});

async function changing(among: RuleView[]) {
  const { rules, clock } = await world();
  await rules.look();
  return { view: changed().view, among, store: rules, place: 'rules' as const, clock };
}

const presets = (to: PresetView['switch'], differs: Partial<PresetView> = {}) => ({
  presets: view.presets.map((preset, at) => ({ ...preset, ...(at === 0 ? differs : {}), switch: to })),
  disabled: false,
  onswitch: nothing,
});

const runs = (of: WorkspaceView, differs: object = {}) => ({
  view: of,
  now: NOW,
  over: false,
  disabled: false,
  onattend: nothing,
  ...differs,
});

const opening = (differs: object = {}) => ({
  busy: false,
  now: NOW,
  error: null,
  onclose: nothing,
  onsave: nothing,
  ...differs,
});

const hostile = { ...first, agent: shown(HOSTILE), note: shown(HOSTILE), session: shown(DEEP) };

const idleRules: RuleView[] = [
  { ...first, state: 'never-counts', uncounted: { cause: 'starts-others', lasts: 'ever' } },
  {
    ...first,
    rule: { ...first.rule, id: 'r-moved' },
    state: 'not-now',
    uncounted: { cause: 'elsewhere', lasts: 'now', what: shown(DEEP) },
  },
];

export const rules: Area = {
  name: 'rules',
  entries: [
    entry(RuleTable, {
      'every kind and state': table({ breadths: BREADTHS }),
      'without figures': table({ rules: view.rules.slice(0, 2) }),
      'never counts': table({ rules: idleRules }),
      disabled: table({ rules: view.rules.slice(0, 2), disabled: true }),
      connections: table({ rules: crossingRules(NOW) }),
      folders: table({ name: 'folder', about: '/srv/nightly', rules: [...view.workspaces, refused] }),
      hostile: table({ rules: [hostile] }),
      none: table({ rules: [] }),
    }),
    entry(PresetList, {
      off: presets('off'),
      on: presets('on'),
      'a name of a later version': presets('off', { name: 'of-a-later-version', title: ESCAPED, words: ESCAPED }),
      disabled: { ...presets('on'), disabled: true },
    }),
    entry(FolderRuns, {
      attended: runs(open),
      unattended: runs(unattended),
      over: runs(session, { over: true }),
      'not in force': runs(refused),
      disabled: runs(open, { disabled: true }),
    }),
    entry(ChangeDialog, {
      'a command': changed(),
      'a folder': changed({ view: open }),
      gone: changed({ gone: true }),
      busy: changed({ busy: true }),
      hostile: changed({ view: hostile }),
    }),
    entry(ChangeRule, { changes: () => changing(view.rules), gone: () => changing([]) }),
    entry(RefuseDialog, {
      rest: { busy: false, now: NOW, onclose: nothing, onsave: nothing },
      busy: { busy: true, now: NOW, onclose: nothing, onsave: nothing },
    }),
    entry(OpenDialog, {
      rest: opening(),
      busy: opening({ busy: true }),
      'cannot be opened': opening({ error: wrong('invalid', `the folder cannot be opened: ${DEEP}`) }),
    }),
  ],
};
