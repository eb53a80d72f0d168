import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { armed, at, calls, damaged, start } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on a page of the main window. */
async function main(page, body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page, cards: 'several' } });
  await tab.waitForSelector(at('content'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

const LOOSER = [{ scope: 'coder', field: 'ask', from: 'always', to: 'on-miss' }];

test('the inbox denies one or several and never offers an allow', () =>
  main('inbox', async (tab) => {
    assert.equal(await tab.locator(at('inbox-row')).count(), 4);
    assert.equal(await tab.getByRole('button', { name: /allow once/i }).count(), 0);
    await tab.locator(at('inbox-deny')).first().click();
    await tab.waitForFunction(() => document.querySelectorAll('[data-testid="inbox-row"]').length === 3);
    for (const box of await tab.locator(`${at('inbox-row')} input`).all()) await box.check();
    await tab.click(at('deny-selected'));
    await tab.waitForSelector(at('empty'));
    const sent = (await calls(tab, 'decide')).map(([params]) => params.decision);
    assert.deepEqual(sent, ['deny', 'deny', 'deny', 'deny']);
  }));

test('the inbox opens a request in the prompt window', () =>
  main('inbox', async (tab) => {
    await tab.locator(at('inbox-open')).first().click();
    assert.deepEqual(await calls(tab, 'openPrompt'), [['req-ops']]);
  }));

test('a loosening from the command line is named in words and is not applied by a key', () =>
  main('inbox', async (tab) => {
    await tab.evaluate((loosenings) => {
      const confirmation = { id: 'c', createdAtMs: Date.now(), expiresAtMs: Date.now() + 1_800_000, loosenings };
      window.mock.emit({ kind: 'confirmation-added', confirmation });
    }, LOOSER);
    const apply = at('confirmation-apply');
    assert.match(await tab.textContent(at('loosening')), /Agent coder: asking you goes from “always” to “on miss”/);
    assert.equal(await tab.getAttribute(apply, 'data-armed'), 'false');
    await armed(tab, apply);
    await tab.focus(apply);
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Space');
    assert.deepEqual(await calls(tab, 'answerConfirmation'), []);
    await tab.click(apply);
    await tab.waitForSelector(at('confirmation'), { state: 'detached' });
    assert.deepEqual(await calls(tab, 'answerConfirmation'), [['c', true]]);
  }));

test('everything is denied only after a confirmation', () =>
  main('inbox', async (tab) => {
    await tab.click(at('deny-all'));
    assert.deepEqual(await calls(tab, 'denyAll'), []);
    assert.match(await tab.textContent(at('deny-all-dialog')), /The 4 requests that wait now are denied/);
    await tab.click(at('deny-all-confirm'));
    await tab.waitForSelector(`${at('said')}:has-text("4 requests were denied")`);
  }));

test('no tip repeats a name that is there to read, and in the rail each glyph has one', async () => {
  const tips = (tab) =>
    tab.evaluate(() =>
      [...document.querySelectorAll('.side [title]')].map((element) => [
        element.getAttribute('title'),
        element.textContent.trim(),
      ]),
    );
  await main('inbox', async (tab) => assert.deepEqual(await tips(tab), []));
  await main(
    'inbox',
    async (tab) => {
      const pause = at('pause');
      assert.equal(await tab.getAttribute(pause, 'title'), 'Pause prompts');
      await tab.click(pause);
      await tab.waitForSelector(`${pause}[title="Resume prompts"]`);
      assert.ok((await tips(tab)).every(([tip, name]) => name.includes(tip)));
    },
    { width: 700 },
  );
});

test('prompts can be paused, and the window says so', () =>
  main('inbox', async (tab) => {
    await tab.click(at('pause'));
    await tab.waitForSelector(at('paused'));
    await tab.click(at('pause'));
    await tab.waitForSelector(at('paused'), { state: 'detached' });
  }));

test('a policy that gets looser is written only after each loosening was shown and confirmed', () =>
  main('policy', async (tab) => {
    await tab.evaluate((loosenings) => (window.mock.loosens = loosenings), LOOSER);
    await tab.check(`${at('scopes')} [value="coder"]`);
    await tab.check(`${at('switch-ask')} [value="on-miss"]`);
    assert.match(await tab.textContent(at('draft')), /Agent coder, Ask: always → on miss/);
    await tab.click(at('draft-apply'));
    await tab.waitForSelector(at('confirm-loosening'));
    await armed(tab, at('loosen-apply'));
    await tab.click(at('loosen-apply'));
    await tab.waitForSelector(at('applied'));
    const sent = (await calls(tab, 'editDocument')).map(([params]) => params.confirmed);
    assert.deepEqual(sent, [false, true]);
    assert.equal(await tab.locator(at('draft')).count(), 0);
  }));

test('the policy page says when a value is without effect and which layer decides', () =>
  main('policy', async (tab) => {
    await tab.check(`${at('scopes')} [value="ops"]`);
    assert.match(await tab.textContent(at('without-effect')), /the request itself decides/);
    assert.equal(await tab.textContent(at('result-security')), 'allowlist');
  }));

test('a draft is kept when another program changes the document', () =>
  main('policy', async (tab) => {
    await tab.check(`${at('presets')} [value="locked"]`);
    await tab.evaluate(() => window.mock.changeElsewhere());
    await tab.waitForSelector(at('changed-elsewhere'));
    assert.equal(await tab.isChecked(`${at('presets')} [value="locked"]`), true);
    await tab.click(at('draft-keep'));
    assert.equal(await tab.isChecked(`${at('presets')} [value="cautious"]`), true);
  }));

test('an entry that binds arguments by a digest is shown with them and their folder', () =>
  main('allowlist', async (tab) => {
    await tab.check(`${at('scopes')} [value="coder"]`);
    const bound = await tab.textContent(at('entry-bound'));
    assert.match(bound, /Exactly these arguments\s+run\s+test:unit\s+in the folder\s+\/home\/mina\/src\/storefront/);
    assert.doesNotMatch(await tab.textContent(at('entries')), /sha256/);
  }));

test('entries are added, changed, deleted, taken back and searched', () =>
  main('allowlist', async (tab) => {
    const count = (n) => tab.waitForFunction((n) => document.querySelectorAll('[data-testid="entry"]').length === n, n);
    await tab.check(`${at('scopes')} [value="coder"]`);
    await count(6);
    await tab.click(at('entry-add'));
    await tab.fill(at('entry-pattern'), '/usr/bin/jq');
    await tab.click(at('entry-save'));
    await count(7);
    await tab.click(at('undo'));
    await count(6);
    await tab.click(at('redo'));
    await count(7);
    await tab.locator(at('entry-delete')).first().click();
    await count(6);
    for (const box of (await tab.locator(`${at('entry')} input`).all()).slice(0, 2)) await box.check();
    await tab.click(at('delete-selected'));
    await count(4);
    await tab.fill('input[type="search"]', 'jq');
    await count(1);
    await tab.locator(at('entry-edit')).click();
    await tab.fill(at('entry-pattern'), '/usr/bin/yq');
    await tab.click(at('entry-save'));
    await tab.waitForSelector(at('entry-dialog'), { state: 'detached' });
    assert.equal((await calls(tab, 'editDocument')).at(-1)[0].edits[0].pattern, '/usr/bin/yq');
  }));

test('a stale edit says so and reads the document again', () =>
  main('allowlist', async (tab) => {
    await tab.waitForSelector(at('entry'));
    await tab.evaluate(() => window.mock.fail('editDocument', 'stale', 'x'));
    await tab.locator(at('entry-delete')).first().click();
    assert.match(await tab.textContent(at('document-error')), /changed meanwhile/);
  }));

test('a command is tested while it is typed, and nothing runs', () =>
  main('allowlist', async (tab) => {
    await tab.fill(at('test-command'), 'sudo rm -rf /');
    await tab.waitForSelector(`${at('test-verdict')}[data-verdict="deny"]`);
    await tab.fill(at('test-command'), 'npm ci');
    await tab.waitForSelector(`${at('test-verdict')}[data-verdict="ask"]`);
    assert.match(
      await tab.textContent(at('test-panel')),
      /No entry and no rule covers it[^]*an entry for \/usr\/bin\/npm/,
    );
  }));

test('what runs is shown with what it prints, hostile output too, and can be stopped', () =>
  main('history', async (tab) => {
    assert.equal(await tab.locator(at('running')).count(), 0);
    const output = Array.from({ length: 300 }, (_, n) => `Compiling part ${n} \\u{202E} <b>x</b>`).join('\n');
    await tab.evaluate((text) => {
      const run = { requestId: 'r1', agent: 'coder', session: 'agent:coder:main', startedAtMs: Date.now() - 61_000 };
      window.mock.runs = [
        { ...run, command: `cargo build ${'--verbose '.repeat(40)}`, outputTail: text, isCut: true },
        { ...run, requestId: 'r2', command: 'sleep 600', outputTail: '', isCut: false },
      ];
      window.mock.emit({ kind: 'running-changed' });
    }, output);
    await tab.waitForSelector(at('running-row'));
    assert.equal(await tab.locator(at('running-row')).count(), 2);
    const pre = tab.locator(at('running-output'));
    assert.equal(await pre.textContent(), output);
    assert.ok(await pre.evaluate((box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 2));
    await tab.locator(at('stop-run')).first().click();
    await tab.waitForFunction(() => document.querySelectorAll('[data-testid="running-row"]').length === 1);
    assert.deepEqual(await calls(tab, 'stopRun'), [['r1']]);
  }));

test('what a run serves in its box is shown on this machine when that is wanted, and until it is not', () =>
  main('history', async (tab) => {
    await tab.evaluate(() => {
      const run = { requestId: 'r1', agent: 'coder', startedAtMs: Date.now(), outputTail: '', isCut: false };
      window.mock.runs = [{ ...run, command: 'npm run dev', servers: [{ port: 3000 }, { port: 5173 }] }];
      window.mock.emit({ kind: 'running-changed' });
    });
    await tab.waitForSelector(at('server'));
    assert.equal(await tab.locator(at('server')).count(), 2);
    await tab.locator(at('show-server')).first().click();
    await tab.waitForSelector(at('hide-server'));
    assert.match(await tab.locator(at('server')).first().textContent(), /http:\/\/localhost:3000/);
    assert.deepEqual(await calls(tab, 'showServer'), [['r1', 3000]]);
    await tab.click(at('hide-server'));
    await tab.waitForFunction(() => document.querySelectorAll('[data-testid="show-server"]').length === 2);
    assert.deepEqual(await calls(tab, 'hideServer'), [['r1', 3000]]);
    await tab.evaluate(() => window.mock.fail('showServer', 'gone', 'nothing listens there'));
    await tab.locator(at('show-server')).last().click();
    await tab.waitForSelector(at('history-error'));
  }));

test('a very long command has a short row in the history, and its beginning in the details', () =>
  main('history', async (tab) => {
    await tab.evaluate(() => {
      const line = window.mock.lines.find(({ event }) => event.kind === 'request');
      line.event.command = `printf ${'word '.repeat(40_000)}`;
    });
    await tab.click(at('nav-inbox'));
    await tab.click(at('nav-history'));
    const row = tab.locator(at('history-row')).filter({ hasText: 'printf word' });
    const box = await row.boundingBox();
    assert.ok(box.height < 200, `the row is ${box.height} px high`);
    assert.match(await row.textContent(), /and 199767 more characters/);
    await row.locator('summary').click();
    assert.ok((await row.boundingBox()).height < 600);
    assert.equal((await row.locator('[role="region"]').textContent()).length, 20_000);
    assert.match(await row.textContent(), /and 180007 more characters/);
  }));

test('the history says in words who decided and through what something was changed', () =>
  main('history', async (tab) => {
    await tab.waitForSelector(at('history-row'));
    const said = await tab.textContent(at('content'));
    assert.match(said, /in a window/);
    assert.match(said, /Policy document changed by another program/);
    assert.doesNotMatch(said, /by window|another-program|security=deny/);
  }));

test('the history filters, checks its chain and shows what came of runs', () =>
  main('history', async (tab) => {
    assert.match(await tab.textContent(`${at('history-row')}[data-seq="13"]`), /exit 1/);
    await tab.check(`${at('groups')} [value="changes"]`);
    assert.equal(await tab.locator(at('history-row')).count(), 1);
    await tab.click(at('verify'));
    assert.match(await tab.textContent(at('chain')), /All 13 lines fit together/);
  }));

test('the history says in words what was done to it', () =>
  main('history', async (tab) => {
    await tab.waitForSelector(at('history-row'));
    await damaged(tab, 'emptied');
    const chain = await tab.textContent(at('chain'));
    assert.match(chain, /The record was emptied\./);
    assert.match(chain, /the second note of the heads is gone/);
    const said = await tab.textContent(at('content'));
    for (const words of [
      /Lines were missing or replaced \(what ran unasked\)/,
      /3 lines could not be written/,
      /44790 lines of MCP, coder were only counted/,
      /The oldest 9000 lines were removed to make room/,
      /before the newest lines were on its disk \(decisions\)/,
    ]) {
      assert.match(said, words);
    }
  }));

test('settings hold at once, and the delay cannot be too short', () =>
  main('settings', async (tab) => {
    await tab.check(`${at('language')} [value="ko"]`);
    await tab.waitForSelector('html[lang="ko"]');
    await tab.check(`${at('theme')} [value="dark"]`);
    await tab.waitForSelector('html[data-theme="dark"]');
    await tab.fill(at('arm-delay'), '0.2');
    await tab.locator(at('arm-delay')).blur();
    assert.equal((await calls(tab, 'setSettings')).at(-1)[0].armDelayMs, 1_500);
    assert.equal(await tab.inputValue(at('arm-delay')), '1.5');
  }));

test('settings that are changed before the first of them came back are all kept', () =>
  main('settings', async (tab) => {
    await tab.evaluate(() => {
      window.kept = [];
      window.mock.setSettings = (settings) =>
        new Promise((resolve) => setTimeout(() => resolve(window.kept.push(settings)), 1));
    });
    await tab.evaluate((at) => {
      const type = (name, value) => {
        const field = document.querySelector(at.replace('NAME', name));
        field.value = value;
        field.dispatchEvent(new Event('change', { bubbles: true }));
      };
      type('runSeconds', '1');
      type('outputKb', '4');
      type('waiting', '8');
    }, at('limit-NAME'));
    await tab.waitForFunction(() => window.kept.length === 3);
    const last = await tab.evaluate(() => window.kept.at(-1).limits);
    assert.deepEqual(last, { waiting: 8, runSeconds: 1, outputKb: 4, historyMb: 128 });
  }));

test('limits stay between what can be, and each says what it means', () =>
  main('settings', async (tab) => {
    const set = async (name, typed) => {
      await tab.fill(at(`limit-${name}`), typed);
      await tab.locator(at(`limit-${name}`)).blur();
      return (await calls(tab, 'setSettings')).at(-1)[0].limits;
    };
    assert.deepEqual(await set('waiting', '12'), { waiting: 12, runSeconds: 0, outputKb: 200, historyMb: 128 });
    assert.equal((await set('historyMb', '1')).historyMb, 16);
    assert.equal(await tab.inputValue(at('limit-historyMb')), '16');
    const before = (await calls(tab, 'setSettings')).length;
    await set('outputKb', '');
    assert.equal((await calls(tab, 'setSettings')).length, before);
    assert.equal(await tab.inputValue(at('limit-outputKb')), '200');
    assert.match(await tab.textContent(at('limits')), /any command that runs here is ended/);
  }));

test('an unusable document is reset only after the word was typed', () =>
  main('settings', async (tab) => {
    await tab.evaluate(() => {
      const store = { kind: 'unreadable', problem: 'line 3: not JSON' };
      window.mock.emit({ kind: 'status-changed', status: { ...window.mock.status, store } });
    });
    await tab.click(at('reset'));
    await tab.fill(at('reset-word'), 'reset');
    assert.equal(await tab.getAttribute(at('reset-confirm'), 'data-armed'), 'false');
    await tab.fill(at('reset-word'), 'RESET');
    await armed(tab, at('reset-confirm'));
    await tab.click(at('reset-confirm'));
    await tab.waitForSelector(at('backup'));
    assert.equal((await calls(tab, 'resetDocument')).length, 1);
  }));

test('the policy page says which tools an agent gets, and which step takes the others', () =>
  main('policy', async (tab) => {
    await tab.waitForSelector(at('tools-policy'));
    await tab.click(at('tools-show'));
    await tab.waitForSelector(at('tools-row'));
    assert.deepEqual((await calls(tab, 'explainTools')).at(-1), [{ agent: 'main' }]);
    assert.equal(await tab.locator(`${at('tools-row')}[data-gets="true"]`).count(), 2);
    assert.match(await tab.textContent(at('tools-policy')), /write_file[^]*no, taken by[^]*tools\.agent \(main\)/);
    await tab.fill(at('tools-agent'), 'scout');
    await tab.fill(at('tools-session'), 'agent:scout:subagent:1');
    await tab.focus(at('tools-session'));
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('tools-warnings'));
    const said = await tab.textContent(at('tools-about'));
    assert.match(said, /in a sandbox[^]*a sub-agent, 1 below the first/);
  }));
