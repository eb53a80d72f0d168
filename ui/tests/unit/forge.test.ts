// @vitest-environment node
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { faultsOfChooser, faultsOfForm, faultsOfUpdates } from './forge/forms';
import { faultsOfScript, faultsOfWorkflow } from './forge/workflows';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Files of a folder of the repository, with what is in them. */
const files = (folder: string) =>
  readdirSync(join(ROOT, folder)).map((name): [string, string] => [
    name,
    readFileSync(join(ROOT, folder, name), 'utf8'),
  ]);

test('every workflow is read by the forge and has no more rights than it needs', async () => {
  const workflows = files('.github/workflows');
  expect(workflows.map(([name]) => name)).toEqual(['advisories.yml', 'change.yml', 'nightly.yml', 'release.yml']);
  for (const [name, text] of workflows) expect(await faultsOfWorkflow(name, text)).toEqual([]);
});

test('every script that workflows start is one for bash', () => {
  for (const [name, text] of files('.ci')) expect(faultsOfScript(name, text)).toEqual([]);
  expect(faultsOfScript('broken', 'if true; then\necho yes\n')).toEqual([expect.stringContaining('broken: ')]);
});

const GOOD = `on: push
permissions: {}
defaults:
  run:
    shell: bash
jobs:
  build:
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@0123456789012345678901234567890123456789 # v1.2.3
        with:
          persist-credentials: false
      - run: echo yes
`;

const WAITS = `  ship:
    needs: test
    permissions: {}
    uses: ./.github/workflows/ship.yml`;

test.each([
  ['an unknown key', 'timeout-minutes: 10', 'timeout-minute: 10', "Unexpected value 'timeout-minute'"],
  ['an unknown event', 'on: push', 'on: psuh', "Unexpected value 'psuh'"],
  ['an unknown permission', 'permissions: {}', 'permissions: { content: read }', "Unexpected value 'content'"],
  [
    'a key that is there twice',
    '    runs-on: ',
    '    timeout-minutes: 5\n    runs-on: ',
    "'timeout-minutes' is already defined",
  ],
  ['an expression that does not end', 'echo yes', 'echo ${{ github.sha', 'The expression is not closed'],
  ['a name that expressions do not have', 'echo yes', 'echo ${{ gihub.sha }}', "Unrecognized named-value: 'gihub'"],
  ['a time that no clock has', 'on: push', "on: { schedule: [{ cron: '99 2 * * *' }] }", 'Invalid cron expression'],
  ['a job that waits for none', 'echo yes', `echo yes\n${WAITS}`, "depends on unknown job 'test'"],
  ["a stranger's change with our rights", 'on: push', 'on: pull_request_target', "a stranger's change"],
  ['no permissions', 'permissions: {}\n', '', 'the workflow has no permissions'],
  ['no permissions of a job', '    permissions:\n      contents: read\n', '', 'job build has no permissions'],
  ['a right for all jobs', 'permissions: {}', 'permissions: { contents: write }', 'the workflow may write contents'],
  ['all rights', 'permissions: {}', 'permissions: write-all', 'the workflow may write-all'],
  ['all there is to read', 'permissions: {}', 'permissions: read-all', 'the workflow may read-all'],
  ['a right that nobody wrote down', 'contents: read', 'contents: write', 'job build may write contents'],
  [
    'an action by its version',
    '@0123456789012345678901234567890123456789 # v1.2.3',
    '@v4',
    'actions/checkout@v4 is not pinned',
  ],
  ['an action by a part of a commit', '0123456789 #', ' #', 'is not pinned by a whole commit'],
  ['an action under a quoted key', 'run: echo yes', '"uses": some/action@main', 'some/action@main is not pinned'],
  [
    'an action on a line of its own',
    'run: echo yes',
    'uses:\n          some/action@main',
    'some/action@main is not pinned',
  ],
  [
    'the image of a service',
    '    steps:',
    '    services:\n      db:\n        image: db:1\n    steps:',
    'db:1 is not pinned by a digest',
  ],
  [
    'another shell for one job',
    '    steps:',
    '    defaults:\n      run:\n        shell: sh\n    steps:',
    'has another shell',
  ],
  ['a commit of no version', ' # v1.2.3', '', 'does not say which version'],
  ['an image by its name', '    steps:', '    container: debian:12\n    steps:', 'debian:12 is not pinned by a digest'],
  ['a machine that changes', 'ubuntu-24.04', 'ubuntu-latest', 'runs on ubuntu-latest'],
  ['no limit of time', '    timeout-minutes: 10\n', '', 'job build has no timeout-minutes'],
  ['a token in the checkout', 'persist-credentials: false', 'fetch-depth: 1', 'leaves its token in the checkout'],
  [
    'text of others as code',
    'echo yes',
    'echo "${{ github.event.pull_request.title }}"',
    'puts an expression into a script',
  ],
  ['a script that is none', 'echo yes', "echo 'yes", 'unexpected EOF'],
  ['another shell', '      - run: echo yes', '      - shell: sh\n        run: echo yes', 'has a script for sh'],
  ['no shell', 'shell: bash', 'working-directory: ui', 'the default shell is not bash'],
])('a workflow with %s is refused', async (_, from, to, fault) => {
  expect(await faultsOfWorkflow('good.yml', GOOD)).toEqual([]);
  expect(GOOD).toContain(from);
  expect(await faultsOfWorkflow('bad.yml', GOOD.replace(from, to))).toEqual([expect.stringContaining(fault)]);
});

