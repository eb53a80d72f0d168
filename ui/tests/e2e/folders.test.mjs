import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, calls, places, shows, start, state } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

const LANGUAGES = ['en', 'zh', 'ko'];

/** Runs `body` on the page of open folders. */
async function folders(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'folders' } });
  await listed(tab, 5);
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** Runs `body` on a prompt that shows the card `make`. */
async function prompt(make, body, options = {}) {
  const tab = await browser.open('prompt', options);
  await add(tab, make, 'a');
  await shows(tab, 'a');
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** Waits until so many folders are listed. */
const listed = (tab, n) =>
  tab.waitForFunction((n) => document.querySelectorAll('[data-testid="folder"]').length === n, n);

/** Edits that were sent, the newest last. */
const edits = async (tab) => (await calls(tab, 'editRules')).map(([params]) => params);

const row = (id) => `${at('folder')}[data-id="${id}"]`;

const confirm = at('allow-always-confirm');
const opens = `${at('sheet-option')}[value="workspace"]`;

/** What the next edit would let run. */
async function loosens(tab, to) {
  await tab.evaluate((to) => {
    window.mock.loosens = [{ scope: 'coder', rule: 'allows', from: '', to }];
  }, to);
}

async function applies(tab) {
  await armed(tab, at('loosen-apply'));
  await tab.click(at('loosen-apply'));
  await tab.waitForSelector(at('confirm-loosening'), { state: 'detached' });
}

test('each open folder says for whom, how long, what ran there and what is over', () =>
  folders(async (tab) => {
    assert.match(await tab.textContent(row('w-1')), /Open[^]*src\/engine[^]*212 runs in a box, the last 3 hours ago/);
    assert.match(await tab.textContent(row('w-1')), /coder[^]*(7 h|6 h 59 min[^]*) left/);
    assert.match(await tab.textContent(row('w-2')), /1 run in a box[^]*only in session[^]*agent:coder:fix-login/);
    assert.match(await tab.textContent(row('w-3')), /nightly builds[^]*Nothing ran[^]*all agents[^]*always[^]*by hand/);
    assert.match(await tab.textContent(row('w-4')), /Closed[^]*time is over/);
    assert.match(await tab.textContent(row('w-5')), /Closed[^]*session is over/);
    const unattended = (id) => tab.locator(`${row(id)} ${at('folder-unattended')}`);
    assert.equal(await unattended('w-3').isChecked(), true);
    assert.equal(await unattended('w-1').isChecked(), false);
    assert.equal(await unattended('w-4').count(), 0, 'for no run at all any more');
    assert.match(await tab.textContent(row('w-4')), /U\+202E/);
    assert.ok(!/[\u202a-\u202e]/.test(await tab.textContent(at('content'))));
  }));

test('a folder is closed and comes back', () =>
  folders(async (tab) => {
    await tab.click(`${row('w-1')} ${at('folder-remove')}`);
    await listed(tab, 4);
    await tab.click(at('undo'));
    await listed(tab, 5);
    await tab.click(at('redo'));
    await listed(tab, 4);
    const sent = await edits(tab);
    const [back] = sent[1].edits;
    const { folder, agent } = back.rule;
    assert.deepEqual(sent[0].edits, [{ kind: 'close-workspace', folder, agent }]);
    assert.deepEqual([back.kind, back.index, back.rule.id], ['restore-workspace', 0, 'w-1']);
  }));

test('how long a folder is open is changed, and only that', () =>
  folders(async (tab) => {
    await tab.click(`${row('w-2')} ${at('folder-change')}`);
    assert.match(await tab.textContent(at('change-dialog')), /How long this folder stays open[^]*storefront/);
    const kinds = await tab.$$eval(`${at('change-kind')} [value]`, (found) => found.map((one) => one.value));
    assert.deepEqual(kinds, ['for', 'session', 'always'], 'runs in it are not counted');
    await tab.check(`${at('change-kind')} [value="always"]`);
    assert.match(await tab.textContent(at('change-dialog')), /Until you close the folder/);
    await loosens(tab, 'allow in a box what runs in /home/mina/src/storefront');
    await tab.click(at('change-save'));
    assert.match(await tab.textContent(at('loosening')), /in a box what runs in/);
    await applies(tab);
    await tab.waitForSelector(at('change-dialog'), { state: 'detached' });
    await tab.waitForSelector(`${row('w-2')} ${at('folder-left')}:has-text("always")`);
    const [edit] = (await edits(tab)).at(-1).edits;
    assert.deepEqual([edit.kind, edit.id, edit.rule.limits], ['replace-workspace', 'w-2', {}]);
    assert.deepEqual([edit.rule.folder, edit.rule.attendance], ['/home/mina/src/storefront', 'attended']);
  }));

test('a folder is open for runs that nobody is asked about only after a confirmation', () =>
  folders(async (tab) => {
    const box = `${row('w-1')} ${at('folder-unattended')}`;
    await loosens(tab, 'allow in a box what runs in /home/mina/src/engine, also where nobody is asked');
    await tab.click(box);
    assert.match(await tab.textContent(at('confirm-loosening')), /also where nobody is asked/);
    await tab.click(at('loosen-keep'));
    await tab.waitForSelector(at('confirm-loosening'), { state: 'detached' });
    assert.equal(await tab.isChecked(box), false);
    await tab.focus(box);
    await tab.keyboard.press('Space');
    await applies(tab);
    await tab.waitForSelector(`${box}:checked`);
    const [edit] = (await edits(tab)).at(-1).edits;
    assert.deepEqual([edit.kind, edit.rule.attendance], ['replace-workspace', 'unattended']);
    assert.ok(edit.rule.limits.untilMs > 0, 'the rest of it stays');
    await tab.click(box);
    await tab.waitForSelector(`${box}:not(:checked)`);
    await tab.click(at('undo'));
    await tab.waitForSelector(`${box}:checked`);
  }));

test('a folder is opened with what was typed, after it was named and confirmed', () =>
  folders(async (tab) => {
    await tab.click(at('folder-open'));
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'open-folder');
    assert.equal(await tab.isDisabled(at('open-save')), true);
    await tab.fill(at('open-agent'), ' coder ');
    await tab.fill(at('open-folder'), 'src');
    assert.match(await tab.textContent(at('open-dialog')), /A folder begins with \//);
    assert.equal(await tab.isDisabled(at('open-save')), true);
    await tab.fill(at('open-folder'), '/srv/work/');
    await tab.fill(at('open-note'), 'Mine.');
    await tab.check(`${at('open-kind')} [value="always"]`);
    await loosens(tab, 'allow in a box what runs in /srv/work');
    await tab.keyboard.press('Enter');
    assert.match(await tab.textContent(at('confirm-loosening')), /Agent coder[^]*\/srv\/work/);
    await applies(tab);
    await tab.waitForSelector(at('open-dialog'), { state: 'detached' });
    await listed(tab, 6);
    const sent = (await edits(tab)).at(-1);
    assert.equal(sent.confirmed, true);
    const rule = { agent: 'coder', folder: '/srv/work', attendance: 'attended', note: 'Mine.' };
    assert.deepEqual(sent.edits, [{ kind: 'open-workspace', rule }]);
    await tab.click(at('undo'));
    await listed(tab, 5);
  }));

test('why a folder cannot be opened is said in the dialog, which stays for another try', () =>
  folders(async (tab) => {
    await tab.click(at('folder-open'));
    await tab.fill(at('open-folder'), '/etc');
    await tab.fill(at('open-agent'), '*');
    await tab.click(at('open-save'));
    assert.match(await tab.textContent(at('open-error')), /cannot be opened: \/etc/);
    assert.equal(await tab.locator(at('document-error')).count(), 0, 'it is said once');
    await tab.fill(at('open-folder'), '/srv/work');
    await tab.click(at('open-save'));
    await tab.waitForSelector(at('open-dialog'), { state: 'detached' });
    await listed(tab, 6);
    const [{ rule }] = (await edits(tab)).at(-1).edits;
    assert.ok(rule.limits.untilMs > Date.now(), 'for a time unless something else is picked');
    await tab.click(at('folder-open'));
    await tab.fill(at('open-folder'), '/');
    await tab.fill(at('open-agent'), '*');
    await tab.click(at('open-save'));
    await tab.waitForSelector(at('open-error'));
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('open-dialog'), { state: 'detached' });
    assert.equal(await tab.locator(at('document-error')).count(), 0, 'nothing is left of it');
  }));

