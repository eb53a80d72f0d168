import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { armed, at, calls, hold, start } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

const LANGUAGES = ['en', 'zh', 'ko'];
const ENGINE = '/home/mina/src/engine';

/** Runs `body` on the page of folders once it is told what happened there. */
async function folders(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'folders' } });
  await tab.waitForSelector(at('folder-connections-part'));
  await tab.waitForSelector(at('folder-reached-part'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

const card = (tab, folder = ENGINE) => tab.locator(`${at('folder-card')}[data-folder="${folder}"]`);

/** Edits that were sent, the newest last. */
const edits = async (tab) => (await calls(tab, 'editRules')).map(([params]) => params);

/** What the next edit would let through. */
async function loosens(tab, to) {
  await tab.evaluate((to) => (window.mock.loosens = [{ scope: 'coder', rule: 'allows', from: '', to }]), to);
}

async function applies(tab) {
  await armed(tab, at('loosen-apply'));
  await tab.click(at('loosen-apply'));
  await tab.waitForSelector(at('confirm-loosening'), { state: 'detached' });
}

/** Opens the connections of the sample folder. */
async function connections(tab) {
  await card(tab)
    .locator(`${at('folder-connections-part')} > summary`)
    .click();
  await card(tab).locator(at('folder-add')).waitFor();
}

async function violations(tab) {
  await tab.evaluate(AXE);
  const found = await tab.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

test('a folder says what its runs reached and changed, and that nothing happened in another', () =>
  folders(async (tab) => {
    const reached = card(tab).locator(at('folder-reached-part'));
    assert.match(
      await reached.textContent(),
      /Reached 3 destinations[^]*static.crates.io:443[^]*31\.4 kB sent, 48\.2 MB received[^]*in 41 runs[^]*localhost:5432[^]*in 1 run/,
    );
    assert.equal(await reached.getAttribute('open'), '');
    const changed = card(tab).locator(at('folder-changed-part'));
    assert.match(await changed.textContent(), /Changed 19 times[^]*Put back, 4 minutes ago[^]*move-to-cargo.sh --tidy/);
    assert.match(await changed.textContent(), /by coder, 9 minutes ago[^]*17 older lines are in the history/);
    const other = card(tab, '/home/mina/src/storefront');
    assert.match(await other.textContent(), /Reached nothing[^]*Changed nothing/);
    assert.equal(await other.locator(at('folder-reached-part')).getAttribute('open'), null);
    const hostile = card(tab, '/srv/nightly').locator(at('folder-reached-part'));
    assert.match(await hostile.textContent(), /\\u\{202E\}gro[^]*and 1 more/);
    assert.equal(await tab.locator(at('folders-since')).count(), 0, 'by the whole history');
  }));

test('a change opens to its files, is put back there, and the history is one click away', () =>
  folders(async (tab) => {
    const line = card(tab).locator(`${at('changes')}[data-seq="70"][data-whole="line"]`);
    await line.locator(at('changes-open')).click();
    await line.locator(at('change-row')).first().waitFor();
    await line.locator(at('change-put-back')).first().click();
    await line.locator(at('put-back-result')).waitFor();
    assert.deepEqual(await calls(tab, 'putBack'), [[{ seq: 70, change: 0 }]]);
    await card(tab).locator(at('folder-to-history')).click();
    await tab.waitForSelector(at('history-row'));
    assert.equal(await tab.getAttribute(at('nav-history'), 'aria-current'), 'page');
  }));

test('everything that a session changed in a folder is put back from any of its runs', () =>
  folders(async (tab) => {
    const lines = card(tab).locator(at('folder-change-line'));
    assert.deepEqual(
      await lines.locator(`${at('changes')}[data-whole="session"]`).count(),
      1,
      'not at what was put back',
    );
    const session = card(tab).locator(`${at('changes')}[data-seq="70"][data-whole="session"]`);
    assert.match(await session.textContent(), /Everything this session changed here\s*$/);
    await session.locator(at('changes-open')).click();
    await session.locator(at('change-row')).first().waitFor();
    assert.match(await session.textContent(), /changed here \(9 runs\): 2 made, 1 changed, 1 deleted in/);
    assert.match(await session.locator(at('session-lost')).textContent(), /2 more runs changed something/);
    await session.locator(at('changes-put-back-all')).click();
    await armed(tab, at('changes-put-back-confirm'));
    await session.locator(at('changes-put-back-confirm')).click();
    await session.locator(at('put-back-result')).waitFor();
    assert.deepEqual(await calls(tab, 'putBack'), [[{ seq: 70, session: { first: 41, last: 70, runs: 9 } }]]);
  }));

test('what happens meanwhile is read at once, and only while the page is looked at', () =>
  folders(async (tab) => {
    const before = (await calls(tab, 'folders')).length;
    const release = await hold(tab, 'folders');
    await tab.evaluate((folder) => {
      window.mock.doings[folder].reached.push({ destination: 'docs.rs:443', up: 5, down: 5, runs: 1 });
      const run = { exitCode: 0, timedOut: false, durationMs: 1, outputTail: '' };
      for (const seq of [900, 901, 902, 903])
        window.mock.emit({
          kind: 'history-appended',
          entry: { seq, atMs: Date.now(), requestId: `r-${seq}`, event: { kind: 'run', run } },
        });
    }, ENGINE);
    await release();
    await tab.waitForFunction(() => document.body.textContent.includes('docs.rs:443'));
    const read = (await calls(tab, 'folders')).length - before;
    assert.ok(read <= 2, `four lines were read in ${read} goes`);
    await tab.evaluate(() => (window.mock.held = {}));
    await tab.click(at('nav-rules'));
    await tab.waitForSelector(at('rule'));
    const left = (await calls(tab, 'folders')).length;
    await tab.evaluate(() => window.mock.emit({ kind: 'rules-changed', hash: 'other' }));
    await tab.waitForFunction(() => window.mock.calls.filter(({ name }) => name === 'rules').length > 1);
    assert.equal((await calls(tab, 'folders')).length, left);
  }));

test('a history that cannot be read leaves the folders there, and one that is cut says since when it tells', async () => {
  const options = { width: 1160, height: 800, start: { foldersSince: Date.UTC(2026, 10, 12) } };
  await folders(async (tab) => {
    assert.match(await tab.textContent(at('folders-since')), /by the history since .*12/);
    await tab.evaluate(() => {
      window.mock.fail('folders', 'internal', 'the history is damaged');
      window.mock.emit({ kind: 'rules-changed', hash: 'other' });
    });
    await tab.waitForSelector(at('folders-error'));
    assert.match(await tab.textContent(at('folders-error')), /could not be read/);
    assert.equal(await card(tab).locator(at('folder')).count(), 1);
  }, options);
});

test('registries are switched on after a confirmation, by mouse and by keyboard, and off at once', () =>
  folders(async (tab) => {
    await connections(tab);
    const npm = `${at('folder-card')}[data-folder="${ENGINE}"] ${at('folder-registry')}[data-group="npm"]`;
    assert.equal(await tab.isChecked(npm), false, 'off at first');
    await loosens(tab, 'connections to registries of npm');
    await tab.click(npm);
    assert.match(await tab.textContent(at('confirm-loosening')), /registries of npm/);
    await tab.click(at('loosen-keep'));
    await tab.waitForSelector(at('confirm-loosening'), { state: 'detached' });
    assert.equal(await tab.isChecked(npm), false);
    await tab.focus(npm);
    await tab.keyboard.press('Space');
    await applies(tab);
    await tab.waitForSelector(`${npm}:checked`);
    const rule = { agent: 'coder', effect: 'allow', about: { registries: { group: 'npm', within: ENGINE } } };
    assert.deepEqual((await edits(tab)).at(-1).edits, [{ kind: 'add-call-rule', rule }]);
    assert.match(await card(tab).locator(at('folder-connections-part')).textContent(), /Connections: 1 rule/);
    await tab.click(npm);
    await tab.waitForSelector(`${npm}:not(:checked)`);
    await tab.click(at('undo'));
    await tab.waitForSelector(`${npm}:checked`);
    const other = `${at('folder-card')}[data-folder="/srv/nightly"] ${at('folder-registry')}[data-group="npm"]`;
    assert.equal(await tab.isChecked(other), false, 'it counts for this folder alone');
  }));

test('a destination is added as it was read, is listed, removed, and comes back', () =>
  folders(async (tab) => {
    await connections(tab);
    await card(tab).locator(at('folder-add')).click();
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'destination-name');
    assert.match(await tab.textContent(at('destination-dialog')), /src[^]*engine[^]*docs.rs:443/);
    assert.equal(await tab.isDisabled(at('destination-save')), true);
    await tab.fill(at('destination-name'), 'docs.rs');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('destination-error'));
    assert.match(await tab.textContent(at('destination-error')), /HOST:PORT/);
    assert.deepEqual(await edits(tab), [], 'nothing was sent');
    await tab.fill(at('destination-name'), ' *.Docs.RS:443 ');
    await loosens(tab, 'connections to *.docs.rs:443');
    await tab.keyboard.press('Enter');
    assert.match(await tab.textContent(at('confirm-loosening')), /docs\.rs:443/);
    await applies(tab);
    await tab.waitForSelector(at('destination-dialog'), { state: 'detached' });
    const about = { crossing: { host: '*.docs.rs', port: 443, place: 'internet', within: ENGINE } };
    const rule = { agent: 'coder', effect: 'allow', about, limits: {} };
    assert.deepEqual((await edits(tab)).at(-1).edits, [{ kind: 'add-call-rule', rule }]);
    const listed = card(tab).locator(at('folder-rule'));
    assert.match(await listed.textContent(), /Allow[^]*\*\.docs\.rs:443[^]*coder[^]*always/);
    await listed.locator(at('folder-rule-remove')).click();
    await listed.waitFor({ state: 'detached' });
    await tab.click(at('undo'));
    await listed.waitFor();
    await card(tab).locator(at('folder-add')).click();
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('destination-dialog'), { state: 'detached' });
  }));

