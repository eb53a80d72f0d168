// No sentence is false: what the pages say is what all switches come to together, and one line says what is so now.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { at, start } from '../harness.mjs';

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

/** Tells the window what stands. */
const stand = (tab, standing) =>
  tab.evaluate(
    (standing) =>
      window.mock.emit({
        kind: 'status-changed',
        status: { ...window.mock.status, standing, paused: standing.kind === 'paused' },
      }),
    standing,
  );

const said = (tab, text) =>
  tab.waitForFunction(([at, text]) => document.querySelector(at)?.textContent.includes(text), [at('meaning'), text]);

const pick = (tab, field, word) =>
  tab
    .locator(at(`switch-${field}`))
    .getByText(word, { exact: true })
    .click();

const UNASKED = {
  kind: 'runs-unasked',
  cause: {
    agent: '*',
    shown: { spans: [{ kind: 'plain', text: '*' }] },
    layer: 'defaults',
    place: 'here',
    when: 'always',
    others: 1,
  },
};

test('full with ask on miss never promises to ask, in the draft and in force', () =>
  main('policy', async (tab) => {
    await tab.check(`${at('scopes')} [value="*"]`);
    await said(tab, 'you are asked about the rest');
    await pick(tab, 'security', 'full');
    await said(tab, 'With this draft: Anything runs unasked.');
    const page = await tab.textContent(at('content'));
    assert.match(page, /You are not asked: anything may run\./);
    assert.doesNotMatch(page, /You are asked/);
    await pick(tab, 'ask', 'always');
    await said(tab, 'You are asked about every command. If nobody answers, the command does not run.');
    await pick(tab, 'ask-fallback', 'full');
    await said(tab, 'If nobody answers, the command runs.');
    await tab.click(at('draft-keep'));
    await said(tab, 'you are asked about the rest');
  }));

test('a draft of the defaults says what it does to the agent that is looked at', () =>
  main('policy', async (tab) => {
    await pick(tab, 'security', 'deny');
    await said(tab, 'With this draft: Nothing runs.');
    await tab.locator(at('scopes')).getByText('coder', { exact: true }).click();
    await said(tab, 'With this draft: You are asked about every command.');
  }));

test('the allowlist says what happens to a command without an entry', () =>
  main('allowlist', async (tab) => {
    await tab.waitForFunction(() => document.body.textContent.includes('you are asked about the rest'));
    assert.doesNotMatch(await tab.textContent('body'), /A miss asks you/);
  }));

test('one line says what stands, and an alarm stays on every page with its cause', () =>
  main('inbox', async (tab) => {
    const line = () => tab.textContent(at('status-strip'));
    assert.match(await line(), /Asking/);
    await stand(tab, { kind: 'paused' });
    await tab.waitForSelector(`${at('status-strip')}[data-standing="paused"]`);
    assert.match(await line(), /Paused/);
    await stand(tab, { kind: 'cannot-show', end: 'crashed' });
    await tab.waitForSelector(at('alarm'));
    assert.match(await line(), /Cannot show prompts/);
    assert.match(await tab.textContent(at('alarm')), /its page ended by itself/);
    await stand(tab, UNASKED);
    await tab.waitForSelector(`${at('status-strip')}[data-standing="runs-unasked"]`);
    assert.match(await line(), /Runs unasked/);
    for (const page of ['allowlist', 'rules', 'history', 'connections', 'settings', 'inbox']) {
      await tab.click(at(`nav-${page}`));
      const alarm = await tab.textContent(at('alarm'));
      assert.match(alarm, /Every agent without settings of its own may run anything without asking\./);
      assert.match(alarm, /Set by the defaults\. The same is true of 1 more\./);
    }
    assert.equal(await tab.locator(at('alarm')).getByRole('button', { name: 'Close' }).count(), 0);
    await tab.click(at('alarm-look'));
    await tab.waitForSelector(at('meaning'));
    await stand(tab, { kind: 'asking' });
    await tab.waitForSelector(at('alarm'), { state: 'detached' });
  }));

test('a pause gets an end, and the line says when that is', () =>
  main('inbox', async (tab) => {
    await tab.click(at('pause'));
    await tab.click(at('pause-15'));
    await tab.waitForFunction(
      (strip) => /Paused until \d/.test(document.querySelector(strip).textContent),
      at('status-strip'),
    );
    await tab.click(at('pause'));
    await tab.waitForSelector(`${at('status-strip')}[data-standing="asking"]`);
  }));

