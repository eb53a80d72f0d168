import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, calls, shows, start, state } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/**
 * Runs `body` on a prompt that shows `a`, one of three identical requests, with `b` of the same run and `z` of another.
 */
async function burst(body, options) {
  const tab = await browser.open('prompt', options);
  await add(tab, 'alike', 'a');
  await shows(tab, 'a');
  await add(tab, 'alike', 'a2');
  await add(tab, 'card', 'b');
  await add(tab, 'alike', 'a3');
  await tab.evaluate(() => {
    const agent = { spans: [{ kind: 'plain', text: 'ops' }] };
    window.mock.emit({ kind: 'card-added', card: window.cards.card('z', Date.now(), { agent }) });
  });
  await tab.waitForSelector(`${at('queue-button')}:has-text("1 of 3")`);
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

const decided = async (tab) => (await calls(tab, 'decide')).map(([{ id, decision }]) => `${decision} ${id}`).sort();

test('identical requests are one card with a count, and Deny answers all of them', () =>
  burst(async (tab) => {
    assert.match(await tab.textContent(at('queue-button')), /3 identical/);
    await tab.click(at('deny'));
    await shows(tab, 'b');
    assert.deepEqual(await decided(tab), ['deny a', 'deny a2', 'deny a3']);
  }));

test('Allow once allows the one request that was read, and the next identical one is read anew', () =>
  burst(async (tab) => {
    await armed(tab);
    await tab.click(at('allow-once'));
    await shows(tab, 'a2');
    assert.equal(await tab.getAttribute(at('allow-once'), 'data-armed'), 'false');
    assert.deepEqual(await decided(tab), ['allow-once a']);
    assert.match(await tab.textContent(at('queue-button')), /2 identical/);
  }));

test('an identical request that could not be denied is shown again', () =>
  burst(async (tab) => {
    await tab.evaluate(() => {
      const { decide } = window.mock;
      window.mock.decide = (params) =>
        params.id === 'a2' ? Promise.reject(new Error('the gateway does not answer')) : decide(params);
    });
    await tab.click(at('deny'));
    await shows(tab, 'a2');
  }));

test('Esc puts aside everything that waits from that run, and answers nothing', () =>
  burst(async (tab) => {
    await tab.keyboard.press('Escape');
    await shows(tab, 'z');
    assert.deepEqual(await calls(tab, 'dismiss'), [['a']]);
    await tab.keyboard.press('Escape');
    await state(tab, 'blank');
    assert.deepEqual(await calls(tab, 'decide'), []);
  }));

test('a run that goes on after Esc asks again', () =>
  burst(async (tab) => {
    await tab.keyboard.press('Escape');
    await shows(tab, 'z');
    await tab.keyboard.press('Escape');
    await state(tab, 'blank');
    await add(tab, 'card', 'later');
    await shows(tab, 'later');
  }));

test('everything that waits from a run can be denied at once', () =>
  burst(async (tab) => {
    await tab.click(at('queue-button'));
    assert.match(await tab.textContent(at('alike-note')), /Deny answers all of them, Allow once only this one/);
    assert.match(await tab.textContent(at('deny-run')), /Deny all 4 from this run/);
    await tab.click(at('deny-run'));
    await shows(tab, 'z');
    assert.deepEqual(await calls(tab, 'denyRun'), [['a']]);
    assert.deepEqual(await calls(tab, 'decide'), []);
  }));

test('the inbox has one row for identical requests and lists one agent alone', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'inbox' } });
  for (const id of ['a', 'a2', 'a3']) await add(tab, 'alike', id);
  await add(tab, 'hostile', 'h');
  await tab.waitForSelector('h1:has-text("4 waiting")');
  const rows = () => tab.locator(at('inbox-row')).evaluateAll((all) => all.map((row) => row.dataset.id));
  assert.deepEqual(await rows(), ['a', 'h']);
  assert.match(await tab.textContent(at('alike')), /3 identical/);
  assert.deepEqual(await tab.locator(`${at('agent')} option`).allTextContents(), [
    'All agents (4)',
    'coder (3)',
    'ops (1)',
  ]);
  await tab.selectOption(at('agent'), '=ops');
  assert.deepEqual(await rows(), ['h']);
  await tab.selectOption(at('agent'), '=coder');
  await tab.check(at('select-all'));
  await tab.waitForSelector(`${at('selection')}:has-text("3 selected")`);
  await tab.uncheck(at('select-all'));
  await tab.click(`${at('inbox-row')} ${at('inbox-deny')}:has-text("Deny 3")`);
  await tab.waitForSelector(at('no-match'));
  assert.deepEqual(await decided(tab), ['deny a', 'deny a2', 'deny a3']);
  await tab.selectOption(at('agent'), '*');
  assert.deepEqual(await rows(), ['h']);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

test('Deny everything says that it denies what waits now', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'inbox', cards: 'several' } });
  await tab.waitForSelector(at('inbox-row'));
  await tab.click(at('deny-all'));
  const said = await tab.textContent(at('deny-all-dialog'));
  assert.match(said, /waits now.*that wait now are denied\. What comes later is asked about as before\./s);
  await tab.done();
});