test('rules for any box are named where they count, and taken away only on their own page', () =>
  folders(async (tab) => {
    await tab.evaluate(() => {
      const rule = (id, effect, group) => ({
        id,
        agent: '*',
        effect,
        about: { registries: { group } },
        createdAtMs: Date.now(),
        from: 'typed',
      });
      window.mock.addCalls([rule('any', 'allow', 'cargo'), rule('never', 'deny', 'pypi')]);
    });
    await card(tab)
      .locator(`${at('folder-rule')}[data-id="any"]`)
      .waitFor();
    const part = card(tab).locator(at('folder-connections-part'));
    assert.match(await part.textContent(), /Rust crates[^]*from any box[^]*Refuse[^]*Python packages/);
    assert.match(await part.textContent(), /allowed from any box already[^]*refused by a rule/);
    assert.equal(await part.locator(at('folder-rule-remove')).count(), 0);
  }));

test('the folder at hand is opened by one click and a confirmation, and not offered again', () =>
  folders(async (tab) => {
    assert.equal(await tab.locator(at('at-hand')).count(), 0);
    await tab.evaluate(() => {
      window.mock.atHand = window.folders.atHand();
      window.mock.emit({ kind: 'rules-changed', hash: window.mock.ruleView.hash });
    });
    await tab.waitForSelector(at('at-hand'));
    assert.match(
      await tab.textContent(at('at-hand')),
      /claude-code asked last in \/home\/mina\/src\/harbor[^]*in a box/,
    );
    await loosens(tab, 'allow in a box what runs in /home/mina/src/harbor');
    await tab.focus(at('at-hand-open'));
    await tab.keyboard.press('Enter');
    await applies(tab);
    await tab.waitForSelector(at('at-hand'), { state: 'detached' });
    const [{ rule }] = (await edits(tab)).at(-1).edits;
    assert.deepEqual([rule.agent, rule.folder, rule.attendance], ['claude-code', '/home/mina/src/harbor', 'attended']);
    assert.ok(rule.limits.untilMs > Date.now());
    await card(tab, '/home/mina/src/harbor').waitFor();
  }));

