import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, calls, shows, start, state } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

async function prompt([make, ...rest], body, options) {
  const tab = await browser.open('prompt', options);
  await add(tab, make, 'a', ...rest);
  await shows(tab, 'a');
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

for (const [width, height] of [
  [560, 600],
  [360, 300],
]) {
  test(`a card names its gateway at ${width}×${height}`, () =>
    prompt(
      ['foreign'],
      async (tab) => {
        const name = tab.locator(at('card-gateway'));
        assert.match(await name.textContent(), /harbor-office/);
        const box = await name.boundingBox();
        assert.ok(box.y + box.height < height && box.x + box.width < width, JSON.stringify(box));
        assert.match(await tab.textContent(at('why')), /The gateway harbor-office asks for your word/);
      },
      { width, height },
    ));
}

test('what another gateway shows is set against what would run, and its warning is its own', () =>
  prompt(['foreign'], async (tab) => {
    const facts = await tab.textContent(at('facts'));
    assert.match(facts, /Other text[^]*What would run is the command above[^]*git push origin main/);
    assert.match(facts, /Reaches every machine[^]*not checked/);
    const order = await tab.locator('[data-fact]').evaluateAll((rows) => rows.map((row) => row.dataset.fact));
    assert.deepEqual(order, ['other-text', 'warning', 'folder']);
    assert.doesNotMatch(await tab.textContent(at('body')), /no environment overrides/);
  }));

test('always is offered as what the gateway keeps, and is sent without a rung', () =>
  prompt(['foreign'], async (tab) => {
    assert.match(await tab.textContent(at('allow-more')), /Always allow…/);
    await armed(tab);
    await tab.click(at('allow-more'));
    assert.match(
      await tab.textContent(at('sheet-asker')),
      /The gateway harbor-office keeps this rule, not Countersign/,
    );
    const confirm = at('allow-always-confirm');
    assert.match(await tab.textContent(confirm), /kept by the gateway/);
    assert.equal(await tab.getAttribute(confirm, 'data-armed'), 'false');
    await armed(tab, confirm);
    await tab.click(confirm);
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.deepEqual([params.decision, params.remember], ['allow-always', undefined]);
  }));

test('decisions are exactly those that are offered', () =>
  prompt(['foreign', { decisions: ['allow-once', 'deny'], alwaysUnavailable: 'not-offered' }], async (tab) => {
    assert.equal(await tab.getAttribute(at('allow-more'), 'aria-disabled'), 'true');
    assert.match(await tab.textContent(at('always-unavailable')), /the asker does not offer it/);
  }));

test('a plugin’s wish is said as one: its own words in paragraphs, without the wording of commands', () =>
  prompt(['plugin'], async (tab) => {
    assert.match(await tab.textContent(at('verb')), /A plugin on[^]*build-02[^]*wants this/);
    const words = await tab.textContent(at('command'));
    assert.match(words, /Send 14 invitations by mail[^]*Subject: Dock 4[^]*own words, shown in full/);
    assert.doesNotMatch(words, /command|shell|hidden character|U\+000A/i);
    assert.match(await tab.textContent(at('facts')), /calendar[^]*send_invitations[^]*It calls this dangerous/);
    assert.match(await tab.textContent(at('why')), /A plugin of the gateway harbor-office/);
    assert.doesNotMatch(await tab.textContent(at('body')), /Policy:|no sudo/);
    assert.equal(await tab.title(), 'ops: Send 14 invitations by mail');
    await armed(tab);
    await tab.click(at('allow-once'));
    await state(tab, 'blank');
    assert.equal((await calls(tab, 'decide'))[0][0].decision, 'allow-once');
  }));

test('a change that a gateway proposes to itself is said as one, and only what it offers can be answered', () =>
  prompt(['proposal'], async (tab) => {
    assert.match(
      await tab.textContent(at('verb')),
      /The gateway[^]*harbor-office[^]*wants to make this change to itself/,
    );
    const words = await tab.textContent(at('command'));
    assert.match(words, /OpenClaw change[^]*Set tools\.exec\.ask[^]*own words, shown in full/);
    assert.doesNotMatch(words, /command|shell|plugin|hidden character|U\+000A/i);
    assert.match(await tab.textContent(at('why')), /The gateway harbor-office proposes this change/);
    assert.doesNotMatch(await tab.textContent(at('body')), /Policy:|no sudo/);
    assert.equal(await tab.title(), 'harbor-office: OpenClaw change');
    assert.equal(await tab.getAttribute(at('allow-more'), 'aria-disabled'), 'true');
    await armed(tab);
    await tab.click(at('allow-once'));
    await state(tab, 'blank');
    assert.equal((await calls(tab, 'decide'))[0][0].decision, 'allow-once');
  }));

test('hostile words of a plugin are shown as they are', () =>
  prompt(['hostilePlugin'], async (tab) => {
    const text = await tab.textContent(at('card'));
    assert.match(text, /U\+202E[^]*U\+0000[^]*<b>now<\/b>/);
    assert.ok(!/[\u202a-\u202e\u200b\u0000]/.test(text));
    assert.match(await tab.textContent(at('command')), /3 hidden characters/);
  }));

for (const [cause, words] of [
  ['connection-lost', /connection to the gateway was lost/],
  ['withdrawn', /Withdrawn where it came from/],
]) {
  test(`a card that ended by ${cause} says so and moves on`, () =>
    prompt(['foreign'], async (tab) => {
      await tab.evaluate((cause) => {
        window.mock.emit({ kind: 'card-closed', id: 'a', outcome: { kind: 'cancelled', cause } });
      }, cause);
      assert.match(await tab.textContent(at('outcome')), words);
      await state(tab, 'blank');
    }));
}

test('a request that comes back with its connection is shown again, and answered with the new generation', () =>
  prompt(['foreign'], async (tab) => {
    await tab.evaluate(() => {
      const outcome = { kind: 'cancelled', cause: 'connection-lost' };
      window.mock.emit({ kind: 'card-closed', id: 'a', outcome });
    });
    await state(tab, 'blank');
    await add(tab, 'foreign', 'a', { generation: 2 });
    await tab.waitForSelector(`${at('card')}[data-generation="2"]`);
    await armed(tab);
    await tab.click(at('allow-once'));
    await state(tab, 'blank');
    assert.equal((await calls(tab, 'decide'))[0][0].generation, 2);
  }));

test('the list of a very long queue is short and says how many more there are', () =>
  prompt(['foreign'], async (tab) => {
    await tab.evaluate(() => {
      for (const card of window.cards.many(10_000, 10, Date.now())) window.mock.emit({ kind: 'card-added', card });
    });
    await tab.waitForSelector(`${at('queue-button')}:has-text("1 of 10001")`);
    await tab.click(at('queue-button'));
    assert.equal(await tab.locator(at('queue-option')).count(), 50);
    assert.match(await tab.textContent(at('queue')), /gateway-3[^]*and 9951 more in the inbox/);
    await tab.keyboard.press('End');
    await tab.keyboard.press('Enter');
    await shows(tab, 'many-48');
  }));
