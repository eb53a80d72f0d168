import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { armed, at, calls, hold, places, start } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on the page of rules. */
async function rules(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'rules' } });
  await tab.waitForSelector(at('presets'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** Waits until so many rules are listed. */
const listed = (tab, n) =>
  tab.waitForFunction((n) => document.querySelectorAll('[data-testid="rule"]').length === n, n);

/** Edits that were sent, the newest last. */
const edits = async (tab) => (await calls(tab, 'editRules')).map(([params]) => params);

const row = (id) => `${at('rule')}[data-id="${id}"]`;

/** The cells of the first group's switch; a browser gives a cell the value `on` without writing it down. */
const OFF = `${at('preset-everyday')} label:first-child input`;
const ON = `${at('preset-everyday')} label:last-child input`;

const LOOSER = [{ scope: '*', rule: 'preset', from: '', to: 'everyday: Everyday reading' }];

test('no rule moves when its figures come', async () => {
  for (const width of [720, 1160]) {
    const tab = await browser.open('main', { width, height: 800, query: { page: 'history' } });
    const release = await hold(tab, 'breadthOfRules');
    await tab.evaluate(() => window.mock.emit({ kind: 'show-page', page: 'rules' }));
    await listed(tab, 10);
    const parts = `${at('rule')} :is(td, button)`;
    const before = await places(tab, parts);
    assert.equal(await tab.locator(at('breadth')).count(), 0);
    await release();
    await tab.waitForSelector(at('breadth'), { state: 'attached' });
    assert.deepEqual(await places(tab, parts), before, `${width} px wide`);
    assert.deepEqual(tab.errors, []);
    await tab.done();
  }
});

test('each rule says what it is about, for whom, what is left of it and what it would have met', () =>
  rules(async (tab) => {
    await listed(tab, 10);
    assert.match(await tab.textContent(row('r-1')), /Refuse[^]*git push[^]*Publishing is mine[^]*all agents[^]*always/);
    assert.match(await tab.textContent(row('r-3')), /npm test[^]*storefront[^]*coder[^]*3 of 5 times left/);
    assert.match(await tab.textContent(row('r-4')), /(2 h|1 h 59 min[^]*) left/);
    assert.match(await tab.textContent(row('r-5')), /only in session[^]*camera-digest/);
    assert.match(await tab.textContent(row('r-6')), /time is over/);
    assert.match(await tab.textContent(row('r-7')), /used up/);
    assert.match(await tab.textContent(row('r-8')), /session is over/);
    await tab.waitForSelector(`${row('r-1')} ${at('breadth')}:has-text("12 of 200")`);
  }));

test('what a requester chose to call itself is shown with its hidden characters as codes', () =>
  rules(async (tab) => {
    await tab.evaluate(() => {
      const view = window.mock.ruleView;
      const spans = [
        { kind: 'plain', text: 'co' },
        { kind: 'escape', text: 'U+202E' },
      ];
      view.rules[1] = { ...view.rules[1], agent: { spans }, rule: { ...view.rules[1].rule, agent: 'co\u202e' } };
      window.mock.emit({ kind: 'rules-changed', hash: view.hash });
    });
    await tab.waitForSelector(`${row('r-2')}:has-text("coU+202E")`);
    assert.ok(!/[\u202a-\u202e]/.test(await tab.textContent(at('rules'))));
  }));

test('rules are searched and grouped', () =>
  rules(async (tab) => {
    await tab.fill('input[type="search"]', 'reviEW');
    await listed(tab, 1);
    await tab.fill('input[type="search"]', 'no such thing');
    await tab.waitForSelector(at('no-match'));
    await tab.fill('input[type="search"]', '');
    for (const [group, count] of [
      ['deny', 2],
      ['allow', 5],
      ['over', 3],
      ['all', 10],
    ]) {
      await tab.check(`${at('groups')} [value="${group}"]`);
      await listed(tab, count);
    }
  }));

test('a rule is removed and comes back', () =>
  rules(async (tab) => {
    await tab.click(`${row('r-2')} ${at('rule-remove')}`);
    await listed(tab, 9);
    await tab.click(at('undo'));
    await listed(tab, 10);
    await tab.click(at('redo'));
    await listed(tab, 9);
    assert.deepEqual((await edits(tab))[0].edits, [{ kind: 'remove-rule', id: 'r-2' }]);
  }));

test('undo on one page never takes back what was changed on another, and says what it takes back', () =>
  rules(async (tab) => {
    await tab.click(at('nav-folders'));
    await tab.click(`${at('folder')}[data-id="w-1"] ${at('folder-remove')}`);
    await tab.waitForSelector(`${at('undo')}:has-text("Undo: close engine")`);
    await tab.click(at('nav-rules'));
    assert.ok(await tab.isDisabled(at('undo')), 'nothing was changed here');
    await tab.click(ON);
    await tab.waitForSelector(`${at('undo')}:has-text("Undo: switch on “Everyday reading”")`);
    await tab.click(at('nav-folders'));
    await tab.click(at('undo'));
    await tab.waitForSelector(`${at('folder')}[data-id="w-1"]`);
    await tab.waitForSelector(`${at('undo')}:disabled`);
    await tab.click(at('nav-rules'));
    assert.ok(await tab.isChecked(ON), 'the group is as it was');
    const sent = await edits(tab);
    assert.deepEqual([sent.length, sent.at(-1).edits[0].kind], [3, 'restore-workspace']);
  }));

test('what was changed since is not taken back, and the page says so', () =>
  rules(async (tab) => {
    await tab.click(ON);
    await tab.waitForSelector(`${ON}:checked`);
    await tab.evaluate(() => {
      const { mock } = window;
      mock.ruleView.presets.find(({ name }) => name === 'everyday').switch = 'off';
      mock.ruleView = { ...mock.ruleView, hash: 'theirs' };
      mock.emit({ kind: 'rules-changed', hash: 'theirs', by: 'command-line' });
    });
    await tab.waitForSelector(`${OFF}:checked`);
    await tab.click(at('undo'));
    assert.match(
      await tab.textContent(at('overtaken')),
      /Not undone: switch on “Everyday reading”\. .*changed it since/,
    );
    assert.ok(await tab.isDisabled(at('undo')));
    assert.equal((await edits(tab)).length, 1, 'nothing was sent');
  }));

test('a refusal that is removed goes only after it was named and confirmed', () =>
  rules(async (tab) => {
    const looser = [{ scope: '*', rule: 'refuses-less', from: 'refuse git push …', to: '' }];
    await tab.evaluate((looser) => (window.mock.loosens = looser), looser);
    await tab.click(`${row('r-1')} ${at('rule-remove')}`);
    assert.match(await tab.textContent(at('confirm-loosening')), /no longer refuses[^]*refuse git push/);
    await tab.click(at('loosen-keep'));
    await listed(tab, 10);
    assert.deepEqual(
      (await edits(tab)).map(({ confirmed }) => confirmed),
      [false],
    );
  }));

test('groups are off, and one goes on only after a confirmation that no key gives', () =>
  rules(async (tab) => {
    const off = await tab
      .locator(`${at('preset')} [value="off"]`)
      .evaluateAll((all) => all.every((one) => one.checked));
    assert.ok(off);
    assert.match(
      await tab.textContent(`${at('preset')}[data-name="everyday"]`),
      /Look at files[^]*214 forms|214 forms[^]*Look at files/,
    );
    await tab.evaluate((looser) => (window.mock.loosens = looser), LOOSER);
    await tab.click(ON);
    assert.match(await tab.textContent(at('loosening')), /All agents[^]*Everyday reading[^]*Look at files/);
    const apply = at('loosen-apply');
    await armed(tab, apply);
    await tab.focus(apply);
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Space');
    assert.deepEqual(
      (await edits(tab)).map(({ confirmed }) => confirmed),
      [false],
    );
    await tab.click(apply);
    await tab.waitForSelector(at('confirm-loosening'), { state: 'detached' });
    assert.ok(await tab.isChecked(ON));
    assert.equal((await edits(tab)).at(-1).confirmed, true);
    assert.match(await tab.textContent(`${at('preset')}[data-name="files"]`), /Already part of “Everyday reading”/);
    await tab.click(OFF);
    await tab.waitForSelector(at('preset-within'), { state: 'detached' });
  }));

test('a group stays off when its confirmation is refused', () =>
  rules(async (tab) => {
    await tab.evaluate((looser) => (window.mock.loosens = looser), LOOSER);
    await tab.click(ON);
    await tab.click(at('loosen-keep'));
    await tab.waitForSelector(at('confirm-loosening'), { state: 'detached' });
    assert.ok(await tab.isChecked(OFF));
  }));

test('how long a rule counts is changed, and only that', () =>
  rules(async (tab) => {
    await tab.click(`${row('r-3')} ${at('rule-change')}`);
    assert.equal(await tab.inputValue(at('change-uses')), '3', 'what is left is where it begins');
    await tab.fill(at('change-uses'), '10');
    await tab.click(at('change-save'));
    await tab.waitForSelector(at('change-dialog'), { state: 'detached' });
    const [edit] = (await edits(tab))[0].edits;
    assert.deepEqual([edit.kind, edit.id, edit.rule.limits], ['replace-rule', 'r-3', { uses: 12 }]);
    assert.deepEqual([edit.rule.program, edit.rule.agent], ['/usr/bin/npm', 'coder']);
    await tab.click(`${row('r-1')} ${at('rule-change')}`);
    assert.equal(await tab.locator(`${at('change-kind')} [value="uses"]`).count(), 0, 'a refusal is not used up');
  }));

test('a refusal is written with what was typed, and Enter saves it', () =>
  rules(async (tab) => {
    await tab.click(at('rule-refuse'));
    assert.equal(await tab.isDisabled(at('refuse-save')), true);
    await tab.fill(at('refuse-program'), 'git');
    await tab.fill(at('refuse-words'), ' push  --force');
    await tab.fill(at('refuse-folder'), 'src');
    assert.match(await tab.textContent(at('refuse-dialog')), /A folder begins with \//);
    assert.equal(await tab.isDisabled(at('refuse-save')), true);
    await tab.fill(at('refuse-folder'), '/home/mina/src');
    await tab.keyboard.press('Enter');
    await listed(tab, 11);
    const [{ rule }] = (await edits(tab))[0].edits;
    assert.deepEqual([rule.agent, rule.effect, rule.program, rule.folder], ['*', 'deny', 'git', '/home/mina/src']);
    assert.deepEqual(rule.arguments.shape.subcommand, ['push', '--force']);
    assert.equal(rule.limits, undefined);
  }));

test('without rules the page says what to do', () =>
  rules(async (tab) => {
    await tab.evaluate(() => {
      window.mock.ruleView.rules = [];
      window.mock.ruleView.calls = [];
      window.mock.emit({ kind: 'rules-changed', hash: 'other', by: 'another-program' });
    });
    assert.match(await tab.textContent(at('empty')), /No rules yet[^]*Allow…/);
    await tab.waitForSelector(at('changed-elsewhere'));
  }));

test('rules that cannot be read are said so, and are moved aside only after the word was typed', () =>
  rules(async (tab) => {
    await tab.evaluate(() => {
      window.mock.ruleView.state = { kind: 'unreadable', problem: 'line 3: unknown field' };
      window.mock.emit({ kind: 'rules-changed', hash: window.mock.ruleView.hash });
    });
    assert.match(await tab.textContent(at('rules-unreadable')), /line 3[^]*asked about every command/);
    assert.equal(await tab.isDisabled(at('rule-refuse')), true);
    await tab.click(at('rules-reset'));
    await tab.fill(at('reset-word'), 'RESET');
    await armed(tab, at('reset-confirm'));
    await tab.click(at('reset-confirm'));
    assert.match(await tab.textContent(at('rules-aside')), /rules\.json\.unusable/);
    await tab.waitForSelector(at('rules-unreadable'), { state: 'detached' });
  }));

test('a rule from an answer leads to the history', () =>
  rules(async (tab) => {
    await tab.locator(at('rule-history')).first().click();
    await tab.waitForSelector(at('history-row'));
  }));

test('rules about calls stand in the same list, end otherwise, go and come back', () =>
  rules(async (tab) => {
    await listed(tab, 10);
    assert.match(
      await tab.textContent(row('c-1')),
      /Allow[^]*Changes of files below[^]*storefront[^]*\*\.ts[^]*claude-code[^]*only in session/,
    );
    assert.match(
      await tab.textContent(row('c-2')),
      /Refuse[^]*Fetching from[^]*\*\.example\.org[^]*Not from here[^]*all agents/,
    );
    await tab.fill('input[type="search"]', 'example.org');
    await listed(tab, 1);
    await tab.fill('input[type="search"]', '');
    await tab.click(`${row('c-1')} ${at('rule-change')}`);
    await tab.check('input[value="always"]');
    await tab.click(at('change-save'));
    await tab.waitForFunction((row) => /always/.test(document.querySelector(row).textContent), row('c-1'));
    assert.deepEqual((await edits(tab)).at(-1).edits[0].rule.limits, {});
    await tab.click(`${row('c-1')} ${at('rule-remove')}`);
    await listed(tab, 9);
    await tab.click(at('undo'));
    await listed(tab, 10);
    assert.equal((await edits(tab)).at(-1).edits[0].kind, 'restore-call-rule');
  }));