/** The last of the first steps, with a folder that could be opened. */
async function lastStep(body, options = {}) {
  const shown = (text) => ({ spans: [{ kind: 'plain', text }] });
  const folder = '/home/mina/src/harbor';
  const atHand = { agent: 'claude-code', folder, agentShown: shown('claude-code'), folderShown: shown(folder) };
  const start = { firstSteps: 'due', atHand };
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, start, query: { page: 'inbox' } });
  await tab.waitForSelector(at('first-steps'));
  assert.equal(await tab.locator(at('at-hand')).count(), 0, 'agents come first');
  await tab.click(at('step-next'));
  await tab.click(at('step-next'));
  await tab.waitForSelector(at('at-hand'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

test('the first steps offer the folder at hand, say what it means, and open it after a confirmation', () =>
  lastStep(async (tab) => {
    assert.match(
      await tab.textContent(at('at-hand')),
      /claude-code asked last in \/home\/mina\/src\/harbor[^]*your secrets/,
    );
    await loosens(tab, 'allow in a box what runs in /home/mina/src/harbor');
    await tab.click(at('at-hand-open'));
    await tab.click(at('loosen-keep'));
    assert.equal(await tab.locator(at('at-hand-opened')).count(), 0, 'nothing was opened');
    await tab.click(at('at-hand-open'));
    await applies(tab);
    await tab.waitForSelector(at('at-hand-opened'));
    await tab.waitForSelector(at('at-hand'), { state: 'detached' });
    const [{ kind, rule }] = (await edits(tab)).at(-1).edits;
    assert.deepEqual([kind, rule.agent, rule.folder], ['open-workspace', 'claude-code', '/home/mina/src/harbor']);
    await tab.click(at('step-next'));
    await tab.waitForSelector(at('first-steps'), { state: 'detached' });
  }));

test('the folder at hand can be left out, and no key alone opens it', () =>
  lastStep(async (tab) => {
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Space');
    assert.deepEqual(await edits(tab), []);
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('first-steps'), { state: 'detached' });
    assert.deepEqual(await edits(tab), []);
  }));

test('the offer of the first steps fits small windows without a violation in every language', async () => {
  for (const language of LANGUAGES) {
    for (const [width, height] of [
      [360, 300],
      [1160, 800],
    ]) {
      await lastStep(
        async (tab) => {
          const excess = await tab.evaluate(() => {
            const content = document.querySelector('[data-testid="content"]');
            return [document.scrollingElement.scrollWidth - innerWidth, content.scrollWidth - content.clientWidth];
          });
          assert.ok(
            excess.every((pixels) => pixels <= 0),
            `${language}: ${excess}`,
          );
          assert.deepEqual(await violations(tab), [], language);
        },
        { width, height, language },
      );
    }
  }
});

test('a folder that is open for several agents is one folder', () =>
  folders(async (tab) => {
    await tab.evaluate((folder) => {
      const [first] = window.mock.ruleView.workspaces;
      const rule = { ...first.rule, id: 'w-9', agent: 'home', folder };
      window.mock.ruleView.workspaces.push({ ...first, rule });
      window.mock.emit({ kind: 'rules-changed', hash: 'other' });
    }, ENGINE);
    await card(tab)
      .locator(`${at('folder')}[data-id="w-9"]`)
      .waitFor();
    assert.equal(await card(tab).locator(at('folder')).count(), 2);
    await connections(tab);
    await card(tab)
      .locator(`${at('folder-registry')}[data-group="go"]`)
      .click();
    await tab.waitForFunction(() => window.mock.calls.some(({ name }) => name === 'editRules'));
    assert.equal((await edits(tab))[0].edits[0].rule.agent, '*');
  }));

test('everything is reached by keyboard, and what is closed keeps it out', () =>
  folders(async (tab) => {
    const summary = card(tab).locator(`${at('folder-connections-part')} > summary`);
    await summary.focus();
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Tab');
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'folder-add');
    await tab.keyboard.press('Tab');
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'folder-registry');
    await summary.focus();
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Tab');
    assert.notEqual(await tab.evaluate(() => document.activeElement.dataset.testid), 'folder-add');
  }));