test('a folder is found by any of its words', () =>
  folders(async (tab) => {
    const search = 'input[type="search"]';
    await tab.fill(search, 'ENGINE');
    await listed(tab, 1);
    await tab.fill(search, 'nightly builds');
    await tab.waitForSelector(row('w-3'));
    await listed(tab, 1);
    await tab.fill(search, 'ffmpeg');
    await tab.waitForSelector(at('folders-no-match'));
    await tab.fill(search, '');
    await listed(tab, 5);
  }));

test('the page of rules says where open folders are, and leads there', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'rules' } });
  await tab.waitForSelector(at('rule'));
  assert.equal(await tab.locator(at('folder')).count(), 0, 'in one place, not in two');
  assert.match(await tab.textContent(at('folders-hint')), /open for agents[^]*on the page Folders/);
  await tab.click(at('folders-go'));
  await listed(tab, 5);
  assert.equal(await tab.getAttribute(at('nav-folders'), 'aria-current'), 'page');
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

test('without a folder the page says what opening one does and where it is offered', () =>
  folders(async (tab) => {
    await tab.evaluate(() => {
      window.mock.ruleView.workspaces = [];
      window.mock.emit({ kind: 'rules-changed', hash: window.mock.ruleView.hash });
    });
    assert.match(await tab.textContent(at('folders-empty')), /in a box[^]*connect to[^]*“Open folder…”[^]*“Allow…”/);
    await tab.click(`${at('folders-empty')} ${at('folder-open')}`);
    await tab.waitForSelector(at('open-dialog'));
  }));

