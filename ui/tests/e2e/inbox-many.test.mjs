import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, at, calls, start } from '../harness.mjs';

const COUNT = 10_000;
const GATEWAYS = 10;

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on an inbox with very many requests; what it measured is printed, and never asserted. */
async function inbox(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'inbox' } });
  await tab.waitForSelector(at('content'));
  const adding = await tab.evaluate(
    async ([count, gateways]) => {
      const made = window.cards.many(count, gateways, Date.now());
      const began = performance.now();
      for (const card of made) window.mock.emit({ kind: 'card-added', card });
      const told = performance.now() - began;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return { told, painted: performance.now() - began };
    },
    [COUNT, GATEWAYS],
  );
  await tab.waitForSelector(`h1:has-text("${COUNT} waiting")`);
  await body(tab, adding);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** Milliseconds until a scroll to `share` of the whole list is painted. */
function scrolled(tab, share) {
  return tab.evaluate(async (share) => {
    const content = document.querySelector('[data-testid="content"]');
    const began = performance.now();
    content.scrollTop = content.scrollHeight * share;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - began;
  }, share);
}

/** Milliseconds until a row that was denied is gone and that is painted. */
function denied(tab, id) {
  return tab.evaluate(async (id) => {
    const row = () => document.querySelector(`[data-testid="inbox-row"][data-id="${id}"]`);
    const began = performance.now();
    row().querySelector('[data-testid="inbox-deny"]').click();
    while (row()) await new Promise((done) => requestAnimationFrame(done));
    return performance.now() - began;
  }, id);
}

const ids = (tab) => tab.locator(at('inbox-row')).evaluateAll((rows) => rows.map((row) => row.dataset.id));
const row = (id) => `${at('inbox-row')}[data-id="${id}"]`;

/** Index of the request that lies across the middle of the window. */
function middle(tab) {
  return tab.evaluate(() => {
    const row = document.elementFromPoint(700, 500).closest('[data-testid="inbox-row"]');
    return Number(row.dataset.id.split('-')[1]);
  });
}

test('of ten thousand requests only those near the view are mounted, wherever it is', (context) =>
  inbox(async (tab, adding) => {
    const scrolls = [];
    for (const share of [0.1, 0.35, 0.6, 0.85]) {
      scrolls.push(await scrolled(tab, share));
      assert.ok((await ids(tab)).length < 40);
      assert.ok(Math.abs((await middle(tab)) / COUNT - share) < 0.05);
    }
    await scrolled(tab, 1);
    await tab.waitForSelector(row(`many-${COUNT - 1}`));
    const place = await tab.locator(`li:has(${row(`many-${COUNT - 1}`)})`).getAttribute('aria-posinset');
    assert.equal(place, String(COUNT));
    const answers = [];
    for (const id of (await ids(tab)).slice(-5)) answers.push(await denied(tab, id));
    assert.equal((await calls(tab, 'decide')).length, 5);
    const each = (list) => list.map((ms) => Math.round(ms)).join(', ');
    context.diagnostic(
      `${COUNT} added one by one: told in ${each([adding.told])} ms, painted in ${each([adding.painted])} ms`,
    );
    context.diagnostic(`scrolled and painted, each in ms: ${each(scrolls)}`);
    context.diagnostic(`denied and painted, each in ms: ${each(answers)}`);
  }));

test('what is in view keeps its place while requests above it end', () =>
  inbox(async (tab) => {
    await scrolled(tab, 0.5);
    const before = await middle(tab);
    const top = (await tab.locator(row(`many-${before}`)).boundingBox()).y;
    await tab.evaluate(() => {
      for (let index = 0; index < 500; index += 1) {
        window.mock.emit({ kind: 'card-closed', id: `many-${index}`, outcome: { kind: 'expired' } });
      }
    });
    await tab.waitForSelector('h1:has-text("9500 waiting")');
    await tab.waitForFunction(
      ([selector, top]) => Math.abs(document.querySelector(selector)?.getBoundingClientRect().top - top) < 2,
      [row(`many-${before}`), top],
    );
  }));