for (const theme of ['light', 'dark']) {
  test(`no accessibility violation: folders, ${theme}`, async () => {
    for (const language of LANGUAGES) {
      await folders(
        async (tab) => {
          await tab.evaluate(() => {
            window.mock.atHand = window.folders.atHand();
            window.mock.emit({ kind: 'rules-changed', hash: window.mock.ruleView.hash });
          });
          await tab.waitForSelector(at('at-hand'));
          await connections(tab);
          await card(tab).locator(at('changes-open')).first().click();
          await card(tab).locator(at('change-row')).first().waitFor();
          assert.deepEqual(await violations(tab), [], `${language}, all open`);
          await card(tab).locator(at('folder-add')).click();
          assert.deepEqual(await violations(tab), [], `${language}, a destination`);
        },
        { theme, language },
      );
    }
  });
}

for (const [width, height] of [
  [360, 300],
  [720, 480],
  [1160, 800],
]) {
  test(`the page with all of it fits ${width}×${height} in every language`, async () => {
    for (const language of LANGUAGES) {
      await folders(
        async (tab) => {
          await connections(tab);
          const excess = await tab.evaluate(() => {
            const content = document.querySelector('[data-testid="content"]');
            return [document.scrollingElement.scrollWidth - innerWidth, content.scrollWidth - content.clientWidth];
          });
          assert.ok(
            excess.every((pixels) => pixels <= 0),
            `${language}: ${excess}`,
          );
          await card(tab).locator(at('folder-add')).click();
          const box = await tab.locator(at('destination-save')).boundingBox();
          assert.ok(box.x + box.width <= width && box.y + box.height <= height, `${language}: ${JSON.stringify(box)}`);
        },
        { width, height, language },
      );
    }
  });
}