test('what would be contained is said where a command is tried', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'allowlist' } });
  await tab.fill(at('test-command'), 'make all');
  await tab.waitForSelector(`${at('test-verdict')}[data-verdict="contain"]`);
  assert.match(await tab.textContent(at('test-verdict')), /It would run unasked in a box/);
  assert.match(await tab.textContent(at('trace')), /open for coder:[^]*src\/engine[^]*a box holds it/);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

test('what ran in a box is among what was allowed', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'history' } });
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => {
    const line = window.mock.lines.find(({ event }) => event.kind === 'request');
    const event = { ...line.event, command: 'make all', outcome: { kind: 'contained' } };
    window.mock.emit({ kind: 'history-appended', entry: { ...line, seq: 900, requestId: 'box', event } });
  });
  await tab.check(`${at('groups')} [value="allowed"]`);
  assert.match(await tab.textContent(`${at('history-row')}[data-seq="900"]`), /Ran in a box/);
  await tab.done();
});

test('the sheet opens on the first rung, and to open the folder is another choice in it', () =>
  prompt('openable', async (tab) => {
    await armed(tab);
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    assert.equal(await tab.isChecked(`${at('sheet-option')}[value="exact"]`), true);
    assert.match(await tab.textContent(confirm), /Allow this exact command 5 more times/);
    assert.equal(await tab.locator(at('sheet-box')).count(), 0);
    await armed(tab, confirm);
    await tab.check(opens);
    assert.equal(await tab.getAttribute(confirm, 'data-armed'), 'false', 'it is another right');
    assert.match(
      await tab.textContent(at('sheet-opens')),
      /Open this folder for coder[^]*Whatever runs in\s+\/home\/mina\/src\/storefront\s+runs in a box, without asking/,
    );
    assert.match(await tab.textContent(at('sheet-box')), /writes only in this folder[^]*secrets[^]*asked about pushes/);
    const kinds = await tab.$$eval(`${at('sheet-kind')} [value]`, (found) => found.map((one) => one.value));
    assert.deepEqual(kinds, ['for', 'session', 'always']);
    assert.match(await tab.textContent(confirm), /Open folder until this session is over/);
    await tab.check(`${at('sheet-kind')} [value="for"]`);
    await tab.selectOption(at('sheet-time'), '3600000');
    assert.match(await tab.textContent(confirm), /Open folder for 1 h/);
    await tab.check(`${at('sheet-option')}[value="shape"]`);
    assert.match(await tab.textContent(confirm), /Allow this shape 5 more times/, 'a time of its own');
    await tab.check(opens);
    await tab.check(`${at('sheet-kind')} [value="always"]`);
    await armed(tab, confirm);
    await tab.click(confirm);
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.equal(params.decision, 'allow-always');
    assert.deepEqual(params.remember, { rung: 'workspace', lasting: { kind: 'always' } });
  }));