test('one gateway’s requests are listed alone, selected and denied, and the others stay', (context) =>
  inbox(async (tab) => {
    await tab.selectOption(at('source'), '=gateway-3');
    await tab.waitForSelector(row('many-3'));
    assert.ok((await ids(tab)).every((id) => id.endsWith('3')));
    await tab.check(at('select-all'));
    await tab.waitForSelector(`${at('selection')}:has-text("1000 selected")`);
    const began = Date.now();
    await tab.click(at('deny-selected'));
    await tab.waitForSelector('h1:has-text("9000 waiting")');
    await tab.waitForSelector(at('selection'), { state: 'detached' });
    context.diagnostic(`1000 selected requests denied in ${Date.now() - began} ms`);
    const sent = (await calls(tab, 'decide')).map(([{ id, decision }]) => [Number(id.split('-')[1]) % 10, decision]);
    assert.equal(sent.length, 1_000);
    assert.ok(sent.every(([gateway, decision]) => gateway === 3 && decision === 'deny'));
    assert.match(await tab.textContent(at('no-match')), /Nothing waits from there/);
    await tab.selectOption(at('source'), '*');
    await tab.waitForSelector(row('many-0'));
  }));

test('a failed denial ends the rest, and what was not denied goes on waiting', () =>
  inbox(async (tab) => {
    await tab.selectOption(at('source'), '=gateway-7');
    await tab.check(at('select-all'));
    await tab.evaluate(() => window.mock.fail('decide', 'internal', 'the gateway does not answer'));
    await tab.click(at('deny-selected'));
    assert.match(await tab.textContent(at('inbox-error')), /the gateway does not answer/);
    await tab.waitForFunction(() => !document.querySelector('[data-testid="selection"]'));
    assert.ok((await calls(tab, 'decide')).length < 100);
  }));

test('the keyboard goes from row to row, and on to the next when a row was denied', () =>
  inbox(async (tab) => {
    await tab.focus(`${row('many-0')} ${at('inbox-deny')}`);
    for (let step = 0; step < 60; step += 1) await tab.keyboard.press('Tab');
    const focused = () =>
      tab.evaluate(() => {
        const { activeElement } = document;
        return [activeElement.closest('[data-testid="inbox-row"]')?.dataset.id, activeElement.dataset.testid];
      });
    assert.deepEqual(await focused(), ['many-20', 'inbox-deny'], 'three controls in each row');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(row('many-20'), { state: 'detached' });
    await tab.waitForFunction(() => document.activeElement !== document.body);
    assert.deepEqual(await focused(), ['many-21', 'inbox-deny']);
    await scrolled(tab, 0.9);
    assert.deepEqual(await focused(), ['many-21', 'inbox-deny'], 'a row with the focus stays');
  }));

test('requests of this machine alone need no choice of gateways', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'inbox', cards: 'several' } });
  await tab.waitForSelector(at('inbox-row'));
  assert.equal(await tab.locator(at('source')).count(), 0);
  await add(tab, 'foreign', 'f');
  await tab.waitForSelector(at('source'));
  const choices = await tab.locator(`${at('source')} option`).allTextContents();
  assert.deepEqual(choices, ['All gateways (5)', 'This machine (4)', 'harbor-office (1)']);
  assert.match(await tab.textContent(row('f')), /harbor-office[^]*other text[^]*warning/);
  await tab.done();
});

test('a request that is meant is brought into view, from far below and in a window that opens with it', () =>
  inbox(async (tab) => {
    await tab.evaluate(() => window.mock.emit({ kind: 'show-page', page: 'inbox', card: 'many-250' }));
    await tab.waitForFunction(() => document.activeElement?.closest('[data-id="many-250"]') !== null);
    const box = await tab.locator('[data-id="many-250"]').boundingBox();
    assert.ok(box.y > 0 && box.y + box.height < 800, JSON.stringify(box));
    // One that is gone by then changes nothing.
    await tab.evaluate(() => window.mock.emit({ kind: 'show-page', page: 'inbox', card: 'nobody' }));
    assert.ok(await tab.evaluate(() => document.activeElement?.closest('[data-id="many-250"]') !== null));
  }));