const NIGHTLY = '/srv/nightly';
const places = (tab) => card(tab, NIGHTLY).locator(at('folder-places-part'));

test('what boxes around a folder have otherwise is listed, and is taken back', () =>
  folders(async (tab) => {
    assert.match(await card(tab).locator(at('folder-places-part')).textContent(), /Files: as in every box/);
    const list = places(tab);
    assert.equal(await list.getAttribute('open'), '');
    assert.match(
      await list.textContent(),
      /Files: 3 otherwise[^]*may write[^]*\.config\/nightly[^]*all agents[^]*may read[^]*\.env[^]*hidden[^]*U\+202Eteiuq/,
    );
    await list.locator(`${at('folder-place')}[data-access="read"] ${at('folder-place-remove')}`).click();
    await list.locator(`${at('folder-place')}[data-access="read"]`).waitFor({ state: 'detached' });
    const [edit] = (await edits(tab)).at(-1).edits;
    assert.deepEqual([edit.kind, edit.id, edit.rule.attendance], ['replace-workspace', 'w-3', 'unattended']);
    assert.deepEqual(
      edit.rule.places.map(({ access }) => access),
      ['write', 'hidden'],
    );
  }));

test('a file is given to boxes after one more question, and hidden from them at once', () =>
  folders(async (tab) => {
    const add = places(tab).locator(at('folder-place-add'));
    await add.click();
    await tab.fill(at('place-name'), 'notes');
    assert.equal(await tab.locator(`${at('place-save')}:disabled`).count(), 1);
    await tab.fill(at('place-name'), '/home/mina/.cache/shared/');
    await loosens(tab, 'allow in a box what runs in /srv/nightly, may write /home/mina/.cache/shared');
    await tab.click(at('place-save'));
    await applies(tab);
    await tab.waitForSelector(at('place-dialog'), { state: 'detached' });
    await places(tab)
      .locator(`${at('folder-place')}[data-path="/home/mina/.cache/shared"]`)
      .waitFor();
    await tab.evaluate(() => (window.mock.loosens = []));

    await add.click();
    await tab.fill(at('place-name'), '/home/mina/diary');
    await tab
      .locator(`${at('place-access')} label`)
      .nth(2)
      .click();
    assert.match(await tab.textContent(at('place-means')), /not there/);
    assert.deepEqual(await violations(tab), []);
    await tab.click(at('place-save'));
    await tab.waitForSelector(at('place-dialog'), { state: 'detached' });
    const [edit] = (await edits(tab)).at(-1).edits;
    assert.deepEqual(edit.rule.places.at(-1), { path: '/home/mina/diary', access: 'hidden' });
    assert.equal(edit.rule.places.length, 5);
  }));