test('the card offers it by itself, and the focus goes back to where the sheet was opened', () =>
  prompt('openable', async (tab) => {
    await armed(tab);
    await tab.click(at('open-folder'));
    await tab.waitForSelector(at('sheet'));
    assert.equal(await tab.isChecked(opens), true);
    await tab.click(at('sheet-back'));
    await tab.waitForSelector(at('sheet'), { state: 'detached' });
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'open-folder');
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    assert.equal(await tab.isChecked(`${at('sheet-option')}[value="exact"]`), true);
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('sheet'), { state: 'detached' });
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'allow-more');
    assert.deepEqual(await calls(tab, 'decide'), []);
  }));

test('a card whose folder cannot be opened has no such button', () =>
  prompt('harmless', async (tab) => {
    await armed(tab);
    assert.equal(await tab.locator(at('open-folder')).count(), 0);
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    assert.equal(await tab.locator(opens).count(), 0);
  }));

test('a folder is opened by keyboard alone, and by no key but the whole chord', () =>
  prompt('openable', async (tab) => {
    await tab.focus(at('open-folder'));
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('sheet'));
    await tab.focus(opens);
    await tab.keyboard.press('ArrowUp');
    assert.equal(await tab.isChecked(`${at('sheet-option')}[value="subcommand"]`), true);
    await tab.keyboard.press('ArrowDown');
    assert.equal(await tab.isChecked(opens), true);
    await armed(tab, confirm);
    await tab.focus(confirm);
    for (const key of ['Enter', 'Space', 'Control+Enter']) await tab.keyboard.press(key);
    assert.deepEqual(await calls(tab, 'decide'), []);
    await tab.keyboard.press('Control+Shift+Enter');
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.deepEqual(params.remember, { rung: 'workspace', lasting: { kind: 'session' } });
  }));

test('what no rule covers can still be remembered by opening its folder, and the sheet opens on that', () =>
  prompt('onlyOpenable', async (tab) => {
    await armed(tab);
    assert.equal(await tab.locator(at('always-unavailable')).count(), 0);
    assert.match(await tab.textContent(at('why')), /No rule can cover it/);
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    assert.equal(await tab.isChecked(opens), true);
    assert.match(await tab.textContent(at('sheet-opens')), /U\+202E[^]*a-very-long-folder-name\/[^]*U\+202E/);
    assert.ok(!/[\u202a-\u202e]/.test(await tab.textContent(at('sheet'))));
    await armed(tab, confirm);
    await tab.click(confirm);
    await state(tab, 'blank');
  }));

test('without a session a folder is open for a time to begin with', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    const card = window.cards.openable('a', Date.now());
    delete card.session;
    window.mock.emit({ kind: 'card-added', card });
  });
  await shows(tab, 'a');
  await tab.click(at('open-folder'));
  await tab.waitForSelector(at('sheet'));
  const kinds = await tab.$$eval(`${at('sheet-kind')} [value]`, (found) => found.map((one) => one.value));
  assert.deepEqual(kinds, ['for', 'always']);
  assert.match(await tab.textContent(confirm), /Open folder for 10 min/);
  await tab.done();
});