test('a dangerous edit is confirmed with what it would do, never with two values', () =>
  main('policy', async (tab) => {
    await tab.evaluate(() => {
      window.mock.loosens = [{ scope: 'defaults', field: 'security', from: 'allowlist', to: 'full' }];
      const shown = { spans: [{ kind: 'plain', text: '*' }] };
      window.mock.impact = { widening: { whose: 'everybody', shown, kind: 'anything' }, of: 50, more: 12 };
    });
    await pick(tab, 'security', 'full');
    await tab.click(at('draft-apply'));
    await tab.waitForSelector(at('confirm-loosening'));
    const text = await tab.textContent(at('confirm-loosening'));
    assert.match(
      text,
      /Every agent may run anything without asking; of your last 50 commands 12 more would have run\./,
    );
    assert.match(text, /Defaults: anything may run\./);
    assert.doesNotMatch(text, /goes from/);
  }));

test('a wildcard entry is confirmed with the folder whose programs it lets run', () =>
  main('allowlist', async (tab) => {
    await tab.evaluate(() => {
      window.mock.loosens = [{ scope: '*', from: '', to: '/usr/bin/*' }];
      const spans = (text) => ({ spans: [{ kind: 'plain', text }] });
      const widening = { whose: 'everybody', shown: spans('*'), kind: 'programs', folder: spans('/usr/bin') };
      window.mock.impact = { widening, of: 50, more: 0 };
    });
    await tab.click(at('entry-add'));
    await tab.fill(at('entry-pattern'), '/usr/bin/*');
    await tab.click(at('entry-save'));
    await tab.waitForSelector(at('impact'));
    assert.match(
      await tab.textContent(at('impact')),
      /Every agent may run anything in \/usr\/bin without asking; of your last 50 commands none more would have run\./,
    );
  }));

test('an answer of the person is no change by another program, and other writers are named', () =>
  main('policy', async (tab) => {
    const read = () => tab.evaluate(() => window.mock.calls.filter(({ name }) => name === 'document').length);
    const before = await read();
    await tab.evaluate(() => window.mock.changeElsewhere('answer'));
    await tab.waitForFunction(
      (before) => window.mock.calls.filter(({ name }) => name === 'document').length > before,
      before,
    );
    assert.equal(await tab.locator(at('changed-elsewhere')).count(), 0);
    await tab.evaluate(() => window.mock.changeElsewhere('command-line'));
    await tab.waitForSelector(at('changed-elsewhere'));
    assert.match(await tab.textContent(at('changed-elsewhere')), /The command line changed this\./);
  }));

test('what keeps the app from recording is said in the sidebar and with its remedy under Settings, and goes by itself', () =>
  main('settings', async (tab) => {
    assert.equal(await tab.locator(at('trouble-strip')).count(), 0);
    const is = (change) =>
      tab.evaluate((change) => {
        window.mock.status = { ...window.mock.status, ...change };
        window.mock.emit({ kind: 'status-changed', status: window.mock.status });
      }, change);
    const text = 'write history.jsonl: No space left on device';
    await is({ recording: { kind: 'fails', sinceMs: 1_777_000_000_000, cause: 'full', text } });
    await tab.waitForSelector(at('trouble-strip'));
    const strip = () => tab.textContent(at('trouble-strip'));
    assert.match(await strip(), /The disk is full: nothing can be recorded \(since .+\)/);
    const about = await tab.textContent(at('about-recording'));
    for (const part of ['The disk is full', text, 'nothing runs unasked']) assert.ok(about.includes(part), about);
    await is({ recording: { kind: 'works' }, shortages: ['processes'] });
    assert.equal((await strip()).trim(), 'No more processes can be started');
    await is({ shortages: [] });
    await tab.waitForSelector(at('trouble-strip'), { state: 'detached' });
    assert.equal(await tab.getAttribute(at('about-recording'), 'data-state'), 'works');
  }));

for (const language of ['en', 'zh', 'ko']) {
  test(`the line about the machine fits the sidebar of every size in ${language}`, async () => {
    for (const [width, height] of [
      [360, 300],
      [900, 600],
      [1600, 1000],
    ]) {
      const recording = { kind: 'fails', sinceMs: 1_777_000_000_000, cause: 'read-only', text: 'x' };
      const body = async (tab) => {
        await tab.evaluate((recording) => {
          window.mock.emit({ kind: 'status-changed', status: { ...window.mock.status, recording } });
        }, recording);
        const strip = tab.locator(at('trouble-strip'));
        await strip.scrollIntoViewIfNeeded();
        const box = await strip.boundingBox();
        const side = await tab.locator('nav.side').boundingBox();
        assert.ok(box.x >= side.x && box.x + box.width <= side.x + side.width, JSON.stringify({ box, side }));
        const hidden = await strip.evaluate((element) => element.scrollWidth > element.clientWidth);
        assert.ok(!hidden, `${width}: the line is cut`);
      };
      await main('inbox', body, { width, height, language });
    }
  });
}