test('a file that boxes cannot have is refused in the dialog, which stays', () =>
  folders(async (tab) => {
    await places(tab).locator(at('folder-place-add')).click();
    await tab.fill(at('place-name'), '/home/mina/.ssh');
    await tab.evaluate(() => window.mock.fail('editRules', 'invalid', 'a box cannot write it'));
    await tab.click(at('place-save'));
    assert.match(await tab.textContent(at('place-error')), /a box cannot write it/);
    assert.equal(await tab.inputValue(at('place-name')), '/home/mina/.ssh');
  }));

test('what a box refused to write is told in the history, which goes on to a rule for it', () =>
  folders(async (tab) => {
    await tab.goto(tab.url().replace('page=folders', 'page=history'));
    await tab.waitForSelector(at('history-row'));
    await tab.evaluate((folder) => {
      const told = [
        [folder, { path: '/home/mina/.config/tool/\\u{202E}new', place: '/home/mina/.config/tool' }],
        ['/home/mina/closed', { path: '/home/mina/.config/tool/new', place: '/home/mina/.config/tool' }],
        [folder, { path: `/etc/${'deep/'.repeat(200)}x` }],
        [folder, {}],
      ];
      for (const [at, [within, what]] of told.entries())
        for (const entry of window.crossings.stopped(Date.now(), within, what, 40 + 4 * at).reverse())
          window.mock.emit({ kind: 'history-appended', entry });
    }, ENGINE);
    const row = (seq) => tab.locator(`${at('history-row')}[data-seq="${seq}"]`);
    const words = async (seq) => (await row(seq).locator(at('history-unwritten')).textContent()).replace(/\s+/g, ' ');
    assert.match(await words(40), /Its box did not let it write [^]*\.config\/tool\/[^]*202E[^]*, as its output says/);
    assert.match(await words(52), /write something, as its output says/);
    for (const seq of [44, 48, 52]) assert.equal(await row(seq).locator(at('history-give')).count(), 0, `${seq}`);
    const excess = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(excess <= 0, `${excess}`);
    assert.deepEqual(await violations(tab), []);
    await tab.fill(at('history-search'), '202e}NEW');
    assert.equal(await tab.locator(at('history-row')).count(), 1);

    await row(40).locator(at('history-give')).press('Enter');
    await tab.waitForSelector(at('place-dialog'));
    assert.equal(await tab.evaluate(() => document.body.dataset.page), 'folders');
    assert.equal(await tab.inputValue(at('place-name')), '/home/mina/.config/tool');
    assert.match(await tab.textContent(at('place-dialog')), /src\/engine/);
    await loosens(tab, 'allow in a box what runs there, may write /home/mina/.config/tool');
    await tab.click(at('place-save'));
    await applies(tab);
    await tab.waitForSelector(at('place-dialog'), { state: 'detached' });
    const [edit] = (await edits(tab)).at(-1).edits;
    assert.deepEqual(edit.rule.places, [{ path: '/home/mina/.config/tool', access: 'write' }]);
    // Coming back by oneself finds the page as it is, and the history offers nothing that holds already.
    await tab.click(at('nav-history'));
    await tab.waitForSelector(at('history-unwritten'));
    assert.equal(await tab.locator(at('history-give')).count(), 0);
    await tab.click(at('nav-folders'));
    await tab.waitForSelector(at('folder-places-part'));
    assert.equal(await tab.locator(at('place-dialog')).count(), 0);
  }));