test('what may more than read takes nothing from a cache', async () => {
  const release = files('.github/workflows').find(([name]) => name === 'release.yml')?.[1] ?? '';
  const cached = release.replace(
    'steps:\n',
    'steps:\n      - uses: actions/cache@0123456789012345678901234567890123456789 # v1.2.3\n',
  );
  expect(await faultsOfWorkflow('release.yml', cached)).toEqual([expect.stringContaining('uses a cache')]);
});

test('every form and the page to choose one are as the forge knows them', () => {
  for (const [name, text] of files('.github/ISSUE_TEMPLATE')) {
    expect(name === 'config.yml' ? faultsOfChooser(name, text) : faultsOfForm(name, text)).toEqual([]);
  }
});

const FORM = `name: Report
description: Something
body:
  - type: input
    id: version
    attributes:
      label: Version
    validations:
      required: true
  - type: textarea
    id: log
    attributes:
      label: Log
`;

test.each([
  ['an unknown key', 'description:', 'about:', ['has about', 'has no description']],
  ['an unknown element', 'type: input', 'type: text', ['nothing is called text']],
  ['an unknown attribute', 'label: Version', 'label: Version\n      render: text', ['input version has render']],
  ['no label', '      label: Log\n', '      value: x\n', ['textarea log has no label']],
  ['an id that is there twice', 'id: log', 'id: version', ['id version is there twice']],
  ['an id with a blank', 'id: log', 'id: the log', ['an id is letters']],
  ['an unknown validation', 'required: true', 'require: true', ['has require, which nobody knows']],
])('a form with %s is refused', (_, from, to, faults) => {
  expect(faultsOfForm('good.yml', FORM)).toEqual([]);
  expect(faultsOfForm('bad.yml', FORM.replace(from, to))).toEqual(
    faults.map((fault) => expect.stringContaining(fault)),
  );
});

const UPDATES = readFileSync(join(ROOT, '.github/dependabot.yml'), 'utf8');

test.each([
  ['an unknown key', 'commit-message:', 'commit-messages:', 'has commit-messages'],
  ['a folder without any', 'directory: /ui', 'directory: /uis', '/uis has no package.json'],
  ['an unknown interval', 'interval: weekly', 'interval: sometimes', 'is looked for sometimes'],
  ['an unknown kind', 'package-ecosystem: npm', 'package-ecosystem: node', 'nothing here is of node'],
  ['another version', 'version: 2', 'version: 1', 'the version is not 2'],
])('updates with %s are refused, and ours are as the forge knows them', (_, from, to, fault) => {
  expect(faultsOfUpdates('dependabot.yml', UPDATES, ROOT)).toEqual([]);
  expect(faultsOfUpdates('bad.yml', UPDATES.replace(from, to), ROOT)).toEqual([expect.stringContaining(fault)]);
});