test('who is still asked although the folder is open sees the card again', () =>
  prompt('openable', async (tab) => {
    await tab.evaluate(() => (window.mock.boxes = false));
    await tab.click(at('open-folder'));
    await armed(tab, confirm);
    await tab.click(confirm);
    await tab.waitForSelector(at('sheet'), { state: 'detached' });
    await armed(tab);
    assert.equal((await calls(tab, 'decide')).length, 1);
    await tab.evaluate(() => window.mock.emit({ kind: 'card-closed', id: 'a', outcome: { kind: 'contained' } }));
    assert.match(await tab.textContent(at('outcome')), /Ran in a box/);
    await state(tab, 'blank');
  }));

test('a card that went into the box by another answer says so', () =>
  prompt('card', async (tab) => {
    await tab.evaluate(() => window.mock.emit({ kind: 'card-closed', id: 'a', outcome: { kind: 'contained' } }));
    await tab.waitForSelector(`${at('outcome')}[data-outcome="contained"]`);
    assert.match(await tab.textContent(at('outcome')), /Ran in a box/);
  }));

test('card and sheet fit from 360×300 to 680×830 in every language, whatever the folder is called', async () => {
  for (const [width, height] of [
    [360, 300],
    [560, 600],
    [680, 830],
  ]) {
    for (const language of LANGUAGES) {
      for (const make of ['openable', 'onlyOpenable']) {
        const said = `${make} ${language} ${width}`;
        await prompt(
          make,
          async (tab) => {
            const inside = async (id) => {
              const box = await tab.locator(at(id)).boundingBox();
              assert.ok(box.x >= 0 && box.x + box.width <= width + 0.5, `${id} ${said}: ${JSON.stringify(box)}`);
              assert.ok(box.y >= 0 && box.y + box.height <= height + 0.5, `${id} ${said}: ${JSON.stringify(box)}`);
            };
            await inside('open-folder');
            await tab.click(at('open-folder'));
            await tab.waitForSelector(at('sheet'));
            for (const id of ['sheet-back', 'allow-always-confirm']) await inside(id);
            const [excess, top] = await tab.evaluate(() => {
              const content = document.querySelector('[data-testid="sheet"] [role="region"]');
              const choice = document.querySelector('[data-testid="sheet-opens"]');
              const above = content.getBoundingClientRect().top - choice.getBoundingClientRect().top;
              return [content.scrollWidth - content.clientWidth, above];
            });
            assert.ok(excess <= 0, `${said}: ${excess} px too wide`);
            assert.ok(top <= 0.5, `${said}: the choice begins ${top} px above what is in view`);
            await inside('sheet-back');
          },
          { width, height, language },
        );
      }
    }
  }
});

test('a stray key moves no button of a card that offers its folder', () =>
  prompt('openable', async (tab) => {
    const buttons = `${at('verdict')} button`;
    const before = await places(tab, buttons);
    await tab.stray('a');
    await tab.waitForSelector(`${at('card')}[data-keys="false"]`);
    assert.deepEqual(await places(tab, buttons), before);
  }));

test('the list and its dialogs fit 360×300 in every language', async () => {
  for (const language of LANGUAGES) {
    await folders(
      async (tab) => {
        const wide = () =>
          tab.evaluate(() => {
            const content = document.querySelector('[data-testid="content"]');
            return [document.scrollingElement.scrollWidth - innerWidth, content.scrollWidth - content.clientWidth];
          });
        assert.ok(
          (await wide()).every((excess) => excess <= 0),
          language,
        );
        await tab.locator(at('folder-open')).click();
        const box = await tab.locator(at('open-save')).boundingBox();
        assert.ok(box.x + box.width <= 360 && box.y + box.height <= 300, `${language}: ${JSON.stringify(box)}`);
      },
      { width: 360, height: 300, language },
    );
  }
});
